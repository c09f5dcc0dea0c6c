"""Python itself: source text parsed without warnings, and properties computed once without a lock."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801 (used like the one of functools)
    """`functools.cached_property` with the behaviour of Python 3.12: without a lock.

    In 3.11 one lock for all objects is locked while a value is computed. If another thread forks the process at that
    moment, the lock is never released in the child. Two threads may compute a value twice; the last one is stored.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """The value, stored in the object's dict."""
        if instance is None:
            return self
        values = instance.__dict__
        assert self.attrname is not None
        if self.attrname not in values:
            values[self.attrname] = self.func(instance)
        return values[self.attrname]


Tree = TypeVar("Tree")
# An attempt fails only if another thread starts or ends a tree in the same moment.
_TRIES = 20


def parse(text: str) -> ast.Module:
    """The tree of a module, as returned by `ast.parse`.

    Raises:
        SyntaxError: The text is not Python.
        ValueError: It contains a null character.
        RecursionError, MemoryError: It is nested too deeply.
    """
    return _uninterrupted(lambda: ast.parse(text))


def parse_expression(text: str) -> ast.Expression:
    """The tree of one expression; raises as `parse` does."""
    return _uninterrupted(lambda: ast.parse(text, mode="eval"))


def _uninterrupted(read: Callable[[], Tree]) -> Tree:
    """Retry if Python mixed this tree up with one that was built concurrently.

    Up to Python 3.11.7 and 3.12.2 all threads share one depth counter for their trees. A garbage collection during
    parsing, which lets another thread or a finalizer build a tree, then ends in a SystemError
    (https://github.com/python/cpython/issues/106905), although the text is valid.
    """
    for _ in range(_TRIES - 1):
        try:
            return read()
        except SystemError:
            continue
    return read()
