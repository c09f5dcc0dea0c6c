"""A live function's text, changed to load by itself: without the workbench's decorators, with the original defaults."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.python_text import parse
from workbench.graders.capture.credentials import refuse_credentials
from workbench.graders.capture.edits import renamed, replaced, without
from workbench.graders.capture.items import MISSING, Scope
from workbench.graders.capture.literal import is_plain, literal
from workbench.graders.capture.names import dotted
from workbench.graders.capture.statements import Definition

__all__ = ["is_nested", "ours_on", "own_text", "refuse_kind", "unwrapped"]


def unwrapped(value: Any) -> Any:
    """The function under decorators that keep a reference to it (`functools.wraps`, `functools.cache`)."""
    # A chain of wrappers may be circular.
    visited: set[int] = set()
    while id(value) not in visited and hasattr(value, "__wrapped__") and not isinstance(value, type):
        visited.add(id(value))
        value = value.__wrapped__
    return value


def is_nested(function: types.FunctionType) -> bool:
    """Whether a function was not defined at the top level of its module by a separate def."""
    name = function.__code__.co_qualname
    return "<" in name or "." in name


def own_text(text: str, function: types.FunctionType, name: str) -> str:
    """The text of a definition in the form needed in a separate module.

    Args:
        text: The definition's lines.
        function: The live function made from them.
        name: Its new name.
    """
    scope = Scope(function.__globals__)
    node = _definition(text)
    text = replaced(text, _changed_defaults(node, function, scope))
    text = without(text, ours_on(_definition(text), scope))
    return renamed(text, name) if name != node.name else text


def ours_on(node: Definition, scope: Scope) -> list[ast.expr]:
    """The decorators of a definition that belong to the workbench."""
    return [part for part in node.decorator_list if _is_ours(part, scope)]


def refuse_kind(value: Any) -> None:
    """Require that `value` is a function.

    Raises:
        CaptureError: With its type and a hint.
    """
    if isinstance(value, types.FunctionType):
        if value.__code__.co_name == "<lambda>":
            raise _kind(
                "a lambda has no name and cannot be async", "write it as: async def grade(thread): ..."
            )
        return
    for kinds, problem, hint in _KINDS:
        if isinstance(value, kinds):
            raise _kind(problem, hint)
    hint = "pass the function itself, or the source as text"
    raise _kind(f"{_article(type(value).__name__)} is not a function", hint)


def _kind(problem: str, hint: str) -> CaptureError:
    return CaptureError(problem, expected="an async def at the top level of a cell or module", hint=hint)


_KINDS: tuple[tuple[Any, str, str], ...] = (
    (type, "a class cannot be captured as a grade function", "write an async def that uses the class"),
    (
        types.MethodType,
        "a method cannot be captured: it needs its object",
        "write an async def at the top level that makes the object and calls its method",
    ),
    (
        types.BuiltinFunctionType,
        "a function written in C has no source",
        "write an async def that calls it",
    ),
    (
        types.CoroutineType,
        "a coroutine is one running call, not the function",
        "omit the call: pass grade, not grade(thread)",
    ),
)


def _article(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _definition(text: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    node = parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node


def _is_ours(decorator: ast.expr, scope: Scope) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    value = _live(dotted(target), scope)
    module = getattr(value, "__module__", None) or ""
    return bool(getattr(value, "__workbench_decorator__", False)) or module.startswith("workbench.")


def _live(chain: tuple[str, ...], scope: Scope) -> Any:
    """The current value of a dotted name, following modules only; `MISSING` for anything else."""
    if not chain:
        return MISSING
    value = scope.get(chain[0])
    for part in chain[1:]:
        if not isinstance(value, types.ModuleType):
            return MISSING
        value = getattr(value, part, MISSING)
    return value


def _changed_defaults(
    node: ast.FunctionDef | ast.AsyncFunctionDef, function: types.FunctionType, scope: Scope
) -> list[tuple[ast.expr, str]]:
    """Defaults whose names have another value now, with the original value.

    `def f(s, k=K)` keeps the K of its definition. Evaluated again later, the same text may give another value.
    """
    changes = []
    for argument, expression, value in _defaults(node, function):
        if _reads_names(expression) and _live(dotted(expression), scope) is not value and is_plain(value):
            refuse_credentials(argument, value)
            changes.append((expression, literal(value)))
    return changes


def _defaults(
    node: ast.FunctionDef | ast.AsyncFunctionDef, function: types.FunctionType
) -> Iterable[tuple[str, ast.expr, Any]]:
    spec, keyword = node.args, function.__kwdefaults__ or {}
    positional = [*spec.posonlyargs, *spec.args][-len(spec.defaults) :] if spec.defaults else []
    values = function.__defaults__ or ()
    # Replaced defaults may be more or fewer: then values cannot be assigned to expressions of the text.
    if len(values) == len(spec.defaults):
        for argument, expression, value in zip(positional, spec.defaults, values, strict=True):
            yield argument.arg, expression, value
    for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if default is not None and argument.arg in keyword:
            yield argument.arg, default, keyword[argument.arg]


def _reads_names(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) for part in ast.walk(node))
