"""Evaluators that a Python file makes by a known call or name: `GEval(name="Kind", criteria=...)`, `scores=[Levenshtein]`.

The file is parsed, never run. An evaluator whose rule is not in the file is refused by its name and line, with the way to bring it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.core.errors import FormatError, WorkbenchError
from workbench.formats.shared.evaluator_rules import (
    BASES_AND_DECORATORS,
    EVALUATORS,
    PACKAGES,
    EvaluatorCall,
    NotReadError,
    way_to_bring,
)
from workbench.formats.shared.unsupported import unique
from workbench.graders.capture.source_edit import Function, parsed
from workbench.graders.combine import Entry

Refused = tuple[int, str, str]
"""An evaluator that is not read: its line, its name, and the way to bring its rule."""

_GRADED = frozenset({
    "completion", "completions", "output", "outputs", "queries", "response", "sample", "solution_str", "state", "thread", "trace",
})  # fmt: skip
"""Parameters of a function that grades: evaluators inside it are part of its rule."""


def evaluators_in(text: str, where: str) -> list[Entry]:
    """The evaluators of a file as entries; none for a file without one.

    Raises:
        FormatError: An evaluator that is not read; its name, its line, and the way to bring its rule.
    """
    calls, refused = _evaluators(text)
    if not calls:
        return []
    entries: dict[str, Entry] = {}
    for call in calls:
        made = _made(call)
        if isinstance(made, str):
            if call.is_made:  # else a name, such as of an annotation
                refused.append((call.line, call.name, made))
            continue
        name = unique(call.title, entries)
        entries[name] = Entry(made.grader, name, pass_threshold=made.pass_threshold)
    if refused:
        line, name, hint = min(refused)
        others = ", ".join(f"{other} (line {at})" for at, other, _ in sorted(refused)[1:6])
        raise FormatError(
            f"the evaluator {name} cannot be read", where=f"{where}, line {line}", found=f"it and {others}" if others else name,
            hint=f"{hint}; or remove it to read the other evaluators of the file",
        )  # fmt: skip
    return list(entries.values())


def _made(call: EvaluatorCall) -> Entry | str:
    """The entry of an evaluator, or the way to bring its rule."""
    try:
        made = EVALUATORS[call.package, call.name](call)
    except NotReadError as error:
        return str(error)
    except (WorkbenchError, ValueError, TypeError) as error:
        return f"fix its arguments: {error.what if isinstance(error, WorkbenchError) else error}"
    return made if isinstance(made, Entry) else Entry(made)


def has_evaluators(text: str) -> bool:
    """Whether a file has an evaluator that is read."""
    return bool(_evaluators(text)[0])


def _evaluators(text: str) -> tuple[list[EvaluatorCall], list[Refused]]:
    """The evaluators of a file that are read, in order, and the others."""
    tree = parsed(text) if any(name in text for name in PACKAGES) else None
    imports = {} if tree is None else _imports(tree)
    if tree is None or not imports:
        return [], []
    values = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    constants = {
        node.targets[0].id: node.value
        for node in values
        if node in tree.body and isinstance(node.targets[0], ast.Name)
    }
    variables = {
        id(node.value): node.targets[0].id for node in values if isinstance(node.targets[0], ast.Name)
    }
    listed = {
        id(one) for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple) for one in node.elts
    }
    calls: dict[tuple[int, int], EvaluatorCall] = {}
    refused = list(_defined_in(tree, imports))
    for node in _expressions(tree):
        target = node.func if isinstance(node, ast.Call) else node
        place = _resolved(target, imports)
        if place is None:
            continue
        at = (target.lineno, target.col_offset)
        if place in EVALUATORS and not _is_result(node):
            # A called class is a name as well; the call is found first.
            calls.setdefault(at, _call(node, place, variables.get(id(node), ""), constants))
        elif (isinstance(node, ast.Call) or id(node) in listed) and (way := way_to_bring(*place)):
            refused.append((target.lineno, place[1], way))
    return _once([calls[at] for at in sorted(calls)]), refused


def _once(calls: Sequence[EvaluatorCall]) -> list[EvaluatorCall]:
    """The evaluators without the names of classes that are made elsewhere, with their arguments."""
    made = {(call.package, call.name) for call in calls if call.is_made}
    return [call for call in calls if call.is_made or (call.package, call.name) not in made]


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a module, the outer ones first, without those of imports and of functions that grade."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, Function) and _grades(child):
            continue
        if isinstance(child, ast.Call | ast.Name | ast.Attribute) and not isinstance(
            getattr(child, "ctx", None), ast.Store
        ):
            yield child
        if isinstance(child, ast.Attribute):
            continue  # the parts of a path are not separate names
        yield from _expressions(child)


def _grades(node: Function) -> bool:
    return any(one.arg in _GRADED for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))


def _imports(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Local name to package and imported name ("" for a module), of evaluators' packages."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                head = alias.name.partition(".")[0]
                if head in PACKAGES:
                    found[alias.asname or head] = (head, "")
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            head = node.module.partition(".")[0]
            for alias in node.names if head in PACKAGES else ():
                found[alias.asname or alias.name] = (head, alias.name)
    return found


def _resolved(node: ast.expr, imports: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Package and last name of a name or of a dotted path; None if it is not of such a package."""
    last = node.attr if isinstance(node, ast.Attribute) else ""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in imports:
        return None
    package, name = imports[node.id]
    return package, last or name


def _is_result(node: ast.expr) -> bool:
    """Whether a call grades instead of making an evaluator: openevals' functions get what they compare."""
    return isinstance(node, ast.Call) and any(
        one.arg in ("outputs", "output", "reference_outputs") for one in node.keywords
    )


def _call(
    node: ast.expr, place: tuple[str, str], variable: str, constants: Mapping[str, ast.expr]
) -> EvaluatorCall:
    given: dict[str, Any] = {}
    unknown = []
    is_made = isinstance(node, ast.Call)
    positional = (
        [(str(number), one) for number, one in enumerate(node.args)] if isinstance(node, ast.Call) else []
    )
    named = [(one.arg or "**", one.value) for one in node.keywords] if isinstance(node, ast.Call) else []
    for name, value in [*positional, *named]:
        literal = constants.get(value.id, value) if isinstance(value, ast.Name) else value
        found = _literal(literal)
        if found is None and not (isinstance(literal, ast.Constant) and literal.value is None):
            unknown.append(name)
        else:
            given[name] = found
    return EvaluatorCall(*place, node.lineno, variable, given, tuple(unknown), is_made)


def _literal(node: ast.expr) -> Any:
    """The value of a literal, a type, or the labels of `Literal[...]`; None for anything else."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _labels(node)


def _labels(node: ast.expr) -> Any:
    """The labels of `Literal["yes", "no"]`, or the name of a built-in type; None for anything else."""
    if isinstance(node, ast.Name) and node.id in ("bool", "float", "int", "str"):
        return node.id
    is_literal = isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Literal"
    if not is_literal:
        return None
    assert isinstance(node, ast.Subscript)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    labels = [part.value for part in parts if isinstance(part, ast.Constant)]
    return tuple(labels) if len(labels) == len(parts) else None


def _defined_in(tree: ast.Module, imports: Mapping[str, tuple[str, str]]) -> Iterator[Refused]:
    """Classes and functions of the file that are evaluators by their base or decorator."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | Function):
            continue
        for mark in node.bases if isinstance(node, ast.ClassDef) else node.decorator_list:
            place = _resolved(mark.func if isinstance(mark, ast.Call) else mark, imports)
            if place is not None and place[1] in BASES_AND_DECORATORS:
                yield (
                    node.lineno,
                    node.name,
                    "write its rule as async def grade(thread), in a separate file",
                )
