"""What of the standard library a grader's text may ask for, before it runs.

A worker's process loads the library for a while after it has started; a grader that needs none of it can be graded at
once. This is strict: what it does not know counts as a need, and costs a tenth of a second once in a process.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import lru_cache

from workbench import python_text

__all__ = ["ALWAYS", "needs_library"]

ALWAYS = frozenset({
    "__future__", "collections", "collections.abc", "dataclasses", "enum", "functools", "itertools", "json", "math", "re",
    "string", "typing", "workbench",
})  # fmt: skip
"""Modules that are there from the start, with all that they import late."""
_MODULES = sys.stdlib_module_names - ALWAYS
_REACHING = frozenset({
    "eval", "exec", "compile", "open", "input", "breakpoint", "help", "getattr", "vars", "globals", "locals", "dir",
    "bytes", "bytearray", "memoryview", "encode", "decode", "to_bytes", "fromhex", "modules", "format", "format_map",
    "get_type_hints", "ForwardRef", "aiter", "anext",
})  # fmt: skip
"""Names of what imports a module late, such as a codec, or looks up what a text spells."""
_WAITING = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)
"""Parts of a text that can tell which loop runs it: until asyncio is there, rows run without one."""
_ESCAPE = re.compile(r"\\[^\n\r\\'\"abfnrtv0-7xNuU]")
"""What Python warns of where the text around it is not raw: such a text is not read once more, to warn once more."""


@lru_cache(maxsize=64)  # a run asks for each of its workers
def needs_library(text: str) -> bool:
    """Whether a Python text may import a module that is not there from the start, or tell whether asyncio is.

    Args:
        text: The module.
    """
    if _ESCAPE.search(text):
        return True
    try:
        tree = python_text.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return True
    return any(map(_needs, ast.walk(tree)))


def _needs(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name not in ALWAYS for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or node.module not in ALWAYS
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bytes) or (isinstance(node.value, str) and "__" in node.value)
    return isinstance(node, _WAITING) or any(_reaches(name) for name in _names(node) if name not in ALWAYS)


def _names(node: ast.AST) -> Iterator[str]:
    """Every name that a node spells, whatever it is for."""
    for _, value in ast.iter_fields(node):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str):
                yield one


def _reaches(name: str) -> bool:
    """Whether a name may lead out of the modules that are there."""
    return not name.isascii() or name.startswith("_") or name in _REACHING or name in _MODULES
