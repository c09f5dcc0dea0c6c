"""The code of a live function: its functions, those of its module that it names, and their source. Nothing of it runs."""

from __future__ import annotations

import contextlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from workbench.graders.code.live_reward import LiveReward
from workbench.graders.code.rollout import EnvironmentReward


def codes_of(fn: Any) -> Iterator[CodeType]:
    """The code of a function, of functions inside it, and of those of its module that it mentions."""
    waiting, seen = [_function_of(fn.fn if isinstance(fn, LiveReward | EnvironmentReward) else fn)], set()
    while waiting:
        function = waiting.pop()
        code = getattr(function, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        nested = [code]
        for part in nested:
            yield part
            nested += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
        names = {name for part in nested for name in part.co_names}
        waiting += [_function_of(getattr(function, "__wrapped__", None))]
        waiting += [_function_of(value) for value in _named(function, names)]


_MAX_CONSTANT = 4_000
"""Characters of a constant, beyond which it is data and not a rule. Workbench limit."""


def source_of(fn: Any) -> str:
    """Source texts, and the texts, lists and patterns of the module that they name, as assignments."""
    texts: dict[str, str] = {}
    constants: dict[str, str] = {}
    fn = inspect.unwrap(getattr(fn, "fn", fn))  # of an adapter the function that it calls, not its helpers
    for code in codes_of(fn):
        with contextlib.suppress(OSError, TypeError, SyntaxError):
            texts.setdefault(code.co_qualname, textwrap.dedent(inspect.getsource(code)))
    spaces = [getattr(_function_of(fn), "__globals__", {})]
    for name in {name for code in codes_of(fn) for name in code.co_names}:
        value = spaces[0].get(name)
        value = value.pattern if isinstance(value, re.Pattern) else value
        if (
            isinstance(value, str | list | tuple | set | frozenset | dict)
            and len(repr(value)) <= _MAX_CONSTANT
        ):
            constants[name] = f"{name} = {value!r}"
    outer = [
        text
        for text in texts.values()
        if not any(text is not other and _is_in(text, other) for other in texts.values())
    ]
    return "\n\n".join([*constants.values(), *outer])


def _is_in(text: str, other: str) -> bool:
    """Whether a function's source is a part of another one's, where it is indented."""
    first = text.strip().splitlines()[:1]
    return bool(first) and len(text) < len(other) and first[0] in other


def _named(function: Any, names: set[str]) -> Iterator[Any]:
    """Functions in a function's closure, or found by their names in its module."""
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # an empty cell
            yield cell.cell_contents
    module = getattr(function, "__globals__", {})
    for name in names:
        if getattr(value := module.get(name), "__module__", "") == module.get("__name__", None):
            yield value


def _function_of(fn: Any) -> Any:
    """The plain function of a partial, a method, or a callable object; else None."""
    while isinstance(fn, partial):
        fn = fn.func
    fn = getattr(fn, "__func__", fn)
    if isinstance(fn, FunctionType) or fn is None or isinstance(fn, type):
        return fn if isinstance(fn, FunctionType) else None
    call = getattr(type(fn), "__call__", None)  # noqa: B004 (its code is needed)
    return call if isinstance(call, FunctionType) else None
