"""`@wb.grader` in source text: the decorated functions, their settings, and the text without the decorator."""

from __future__ import annotations

import ast
from typing import Any

from workbench.graders.capture.modules import GIVEN
from workbench.graders.capture.statements import parsed, targets

__all__ = ["decorated", "undecorated"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def decorated(text: str) -> dict[str, dict[str, Any]]:
    """The top-level functions with the workbench's decorator, in order, each with the decorator's literal settings.

    A setting that is not a literal is ignored: nothing of the text is evaluated.
    """
    tree = parsed(text)
    if tree is None:
        return {}
    decorators = _names_of_ours(tree)
    settings = {}
    for node in tree.body:
        for mark in node.decorator_list if isinstance(node, _Function) else ():
            if _dotted(mark) in decorators and isinstance(node, _Function):
                settings[node.name] = _settings(mark)
    return settings


def undecorated(text: str) -> str:
    """The text without the workbench's decorators, and without the script around the graders.

    A file with `@wb.grader` often continues by reading samples and printing a report. Top-level expressions, the
    `__main__` block, and statements that read the workbench, a grader, or a variable set by such a statement, are
    not part of a grader and could not run where it runs. The other statements are unchanged.
    """
    tree = parsed(text)
    if tree is None:
        return text
    decorators = _names_of_ours(tree)
    marks = [mark for node in tree.body if isinstance(node, _Function) for mark in node.decorator_list]
    removed = [mark for mark in marks if _dotted(mark) in decorators] + _script(tree, set(decorated(text)))
    lines = text.split("\n")
    # From the bottom up: removing lines must not move those still to be removed.
    for node in sorted(removed, key=lambda node: node.lineno, reverse=True):
        del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def _script(tree: ast.Module, graders: set[str]) -> list[ast.stmt]:
    """The statements that use the graders instead of defining them."""
    tainted = graders | _names_of_workbench(tree)
    statements: list[ast.stmt] = []
    for at, node in enumerate(tree.body):
        if isinstance(node, _Function | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        docstring = at == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        reads = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        if not docstring and (isinstance(node, ast.Expr) or reads & (tainted | {"__name__"})):
            statements.append(node)
            tainted |= targets(node)
    return statements


def _names_of_workbench(tree: ast.Module) -> set[str]:
    """Names of the workbench and its parts in this text, except the classes that graders may use."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {(a.asname or a.name) for a in node.names if a.name.partition(".")[0] == "workbench"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "workbench":
            names |= {a.asname or a.name for a in node.names if a.name not in GIVEN}
    return names


def _names_of_ours(tree: ast.Module) -> set[str]:
    """How this text spells the workbench's decorator: "wb.grader", "grader", ..."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {f"{a.asname or a.name}.grader" for a in node.names if a.name == "workbench"}
        elif isinstance(node, ast.ImportFrom) and node.module == "workbench":
            names |= {a.asname or a.name for a in node.names if a.name == "grader"}
    return names


def _dotted(mark: ast.expr) -> str:
    target = mark.func if isinstance(mark, ast.Call) else mark
    return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""


def _settings(mark: ast.expr) -> dict[str, Any]:
    settings = {}
    for keyword in mark.keywords if isinstance(mark, ast.Call) else ():
        try:
            settings[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    return settings
