"""Equality of mathematical results: numbers, expressions, sets, intervals, tuples, matrices, equations. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from workbench.graders.rules.expressions import (
    ExpressionError,
    Node,
    Parser,
    Value,
    operations,
    uses,
    value,
    variables,
)
from workbench.graders.rules.json_compare import matching
from workbench.graders.rules.numbers import after_thinking, boxed
from workbench.graders.rules.text import Verdict

Result = tuple[str, Any]
"""("expression", node), ("set" | "list" | "tuple", results), ("interval", (brackets, low, high)), ("union", intervals),
("matrix", rows), ("equation", (left, right)), ("text", text)."""
_MAX_RESULT = 2_000
"""Characters of a result."""
_MAX_ITEMS = 60
"""Items of a set or a list."""
_POINTS, _NEEDED = 12, 2
"""Points at which two expressions are compared, and how many must have values."""
_TOLERANCE = 1e-9
"""Relative difference of values that are not rational."""

_CLEANING = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (
            r"\\(?:left|right|displaystyle|bigl?|bigr?|Bigl?|Bigr?|limits)(?![A-Za-z])|\\[,;:! ]|~|\\quad|\\qquad",
            " ",
        ),
        (r"\\operatorname\s*\{(\w+)\}", r"\\\1 "),
        (r"(?<=\d)\{,\}(?=\d{3})", ""),
        (r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])(?!\s*,\s*\d)", r"<\1>"),
        (r"\\(?:text|mathrm|mbox|textbf|mathbf|rm)\s*\{\s*(or|and)\s*\}", r" \1 "),
        (
            r"\\(?:text|mathrm|mbox|textbf|mathbf|rm)\s*\{([^{}\d]*)\}\s*(?:\^\s*\{?\d\}?)?\s*\.?\s*\Z",
            r"\\unit{\1}",
        ),
        (r"\\(?:text|mathrm|mbox|textbf|mathbf|rm)\s*\{([^{}]*)\}", r" \1 "),
        (r"\^\s*\{?\s*\\circ\s*\}?|\u00b0|\\degree\b", ""),
        (r"\\(?:le|leq|leqslant)(?![A-Za-z])|\u2264|<=", "\u2264"),
        (r"\\(?:ge|geq|geqslant)(?![A-Za-z])|\u2265|>=", "\u2265"),
        (r"\\lt(?![A-Za-z])", "<"),
        (r"\\gt(?![A-Za-z])", ">"),
        (r"\\(?:infty|inf)(?![A-Za-z])|\u221e|\binfinity\b|\binf\b", " \u221e "),
        (r"\\(?:emptyset|varnothing)(?![A-Za-z])|\u2205", r"\\{\\}"),
        (r"\\cup(?![A-Za-z])|\u222a", " \u222a "),
        (r"\\in(?![A-Za-z])|\u2208", " \u2208 "),
        (r"\\pm(?![A-Za-z])|\u00b1", " \u00b1 "),
        (r"\u03c0|\\pi(?![A-Za-z])", " pi "),
        (r"\u221a\s*(\d+|\w)", r"\\sqrt{\1}"),
        (r"\\\$", ""),
    )
)
_MATRIX = re.compile(r"\\begin\{([pbvBV]?matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end\{\1\}", re.DOTALL)
_LABEL = re.compile(r"(?:final |correct )?(?:answer|result)(?:\s+is|\s*[:=])\s*(?::\s*)?", re.IGNORECASE)


def math_equal(
    text: str, expected: str, *, relative: float = 0.0, evaluated: bool = False, whole: bool = False
) -> Verdict:
    r"""Whether the result of a text equals the expected one.

    Args:
        text: The completion.
        expected: The reference.
        relative: Accepted relative difference of numbers.
        evaluated: Whether the result may not have more operations to carry out than the expected one.
        whole: Whether the whole text is the result.

    Raises:
        ValueError: The reference is empty.
    """
    wanted_text = plain_result(boxed(expected)[-1] if boxed(expected) else expected)
    if not wanted_text:
        raise ValueError("the reference is empty")
    stated = [text] if whole and not boxed(text) else results_in(text)
    parts = list(dict.fromkeys(plain_result(part) for part in stated if part.strip()))
    if not parts:
        return 0.0, "There is no result", {"failure": "missing"}
    wanted = read_result(wanted_text)
    if len(parts) > 1 and not all(
        same_result(read_result(part), read_result(parts[0]), relative) for part in parts[1:]
    ):
        return 0.0, f"Different results: {', '.join(parts)}"[:200], {"failure": "ambiguous"}
    found = read_result(parts[0])
    details = {"result": parts[0][:200], "kind": found[0]}
    if not same_result(found, wanted, relative):
        return 0.0, f"{parts[0][:100]}, expected {wanted_text[:100]}", details
    if evaluated and _left(found) > _left(wanted):
        return 0.0, f"Not evaluated: {parts[0][:100]}", {**details, "failure": "unevaluated"}
    return 1.0, f"Equals {wanted_text[:100]}", details


def results_in(text: str) -> list[str]:
    r"""The results that a text states: every `\boxed{}`, else after the last label, else the last formula, else its last line."""
    text = after_thinking(text).strip()
    if boxes := boxed(text):
        return boxes
    labels = list(_LABEL.finditer(text))
    if labels and (line := text[labels[-1].end() :].strip().partition("\n")[0].strip()):
        formulas = re.findall(r"\$\$?([^$]+)\$\$?", line)
        return formulas[:1] or [re.split(r"\.\s", line + " ")[0]]
    if formulas := re.findall(r"\$\$?([^$]+)\$\$?|\\\[(.+?)\\\]|\\\((.+?)\\\)", text, re.DOTALL):
        return [next(filter(None, formulas[-1]))]
    return [text.splitlines()[-1]] if text else []


def plain_result(text: str) -> str:
    """A result without delimiters, spaces and text around it."""
    text = text.strip()[:_MAX_RESULT].strip()
    text = re.sub(r"\A\$+|\$+\Z|\A\\[(\[]|\\[)\]]\Z", "", text).strip()
    text = _PERIODIC.sub(_fraction_of, text)
    for pattern, new in _CLEANING:
        text = pattern.sub(new, text)
    text = re.sub(r"<(\d{1,3}(?:,\d{3})+)>", lambda found: found[1].replace(",", ""), text)
    text = re.sub(
        r"\\unit\{([^{}]*)\}",
        lambda found: "" if re.search(r"[\w)}]\s*\Z", text[: found.start()]) else found[1],
        text,
    )
    text = re.sub(
        r"(?<=\d)\s*(?:cm|mm|km|kg|meters?|metres?|dollars|degrees|units|inches|feet|hours|minutes|seconds|days)\.?\s*\Z",
        "",
        text,
    )
    return re.sub(r"\s+", " ", text.strip().strip("*`").strip()).rstrip(". ").strip()


_PERIODIC = re.compile(r"(?<![\d.])(\d{1,30})\.(\d{0,30})\\overline\s*\{(\d{1,30})\}")


def _fraction_of(found: re.Match[str]) -> str:
    r"""A periodic decimal number as a fraction: 0.1\overline{6} is 1/6."""
    whole, plain, period = found.groups()
    above = int(whole + plain + period) - int(whole + plain)
    return rf"\frac{{{above}}}{{{10 ** len(plain) * (10 ** len(period) - 1)}}}"


def read_result(text: str) -> Result:
    """The result in a plain text; a text if it is none of the known forms."""
    try:
        return _read(text, 0)
    except (ExpressionError, RecursionError):
        return ("text", re.sub(r"[\s{}\\]+", "", text).casefold())


def _read(text: str, depth: int) -> Result:  # noqa: PLR0911 (one case per form)
    text = text.strip()
    if depth > 8 or not text:
        raise ExpressionError("there is no expression")
    if matrix := _MATRIX.fullmatch(text):
        rows = [row for row in re.split(r"\\\\", matrix[2]) if row.strip()]
        return ("matrix", [[_read(cell, depth + 1) for cell in row.split("&")] for row in rows])
    if "\u222a" in text:
        return ("union", [_read(part, depth + 1) for part in text.split("\u222a")])
    if found := re.fullmatch(r"[A-Za-z]\w*\s*\u2208\s*(.+)", text):
        return _read(found[1], depth + 1)
    parts = _parts(text)
    if len(parts) > 1:
        return ("list", [_read(part, depth + 1) for part in parts])
    if "\u00b1" in text:
        return ("list", [_read(text.replace("\u00b1", sign, 1), depth + 1) for sign in "+-"])
    if relation := _relation(text, depth):
        return relation
    return _bracketed(text, depth) or _infinite(text) or ("expression", Parser(text).parse())


def _parts(text: str) -> list[str]:
    """The items of a list without brackets."""
    parts, level, start = [], 0, 0
    marks = list(re.finditer(r"\\\{|\\\}|[(\[{]|[)\]}]|[,;]|\bor\b|\band\b", text))
    for mark in marks:
        token = mark[0].removeprefix("\\")
        if token in {"(", "[", "{"}:
            level += 1
        elif token in {")", "]", "}"}:
            level -= 1
        elif level == 0:
            parts.append(text[start : mark.start()])
            start = mark.end()
    found = [part for part in (*parts, text[start:]) if part.strip()] or [text]
    if len(found) > _MAX_ITEMS:
        raise ExpressionError("there are too many items")
    return found


_REVERSED = {"<": ">", ">": "<", "\u2264": "\u2265", "\u2265": "\u2264"}


def _relation(text: str, depth: int) -> Result | None:  # noqa: C901 (one case per form)
    """An equation, or an inequality of one variable as the interval of its solutions."""
    pieces = re.split(r"([=<>\u2264\u2265])", text)
    if len(pieces) == 3 and pieces[1] == "=":
        return ("equation", (_read(pieces[0], depth + 1), _read(pieces[2], depth + 1)))
    if len(pieces) > 3 and set(pieces[1::2]) == {"="}:
        return _read(pieces[-1], depth + 1)  # a chain of equal values: the last one counts
    if len(pieces) == 3 and pieces[1] in _REVERSED:
        left, sign, right = pieces
        if re.fullmatch(r"\s*[A-Za-z]\s*", right):
            left, sign, right = right, _REVERSED[sign], left
        if not re.fullmatch(r"\s*[A-Za-z]\s*", left):
            raise ExpressionError("an inequality of several variables")
        bound = _read(right, depth + 1)
        infinite: Result = ("infinite", "+" if sign in {">", "\u2265"} else "-")
        if sign in {">", "\u2265"}:
            return ("interval", (("[" if sign == "\u2265" else "(") + ")", bound, infinite))
        return ("interval", ("(" + ("]" if sign == "\u2264" else ")"), infinite, bound))
    if len(pieces) == 5 and all(sign in _REVERSED for sign in pieces[1::2]):
        low, first, middle, second, high = pieces
        if first in {">", "\u2265"}:
            low, first, second, high = high, _REVERSED[second], _REVERSED[first], low
        if re.fullmatch(r"\s*[A-Za-z]\s*", middle) and {first, second} <= {"<", "\u2264"}:
            brackets = ("[" if first == "\u2264" else "(") + ("]" if second == "\u2264" else ")")
            return ("interval", (brackets, _read(low, depth + 1), _read(high, depth + 1)))
    if len(pieces) > 1:
        raise ExpressionError("a relation that is not supported")
    return None


def _bracketed(text: str, depth: int) -> Result | None:
    """A set, a tuple or an interval; None for other texts."""
    if found := re.fullmatch(r"\\\{(.*)\\\}|\{(.*)\}", text, re.DOTALL):
        inner = (found[1] or found[2] or "").strip()
        return ("set", [_read(part, depth + 1) for part in _parts(inner)] if inner else [])
    if text[0] in "([" and text[-1] in ")]" and _is_outer(text):
        items = _parts(text[1:-1]) if text[1:-1].strip() else []
        read = [_read(item, depth + 1) for item in items]
        is_square = text[0] + text[-1] == "[]"
        if len(read) == 2:
            is_interval = text[0] + text[-1] in {"[)", "(]"} or any(item[0] == "infinite" for item in read)
            kind = "interval" if is_interval else "pair"
            return (kind, (text[0] + text[-1], read[0], read[1]))
        if len(read) > 2 or (is_square and read):
            return ("tuple", read)
    return None


def _is_outer(text: str) -> bool:
    level = 0
    for at, sign in enumerate(text):
        level += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if level == 0 and at < len(text) - 1:
            return False
    return level == 0


def _infinite(text: str) -> Result | None:
    found = re.fullmatch(r"([+-]?)\s*\u221e", text)
    return ("infinite", found[1] or "+") if found else None


def same_result(one: Result, other: Result, relative: float = 0.0) -> bool:  # noqa: C901, PLR0911 (one case per kind)
    """Whether two results are equal."""
    one, other = _unassigned(one, other), _unassigned(other, one)
    kinds = {one[0], other[0]}
    if kinds == {"pair", "interval"}:  # (1, 2) is both
        one, other = (("interval", one[1]), ("interval", other[1]))
    if kinds in ({"set", "list"}, {"list"}, {"set"}):
        return _same_items(_distinct(one[1], relative), _distinct(other[1], relative), relative)
    if kinds & {"set", "list"} and one[0] != other[0]:
        items, single = (one[1], other) if one[0] in {"set", "list"} else (other[1], one)
        return (
            len(items) == 1
            and one[0] != "set"
            and other[0] != "set"
            and same_result(items[0], single, relative)
        )
    if one[0] != other[0]:
        return False
    if one[0] in {"pair", "interval"}:
        brackets, low, high = one[1]
        return (
            brackets == other[1][0]
            and same_result(low, other[1][1], relative)
            and same_result(high, other[1][2], relative)
        )
    if one[0] == "union":
        return _same_items(one[1], other[1], relative)
    if one[0] == "tuple":
        return len(one[1]) == len(other[1]) and all(
            same_result(a, b, relative) for a, b in zip(one[1], other[1], strict=True)
        )
    if one[0] == "matrix":
        flat = [[cell for row in rows for cell in (*row, ("text", "row"))] for rows in (one[1], other[1])]
        return same_result(("tuple", flat[0]), ("tuple", flat[1]), relative)
    if one[0] == "equation":
        return _same_equation(one[1], other[1])
    if one[0] == "expression":
        return _same_expression(one[1], other[1], relative)
    return bool(one[1] == other[1])


_FUNCTION_NAMES = tuple(("var", name) for name in "fghFGHPQT")
"""Symbols that are names of functions before brackets."""


def _unassigned(one: Result, other: Result) -> Result:
    """The value of `x = 5` if the other result is not an equation."""
    if one[0] == "equation" and other[0] != "equation":
        left, right = one[1]
        node: Node = left[1] if left[0] == "expression" else ("",)
        # f(x) is read as a product of two symbols.
        is_function = node[0] == "mul" and node[1] in _FUNCTION_NAMES and node[2][0] == "var"
        is_name = node[0] == "var" or is_function
        return right if is_name else one
    return one


def _distinct(items: Sequence[Result], relative: float) -> list[Result]:
    kept: list[Result] = []
    for item in items:
        if not any(same_result(item, before, relative) for before in kept):
            kept.append(item)
    return kept


def _same_items(one: Sequence[Result], other: Sequence[Result], relative: float) -> bool:
    if len(one) != len(other):
        return False
    return None not in matching(one, other, lambda a, b: same_result(a, b, relative))


def _points(names: Sequence[str]) -> list[dict[str, Fraction]]:
    random = Random(7)  # noqa: S311 (the same points in every run)
    points = []
    for at in range(_POINTS):
        signs = [1 if at < _POINTS // 2 or random.random() < 0.5 else -1 for _ in names]
        points.append(
            {
                name: sign * Fraction(random.randint(101, 1999), random.randint(97, 499))
                for name, sign in zip(names, signs, strict=True)
            }
        )
    return points


def _values(nodes: Sequence[Node], at: Mapping[str, Fraction]) -> list[Value] | None:
    """The values at a point; None if one is undefined, or not real without being complex by its form."""
    is_complex = any(uses(node, "i") for node in nodes) or not at
    try:
        found = [value(node, at) for node in nodes]
    except ExpressionError:
        return None
    real = all(isinstance(one, Fraction) or abs(one.imag) <= _TOLERANCE * max(1.0, abs(one)) for one in found)
    return found if real or is_complex else None


def _same_expression(one: Node, other: Node, relative: float) -> bool:
    if one == other:
        return True
    names = sorted(variables(one) | variables(other))
    points = _points(names) if names else [{}]
    pairs = [pair for at in points if (pair := _values((one, other), at)) is not None]
    needed = _NEEDED if names else 1
    return len(pairs) >= needed and all(_near(pair[0], pair[1], relative) for pair in pairs)


def _near(one: Value, other: Value, relative: float) -> bool:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other or abs(one - other) <= Fraction(relative) * max(abs(one), abs(other))
    try:
        first, second = complex(one), complex(other)
    except OverflowError:
        return False
    size = max(abs(first), abs(second))
    return abs(first - second) <= max(relative, _TOLERANCE) * size or size < 1e-14


def _same_equation(one: tuple[Result, Result], other: tuple[Result, Result]) -> bool:
    """Whether the differences of the sides are proportional: 2x = 4 and x = 2."""
    sides = (*one, *other)
    if any(side[0] != "expression" for side in sides):
        return all(same_result(a, b) for a, b in zip(one, other, strict=True))
    first, second = (("add", left[1], ("neg", right[1])) for left, right in (one, other))
    names = sorted(variables(first) | variables(second))
    ratios: list[Value] = []
    for at in _points(names) if names else []:
        pair = _values((first, second), at)
        if pair is None or 0 in pair:
            continue
        exact = isinstance(pair[0], Fraction) and isinstance(pair[1], Fraction)
        ratios.append(pair[0] / pair[1] if exact else complex(pair[0]) / complex(pair[1]))
    return len(ratios) >= _NEEDED and all(_near(ratio, ratios[0], 0.0) for ratio in ratios)


def _left(result: Result) -> int:
    """Operations that are still to be carried out."""
    if result[0] == "expression":
        return operations(result[1])
    if result[0] == "equation":
        return _left(result[1][1])
    items = result[1] if isinstance(result[1], list | tuple) else ()
    return sum(_left(item) for item in items if isinstance(item, tuple) and item and isinstance(item[0], str))
