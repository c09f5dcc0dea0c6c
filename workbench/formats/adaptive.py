"""Adaptive's graders: `adaptive.graders.create.*` calls in a Python file, or the same as JSON.

The Python file is read as text: the calls are found in its syntax tree and nothing is run. In JSON every
grader is the arguments of one call with a `type`: FUNCTION, JUDGE, PREBUILT or REMOTE, as the platform
names them. Source text written for the workbench imports `StringThread` from `adaptive_harmony` there.

Source: adaptive-sdk 0.14.2 (`resources/graders.py`) and the grader documents of v0.14.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.errors import CaptureError, FormatError
from workbench.formats import adaptive_write
from workbench.formats.base import Format, Reading, register
from workbench.formats.node import Node
from workbench.formats.parsing import parse_json
from workbench.graders import FunctionGrader, Grader
from workbench.judges import AnswerRelevancy, BinaryJudge, ContextRelevancy, Endpoint, Faithfulness
from workbench.sandbox.capture import capture
from workbench.suite import Suite

__all__ = ["read"]

_CALLS = {
    "function": "FUNCTION",
    "binary_judge": "JUDGE",
    "prebuilt_judge": "PREBUILT",
    "external_endpoint": "REMOTE",
    "custom": "CUSTOM",
}
_TYPES = tuple(_CALLS.values())
_PREBUILT: dict[str, type[Grader]] = {
    "FAITHFULNESS": Faithfulness,
    "CONTEXT_RELEVANCY": ContextRelevancy,
    "ANSWER_RELEVANCY": AnswerRelevancy,
}
_SHARED = ("key", "name", "description", "project")


def read(reading: Reading) -> Suite:
    """A suite out of SDK calls or JSON.

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
    return Suite([_READERS[kind](node, reading) for kind, node in calls])


def _json_call(node: Node) -> Node:
    """The JSON record as the arguments of its call: `prebuilt` is the call's `type`."""
    values = {key: value for key, value in node.mapping().items() if key != "type"}
    if "prebuilt" in values:
        values["type"] = values.pop("prebuilt")
    return Node(values, node.path)


def _sdk_calls(reading: Reading) -> Iterator[tuple[str, Node]]:
    try:
        tree = ast.parse(reading.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise FormatError(
            "the file is not Python",
            where=f"{reading.where}, line {line}" if line else reading.where,
            found=str(error)[:200],
        ) from None
    for call in ast.walk(tree):
        kind = _create(call)
        if kind is None:
            continue
        assert isinstance(call, ast.Call)
        where = f"{reading.where}, line {call.lineno}"
        if kind not in _CALLS:
            raise FormatError(f"there is no create.{kind}", where=where, expected=", ".join(_CALLS))
        if call.args or any(word.arg is None for word in call.keywords):
            raise FormatError(
                "the SDK takes keyword arguments only", where=where, found=ast.unparse(call)[:120]
            )
        yield _CALLS[kind], Node({str(word.arg): _value(word.value, where) for word in call.keywords}, where)


def _create(node: ast.AST) -> str | None:
    """The last word of `....graders.create.<word>(...)`."""
    target = node.func if isinstance(node, ast.Call) else None
    if isinstance(target, ast.Attribute) and ast.unparse(target.value).endswith("graders.create"):
        return target.attr
    return None


def _value(node: ast.expr, where: str) -> Any:
    if isinstance(node, ast.Name):
        return _Name(node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise FormatError("an argument is not written out", where=where, found=ast.unparse(node)[:120],
                          expected="a text, number, list or dict, or a function's name for fn") from None  # fmt: skip


class _Name(str):
    """A name in the file, not a text."""

    __slots__ = ()


def _function(node: Node, reading: Reading) -> Grader:
    node.only(*_SHARED, "fn")
    fn = node.text("fn")
    told = _told(node)
    try:
        if isinstance(fn, _Name):
            source = capture(_module_of(reading.text, str(fn)), name=str(fn))
            grader = FunctionGrader.from_source(source.text, imported=True, **told)
        else:
            grader = FunctionGrader.from_source(fn, imported=True, **told)
    except CaptureError as error:
        raise FormatError(
            error.what, where=node.path, found=error.found, expected=error.expected, hint=error.hint
        ) from error
    return grader.trusted() if reading.trust else grader


def _module_of(text: str, name: str) -> str:
    """What of a file one function needs: its definition, and the imports, helpers and constants it reads.

    The rest of the file is the script around it: clients, calls, other graders.
    """
    tree = ast.parse(text)
    binding = [(statement, _bound(statement)) for statement in tree.body]
    wanted, seen = {name}, set[str]()
    while wanted:
        one = wanted.pop()
        seen.add(one)
        for statement, names in binding:
            if one in names and not isinstance(statement, ast.Import | ast.ImportFrom):
                wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} - seen
    kept = [statement for statement, names in binding if names & seen or names == {"annotations"}]
    lines = text.splitlines()
    return "\n\n\n".join("\n".join(lines[_first(one) - 1 : one.end_lineno]) for one in kept) + "\n"


def _first(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _bound(statement: ast.stmt) -> set[str]:
    """The names a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def _judge(node: Node, _: Reading) -> Grader:
    node.only(*_SHARED, "criteria", "judge_model", "examples", "feedback_key")
    examples = [dict(one.mapping()) for one in node.items("examples")]
    return _made(
        node, BinaryJudge, criteria=node.text("criteria"), model=node.text("judge_model"), examples=tuple(examples),
        feedback_key=node.text("feedback_key", "") or "", rules="adaptive",
    )  # fmt: skip


def _prebuilt(node: Node, _: Reading) -> Grader:
    node.only(*_SHARED, "type", "judge_model")
    cls = _PREBUILT[node.choice("type", _PREBUILT)]
    return _made(node, cls, model=node.text("judge_model"), rules="adaptive")


def _remote(node: Node, _: Reading) -> Grader:
    node.only(*_SHARED, "url")
    return _made(node, Endpoint, url=node.text("url"))


def _custom(node: Node, _: Reading) -> Grader:
    raise node.refuse(
        "a custom grader has no code in these calls: it lives in a recipe",
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


def _told(node: Node) -> dict[str, str]:
    """Key and description; the key is what the platform and our reports call a grader."""
    return {
        "name": node.text("key"),
        "description": node.text("description", "") or node.text("name", "") or "",
    }


def _made(node: Node, cls: Any, **values: Any) -> Grader:
    try:
        made: Grader = cls(**_told(node), **values)
    except (TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise FormatError(
                error.what, where=node.path, found=error.found, expected=error.expected, hint=error.hint
            ) from error
        raise node.refuse("this grader cannot be made", found=str(error).splitlines()[0]) from error
    return made


def _detect(document: Any, text: str) -> int:
    if "graders.create." in text and document is None:
        return 2
    items = document.get("graders") if isinstance(document, dict) and "graders" in document else document
    first = items[0] if isinstance(items, list) and items else items
    return 2 if isinstance(first, dict) and first.get("type") in _TYPES else 0


register(
    Format(
        "adaptive",
        "Adaptive SDK calls (.py), or the same as .json",
        ".py",
        read,
        adaptive_write.write_calls,
        _detect,
        variants={".json": adaptive_write.write_json},
    )
)
