"""The tree of a template, in a form common to all dialects.

A text is a list of parts. A name is the origin of its value: an outermost variable, or the value that an enclosing each or
with has put in scope, counted from the outside (1, 2, ...), and the steps from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["LOOP_NAMES", "Branch", "LiteralText", "Name", "Part", "Parts", "Placeholder", "Repeat", "joined"]

LOOP_NAMES = {"@index": "index0", "@first": "first", "@last": "last"}
"""Loop variables: Handlebars' name to jinja2's name."""


class Name(NamedTuple):
    """The origin of a value.

    Attributes:
        level: 0 for an outermost variable, else the level of its each or with.
        steps: Names on the way, the variable's own first at level 0; a loop variable ("@index") alone.
    """

    level: int
    steps: tuple[str, ...]


@dataclass(frozen=True)
class LiteralText:
    """Literal text."""

    text: str


@dataclass(frozen=True)
class Placeholder:
    """A value."""

    name: Name


@dataclass(frozen=True)
class Branch:
    """If and else; one of them may be empty."""

    name: Name
    then: Parts
    other: Parts


@dataclass(frozen=True)
class Repeat:
    """`each` or `with`: its inside sees another value.

    Attributes:
        word: "each" or "with".
        then: Inside.
        other: For a value that is empty.
    """

    word: str
    name: Name
    then: Parts
    other: Parts


Part = LiteralText | Placeholder | Branch | Repeat
Parts = tuple[Part, ...]


def joined(parts: list[Part]) -> Parts:
    """The parts with adjacent texts joined, and empty ones removed."""
    result: list[Part] = []
    for part in parts:
        if isinstance(part, LiteralText) and result and isinstance(result[-1], LiteralText):
            result[-1] = LiteralText(result[-1].text + part.text)
        elif part != LiteralText(""):
            result.append(part)
    return tuple(result)
