"""Whitespace in Handlebars: the `~`, and lines that contain only a block's tag or a comment.

Standalone tags are determined on the text as written, removals on the text after earlier removals, in the
order Handlebars uses: a block's inside before the block.
"""

from __future__ import annotations

import re

from workbench.data.templates.handlebars_tree import (
    Block,
    Comment,
    Content,
    MustacheStatement,
    Statement,
    Strip,
    TemplateProgram,
)
from workbench.data.templates.values import JS_SPACE

__all__ = ["strip_whitespace"]

_REST_OF_LINE = re.compile(r"[ \t]*\r?\n?")


def strip_whitespace(program: TemplateProgram, *, root: bool = True) -> None:
    """Remove the whitespace that Handlebars removes from the texts of the tree."""
    body = program.body
    for at, statement in enumerate(body):
        match statement:
            case MustacheStatement():
                _tildes(body, at, statement.strip)
            case Comment():
                _tildes_after_looking(body, at, statement, root=root)
            case Block():
                _block_in(body, at, statement, root=root)
            case _:
                pass


def _tildes(body: list[Statement], at: int, strip: Strip) -> None:
    if strip.close:
        _cut_after(body, at + 1, everything=True)
    if strip.open:
        _cut_before(body, at, everything=True)


def _tildes_after_looking(body: list[Statement], at: int, comment: Comment, *, root: bool) -> None:
    alone = _line_starts(body, at, root=root) and _line_ends(body, at, root=root)
    _tildes(body, at, comment.strip)
    if alone:
        _cut_after(body, at + 1)
        _cut_before(body, at)


def _block_in(body: list[Statement], at: int, block: Block, *, root: bool) -> None:
    opens_line, closes_line = _inside(block)
    opens = opens_line and _line_starts(body, at, root=root)
    closes = closes_line and _line_ends(body, at, root=root)
    _tildes(body, at, Strip(block.open_strip.open, block.close_strip.close))
    if opens:
        _cut_after(_body(block.program or block.inverse), 0)
        _cut_before(body, at)
    if closes:
        _cut_after(body, at + 1)
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


def _line_starts(body: list[Statement], at: int | None, *, root: bool = False) -> bool:
    """Whether only whitespace is between the line's start and index `at` (None is the end)."""
    at = len(body) if at is None else at
    if at == 0:
        return root
    before = body[at - 1]
    if not isinstance(before, Content):
        return False
    text = before.original
    space = text[len(text.rstrip(JS_SPACE)) :]
    return "\n" in space or (root and at == 1 and space == text)


def _line_ends(body: list[Statement], at: int, *, root: bool = False) -> bool:
    if at + 1 >= len(body):
        return root
    after = body[at + 1]
    if not isinstance(after, Content):
        return False
    text = after.original
    space = text[: len(text) - len(text.lstrip(JS_SPACE))]
    return "\n" in space or (root and at + 2 == len(body) and space == text)


def _cut_after(body: list[Statement], at: int, *, everything: bool = False) -> None:
    content = body[at] if at < len(body) else None
    if isinstance(content, Content) and (everything or not content.right_stripped):
        kept_text = (
            content.value.lstrip(JS_SPACE) if everything else _REST_OF_LINE.sub("", content.value, count=1)
        )
        content.right_stripped = kept_text != content.value
        content.value = kept_text


def _cut_before(body: list[Statement], at: int | None, *, everything: bool = False) -> None:
    place = (len(body) if at is None else at) - 1
    content = body[place] if place >= 0 else None
    if isinstance(content, Content) and (everything or not content.left_stripped):
        kept_text = content.value.rstrip(JS_SPACE if everything else " \t")
        content.left_stripped = kept_text != content.value
        content.value = kept_text
