"""A text to read: highlighted, with buttons to copy it and to save it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import traitlets

from workbench.display_text import one_line, visible
from workbench.widgets.views.assets import static
from workbench.widgets.views.view import View

__all__ = ["LIMIT", "SourceView"]

LIMIT = 64 * 1024
"""Characters shown: the largest source of a grader."""


class SourceView(View):
    """A text with line breaks kept, every part of it shown as text.

    Hidden characters are shown as their code points, and long texts cut; what is copied and saved is the text itself,
    which the page asks for.

    Args:
        text: What is shown, copied and saved.
        language: A lexer of Pygments, such as "python", "json" or "javascript"; "" for plain text.
        title: Above it.
        file: Name of the file that Download saves; "" for no such button.
        height: Of the text at most, in pixels; it scrolls beyond.
    """

    _esm = static("dom.js", "source.js")
    _css = static("theme.css", "source.css")

    tokens: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    file = traitlets.Unicode().tag(sync=True)
    cut = traitlets.Int(0).tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)

    def __init__(
        self, text: str = "", *, language: str = "", title: str = "", file: str = "", height: int = 420
    ) -> None:
        super().__init__(title=one_line(title), file=file, height=height)
        self.show(text, language=language)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    def show(
        self, text: str, *, language: str = "", title: str | None = None, file: str | None = None
    ) -> None:
        """Show another text; title and file stay where none is given."""
        self._text = text
        with self.hold_sync():
            self.cut = max(0, len(text) - LIMIT)
            self.tokens = list(_tokens(text[:LIMIT], language))
            self.title = self.title if title is None else one_line(title)
            self.file = self.file if file is None else file

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored."""
        if message.get("ask") == "text":
            self.send({"tell": "text", "text": self._text})

    def __repr__(self) -> str:
        return f"SourceView({self.title!r}, {len(self._text):,} characters)"


_KINDS = {"Keyword": "k", "Literal.String": "s", "Comment": "c", "Literal.Number": "m", "Name.Function": "n"}


def _tokens(text: str, language: str) -> Iterator[list[str]]:
    """[class, text] pairs; neighbours of one class are one."""
    before: list[str] | None = None
    for kind, part in _lexed(text, language):
        if before is not None and before[0] == kind:
            before[1] += part
            continue
        if before is not None:
            yield before
        before = [kind, part]
    if before is not None:
        yield before


def _lexed(text: str, language: str) -> Iterator[tuple[str, str]]:
    if not language or not text:
        yield from ([("", visible(text))] if text else [])
        return
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    for kind, part in lexer.get_tokens(text):
        name = str(kind).removeprefix("Token.")
        yield next((short for long, short in _KINDS.items() if name.startswith(long)), ""), visible(part)
