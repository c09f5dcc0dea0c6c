"""The values of templates: plain data, their text form, the bounds of a rendering, and its errors.

Handlebars and mustache are JavaScript's, so there a value is written as by `String(value)`: a list's items
joined by commas, a dict "[object Object]", 1.0 as "1".
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from workbench.core.errors import FormatError, WorkbenchError
from workbench.data.samples.plain import MAX_DEPTH, NotPlainError, plain


class TemplateError(FormatError):
    """A template that cannot be parsed, or that uses a feature that its dialect does not have.

    Attributes:
        line: Counted from 1; 0 if the position is unknown.
        column: Counted from 1, in characters.
    """

    line: int = 0
    column: int = 0


class TemplateRunError(WorkbenchError, ValueError):
    """A template that does not fit its values, or that exceeds a limit on characters or time."""


class MissingVariableError(TemplateRunError, KeyError):
    """A name without a value, in a dialect where that is an error."""

    __str__ = WorkbenchError.__str__  # a KeyError would show the repr


def place(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position, both from 1."""
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def at(text: str, position: int, problem: str, *, expected: str = "", hint: str = "") -> TemplateError:
    """An error at one position of a template, with the text there."""
    line, column = place(text, position)
    excerpt = text[position : position + 60].split("\n", maxsplit=1)[0]
    error = TemplateError(
        problem, where=f"line {line}, column {column}", found=excerpt, expected=expected, hint=hint
    )
    error.line, error.column = line, column
    return error


def at_line(problem: str, line: int, text: str, expected: str = "") -> TemplateError:
    """An error of which only the line is known, with the start of that line."""
    lines = text.split("\n")
    excerpt = lines[line - 1].strip()[:60] if 0 < line <= len(lines) else ""
    error = TemplateError(problem, where=f"line {line}", found=excerpt, expected=expected)
    error.line = line
    return error


MAX_SOURCE = 2**20
"""Maximum characters of a template."""

MAX_TOKENS = 50_000
"""Maximum words, numbers, signs and texts of a template: parsing and compiling takes about 20 us for each, a second in all."""

MAX_OUTPUT = 4 * 2**20
"""Maximum characters of one rendering: more than any judge reads, and enough for a completion of a mebibyte."""

MAX_STEPS = 500_000
"""Maximum tags rendered and turns of loops in one rendering; about a second."""

MAX_NESTING = 64
"""Maximum depth of nested blocks."""

SECONDS = 10.0
"""Maximum time, for work that the counts above do not include."""


class Page:
    """The output of one rendering, and its remaining characters and steps.

    Raises:
        TemplateRunError: From `write` and `step`, when a limit is exceeded.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.characters_left = MAX_OUTPUT
        self.steps = MAX_STEPS
        self.until = time.monotonic() + SECONDS

    def put_all(self, texts: Iterable[str]) -> None:
        """Add texts as they are generated, each as one step of work: `step` and `write` in one, for many small pieces."""
        append, now, until = self.parts.append, time.monotonic, self.until
        for text in texts:
            self.steps -= 1
            self.characters_left -= len(text)
            # One test for a piece that may be a single character; the calls below raise the error.
            if self.steps < 0 or self.characters_left < 0 or now() > until:
                self.step(0)
                self.take(0)
            append(text)

    def write(self, text: str) -> None:
        """Add text."""
        self.take(len(text))
        self.parts.append(text)

    def take(self, characters: int) -> None:
        """Count characters made, whether written or not."""
        self.characters_left -= characters
        if self.characters_left < 0:
            raise TemplateRunError(
                "the template writes too much", expected=f"at most {MAX_OUTPUT:,} characters"
            )

    def step(self, count: int = 1) -> None:
        """Count steps."""
        self.steps -= count
        if self.steps < 0 or time.monotonic() > self.until:
            raise TemplateRunError(
                "the template does too much: loops within loops over long lists",
                expected=f"at most {MAX_STEPS:,} steps",
            )

    def text(self) -> str:
        """All of it."""
        return "".join(self.parts)


JS_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What JavaScript's `\\s` matches, as the inside of a character class."""


class JsonList(list[Any]):
    """A list that is written as JSON text, and as an empty text when it has no items."""

    def __str__(self) -> str:
        return json_text(list(self)) if self else ""


def json_text(value: Any) -> str:
    """Compact JSON, as JavaScript's `JSON.stringify` spaces it."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise TemplateRunError("a value cannot be written as JSON", found=str(error)) from None


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The variables as plain data that shares nothing with the caller's.

    Raises:
        TemplateRunError: A value that is not data; the variable is named.
    """
    return {name: _plain(name, value) for name, value in values.items()}


def _plain(name: str, value: Any) -> Any:
    try:
        data = plain(value)
        return JsonList(data) if isinstance(value, JsonList) else data
    except (NotPlainError, RecursionError) as error:
        raise TemplateRunError(f"the variable {name!r} is not plain data", found=str(error)) from None


def script_text(value: Any) -> str:
    """A value as JavaScript's `String` writes it, None as "".

    Whole numbers beyond 2**53 keep their digits, which JavaScript would round.
    """
    return "" if value is None else _script_text(value, 0)


def _script_text(value: Any, depth: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _script_number(value)
    if isinstance(value, list) and not isinstance(value, JsonList) and depth <= MAX_DEPTH:
        return ",".join("" if item is None else _script_text(item, depth + 1) for item in value)
    if isinstance(value, Mapping):
        return "[object Object]"
    if isinstance(value, bytes):
        raise TemplateRunError("bytes cannot be shown in a prompt", found=f"{len(value)} bytes")
    return str(value)


def _script_number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    # `repr` has the shortest digits that read back as the same float, which is what JavaScript prints.
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    return "-" * sign + _placed(text, point)


def _placed(digits: str, point: int) -> str:
    """Digits with the decimal point after `point` of them; powers of ten beyond 21 and -7, as ECMAScript."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def falsy(value: Any) -> bool:
    """JavaScript's rule: None, False, 0, NaN and "" are false; lists and dicts never are."""
    if isinstance(value, list | Mapping):
        return False
    return not value or (isinstance(value, float) and math.isnan(value))


def member(value: Any, name: str) -> Any:
    """The member of a value by its name: a dict's key, a list's or text's index or `length`; else None."""
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, str):
        return _in_text(value, name)
    if isinstance(value, list):
        place = index(name)
        return (
            len(value)
            if name == "length"
            else value[place]
            if place is not None and place < len(value)
            else None
        )
    return None


def _in_text(value: str, name: str) -> Any:
    # JavaScript counts in UTF-16 units.
    if name != "length" and index(name) is None:
        return None
    units = value.encode("utf-16-le", "surrogatepass")
    if name == "length":
        return len(units) // 2
    start = 2 * int(name)
    return units[start : start + 2].decode("utf-16-le", "surrogatepass") or None


def index(name: str) -> int | None:
    """A name as an index of a list, if it is written as JavaScript writes one."""
    return int(name) if re.fullmatch(r"0|[1-9][0-9]{0,8}", name) else None


def loosely_equal(left: Any, right: Any) -> bool:
    """JavaScript's `==`, for plain data."""
    kinds = (list, dict)
    if left is None or right is None or (isinstance(left, kinds) and isinstance(right, kinds)):
        return left is right
    left, right = (script_text(side) if isinstance(side, kinds) else side for side in (left, right))
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return _number(left) == _number(right)


def _number(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    stripped = value.strip(JS_SPACE)
    # No number of 400 characters is equal to one in a context, and the pattern backtracks.
    if len(stripped) > 400 or not re.fullmatch(r"|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", stripped, re.ASCII):
        return math.nan
    return float(stripped or 0)
