"""The values of a namespace as plain JSON: equal descriptions mean equal behaviour.

The host describes the live objects of a notebook, the sandbox describes the module built from their
source, and the two are compared. So this file imports only the standard library: the
sandbox loads it by its path. It calls no method that a notebook or a module defines.

Every value becomes a list whose first entry is a tag. Objects whose identity matters (lists, dicts,
functions, classes, instances) become nodes, named by `["ref", number]`; that also ends cycles.
"""

from __future__ import annotations

import dis
import json
import re
import sys
import types
import warnings
from bisect import bisect_left
from functools import cached_property, lru_cache
from typing import Any

__all__ = ["MAX_NODES", "MAX_SETS_WITHIN", "Walker", "code_facts", "describe", "global_reads"]

MAX_NODES = 100_000
"""Maximum values described in one call; a source is at most 64 KiB, so literals cannot produce more."""

MAX_SETS_WITHIN = 3
"""Maximum depth of nested sets whose items are sorted; each level multiplies the work."""

# The last two are the names under which the sandbox loads the files of `StringThread`, `Grade` and `Skip`.
_OURS = frozenset({"workbench", "adaptive_harmony", "_wb_thread", "_wb_grade"})
# Packages that the sandbox replaces by separate classes, and the names under which it loads their files.
_COMPATIBLE = frozenset({"letta_evals", "osmosis_ai", "_wb_letta", "_wb_osmosis", "_wb_osmosis_legacy"})
_PLAIN_MEMBERS = (
    "__module__ __dict__ __weakref__ __doc__ __annotations__ __static_attributes__ __firstlineno__ "
    "__qualname__ _abc_impl __annotate__ __annotations_cache__ __type_params__"
)
_SHARED_MEMBERS = frozenset(_PLAIN_MEMBERS.split())
# What the compiler adds or drops depending on the rest of the unit (`mod.attr()` with and without
# an `import mod`), and what only pads.
_PADDING = frozenset({"PUSH_NULL", "NOP", "CACHE", "EXTENDED_ARG", "PRECALL"})
_SAME = {"LOAD_METHOD": "LOAD_ATTR"}
_FUTURE_FLAGS = 0x1FF0000
_PLACE = frozenset({"__qualname__", "__firstlineno__"})


def describe(namespace: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Describe the values that `names` have in `namespace`.

    Returns:
        `{"names": {name: value}, "nodes": [node, ...]}`, plain JSON. A missing name reads
        `["missing"]`; a value that cannot be described (open files, generators, locks) reads `["opaque", type]`.
    """
    walker = Walker()
    values = {name: walker.value(namespace[name]) if name in namespace else ["missing"] for name in names}
    return {"names": values, "nodes": walker.nodes}


def code_facts(code: types.CodeType) -> list[Any]:
    """What a code object does: its arguments and instructions without positions, lines and padding."""
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount]
    # Each after a separate tag: two arguments `ref` and `x` must not read as a reference to a node.
    names = [["names", *part] for part in (code.co_varnames, code.co_freevars, code.co_cellvars)]
    return [counts, code.co_flags & ~_FUTURE_FLAGS, names, _steps(code)]


def global_reads(code: types.CodeType) -> set[str]:
    """Names that a code object, or one nested in it, reads from its module."""
    reads = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            reads |= global_reads(part)
    return reads


class Walker:
    """Describes values in sequence; they share one numbering of nodes.

    Attributes:
        nodes: The descriptions so far, by number.
        functions: The Python functions encountered that are not the standard library's.
    """

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self.nodes: list[Any] = []
        self.functions: list[types.FunctionType] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []
        self._count = 0

    def value(self, value: Any) -> list[Any]:
        """Describe one value."""
        self._count += 1
        if self._count > MAX_NODES:
            return ["opaque", f"more than {MAX_NODES:,} values"]
        try:
            return self._value(value)
        except RecursionError:
            return ["opaque", "values nested too deeply"]

    def _value(self, value: Any) -> list[Any]:
        kind = type(value)
        if any(value is single for single in _SINGLES):
            return ["constant", repr(value)]
        atom = _ATOMS.get(kind)
        if atom is not None:
            return [kind.__name__, atom(value)]
        if kind is tuple or kind is frozenset:
            parts = self._unordered(value) if kind is frozenset else [self.value(item) for item in value]
            return [kind.__name__, parts]
        if kind is re.Pattern:
            return ["pattern", self.value(value.pattern), value.flags]
        if _is(value, types.ModuleType):
            return ["module", value.__name__]
        return self._node(value)

    def _node(self, value: Any) -> list[Any]:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.nodes)
            self._alive.append(value)
            self.nodes.append(None)
            self.nodes[number] = self._parts(value)
        return ["ref", number]

    def _parts(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind is list:
            return ["list", [self.value(item) for item in value]]
        if kind is dict:
            return ["dict", self._pairs(value)]
        if kind is set:
            return ["set", self._unordered(value)]
        if kind is types.FunctionType:
            return self._function(value)
        if _is(value, type):
            return self._class(value)
        return self._special(value) or self._instance(value)

    def _unordered(self, values: Any) -> list[Any]:
        """Items sorted by their descriptions, each from a separate walker: node numbers depend on the order."""
        return [self.value(item) for item in sorted(values, key=self._alone)]

    def _alone(self, value: Any) -> str:
        # Sets within sets within classes can refer back to themselves; beyond three levels they are not sorted,
        # which may refuse a capture but never accepts a wrong one.
        if self._depth >= MAX_SETS_WITHIN:
            return type(value).__qualname__
        walker = Walker(self._depth + 1)
        return json.dumps([walker.value(value), walker.nodes])

    def _pairs(self, mapping: Any) -> list[Any]:
        return [[self.value(key), self.value(item)] for key, item in dict.items(mapping)]

    def _by_name(self, mapping: Any, skip: frozenset[str] = frozenset()) -> dict[str, Any]:
        return {key: self.value(mapping[key]) for key in sorted(mapping) if key not in skip}

    def _function(self, function: types.FunctionType) -> list[Any]:
        if _top(function.__globals__.get("__name__")) in _COMPATIBLE:
            # The original package's decorators differ from the replacements; the decorated functions must not.
            return ["compatible function", self.value(vars(function).get("__wrapped__"))]
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        rest = [cells, self._by_name(vars(function))]
        module = function.__globals__.get("__name__")
        if _is_shared(module):
            return ["library function", module, function.__code__.co_qualname, *rest]
        self.functions.append(function)
        defaults = [self.value(function.__defaults__), self._by_name(function.__kwdefaults__ or {})]
        return ["function", code_facts(function.__code__), *defaults, *rest]

    def _cell(self, cell: types.CellType) -> list[Any]:
        try:
            return self.value(cell.cell_contents)
        except ValueError:
            return ["empty cell"]

    def _class(self, cls: type) -> list[Any]:
        if _is_shared(cls.__module__) or _top(cls.__module__) in _OURS | _COMPATIBLE:
            module = cls.__module__ if _is_shared(cls.__module__) else "ours"
            return ["library class", module, cls.__qualname__]
        bases = [self.value(base) for base in cls.__bases__]
        members = self._by_name(_members(cls), _SHARED_MEMBERS)
        return ["class", cls.__name__, self.value(type(cls)), bases, members]

    def _special(self, value: Any) -> list[Any] | None:
        """Values that `__reduce_ex__` describes only by name, or not at all."""
        parts = _attributes(value)
        if parts is not None:
            return [type(value).__name__, [self.value(part) for part in parts]]
        if _is(value, types.MappingProxyType):
            return ["mappingproxy", self._pairs(dict(value))]
        if type(value).__module__ == "typing" or _is(value, types.GenericAlias | types.UnionType):
            arguments = [self.value(part) for part in getattr(value, "__args__", ())]
            return ["typing", arguments or repr(value)]
        return None

    def _instance(self, value: Any) -> list[Any]:
        kind = type(value)
        if _is_shared(kind.__module__):
            return self._reduced(value)
        state = dict(_slot_value(value, "__dict__")[0]) if _slot_value(value, "__dict__") else {}
        parts = [self.value(kind), self._by_name(state), self._by_name(dict(_slots(value)))]
        return ["instance", *parts, self._content(value)]

    def _content(self, value: Any) -> Any:
        """The content of an instance as a list, a dict, a text or a number, if its class derives from one."""
        if _is(value, dict):
            return self._pairs(value)
        if _is(value, list | tuple):
            base: Any = list if _is(value, list) else tuple
            return [self.value(item) for item in base.__iter__(value)]
        if _is(value, set | frozenset):
            owner: Any = set if _is(value, set) else frozenset
            return self._unordered(owner.__iter__(value))
        return next((atom(value) for kind, atom in _ATOMS.items() if _is(value, kind)), None)

    def _reduced(self, value: Any) -> list[Any]:
        if _is(value, types.AsyncGeneratorType | types.CoroutineType):
            return ["opaque", type(value).__name__]
        try:
            with warnings.catch_warnings():
                # Copying iterators is deprecated and warns until it is removed.
                warnings.simplefilter("ignore")
                parts = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 (any failure means the same: this cannot be copied)
            return ["opaque", f"{type(value).__module__}.{type(value).__qualname__}"]
        if _is(parts, str):
            return ["global", type(value).__module__, parts]
        head = [self.value(part) for part in parts[:3]]
        tail = [[self.value(item) for item in part] if part is not None else None for part in parts[3:5]]
        return ["library object", head, tail]


def _is(value: Any, kinds: Any) -> bool:
    """`isinstance` without calling the value: its `__class__` may be code of the notebook's."""
    return issubclass(type(value), kinds)


def _top(module: Any) -> str:
    return module.partition(".")[0] if _is(module, str) else ""


def _is_shared(module: Any) -> bool:
    """Whether both sides have this module, so that a name is a sufficient description."""
    if not _is(module, str) or module == "__main__":
        return False
    return _top(module) in sys.stdlib_module_names


def _members(cls: type) -> dict[str, Any]:
    members = dict(type.__getattribute__(cls, "__dict__"))
    fields: Any = members.get("__dataclass_fields__")
    if _is(fields, dict):
        members["__dataclass_fields__"] = {name: _field(item) for name, item in fields.items()}
    return members


def _field(item: Any) -> list[Any]:
    """A dataclass field without its type, which is text or object depending on the module's flags."""
    names = [name for name in type(item).__slots__ if name not in {"type", "_field_type"}]
    return [[name, getattr(item, name)] for name in names] + [repr(getattr(item, "_field_type", None))]


def _attributes(value: Any) -> list[Any] | None:
    if _is(value, _LRU_CACHE):
        return [value.__wrapped__, value.cache_parameters()]
    for kind, names in _TOLD_BY:
        if _is(value, kind):
            return [getattr(value, name) for name in names]
    return None


def _slots(value: Any) -> list[tuple[str, Any]]:
    names = [name for cls in type(value).__mro__ for name in _slot_names(cls)]
    return [(name, content) for name in names for content in _slot_value(value, name)]


def _slot_names(cls: type) -> list[str]:
    slots = cls.__dict__.get("__slots__", ())
    names = [slots] if _is(slots, str) else list(slots)
    mangled = [f"_{cls.__name__.lstrip('_')}{n}" if n[:2] == "__" != n[-2:] else n for n in names]
    return [name for name in mangled if name not in {"__dict__", "__weakref__"}]


def _slot_value(value: Any, name: str) -> list[Any]:
    try:
        return [object.__getattribute__(value, name)]
    except AttributeError:
        return []


def _steps(code: types.CodeType) -> list[Any]:
    steps = [step for step in dis.get_instructions(code) if step.opname not in _PADDING]
    places = [step.offset for step in steps]
    followers = [*steps[1:], None]
    return [
        _step(step, places)
        for step, after in zip(steps, followers, strict=True)
        if not _is_place(step, after)
    ]


def _is_place(step: dis.Instruction, after: dis.Instruction | None) -> bool:
    """Whether a step only loads the position of a class: its full name or its line."""
    stores = after is not None and after.opname == "STORE_NAME" and after.argval in _PLACE
    return stores and step.opname == "LOAD_CONST"


def _step(step: dis.Instruction, places: list[int]) -> list[Any]:
    name = _SAME.get(step.opname, step.opname)
    if step.opcode in dis.hasconst:
        return [name, _constant(step.argval)]
    if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
        return [name, bisect_left(places, step.argval)]
    return [name, repr(step.argval)]


def _constant(value: Any) -> list[Any]:
    return ["code", code_facts(value)] if _is(value, types.CodeType) else Walker().value(value)


_ATOMS: dict[type, Any] = {
    bool: bool,
    int: lambda value: hex(int.__index__(value)),
    float: float.hex,
    complex: lambda value: [float.hex(value.real), float.hex(value.imag)],
    str: str.__str__,
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    range: repr,
}
_DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)
_SINGLES = (None, Ellipsis, NotImplemented)
_LRU_CACHE = type(lru_cache(lambda: None))
_TOLD_BY: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (property, ("fget", "fset", "fdel")),
    ((staticmethod, classmethod), ("__func__",)),
    (types.MethodType, ("__func__", "__self__")),
    (cached_property, ("func", "attrname")),
    (types.BuiltinFunctionType, ("__self__", "__name__")),
    (_DESCRIPTORS, ("__name__",)),
)
