"""Blocks that displayed objects consist of, and their form as text for a terminal, HTML for a notebook, and Markdown.

A class gives its blocks once (`Displayed`). Every text in a block is data: each form escapes it, and makes hidden
characters visible.
"""

from __future__ import annotations

import html as html_escapes
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.display_html import escaped, html_block, strip
from workbench.core.display_text import one_line, shown

_MAX_CHARACTERS = 1_600  # of a part of a paragraph
_MAX_HEADING = 600  # characters
_MAX_CELL, _MAX_PLAIN_CELL = 300, 120  # characters of a cell in HTML, and in text and Markdown
_UNCUT = 1_000_000  # characters of a text that is cut before


class Displayed:
    """An object that is displayed as its blocks.

    Attributes:
        _label: Its accessible name.
        _kind: A class by which a page can find it.
    """

    __slots__ = ()
    _label: ClassVar[str] = ""
    _kind: ClassVar[str] = "wb-report"

    def _blocks(self) -> Iterable[DisplayBlock]:
        raise NotImplementedError

    def __str__(self) -> str:
        return text_of(self._blocks())

    def _repr_html_(self) -> str:
        return html_block(html_of(self._blocks()), self._kind, label=self._label)

    def _repr_markdown_(self) -> str:
        return markdown_of(self._blocks())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """For a terminal, for a notebook, and for an editor or a chat."""
        return {
            "text/plain": str(self),
            "text/html": self._repr_html_(),
            "text/markdown": self._repr_markdown_(),
        }


def html_of(blocks: Iterable[DisplayBlock]) -> str:
    """Blocks as HTML."""
    return "".join(block._html() for block in blocks)  # noqa: SLF001 (of this module)


def markdown_of(blocks: Iterable[DisplayBlock]) -> str:
    """Blocks as Markdown, separated by blank lines."""
    return f"{_markdown(blocks)}\n"


def _markdown(blocks: Iterable[DisplayBlock]) -> str:
    return "\n\n".join(filter(None, (block._markdown() for block in blocks)))  # noqa: SLF001 (of this module)


def text_of(blocks: Iterable[DisplayBlock]) -> str:
    """Blocks as lines for a terminal."""
    return "\n".join(_lines(blocks))


def _lines(blocks: Iterable[DisplayBlock]) -> list[str]:
    return [line for block in blocks for line in block._lines()]  # noqa: SLF001 (of this module)


@dataclass(frozen=True)
class Span:
    """A part of a line.

    Attributes:
        text: Any value, as text, or `Parts`.
        kind: "strong", or a class of the style, such as "mono" and "quiet".
        tip: Shown in HTML while the pointer is above it.
    """

    text: Any
    kind: str = "strong"
    tip: str = ""

    def _html(self, limit: int) -> str:
        tip = f" title='{escaped(self.tip, 400)}'" if self.tip else ""
        tag, kind = ("strong", "") if self.kind == "strong" else ("span", _class(self.kind))
        inner = _line_html(self.text, limit)
        return f"<{tag}{kind}{tip}>{inner}</{tag}>" if inner else ""

    def _markdown(self, limit: int) -> str:
        text = _line_markdown(self.text, limit)
        return f"**{text}**" if text and self.kind == "strong" else text


def _class(kind: str) -> str:
    return f" class='{kind}'" if kind else ""


class Parts(tuple[Any, ...]):
    """Parts that follow each other in a line or a cell: values as text, `Span`, `Drawing`."""

    __slots__ = ()

    def __new__(cls, *parts: Any) -> Self:
        """A line of these parts, in order."""
        return super().__new__(cls, parts)


def _parts(line: Any) -> Sequence[Any]:
    return line if isinstance(line, Parts) else () if line is None else (line,)


def _line_html(line: Any, limit: int) -> str:
    return "".join(
        part._html(limit) if isinstance(part, Span | Drawing) else escaped(part, limit)  # noqa: SLF001 (of this module)
        for part in _parts(line)
    )


def _line_markdown(line: Any, limit: int) -> str:
    texts = (
        part._markdown(limit) if isinstance(part, Span | Drawing) else markdown_text(part, limit)  # noqa: SLF001 (of this module)
        for part in _parts(line)
    )
    return " ".join(filter(None, texts))


def _line_text(line: Any, limit: int) -> str:
    return "".join(
        _line_text(part.text, limit) if isinstance(part, Span | Drawing) else one_line(part, limit)
        for part in _parts(line)
    )


class DisplayBlock(ABC):
    """Part of a display; what a form omits is empty in it."""

    @abstractmethod
    def _html(self) -> str: ...

    def _markdown(self) -> str:
        return ""

    def _lines(self) -> list[str]:
        return []


@dataclass(frozen=True)
class Drawing(DisplayBlock):
    """HTML or SVG in which every text is already escaped, as a block or in a line, and the same as text; "" for none."""

    drawn: str
    text: str = ""

    def _html(self, _: int = 0) -> str:
        return self.drawn

    def _markdown(self, limit: int = _MAX_CHARACTERS) -> str:
        return markdown_text(self.text, limit)

    def _lines(self) -> list[str]:
        return [self.text] if self.text else []


@dataclass(frozen=True)
class Paragraph(DisplayBlock):
    """A line on its own; none if it is empty.

    Attributes:
        line: Any value as text, a `Span`, a `Drawing` or a `Parts` of these; so are lines of lists and cells of tables.
        kind: A class of the style. "lead" is bold in Markdown, unless a part of the line is.
        limit: Maximum characters of each part.
    """

    line: Any
    kind: str = ""
    limit: int = _MAX_CHARACTERS

    def _html(self) -> str:
        inner = _line_html(self.line, self.limit)
        return f"<p{_class(self.kind)}>{inner}</p>" if inner else ""

    def _markdown(self) -> str:
        text = _line_markdown(self.line, self.limit)
        has_spans = any(isinstance(part, Span) for part in _parts(self.line))
        return f"**{text}**" if text and self.kind == "lead" and not has_spans else text

    def _lines(self) -> list[str]:
        text = _line_text(self.line, self.limit)
        return [text] if text else []


@dataclass(frozen=True)
class Heading(DisplayBlock):
    """A heading of level 1 or 2."""

    text: str
    level: int = 1

    def _html(self) -> str:
        return html_of([Paragraph(Span(self.text), "lead" if self.level == 1 else "", _MAX_HEADING)])

    def _markdown(self) -> str:
        return f"{'#' * self.level} {markdown_text(self.text, _MAX_HEADING)}"

    def _lines(self) -> list[str]:
        return [one_line(self.text, _MAX_HEADING)]


@dataclass(frozen=True)
class Items(DisplayBlock):
    """A list of lines; none if it is empty."""

    items: Sequence[Any]
    limit: int = _MAX_CHARACTERS

    def _html(self) -> str:
        items = "".join(f"<li class='quiet'>{_line_html(item, self.limit)}</li>" for item in self.items)
        return f"<ul>{items}</ul>" if items else ""

    def _markdown(self) -> str:
        return "\n".join(f"- {_line_markdown(item, self.limit)}" for item in self.items)

    def _lines(self) -> list[str]:
        return [f"  {_line_text(item, self.limit)}" for item in self.items]


@dataclass(frozen=True)
class TableBlock(DisplayBlock):
    """A table.

    Attributes:
        heads: Texts of the header; empty texts for a table without one.
        rows: Cells of each line.
        numbers: Indices of the right-aligned columns.
        kind: A class of the style.
        limit: Maximum characters of a cell; by default 300 in HTML and 120 in the other forms.
        indent: Spaces before each line of text.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    numbers: Container[int] = ()
    kind: str = ""
    limit: int | None = None
    indent: int = 2

    def _html(self) -> str:
        limit = self.limit or _MAX_CELL
        kinds = [" class='num'" if at in self.numbers else "" for at in range(len(self.heads))]
        heads = "".join(
            f"<th scope='col'{kind}>{escaped(name)}</th>"
            for kind, name in zip(kinds, self.heads, strict=True)
        )
        top = f"<thead><tr>{heads}</tr></thead>" if any(self.heads) else ""
        body = "".join(
            f"<tr>{''.join(_cell_html(cell, kind, limit) for cell, kind in zip(row, kinds, strict=True))}</tr>"
            for row in self.rows
        )
        return f"<div class='scroll'><table{_class(self.kind)}>{top}<tbody>{body}</tbody></table></div>"

    def _markdown(self) -> str:
        marks = ["---:" if at in self.numbers else "---" for at in range(len(self.heads))]
        rows = [[markdown_cell(cell, _UNCUT) for cell in row] for row in self._plain]
        lines = [[markdown_cell(name) for name in self.heads], marks, *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _lines(self) -> list[str]:
        lines = [list(self.heads), *self._plain] if any(self.heads) else self._plain
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            "  ".join(
                cell.rjust(width) if at in self.numbers else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )
        return [f"{' ' * self.indent}{line}".rstrip() for line in aligned]

    @property
    def _plain(self) -> list[list[str]]:
        limit = self.limit or _MAX_PLAIN_CELL
        return [[_line_text(cell, limit) for cell in row] for row in self.rows]


_LONG, _SHORT = 40, 24


def _cell_html(cell: Any, kind: str, limit: int) -> str:
    inner = _line_html(cell, limit)
    return f"<td{kind or _width(inner)}>{inner}</td>"


def _width(cell: str) -> str:
    # Long texts get a minimum width: next to many columns a prompt would shrink to single words.
    if len(cell) > _LONG and "<" not in cell:
        return " class='wide'"
    # An id must not be broken at its hyphens.
    is_id = "-" in cell and len(cell) <= _SHORT and not any(map(str.isspace, cell))
    return " class='short'" if is_id else ""


@dataclass(frozen=True)
class Code(DisplayBlock):
    """Text of several lines, of a program or printed by one."""

    text: str
    limit: int

    def _html(self) -> str:
        return f"<pre>{escaped(self.text, self.limit)}</pre>"

    def _markdown(self) -> str:
        # Indented, so that no fence in the text ends it.
        return "\n".join(f"    {line}" for line in shown(self.text, self.limit).splitlines())

    def _lines(self) -> list[str]:
        return shown(self.text, self.limit).split("\n")


@dataclass(frozen=True)
class StripBlock(DisplayBlock):
    """An interval on its axis; for HTML alone, since sentences have its numbers. See `display_html.strip`."""

    data: Mapping[str, Any]

    def _html(self) -> str:
        return strip(self.data)


@dataclass(frozen=True)
class Folded(DisplayBlock):
    """Details that one line of HTML unfolds; the other forms omit them."""

    summary: str
    blocks: Iterable[DisplayBlock]

    def _html(self) -> str:
        return f"<details><summary>{escaped(self.summary)}</summary>{html_of(self.blocks)}</details>"


@dataclass(frozen=True)
class Group(DisplayBlock):
    """Blocks that HTML has in one element of a class."""

    kind: str
    blocks: Iterable[DisplayBlock]

    def _html(self) -> str:
        return f"<div{_class(self.kind)}>{html_of(self.blocks)}</div>"

    def _markdown(self) -> str:
        return _markdown(self.blocks)

    def _lines(self) -> list[str]:
        return _lines(self.blocks)


@dataclass(frozen=True)
class Only(DisplayBlock):
    """Blocks of some forms: "text", "html", "markdown", or two of them.

    A generator of blocks does not run for the others, so that printing computes nothing that it does not show.
    """

    forms: str
    blocks: Iterable[DisplayBlock]

    def _html(self) -> str:
        return html_of(self.blocks) if "html" in self.forms else ""

    def _markdown(self) -> str:
        return _markdown(self.blocks) if "markdown" in self.forms else ""

    def _lines(self) -> list[str]:
        return _lines(self.blocks) if "text" in self.forms else []


_MARKUP = re.compile(r"([\\`*_{}\[\]#|!~$@])")
# GitHub also makes links of bare addresses.
_ADDRESS = re.compile(r"(:(?=//)|(?<=www)\.)", re.IGNORECASE)
# At the start of a line these make a list, a rule or a heading.
_FIRST = re.compile(r"^(\d{0,9})([-+=.)])(?=[-=\s]|$)")


def markdown_text(value: Any, limit: int = 200) -> str:
    """A value as one line of Markdown that produces no emphasis, link, picture, table cell, formula or HTML.

    Args:
        value: Anything; None is empty.
        limit: Maximum characters, before escaping.
    """
    return _FIRST.sub(r"\1\\\2", markdown_cell(value, limit))


def markdown_cell(value: Any, limit: int = 200) -> str:
    """The same for a table cell or the middle of a line, where a dash starts no list."""
    # As entities, which every Markdown renderer supports; not all support a backslash before these.
    plain = html_escapes.escape(one_line(value, limit).strip(), quote=False)
    return _ADDRESS.sub(r"\\\1", _MARKUP.sub(r"\\\1", plain))
