"""Convert a target's lines for graders that wait for a server: `await` instead of driving them, all rows concurrently.

Each change is made at a position found by Python's parser, so that strings and comments are unchanged.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from workbench.core.python_text import parse

__all__ = ["waiting"]

_DRIVE = "_wb_drive"
_OURS = "_wb_"


class _Edit(NamedTuple):
    """The bytes from `start` to `end` of a text, to be replaced with `text`."""

    start: int
    end: int
    text: str


def waiting(text: str) -> str:
    """The lines, with functions that contain an `await` made async."""
    while edits := _first_change(_Source(text)):
        text = _edited(text, edits)
    while names := _that_wait(parse(text)):
        source = _Source(text)
        text = _edited(text, [*_async_heads(source, names), *_awaited_calls(source, names)])
    return text


class _Source:
    """A parsed text: its tree, each node's parent, and the byte positions of nodes."""

    def __init__(self, text: str) -> None:
        self.tree = parse(text)
        self.nodes = list(ast.walk(self.tree))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self._starts = [0]  # of each line
        for line in text.encode().split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, node: ast.expr | ast.stmt) -> int:
        """The first byte of a node."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr) -> int:
        """The byte after a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset


def _edited(text: str, edits: Iterable[_Edit]) -> str:
    data = text.encode()
    for edit in sorted(edits, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data.decode()


def _first_change(source: _Source) -> list[_Edit]:
    """The first place where a grader is driven, or awaited row by row unchanged; [] if none is left."""
    for node in source.nodes:
        if isinstance(node, ast.ListComp) and (driven := _driven(node.elt) or _awaited(node.elt)) is not None:
            return _instead(source, node, "await _wb_together(", driven, node.elt, ")")
        if (driven := _driven(node)) is not None and not isinstance(source.parents[node], ast.ListComp):
            assert isinstance(node, ast.Call)
            begin, end = _await_around(source, node)
            return [
                _Edit(source.start(node), source.start(driven), begin),
                _Edit(source.end(driven), source.end(node), end),
            ]
    return []


def _await_around(source: _Source, node: ast.expr) -> tuple[str, str]:
    """Parentheses around an awaited call: `await` binds less tightly than a dot or an index."""
    parent = source.parents[node]
    inside = isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Subscript) and parent.value is node)
    return ("(await ", ")") if inside else ("await ", "")


def _instead(
    source: _Source, node: ast.expr, begin: str, kept: ast.expr, around: ast.expr, end: str
) -> list[_Edit]:
    """`[around for ...]` as `begin`, the retained part of `around`, ` for ...` and `end`."""
    edits = [
        _Edit(source.start(node), source.start(kept), begin),
        _Edit(source.end(kept), source.end(around), ""),
    ]
    return [*edits, _Edit(source.end(node) - 1, source.end(node), end)]


def _driven(node: ast.AST) -> ast.expr | None:
    """The argument of `_wb_drive(...)`; None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _DRIVE:
        return node.args[0]
    return None


def _awaited(node: ast.AST) -> ast.expr | None:
    return node.value if isinstance(node, ast.Await) else None


def _that_wait(tree: ast.Module) -> set[str]:
    """The functions that contain an `await` and are not async yet."""
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _holds_await(node)}


def _holds_await(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Await) for one in _inside(node))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, without the functions in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _inside(child)


def _async_heads(source: _Source, names: Collection[str]) -> Iterator[_Edit]:
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            yield _Edit(source.start(node), source.start(node), "async ")


def _awaited_calls(source: _Source, names: Collection[str]) -> Iterator[_Edit]:
    """`await` before calls of the file's own functions; the target calls the others."""
    for node in source.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        is_ours = node.func.id in names and node.func.id.startswith(_OURS)
        if is_ours and not isinstance(source.parents[node], ast.Await):
            begin, end = _await_around(source, node)
            yield _Edit(source.start(node), source.start(node), begin)
            yield _Edit(source.end(node), source.end(node), end)
