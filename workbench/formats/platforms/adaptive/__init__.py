"""Adaptive's graders: `adaptive.graders.create.*` calls in a Python file, or the same as JSON.

The Python file is read as text: the calls are found in its syntax tree and nothing is run. In JSON every
grader is the arguments of one call with a `type`: FUNCTION, JUDGE, PREBUILT or REMOTE, as the platform
names them. Source text written for the workbench imports `StringThread` from `adaptive_harmony` there.

Source: adaptive-sdk 0.14.2 (`resources/graders.py`) and the grader documents of v0.14.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from workbench.core.errors import CaptureError, FormatError
from workbench.formats.platforms.adaptive import adaptive_calls
from workbench.formats.shared import Format, Reading, register
from workbench.formats.shared.parsing import Node, parse_json, parse_python
from workbench.graders import FunctionGrader, Grader
from workbench.graders.capture import capture
from workbench.graders.capture.source_edit import Definition, parsed
from workbench.judges import (
    AnswerRelevancyJudge,
    BinaryJudge,
    ContextRelevancyJudge,
    Endpoint,
    FaithfulnessJudge,
)
from workbench.run.suite import Suite


class NotWrittenOutError(ValueError):
    """A name whose value the text does not determine."""


def place_of(tree: ast.Module, line: int) -> int:
    """How many top-level statements have run before this line does: all of them, for a line inside a function."""
    for at, statement in enumerate(tree.body):
        if _first(statement) <= line <= (statement.end_lineno or line):
            return len(tree.body) if isinstance(statement, Definition) else at
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
    plain = isinstance(binding, ast.AnnAssign) or (
        isinstance(binding, ast.Assign) and all(isinstance(target, ast.Name) for target in binding.targets)
    )
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
    if isinstance(statement, Definition):
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
    if isinstance(statement, Definition):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


_CALLS = {
    "function": "FUNCTION",
    "binary_judge": "JUDGE",
    "prebuilt_judge": "PREBUILT",
    "external_endpoint": "REMOTE",
    "custom": "CUSTOM",
}
_TYPES = tuple(_CALLS.values())
_PREBUILT: dict[str, type[Grader]] = {
    "FAITHFULNESS": FaithfulnessJudge,
    "CONTEXT_RELEVANCY": ContextRelevancyJudge,
    "ANSWER_RELEVANCY": AnswerRelevancyJudge,
}
_SHARED = ("key", "name", "description", "project")


def read(reading: Reading) -> Suite:
    """A suite from SDK calls or JSON.

    Raises:
        FormatError: With the line, or the path inside the document.
    """
    if reading.text.lstrip()[:1] in {"{", "["}:
        root = Node(parse_json(reading.text, reading.where), reading.where)
        if isinstance(root.value, Mapping) and "graders" not in root.value:
            nodes = [root]
        else:
            nodes = root.items() if isinstance(root.value, list) else root.only("graders").items("graders")
        calls = [(node.choice("type", _TYPES), _json_call(node)) for node in nodes]
    else:
        calls = list(_sdk_calls(reading))
    if not calls:
        raise FormatError(
            "there are no graders",
            where=reading.where,
            expected="adaptive.graders.create.function(...) and others",
        )
    for _, node in calls:
        _note_unkept(node, reading)
    try:
        return Suite([_READERS[kind](node, reading) for kind, node in calls])
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("the graders do not form a suite", where=reading.where, found=str(error)) from error


def _json_call(node: Node) -> Node:
    """The JSON record as the arguments of its call: `prebuilt` is the call's `type`."""
    values = {key: value for key, value in node.mapping().items() if key != "type"}
    if "prebuilt" in values:
        values["type"] = values.pop("prebuilt")
    return Node(values, node.path)


def _sdk_calls(reading: Reading) -> Iterator[tuple[str, Node]]:
    tree = parse_python(reading.text, reading.where)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _create(node) is not None]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        kind = str(_create(call))
        where = f"{reading.where}, line {call.lineno}"
        if kind not in _CALLS:
            raise FormatError(f"there is no create.{kind}", where=where, expected=", ".join(_CALLS))
        if call.args or any(word.arg is None for word in call.keywords):
            raise FormatError("the SDK takes keyword arguments only", where=where, found=_source_of(call))
        values = {str(word.arg): _value(word, tree, call.lineno, where) for word in call.keywords}
        yield _CALLS[kind], Node(values, where)


def creates(text: str) -> list[tuple[int, str]]:
    """The lines of a text that call `....graders.create.<kind>`, each with the call; none if it is not Python."""
    tree = parsed(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []
    lines = [(call.lineno, _source_of(call.func)) for call in calls if _create(call) is not None]
    return sorted(lines)


def _create(call: ast.Call) -> str | None:
    """The called method's name: `function` in `....graders.create.function(...)`."""
    target = call.func
    create = target.value if isinstance(target, ast.Attribute) else None
    if isinstance(target, ast.Attribute) and isinstance(create, ast.Attribute) and create.attr == "create":
        owner = create.value
        return target.attr if getattr(owner, "attr", getattr(owner, "id", "")) == "graders" else None
    return None


def _source_of(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:120]
    except RecursionError:
        return "a deeply nested expression"


def _value(word: ast.keyword, tree: ast.Module, line: int, where: str) -> Any:
    """An argument: a literal, a top-level constant by its name, or for `fn` a function's name."""
    node = word.value
    try:
        return constant_at(tree, node.id, line) if isinstance(node, ast.Name) else ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        # The line is stored with the name: a later definition of that name is not the one this call uses.
        if isinstance(node, ast.Name) and word.arg == "fn":
            return _Name(node.id, tree, line)
        raise FormatError(
            "an argument is not written out", where=where, found=f"{word.arg}={_source_of(node)}",
            expected="a text, number, list or dict, a constant of the file, or a function's name for fn",
        ) from None  # fmt: skip


class _Name(str):  # noqa: SLOT000 (it has two more attributes)
    """A name in the file, not a text, with the line that reads it."""

    tree: ast.Module
    line: int

    def __new__(cls, name: str, tree: ast.Module, line: int) -> Self:
        instance = super().__new__(cls, name)
        instance.tree, instance.line = tree, line
        return instance


def _function(node: Node, reading: Reading) -> Grader:
    node.only(*_SHARED, "fn")
    fn = node.text("fn")
    settings = _titles(node)
    try:
        if isinstance(fn, _Name):
            source = capture(_module(fn, node, reading), name=str(fn))
            grader = FunctionGrader.from_source(source.text, imported=True, **settings)
        else:
            grader = FunctionGrader.from_source(fn, imported=True, **settings)
    except CaptureError as error:
        raise FormatError(
            error.what, where=node.path, found=error.found, expected=error.expected, hint=error.hint
        ) from error
    return grader.trusted() if reading.trust else grader


def _module(fn: _Name, node: Node, reading: Reading) -> str:
    names = functions_in(fn.tree)
    if fn not in names:
        near = difflib.get_close_matches(fn, names, n=1)
        raise node.refuse(
            f"fn={fn}: the file has no function of that name at its top level",
            found=", ".join(names) or "no function at all",
            hint=f"did you mean fn={near[0]}?" if near else "define it in this file",
        )
    return module_of(reading.text, fn.tree, str(fn), fn.line)


def _judge(node: Node, _: Reading) -> Grader:
    node.only(*_SHARED, "criteria", "judge_model", "examples", "feedback_key")
    examples = [dict(example.mapping()) for example in node.items("examples")]
    return node.made(BinaryJudge, **_titles(node), criteria=node.text("criteria"), model=node.text("judge_model"), examples=tuple(examples),
        feedback_key=node.text("feedback_key", "") or "", platform="adaptive",
    )  # fmt: skip


def _prebuilt(node: Node, _: Reading) -> Grader:
    node.only(*_SHARED, "type", "judge_model")
    cls = _PREBUILT[node.choice("type", _PREBUILT)]
    return node.made(cls, **_titles(node), model=node.text("judge_model"), platform="adaptive")


def _remote(node: Node, reading: Reading) -> Grader:
    node.only(*_SHARED, "url")
    endpoint = node.made(Endpoint, **_titles(node), url=node.text("url"))
    return endpoint.as_imported(trust=reading.trust)


def _custom(node: Node, _: Reading) -> Grader:
    raise node.refuse(
        "a custom grader has no code in these calls: its code is in a recipe",
        found=f"key {node.value.get('key')!r}",
        hint="wrap the recipe's function: CustomGrader(target='module:function'), or remove the call",
    )


_READERS: dict[str, Callable[[Node, Reading], Grader]] = {
    "FUNCTION": _function,
    "JUDGE": _judge,
    "PREBUILT": _prebuilt,
    "REMOTE": _remote,
    "CUSTOM": _custom,
}


def _titles(node: Node) -> dict[str, str]:
    """Key and description; the platform and our reports use the key as the grader's name."""
    return {
        "name": node.text("key"),
        "description": node.text("description", "") or node.text("name", "") or "",
    }


def _note_unkept(node: Node, reading: Reading) -> None:
    """Note arguments that control where and how the platform shows a grader."""
    keys = ["project", *(["name"] if node.has("description") else [])]
    for key in keys:
        if node.has(key):
            node.text(key)
            reading.note(node.at(key).path, "only controls where or how the platform shows the grader")


def _detect(document: Any, text: str) -> int:
    # Only in a text that is not JSON or YAML: sources inside another platform's document may contain these words.
    if "graders.create." in text and document is None:
        return 2
    items = document.get("graders", document) if isinstance(document, dict) else document
    item = items[0] if isinstance(items, list) and items else items
    is_adaptive: bool = isinstance(item, dict) and item.get("type") in _TYPES
    return 2 if is_adaptive else 0


register(
    Format(
        "adaptive",
        "Adaptive SDK calls (.py), or the same as .json",
        ".py",
        read,
        adaptive_calls.write_calls,
        _detect,
        variants={".json": adaptive_calls.write_json},
    )
)
