"""The tokens of a Handlebars template, and the nodes of its syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from workbench.data.templates.values import JS_SPACE, at


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


_S = f"[{JS_SPACE}]"
_ENDS_NAME = rf"(?=[=~}}/.)|]|{_S})"
_ENDS_LITERAL = rf"(?=[~}})]|{_S})"

# The order is the language's: the first that fits is the tag.
_OPENINGS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("raw", r"\{\{\{\{"),
        ("partial", r"\{\{~?#?>"),
        ("open", r"\{\{~?#\*?"),
        ("end", r"\{\{~?/"),
        ("else", rf"\{{\{{~?(?:\^|{_S}*else){_S}*~?\}}\}}"),
        ("inverse", r"\{\{~?\^"),
        ("chain", rf"(?a:\{{\{{~?{_S}*else\b)"),
        ("unescaped", r"\{\{~?\{"),
        ("put", r"\{\{~?&"),
        ("comment", r"\{\{~?!(?=--)[\s\S]*?--~?\}\}"),
        ("comment", r"\{\{~?!(?!--)[\s\S]*?\}\}"),
        ("put", r"\{\{~?\*?"),
    )
)
_WORDS = re.compile(
    rf"""
    (?P<space>{_S}+) | (?P<open>\() | (?P<shut>\)) | (?P<raw>\}}\}}\}}\}}) | (?P<equals>=)
  | (?P<id>\.\. | \.{_ENDS_NAME}) | (?P<sep>[/.])
  | (?P<close>\}}~?\}}\}} | ~?\}}\}})
  | (?P<string>"(?:\\"|[^"])*" | '(?:\\'|[^'])*')
  | (?P<data>@)
  | (?P<literal>(?:true|false|undefined|null){_ENDS_LITERAL})
  | (?P<number>-?[0-9]+(?:\.[0-9]+)?{_ENDS_LITERAL})
  | (?P<params>as{_S}+\|) | (?P<bar>\|)
  | (?P<name>[^{JS_SPACE}!"\#%-,./;->@\[-^`{{-~]+{_ENDS_NAME})
  | (?P<segment>\[(?:\\\]|[^\]])*\])
    """,
    re.VERBOSE,
)


_NO_STRIP = Strip()


@dataclass(frozen=True)
class Word:
    """One token inside a tag."""

    kind: str
    text: str
    position: int


@dataclass(frozen=True)
class HandlebarsTag:
    """A tag, or a piece of text (kind "text").

    Attributes:
        kind: text, put, open, inverse, chain, else, end, comment, raw.
        words: The tokens inside.
        strip: The `~` at its ends.
        text: The text itself, or the inside of a raw block.
    """

    kind: str
    position: int
    strip: Strip = _NO_STRIP
    words: tuple[Word, ...] = ()
    text: str = ""


def cut(text: str) -> Iterator[HandlebarsTag]:
    """Text and tags in order.

    Raises:
        TemplateError: A tag that is not closed, an invalid token, a partial or decorator.
    """
    position = 0
    while (start := text.find("{{", position)) >= 0:
        before = text[position:start]
        if before.endswith("\\") and not before.endswith("\\\\"):
            yield from _texts(before[:-1], position)
            position = _escaped_end(text, start)
            yield HandlebarsTag("text", start, text=text[start:position])
            continue
        # Two backslashes are one, and the tag is a tag.
        yield from _texts(before[:-1] if before.endswith("\\\\") else before, position)
        tag, position = _tag(text, start)
        yield tag
    yield from _texts(text[position:], position)


def _texts(text: str, position: int) -> Iterator[HandlebarsTag]:
    if text:
        yield HandlebarsTag("text", position, text=text)


def _escaped_end(text: str, start: int) -> int:
    following = re.compile(r"(?=\\{0,2}\{\{)").search(text, start + 2)
    return following.start() if following else len(text)


def _tag(text: str, start: int) -> tuple[HandlebarsTag, int]:
    kind, opening = _opening(text, start)
    if kind in {"comment", "else"}:
        return HandlebarsTag(kind, start, _flags(opening, opening)), start + len(opening)
    if "*" in opening or kind == "partial":
        feature = "decorators" if "*" in opening else "partials"
        raise at(
            text,
            start,
            f"{feature} are not supported",
            hint="write the partial's text here" if kind == "partial" else "",
        )
    words, closing, end = _inside(text, start, start + len(opening))
    expected = {"unescaped": "}}}", "raw": "}}}}"}.get(kind, "}}")
    if closing.replace("~", "") != expected:
        hint = "put a space between the tag and the brace after it" if len(closing) > len(expected) else ""
        raise at(text, start, f"this tag ends with {closing!r}", expected=expected, hint=hint)
    if kind == "raw":
        return _raw(text, start, words, end)
    return HandlebarsTag("put" if kind == "unescaped" else kind, start, _flags(opening, closing), words), end


def _opening(text: str, start: int) -> tuple[str, str]:
    for kind, pattern in _OPENINGS:
        if match := pattern.match(text, start):
            return kind, match[0]
    raise at(text, start, "this comment is not closed")  # pragma: no cover (the last pattern fits all)


def _flags(opening: str, closing: str) -> Strip:
    return Strip(opening[2:3] == "~", closing[-3:-2] == "~")


def _inside(text: str, start: int, position: int) -> tuple[tuple[Word, ...], str, int]:
    words: list[Word] = []
    while position < len(text):
        match = _WORDS.match(text, position)
        if match is None or match.lastgroup is None:
            _no_word(text, start, position)
        position = match.end()
        if match.lastgroup in {"close", "raw"}:
            return tuple(words), match[0], position
        if match.lastgroup != "space":
            words.append(Word(match.lastgroup, match[0], match.start()))
    raise at(text, start, "this tag is not closed", expected="}}", hint=_LITERAL_HINT)


_LITERAL_HINT = "for two braces that are text, write \\{{"


def _no_word(text: str, start: int, position: int) -> NoReturn:
    if text.startswith("!", start + 2):
        raise at(text, start, "this comment is not closed")
    if "}}" not in text[position:]:
        raise at(text, start, "this tag is not closed", expected="}}", hint=_LITERAL_HINT)
    raise at(text, position, "this cannot be inside a tag", hint=_LITERAL_HINT)


def _raw(text: str, start: int, words: tuple[Word, ...], end: int) -> tuple[HandlebarsTag, int]:
    """`{{{{raw}}}} ... {{{{/raw}}}}`: Handlebars passes the inside to a helper, by convention one named raw."""
    if [word.text for word in words] != ["raw"]:
        raise at(text, start, "only {{{{raw}}}} is supported, whose inside is literal text")
    close = text.find("{{{{/raw}}}}", end)
    if close < 0:
        raise at(text, start, "this raw block is not closed", expected="{{{{/raw}}}}")
    return HandlebarsTag("raw", start, text=text[end:close]), close + len("{{{{/raw}}}}")
