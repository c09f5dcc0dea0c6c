"""`@wb.grader` in source text: which functions carry it, with which settings, and the text without it."""

from __future__ import annotations

import ast
from typing import Any

from workbench.sandbox.capture.statements import parsed

__all__ = ["decorated", "undecorated"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def decorated(text: str) -> dict[str, dict[str, Any]]:
    """The top-level functions under our decorator, in order, each with the decorator's literal settings.

    A setting that is no literal is left out: nothing of the text is evaluated.
    """
    tree = parsed(text)
    if tree is None:
        return {}
    ours = _names_of_ours(tree)
    found = {}
    for node in tree.body:
        for mark in node.decorator_list if isinstance(node, _Function) else ():
            if _dotted(mark) in ours and isinstance(node, _Function):
                found[node.name] = _settings(mark)
    return found


def undecorated(text: str) -> str:
    """The text with our decorators' lines taken out; everything else stays as it is."""
    tree = parsed(text)
    if tree is None:
        return text
    ours, lines = _names_of_ours(tree), text.split("\n")
    marks = [mark for node in tree.body if isinstance(node, _Function) for mark in node.decorator_list]
    for mark in reversed(marks):
        if _dotted(mark) in ours:
            del lines[mark.lineno - 1 : mark.end_lineno]
    return "\n".join(lines)


def _names_of_ours(tree: ast.Module) -> set[str]:
    """How this text spells our decorator: "wb.grader", "grader", ..."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {f"{a.asname or a.name}.grader" for a in node.names if a.name == "workbench"}
        elif isinstance(node, ast.ImportFrom) and node.module == "workbench":
            found |= {a.asname or a.name for a in node.names if a.name == "grader"}
    return found


def _dotted(mark: ast.expr) -> str:
    target = mark.func if isinstance(mark, ast.Call) else mark
    return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""


def _settings(mark: ast.expr) -> dict[str, Any]:
    found = {}
    for keyword in mark.keywords if isinstance(mark, ast.Call) else ():
        try:
            found[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    return found
