"""Mustache, the language of vLLora's judge prompts: parsed and rendered here.

The rules are those of mustache.js 4.2 (`npm mustache`), against which the tests compare, with its HTML
escaping off. If it and the written specification differ, mustache.js is followed: a dotted name that breaks in an
inner context is looked up further out; a line with several section tags and nothing else disappears. mustache.js
stops at a list that contains null; here the null is a context without names.
Partials are rejected; there are no functions in plain data, so there are no lambdas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.data.templates.values import JS_SPACE, MAX_NESTING, Page, at, falsy, index, member, script_text

_S = f"[{JS_SPACE}]*"
_NAMES_ONLY = {">": "partials", "<": "parents", "$": "blocks"}


@dataclass
class MustacheTag:
    """A piece of a template.

    Attributes:
        kind: text, put, "#" or "^".
        text: The text, or the tag's name.
        body: The content of a section.
    """

    kind: str
    text: str
    position: int
    body: list[MustacheTag] = field(default_factory=list)


class Mustache:
    """A parsed template.

    Raises:
        TemplateError: A tag or section that is not closed, a partial, invalid delimiters.
    """

    def __init__(self, text: str) -> None:
        self.tags = _nested(text, _without_lone_lines(list(_cut(text))))
        self.variables = frozenset(name for name in _names(self.tags) if name)

    def render(self, values: Mapping[str, Any], page: Page) -> None:
        """Write the text."""
        _write(self.tags, (values,), page)


def _names(tags: list[MustacheTag]) -> Iterator[str]:
    """Names looked up in the outermost context; a name inside a section may be found in the section's value."""
    for tag in tags:
        if tag.kind != "text":
            yield tag.text.split(".")[0] if tag.text.find(".") > 0 else tag.text.strip(".")
        if tag.kind == "^":
            yield from _names(tag.body)


def _cut(text: str) -> Iterator[MustacheTag]:
    opening, closing = "{{", "}}"
    position = 0
    while (start := text.find(opening, position)) >= 0:
        if start > position:
            yield MustacheTag("text", text[position:start], position)
        kind, name, position = _tag(text, start, opening, closing)
        if kind == "=":
            opening, closing = _delimiters(text, start, name)
        yield MustacheTag(kind, name, start)
    if position < len(text):
        yield MustacheTag("text", text[position:], position)


def _tag(text: str, start: int, opening: str, closing: str) -> tuple[str, str, int]:
    head = re.compile(rf"{_S}([#^/>{{&=!<$]?){_S}").match(text, start + len(opening))
    assert head is not None  # the pattern fits the empty text
    kind = head[1]
    if kind in _NAMES_ONLY:
        raise at(text, start, f"{_NAMES_ONLY[kind]} are not supported", hint="write the text here")
    last = {"{": "}", "=": "="}.get(kind, "") + closing
    end = text.find(last, head.end())
    if end < 0:
        raise at(text, start, "this tag is not closed", expected=last)
    name = text[head.end() : end].rstrip(JS_SPACE)
    return {"": "put", "{": "put", "&": "put"}.get(kind, kind), name, end + len(last)


def _delimiters(text: str, start: int, name: str) -> tuple[str, str]:
    parts = re.split(rf"[{JS_SPACE}]+", name)
    if len(parts) < 2 or not all(parts[:2]):
        raise at(text, start, "these are not delimiters", expected="two, such as {{=<% %>=}}")
    return parts[0], parts[1]


def _without_lone_lines(tags: list[MustacheTag]) -> list[MustacheTag]:
    """Drop the whitespace of lines that contain only tags without output."""
    remaining: list[MustacheTag] = []
    tags_of_line: list[MustacheTag] = []
    for tag in tags:
        pieces = re.findall(r"[^\n]*\n|[^\n]+", tag.text) if tag.kind == "text" else [None]
        for piece in pieces:
            tags_of_line.append(tag if piece is None else MustacheTag("text", piece, tag.position))
            if piece is not None and piece.endswith("\n"):
                remaining += _line(tags_of_line)
                tags_of_line = []
    return remaining + _line(tags_of_line)


def _line(line: list[MustacheTag]) -> list[MustacheTag]:
    tags = [tag for tag in line if tag.kind != "text"]
    blank = all(tag.kind != "put" and (tag.kind != "text" or not tag.text.strip(JS_SPACE)) for tag in line)
    return tags if tags and blank else line


def _nested(text: str, tags: list[MustacheTag]) -> list[MustacheTag]:
    root = MustacheTag("#", "", 0)
    open_tags = [root]
    for tag in tags:
        if tag.kind in {"text", "put", "#", "^"}:
            open_tags[-1].body.append(tag)
        if tag.kind in {"#", "^"}:
            open_tags.append(tag)
        if len(open_tags) > MAX_NESTING + 1:
            raise at(
                text, tag.position, "too many sections within sections", expected=f"at most {MAX_NESTING}"
            )
        if tag.kind == "/":
            _close(text, tag, open_tags)
    if len(open_tags) > 1:
        raise at(
            text,
            open_tags[-1].position,
            "this section is not closed",
            expected=f"{{{{/{open_tags[-1].text}}}}}",
        )
    return root.body


def _close(text: str, tag: MustacheTag, open_tags: list[MustacheTag]) -> None:
    if len(open_tags) == 1:
        raise at(text, tag.position, "this closes a section that is not open")
    if open_tags[-1].text != tag.text:
        raise at(
            text, tag.position, f"{tag.text!r} is closed, {open_tags[-1].text!r} is open",
            expected=f"{{{{/{open_tags[-1].text}}}}}",
        )  # fmt: skip
    open_tags.pop()


def _write(tags: list[MustacheTag], contexts: tuple[Any, ...], page: Page) -> None:
    for tag in tags:
        page.step()
        if tag.kind == "text":
            page.write(tag.text)
        elif tag.kind == "put":
            page.write(script_text(_resolved(tag.text, contexts)))
        elif tag.kind == "^":
            value = _resolved(tag.text, contexts)
            if falsy(value) or value == []:
                _write(tag.body, contexts, page)
        else:
            _section(tag, _resolved(tag.text, contexts), contexts, page)


def _section(tag: MustacheTag, value: Any, contexts: tuple[Any, ...], page: Page) -> None:
    if falsy(value):
        return
    if value is True:
        _write(tag.body, contexts, page)
        return
    for item in value if isinstance(value, list) else [value]:
        page.step()
        _write(tag.body, (item, *contexts), page)


def _resolved(name: str, contexts: tuple[Any, ...]) -> Any:
    if name == ".":
        return contexts[0]
    # As mustache.js, which tests for `indexOf('.') > 0`: a name that starts with a dot is not a path.
    parts = name.split(".") if name.find(".") > 0 else [name]
    for context in contexts:
        value = context
        for part in parts[:-1]:
            value = member(value, part)
        if _has(value, parts[-1], plain_name=len(parts) == 1):
            return member(value, parts[-1])
    return None


def _has(value: Any, name: str, *, plain_name: bool) -> bool:
    if isinstance(value, Mapping):
        return name in value
    if isinstance(value, list):
        place = index(name)
        return name == "length" or (place is not None and place < len(value))
    # Text has its length by a dotted name only.
    return isinstance(value, str) and not plain_name and member(value, name) is not None
