"""Statements in a text: walking, finding bindings, cutting them out with their comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache

from workbench.core.python_text import parse

__all__ = [
    "Definition",
    "bindings",
    "dedented",
    "definitions",
    "first_line",
    "has_own_lines",
    "parsed",
    "statement_text",
    "targets",
]

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Comments that are addressed to a tool about a place in the file, not to a reader about the code below.
_PLACE_COMMENT = re.compile(r"#(!| ?%%| ?In\[|.*coding[:=])")


# The same cells are searched for every name that a grader reads.
@lru_cache(maxsize=512)
def parsed(text: str) -> ast.Module | None:
    """The tree of a text, None if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module loads, those inside if, for, with, try and match too."""
    for node in body:
        yield node
        if not isinstance(node, _DEFINITIONS):
            yield from statements(_inner(node))


def _inner(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _inner(child)


def definitions(text: str, name: str) -> list[Definition]:
    """Functions and classes of a name that are defined at the top level of a text, in order."""
    tree = parsed(text)
    nodes = statements(tree.body) if tree else ()
    return [node for node in nodes if isinstance(node, _DEFINITIONS) and node.name == name]


def bindings(text: str, name: str) -> list[ast.stmt]:
    """Statements at the top level of a text that assign a name, in order."""
    tree = parsed(text)
    return [node for node in statements(tree.body) if name in targets(node)] if tree else []


def targets(node: ast.stmt) -> set[str]:
    """Names that a statement itself binds (excluding nested statements)."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]
    names = [item for part in parts for item in ast.walk(part) if isinstance(item, ast.Name)]
    return {item.id for item in names if isinstance(item.ctx, ast.Store)}


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, including its decorators."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(int(part.lineno) for part in decorators)])


def statement_text(text: str, node: ast.stmt) -> str:
    """A statement's text with the comments right above it and after it, moved to the left margin."""
    # Not splitlines, which also breaks at form feeds and similar, where Python counts no new line.
    lines = [line + "\n" for line in text.split("\n")]
    start, end = first_line(node) - 1, node.end_lineno or node.lineno
    if not isinstance(node, _DEFINITIONS) and not has_own_lines(lines, node):
        return ast.get_source_segment(text, node) or ast.unparse(node)
    indent = lines[node.lineno - 1][: _characters(lines[node.lineno - 1], node.col_offset)]
    above = _comments_above(lines, start, indent)
    return dedented("".join(lines[above:end]), indent).rstrip()


def has_own_lines(lines: list[str], node: ast.stmt) -> bool:
    """Whether nothing but comments shares a statement's lines."""
    # Columns of the tree are bytes of UTF-8.
    before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    last_line = (node.end_lineno or node.lineno) - 1
    after = lines[last_line].encode()[node.end_col_offset or 0 :].decode().strip()
    return not before.strip() and (not after or after.startswith("#"))


def _characters(line: str, offset: int) -> int:
    return len(line.encode()[:offset].decode())


def _comments_above(lines: list[str], start: int, indent: str) -> int:
    while start > 0:
        line = lines[start - 1]
        unindented = line[len(indent) :]
        if not line.startswith(indent) or not unindented.startswith("#") or _PLACE_COMMENT.match(unindented):
            break
        start -= 1
    return start


def dedented(text: str, indent: str) -> str:
    """Remove an indent from every line that does not start inside a string."""
    if not indent:
        return text
    inside = _lines_inside_strings("if 1:\n" + text)
    lines = text.split("\n")
    return "\n".join(
        line if number in inside else line.removeprefix(indent) for number, line in enumerate(lines, 2)
    )


def _lines_inside_strings(text: str) -> set[int]:
    inside: set[int] = set()
    opened = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind == "FSTRING_START":
            opened = token.start[0]
        elif kind == "FSTRING_END":
            inside.update(range(opened + 1, token.end[0] + 1))
    return inside
