"""Compiled loops behind `generate` and `vary`: random trees, splices and mutations, a batch at a time."""

from __future__ import annotations

import numpy as np

from operators.dice import below, draw, normal, random_value, uniform
from operators.jit import inner, kernel
from operators.primitives import ARITY, CONST, OPCODE, VAR
from operators.program import FIXED, FREE, LOCAL

_ARITY = ARITY.astype(np.int64)
_MAX = 64
_MUL, _ADD, _POW = OPCODE["mul"], OPCODE["add"], OPCODE["pow"]
_PROTECTED_ARGUMENT = np.zeros(len(_ARITY), dtype=np.bool_)
for _name in ("exp", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "log"):
    _PROTECTED_ARGUMENT[OPCODE[_name]] = True
_EXPONENTS = np.array([-3.0, -2.0, -1.5, -0.5, 1.0 / 3.0, 2.0 / 3.0, 0.25, 0.75, 1.5, 2.5, 4.0, 5.0])

# Kinds of mutation, in the order of the probabilities that `mutate_rows` is given.
POINT, NUDGE, GROW, INSERT, HOIST, LEAF, SWAP = range(7)


@inner
def _starts(code, n, starts):
    stack = np.empty(_MAX, np.int64)
    top = 0
    for i in range(n):
        start = i
        for _ in range(_ARITY[code[i]]):
            top -= 1
            start = stack[top]
        starts[i] = start
        stack[top] = start
        top += 1


@inner
def _leaf(state, code, arg, value, i, features, p_const, n_locals):
    if n_locals > 0 and uniform(state) < 0.25:
        code[i], arg[i], value[i] = CONST, LOCAL + below(state, n_locals), random_value(state)
    elif uniform(state) < p_const:
        if uniform(state) < 0.25:  # a structural number: 1 mostly, 2 sometimes
            code[i], arg[i], value[i] = CONST, FIXED, 1.0 if uniform(state) < 0.8 else 2.0
        else:
            code[i], arg[i], value[i] = CONST, FREE, random_value(state)
    else:
        code[i], arg[i], value[i] = VAR, features[below(state, len(features))], 0.0


@inner
def _grow(state, code, arg, value, at, size, unary, unary_w, binary, binary_w, features, n_locals):
    """Write a random tree of `size` nodes to positions at .. at+size-1 (backwards: root, right operand, left operand)."""
    sizes = np.empty(_MAX, np.int64)
    sizes[0] = size
    top = 1
    i = at + size
    while top > 0:
        top -= 1
        s = sizes[top]
        i -= 1
        if s == 1 or (s == 2 and len(unary) == 0):
            _leaf(state, code, arg, value, i, features, 0.3, n_locals)
        elif len(binary) == 0 or (len(unary) > 0 and (s == 2 or uniform(state) < 0.35)):
            code[i], arg[i], value[i] = draw(state, unary, unary_w), 0, 0.0
            sizes[top] = s - 1
            top += 1
        else:
            code[i], arg[i], value[i] = draw(state, binary, binary_w), 0, 0.0
            left = 1 + below(state, s - 2)
            sizes[top] = left
            sizes[top + 1] = s - 1 - left
            top += 2
    return i - at  # positions left unwritten at the front (a unary was wanted but none exists)


@inner
def _tame_exponents(code, arg, value, n):
    """A fitted exponent beyond 6 begins anew at the nearest simple power."""
    for i in range(1, n):
        if code[i] == _POW and code[i - 1] == CONST and arg[i - 1] == FREE:
            nearest = 0
            for k in range(len(_EXPONENTS)):
                if abs(_EXPONENTS[k] - value[i - 1]) < abs(_EXPONENTS[nearest] - value[i - 1]):
                    nearest = k
            if abs(value[i - 1]) > 6.0:
                value[i - 1] = _EXPONENTS[nearest]


@kernel
def random_rows(seed, sizes, code, arg, value, length, unary, unary_w, binary, binary_w, features, n_locals):
    """Fill row r of a batch with a random tree of about sizes[r] nodes."""
    state = np.empty(1, np.uint64)
    for r in range(len(sizes)):
        state[0] = np.uint64(seed) + np.uint64(r) * np.uint64(0xD1342543DE82EF95)
        size = sizes[r]
        gap = _grow(state, code[r], arg[r], value[r], 0, size, unary, unary_w, binary, binary_w, features, n_locals)
        if gap > 0:
            for i in range(size - gap):
                code[r, i], arg[r, i], value[r, i] = code[r, i + gap], arg[r, i + gap], value[r, i + gap]
        length[r] = size - gap
        _tame_exponents(code[r], arg[r], value[r], length[r])


@inner
def _copy(code, arg, value, n, to_code, to_arg, to_value):
    for i in range(n):
        to_code[i], to_arg[i], to_value[i] = code[i], arg[i], value[i]


@inner
def _replace(code, arg, value, n, a, b, d_code, d_arg, d_value, m, to_code, to_arg, to_value):
    """Positions a .. b-1 of a row of n nodes become the m nodes of the donor; returns the new length."""
    _copy(code, arg, value, a, to_code, to_arg, to_value)
    for i in range(m):
        to_code[a + i], to_arg[a + i], to_value[a + i] = d_code[i], d_arg[i], d_value[i]
    for i in range(b, n):
        k = a + m + i - b
        to_code[k], to_arg[k], to_value[k] = code[i], arg[i], value[i]
    return a + m + n - b


@inner
def _pick(state, code, n):
    """A node index, inner nodes preferred 4 to 1 as is customary (Koza 1992)."""
    best = below(state, n)
    if _ARITY[code[best]] == 0 and uniform(state) < 0.7:
        best = below(state, n)
    return best


@kernel
def crossover_rows(
    seed, code, arg, value, length, d_code, d_arg, d_value, d_length, to_code, to_arg, to_value, to_length, max_length
):
    """Row r: a subtree of the first parent is replaced by a subtree of the second (subtree crossover)."""
    state = np.empty(1, np.uint64)
    starts = np.empty(_MAX, np.int64)
    d_starts = np.empty(_MAX, np.int64)
    for r in range(len(length)):
        state[0] = np.uint64(seed) + np.uint64(r) * np.uint64(0xD1342543DE82EF95)
        n, m = length[r], d_length[r]
        _starts(code[r], n, starts)
        _starts(d_code[r], m, d_starts)
        _copy(code[r], arg[r], value[r], n, to_code[r], to_arg[r], to_value[r])
        to_length[r] = n
        for _ in range(8):
            i, j = _pick(state, code[r], n), _pick(state, d_code[r], m)
            a, b = starts[i], d_starts[j]
            grown = n - (i + 1 - a) + (j + 1 - b)
            if grown <= max_length and grown > 0:
                to_length[r] = _replace(
                    code[r], arg[r], value[r], n, a, i + 1, d_code[r, b:], d_arg[r, b:], d_value[r, b:], j + 1 - b,
                    to_code[r], to_arg[r], to_value[r],
                )  # fmt: skip
                break


@inner
def _point(state, code, arg, value, n, unary, unary_w, binary, binary_w, features):
    i = below(state, n)
    arity = _ARITY[code[i]]
    if arity == 1 and len(unary) > 0:
        code[i] = draw(state, unary, unary_w)
    elif arity == 2 and len(binary) > 0:
        code[i] = draw(state, binary, binary_w)
    else:
        _leaf(state, code, arg, value, i, features, 0.3, 0)


@inner
def _nudge(state, arg, value, code, n):
    """Move one number: a small step, a new order of magnitude, or (an exponent) a simple power.

    A structural number that is moved by anything but a simple power is a fitted one from then on.
    """
    count = 0
    chosen = -1
    for i in range(n):
        if code[i] == CONST:
            count += 1
            if uniform(state) * count < 1.0:
                chosen = i
    if chosen < 0:
        return False
    if chosen + 1 < n and code[chosen + 1] == _POW and uniform(state) < 0.5:
        value[chosen], arg[chosen] = _EXPONENTS[below(state, len(_EXPONENTS))], FIXED
        return True
    if arg[chosen] == FIXED:
        arg[chosen] = FREE
        if chosen + 1 < n and code[chosen + 1] != _POW:
            return True
    if uniform(state) < 0.5:
        value[chosen] = value[chosen] * np.exp(0.5 * normal(state)) + 0.01 * normal(state)
    else:
        value[chosen] = random_value(state)
    return True


@inner
def _leaf_change(state, code, arg, value, n, features):
    count = 0
    chosen = -1
    for i in range(n):
        if _ARITY[code[i]] == 0:
            count += 1
            if uniform(state) * count < 1.0:
                chosen = i
    _leaf(state, code, arg, value, chosen, features, 0.2, 0)


@inner
def _scaled(state, code, arg, value, m, scale):
    """Append ``c *`` to the m donor nodes: an argument of exp or sin wants a scale of its own."""
    s = 1.0
    if m == 1 and code[0] == VAR and scale[arg[0]] > 0.0:
        s = 1.0 / scale[arg[0]]
    code[m], arg[m], value[m] = CONST, FREE, s * random_value(state)
    code[m + 1], arg[m + 1], value[m + 1] = _MUL, 0, 0.0
    return m + 2


@inner
def _insert(
    state,
    code,
    arg,
    value,
    n,
    starts,
    d_code,
    d_arg,
    d_value,
    unary,
    unary_w,
    binary,
    binary_w,
    features,
    scale,
    n_locals,
):
    """Write into the donor: a subtree of the row, wrapped in one more primitive. Returns (a, b, donor nodes)."""
    i = _pick(state, code, n)
    a = starts[i]
    size = i + 1 - a
    if len(unary) > 0 and (len(binary) == 0 or uniform(state) < 0.3):
        op = draw(state, unary, unary_w)
        _copy(code[a:], arg[a:], value[a:], size, d_code, d_arg, d_value)
        m = size
        if _PROTECTED_ARGUMENT[op] and uniform(state) < 0.6 and len(binary) > 0:
            m = _scaled(state, d_code, d_arg, d_value, m, scale)
        d_code[m], d_arg[m], d_value[m] = op, 0, 0.0
        return a, i + 1, m + 1
    op = draw(state, binary, binary_w)
    other = 1 if uniform(state) < 0.6 else 1 + below(state, 5)
    first = uniform(state) < 0.5
    m = 0
    if first:
        _copy(code[a:], arg[a:], value[a:], size, d_code, d_arg, d_value)
        m = size
    gap = _grow(
        state, d_code[m:], d_arg[m:], d_value[m:], 0, other, unary, unary_w, binary, binary_w, features, n_locals
    )
    for k in range(other - gap):
        d_code[m + k], d_arg[m + k], d_value[m + k] = d_code[m + k + gap], d_arg[m + k + gap], d_value[m + k + gap]
    m += other - gap
    if not first:
        for k in range(size):
            d_code[m + k], d_arg[m + k], d_value[m + k] = code[a + k], arg[a + k], value[a + k]
        m += size
    d_code[m], d_arg[m], d_value[m] = op, 0, 0.0
    return a, i + 1, m + 1


@kernel
def mutate_rows(
    seed, cumulative, code, arg, value, length, max_length,
    unary, unary_w, binary, binary_w, features, scale, n_locals,
):  # fmt: skip
    """Mutate every row in place, by one mutation drawn from `cumulative` (see the kinds above)."""
    state = np.empty(1, np.uint64)
    starts = np.empty(_MAX, np.int64)
    d_code, t_code = np.empty(4 * _MAX, np.uint8), np.empty(4 * _MAX, np.uint8)
    d_arg, t_arg = np.empty(4 * _MAX, np.int16), np.empty(4 * _MAX, np.int16)
    d_value, t_value = np.empty(4 * _MAX), np.empty(4 * _MAX)
    for r in range(len(length)):
        state[0] = np.uint64(seed) + np.uint64(r) * np.uint64(0xD1342543DE82EF95)
        n = length[r]
        kind = 0
        u = uniform(state)
        while kind < len(cumulative) - 1 and u > cumulative[kind]:
            kind += 1
        if kind == NUDGE and not _nudge(state, arg[r], value[r], code[r], n):
            kind = LEAF
        if kind == POINT:
            _point(state, code[r], arg[r], value[r], n, unary, unary_w, binary, binary_w, features)
        elif kind == LEAF:
            _leaf_change(state, code[r], arg[r], value[r], n, features)
        if kind in (POINT, NUDGE, LEAF):
            _tame_exponents(code[r], arg[r], value[r], n)
            continue
        _starts(code[r], n, starts)
        for _ in range(8):
            a, b, m = 0, n, 0
            if kind == GROW:
                i = _pick(state, code[r], n)
                a, b = starts[i], i + 1
                size = 1 + below(state, 9)
                gap = _grow(
                    state, d_code, d_arg, d_value, 0, size, unary, unary_w, binary, binary_w, features, n_locals
                )
                m = size - gap
                for k in range(m):
                    d_code[k], d_arg[k], d_value[k] = d_code[k + gap], d_arg[k + gap], d_value[k + gap]
            elif kind == INSERT:
                a, b, m = _insert(
                    state, code[r], arg[r], value[r], n, starts, d_code, d_arg, d_value,
                    unary, unary_w, binary, binary_w, features, scale, n_locals,
                )  # fmt: skip
            elif kind == HOIST:
                i = _pick(state, code[r], n)
                a, b = starts[i], i + 1
                j = a + below(state, b - a)
                m = j + 1 - starts[j]
                _copy(code[r, starts[j] :], arg[r, starts[j] :], value[r, starts[j] :], m, d_code, d_arg, d_value)
            else:
                i = _pick(state, code[r], n)
                if _ARITY[code[r, i]] != 2:
                    continue
                a, b = starts[i], i
                cut = starts[i - 1]
                m = b - a
                for k in range(b - cut):
                    d_code[k], d_arg[k], d_value[k] = code[r, cut + k], arg[r, cut + k], value[r, cut + k]
                for k in range(cut - a):
                    t = b - cut + k
                    d_code[t], d_arg[t], d_value[t] = code[r, a + k], arg[r, a + k], value[r, a + k]
            if n - (b - a) + m <= max_length:
                n = _replace(code[r], arg[r], value[r], n, a, b, d_code, d_arg, d_value, m, t_code, t_arg, t_value)
                _copy(t_code, t_arg, t_value, n, code[r], arg[r], value[r])
                length[r] = n
                break
        _tame_exponents(code[r], arg[r], value[r], n)
