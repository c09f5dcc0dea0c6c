"""Whether a module keeps what it keeps in names of its own. Standard library only; the zygote loads it by its path.

A module whose body is run anew starts as in a fresh worker, unless a row left something outside of it: a setting of the
standard library, an attribute of somebody else's object. This looks for texts that could, and is strict: what it does
not know counts as one of them. Such a grader is given a fresh worker for every single call, which takes longer.
"""

from __future__ import annotations

import ast

_MODULES = frozenset(
    "__future__ abc ast base64 bisect cmath collections colorsys copy csv dataclasses datetime decimal difflib enum fractions "
    "functools hashlib heapq hmac html io itertools json keyword math numbers operator re shlex statistics string struct "
    "textwrap time tokenize types typing unicodedata urllib uuid workbench adaptive_harmony letta_evals osmosis_ai xml zlib".split()
)
"""Modules that graders use and that keep no setting that a call of theirs changes, but for `_SETTERS`."""
_SETTERS = frozenset("getcontext setcontext localcontext register_dialect unregister_dialect field_size_limit set_int_max_str_digits "
    "register_namespace cache_clear tzset".split())  # fmt: skip
_REACHING = frozenset(
    "setattr delattr globals vars locals exec eval compile open __import__ __builtins__ breakpoint input".split()
)
_PRIVATE = frozenset("__init__ __post_init__ __name__ __class__ __doc__ __qualname__ __len__ __eq__".split())
_CHANGES = frozenset(
    "append appendleft extend extendleft insert add update discard remove pop popleft popitem clear setdefault "
    "sort reverse rotate".split()
)


def is_self_contained(tree: ast.Module) -> bool:
    """Whether no row can leave anything behind but in the module's own names and objects."""
    foreign = _imported(tree)
    return foreign is not None and not any(_reaches_out(node, foreign) for node in ast.walk(tree))


def _imported(tree: ast.Module) -> set[str] | None:
    """The names that imports bind; None where a module is imported that may hold settings."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            )
            if any(name.partition(".")[0] not in _MODULES for name in modules):
                return None
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return None if "*" in names else names | {"StringThread"}


def _reaches_out(node: ast.AST, foreign: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _REACHING
    if isinstance(node, ast.Attribute):
        return _is_odd(node.attr) or (isinstance(node.ctx, ast.Store | ast.Del) and not _is_own(node))
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return _root(node) in foreign
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
        return _root(node.func) in foreign
    return isinstance(node, ast.alias) and (_is_odd(node.name) or node.name in _SETTERS)


def _is_odd(name: str) -> bool:
    return name in _SETTERS or (name.startswith("__") and name not in _PRIVATE)


def _is_own(node: ast.Attribute) -> bool:
    """Whether an attribute that is written is one of the object whose method this is."""
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}


def _root(node: ast.AST) -> str:
    """The name at the front of `a.b[0].c`; "" where there is another expression."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
