"""Trees of Python text, read where several threads read at once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

__all__ = ["parse", "parse_expression"]

Tree = TypeVar("Tree")
# Each try is undone by another thread only if that one begins or ends a tree in the same moment.
_TRIES = 20


def parse(text: str) -> ast.Module:
    """The tree of a module, as `ast.parse` gives it.

    Raises:
        SyntaxError: The text is not Python.
        ValueError: It holds a null character.
        RecursionError, MemoryError: It is nested too deeply.
    """
    return _uninterrupted(lambda: ast.parse(text))


def parse_expression(text: str) -> ast.Expression:
    """The tree of one expression; raises as `parse` does."""
    return _uninterrupted(lambda: ast.parse(text, mode="eval"))


def _uninterrupted(read: Callable[[], Tree]) -> Tree:
    """Read again where Python mixed this tree up with one that was made in the meantime.

    Up to Python 3.11.7 and 3.12.2 all threads count the depth of their trees in one place, so that a collection of
    garbage in the midst of one, which lets another thread or a finalizer make a tree, ends in a SystemError
    (https://github.com/python/cpython/issues/106905). Nothing is wrong with the text then.
    """
    for _ in range(_TRIES - 1):
        try:
            return read()
        except SystemError:
            continue
    return read()
