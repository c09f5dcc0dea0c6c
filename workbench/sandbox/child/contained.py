"""Whether a module stores its state only in its names. Standard library only; the zygote loads it by its path.

Rerunning a module's body restores the state of a fresh worker, unless a row changed something outside the module: a
setting of the standard library, an attribute of an object of another module. This looks for texts that could do so. It is
conservative: an unknown construct counts as one of them. Such a grader gets a fresh worker for every single call, which
takes longer.
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
"""Modules that graders use and whose calls change no setting, except `_SETTERS`."""
_SETTERS = frozenset("getcontext setcontext localcontext register_dialect unregister_dialect field_size_limit set_int_max_str_digits "
    "register_namespace cache_clear tzset".split())  # fmt: skip
_REACHING = frozenset(
    "setattr delattr globals vars locals exec eval compile open __import__ __builtins__ breakpoint input".split()
)
_READING = frozenset("attrgetter methodcaller get_type_hints ForwardRef".split())
"""Names under which the standard library looks up, or evaluates, the content of a text."""
_FRAMES = frozenset("gi_frame cr_frame ag_frame tb_frame f_back f_globals f_locals f_builtins".split())
"""Attributes that give access from a generator, a coroutine or a traceback to the worker's names."""
_PRIVATE = frozenset("__init__ __post_init__ __name__ __class__ __doc__ __qualname__ __len__ __eq__".split())


def is_self_contained(tree: ast.Module) -> bool:
    """Whether rows can leave state only in the module's names and objects."""
    foreign = _imported(tree)
    if foreign is None or any(_reaches_out(node) for node in ast.walk(tree)) or _looks_up(tree):
        return False
    reading = _Reading(foreign)
    reading.visit(tree)
    return not reading.shares


def _imported(tree: ast.Module) -> dict[str, object] | None:
    """What imports bind, by name; None if a module may contain settings, or something is missing."""
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
    """Looks for modules and tables of other modules that are passed on: under another name they could be changed unnoticed."""

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
            value = getattr(value, name, _TABLE)  # it does not exist: the name has another meaning as well
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
    """Whether `getattr` is called with a computed or unusual name, or is passed on."""
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "getattr"]
    plain = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_plain(node.args)]
    return not set(used) <= set(plain)


def _is_plain(args: list[ast.expr]) -> bool:
    name = args[1] if len(args) > 1 else None
    return isinstance(name, ast.Constant) and isinstance(name.value, str) and not _is_odd(name.value)


def _is_own(node: ast.Attribute) -> bool:
    """Whether an assigned attribute belongs to the object whose method this is."""
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
