"""Compiled loops behind `generate` and `vary`: random trees, splices, mutations and legality, a batch at a time.

Every child draws from a generator of its own (splitmix64, Steele et al. 2014) seeded by (seed, row), so that the
result does not depend on the order in which rows are worked on.
"""

from __future__ import annotations

import numpy as np

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
def _next(state):
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def _uniform(state):
    return (_next(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def _below(state, n):
    return min(int(_uniform(state) * n), n - 1)


@inner
def _normal(state):
    u = max(_uniform(state), 1e-300)
    return np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * _uniform(state))


@inner
def _draw(state, opcodes, cumulative):
    u = _uniform(state)
    for k in range(len(opcodes)):
        if u <= cumulative[k]:
            return opcodes[k]
    return opcodes[len(opcodes) - 1]


@inner
def _random_value(state):
    """A start for a fitted constant: mostly of order one, sometimes of another order of magnitude."""
    u = _uniform(state)
    if u < 0.5:
        return _normal(state)
    if u < 0.8:
        return 5.0 * (2.0 * _uniform(state) - 1.0)
    return (1.0 if u < 0.9 else -1.0) * 10.0 ** (4.0 * _uniform(state) - 2.0)


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
    if n_locals > 0 and _uniform(state) < 0.25:
        code[i], arg[i], value[i] = CONST, LOCAL + _below(state, n_locals), _random_value(state)
    elif _uniform(state) < p_const:
        if _uniform(state) < 0.25:  # a structural number: 1 mostly, 2 sometimes
            code[i], arg[i], value[i] = CONST, FIXED, 1.0 if _uniform(state) < 0.8 else 2.0
        else:
            code[i], arg[i], value[i] = CONST, FREE, _random_value(state)
    else:
        code[i], arg[i], value[i] = VAR, features[_below(state, len(features))], 0.0


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
        elif len(binary) == 0 or (len(unary) > 0 and (s == 2 or _uniform(state) < 0.35)):
            code[i], arg[i], value[i] = _draw(state, unary, unary_w), 0, 0.0
            sizes[top] = s - 1
            top += 1
        else:
            code[i], arg[i], value[i] = _draw(state, binary, binary_w), 0, 0.0
            left = 1 + _below(state, s - 2)
            sizes[top] = left
            sizes[top + 1] = s - 1 - left
            top += 2
    return i - at  # positions left unwritten at the front (a unary was wanted but none exists)


@inner
def _fit_roles(code, arg, value, n):
    """An exponent that is a constant is a structural number unless the dice made it a fitted one before."""
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
        _fit_roles(code[r], arg[r], value[r], length[r])


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
    best = _below(state, n)
    if _ARITY[code[best]] == 0 and _uniform(state) < 0.7:
        best = _below(state, n)
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
    i = _below(state, n)
    arity = _ARITY[code[i]]
    if arity == 1 and len(unary) > 0:
        code[i] = _draw(state, unary, unary_w)
    elif arity == 2 and len(binary) > 0:
        code[i] = _draw(state, binary, binary_w)
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
            if _uniform(state) * count < 1.0:
                chosen = i
    if chosen < 0:
        return False
    if chosen + 1 < n and code[chosen + 1] == _POW and _uniform(state) < 0.5:
        value[chosen], arg[chosen] = _EXPONENTS[_below(state, len(_EXPONENTS))], FIXED
        return True
    if arg[chosen] == FIXED:
        arg[chosen] = FREE
        if chosen + 1 < n and code[chosen + 1] != _POW:
            return True
    if _uniform(state) < 0.5:
        value[chosen] = value[chosen] * np.exp(0.5 * _normal(state)) + 0.01 * _normal(state)
    else:
        value[chosen] = _random_value(state)
    return True


@inner
def _leaf_change(state, code, arg, value, n, features):
    count = 0
    chosen = -1
    for i in range(n):
        if _ARITY[code[i]] == 0:
            count += 1
            if _uniform(state) * count < 1.0:
                chosen = i
    _leaf(state, code, arg, value, chosen, features, 0.2, 0)


@inner
def _scaled(state, code, arg, value, m, scale):
    """Append ``c *`` to the m donor nodes: an argument of exp or sin wants a scale of its own."""
    s = 1.0
    if m == 1 and code[0] == VAR and scale[arg[0]] > 0.0:
        s = 1.0 / scale[arg[0]]
    code[m], arg[m], value[m] = CONST, FREE, s * _random_value(state)
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
    if len(unary) > 0 and (len(binary) == 0 or _uniform(state) < 0.3):
        op = _draw(state, unary, unary_w)
        _copy(code[a:], arg[a:], value[a:], size, d_code, d_arg, d_value)
        m = size
        if _PROTECTED_ARGUMENT[op] and _uniform(state) < 0.6 and len(binary) > 0:
            m = _scaled(state, d_code, d_arg, d_value, m, scale)
        d_code[m], d_arg[m], d_value[m] = op, 0, 0.0
        return a, i + 1, m + 1
    op = _draw(state, binary, binary_w)
    other = 1 if _uniform(state) < 0.6 else 1 + _below(state, 5)
    first = _uniform(state) < 0.5
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
        u = _uniform(state)
        while kind < len(cumulative) - 1 and u > cumulative[kind]:
            kind += 1
        if kind == NUDGE and not _nudge(state, arg[r], value[r], code[r], n):
            kind = LEAF
        if kind == POINT:
            _point(state, code[r], arg[r], value[r], n, unary, unary_w, binary, binary_w, features)
        elif kind == LEAF:
            _leaf_change(state, code[r], arg[r], value[r], n, features)
        if kind in (POINT, NUDGE, LEAF):
            _fit_roles(code[r], arg[r], value[r], n)
            continue
        _starts(code[r], n, starts)
        for _ in range(8):
            a, b, m = 0, n, 0
            if kind == GROW:
                i = _pick(state, code[r], n)
                a, b = starts[i], i + 1
                size = 1 + _below(state, 9)
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
                j = a + _below(state, b - a)
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
        _fit_roles(code[r], arg[r], value[r], n)


@kernel
def legal_rows(code, arg, length, ban, allowed, max_length, max_depth, max_constants, max_locals):
    """Row by row: sizes, depth, constants, primitives and nesting within bounds, and no constant-only subtree."""
    P = len(length)
    out = np.zeros(P, np.bool_)
    stack = np.empty(_MAX + 1, np.int64)  # for every open subtree: where it starts
    depth = np.empty(_MAX + 1, np.int64)
    varies = np.empty(_MAX + 1, np.bool_)
    for r in range(P):
        n = length[r]
        if n < 1 or n > max_length or n > _MAX:
            continue
        top, constants = 0, 0
        locals_seen = 0
        good = True
        for i in range(n):
            op = code[r, i]
            if not allowed[op]:
                good = False
                break
            arity = _ARITY[op]
            if arity == 0:
                if op == CONST and arg[r, i] == FREE:
                    constants += 1
                elif op == CONST and arg[r, i] >= LOCAL:
                    bit = np.int64(1) << (arg[r, i] - LOCAL)
                    locals_seen |= bit
                stack[top], depth[top], varies[top] = i, 1, op == VAR or (op == CONST and arg[r, i] >= LOCAL)
                top += 1
                continue
            for k in range(stack[top - arity], i):
                if ban[op, code[r, k]]:
                    good = False
            deep, vary = 0, False
            for k in range(top - arity, top):
                deep = max(deep, depth[k])
                vary = vary or varies[k]
            good = good and vary and deep < max_depth
            if not good:
                break
            top -= arity - 1
            depth[top - 1], varies[top - 1] = deep + 1, True
        count = 0
        while locals_seen:
            count += locals_seen & 1
            locals_seen >>= 1
        out[r] = good and constants <= max_constants and count <= max_locals
    return out


@kernel
def shape_hashes(code, arg, value, length):
    """A 64-bit hash of each row's form: nodes, features, roles and FIXED numbers, but no fitted values. (P,) uint64."""
    out = np.empty(len(length), np.uint64)
    state = np.empty(1, np.uint64)
    for r in range(len(length)):
        h = np.uint64(length[r])
        for i in range(length[r]):
            token = np.uint64(code[r, i]) * np.uint64(65536) + np.uint64(np.uint16(arg[r, i]))
            if code[r, i] == CONST and arg[r, i] == FIXED:
                token += np.uint64(np.int64(np.round(value[r, i] * 1048576.0))) * np.uint64(0x1000003)
            state[0] = h ^ token
            h = _next(state)
        out[r] = h
    return out
