"""Detects calls whose result does not depend on the row: random, clock, uuid, hash of a text, order of a set.

Standard library only; loaded by its path.
"""

from __future__ import annotations

import ast
from typing import Any

GENERATORS = frozenset(("random.Random", "random.SystemRandom"))
"""Classes whose instances generate random numbers."""
_CLOCK = frozenset(
    "time.time time.time_ns time.monotonic time.monotonic_ns time.perf_counter time.perf_counter_ns time.process_time "
    "time.process_time_ns time.thread_time datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today "
    "datetime.date.today".split()
)
_NOW_WITHOUT = {"time.localtime": 0, "time.gmtime": 0, "time.ctime": 0, "time.asctime": 0, "time.strftime": 1}
"""Functions that read the clock if they get at most this number of arguments."""
_DRAWS = frozenset("uuid.uuid1 uuid.uuid4 os.urandom os.getrandom os.getpid".split())
_NO_DRAW = frozenset("random.seed random.getstate random.setstate".split())


class Chance:
    """Finds calls whose result does not depend on the row."""

    def __init__(self, module: Any, local: set[str], *, seeded: bool) -> None:
        self._module, self._locals, self._seeded = module, local, seeded

    def of(self, call: ast.Call) -> str:
        """What a call does, such as "reads the clock (time.time)"; "" for a deterministic call."""
        root = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self._locals:
            return self._set_order(call)
        name = self._module.called(call.func)
        return self._named(name, call) or self._builtin(name, call) or self._set_order(call)

    def _named(self, name: str, call: ast.Call) -> str:
        if name in _CLOCK or len(call.args) <= _NOW_WITHOUT.get(name, -1):
            return f"reads the clock ({name})"
        if name in _DRAWS or name.startswith("secrets."):
            return f"draws random values ({name})"
        if not name.startswith("random.") or name in _NO_DRAW or (name in GENERATORS and call.args):
            return ""
        return "" if self._seeded else f"draws random values ({name})"

    def _builtin(self, name: str, call: ast.Call) -> str:
        if name in self._module.names or not call.args:
            return ""
        if (
            name == "hash"
            and not isinstance(call.args[0], ast.Constant)
            and not self._inside(call, "__hash__")
        ):
            return "uses hash(), which differs between processes for a text, except in this sandbox (use hashlib instead)"
        if name == "id" and self._computes(call):
            return "computes with id(), which is a memory address"
        return ""

    def _inside(self, node: ast.AST, function: str) -> bool:
        above = self._module.parents.get(node)
        while above is not None and getattr(above, "name", "") != function:
            above = self._module.parents.get(above)
        return above is not None

    def _computes(self, call: ast.Call) -> bool:
        """Whether a number is computed from an id, as opposed to a set of seen objects."""
        parent = self._module.parents.get(call)
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in {
                "int",
                "float",
                "str",
                "hash",
                "repr",
            }
        return isinstance(parent, ast.BinOp | ast.Return | ast.FormattedValue)

    def _set_order(self, call: ast.Call) -> str:
        """Whether the code takes the first or an arbitrary element of a set, or makes a sequence of its elements."""
        function, told = (
            call.func,
            "takes the first element of a set, whose order of texts differs between processes (sorted() orders it)",
        )
        if isinstance(function, ast.Attribute):
            if function.attr == "pop" and not call.args and self._is_set(function.value):
                return told
            joins = function.attr == "join" and isinstance(function.value, ast.Constant) and call.args
            return told if joins and self._is_set(call.args[0]) else ""
        if not isinstance(function, ast.Name) or not call.args:
            return ""
        inner = call.args[0]
        if (
            function.id == "next"
            and isinstance(inner, ast.Call)
            and self._module.called(inner.func) == "iter"
        ):
            return told if inner.args and self._is_set(inner.args[0]) else ""
        picked = isinstance(self._module.parents.get(call), ast.Subscript)
        return told if function.id in {"list", "tuple"} and picked and self._is_set(inner) else ""

    def _is_set(self, node: ast.expr) -> bool:
        """Whether an expression is certainly a set of unknown elements."""
        if isinstance(node, ast.Set):
            return not all(
                isinstance(part, ast.Constant) and not isinstance(part.value, str) for part in node.elts
            )
        return isinstance(node, ast.SetComp) or (
            isinstance(node, ast.Call)
            and self._module.called(node.func) in {"set", "frozenset"}
            and bool(node.args)
        )
