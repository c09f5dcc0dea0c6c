"""A target's lines for graders that wait for a server: `await` in the place of driving them, all rows at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

__all__ = ["waiting"]

_CHANGES = (
    (r"\[(?:await (.*)|_wb_drive\((.*)\)) for (.*)\]", r"await _wb_together(\1\2 for \3)"),
    (r"= _wb_drive\((.*)\)$", r"= await \1"),
)


def waiting(text: str) -> str:
    """The lines with async functions, wherever something inside them waits."""
    for found, instead in _CHANGES:
        text = re.sub(found, instead, text, flags=re.MULTILINE)
    while names := [node.name for node in ast.parse(text).body if _must_wait(node)]:  # type: ignore[attr-defined]
        for name in names:
            text = re.sub(rf"^def {name}\(", f"async def {name}(", text, flags=re.MULTILINE)
            if name.startswith("_wb_"):
                text = re.sub(rf"(?<!def )\b{name}\(", f"await {name}(", text)
    return text


def _must_wait(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any(isinstance(one, ast.Await) for one in _inside(node))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, without the functions in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _inside(child)
