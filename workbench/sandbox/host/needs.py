"""What of the standard library a grader's text may ask for, before it runs.

A worker's process loads the library for a while after it has started; a grader that needs none of it can be graded at
once. This is strict: what it does not know counts as a need, and costs a fraction of a second once in a process.
"""

from __future__ import annotations

import ast
import sys

__all__ = ["ALWAYS", "needs_library"]

ALWAYS = frozenset({
    "__future__", "collections", "collections.abc", "dataclasses", "enum", "functools", "itertools", "json", "math", "re",
    "string", "typing", "workbench",
})  # fmt: skip
"""Modules that are there from the start, since the sandbox itself uses them."""
_MODULES = sys.stdlib_module_names - ALWAYS
_REACHING = frozenset({
    "eval", "exec", "compile", "open", "input", "breakpoint", "help", "getattr", "vars", "globals", "locals", "dir",
    "bytes", "bytearray", "memoryview", "encode", "decode", "to_bytes", "fromhex", "modules",
})  # fmt: skip
"""Names of what imports a module late, such as a codec, or looks up what a text spells."""


def needs_library(text: str) -> bool:
    """Whether a Python text may import a module that is not there from the start.

    Args:
        text: The module.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_needs(node) for node in ast.walk(tree))


def _needs(node: ast.AST) -> bool:
    match node:
        case ast.Import():
            return any(alias.name not in ALWAYS for alias in node.names)
        case ast.ImportFrom():
            return (
                node.level > 0
                or node.module not in ALWAYS
                or any(_reaches(alias.name) for alias in node.names)
            )
        case ast.Name():
            return _reaches(node.id)
        case ast.Attribute():
            return _reaches(node.attr)
        case ast.Constant():
            return isinstance(node.value, bytes)
    return False


def _reaches(name: str) -> bool:
    """Whether a name may lead out of the modules that are there."""
    return name.startswith("_") or name in _REACHING or name in _MODULES
