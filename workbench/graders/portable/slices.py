"""Source text out of the rule files: a function with all it needs, as its author wrote it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["sliced"]

_PACKAGE = Path(__file__).parents[2]
_RULES = "workbench.graders.rules."

_SHIMS = {"_assistant_messages": ("threads", "_assistant_messages"), "Pattern": ("threads", "Pattern")}
"""What extractors use here and other platforms lack, to what stands in for it."""


@dataclass(frozen=True)
class _File:
    """A parsed source file: its top-level pieces, its imports by the name they bind: module, name, name in this file."""

    lines: tuple[str, ...]
    pieces: dict[str, ast.stmt]
    imports: dict[str, tuple[str, str, str]]

    def text(self, name: str) -> str:
        """A piece as written; decorators of ours left out, others kept."""
        node = self.pieces[name]
        first_line = node.lineno
        if isinstance(node, ast.FunctionDef) and node.decorator_list and not _is_ours(node.decorator_list[0]):
            first_line = node.decorator_list[0].lineno
        return "\n".join(self.lines[first_line - 1 : node.end_lineno])


def _is_ours(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "extractor"


@lru_cache(maxsize=32)
def _file(module: str) -> _File:
    text = (_PACKAGE / (module.removeprefix("workbench.").replace(".", "/") + ".py")).read_text("utf-8")
    pieces: dict[str, ast.stmt] = {}
    imports: dict[str, tuple[str, str, str]] = {}
    for node in ast.parse(text).body:
        pieces.update(dict.fromkeys(_bound(node), node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
            bound = ((alias.asname or alias.name, alias.name) for alias in node.names)
            imports.update({own: (origin, name, own) for own, name in bound})
    return _File(tuple(text.splitlines()), pieces, imports)


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def sliced(pieces: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Import lines and pieces of source, dependencies before what uses them.

    Args:
        pieces: Pairs of a module's full name and a name in it.
    """
    imports: set[str] = set()
    done: dict[str, tuple[str, str]] = {}
    for module, name in pieces:
        _take(module, name, done, imports)
    return sorted(imports, key=lambda line: (line.startswith("from"), line)), list(
        dict.fromkeys(text for _, text in done.values())
    )


def _take(module: str, name: str, done: dict[str, tuple[str, str]], imports: set[str]) -> None:
    file = _file(module)
    if name in done:
        assert done[name][0] in {module, ""}, f"two rules are called {name!r}"
        return
    if name not in file.pieces:
        raise ValueError(f"{module} has no function {name!r}, which a grader names as its rule")
    done[name] = ("", "")  # its place is kept: functions may call each other in rings
    for used in _names(file.pieces[name]):
        if module.startswith("workbench.extractors.builtin.") and used in _SHIMS:
            _take(_RULES + _SHIMS[used][0], _SHIMS[used][1], done, imports)
        elif used in file.pieces and used != name:
            _take(module, used, done, imports)
        elif used in file.imports:
            _follow(file.imports[used], done, imports)
    # Put in anew, so that it stands behind everything it uses.
    del done[name]
    done[name] = (module, file.text(name))


def _follow(imported: tuple[str, str, str], done: dict[str, tuple[str, str]], imports: set[str]) -> None:
    origin, name, own = imported
    if origin == "workbench.thread":
        return  # every module names StringThread on its own
    if origin.startswith("workbench."):
        _take(origin, name, done, imports)
    else:
        renamed = f" as {own}" if own != name else ""
        imports.add(f"from {origin} import {name}{renamed}" if origin else f"import {name}{renamed}")


def _names(node: ast.stmt) -> list[str]:
    """The names a piece reads from its module: not its arguments and locals, not a decorator of ours."""
    if isinstance(node, ast.FunctionDef) and node.decorator_list and _is_ours(node.decorator_list[0]):
        node.decorator_list = []
    nodes = list(ast.walk(node))
    names = [child for child in nodes if isinstance(child, ast.Name)]
    bound = {child.arg for child in nodes if isinstance(child, ast.arg)}
    bound |= {child.id for child in names if not isinstance(child.ctx, ast.Load)}
    return list(dict.fromkeys(child.id for child in names if child.id not in bound))
