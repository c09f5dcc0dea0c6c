"""Syntax trees of Python text, safe to build in several threads concurrently."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

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
