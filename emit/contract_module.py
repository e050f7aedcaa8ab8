"""The submission module of SciLaws-Bench: what `best.py` holds.

Type I: one law, its constants are literals in `predict`. Type II: one form for all clusters, whose locals `fit` finds
from a window of one cluster. Same law in, same bytes out: no time stamps, no paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emit.evaluate import fold_constants
from emit.naming import docstring, safe
from emit.source import statements
from emit.templating import template
from operators.program import Program
from operators.text import render as render_text


@dataclass(frozen=True)
class ContractLaw:
    """A law to write down. `headers` and `identifiers` run over all features of the task, used or not.

    `notes` are lines for the docstring (metric on the folds, C, seed, version). With `fallback`, predict gives that
    number on a row where the law is not finite; without, such a row stays visible.
    """

    program: Program
    headers: tuple[str, ...]
    identifiers: tuple[str, ...]
    target: str = "y"
    notes: tuple[str, ...] = ()
    fallback: float | None = None


@dataclass(frozen=True)
class Local:
    """A per-cluster parameter: its name, its start, and bounds where the law needs them."""

    name: str
    start: float
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class GroupedLaw(ContractLaw):
    """A law with locals: locals[k] is slot k of the program. The law is linear in the slots `linear` taken together.

    `pull` is the stiffness of the springs that hold the locals to their starts, as a share of what the rows know.
    """

    locals: tuple[Local, ...] = ()
    linear: tuple[int, ...] = ()
    metric: str = "rmse"
    pull: float = 0.03


# How the locals are fitted for a metric: the space of the differences, and whether sizes count rather than squares.
_FITTING = {
    "rmse": ("plain", False), "mse": ("plain", False), "r2": ("plain", False), "mae": ("plain", True),
    "mdae": ("plain", True), "mape": ("relative", True), "smape": ("relative", True), "log_mae": ("log", True),
}  # fmt: skip


def render(law: ContractLaw) -> str:
    """The text of a Type I module. Raises NotExpressible if a constant part of the law is not real and finite."""
    program = fold_constants(law.program, keep_functions=True)
    names = _Names(law, program)
    lines, result = statements(program, names.of_feature)
    if not program.features:
        result = f"np.full(len(X), {result}, dtype=np.float64)"
    fallback = None if law.fallback is None else repr(float(law.fallback))
    return template("contract.py.j2").render(
        docstring=names.docstring(()), used_inputs=names.used_inputs, lines=[*names.bindings, *lines], result=result,
        fallback=fallback,
    )  # fmt: skip


def render_grouped(law: GroupedLaw) -> str:
    """The text of a Type II module, with the `fit` that calibrates the locals. Raises NotExpressible, ValueError."""
    program = fold_constants(law.program, keep_functions=True)
    if not law.locals or any(slot >= len(law.locals) for slot in program.local_slots):
        raise ValueError(f"the law uses the local slots {program.local_slots}, but {len(law.locals)} locals are named")
    names = _Names(law, program)
    locals_ = safe([local.name for local in law.locals], taken=names.of_feature)
    lines, result = statements(program, names.of_feature, locals_)
    if not program.features:
        result = f"np.full(len(X), {result}, dtype=np.float64)"
    weighting, robust = _FITTING[law.metric]
    return template("grouped.py.j2").render(
        docstring=names.docstring(locals_), used_inputs=names.used_inputs, lines=[*names.bindings, *lines],
        result=result,
        starts=[(name, repr(float(local.start))) for name, local in zip(locals_, law.locals, strict=True)],
        locals=", ".join(locals_), linear=sorted(law.linear), bounds=_bounds(law.locals), metric=law.metric,
        weighting=weighting, robust=robust, pull=repr(float(law.pull)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Names:
    """What the columns of a law are called inside its module."""

    law: ContractLaw
    program: Program
    of_feature: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "of_feature", safe(self.law.identifiers))

    @property
    def used_inputs(self) -> str:
        return repr([self.law.headers[f] for f in self.program.features])

    @property
    def bindings(self) -> list[str]:
        return [f"{self.of_feature[f]} = X[:, {column}]" for column, f in enumerate(self.program.features)]

    def docstring(self, local_names: Sequence[str]) -> str:
        text = render_text(self.program, self.of_feature, local_names or None)
        return docstring([f"{self.law.target} = {text}", *(["", *self.law.notes] if self.law.notes else [])])


def _bounds(locals_: Sequence[Local]) -> str:
    if all(local.lower is None and local.upper is None for local in locals_):
        return "(-np.inf, np.inf)"
    lower = ", ".join("-np.inf" if local.lower is None else repr(float(local.lower)) for local in locals_)
    upper = ", ".join("np.inf" if local.upper is None else repr(float(local.upper)) for local in locals_)
    return f"([{lower}], [{upper}])"
