"""OpenAI's `calculate_output`: a small language of names, numbers, + - * / ^ and eight functions.

Parsed by a separate parser, never by `eval`. `^` is power, binds tighter than a sign and to the right
(2 ^ 3 ^ 2 is 512, -2 ^ 2 is -4). Functions: min, max (two or more arguments), abs, floor, ceil, exp, sqrt,
log (natural).

Source: OpenAI's graders guide, *multigraders*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import FormatError

Scores = NDArray[np.float64]
Step = Callable[[Mapping[str, Scores]], Scores]

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "min": (np.minimum, 2),
    "max": (np.maximum, 2),
    "abs": (np.abs, 1),
    "floor": (np.floor, 1),
    "ceil": (np.ceil, 1),
    "exp": (np.exp, 1),
    "sqrt": (np.sqrt, 1),
    "log": (np.log, 1),
}
"""Name to implementation and minimum number of arguments; those of one argument accept exactly one."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)|(?P<sign>[-+*/^(),]))"
)
_MAX_LENGTH, _MAX_DEPTH = 10_000, 100
_PARSE, _NAME = "formula_parse_error", "invalid_variable_error"


class FormulaError(FormatError):
    """A formula that cannot be read.

    Attributes:
        flag: OpenAI's name for the cause: "formula_parse_error" or "invalid_variable_error".
    """

    flag = _PARSE


@dataclass(frozen=True)
class Expression:
    """A parsed formula.

    Attributes:
        text: The original text.
        names: The variables in it, in order of appearance.

    Example:
        >>> rule = Expression.read("max(0, a + b - 0.5)")
        >>> rule.names, float(rule.value({"a": 1.0, "b": 0.25}))
        (('a', 'b'), 0.75)
    """

    text: str
    names: tuple[str, ...]
    _step: Step

    @classmethod
    def read(cls, text: str, names: Iterable[str] | None = None) -> Expression:
        """Parse a formula.

        Args:
            text: At most 10,000 characters, nested at most 100 deep.
            names: The available variables; None to allow any.

        Raises:
            FormulaError: With the position, what was found and what was expected; `flag` gives the cause.
        """
        parser = _Parser(text, None if names is None else tuple(names))
        try:
            step = parser.whole()
        except RecursionError:  # called with little remaining stack
            raise _error("the formula", "too many brackets", "fewer levels of brackets", _PARSE) from None
        return cls(text, tuple(dict.fromkeys(parser.used)), step)

    def value(self, values: Mapping[str, Any]) -> Scores:
        """The formula over columns or numbers, elementwise; NaN or infinite if the result is undefined."""
        columns = {name: np.asarray(values[name], np.float64) for name in self.names}
        with np.errstate(all="ignore"):
            return np.asarray(self._step(columns), np.float64)


class _Parser:
    """Recursive descent: sum, product, sign, power, atom."""

    def __init__(self, text: str, names: tuple[str, ...] | None) -> None:
        self._text, self._names = text, names
        self._tokens = tokens(text)
        self._at = self._depth = 0
        self.used: list[str] = []

    def whole(self) -> Step:
        step = self._sum()
        if self._peek() is not None:
            raise self._wrong("an operator or the end")
        return step

    def _sum(self) -> Step:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._wrong(f"at most {_MAX_DEPTH} levels of brackets")
        step = self._chain(self._product, {"+": np.add, "-": np.subtract})
        self._depth -= 1
        return step

    def _product(self) -> Step:
        return self._chain(self._sign, {"*": np.multiply, "/": np.divide})

    def _chain(self, part: Callable[[], Step], signs: Mapping[str, Any]) -> Step:
        first, rest = part(), []
        while (sign := self._peek()) in signs:
            self._next()
            rest.append((signs[str(sign)], part()))
        # One loop for any number of terms: nested calls would reach Python's recursion limit.
        return (lambda values: _folded(values, first, rest)) if rest else first

    def _sign(self) -> Step:
        negative = False
        # A loop instead of recursion: a text may be thousands of signs in a row.
        while (sign := self._peek()) in {"+", "-"}:
            self._next()
            negative ^= sign == "-"
        step = self._power()
        return (lambda values: -step(values)) if negative else step

    def _power(self) -> Step:
        base = self._atom()
        if self._peek() != "^":
            return base
        self._next()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._wrong(f"at most {_MAX_DEPTH} powers in a row")
        # The right side of `^` may be a sign or another power: 2 ^ -1, and 2 ^ 3 ^ 2 is 2 ^ 9.
        step = _binary(np.float_power, base, self._sign())
        self._depth -= 1
        return step

    def _atom(self) -> Step:
        symbol = self._peek()
        if symbol == "(":
            self._next()
            step = self._sum()
            self._expect(")")
            return step
        if symbol is None or symbol in "-+*/^(),":
            raise self._wrong("a number, a grader's name or a bracket")
        self._next()
        if symbol[0] in "0123456789.":
            number = np.float64(symbol)
            return lambda _: np.asarray(number)
        return self._call(symbol) if self._peek() == "(" else self._variable(symbol)

    def _variable(self, name: str) -> Step:
        if self._names is not None and name not in self._names:
            raise self._wrong("one of " + ", ".join(self._names or ("no names",)), _NAME, back=1)
        self.used.append(name)
        return lambda values: values[name]

    def _call(self, name: str) -> Step:
        if name not in FUNCTIONS:
            raise self._wrong("one of the functions " + ", ".join(FUNCTIONS), _PARSE, back=1)
        function, fewest = FUNCTIONS[name]
        self._expect("(")
        parts = [self._sum()]
        while self._peek() == ",":
            self._next()
            parts.append(self._sum())
        self._expect(")")
        if len(parts) < fewest or (fewest == 1 and len(parts) > 1):
            arguments = "two arguments or more" if fewest > 1 else "one argument"
            raise self._wrong(f"{name} with {arguments}", back=1)
        if fewest == 1:
            return lambda values: function(parts[0](values))
        return lambda values: reduce(function, (part(values) for part in parts))

    def _peek(self) -> str | None:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else None

    def _next(self) -> None:
        self._at += 1

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            raise self._wrong(repr(sign))
        self._next()

    def _wrong(self, expected: str, flag: str = _PARSE, *, back: int = 0) -> FormulaError:
        at = self._at - back
        symbol, place = self._tokens[at] if at < len(self._tokens) else ("the end", len(self._text))
        return _error(f"{self._text[:200]!r}, character {place + 1}", symbol, expected, flag)


def tokens(text: str) -> list[tuple[str, int]]:
    """The numbers, names and signs of a formula, each with its position.

    Raises:
        FormulaError: It contains something else, or is longer than 10,000 characters.
    """
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        raise _error(
            "the formula", f"{len(str(text)):,} characters", f"text of at most {_MAX_LENGTH:,}", _PARSE
        )
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            place = f"{text[:200]!r}, character {start + 1}"
            raise _error(place, repr(text[start]), "a number, a name, a bracket or one of + - * / ^", _PARSE)
        found.append((match[0].strip(), match.end() - len(match[0].strip())))
        at = match.end()
    return found


def _folded(values: Mapping[str, Scores], first: Step, rest: list[tuple[Any, Step]]) -> Scores:
    result = first(values)
    for function, step in rest:
        result = function(result, step(values))
    return result


def _binary(function: Any, left: Step, right: Step) -> Step:
    return lambda values: function(left(values), right(values))


def _error(where: str, found: str, expected: str, flag: str) -> FormulaError:
    problem = (
        "the formula cannot be read"
        if flag == _PARSE
        else f"the formula uses {found!r}, which is not a grader of this suite"
    )
    error = FormulaError(problem, where=where, found=found, expected=expected)
    error.flag = flag
    return error
