"""Whether a module keeps what it keeps in names of its own. Standard library only; the zygote loads it by its path.

A module whose body is run anew starts as in a fresh worker, unless a row left something outside of it: a setting of the
standard library, an attribute of somebody else's object. This looks for texts that could, and is strict: what it does
not know counts as one of them. Such a grader is given a fresh worker for every single call, which takes longer.
"""

from __future__ import annotations

import ast
import importlib
from types import ModuleType

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
_READING = frozenset("attrgetter methodcaller get_type_hints ForwardRef".split())
"""Names under which the standard library looks up, or evaluates, what a text spells."""
_FRAMES = frozenset("gi_frame cr_frame ag_frame tb_frame f_back f_globals f_locals f_builtins".split())
"""Attributes that lead from a generator, a coroutine or a traceback to the worker's own names."""
_PRIVATE = frozenset("__init__ __post_init__ __name__ __class__ __doc__ __qualname__ __len__ __eq__".split())


def is_self_contained(tree: ast.Module) -> bool:
    """Whether no row can leave anything behind but in the module's own names and objects."""
    foreign = _imported(tree)
    if foreign is None or any(_reaches_out(node) for node in ast.walk(tree)) or _looks_up(tree):
        return False
    reading = _Reading(foreign)
    reading.visit(tree)
    return not reading.shares


def _imported(tree: ast.Module) -> dict[str, object] | None:
    """What imports bind, by name; None where a module may hold settings, or something is not there."""
    found: dict[str, object] = {}
    for node in ast.walk(tree):
        try:
            if isinstance(node, ast.Import):
                found |= dict(_module(alias) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = _known(node.module or "")
                found |= {
                    alias.asname or alias.name: _member(module, alias.name)
                    for alias in node.names
                    if node.module != "__future__"
                }
        except (ImportError, AttributeError):
            return None
    return found


def _module(alias: ast.alias) -> tuple[str, ModuleType]:
    module = _known(alias.name)
    if alias.asname:
        return alias.asname, module
    package = alias.name.partition(".")[0]
    return package, _known(package)


def _known(name: str) -> ModuleType:
    if name.partition(".")[0] not in _MODULES:
        raise ImportError(name)
    return importlib.import_module(name)


def _member(module: ModuleType, name: str) -> object:
    try:
        return getattr(module, name)
    except AttributeError:
        return _known(f"{module.__name__}.{name}")


class _Reading(ast.NodeVisitor):
    """Looks for modules and tables of others that are passed on: under another name they can be changed unseen."""

    def __init__(self, foreign: dict[str, object]) -> None:
        self._foreign = foreign
        self.shares = False

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._foreign:
            self.shares |= isinstance(self._foreign[node.id], ModuleType) or _is_table(self._foreign[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        names: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id not in self._foreign:
            self.visit(inner)
            return
        value = self._foreign[inner.id]
        self.shares |= _is_table(value)
        for name in reversed(names):
            value = getattr(
                value, name, _TABLE
            )  # what is not there: the name stands for something else as well
            self.shares |= _is_table(value)
        self.shares |= isinstance(value, ModuleType)


_TABLE: list[object] = []


def _is_table(value: object) -> bool:
    """Whether an object can be changed in place, as lists, mappings and sets can."""
    return hasattr(type(value), "__setitem__") or isinstance(value, set)


def _reaches_out(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _REACHING
    if isinstance(node, ast.Attribute):
        return _is_odd(node.attr) or (isinstance(node.ctx, ast.Store | ast.Del) and not _is_own(node))
    if isinstance(node, ast.MatchClass):
        return any(map(_is_odd, node.kwd_attrs))
    return isinstance(node, ast.alias) and _is_odd(node.name)


def _is_odd(name: str) -> bool:
    if name in _SETTERS or name in _READING or name in _FRAMES:
        return True
    return name.startswith("__") and name not in _PRIVATE


def _looks_up(tree: ast.Module) -> bool:
    """Whether `getattr` is called with a name that the text does not spell out or that is odd, or is passed on."""
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "getattr"]
    plain = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_plain(node.args)]
    return not set(used) <= set(plain)


def _is_plain(args: list[ast.expr]) -> bool:
    name = args[1] if len(args) > 1 else None
    return isinstance(name, ast.Constant) and isinstance(name.value, str) and not _is_odd(name.value)


def _is_own(node: ast.Attribute) -> bool:
    """Whether an attribute that is written is one of the object whose method this is."""
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
