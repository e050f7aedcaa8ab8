"""Program -> expression text, in the styles that emitted files need.

A style says how each primitive and each number is written. `NUMPY` is what contract modules hold; `FRONTIER` is what
the Frontier-CS judge reads (+ - * / ** sin cos exp log and no other name); `SYMPY` is for people who go on with sympy.
Numbers keep every digit. Nothing here recurses, so a deep program is no danger: its numpy form is cut into assignments.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from emit.errors import NotExpressible
from operators.primitives import ATOM, BY_OPCODE, CONST, FRONTIER_NAMES, POWER, PRIMITIVES, PRODUCT, SUM, VAR
from operators.program import FREE, LOCAL, Program
from operators.text import default_locals, number

Text = tuple[str, int]  # what is written, and how tightly it binds

LINE = 88  # an expression longer than this is cut into assignments
NESTING = 12  # and so is one with more brackets inside each other
_WORTH_A_NAME = 24


@dataclass(frozen=True)
class Form:
    """How one primitive is written: `text` with a ``{}`` per operand, its precedence, and what its operands need."""

    text: str
    binds: int
    needs: tuple[int, ...]


@dataclass(frozen=True)
class Style:
    """A language: a form for each primitive it has (by opcode), a writer of numbers, and its name for messages."""

    name: str
    forms: Mapping[int, Form]
    number: Callable[[float, int], Text]


def _plain_number(value: float, role: int) -> Text:
    """Exact digits; structural fractions stay fractions, structural decimals are decimals."""
    text, binds = number(value, role)
    if text.startswith("fixed("):
        return repr(float(value)), PRODUCT if value < 0 else ATOM
    return text, binds


def _numpy_number(value: float, role: int) -> Text:
    text, binds = _plain_number(value, role)
    return ("np.pi", ATOM) if text == "pi" else (text, binds)


def _frontier_number(value: float, role: int) -> Text:
    text, binds = _plain_number(value, role)
    return (repr(math.pi), ATOM) if text == "pi" else (text, binds)


def _sympy_number(value: float, role: int) -> Text:
    text, binds = _plain_number(value, role)
    if "/" in text:
        return f"Rational({text.replace('/', ', ')})", ATOM
    return text, binds


_NUMPY_FORMS = {p.opcode: Form(p.numpy_text or p.text, p.binds, p.needs) for p in PRIMITIVES}
_SQRT = next(p.opcode for p in PRIMITIVES if p.name == "sqrt")
_FRONTIER_FORMS = {p.opcode: Form(p.text, p.binds, p.needs) for p in PRIMITIVES if p.name in FRONTIER_NAMES}
_FRONTIER_FORMS[_SQRT] = Form("{}**0.5", POWER, (ATOM,))  # the judge's numpy has no sqrt, and 1/2 becomes one
_SYMPY_NAMES = {"abs": "Abs({})", "min": "Min({}, {})", "max": "Max({}, {})"}
_SYMPY_FORMS = {p.opcode: Form(_SYMPY_NAMES.get(p.name, p.text), p.binds, p.needs) for p in PRIMITIVES}

NUMPY = Style("numpy", _NUMPY_FORMS, _numpy_number)
FRONTIER = Style("Frontier-CS", _FRONTIER_FORMS, _frontier_number)
SYMPY = Style("sympy", _SYMPY_FORMS, _sympy_number)


def expression(
    program: Program, names: Sequence[str], style: Style = NUMPY, local_names: Sequence[str] | None = None
) -> str:
    """One expression. names[i] is what feature i is called, local_names[k] local slot k. Raises NotExpressible."""
    writer = _Writer(program, names, style, local_names)
    return writer.write()[1]


def statements(
    program: Program, names: Sequence[str], local_names: Sequence[str] | None = None
) -> tuple[list[str], str]:
    """Numpy assignments to make first (``t1 = ...``; none for a short law) and the expression of the result.

    Parts that occur twice get a name, and so do parts of an expression too long or too deep to read.
    """
    writer = _Writer(program, names, NUMPY, local_names, cut=True)
    return writer.write()


class _Writer:
    """One walk over the postfix arrays with a stack of texts."""

    def __init__(
        self, program: Program, names: Sequence[str], style: Style, local_names: Sequence[str] | None, cut: bool = False
    ) -> None:
        self.program, self.names, self.style, self.cut = program, names, style, cut
        self.locals = default_locals(program) if local_names is None else local_names
        self.lines: list[str] = []
        self.repeated = _repeated(program) if cut else {}
        self.known: dict[bytes, str] = {}
        self.taken = {*names, *self.locals}

    def write(self) -> tuple[list[str], str]:
        stack: list[tuple[str, int, int]] = []  # text, precedence, brackets inside each other
        last = len(self.program) - 1
        for i in range(last + 1):
            code = int(self.program.code[i])
            if code in (CONST, VAR):
                stack.append((*self._leaf(i), 0))
                continue
            arity = BY_OPCODE[code].arity
            operands = stack[-arity:]
            del stack[-arity:]
            node = self._compose(i, operands)
            key = self.repeated.get(i)
            stack.append(node if key is None or i == last else self._name_repeated(key, node))
        return self.lines, stack[-1][0]

    def _leaf(self, i: int) -> Text:
        arg, value = int(self.program.arg[i]), float(self.program.value[i])
        if int(self.program.code[i]) == VAR:
            return self.names[arg], ATOM
        if arg >= LOCAL:
            name = self.locals[arg - LOCAL]
            return name, PRODUCT if name.startswith("-") else ATOM
        if not math.isfinite(value):
            raise NotExpressible(f"the law holds the number {value}, which is not finite")
        return self.style.number(value, arg)

    def _compose(self, i: int, operands: list[tuple[str, int, int]]) -> tuple[str, int, int]:
        code = int(self.program.code[i])
        form = self.style.forms.get(code)
        if form is None:
            name = BY_OPCODE[code].name
            raise NotExpressible(
                f"{name} is not allowed in the {self.style.name} form: + - * / ** sin cos exp log only"
            )
        operands = self._integer_exponent(i, operands)
        while self.cut and self._too_long(form, operands):
            longest = max(range(len(operands)), key=lambda k: len(operands[k][0]))
            if len(operands[longest][0]) < _WORTH_A_NAME and operands[longest][2] < NESTING:
                break
            operands[longest] = self._assign(operands[longest][0])
        text, binds = _join(form, [(t, b) for t, b, _ in operands], BY_OPCODE[code].name)
        return text, binds, 1 + max(d for _, _, d in operands)

    def _integer_exponent(self, i: int, operands: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
        """In numpy text an exponent that is a whole number is written as one: exact, and finite for any base."""
        if self.style is NUMPY and BY_OPCODE[int(self.program.code[i])].name == "pow":
            value = float(self.program.value[i - 1])
            if int(self.program.code[i - 1]) == CONST and self.program.arg[i - 1] < LOCAL and value == round(value):
                whole = abs(value) < 1e6
                return [operands[0], (str(int(value)), PRODUCT if value < 0 else ATOM, 0)] if whole else operands
        return operands

    def _too_long(self, form: Form, operands: list[tuple[str, int, int]]) -> bool:
        return len(form.text) + sum(len(t) for t, _, _ in operands) > LINE or max(d for _, _, d in operands) >= NESTING

    def _name_repeated(self, key: bytes, node: tuple[str, int, int]) -> tuple[str, int, int]:
        if key not in self.known:
            self.known[key] = self._assign(node[0])[0]
        return self.known[key], ATOM, 0

    def _assign(self, text: str) -> tuple[str, int, int]:
        k = len(self.lines) + 1
        name = f"t{k}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.lines.append(f"{name} = {text}")
        return name, ATOM, 0


def _join(form: Form, operands: Sequence[Text], name: str) -> Text:
    """Operands in a form, with the brackets they need; ``a + -b`` is written ``a - b``."""
    parts = [t if binds >= need else f"({t})" for (t, binds), need in zip(operands, form.needs, strict=True)]
    if name in ("add", "sub") and parts[1].startswith("-") and operands[1][1] >= PRODUCT:
        sign = "-" if name == "add" else "+"
        return f"{parts[0]} {sign} {parts[1][1:]}", SUM
    return form.text.format(*parts), form.binds


def _repeated(program: Program) -> dict[int, bytes]:
    """Node -> key of its subtree, for subtrees worth naming: more than 3 nodes, read twice or more.

    A part that occurs only inside one larger repeated part is left to that part.
    """
    keys: dict[int, bytes] = {}
    parent: dict[int, int] = {}
    for i in range(len(program)):
        for child in program.children(i):
            parent[child] = i
        part = slice(int(program.starts[i]), i + 1)
        if part.stop - part.start > 3 and (program.code[part] == VAR).any():
            keys[i] = b"".join(a[part].tobytes() for a in (program.code, program.arg, program.value))
    count = Counter(keys.values())
    alone = {key for i, key in keys.items() if count[key] > 1 and count[keys.get(parent.get(i, -1), b"")] < count[key]}
    return {i: key for i, key in keys.items() if key in alone}


def fitted_constants(program: Program) -> tuple[float, ...]:
    """The fitted global numbers of a program, left to right, repeats left out: what a judge would count."""
    free = program.value[(program.code == CONST) & (program.arg == FREE)]
    return tuple(dict.fromkeys(float(v) for v in free))
