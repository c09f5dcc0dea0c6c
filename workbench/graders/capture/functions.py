"""A live function's text, changed to load by itself: without the workbench's decorators, with the original defaults."""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Iterable
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.python_text import parse
from workbench.graders.capture.refusals import MISSING, Scope
from workbench.graders.capture.source import refuse_credentials
from workbench.graders.capture.source_edit import Definition, dotted, renamed, replaced, without

_WIDTH = 100
_ATOMS = (type(None), bool, int, float, complex, str, bytes, bytearray, range, type(Ellipsis))
_CONTAINERS = (tuple, list, dict, set, frozenset)
_MUTABLE = (list, dict, set, bytearray)
_LARGEST_INT_BITS = 12_000
"""Maximum bits of a decimal literal: Python refuses those above 4,300 digits, about 14,000 bits."""


def is_plain(value: Any) -> bool:
    """Whether a value consists only of plain types, and no object occurs in it twice.

    A list that appears in two places is one list; two literals would make it two.
    """
    try:
        return _is_plain(value, set())
    except RecursionError:
        return False


def literal(value: Any, *, before: int = 0) -> str:
    """The source text of a plain value, one item per line if it would be too long.

    Args:
        value: A value for which `is_plain` returns True.
        before: Characters before it on its first line.
    """
    flat = _flat(value)
    return flat if len(flat) + before <= _WIDTH else _multiline(value, "", before)


def matches(node: ast.expr, value: Any) -> bool:
    """Whether an expression is a literal that gives exactly this plain value."""
    try:
        parsed = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return type(parsed) is type(value) and is_plain(parsed) and _flat(parsed) == _flat(value)


def _is_plain(value: Any, visited: set[int]) -> bool:
    kind = type(value)
    # Only these: a text or number in two places is indistinguishable from two equal ones.
    if kind in _MUTABLE:
        if id(value) in visited:
            return False
        visited.add(id(value))
    if kind in _ATOMS:
        return kind is not int or value.bit_length() <= _LARGEST_INT_BITS
    if kind is dict:
        return all(_is_plain(key, visited) and _is_plain(item, visited) for key, item in value.items())
    return kind in _CONTAINERS and all(_is_plain(item, visited) for item in value)


def _flat(value: Any) -> str:
    kind = type(value)
    if kind in {float, complex}:
        return _number(value)
    if kind is dict:
        return "{" + ", ".join(f"{_flat(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if kind in _CONTAINERS:
        return _wrapped(value, ", ".join(_items(value)))
    return ascii(value) if kind is str and not _printable(value) else repr(value)


def _printable(text: str) -> bool:
    """Whether a text can be written to a source file literally (lone surrogates and bidi marks cannot)."""
    return all(char.isprintable() or char in "\n\t\r" for char in text)


def _items(value: Any) -> list[str]:
    texts = [_flat(item) for item in value]
    # Sorted, so that one set makes one source, for every hash seed of this process.
    return sorted(texts) if type(value) in {set, frozenset} else texts


def _wrapped(value: Any, inner: str) -> str:
    kind = type(value)
    if kind in {set, frozenset} and not value:
        return f"{kind.__name__}()"
    if kind is tuple:
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    shapes: dict[Any, str] = {
        list: f"[{inner}]",
        set: "{" + inner + "}",
        frozenset: "frozenset({" + inner + "})",
    }
    return shapes[kind]


def _number(value: Any) -> str:
    if isinstance(value, complex):
        # The usual notation is a sum, which loses the sign of a zero.
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    if math.isfinite(value):
        return repr(value)
    return f'float("{value}")'


def _multiline(value: Any, indent: str, before: int) -> str:
    """A value over several lines, if it is a container that can be opened."""
    flat = _flat(value)
    if type(value) not in _CONTAINERS or not value or len(indent) + before + len(flat) <= _WIDTH:
        return flat
    inner = indent + "    "
    lines = "".join(f"{inner}{line},\n" for line in _rows(value, inner))
    start, end = _wrapped(value, "\0").split("\0") if type(value) is not dict else ("{", "}")
    return f"{start}\n{lines}{indent}{end.lstrip(',')}"


def _rows(value: Any, indent: str) -> list[str]:
    if type(value) is dict:
        heads = [(f"{_flat(key)}: ", item) for key, item in value.items()]
        return [head + _multiline(item, indent, len(head)) for head, item in heads]
    rows = [_multiline(item, indent, 0) for item in value]
    return sorted(rows) if type(value) in {set, frozenset} else rows


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
