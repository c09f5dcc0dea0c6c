"""Small edits of a definition's text, by position, so that everything else stays as written."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable

from workbench.core.python_text import parse

__all__ = ["renamed", "replaced", "without"]


def renamed(text: str, new: str) -> str:
    """Rename the function defined by a text: the one token after `def`, nothing else."""
    node = parse(text).body[0]
    return replaced_name(text, node, new)


def replaced_name(text: str, node: ast.stmt, new: str) -> str:
    """Rename one function of a text, by the token after its `def`."""
    row, column = _name_token(text, node)
    lines = text.split("\n")
    old: str = node.name  # type: ignore[attr-defined]
    line = lines[row - 1]
    lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "\n".join(lines)


def replaced(text: str, changes: Iterable[tuple[ast.expr, str]]) -> str:
    """Replace expressions of `text`'s tree by other text."""
    # The tree counts columns in bytes of UTF-8, not in characters.
    data = text.encode()
    starts = _line_starts(data)
    for node, new in sorted(changes, key=lambda change: (-change[0].lineno, -change[0].col_offset)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def without(text: str, decorators: Iterable[ast.expr]) -> str:
    """Remove decorators from a text, with their lines."""
    removed = {row for node in decorators for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return "\n".join(line for row, line in enumerate(text.split("\n"), 1) if row not in removed)


def _line_starts(data: bytes) -> list[int]:
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _name_token(text: str, node: ast.stmt) -> tuple[int, int]:
    # By tokens: the tree does not contain the position of a function's name.
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    seen_def = False
    for token in tokens:
        if token.start[0] < node.lineno:
            continue
        if seen_def and token.type == tokenize.NAME:
            return token.start
        seen_def = seen_def or (token.type == tokenize.NAME and token.string == "def")
    raise ValueError("no def in this text")
