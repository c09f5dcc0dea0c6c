"""The syntax tree of a Handlebars template."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Block",
    "Call",
    "Comment",
    "Content",
    "Literal",
    "MustacheStatement",
    "Path",
    "Statement",
    "Strip",
    "TemplateProgram",
]


@dataclass(frozen=True)
class Strip:
    """The `~` at a tag's two ends."""

    open: bool = False
    close: bool = False


@dataclass(frozen=True)
class Path:
    """`a.b`, `../a`, `@index`, `this`.

    Attributes:
        parts: The names, without `this` and `..`.
        depth: The number of `..`.
        data: Whether it starts with @.
        original: As written, without the brackets of segments.
        scoped: Whether it starts with a dot or `this`, so that it names no helper.
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
    """A head with its arguments: a helper if there are any, otherwise a helper or a path."""

    head: Path | Literal
    params: tuple[Path | Literal | Call, ...]
    options: tuple[tuple[str, Path | Literal | Call], ...]
    position: int


@dataclass
class Content:
    """Text. `value` is `original` after whitespace control."""

    original: str
    value: str
    left_stripped: bool = False
    right_stripped: bool = False


@dataclass
class Comment:
    """Nothing, but it may be alone on its line."""

    strip: Strip


@dataclass
class MustacheStatement:
    """A value inserted into the text."""

    call: Call
    strip: Strip


@dataclass
class TemplateProgram:
    """A sequence of statements.

    Attributes:
        names: Block parameters.
        chained: Whether it contains only the block of an `{{else if}}`.
    """

    body: list[Statement] = field(default_factory=list)
    names: tuple[str, ...] = ()
    chained: bool = False


@dataclass
class Block:
    """A block helper, a section or a raw block; either program may be missing."""

    call: Call
    program: TemplateProgram | None
    inverse: TemplateProgram | None
    open_strip: Strip
    inverse_strip: Strip
    close_strip: Strip
    raw: bool = False


Statement = Content | Comment | MustacheStatement | Block
