"""Program -> LaTeX, with fractions, roots and powers set as people set them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from operators.primitives import ATOM, BY_OPCODE, CONST, POWER, PRODUCT, SUM, VAR
from operators.program import FREE, LOCAL, Program
from operators.text import default_locals

Text = tuple[str, int]

_FUNCTIONS = {
    "exp": r"\exp", "log": r"\ln", "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "asin": r"\arcsin",
    "acos": r"\arccos", "atan": r"\arctan", "sinh": r"\sinh", "cosh": r"\cosh", "tanh": r"\tanh", "min": r"\min",
    "max": r"\max",
}  # fmt: skip
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def latex(program: Program, headers: Sequence[str], local_names: Sequence[str] | None = None) -> str:
    """The law as LaTeX (math mode, without dollars). Headers are set upright, whatever characters they hold."""
    locals_ = default_locals(program) if local_names is None else local_names
    stack: list[Text] = []
    for code, arg, value in zip(program.code.tolist(), program.arg.tolist(), program.value.tolist(), strict=True):
        if code == VAR:
            stack.append((symbol(headers[arg]), ATOM))
        elif code == CONST:
            stack.append((symbol(locals_[arg - LOCAL]), ATOM) if arg >= LOCAL else _number(value, arg))
        else:
            primitive = BY_OPCODE[code]
            operands = stack[-primitive.arity :]
            del stack[-primitive.arity :]
            stack.append(_node(primitive.name, operands))
    return stack[-1][0]


def symbol(name: str) -> str:
    """A name in math mode: one letter as it is, a letter and a number as an index, anything else upright."""
    if len(name) == 1 and name.isascii() and name.isalpha():
        return name
    if name[:1].isascii() and name[:1].isalpha() and name[1:].isdigit() and name.isascii():
        return f"{name[0]}_{{{name[1:]}}}"
    return r"\mathrm{" + "".join(_SPECIAL.get(ch, r"\ " if ch.isspace() else ch) for ch in name) + "}"


def _number(value: float, role: int) -> Text:
    ratio = Fraction(value).limit_denominator(99)
    if role != FREE and ratio.numerator / ratio.denominator == value and abs(ratio.numerator) < 10**6:
        sign, size = ("-" if ratio < 0 else ""), abs(ratio)
        text = str(size) if size.denominator == 1 else rf"\frac{{{size.numerator}}}{{{size.denominator}}}"
        return sign + text, PRODUCT if sign else ATOM
    mantissa, _, exponent = repr(float(value)).partition("e")
    if exponent:
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}", PRODUCT
    return mantissa.removesuffix(".0"), PRODUCT if value < 0 else ATOM


def _node(name: str, operands: list[Text]) -> Text:
    texts = [t for t, _ in operands]
    match name:
        case "add" | "sub":
            right = texts[1] if operands[1][1] >= PRODUCT else _bracket(texts[1])
            plus = name == "add"
            if right.startswith("-"):
                plus, right = not plus, right[1:]
            return f"{texts[0]} {'+' if plus else '-'} {right}", SUM
        case "mul":
            left, right = _at_least(operands[0], PRODUCT), _at_least(operands[1], POWER)
            glue = r" \cdot " if right[:1].isdigit() or right.startswith(r"\frac") else " "
            return left + glue + right, PRODUCT
        case "div" | "inv":
            top, bottom = (texts[0], texts[1]) if name == "div" else ("1", texts[0])
            return rf"\frac{{{top}}}{{{bottom}}}", POWER
        case "neg":
            return "-" + _at_least(operands[0], POWER), PRODUCT
        case "square" | "cube":
            return f"{_at_least(operands[0], ATOM)}^{{{2 if name == 'square' else 3}}}", POWER
        case "pow":
            return f"{_at_least(operands[0], ATOM)}^{{{texts[1]}}}", POWER
        case "sqrt":
            return rf"\sqrt{{{texts[0]}}}", ATOM
        case "abs":
            return rf"\left|{texts[0]}\right|", ATOM
    return _FUNCTIONS[name] + _bracket(", ".join(texts)), ATOM


def _at_least(operand: Text, need: int) -> str:
    text, binds = operand
    return text if binds >= need else _bracket(text)


def _bracket(text: str) -> str:
    return rf"\left({text}\right)"
