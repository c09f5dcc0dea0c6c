"""Constructs in a module's text that make a row's score depend on more than the row. Loaded by its path.

Standard library only. The functions that `grade` reaches are searched for *state* between rows (a global that is
written, a list that grows, an iterator that advances) and for *chance* (random, clock, uuid, hash of a text, order of a
set). A text shows only part of this: the determinism check, with calls in another order, covers the rest. Some constructs
are harmless and not reported: tables, compiled patterns, `functools.lru_cache`, a dict used only as a cache, values
computed on first use, `random.Random(seed)` inside a function, and sets that are only searched or counted.
"""

from __future__ import annotations

import ast
import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_chance = sys.modules["_wb_chance"]

MAX_WARNINGS = 4
"""Maximum number of warnings for one module."""
_CONTAINERS = frozenset("list dict set bytearray deque defaultdict Counter OrderedDict collections.deque "
    "collections.defaultdict collections.Counter collections.OrderedDict".split())  # fmt: skip
_ITERATORS = frozenset(("iter", "itertools.count", "itertools.cycle", "itertools.repeat"))
_CHANGES = frozenset(
    "append appendleft extend extendleft insert add update discard remove pop popleft popitem clear setdefault "
    "sort reverse rotate subtract intersection_update difference_update symmetric_difference_update".split()
)


def warnings(tree: ast.Module, root: str | None) -> list[str]:
    """Sentences on causes of varying scores of one row, each with its line; none for a module without such causes.

    Args:
        tree: The module.
        root: Name of its grade function or class; None for all functions.
    """
    module = _Module(tree)
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for name, node in module.reached(root):
        for line, key, sentence in _Function(module, name, node).faults():
            found.setdefault(key, (line, sentence))
    for line, key, sentence in module.loading_faults():
        found.setdefault(key, (line, sentence))
    return [f"line {line}: {sentence}" for line, sentence in sorted(found.values())[:MAX_WARNINGS]]


class _Module:
    """The top-level statements of a module."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.imports: dict[str, str] = {}
        self.uses: dict[str, list[ast.Name]] = {}
        for node in ast.walk(tree):
            self._note_import(node)
            if isinstance(node, ast.Name):
                self.uses.setdefault(node.id, []).append(node)
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        self.definitions = {node.name: node for node in tree.body if isinstance(node, kinds)}
        self.containers: set[str] = set()
        self.iterators: set[str] = set()
        self.generators: set[str] = set()
        self.names = set(self.definitions)
        for node in tree.body:
            self._note_value(node)

    def _note_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                self.imports[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _note_value(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            return
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        self.names |= names
        called = self.called(value.func) if isinstance(value, ast.Call) else ""
        if is_container(value) or called in _CONTAINERS:
            self.containers |= names
        elif isinstance(value, ast.GeneratorExp) or called in _ITERATORS:
            self.iterators |= names
        elif called in _chance.GENERATORS:
            self.generators |= names

    def called(self, function: ast.expr) -> str:
        """The dotted name of a called object, with import aliases resolved; "" for another expression."""
        parts: list[str] = []
        while isinstance(function, ast.Attribute):
            parts.append(function.attr)
            function = function.value
        if not isinstance(function, ast.Name):
            return ""
        return ".".join([self.imports.get(function.id, function.id), *reversed(parts)])

    def reached(self, root: str | None) -> Iterator[tuple[str, ast.AST]]:
        """The definitions that a run can reach, starting at the grade function."""
        waiting = [root] if root in self.definitions else list(self.definitions)
        seen = set(waiting)
        while waiting:
            name = str(waiting.pop(0))
            node = self.definitions[name]
            yield name, node
            used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & set(self.definitions)
            waiting += sorted(used - seen)
            seen |= used

    def loading_faults(self) -> Iterator[tuple[int, tuple[str, str], str]]:
        """Chance in code that runs once, when a worker loads the module: the value then differs between workers."""
        for node in self._tree.body:
            for part in ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) else ():
                if isinstance(part, ast.Call) and (
                    told := _chance.Chance(self, set(), seeded=False).of(part)
                ):
                    yield part.lineno, ("chance", told), f"every worker {told} when it loads the module"


def is_container(value: ast.expr) -> bool:
    """Whether an expression creates an object that can be changed in place."""
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


class _Function:
    """A top-level function or class of a module, with its nested definitions."""

    def __init__(self, module: _Module, name: str, node: ast.AST) -> None:
        self._module, self._name, self._node = module, name, node
        self._nodes = list(ast.walk(node))
        self._globals = {name for part in self._nodes if isinstance(part, ast.Global) for name in part.names}
        self._defaults = set(_mutable_defaults(self._nodes))
        self._locals = _bound(self._nodes) - self._globals - self._defaults
        self._memos: dict[str, bool] = {}

    def faults(self) -> Iterator[tuple[int, tuple[str, str], str]]:
        """Line, topic and sentence."""
        for part in self._nodes:
            name, what = self._written(part)
            if name and not self._is_memo(name):
                yield part.lineno, ("state", name), self._state(what)  # type: ignore[attr-defined]
        chance = _chance.Chance(self._module, self._locals, seeded=self._seeds("random.seed"))
        for part in self._nodes:
            if isinstance(part, ast.Call) and (told := chance.of(part)):
                yield (
                    part.lineno,
                    ("chance", told),
                    f"{self._name} {told}, so that a row's score may differ from run to run",
                )

    def _state(self, what: str) -> str:
        return (
            f"{self._name} {what}, which persists between rows of one worker: a score may depend on the rows before it, "
            f"and on the number of workers; create what a row needs inside {self._name}"
        )

    def _written(self, part: ast.AST) -> tuple[str, str]:
        """The name of an object that outlives the row and is changed here, and how; two empty texts otherwise."""
        if isinstance(part, ast.Name):
            written = isinstance(part.ctx, ast.Store) and part.id in self._globals
            return (
                (part.id, f"writes the global {part.id}") if written and not self._guarded(part) else ("", "")
            )
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            return self._of(part.value, "changes")
        if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
            name = self._outer(part.value, self._module.names)
            return (
                (f"{name}.{part.attr}", f"sets {name}.{part.attr}")
                if name and not self._guarded(part)
                else ("", "")
            )
        return self._called(part) if isinstance(part, ast.Call) else ("", "")

    def _called(self, call: ast.Call) -> tuple[str, str]:
        function = call.func
        if isinstance(function, ast.Attribute):
            if function.attr in _CHANGES:
                return self._of(function.value, "changes")
            name = self._outer(function.value, self._module.generators)
            return (name, f"draws from {name}") if name and not self._seeds(f"{name}.seed") else ("", "")
        if isinstance(function, ast.Name) and function.id == "next" and call.args:
            name = self._outer(call.args[0], self._module.iterators)
            return (name, f"takes the next of {name}") if name else ("", "")
        return "", ""

    def _of(self, node: ast.expr, verb: str) -> tuple[str, str]:
        name = self._outer(node, self._module.containers | self._defaults)
        default = " (a default of a parameter)" if name in self._defaults else ""
        return (name, f"{verb} {name}{default}") if name else ("", "")

    def _outer(self, node: ast.expr, among: set[str]) -> str:
        is_outer = isinstance(node, ast.Name) and node.id in among and node.id not in self._locals
        return node.id if is_outer and isinstance(node, ast.Name) else ""

    def _seeds(self, name: str) -> bool:
        """Whether a random generator is seeded in this function, so that it restarts for every row."""
        return name in self._called_with_arguments

    @functools.cached_property
    def _called_with_arguments(self) -> set[str]:
        calls = (part for part in self._nodes if isinstance(part, ast.Call) and part.args)
        return {self._module.called(call.func) for call in calls}

    def _guarded(self, node: ast.AST) -> bool:
        """Whether a value is created only on first use: under `if x is None`, `if not x`, `if not hasattr(...)`."""
        statement = node
        while not isinstance(statement, ast.stmt):
            statement = self._module.parents[statement]
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            return False
        above = self._module.parents.get(statement)
        while above is not None and above is not self._node:
            if isinstance(above, ast.If) and _asks_for_nothing(above.test):
                return True
            above = self._module.parents.get(above)
        return False

    def _is_memo(self, name: str) -> bool:
        """Whether a dict is only a cache of computed values: stored once, and read under its key."""
        if name not in self._module.containers | self._defaults:
            return False
        if name not in self._memos:  # called for every statement that writes it
            self._memos[name] = self._holds_results(name)
        return self._memos[name]

    def _holds_results(self, name: str) -> bool:
        nodes = self._module.uses.get(name, [])
        if name in self._defaults:
            nodes = [part for part in self._nodes if isinstance(part, ast.Name) and part.id == name]
        uses = {self._use(part) for part in nodes if not self._is_definition(part)}
        return {"store", "read"} <= uses <= {"store", "read", "search", "trim"}

    def _is_definition(self, node: ast.Name) -> bool:
        """Whether this is the top-level definition of the name."""
        statement = self._module.parents.get(node)
        return isinstance(node.ctx, ast.Store) and isinstance(statement, ast.Assign | ast.AnnAssign)

    def _use(self, node: ast.Name) -> str:
        parent = self._module.parents[node]
        if isinstance(parent, ast.Subscript):
            return "read" if isinstance(parent.ctx, ast.Load) else self._stored(parent, node.id)
        if isinstance(parent, ast.Compare) and all(isinstance(op, ast.In | ast.NotIn) for op in parent.ops):
            return "search"
        if isinstance(parent, ast.Attribute):
            return {"get": "read", "clear": "trim", "popitem": "trim"}.get(parent.attr, "other")
        is_len = (
            isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "len"
        )
        return "trim" if is_len and self._only_trims(parent) else "other"

    def _stored(self, target: ast.Subscript, name: str) -> str:
        statement = self._module.parents[target]
        # `a = CACHE[key] = ...` too; a constant only records that a row was seen.
        if not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.Constant):
            return "other"
        mentions = any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(statement.value))
        return "other" if mentions else "store"

    def _only_trims(self, call: ast.AST) -> bool:
        """Whether a length is used only to limit a cache."""
        above: Any = self._module.parents.get(call)
        while above is not None and not isinstance(above, ast.stmt):
            above = self._module.parents.get(above)
        if not isinstance(above, ast.If | ast.While) or above.orelse:
            return False
        inner = [
            part.func.attr
            for part in ast.walk(above)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
        ]
        return len(above.body) == 1 and any(name in {"clear", "popitem", "pop"} for name in inner)


def _asks_for_nothing(test: ast.expr) -> bool:
    for part in ast.walk(test):
        if isinstance(part, ast.Compare) and any(isinstance(op, ast.Is) for op in part.ops):
            return True
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            return True
    return False


def _mutable_defaults(nodes: list[ast.AST]) -> Iterator[str]:
    """Names of parameters whose default is a list, dict or set: one object for all calls."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            args = node.args
            positional = [*args.posonlyargs, *args.args]
            pairs = [*zip(reversed(positional), reversed(args.defaults), strict=False)]
            pairs += [
                (arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value
            ]
            for arg, value in pairs:
                empty = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
                if is_container(value) or (empty and value.func.id in _CONTAINERS):  # type: ignore[attr-defined]
                    yield arg.arg


def _bound(nodes: list[ast.AST]) -> set[str]:
    """Names that a function, or one nested in it, binds."""
    names = {part.id for part in nodes if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    names |= {part.arg for part in nodes if isinstance(part, ast.arg)}
    return names | {
        part.name for part in nodes[1:] if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
    }
