"""Sums and products of one program as n-ary terms: the arena that counting and simplification are built on.

A program is read bottom-up into nodes of an arena. Equal nodes have equal 64-bit hashes, so like terms and like
powers are found by comparing two numbers. The layers never call upwards (no recursion, which numba caches badly)::

    number, symbol   <   add_scaled (sums)   <   multiply (products of powers)   <   powers and functions

========  =============================  =====================================  ==================
kind      children                       coef of each child                     num, role
========  =============================  =====================================  ==================
NUM                                                                             the number
SYM                                                                             start (of a local)
FUN       operands                                                              op = opcode
POW       base, exponent
MUL       factors (never NUM, MUL)                                              the coefficient
ADD       terms (never NUM, ADD(1), ..)  coefficient, with its own role         the constant term
========  =============================  =====================================  ==================

Two readers share the arena. COUNT obeys sympy's automatic evaluation (`operators.complexity`), LAW the
value-keeping rules of `operators.simplify`; `state[0].mode` says which. A kernel module: arrays in, arrays out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from operators.jit import inner, named_tuple, outer, register
from operators.primitives import OPCODE
from operators.program import FIXED, FREE

_ABS, _ACOS, _COSH, _MAX, _MIN = (OPCODE[n] for n in ["abs", "acos", "cosh", "max", "min"])

NUM, SYM, FUN, POW, MUL, ADD = 0, 1, 2, 3, 4, 5
COUNT, LAW = 0, 1
FINE, NOT_REAL, TOO_LARGE = 0, 1, 2  # what state[0].bad says of the program read
_NO_SYMBOL = 1 << 40
EULER = -1  # the symbol e: exp(u) is the power e**u
E_NODE, ONE, MINUS_ONE = 0, 1, 2  # nodes every arena begins with


_NODE = np.dtype([
    ("kind", "i8"), ("op", "i8"), ("num", "f8"), ("role", "i8"), ("hash", "u8"), ("shape", "u8"), ("cost", "i8"),
    ("first", "i8"), ("count", "i8"), ("nonnegative", "i8"), ("lead", "i8"),
])  # fmt: skip
_CHILD = np.dtype([("child", "i8"), ("coef", "f8"), ("role", "i8")])
_WORK = np.dtype([("term", "i8"), ("coef", "f8"), ("role", "i8"), ("base", "i8"), ("exponent", "i8")])
_STATE = np.dtype([
    ("nodes", "i8"), ("pooled", "i8"), ("mode", "i8"), ("bad", "i8"),
    ("n_sum", "i8"), ("constant", "f8"), ("constant_role", "i8"),
    ("n_product", "i8"), ("coefficient", "f8"), ("coefficient_role", "i8"),
    ("pulled", "f8"), ("pulled_role", "i8"), ("allowed", "i8"),
])  # fmt: skip


class Arena(NamedTuple):
    """Record arrays (few arguments, so that numba compiles fast): nodes, their child lists, the sum and the product
    being built, and one record of counters."""

    node: Any
    pool: Any
    work: Any
    state: Any


register("Arena", named_tuple(Arena, _NODE, _CHILD, _WORK, _STATE))
U64 = np.uint64


@inner
def make_arena(width: int) -> Arena:
    """An arena for programs of up to `width` nodes."""
    return Arena(
        np.zeros(16 * width + 64, _NODE),
        np.zeros(min(width * width, 60000) + 16 * width + 256, _CHILD),
        np.zeros(4 * width + 64, _WORK),
        np.zeros(1, _STATE),
    )


@inner
def reset(a: Arena, mode: int) -> None:
    """Empty the arena for the next program."""
    a.state[0].allowed = -1
    a.state[0].nodes, a.state[0].pooled, a.state[0].mode, a.state[0].bad = 0, 0, mode, 0
    symbol(a, EULER, 0.0)
    number(a, 1.0, FIXED)
    number(a, -1.0, FIXED)


@inner
def mix(h: U64) -> U64:
    """A 64-bit hash of a 64-bit number (the finaliser of splitmix64, Steele et al. 2014)."""
    h = np.uint64(h) + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@inner
def number_hash(a: Arena, value: float, role: int) -> U64:
    bits = np.float64(value + 0.0).view(np.uint64)  # -0.0 and 0.0 are one number
    return mix(bits + np.uint64(role) * np.uint64(0x5851F42D4C957F2D))


@inner
def masked(a: Arena, value: float, role: int) -> U64:
    """The part of a number that belongs to the shape of a law: fitted values do not."""
    return number_hash(a, value if role == FIXED else 0.5, role)


@outer
def new_node(a: Arena, kind: int, op: int, num: float, role: int, first: int, count: int) -> int:
    """Append a node over pool[first : first + count] and compute its hashes and its cost; returns its index."""
    i = a.state[0].nodes
    if i >= len(a.node) - 1:
        a.state[0].bad = TOO_LARGE
        return i
    a.state[0].nodes = i + 1
    node = a.node[i]
    node.kind, node.op, node.num, node.role, node.first, node.count = kind, op, num, role, first, count
    if a.state[0].mode == LAW and (kind == ADD or kind == MUL or count > 2 or op == _MIN or op == _MAX):
        sort_children(a, first, count)
    seed = mix(np.uint64(kind) * np.uint64(1000003) + np.uint64(op + 7))
    h, s, cost = seed + number_hash(a, num, role), seed + masked(a, num, role), 0
    ordered = kind == POW or kind == FUN
    node.lead = op if kind == SYM and op != EULER else _NO_SYMBOL
    for k in range(count):
        j = first + k
        c = a.pool[j].child
        node.lead = min(node.lead, a.node[c].lead)
        hc, sc = a.node[c].hash, a.node[c].shape
        if kind == ADD:
            hc = mix(hc ^ number_hash(a, a.pool[j].coef, a.pool[j].role))
            sc = mix(sc ^ masked(a, a.pool[j].coef, a.pool[j].role))
        if ordered:
            h, s = mix(h) + hc, mix(s) + sc
        else:
            h, s = h + mix(hc), s + mix(sc)
        cost += a.node[c].cost
    a.node[i].hash, a.node[i].shape = mix(h), mix(s)
    a.node[i].cost = cost + own_cost(a, kind, num, role, first, count)
    a.node[i].nonnegative = a.state[0].mode == LAW and is_nonnegative(a, i)
    return i


@inner
def sort_children(a: Arena, first: int, count: int) -> None:
    """A canonical order of terms and factors: the cheapest first, then by first symbol, by shape, by value."""
    for k in range(first + 1, first + count):
        child, coef, role = a.pool[k].child, a.pool[k].coef, a.pool[k].role
        j = k - 1
        while j >= first and _before(a.node[child], a.node[a.pool[j].child]):
            a.pool[j + 1].child, a.pool[j + 1].coef, a.pool[j + 1].role = (
                a.pool[j].child, a.pool[j].coef, a.pool[j].role,
            )  # fmt: skip
            j -= 1
        a.pool[j + 1].child, a.pool[j + 1].coef, a.pool[j + 1].role = child, coef, role


@inner
def _before(x: Any, y: Any) -> bool:
    if x.cost != y.cost:
        return x.cost < y.cost
    if x.lead != y.lead:
        return x.lead < y.lead
    return x.shape < y.shape if x.shape != y.shape else x.hash < y.hash


@inner
def is_nonnegative(a: Arena, i: int) -> bool:
    """Is node i >= 0 wherever it is defined? (Known from its form; its children know theirs.)"""
    node = a.node[i]
    first, count = node.first, node.count
    if node.kind == NUM:
        return node.num >= 0.0 and node.role < 2
    if node.kind == FUN:
        return node.op == _ABS or node.op == _COSH or node.op == _ACOS
    if node.kind == POW:
        exponent = a.node[a.pool[first + 1].child]
        if a.pool[first].child == E_NODE or a.node[a.pool[first].child].nonnegative:
            return True
        return exponent.kind == NUM and exponent.role == FIXED and np.rint(exponent.num / 2) == exponent.num / 2
    if node.kind == MUL or node.kind == ADD:
        if node.num < 0.0 or node.role > 1:
            return False
        for k in range(first, first + count):
            if not a.node[a.pool[k].child].nonnegative or a.pool[k].coef < 0.0 or a.pool[k].role > 1:
                return False
        return True
    return False


@inner
def is_one(value: float, role: int) -> bool:
    return value == 1.0 and role == FIXED


@inner
def is_zero(value: float, role: int) -> bool:
    return value == 0.0


@inner
def own_cost(a: Arena, kind: int, num: float, role: int, first: int, count: int) -> int:
    """What one node adds to C = 2 binary + unary beside its children."""
    if kind == FUN:
        return 1 if count == 1 else 2 * (count - 1)
    if kind == POW:
        return 1 if a.node[a.pool[first].child].op == EULER and a.node[a.pool[first].child].kind == SYM else 2
    if kind == MUL:
        return 2 * (count - 1 + (0 if is_one(num, role) else 1))
    if kind == ADD:
        nodes = count - 1 + (0 if is_zero(num, role) else 1)
        for k in range(first, first + count):
            if not is_one(a.pool[k].coef, a.pool[k].role):
                nodes += 1
        return 2 * nodes
    return 0


@outer
def number(a: Arena, value: float, role: int) -> int:
    if not math.isfinite(value) and a.state[0].bad == FINE:
        a.state[0].bad = NOT_REAL
    return new_node(a, NUM, 0, value + 0.0, role, 0, 0)


@inner
def symbol(a: Arena, op: int, start: float) -> int:
    return new_node(a, SYM, op, start, 0, 0, 0)


@inner
def pool_push(a: Arena, child: int, coef: float, role: int) -> None:
    j = a.state[0].pooled
    if j >= len(a.pool) - 1:
        a.state[0].bad = TOO_LARGE
        return
    a.pool[j].child, a.pool[j].coef, a.pool[j].role = child, coef, role
    a.state[0].pooled = j + 1


@outer
def node1(a: Arena, kind: int, op: int, child: int) -> int:
    first = a.state[0].pooled
    pool_push(a, child, 1.0, FIXED)
    return new_node(a, kind, op, 0.0, 0, first, 1)


@outer
def node2(a: Arena, kind: int, op: int, left: int, right: int) -> int:
    first = a.state[0].pooled
    pool_push(a, left, 1.0, FIXED)
    pool_push(a, right, 1.0, FIXED)
    return new_node(a, kind, op, 0.0, 0, first, 2)


@inner
def child_of(a: Arena, i: int, k: int) -> int:
    return a.pool[a.node[i].first + k].child


@inner
def is_number(a: Arena, i: int, value: float) -> bool:
    """Is node i the structural (FIXED) number `value`?"""
    return a.node[i].kind == NUM and a.node[i].role == FIXED and a.node[i].num == value


@inner
def is_integer(a: Arena, i: int) -> bool:
    """Is node i a structural integer of a size that may be expanded?"""
    node = a.node[i]
    return node.kind == NUM and node.role == FIXED and node.num == np.rint(node.num) and abs(node.num) <= 64


@inner
def is_simple(value: float) -> bool:
    """A number that stays structural when it arises by folding: a small ratio, or one times pi."""
    for unit in (1.0, math.pi):
        for d in (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24):
            n = value / unit * d
            if abs(n) <= (1000 if d == 1 else 100) and abs(n - np.rint(n)) <= 1e-14 * max(1.0, abs(n)):
                return True
    return False


@inner
def joint(a: Arena, role1: int, role2: int, value: float) -> int:
    """Role of a number folded from two numbers: a local absorbs the other, structural it stays only while simple."""
    if role1 != FIXED or role2 != FIXED:
        first, second = (FREE if role1 == FIXED else role1), (FREE if role2 == FIXED else role2)
        return max(first, second)
    if a.state[0].mode == COUNT or is_simple(value):
        return FIXED
    return FREE
