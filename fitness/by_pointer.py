"""The heavy kernels behind pointers: compiled once, called by their symbol.

A kernel that another calls is copied into the caller and optimised again; the kernels of grouped data call these from
many places some levels deep, which made the first start a minute longer (see `fitness.jit`).
"""

from __future__ import annotations

from fitness.jit import BYTES, COUNT, INDICES, NUMBER, NUMBERS, array_at, block_function, kernel, pointer
from fitness.kernels import BLOCK, predict_rows
from fitness.normal_equations import Rows, Tree, Workspace, accumulate
from fitness.plan import PLAN_ROWS


@block_function(
    BYTES, COUNT, INDICES, COUNT, COUNT, NUMBERS, NUMBERS, COUNT, COUNT, NUMBERS, NUMBERS, COUNT, COUNT, COUNT,
    NUMBERS, NUMBERS, COUNT, NUMBERS, INDICES, NUMBERS, NUMBERS, COUNT, result=NUMBER,
)  # fmt: skip
def accumulate_at(
    code, length, plan, plan_width, k, value, X, features, n_rows, y, weight, space, start, stop,
    slots, adjoint, width, scale, row, factor, G, columns,
):  # fmt: skip
    plan_ = array_at(plan, (PLAN_ROWS, plan_width))
    tree = Tree(array_at(code, (length,)), length, plan_, k, 0)
    rows = Rows(
        array_at(X, (features, n_rows)), array_at(y, (n_rows,)), array_at(weight, (n_rows,)), space, start, stop
    )
    work = Workspace(
        array_at(slots, (features + width, BLOCK)), array_at(adjoint, (width + 2, BLOCK)), array_at(scale, (width,)),
        array_at(row, (k + 1,)), array_at(factor, (k + 1,)),
    )  # fmt: skip
    return accumulate(tree, array_at(value, (length,)), rows, work, array_at(G, (columns, columns)))


@kernel(entry=False)
def normal_equations(tree, value, rows, work, G):
    """`normal_equations.accumulate`, by its symbol."""
    return accumulate_at(
        pointer(tree.code, 0), tree.length, pointer(tree.plan, 0), tree.plan.shape[1], tree.k, pointer(value, 0),
        pointer(rows.X, 0), rows.X.shape[0], rows.X.shape[1], pointer(rows.y, 0), pointer(rows.weight, 0), rows.space,
        rows.start, rows.stop, pointer(work.slots, 0), pointer(work.adjoint, 0), work.adjoint.shape[0] - 2,
        pointer(work.scale, 0), pointer(work.row, 0), pointer(work.factor, 0), pointer(G, 0), G.shape[1],
    )  # fmt: skip


@block_function(BYTES, COUNT, INDICES, COUNT, NUMBERS, NUMBERS, COUNT, COUNT, COUNT, COUNT, NUMBERS, COUNT, NUMBERS)
def predict_at(code, length, plan, plan_width, value, X, features, n_rows, start, stop, slots, n_slots, out):
    predict_rows(
        array_at(code, (length,)), array_at(value, (length,)), length, array_at(X, (features, n_rows)), start, stop,
        array_at(plan, (PLAN_ROWS, plan_width)), array_at(slots, (n_slots, BLOCK)), array_at(out, (stop - start,)),
    )  # fmt: skip


@kernel(entry=False)
def predicted(tree, quick_plan, value, X, start, stop, slots, out):
    """`kernels.predict_rows`, by its symbol: out[: stop - start] = the values on rows start..stop."""
    predict_at(
        pointer(tree.code, 0), tree.length, pointer(quick_plan, 0), quick_plan.shape[1], pointer(value, 0),
        pointer(X, 0), X.shape[0], X.shape[1], start, stop, pointer(slots, 0), slots.shape[0], pointer(out, 0),
    )  # fmt: skip
