"""The parser of Handlebars' grammar, from tags to a tree, and its rules for whitespace."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from workbench.data.templates.handlebars_tree import (
    Block,
    Call,
    Comment,
    Content,
    HandlebarsTag,
    Literal,
    MustacheStatement,
    Path,
    Statement,
    Strip,
    TemplateProgram,
    Word,
    cut,
)
from workbench.data.templates.values import JS_SPACE, MAX_NESTING, TemplateError, at, script_text

_LITERALS = {"true": True, "false": False, "null": None, "undefined": None}


def read(text: str) -> TemplateProgram:
    """The tree of a template, before whitespace control.

    Raises:
        TemplateError: It breaks the grammar; the position is named.
    """
    reader = _Reader(text, cut(text))
    program = reader.program()
    if reader.tag is not None:
        raise at(text, reader.tag.position, f"{reader.tag.kind!r} tag without a block that is open")
    return program


class _Reader:
    """The tags that remain to be parsed; `tag` is the one that ended the last program, None at the end."""

    def __init__(self, text: str, tags: Iterable[HandlebarsTag]) -> None:
        self.text = text
        self.tags = iter(tags)
        self.tag: HandlebarsTag | None = None
        self.depth = 0

    def program(self) -> TemplateProgram:
        body: list[Statement] = []
        for tag in self.tags:
            if tag.kind in {"end", "else", "chain"}:
                self.tag = tag
                return TemplateProgram(body)
            body.append(self.statement(tag))
        self.tag = None
        return TemplateProgram(body)

    def statement(self, tag: HandlebarsTag) -> Statement:
        match tag.kind:
            case "text":
                return Content(tag.text, tag.text)
            case "raw":
                body: list[Statement] = [Content(tag.text, tag.text)] if tag.text else []
                head = Call(Literal(None, "raw", tag.position), (), (), tag.position)
                return Block(head, TemplateProgram(body), None, Strip(), Strip(), Strip(), raw=True)
            case "comment":
                return Comment(tag.strip)
            case "put":
                return MustacheStatement(_Words(self.text, tag).call(), tag.strip)
            case _:
                return self.block(tag)

    def block(self, tag: HandlebarsTag) -> Block:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise at(
                self.text, tag.position, "too many blocks within blocks", expected=f"at most {MAX_NESTING}"
            )
        call, names = _Words(self.text, tag).block_call()
        program = self.program()
        inverse, inverse_strip = self.inverse(chain_allowed=tag.kind == "open")
        close = self.close(tag, call)
        self.depth -= 1
        if inverse is not None and inverse.chained and isinstance(inverse.body[0], Block):
            # The block of an `{{else if}}` has no separate closing tag: it shares this one, `~` and all.
            inverse.body[0].close_strip = close
        program.names = names
        first, second = (program, inverse) if tag.kind == "open" else (inverse, program)
        return Block(call, first, second, tag.strip, inverse_strip, close)

    def inverse(self, *, chain_allowed: bool) -> tuple[TemplateProgram | None, Strip]:
        tag = self.tag
        if tag is None or tag.kind == "end":
            return None, Strip()
        if tag.kind == "chain":
            if not chain_allowed:
                raise at(self.text, tag.position, "{{else ...}} cannot follow {{^...}}", expected="{{else}}")
            return self.chain(tag), tag.strip
        program = self.program()
        if self.tag is not None and self.tag.kind != "end":
            raise at(self.text, self.tag.position, "a second {{else}} in one block")
        return program, tag.strip

    def chain(self, tag: HandlebarsTag) -> TemplateProgram:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise at(
                self.text, tag.position, "too many blocks within blocks", expected=f"at most {MAX_NESTING}"
            )
        call, names = _Words(self.text, tag).block_call()
        program = self.program()
        program.names = names
        inverse, strip = self.inverse(chain_allowed=True)
        self.depth -= 1
        if inverse is not None and inverse.chained and isinstance(inverse.body[0], Block):
            inverse.body[0].close_strip = strip
        return TemplateProgram([Block(call, program, inverse, tag.strip, strip, strip)], chained=True)

    def close(self, opened: HandlebarsTag, call: Call) -> Strip:
        tag = self.tag
        if tag is None or tag.kind != "end":
            raise at(
                self.text,
                opened.position,
                "this block is not closed",
                expected=f"{{{{/{call.head.original}}}}}",
            )
        name = _Words(self.text, tag).only_head().original
        if name != call.head.original:
            raise at(
                self.text, tag.position, f"{name!r} is closed, {call.head.original!r} is open",
                expected=f"{{{{/{call.head.original}}}}}",
            )  # fmt: skip
        return tag.strip


class _Words:
    """The tokens of one tag, left to right."""

    def __init__(self, text: str, tag: HandlebarsTag) -> None:
        self.text, self.tag = text, tag
        self.words = tag.words
        self.next = 0

    def call(self) -> Call:
        call = self._call(0)
        self._end()
        return call

    def block_call(self) -> tuple[Call, tuple[str, ...]]:
        call = self._call(0)
        names = self._names() if self._peek() == "params" else ()
        self._end()
        return call, names

    def only_head(self) -> Path | Literal:
        head = self._head()
        self._end()
        return head

    def _peek(self, ahead: int = 0) -> str:
        return self.words[self.next + ahead].kind if self.next + ahead < len(self.words) else ""

    def _take(self) -> Word:
        self.next += 1
        return self.words[self.next - 1]

    def _wrong(self, expected: str) -> TemplateError:
        remaining_words = self.words[self.next :]
        position = remaining_words[0].position if remaining_words else self.tag.position
        return at(self.text, position, "a tag that cannot be parsed", expected=expected)

    def _end(self) -> None:
        if self.next < len(self.words):
            raise self._wrong("the end of the tag")

    def _names(self) -> tuple[str, ...]:
        self._take()
        names: list[str] = []
        while self._peek() in {"name", "id"}:
            names.append(self._take().text)
        if not names or self._peek() != "bar":
            raise self._wrong("names between two bars: as |item index|")
        self._take()
        return tuple(names)

    def _call(self, depth: int) -> Call:
        if depth > MAX_NESTING:
            raise self._wrong("fewer brackets within brackets")
        position = self.words[self.next].position if self.next < len(self.words) else self.tag.position
        head = self._head()
        params: list[Path | Literal | Call] = []
        options: list[tuple[str, Path | Literal | Call]] = []
        while self._peek() not in {"", "shut", "params"}:
            if self._peek(1) == "equals" and self._peek() in {"name", "segment", "id"}:
                name = _segment(self._take().text)
                self._take()
                options.append((name, self._param(depth)))
            elif options:
                raise self._wrong("name=value")
            else:
                params.append(self._param(depth))
        return Call(head, tuple(params), tuple(options), position)

    def _param(self, depth: int) -> Path | Literal | Call:
        if self._peek() != "open":
            return self._head()
        self._take()
        call = self._call(depth + 1)
        if self._peek() != "shut":
            raise self._wrong(")")
        self._take()
        return call

    def _head(self) -> Path | Literal:
        kind = self._peek()
        if kind in {"string", "number", "literal"}:
            return _literal(self._take())
        if kind not in {"id", "name", "segment", "data"}:
            raise self._wrong("a name or a value")
        return self._path()

    def _path(self) -> Path:
        position = self.words[self.next].position
        data = self._peek() == "data"
        if data:
            self._take()
        parts: list[str] = []
        original, depth = "@" if data else "", 0
        separator = ""
        while True:
            if self._peek() not in {"id", "name", "segment"}:
                raise self._wrong("a name")
            word = self._take()
            part = _segment(word.text)
            original += separator + part
            if word.kind != "segment" and part in {"..", ".", "this"}:
                if parts:
                    raise at(
                        self.text, position, f"invalid path: {original}", hint="`this` and .. come first"
                    )
                depth += part == ".."
            else:
                parts.append(part)
            if self._peek() != "sep":
                break
            separator = self._take().text
        scoped = re.search(r"(?a:^\.|this\b)", original) is not None
        return Path(tuple(parts), depth, data, original, scoped, position)


def _segment(text: str) -> str:
    return re.sub(r"\\([\\\]])", r"\1", text)[1:-1] if text.startswith("[") else text


def _literal(word: Word) -> Literal:
    value: Any
    if word.kind == "string":
        quote = word.text[0]
        value = word.text[1:-1].replace("\\" + quote, quote)
        return Literal(value, value, word.position)
    if word.kind == "number":
        # Truncated, since Python rejects more than 4,300 digits; past 309 no float is equal anyway.
        value = float(word.text) if "." in word.text else int(word.text[:400])
        return Literal(value, script_text(value), word.position)
    return Literal(_LITERALS[word.text], word.text, word.position)


_REST_OF_LINE = re.compile(r"[ \t]*\r?\n?")


def strip_whitespace(program: TemplateProgram, *, root: bool = True) -> None:
    """Remove the whitespace that Handlebars removes from the texts of the tree.

    The `~`, and lines that contain only a block's tag or a comment. Standalone tags are determined on the text as written,
    removals on the text after earlier removals, in the order Handlebars uses: a block's inside before the block.
    """
    body = program.body
    for index, statement in enumerate(body):
        match statement:
            case MustacheStatement():
                _tildes(body, index, statement.strip)
            case Comment():
                _tildes_after_looking(body, index, statement, root=root)
            case Block():
                _block_in(body, index, statement, root=root)
            case _:
                pass


def _tildes(body: list[Statement], index: int, strip: Strip) -> None:
    if strip.close:
        _cut_after(body, index + 1, everything=True)
    if strip.open:
        _cut_before(body, index, everything=True)


def _tildes_after_looking(body: list[Statement], index: int, comment: Comment, *, root: bool) -> None:
    alone = _line_starts(body, index, root=root) and _line_ends(body, index, root=root)
    _tildes(body, index, comment.strip)
    if alone:
        _cut_after(body, index + 1)
        _cut_before(body, index)


def _block_in(body: list[Statement], index: int, block: Block, *, root: bool) -> None:
    opens_line, closes_line = _inside(block)
    opens = opens_line and _line_starts(body, index, root=root)
    closes = closes_line and _line_ends(body, index, root=root)
    _tildes(body, index, Strip(block.open_strip.open, block.close_strip.close))
    if opens:
        _cut_after(_body(block.program or block.inverse), 0)
        _cut_before(body, index)
    if closes:
        _cut_after(body, index + 1)
        _cut_before(_body(block.inverse or block.program), None)


def _inside(block: Block) -> tuple[bool, bool]:
    """Strip a block's programs; returns whether its first tag ends its line, and its last one starts one."""
    for part in (block.program, block.inverse):
        if part is not None:
            strip_whitespace(part, root=False)
    program = _body(block.program or block.inverse)
    inverse = block.inverse if block.program is not None else None
    first, last = _inverses(inverse)
    lone = _line_ends(program, -1), _line_starts(program if first is None else first, None)
    if block.open_strip.close:
        _cut_after(program, 0, everything=True)
    if first is None or last is None:
        if block.close_strip.open:
            _cut_before(program, None, everything=True)
    else:
        _around_else(block, program, first, last)
    return lone


def _around_else(
    block: Block, program: list[Statement], first: list[Statement], last: list[Statement]
) -> None:
    if block.inverse_strip.open:
        _cut_before(program, None, everything=True)
    if block.inverse_strip.close:
        _cut_after(first, 0, everything=True)
    if block.close_strip.open:
        _cut_before(last, None, everything=True)
    if _line_starts(program, None) and _line_ends(first, -1):
        _cut_before(program, None)
        _cut_after(first, 0)


def _inverses(inverse: TemplateProgram | None) -> tuple[list[Statement] | None, list[Statement] | None]:
    """The program right after the first else, and the one before the closing tag."""
    if inverse is None:
        return None, None
    first = last = inverse
    if inverse.chained and isinstance(inverse.body[0], Block):
        first = inverse.body[0].program or inverse
        while last.chained and isinstance(last.body[-1], Block) and last.body[-1].program is not None:
            last = last.body[-1].program
    return first.body, last.body


def _body(program: TemplateProgram | None) -> list[Statement]:
    return [] if program is None else program.body


def _line_starts(body: list[Statement], index: int | None, *, root: bool = False) -> bool:
    """Whether only whitespace is between the line's start and index `index` (None is the end)."""
    index = len(body) if index is None else index
    if index == 0:
        return root
    before = body[index - 1]
    if not isinstance(before, Content):
        return False
    text = before.original
    space = text[len(text.rstrip(JS_SPACE)) :]
    return "\n" in space or (root and index == 1 and space == text)


def _line_ends(body: list[Statement], index: int, *, root: bool = False) -> bool:
    if index + 1 >= len(body):
        return root
    after = body[index + 1]
    if not isinstance(after, Content):
        return False
    text = after.original
    space = text[: len(text) - len(text.lstrip(JS_SPACE))]
    return "\n" in space or (root and index + 2 == len(body) and space == text)


def _cut_after(body: list[Statement], index: int, *, everything: bool = False) -> None:
    content = body[index] if index < len(body) else None
    if isinstance(content, Content) and (everything or not content.right_stripped):
        kept_text = (
            content.value.lstrip(JS_SPACE) if everything else _REST_OF_LINE.sub("", content.value, count=1)
        )
        content.right_stripped = kept_text != content.value
        content.value = kept_text


def _cut_before(body: list[Statement], index: int | None, *, everything: bool = False) -> None:
    place = (len(body) if index is None else index) - 1
    content = body[place] if place >= 0 else None
    if isinstance(content, Content) and (everything or not content.left_stripped):
        kept_text = content.value.rstrip(JS_SPACE if everything else " \t")
        content.left_stripped = kept_text != content.value
        content.value = kept_text
