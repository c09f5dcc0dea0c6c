"""Graders' modules in one file: which of them can share the file's names, and which need a separate namespace."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from symtable import Symbol, SymbolTable, symtable

from workbench.core.errors import FormatError
from workbench.graders.capture.statements import parsed

__all__ = ["needs_namespace", "quoted_block", "read_names"]


def needs_namespace(texts: Sequence[str], taken: Iterable[str] = ()) -> list[bool]:
    """For each module whether it needs a namespace separate from the modules before it.

    It does if it binds a builtin name, or binds or reads a name that the file itself binds; if it binds a name
    to something other than another module does, or to something mutable; if it reads a name that it does not bind
    and another module binds; and if it is recursive and not alone: each grader is called `grade`.

    Args:
        texts: The modules, in the order of the file.
        taken: Names that the file binds for its target.
    """
    modules = list(map(_module_names, texts))
    changed = set().union(*(module.changeable for module in modules))
    file_names, shared, read = set(taken), dict[str, str](), set[str]()
    apart = []
    for module in modules:
        own, names = module.bound, module.read
        clashes = {
            name for name in own.keys() & shared.keys() if own[name] != shared[name] or name in changed
        }
        others = (names - own.keys()) & shared.keys() | (read - shared.keys()) & own.keys()
        calls_itself = len(texts) > 1 and "grade" in names
        taken_by_file = (own.keys() | names) & file_names | own.keys() & _BUILTINS
        apart.append(bool(clashes or others or calls_itself or taken_by_file))
        if not apart[-1]:
            shared |= own
            read |= names
    return apart


@dataclass(frozen=True)
class _ModuleNames:
    """How a grader's module uses names.

    Attributes:
        bound: Names bound at its top level, each with what it is bound to; without `grade`.
        read: See `read_names`.
        changeable: See `_changeable_names`.
    """

    bound: dict[str, str]
    read: frozenset[str]
    changeable: frozenset[str]


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def _module_names(text: str) -> _ModuleNames:
    tree = parsed(text) or ast.Module([], [])
    return _ModuleNames(dict(_bound(tree)), frozenset(read_names(text)), frozenset(_changeable_names(tree)))


def quoted_block(text: str) -> tuple[str, str]:
    """The opening and closing quotes of a raw string that contains a text unchanged.

    Raises:
        FormatError: The text contains both kinds of triple quotes.
    """
    for mark in (chr(34) * 3, chr(39) * 3):
        if mark not in text:
            return f"r{mark}", mark
    raise FormatError(
        "a grader's text contains both kinds of triple quotes", found=chr(34) * 3 + " and " + chr(39) * 3,
        hint="use one kind of them in the grader",
    )  # fmt: skip


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names bound at the top level of a module, each with what it is bound to; without `grade`."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        else:
            yield from ((name, ast.unparse(node)) for name in _names_bound_by(node) if name != "grade")


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Each name separately: `import json, re` and `import re` bind the same `re`."""
    module = getattr(node, "module", "") or ""
    for alias in node.names if module != "__future__" else ():
        yield alias.asname or alias.name.partition(".")[0], f"{module}:{alias.name}"


def _names_bound_by(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return dict.fromkeys(one.id for one in stored)


def read_names(text: str) -> set[str]:
    """The module's names and builtins that a text reads: not arguments and locals of its functions."""
    try:
        table = symtable(text, "grader", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {symbol.get_name() for symbol in _global_symbols(table) if symbol.is_referenced()}


def _global_symbols(table: SymbolTable) -> Iterator[Symbol]:
    at_top = table.get_type() == "module"
    yield from (symbol for symbol in table.get_symbols() if at_top or symbol.is_global())
    for child in table.get_children():
        yield from _global_symbols(child)


def _changeable_names(tree: ast.Module) -> set[str]:
    """Names bound to something other than an import, a definition or a constant: two graders could change it."""
    changeable = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    for node in tree.body:
        if isinstance(
            node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            continue
        value = getattr(node, "value", None)
        if not (isinstance(node, ast.Assign | ast.AnnAssign) and value is not None and _is_constant(value)):
            changeable |= set(_names_bound_by(node))
    return changeable


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression is an immutable literal or a compiled pattern."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_constant, node.elts))
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in {"re.compile", "frozenset"} and not node.keywords
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, ast.Constant)


_BUILTINS = frozenset(dir(builtins))
