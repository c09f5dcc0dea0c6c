"""What sets some rows apart from the others: the simplest property of reference, columns or prompt that is true of just these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workbench.core.display_text import one_line
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import number_in

_LEAST = 2
"""Fewest rows on either side: what a single row differs in is chance. Workbench limit."""
_VALUES = 2
"""Maximum number of different references that are named. Workbench limit."""

_LETTERS = 3
"""Maximum number of first characters that are named: more of them describe the rows, not the cause. Workbench limit."""

_Property = tuple[str, Callable[[str], bool]]

_OF_TEXT: tuple[_Property, ...] = (
    ("is empty", lambda text: not text.strip()),
    ("is negative", lambda text: (number_in(text) or 0) < 0),
    ("is positive", lambda text: (number_in(text) or 0) > 0),
    (
        "has a decimal point",
        lambda text: number_in(text) is not None and "." in text,
    ),
    ("has a thousands separator", lambda text: number_in(text) is not None and "," in text),
    ("is not a number", lambda text: number_in(text) is None),
    ("is a number", lambda text: number_in(text) is not None),
    ("has no letter or digit", lambda text: not any(map(str.isalnum, text))),
    ("has characters that are not ASCII", lambda text: not text.isascii()),
    ("has several lines", lambda text: "\n" in text.strip()),
    ("has several words", lambda text: len(text.split()) > 1),
    ("has a comma", lambda text: "," in text),
    ("has a hyphen", lambda text: "-" in text.strip("-")),
    ("has an apostrophe", lambda text: "'" in text or "\u2019" in text),
    ("has a bracket", lambda text: any(mark in text for mark in "()[]{}")),
    ("has a capital letter", lambda text: text.lower() != text),
    ("has no capital letter", lambda text: text.lower() == text),
)


def sets_apart(base: Base, rows: Sequence[int]) -> str:
    """The property that all of some rows have and no other row has, as the end of "all rows ..."; "" if there is none."""
    inside, outside = {*rows}, [row for row in range(len(base.rows)) if row not in {*rows}]
    if len(inside) < _LEAST or len(outside) < _LEAST:
        return ""
    for says, values, test in _properties(base, sorted(inside)):
        if all(test(values[row]) for row in inside) and not any(test(values[row]) for row in outside):
            return says
    return ""


def _properties(
    base: Base, rows: Sequence[int]
) -> Iterator[tuple[str, Mapping[int, Any], Callable[[Any], bool]]]:
    references = dict(enumerate(base.references))
    if any(references.values()):
        some = {references[row] for row in rows}
        if len(some) <= _VALUES:
            listed = " or ".join(one_line(repr(text), 40) for text in sorted(some))
            yield f"whose reference is {listed}", references, lambda text: text in some
        for says, test in _OF_TEXT:
            yield f"whose reference {says}", references, test
        size = min(len(text) for text in some)
        yield f"whose reference has at least {size} characters", references, lambda text: len(text) >= size
        yield from _starts(references, some)
    yield from _of_columns(base, rows)


def _starts(
    references: Mapping[int, str], some: set[str]
) -> Iterator[tuple[str, Mapping[int, str], Callable[[str], bool]]]:
    letters = {text[:1] for text in some}
    if 0 < len(letters) <= _LETTERS:
        listed = ", ".join(sorted(map(repr, letters)))
        yield f"whose reference begins with {listed}", references, lambda text: text[:1] in letters


def _of_columns(
    base: Base, rows: Sequence[int]
) -> Iterator[tuple[str, Mapping[int, Any], Callable[[Any], bool]]]:
    names = [name for name, value in base.rows[rows[0]].columns.items() if not isinstance(value, float)]
    for name in names:
        values = {row.number: row.columns.get(name) for row in base.rows}
        yield f"whose column {name!r} is empty", values, lambda value: not value and value not in (0, False)
        first = values[rows[0]]
        if isinstance(first, str | bool | int):
            yield f"whose column {name!r} is {one_line(repr(first), 40)}", values, _equals(first)
        sizes = [len(value) for row in rows if isinstance(value := values[row], list)]
        if len(sizes) == len(rows):
            yield f"whose column {name!r} has at least {min(sizes)} entries", values, _has(min(sizes))


def _equals(first: Any) -> Callable[[Any], bool]:
    return lambda value: bool(value == first)


def _has(size: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and len(value) >= size
