"""Mustache, Letta's braces and OpenAI's placeholders: languages without expressions, parsed and rendered here.

Mustache is the language of vLLora's judge prompts. The rules are those of mustache.js 4.2 (`npm mustache`), against which the tests compare, with its HTML
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

from workbench.data.templates.values import (
    JS_SPACE,
    MAX_NESTING,
    MissingVariableError,
    Page,
    TemplateError,
    TemplateRunError,
    at,
    falsy,
    index,
    json_text,
    member,
    place,
    script_text,
)

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


RESERVED = ("input", "submission", "ground_truth")
"""Variables that Letta fills itself."""

_NAME = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Braces:
    """A template with its names.

    Generation "0.4" (0.4 to 0.16): the listed names are replaced everywhere, and nothing else is changed:
    not `{other}`, not `{{` or `}}`. Generation "0.17" (since): `{input}`, `{submission}` and `{ground_truth}` are replaced
    too, a name without a value is an error, `{{` and `}}` are one brace, and no variable may have the name of one of
    the three. A brace that belongs to no name is text in both. One pass: `{name}` inside a value is not replaced.

    Args:
        text: The template.
        names: Variables to replace, in addition to the reserved ones of release "0.17".
        release: "0.4" or "0.17".

    Raises:
        TemplateError: Another release; a name like a reserved one in "0.17".
    """

    def __init__(self, text: str, *, names: tuple[str, ...] = (), release: str = "0.4") -> None:
        if release not in {"0.4", "0.17"}:
            raise TemplateError("unknown release of braces", found=repr(release), expected="0.4, 0.17")
        self.text, self.names, self.release = text, tuple(names), release
        if release == "0.17":
            check_names(names)
        self.pattern = _NAME if release == "0.17" else _listed(self.names)
        names_in_text = (match[1] for match in self.pattern.finditer(text) if match.lastindex)
        self.variables = frozenset(names_in_text)

    def render(self, values: Mapping[str, Any], page: Page) -> None:
        """Write the text."""
        place = 0
        for match in self.pattern.finditer(self.text):
            page.step()
            page.write(self.text[place : match.start()])
            page.write(match[0][0] if not match.lastindex else _value(match[1], values))
            place = match.end()
        page.write(self.text[place:])


def check_names(names: tuple[str, ...]) -> None:
    """Reject variables that hide one of Letta's own.

    Raises:
        TemplateError: One is named input, submission or ground_truth.
    """
    if reserved := [name for name in names if name in RESERVED]:
        raise TemplateError(
            f"a rubric variable cannot be named {reserved[0]!r}",
            expected=f"a name other than {', '.join(RESERVED)}",
        )


def _listed(names: tuple[str, ...]) -> re.Pattern[str]:
    # Longest first, so that no name hides a longer one; a pattern that never matches when there are none.
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"\{{({listed})\}}" if names else r"(?!)()")


def _value(name: str, values: Mapping[str, Any]) -> str:
    if name not in values:
        raise MissingVariableError(
            f"the prompt needs the variable {name!r}", found=", ".join(sorted(values)) or "no variables",
            hint=f"give it a value, or write {{{{{name}}}}} for the text {{{name}}}",
        )  # fmt: skip
    value = values[name]
    return value if isinstance(value, str) else "" if value is None else str(value)


NAMESPACES = ("item", "sample")

_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d{1,9}\])*")
_MISSING = object()


class OpenAI:
    """A parsed template.

    Two namespaces, `item` (the row) and `sample` (the model's output), dots and indices in square brackets. Text
    is inserted unchanged, everything else as JSON. OpenAI does not document the output of a missing path; here it is an
    error that names the path, or "" with `lenient`.

    Raises:
        TemplateError: Another namespace, or text that is not a path.
    """

    def __init__(self, text: str, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self.pieces: list[str | tuple[str, tuple[str | int, ...], int]] = []
        start = 0
        while (opening := text.find("{{", start)) >= 0 and (closing := text.find("}}", opening + 2)) >= 0:
            inside = text[opening + 2 : closing].strip()
            self.pieces += [text[start:opening], (inside, path_parts(text, inside, opening), opening)]
            start = closing + 2
        self.pieces.append(text[start:])
        self.text = text
        self.variables = frozenset(str(piece[1][0]) for piece in self.pieces if isinstance(piece, tuple))

    def render(self, values: Mapping[str, Any], page: Page) -> None:
        """Write the text."""
        for piece in self.pieces:
            page.step()
            page.write(piece if isinstance(piece, str) else self._text(piece, values))

    def _text(self, piece: tuple[str, tuple[str | int, ...], int], values: Mapping[str, Any]) -> str:
        path, parts, position = piece
        value: Any = values
        for part in parts:
            value = _step(value, part)
        if value is _MISSING and not self.lenient:
            line, column = place(self.text, position)
            raise TemplateRunError(
                f"the path {path!r} does not exist", where=f"line {line}, column {column}",
                hint="a sample has output_json only if its text is JSON" if "output_json" in path else "",
            )  # fmt: skip
        return "" if value is _MISSING else value if isinstance(value, str) else json_text(value)


def path_parts(text: str, path: str, position: int) -> tuple[str | int, ...]:
    """A tag's path, checked.

    Raises:
        TemplateError: Not a path, or it starts with another name than item or sample.
    """
    if not _PATH.fullmatch(path):
        raise at(
            text,
            position,
            "this is not a path",
            expected="such as {{ item.prompt }} or {{ sample.choices[0] }}",
        )
    if (root := re.split(r"[.\[]", path)[0]) not in NAMESPACES:
        raise at(text, position, f"there is no {root!r} here", expected=", ".join(NAMESPACES))
    return tuple(int(number) if number else name for number, name in re.findall(r"\[(\d+)\]|([\w-]+)", path))


def _step(value: Any, part: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(str(part), _MISSING)
    place = part if isinstance(part, int) else int(part) if part.isascii() and part.isdigit() else None
    if isinstance(value, list | tuple) and place is not None and place < len(value):
        return value[place]
    return _MISSING
