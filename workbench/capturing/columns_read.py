"""Which columns of a row a grader's text reads: the literal keys it asks the metadata for."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from workbench.capturing.statements import parsed

__all__ = ["ColumnsRead", "columns_read"]

_NOT_COLUMNS = frozenset({
    "self", "prompts", "completions", "completion_ids", "prompt_ids", "trainer_state", "log_extra", "log_metric",
    "environments",
})  # fmt: skip
"""Parameters of TRL's reward functions that are no columns of the data set."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class ColumnsRead:
    """The columns that a text names.

    Attributes:
        needed: Those that it can hardly do without: `metadata["x"]`, `metadata.get("x")`, a parameter without a default.
        optional: Those that it asks for with something to take in their place, be it None, or after a look whether they
            are there.
    """

    needed: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def both(self) -> frozenset[str]:
        """All of them."""
        return self.needed | self.optional


def columns_read(text: str, signature: str = "thread") -> ColumnsRead:
    """The columns that a grader's module reads by name; keys that are computed are not seen.

    Args:
        text: The module.
        signature: How its function is called: "thread", or a trainer's as `FunctionGrader.signature` names it.
    """
    tree = parsed(text)
    if tree is None:
        return ColumnsRead()
    names = _names_of_metadata(tree, signature)
    alternatives = _alternatives(tree)
    asked = [
        (key, needed and node not in alternatives)
        for node in ast.walk(tree)
        for key, needed in _asked(node, names)
    ]
    asked += _parameters(tree) if signature == "trl" else []
    optional = frozenset(key for key, needed in asked if not needed)
    return ColumnsRead(frozenset(key for key, _ in asked) - optional, optional)


def _names_of_metadata(tree: ast.Module, signature: str) -> set[str]:
    """Variables that hold the columns: `extra_info` of verl, TRL's `**columns`, and what is set to the metadata."""
    names = {"extra_info"} if signature == "verl" else set()
    rest = _grade(tree).args.kwarg if signature == "trl" else None
    names |= {rest.arg} if rest else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_metadata(node.value, names):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _is_metadata(node: ast.expr, names: Collection[str]) -> bool:
    """Whether an expression is the metadata: `thread.metadata`, a name of it, `... or {}`, `dict(...)`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "metadata"
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.BoolOp):
        return any(_is_metadata(value, names) for value in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return any(_is_metadata(argument, names) for argument in node.args)
    return False


def _alternatives(tree: ast.Module) -> set[ast.AST]:
    """What stands in an `or`: something else is taken where it is nothing."""
    choices = [
        node for node in ast.walk(tree) if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
    ]
    return {value for node in choices for value in node.values}


def _asked(node: ast.AST, names: Collection[str]) -> list[tuple[str, bool]]:
    """The column that one node asks for, if it does, and whether it needs it."""
    if isinstance(node, ast.Subscript) and _is_metadata(node.value, names):
        return _key(node.slice, needed=isinstance(node.ctx, ast.Load))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return _key(node.left, needed=False) if _is_metadata(node.comparators[0], names) else []
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return []
    if node.func.attr not in {"get", "pop"} or not _is_metadata(node.func.value, names):
        return []
    return _key(node.args[0], needed=len(node.args) == 1)


def _key(node: ast.expr, *, needed: bool) -> list[tuple[str, bool]]:
    return [(node.value, needed)] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _parameters(tree: ast.Module) -> list[tuple[str, bool]]:
    """The columns that a TRL reward function has as parameters."""
    args = _grade(tree).args
    plain = [*args.posonlyargs, *args.args]
    required = len(plain) - len(args.defaults)
    given = [(arg.arg, at < required) for at, arg in enumerate(plain)]
    given += [(arg.arg, value is None) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return [one for one in given if one[0] not in _NOT_COLUMNS]


def _grade(tree: ast.Module) -> _Function:
    """The function that grades: `grade`, as captured sources call it, else the last one at the top."""
    functions = [node for node in tree.body if isinstance(node, _Function)]
    named = [node for node in functions if node.name == "grade"]
    nothing = ast.parse("def grade(): pass").body[0]
    assert isinstance(nothing, _Function)
    return [nothing, *functions, *named][-1]
