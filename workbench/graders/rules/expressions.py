"""Mathematical expressions in LaTeX or plain text, and their values at points. Standard library only."""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

Node = tuple[Any, ...]
"""("num", value), ("var", name), ("add" | "mul" | "pow", a, b), ("neg" | "fact" | "percent", a), ("func", name, a, base)."""
Value = Fraction | complex
_MAX_TOKENS = 1_000
_MAX_DEPTH = 60
_MAX_FACTORIAL = 2_000
_MAX_BITS = 60_000
"""Bits of an exact number; larger ones have no value."""

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?|\.\d+)|(\\[A-Za-z]+|\\.)|([A-Za-z]+|[\u0391-\u03c9])|(\S))")
_FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan asin acos atan sinh cosh tanh ln log lg exp sqrt abs floor ceil".split()  # noqa: SIM905
)
_CONSTANTS: Mapping[str, complex | float] = {"pi": math.pi, "\u03c0": math.pi, "e": math.e, "i": 1j}
_OPERATORS = {
    "\\cdot": "*",
    "\\times": "*",
    "\\div": "/",
    "\\ast": "*",
    "\u00d7": "*",
    "\u00b7": "*",
    "\u2212": "-",
    "\u00f7": "/",
    "\u2215": "/",
}
_CLOSING = {"(": ")", "[": "]", "{": "}", "|": "|"}


class ExpressionError(ValueError):
    """A text that is not an expression, or has no value."""


def tokens(text: str) -> list[str]:
    """The tokens of an expression.

    Raises:
        ExpressionError: There are too many.
    """
    text = text.replace("**", "^")
    found = [next(filter(None, groups)) for groups in _TOKEN.findall(text)]
    if len(found) > _MAX_TOKENS:
        raise ExpressionError("the expression is too long")
    return [one for token in found for one in _split(_OPERATORS.get(token, token))]


def _split(token: str) -> Iterator[str]:
    """A run of letters as a known name, a product of two letters, or one symbol."""
    if token.isalpha() and len(token) == 2 and token not in {"pi", "ln", "lg"}:
        yield from token
    else:
        yield token


class Parser:
    """Reads one expression from tokens."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._at = self._depth = 0

    def parse(self) -> Node:
        """The whole expression.

        Raises:
            ExpressionError: It is none.
        """
        node = self._sum()
        if self._peek():
            raise ExpressionError(f"{self._peek()!r} is not expected")
        return node

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._peek()
        if not token or (expected and token != expected):
            raise ExpressionError(f"{expected or 'an operand'} is missing")
        self._at += 1
        return token

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ExpressionError("nested too deeply")
        node = self._product()
        while self._peek() in {"+", "-"}:
            sign = self._take()
            term = self._product()
            node = ("add", node, ("neg", term) if sign == "-" else term)
        self._depth -= 1
        return node

    def _product(self) -> Node:
        node = self._unary()
        while True:
            token = self._peek()
            if token in {"*", "/"}:
                self._take()
                other = self._unary()
                node = ("mul", node, ("pow", other, ("num", Fraction(-1))) if "/" in token else other)
            elif self._starts_operand(token):
                is_mixed = (
                    node[0] == "num"
                    and node[1].denominator == 1
                    and token in {"\\frac", "\\dfrac", "\\tfrac"}
                )
                other = self._power()
                node = ("add", node, other) if is_mixed and _is_fraction(other) else ("mul", node, other)
            else:
                return node

    def _starts_operand(self, token: str) -> bool:
        if not token or token in {"|", ")", "]", "}", ",", ";", "\\%"}:
            return False
        return token[0].isalnum() or token[0] in "([{.\\" or token in _CONSTANTS

    def _unary(self) -> Node:
        if self._peek() in {"+", "-"}:
            sign = self._take()
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise ExpressionError("nested too deeply")
            inner = self._unary()
            self._depth -= 1
            return ("neg", inner) if sign == "-" else inner
        return self._power()

    def _power(self) -> Node:
        node = self._postfix(self._primary())
        if self._peek() == "^":
            self._take()
            exponent = self._unary() if self._peek() in {"+", "-"} else self._argument()
            node = self._postfix(("pow", node, exponent))
        return node

    def _postfix(self, node: Node) -> Node:
        while self._peek() in {"!", "%", "\\%"}:
            node = ("fact" if self._take() == "!" else "percent", node)
        return node

    def _argument(self) -> Node:
        """What directly follows a command or ^: a group, or one digit or symbol."""
        token = self._peek()
        if re.fullmatch(r"\d{2,}", token) and self._tokens[self._at - 1] != "^":
            self._tokens[self._at : self._at + 1] = [token[0], token[1:]]
        node = self._primary()
        return ("pow", node, self._argument()) if self._peek() == "^" and self._take() else node

    def _primary(self) -> Node:  # noqa: PLR0911 (one case per form)
        token = self._take()
        if token in _CLOSING:
            node = self._sum()
            self._take(_CLOSING[token])
            return ("func", "abs", node, None) if "|" in token else node
        if token[0].isdigit() or (token[0] == "." and len(token) > 1):
            return ("num", Fraction(token))
        name = token.removeprefix("\\")
        if name in {"frac", "dfrac", "tfrac"}:
            above = self._argument()
            return ("mul", above, ("pow", self._argument(), ("num", Fraction(-1))))
        if name in {"binom", "dbinom"}:
            return ("func", "binom", self._argument(), self._argument())
        if name == "sqrt":
            return self._root()
        if name in _FUNCTIONS:
            return self._function(name)
        if not name.isalpha():
            raise ExpressionError(f"{token!r} is not an operand")
        return self._symbol(name)

    def _root(self) -> Node:
        degree: Node = ("num", Fraction(2))
        if self._peek() == "[":
            self._take()
            degree = self._sum()
            self._take("]")
        return ("pow", self._argument(), ("pow", degree, ("num", Fraction(-1))))

    def _function(self, name: str) -> Node:
        base = power = None
        while self._peek() in {"_", "^"}:
            if self._take() == "_":
                base = self._argument()
            else:
                power = self._argument()
        if self._peek() in {"(", "{", "[", "|"}:
            argument = self._primary()
        else:
            argument = self._power()
            while self._starts_operand(self._peek()) and self._peek().removeprefix("\\") not in _FUNCTIONS:
                argument = ("mul", argument, self._power())
        if power == ("neg", ("num", Fraction(1))):
            return ("func", f"a{name}", argument, base)
        node: Node = ("func", name, argument, base)
        return ("pow", node, power) if power else node

    def _symbol(self, name: str) -> Node:
        if self._peek() == "_":
            self._take()
            if self._peek() == "{":
                end = (
                    self._tokens.index("}", self._at)
                    if "}" in self._tokens[self._at :]
                    else len(self._tokens)
                )
                name += "_" + "".join(self._tokens[self._at + 1 : end])
                self._at = end + 1
            else:
                name += "_" + self._take()
        return ("var", name.casefold() if len(name) > 2 and name.isalpha() else name)


def _is_fraction(node: Node) -> bool:
    return bool(node[0] == "mul" and node[1][0] == "num" and node[2][0] == "pow" and node[2][1][0] == "num")


def variables(node: Node) -> set[str]:
    """The names of its variables."""
    if node[0] == "var":
        return set() if node[1] in _CONSTANTS else {node[1]}
    return {name for part in node[1:] if isinstance(part, tuple) for name in variables(part)}


def uses(node: Node, name: str) -> bool:
    """Whether an expression uses a constant."""
    return node == ("var", name) or any(isinstance(part, tuple) and uses(part, name) for part in node[1:])


def operations(node: Node) -> int:
    """The number of operations that are still to be carried out; signs, percent and fractions of numbers are none."""
    if node[0] in {"num", "var"}:
        return 0
    inner = sum(operations(part) for part in node[1:] if isinstance(part, tuple))
    if node[0] in {"neg", "percent"} or (node[0] == "mul" and _is_fraction(node)):
        return 0 if node[0] == "mul" else inner
    if node[0] == "pow" and node[2] == ("num", Fraction(-1)):
        return inner
    return inner + 1


def value(node: Node, at: Mapping[str, Fraction]) -> Value:
    """The value of an expression at a point: exact where it is rational.

    Raises:
        ExpressionError: It has none, or one that is too large.
    """
    try:
        return _value(node, at)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ExpressionError(str(error)) from None


def _value(node: Node, at: Mapping[str, Fraction]) -> Value:  # noqa: PLR0911 (one case per kind of node)
    kind = node[0]
    if kind == "num":
        return Fraction(node[1])
    if kind == "var":
        return complex(_CONSTANTS[node[1]]) if node[1] in _CONSTANTS and node[1] not in at else at[node[1]]
    if kind == "func":
        return _called(node[1], _value(node[2], at), None if node[3] is None else _value(node[3], at))
    one = _value(node[1], at)
    if kind == "neg":
        return -one
    if kind == "percent":
        return one / 100
    if kind == "fact":
        return _factorial(one)
    other = _value(node[2], at)
    if kind == "pow":
        return _raised(one, other)
    return _checked(_joined(one, other, kind))


def _joined(one: Value, other: Value, kind: str) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one + other if kind == "add" else one * other
    first, second = complex(one), complex(other)
    return first + second if kind == "add" else first * second


def _checked(result: Value) -> Value:
    if isinstance(result, Fraction):
        if max(result.numerator.bit_length(), result.denominator.bit_length()) > _MAX_BITS:
            raise ExpressionError("the value is too large")
    elif not cmath.isfinite(result):
        raise ExpressionError("the value is not finite")
    return result


def _factorial(one: Value) -> Value:
    if not isinstance(one, Fraction) or one.denominator != 1 or not 0 <= one <= _MAX_FACTORIAL:
        raise ExpressionError("the factorial has no value")
    return Fraction(math.factorial(int(one)))


def _raised(one: Value, other: Value) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        size = max(one.numerator.bit_length(), one.denominator.bit_length(), 1)
        if other.denominator == 1:
            if size * abs(other.numerator) > _MAX_BITS:
                raise ExpressionError("the value is too large")
            return one**other.numerator
        if (
            other.denominator <= 8
            and size <= 2_000
            and (root := _exact_root(one, other.denominator)) is not None
        ):
            return _raised(root, Fraction(other.numerator))
        if one < 0 and other.denominator % 2:  # an odd root of a negative number is real
            return -_raised(-one, other) if other.numerator % 2 else _raised(-one, other)
    return _checked(complex(one) ** complex(other))


def _exact_root(one: Fraction, degree: int) -> Fraction | None:
    if one < 0 and degree % 2 == 0:
        return None
    sign = -1 if one < 0 else 1
    parts = [_whole_root(part, degree) for part in (abs(one.numerator), one.denominator)]
    return None if None in parts else sign * Fraction(parts[0] or 0, parts[1] or 1)


def _whole_root(number: int, degree: int) -> int | None:
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < number:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == number else None


_CALLS: Mapping[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "cot": lambda x: 1 / cmath.tan(x), "sec": lambda x: 1 / cmath.cos(x),
    "csc": lambda x: 1 / cmath.sin(x), "arcsin": cmath.asin, "arccos": cmath.acos, "arctan": cmath.atan, "asin": cmath.asin,
    "acos": cmath.acos, "atan": cmath.atan, "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh, "ln": cmath.log, "exp": cmath.exp,
}  # fmt: skip


def _called(name: str, one: Value, base: Value | None) -> Value:
    if name == "abs":
        return abs(one) if isinstance(one, Fraction) else complex(abs(one))
    if name in {"floor", "ceil"} and isinstance(one, Fraction):
        return Fraction(math.floor(one) if name == "floor" else math.ceil(one))
    if (
        name == "binom"
        and isinstance(one, Fraction)
        and isinstance(base, Fraction)
        and one.denominator == base.denominator == 1
    ):
        if 0 <= base <= one <= _MAX_FACTORIAL:
            return Fraction(math.comb(int(one), int(base)))
        raise ExpressionError("the binomial coefficient has no value")
    if name in {"log", "lg"}:
        divisor = cmath.log(complex(base)) if base is not None else (cmath.log(10) if name == "lg" else 1.0)
        return _checked(_number_log(one) / divisor)
    return _checked(_CALLS[name](complex(one)))


def _number_log(one: Value) -> complex:
    if isinstance(one, Fraction) and one > 0:
        return complex(math.log(one.numerator) - math.log(one.denominator))
    return cmath.log(complex(one))
