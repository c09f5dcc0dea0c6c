"""Workbench imports that a module does not need: unused, or used only by annotations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from workbench.graders.capture.modules import ModuleOwner, owner_of
from workbench.graders.capture.names import names_in
from workbench.graders.capture.statements import has_own_lines, parsed, targets

__all__ = ["annotations_are_read", "without_unread"]

_LOOKS_AT_ANNOTATIONS = re.compile(
    r"annotations__|get_annotations|get_type_hints|\binspect\b|singledispatch|dataclass|NamedTuple|TypedDict"
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_BY_NAME = frozenset({"eval", "exec", "globals", "locals", "vars"})
"""Functions that may read a name that does not occur in the text."""


def annotations_are_read(texts: Iterable[str]) -> bool:
    """Whether annotations must stay as in the notebook: code may inspect them, or evaluates them itself.

    A function evaluates the annotations of nested definitions, so its code differs if they are not evaluated.
    """
    return any(_LOOKS_AT_ANNOTATIONS.search(text) or _runs_annotations(text) for text in texts)


def _runs_annotations(text: str) -> bool:
    tree = parsed(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)] if tree is not None else []
    inside = (node for function in functions for statement in function.body for node in ast.walk(statement))
    return any(_is_annotated(node) for node in inside)


def _is_annotated(node: ast.AST) -> bool:
    """Whether a definition has annotations that are evaluated with it: a function's, or those of a class's attributes."""
    if isinstance(node, ast.ClassDef):
        return any(isinstance(statement, ast.AnnAssign) for statement in ast.walk(node))
    if not isinstance(node, _FUNCTIONS):
        return False
    arguments = node.args
    parameters = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *filter(None, (arguments.vararg, arguments.kwarg)),
    ]
    return node.returns is not None or any(parameter.annotation is not None for parameter in parameters)


def without_unread(text: str) -> tuple[str, bool]:
    """The text without such imports at its top level, and whether annotations must not be evaluated."""
    tree = parsed(text)
    if tree is None or annotations_are_read([text]):
        return text, False
    names = names_in(text)
    lines = text.split("\n")
    spaced = [f"{line}\n" for line in lines]
    read = names.eager | names.late | names.assigned
    if read & _BY_NAME:
        return text, False
    removed = [
        node
        for node in tree.body
        if _is_ours(node) and not targets(node) & read and has_own_lines(spaced, node)
    ]
    # From the bottom up, so that the line numbers of the others stay valid.
    for node in reversed(removed):
        _delete(lines, node.lineno - 1, node.end_lineno or node.lineno)
    unread = any(targets(node) & names.annotations for node in removed)
    return "\n".join(lines), unread


def _delete(lines: list[str], start: int, end: int) -> None:
    """Remove lines; of a gap above and a gap below them the lower one stays."""
    del lines[start:end]
    while 0 < start < len(lines) and not lines[start].strip() and not lines[start - 1].strip():
        start -= 1
        del lines[start]


def _is_ours(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and owner_of(node.module) is ModuleOwner.OURS and "*" not in targets(node)
    return isinstance(node, ast.Import) and all(
        owner_of(alias.name) is ModuleOwner.OURS for alias in node.names
    )
