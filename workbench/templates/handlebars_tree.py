"""What a Handlebars template is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Block", "Call", "Comment", "Content", "Literal", "Path", "Program", "Put", "Statement", "Strip"]


@dataclass(frozen=True)
class Strip:
    """The `~` at a tag's two ends."""

    open: bool = False
    close: bool = False


@dataclass(frozen=True)
class Path:
    """`a.b`, `../a`, `@index`, `this`.

    Attributes:
        parts: The names, `this` and `..` left out.
        depth: How many `..` there were.
        data: It began with @.
        original: As written, without the brackets of segments.
        scoped: It began with a dot or said `this`, so that it names no helper.
    """

    parts: tuple[str, ...]
    depth: int
    data: bool
    original: str
    scoped: bool
    position: int


@dataclass(frozen=True)
class Literal:
    """Text, a number, true, false, null or undefined."""

    value: Any
    original: str
    position: int


@dataclass(frozen=True)
class Call:
    """A head with what follows it: a helper if there are arguments, else perhaps only a path."""

    head: Path | Literal
    params: tuple[Path | Literal | Call, ...]
    options: tuple[tuple[str, Path | Literal | Call], ...]
    position: int


@dataclass
class Content:
    """Text. `value` is what whitespace control leaves of `original`."""

    original: str
    value: str
    left_stripped: bool = False
    right_stripped: bool = False


@dataclass
class Comment:
    """Nothing, but it may stand alone on its line."""

    strip: Strip


@dataclass
class Put:
    """A value put into the text."""

    call: Call
    strip: Strip


@dataclass
class Program:
    """Statements in a row.

    Attributes:
        names: Block parameters.
        chained: It holds nothing but the block of an `{{else if}}`.
    """

    body: list[Statement] = field(default_factory=list)
    names: tuple[str, ...] = ()
    chained: bool = False


@dataclass
class Block:
    """A block helper, a section or a raw block; either program may be missing."""

    call: Call
    program: Program | None
    inverse: Program | None
    open_strip: Strip
    inverse_strip: Strip
    close_strip: Strip
    raw: bool = False


Statement = Content | Comment | Put | Block
