"""What is read from a grader's text: the row columns and annotations it uses, imports that only these need, and its signature.

`(sample, submission)` is Letta Evals', `(sample, item)` OpenAI's, and a function under `@osmosis_reward` or
`@osmosis_rubric` is Osmosis' older one. Trainers' reward functions are detected by their parameters: TRL's `prompts` and
`completions`, verl's `data_source` and `solution_str` (or first `solution_str, ground_truth`, as in verl's own scores of
its datasets: without Osmosis' decorator, which accepts only texts, the label is not converted), OpenRLHF's `queries`,
`prompts` and `labels`. Together's `prediction, target` is too generic, so its signature must be named. Everything else
counts as `(thread)`, and the checks report what is wrong with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from workbench.core.python_text import parse
from workbench.graders.capture.modules import ModuleOwner, owner_of
from workbench.graders.capture.source_edit import (
    Function,
    has_own_lines,
    names_in,
    parsed,
    statements,
    targets,
)

_NOT_COLUMNS = frozenset({
    "self", "prompts", "completions", "completion_ids", "prompt_ids", "trainer_state", "log_extra", "log_metric",
    "environments",
})  # fmt: skip
"""Parameters of TRL's reward functions that are not columns of the dataset."""


@dataclass(frozen=True)
class ColumnsRead:
    """The columns that a text names.

    Attributes:
        needed: Columns without which it raises: `metadata["x"]`, a parameter without a default.
        optional: Columns read by `get`, or after a membership test, or inside a `try` that catches a missing key.
    """

    needed: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def both(self) -> frozenset[str]:
        """All columns."""
        return self.needed | self.optional


# One text is exported to many platforms, each of which calls this.
@lru_cache(maxsize=256)
def columns_read(text: str, signature: str = "thread") -> ColumnsRead:
    """The columns that a grader's module reads by name; computed keys are not detected.

    Args:
        text: The module.
        signature: How its function is called: "thread", or a trainer's as in `FunctionGrader.signature`.
    """
    tree = parsed(text)
    if tree is None:
        return ColumnsRead()
    metadata = _Metadata(tree, signature)
    spared = _spared(tree)
    asked = [
        (key, needed and node not in spared)
        for node in ast.walk(tree)
        for key, needed in _asked(node, metadata)
    ]
    asked += _parameters(tree) if signature == "trl" else []
    optional = frozenset(key for key, needed in asked if not needed)
    return ColumnsRead(frozenset(key for key, _ in asked) - optional, optional)


class _Metadata:
    """Detects expressions that are the row's columns: `thread.metadata`, and variables that contain nothing else.

    Args:
        tree: The module.
        signature: See `columns_read`.
    """

    def __init__(self, tree: ast.Module, signature: str) -> None:
        nodes = list(ast.walk(tree))
        self._parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
        self._names = {"extra_info"} if signature == "verl" else set()
        rest = _grade(tree).args.kwarg if signature == "trl" else None
        self._names |= {rest.arg} if rest else set()
        given = [one for node in nodes for one in _assigned(node)]
        for name, value in given:
            self._names |= {name} if value is not None and value in self else set()
        # Scopes are not distinguished, so a name with another value anywhere does not count as the columns.
        self._names -= {name for name, value in given if value is None or value not in self}

    def __contains__(self, node: ast.expr) -> bool:
        """Whether an expression is the columns: also `... or {}` and `dict(...)`."""
        if isinstance(node, ast.Attribute):
            of = node.value
            return node.attr == "metadata" and isinstance(of, ast.Name) and of.id in self._parameters
        if isinstance(node, ast.Name):
            return node.id in self._names
        if isinstance(node, ast.BoolOp):
            return any(value in self for value in node.values)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            return any(argument in self for argument in node.args)
        return False


def _assigned(node: ast.AST) -> list[tuple[str, ast.expr | None]]:
    """The variables that a node binds, each with its value; None if that is not a single expression."""
    if isinstance(node, ast.Assign):
        plain = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return [(name, node.value) for name in plain]
    if isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
        return [(node.target.id, node.value)]
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension | ast.withitem):
        bound = node.optional_vars if isinstance(node, ast.withitem) else node.target
        return [(one.id, None) for one in ast.walk(bound or ast.Tuple([])) if isinstance(one, ast.Name)]
    return []


def _spared(tree: ast.Module) -> set[ast.AST]:
    """Nodes of optional columns: operands of an `or`, and bodies of a `try` that catches a missing key."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            found |= set(node.values)
        if isinstance(node, ast.Try) and any(_catches(handler) for handler in node.handlers):
            found |= {one for statement in node.body for one in ast.walk(statement)}
    return found


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches a missing key."""
    if handler.type is None:
        return True
    names = {getattr(one, "id", "") for one in ast.walk(handler.type)}
    return bool(names & {"KeyError", "LookupError", "Exception", "BaseException"})


def _asked(node: ast.AST, metadata: _Metadata) -> list[tuple[str, bool]]:
    """The column that one node reads, if any, and whether it is needed."""
    if isinstance(node, ast.Subscript) and node.value in metadata:
        return _key(node.slice, needed=isinstance(node.ctx, ast.Load))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return _key(node.left, needed=False) if _keys_of(node.comparators[0]) in metadata else []
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return []
    if node.func.attr not in {"get", "pop"} or node.func.value not in metadata:
        return []
    return _key(node.args[0], needed=node.func.attr == "pop" and len(node.args) == 1)


def _keys_of(node: ast.expr) -> ast.expr:
    """The object of a `keys()` call; the expression itself if it is not such a call."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"
    return node.func.value if is_call else node  # type: ignore[attr-defined]


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


def _grade(tree: ast.Module) -> Function:
    """The grade function: `grade`, as captured sources call it, else the last top-level function."""
    functions = [node for node in tree.body if isinstance(node, Function)]
    named = [node for node in functions if node.name == "grade"]
    nothing = parse("def grade(): pass").body[0]
    assert isinstance(nothing, Function)
    return [nothing, *functions, *named][-1]


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


_BY_NAMES: dict[tuple[str, ...], str] = {("sample", "submission"): "letta", ("sample", "item"): "openai"}
_LEGACY = frozenset({"osmosis_reward", "osmosis_rubric"})
_MARKS = _LEGACY | {"grader"}


def signature_of(text: str, name: str = "grade") -> str:
    """The signature of the last top-level function of that name; "thread" if there is none."""
    tree = parsed(text)
    nodes = statements(tree.body) if tree is not None else ()
    functions = [node for node in nodes if isinstance(node, Function) and node.name == name]
    return _signature(functions[-1]) if functions else "thread"


def candidates(functions: list[Function]) -> list[Function]:
    """Candidates for the grade function of a module, if none is called `grade`.

    Functions with a platform's decorator; else the async ones; else those with another platform's
    parameters, which a helper might have too.
    """
    foreign = [node for node in functions if _signature(node) != "thread"]
    marked = [node for node in foreign if {_last(mark) for mark in node.decorator_list} & _MARKS]
    async_functions: list[Function] = [node for node in functions if isinstance(node, ast.AsyncFunctionDef)]
    return marked or async_functions or foreign


def signature_of_target(node: Function) -> str:
    """The trainer whose reward functions have a definition's parameters: "" if there is none."""
    names = [arg.arg for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    if (
        names[:1] in (["prompts"], ["completions"])
        and "completions" in names
        and (len(names) > 1 or node.args.kwarg)
    ):
        return "trl"
    if {"data_source", "solution_str"} <= set(names):
        return "verl"
    if {"queries", "prompts", "labels"} <= set(names):
        return "openrlhf"
    return "together" if names == ["prediction", "target"] else ""


def _signature(node: Function) -> str:
    names = tuple(arg.arg for arg in [*node.args.posonlyargs, *node.args.args])
    if (target := signature_of_target(node)) and target != "together":
        return target
    marks = {_last(mark) for mark in node.decorator_list}
    if marks & _LEGACY:
        return "osmosis"
    if names[:2] == ("solution_str", "ground_truth"):
        # Osmosis' functions have its decorator; verl's functions of one dataset begin with these two.
        return "verl"
    return _BY_NAMES.get(names, "thread")


def _last(mark: ast.expr) -> str:
    target = mark.func if isinstance(mark, ast.Call) else mark
    return ast.unparse(target).rpartition(".")[2] if isinstance(target, ast.Name | ast.Attribute) else ""
