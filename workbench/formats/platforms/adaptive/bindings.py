"""The binding of a name at one line of a Python file, read from the text: the last one before that line."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["NotWrittenOutError", "constant_at", "functions_in", "module_of", "place_of"]

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class NotWrittenOutError(ValueError):
    """A name whose value the text does not determine."""


def place_of(tree: ast.Module, line: int) -> int:
    """How many top-level statements have run before this line does: all of them, for a line inside a function."""
    for at, statement in enumerate(tree.body):
        if _first(statement) <= line <= (statement.end_lineno or line):
            return len(tree.body) if isinstance(statement, _Definition) else at
    return len(tree.body)


def functions_in(tree: ast.Module) -> list[str]:
    """The names of the functions at the top level, in order."""
    names = [
        statement.name
        for statement in tree.body
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return list(dict.fromkeys(names))


def constant_at(tree: ast.Module, name: str, line: int) -> Any:
    """The literal that a name is bound to at a line.

    Raises:
        NotWrittenOutError: It is bound to something else, bound in the statement of that line, or modified in place.
    """
    place = place_of(tree, line)
    enclosing = [
        statement for statement in tree.body if _first(statement) <= line <= (statement.end_lineno or line)
    ]
    inner = {name for statement in enclosing if hasattr(statement, "body") for name in _inside(statement)}
    before = [statement for statement in tree.body[:place] if name in _bound(statement)]
    binding = before[-1] if before else None
    value = getattr(binding, "value", None)
    plain = isinstance(binding, ast.AnnAssign) or (isinstance(binding, ast.Assign) and _is_single(binding))
    # An argument or local of the function around the call hides the file's constant of that name.
    if name in inner or not plain or value is None:
        raise NotWrittenOutError(name)
    try:
        constant = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise NotWrittenOutError(name) from None
    if _is_changed(tree, name, isinstance(constant, list | dict | set)):
        raise NotWrittenOutError(name)
    return constant


def _is_single(node: ast.Assign) -> bool:
    return all(isinstance(target, ast.Name) for target in node.targets)


def _inside(statement: ast.stmt) -> set[str]:
    """Every name a compound statement binds, including arguments and locals."""
    nodes = list(ast.walk(statement))
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return arguments | {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _is_changed(tree: ast.Module, name: str, mutable: bool) -> bool:
    """Whether some code may change the value otherwise: `global`, or assignment to an item of a list or dict."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global) and name in node.names:
            return True
        owner = node.value if isinstance(node, ast.Attribute | ast.Subscript) else None
        # An attribute may be `.append` or `.update`: only reading an item counts as harmless.
        read_only = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        if mutable and isinstance(owner, ast.Name) and owner.id == name and not read_only:
            return True
    return False


def module_of(text: str, tree: ast.Module, name: str, line: int) -> str:
    """The part of a file that one function needs: its definition, and the imports, helpers and constants it reads.

    If a name is defined twice, the last definition before the line counts, as in Python; names defined only after
    the line are taken from there. The rest of the file is the surrounding script: clients, calls, other
    graders.
    """
    bound = [(at, statement, _bound(statement)) for at, statement in enumerate(tree.body)]
    place = place_of(tree, line)
    missing, taken, places = {name}, set[str](), set[int]()
    while missing:
        needed = missing.pop()
        taken.add(needed)
        for at, statement in _binding(
            needed, [(at, node) for at, node, names in bound if needed in names], place
        ):
            places.add(at)
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                missing |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} - taken
    # The name `annotations` is never read, yet this import changes what the definitions mean.
    places |= {at for at, _, names in bound if names == {"annotations"}}
    lines = text.split("\n")
    parts = [lines[_first(tree.body[at]) - 1 : tree.body[at].end_lineno] for at in sorted(places)]
    return "\n\n\n".join("\n".join(part) for part in parts) + "\n"


def _binding(name: str, candidates: list[tuple[int, ast.stmt]], place: int) -> list[tuple[int, ast.stmt]]:
    """The statements that give a name its value at a line: the last one that rebinds it, and those that extend it."""
    before = [pair for pair in candidates if pair[0] < place] or candidates
    fresh = [at for at, (_, statement) in enumerate(before) if _binds_anew(statement, name)]
    return before[fresh[-1] :] if fresh else before


def _binds_anew(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, _Definition):
        # A decorator may use the previous value of the name.
        return all(name not in _reads(decorator) for decorator in statement.decorator_list)
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    return isinstance(statement, ast.Assign | ast.AnnAssign) and name not in _reads(statement)


def _reads(node: ast.AST) -> set[str]:
    return {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
    }


def _first(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    # The `lineno` of a decorated function is that of its `def`, below the decorators.
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _bound(statement: ast.stmt) -> set[str]:
    """The names a top-level statement binds."""
    if isinstance(statement, _Definition):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}
