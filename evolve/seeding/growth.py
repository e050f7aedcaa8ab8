"""What goes into the table: classes of expressions that published laws are made of, cheapest first.

A class is filled from cheaper classes and cut at its share of the table. Sums are kept where something is done to
them (a root, a quotient, a function): as terms they come for free from the sparse linear combinations.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from evolve.seeding.table import Table

I64 = NDArray[np.int64]

FUNCTIONS = ("exp", "log", "sin", "cos", "sqrt", "tanh", "tan", "atan", "asin", "acos", "sinh", "cosh", "abs")
_MAX_SUPPORT = 6  # leaves in a monomial
_MAX_DEGREE = 6


def grow(table: Table, size: int) -> Table:
    """Fill a table that holds its leaves only with about `size` entries; returns it."""
    _Growth(table, size).run()
    return table


def join(*parts: I64) -> I64:
    """All entries of the parts once, ascending; 0 (no entry) left out."""
    both = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
    return both[both > 0]


def pairs_of(entries: I64) -> tuple[I64, I64]:
    """(left, right) of every unordered pair."""
    i, j = np.triu_indices(len(entries), 1)
    return entries[i], entries[j]


class _Growth:
    def __init__(self, table: Table, size: int) -> None:
        self.table = table
        self.size = size
        self.functions = [f for f in FUNCTIONS if f in table.builder.names]

    def run(self) -> None:
        leaves, n = self.table.leaf_entries, self.size
        powers = self.powers(leaves)
        roots = self.unary("sqrt", leaves)
        products, sums = self.pairs(leaves)
        small = join(leaves, powers[2], powers[-1], roots, products, self.unary("sqrt", products))
        squares = self.square_sums(powers[2], sums)
        shifted = self.shifted(join(leaves, powers[2], products))
        monomials = self.monomials(powers, n // 8)
        first = join(leaves, powers[2], powers[-1], sums, products)
        waves = self.applied(self.cheapest(first, n // 30))
        ratios = self.inverted(self.cheapest(join(sums, squares, shifted), n // 30))
        wave_squares = join(self.table.unary("square", self.cheapest(waves, n // 15)))
        waves = join(waves, self.applied(self.cheapest(join(first, squares, shifted, monomials), n // 30)))
        outer = join(waves, wave_squares, ratios)
        self.table.factors = join(small, shifted, monomials)
        self.table.phases = join(
            leaves, powers[2], powers[3], roots, products, sums, squares, self.unary("sqrt", squares)
        )
        self.products(self.cheapest(join(small, sums), n // 30), outer, n // 4)
        self.products(outer, outer, n // 8)
        self.products(self.cheapest(monomials, n // 60), outer, n // 8)
        self.products(self.cheapest(join(small, monomials), 200), join(sums, squares, shifted), n // 10)
        self.sums_of_three(join(powers[2], squares, products), n // 20)
        everything = np.arange(1, self.table.size)
        self.products(self.cheapest(everything, 60), self.cheapest(everything, n // 4), n)

    def room(self) -> int:
        return max(0, self.size - self.table.size)

    def cheapest(self, entries: I64, n: int) -> I64:
        return entries[np.argsort(self.table.cost[entries], kind="stable")[: max(n, 4)]]

    def powers(self, leaves: I64) -> dict[int, I64]:
        """Aligned with the leaves: entries of the powers -2..3 (0 where unusable)."""
        t = self.table
        square = t.unary("square", leaves)
        inverse_square = np.zeros_like(leaves)
        inverse_square[square > 0] = t.unary("inv", square[square > 0])
        return {1: leaves, 2: square, -1: t.unary("inv", leaves), -2: inverse_square, 3: t.unary("cube", leaves)}

    def unary(self, name: str, entries: I64) -> I64:
        """name(u) for the entries, if the grammar has it."""
        made = self.table.unary(name, entries) if name in self.table.builder.names else np.zeros(0, np.int64)
        return join(made)

    def pairs(self, leaves: I64) -> tuple[I64, I64]:
        left, right = pairs_of(leaves)
        t = self.table
        products = join(t.binary("mul", left, right), t.binary("div", left, right), t.binary("div", right, left))
        return products, join(t.binary("add", left, right), t.binary("sub", left, right), t.binary("sub", right, left))

    def square_sums(self, square: I64, sums: I64) -> I64:
        t = self.table
        left, right = pairs_of(square[square > 0])
        out = [t.binary("add", left, right), t.binary("sub", left, right), t.binary("sub", right, left)]
        out.append(t.unary("square", sums))
        return join(*out)

    def shifted(self, entries: I64) -> I64:
        """1 + u, 1 - u and u - 1."""
        entries = self.cheapest(entries, self.size // 40)
        one = np.zeros_like(entries)
        t = self.table
        return join(t.binary("add", one, entries), t.binary("sub", one, entries), t.binary("sub", entries, one))

    def monomials(self, powers: dict[int, I64], most: int) -> I64:
        """Products of powers -2..2 of two to six leaves, lowest degree first."""
        layer = [(0, -1, 0)]  # (entry, last leaf, degree); entry 0 is the number one
        made: list[I64] = []
        for _ in range(min(self.table.n_leaves, _MAX_SUPPORT)):
            layer = self._longer(layer, powers, most - sum(len(m) for m in made))
            made.append(np.array([entry for entry, _, _ in layer], dtype=np.int64))
        return join(*made[1:])

    def _longer(
        self, layer: list[tuple[int, int, int]], powers: dict[int, I64], most: int
    ) -> list[tuple[int, int, int]]:
        """Every monomial of a layer with one more leaf, the lowest degrees only."""
        t = self.table
        wanted = [
            (degree + abs(p), entry, leaf, p)
            for entry, last, degree in layer
            for leaf in range(last + 1, t.n_leaves)
            for p in (1, -1, 2, -2)
            if powers[p][leaf] > 0 and degree + abs(p) <= _MAX_DEGREE
        ]
        wanted = sorted(wanted, key=lambda w: w[0])[: max(0, most)]
        out: list[tuple[int, int, int]] = []
        for name, chosen in (("mul", [w for w in wanted if w[3] > 0]), ("div", [w for w in wanted if w[3] < 0])):
            left = np.array([w[1] for w in chosen], dtype=np.int64)
            right = np.array([powers[abs(w[3])][w[2]] for w in chosen], dtype=np.int64)
            made = t.binary(name, left, right)
            out += [(int(e), w[2], w[0]) for e, w in zip(made, chosen, strict=True) if e > 0]
        return out

    def applied(self, entries: I64) -> I64:
        """f(u) for every function and entry, exp(-u) too."""
        t = self.table
        out = [self.unary(f, entries) for f in self.functions]
        if "exp" in self.functions:
            grown = t.unary("exp", entries)
            out.append(t.unary("inv", grown[grown > 0]))
        return join(*out)

    def inverted(self, entries: I64) -> I64:
        t = self.table
        inverse = t.unary("inv", entries)
        return join(inverse, self.unary("sqrt", entries), t.unary("square", inverse[inverse > 0]))

    def products(self, left: I64, right: I64, most: int) -> I64:
        """left*right, left/right and right/left, cheapest first."""
        most = min(most, self.room())
        if not (most and len(left) and len(right)):
            return np.zeros(0, np.int64)
        a, b = self._cheapest_pairs(left, right, most // 2)
        t = self.table
        out = [t.binary("mul", a, b)]
        a, b = a[: most // 4], b[: most // 4]
        return join(*out, t.binary("div", a, b), t.binary("div", b, a))

    def _cheapest_pairs(self, left: I64, right: I64, most: int) -> tuple[I64, I64]:
        """About `most` pairs with the least sum of prices, without looking at all pairs; of u*v and v*u one."""
        price_left, price_right = self.prices(left), self.prices(right)
        counts = np.convolve(np.bincount(price_left), np.bincount(price_right))
        limit = int(np.searchsorted(np.cumsum(counts), 2 * most))
        order = np.argsort(price_right, kind="stable")
        reach = np.searchsorted(price_right[order], limit - price_left, side="right")
        a = np.repeat(left, reach)
        b = np.concatenate([right[order[:n]] for n in reach]) if len(reach) else a
        first = np.argsort(np.repeat(price_left, reach) + self.prices(b), kind="stable")[: 4 * most]
        a, b = a[first], b[first]
        once = ~(np.isin(a, right) & np.isin(b, left) & (a > b))
        return a[once][:most], b[once][:most]

    def prices(self, entries: I64) -> I64:
        """Prices in halves, as integers."""
        return np.round(2.0 * self.table.cost[entries]).astype(np.int64)

    def sums_of_three(self, entries: I64, most: int) -> I64:
        """u + v + w, and roots, inverses and functions of them."""
        most = min(most, self.room()) // 6
        entries = self.cheapest(entries, 40)
        triples = np.array(list(itertools.islice(itertools.combinations(entries, 3), most)), dtype=np.int64)
        if not len(triples):
            return np.zeros(0, np.int64)
        t = self.table
        pair = t.binary("add", triples[:, 0], triples[:, 1])
        ok = pair > 0
        sums = join(t.binary("add", pair[ok], triples[ok, 2]), t.binary("sub", pair[ok], triples[ok, 2]))
        return join(sums, self.inverted(sums), self.applied(sums) if len(sums) else sums)
