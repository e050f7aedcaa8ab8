"""Value-keeping simplification of programs: no operation and no fitted constant more, usually several fewer.

The value is kept wherever the program was finite and real; the result may be defined at more points. "Fitted" numbers
are FREE, structural ones FIXED. A number folded of structural numbers stays structural while it is a small ratio or
such a multiple of pi; otherwise it is a fitted one, and the rewriting is dropped if that makes more of them.

=====================================================  =================================================================
rewriting                                              keeps values where
=====================================================  =================================================================
like terms, x - x, 0*x, x + 0, nested sums             everywhere
like powers, x/x, 1*x, nested products and quotients   everywhere the original is finite (x/x at 0 is not)
2.5*(x + 1.5) -> 2.5*x + 3.75                          everywhere; when it makes no constant more
c*(x + y) + d*x -> e*x + c*y                           everywhere; c, d fitted
(a*x + b)*z -> a*z*(x + c), also powers, abs, log      everywhere; a, b fitted (log: pulls the size, keeps the sign)
x**p*x**q -> x**(p + q)                                everywhere the original is real
(x*y)**n -> x**n*y**n and back                         everywhere; n whole
(c*x)**p -> c**p*x**p                                  c > 0; p any number
x**p*y**p -> (x*y)**p                                  x, y >= 0 (as the original, for p not whole)
(x**p)**q -> x**(p*q)                                  p odd or not whole, or q whole, or p*q even, or x known >= 0
sqrt(x**2) -> abs(x)                                   everywhere; where the language has abs
exp(u)*exp(v), exp(u)**q, 2.5**x*1.5**x                everywhere
exp(u + c) -> C*exp(u); c**(k*u) -> C**u; C**(u + c)   everywhere; c fitted, or taken by a fitted factor
exp(log(x)) -> x; exp(p*log(x)) -> x**p                x > 0 (as the original)
log(exp(u)) -> u; log(y*exp(u)) -> log(y) + u          everywhere the original is real
log(c*x) -> log(x) + C                                 c > 0 fitted, or taken by a fitted constant
log(x**p) -> p*log(x)                                  p odd or not whole, or x known >= 0
sin(-u), tan, asin, atan, sinh, tanh; cos(-u), cosh    everywhere
sin(asin(x)), cos(acos(x)), tan(atan(x)) -> x          where the original is real
abs(c*u), abs(abs(u)), abs(u) of a u known >= 0        everywhere
min, max: nested, equal operands, several numbers      everywhere
constant-only subtrees -> one number                   always; not finite or not real: the program is refused
=====================================================  =================================================================

A local parameter used once absorbs numbers like a fitted constant does (its start follows); used twice it is a symbol.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from operators.complexity import complexities, complexity
from operators.fold_kernel import fold_batch
from operators.primitives import BY_OPCODE, CONST, OPCODE, VAR
from operators.program import I64, Program, ProgramBatch
from operators.rewrite import proposals
from operators.simplify_kernel import simplify_batch

_SPELLINGS = ("add", "sub", "mul", "div", "neg", "inv", "square", "cube", "sqrt")

_KEPT = 1 << 13  # results of `simplify` that are remembered
_ROOM = 4  # a form of lower C may have a node more: exp(x)**2 -> exp(2*x)


def _mask(names: Iterable[str]) -> int:
    return sum(1 << code for code in {CONST, VAR, *(OPCODE[n] for n in names)})


def _names_for(program: Program) -> tuple[str, ...]:
    """The primitives of a program and the other spellings of sums, products and powers."""
    return (*_SPELLINGS, *(BY_OPCODE[c].name for c in set(program.code.tolist()) if c in BY_OPCODE))


def simplify_all(batch: ProgramBatch, primitives: Iterable[str] | None = None) -> ProgramBatch:
    """Every program of a batch simplified; length 0 marks one with a constant part that is not finite and real.

    `primitives` are the names a result may be written with; by default those of the program itself and the other
    spellings of sums, products and whole powers. C never rises, nor does the number of fitted constants.
    """
    out = ProgramBatch.empty(len(batch), batch.width)
    if primitives is None:
        allowed = _used(batch) | _mask(_SPELLINGS)
    else:
        allowed = np.full(len(batch), _mask(primitives), dtype=np.int64)
    simplify_batch(batch.code, batch.arg, batch.value, batch.length, allowed, out.code, out.arg, out.value, out.length)
    return out


def _used(batch: ProgramBatch) -> I64:
    """Bit mask of the opcodes of every program (what stands beyond its length is 0, an opcode of a leaf)."""
    bits = np.left_shift(1, batch.code.astype(np.int64))
    within = np.arange(batch.width) < batch.length[:, None]
    return np.bitwise_or.reduce(np.where(within, bits, 0), axis=1)


def simplify(program: Program, primitives: Iterable[str] | None = None) -> Program | None:
    """The program in a shorter equal form; None when a constant part of it is not finite and real."""
    names = None if primitives is None else frozenset(primitives)
    return _simplified(program, names)


@lru_cache(maxsize=_KEPT)
def _simplified(program: Program, names: frozenset[str] | None) -> Program | None:
    out = simplify_all(ProgramBatch.of([program], width=len(program) + _ROOM), names)
    return out[0] if out.length[0] else None


def fold(program: Program) -> Program | None:
    """Every constant-only subtree as one number; None when one of them is not finite and real (log(-2), 1e308*10).

    A number folded of structural numbers stays structural when it is a small ratio or such a multiple of pi.
    """
    batch = ProgramBatch.of([program])
    out = ProgramBatch.empty(1, batch.width)
    fold_batch(batch.code, batch.arg, batch.value, batch.length, out.code, out.arg, out.value, out.length)
    return out[0] if out.length[0] else None


def equal_forms(program: Program, primitives: Iterable[str] | None = None) -> list[Program]:
    """Other forms of the program one rule of `operators.rewrite` away, simplified, each once, the shortest first.

    Only forms that are no longer by C and hold no more fitted constants than the program.
    """
    return [p for _, p in _ranked_forms(program, primitives, complexity(program))]


def _ranked_forms(program: Program, primitives: Iterable[str] | None, most: int) -> list[tuple[int, Program]]:
    proposed = list(proposals(program))
    if not proposed:
        return []
    names = _names_for(program) if primitives is None else primitives
    simplified = simplify_all(ProgramBatch.of(proposed, width=len(program)), names)
    rows = np.flatnonzero((simplified.length > 0) & (_used(simplified) & ~_mask(names) == 0))
    cost = complexities(simplified.take(rows))
    found: dict[bytes, tuple[int, Program]] = {}
    for row, c in zip(rows, cost, strict=True):
        form = simplified[int(row)]
        if c <= most and form.n_constants <= program.n_constants and form != program:
            found.setdefault(form.key, (int(c), form))
    return sorted(found.values(), key=lambda item: (item[0], item[1].n_constants, len(item[1]), item[1].key))


_UPHILL = 4  # a form this much longer may still lead to a shorter one (expand, then cancel)


def lowest(program: Program, primitives: Iterable[str] | None = None, steps: int = 24) -> Program:
    """The equal form of lowest C found by at most `steps` expansions, best first; never more constants."""
    start = simplify(program, primitives)
    if start is None:
        return program
    best = (complexity(start), start.n_constants, len(start))
    open_, seen, answer = [(best, start)], {start.key}, start
    for _ in range(steps):
        if not open_:
            break
        (_, current) = open_.pop(0)
        for c, form in _ranked_forms(current, primitives, best[0] + _UPHILL):
            if form.key in seen or form.n_constants > start.n_constants:
                continue
            seen.add(form.key)
            rank = (c, form.n_constants, len(form))
            open_.append((rank, form))
            if rank < best:
                best, answer = rank, form
        open_.sort(key=lambda item: (item[0], item[1].key))
    return answer
