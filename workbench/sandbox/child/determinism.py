"""Constructs in a source's text that make a row's score depend on more than the row. Loaded by its path.

Standard library only. Two causes are searched for: *state* between rows (a global that is written, a list that grows, an
iterator that advances) and *chance* (random, clock, uuid, hash of a text, order of a set). A text shows only part of this;
the host grades rows again for the rest (`host.determinism`). That check finds neither `hash()` of a text nor the order of a
set, since the sandbox fixes both, and cannot name a line.

Of a Python module, the functions that `grade` reaches are read. Harmless constructs are not reported: tables, compiled
patterns, `functools.lru_cache`, a dict used only as a cache, values computed on first use, `random.Random(seed)` inside a
function, and sets that are only searched or counted. A script is not parsed: comments and texts are blanked, braces are
counted, and only top-level `let` and `var` that are written inside braces are reported.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_WARNINGS = 4
"""Maximum number of warnings for one module."""
_CONTAINERS = frozenset("list dict set bytearray deque defaultdict Counter OrderedDict collections.deque "
    "collections.defaultdict collections.Counter collections.OrderedDict".split())  # fmt: skip
_ITERATORS = frozenset(("iter", "itertools.count", "itertools.cycle", "itertools.repeat"))
_CHANGES = frozenset(
    "append appendleft extend extendleft insert add update discard remove pop popleft popitem clear setdefault "
    "sort reverse rotate subtract intersection_update difference_update symmetric_difference_update".split()
)
_GENERATORS = frozenset(("random.Random", "random.SystemRandom"))
"""Classes whose instances generate random numbers."""
_CLOCK = frozenset(
    "time.time time.time_ns time.monotonic time.monotonic_ns time.perf_counter time.perf_counter_ns time.process_time "
    "time.process_time_ns time.thread_time datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today "
    "datetime.date.today".split()
)
_NOW_WITHOUT = {"time.localtime": 0, "time.gmtime": 0, "time.ctime": 0, "time.asctime": 0, "time.strftime": 1}
"""Functions that read the clock if they get at most this number of arguments."""
_DRAWS = frozenset("uuid.uuid1 uuid.uuid4 os.urandom os.getrandom os.getpid".split())
_SET_ORDER = (
    "takes the first element of a set, whose order of texts differs between processes (sorted() orders it)"
)
_NO_DRAW = frozenset("random.seed random.getstate random.setstate".split())
_TRIMS = frozenset(("clear", "popitem", "pop"))


def module_warnings(tree: ast.Module, root: str | None) -> list[str]:
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
    return [f"line {line}: {sentence}" for line, sentence in sorted(found.values())[:_MAX_WARNINGS]]


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
        if _is_container(value) or called in _CONTAINERS:
            self.containers |= names
        elif isinstance(value, ast.GeneratorExp) or called in _ITERATORS:
            self.iterators |= names
        elif called in _GENERATORS:
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

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that contain a node, innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

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
                if isinstance(part, ast.Call) and (cause := _Chance(self, set(), seeded=False).of(part)):
                    yield part.lineno, ("chance", cause), f"every worker {cause} when it loads the module"


def _is_container(value: ast.expr) -> bool:
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
        chance = _Chance(self._module, self._locals, seeded=self._seeds("random.seed"))
        for part in self._nodes:
            if isinstance(part, ast.Call) and (cause := chance.of(part)):
                sentence = f"{self._name} {cause}, so that a row's score may differ from run to run"
                yield part.lineno, ("chance", cause), sentence

    def _state(self, what: str) -> str:
        return (
            f"{self._name} {what}, which persists between rows of one worker: a score may depend on the rows before it, "
            f"and on the number of workers; create what a row needs inside {self._name}"
        )

    def _written(self, part: ast.AST) -> tuple[str, str]:
        """The name of an object that outlives the row and is changed here, and how; two empty texts otherwise."""
        if isinstance(part, ast.Name):
            written = isinstance(part.ctx, ast.Store) and part.id in self._globals
            is_fault = written and not self._guarded(part)
            return (part.id, f"writes the global {part.id}") if is_fault else ("", "")
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            return self._of(part.value, "changes")
        if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
            name = self._outer(part.value, self._module.names)
            is_fault = name != "" and not self._guarded(part)
            return (f"{name}.{part.attr}", f"sets {name}.{part.attr}") if is_fault else ("", "")
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
        above = self._module.above(node)
        if not isinstance(
            next(part for part in above if isinstance(part, ast.stmt)), ast.Assign | ast.AnnAssign
        ):
            return False
        inside = itertools.takewhile(lambda part: part is not self._node, above)
        return any(isinstance(part, ast.If) and _asks_for_nothing(part.test) for part in inside)

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
        is_len = isinstance(parent, ast.Call) and self._module.called(parent.func) == "len"
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
        statement = next((part for part in self._module.above(call) if isinstance(part, ast.stmt)), None)
        if not isinstance(statement, ast.If | ast.While) or statement.orelse or len(statement.body) > 1:
            return False
        calls = (part.func for part in ast.walk(statement) if isinstance(part, ast.Call))
        return any(isinstance(func, ast.Attribute) and func.attr in _TRIMS for func in calls)


def _asks_for_nothing(test: ast.expr) -> bool:
    return any(
        (isinstance(part, ast.Compare) and any(isinstance(op, ast.Is) for op in part.ops))
        or (isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not))
        for part in ast.walk(test)
    )


def _mutable_defaults(nodes: list[ast.AST]) -> Iterator[str]:
    """Names of parameters whose default is a list, dict or set: one object for all calls."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            args = node.args
            positional = [*args.posonlyargs, *args.args]
            pairs = [*zip(reversed(positional), reversed(args.defaults), strict=False)]
            pairs += zip(args.kwonlyargs, args.kw_defaults, strict=True)  # type: ignore[arg-type]  # None: no default
            for arg, value in pairs:
                empty = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
                if _is_container(value) or (empty and value.func.id in _CONTAINERS):  # type: ignore[attr-defined]
                    yield arg.arg


def _bound(nodes: list[ast.AST]) -> set[str]:
    """Names that a function, or one nested in it, binds."""
    names = {part.id for part in nodes if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    names |= {part.arg for part in nodes if isinstance(part, ast.arg)}
    return names | {
        part.name for part in nodes[1:] if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
    }


class _Chance:
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
        if not name.startswith("random.") or name in _NO_DRAW or (name in _GENERATORS and call.args):
            return ""
        return "" if self._seeded else f"draws random values ({name})"

    def _builtin(self, name: str, call: ast.Call) -> str:
        if name in self._module.names or not call.args:
            return ""
        in_hash = any(getattr(part, "name", "") == "__hash__" for part in self._module.above(call))
        if name == "hash" and not isinstance(call.args[0], ast.Constant) and not in_hash:
            return "uses hash(), which differs between processes for a text, except in this sandbox (use hashlib instead)"
        if name == "id" and self._computes(call):
            return "computes with id(), which is a memory address"
        return ""

    def _computes(self, call: ast.Call) -> bool:
        """Whether a number is computed from an id, as opposed to a set of seen objects."""
        parent = self._module.parents.get(call)
        if isinstance(parent, ast.Call):
            return self._module.called(parent.func) in ("int", "float", "str", "hash", "repr")
        return isinstance(parent, ast.BinOp | ast.Return | ast.FormattedValue)

    def _set_order(self, call: ast.Call) -> str:
        """Whether the code takes the first or an arbitrary element of a set, or makes a sequence of its elements."""
        function = call.func
        if isinstance(function, ast.Attribute):
            if function.attr == "pop" and not call.args and self._is_set(function.value):
                return _SET_ORDER
            joins = function.attr == "join" and isinstance(function.value, ast.Constant) and call.args
            return _SET_ORDER if joins and self._is_set(call.args[0]) else ""
        if not isinstance(function, ast.Name) or not call.args:
            return ""
        inner = call.args[0]
        if (
            function.id == "next"
            and isinstance(inner, ast.Call)
            and self._module.called(inner.func) == "iter"
        ):
            return _SET_ORDER if inner.args and self._is_set(inner.args[0]) else ""
        picked = isinstance(self._module.parents.get(call), ast.Subscript)
        return _SET_ORDER if function.id in {"list", "tuple"} and picked and self._is_set(inner) else ""

    def _is_set(self, node: ast.expr) -> bool:
        """Whether an expression is certainly a set of unknown elements."""
        if isinstance(node, ast.Set):
            return any(
                not isinstance(part, ast.Constant) or isinstance(part.value, str) for part in node.elts
            )
        return isinstance(node, ast.SetComp) or (
            isinstance(node, ast.Call)
            and self._module.called(node.func) in {"set", "frozenset"}
            and bool(node.args)
        )


_BLANK = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`", re.DOTALL
)
_CHANCE = re.compile(r"\bMath\.random\s*\(|\bDate\.now\s*\(|\bnew\s+Date\s*\(\s*\)")
_TOP = re.compile(r"\b(?:let|var)\s+([A-Za-z_$][\w$]*)")
_WRITTEN = r"(?<![\w$.])(?:{0}\s*(?:[-+*/%&|^]=|\+\+|--|=(?!=))|(?:\+\+|--)\s*{0})(?![\w$])?"
_LOCAL = r"\b(?:let|var|const)\s+{0}\b|[(,]\s*{0}\s*[,)]"
_MAX_SCRIPT_WARNINGS = 3


def script_warnings(text: str) -> list[str]:
    """Sentences with their lines; none for a script without state or randomness."""
    code = _BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found = []
    for match in list(_CHANCE.finditer(code))[:1]:
        what = "draws random values (Math.random)" if "random" in match[0] else "reads the clock"
        found.append(
            f"line {_line(code, match.start())}: the script {what}, so that a row's score may differ from run to run"
        )
    for name, at in _written_globals(code):
        found.append(
            f"line {_line(code, at)}: the script writes the top-level variable {name}, which persists between rows of one "
            f"worker: a score may depend on the rows before it, and on the number of workers"
        )
    return found[:_MAX_SCRIPT_WARNINGS]


def _written_globals(code: str) -> list[tuple[str, int]]:
    depths = _depths(code)
    top = {match[1] for match in _TOP.finditer(code) if depths[match.start()] == 0}
    found = []
    for name in sorted(top):
        escaped = re.escape(name)
        # Declared again inside, or a parameter: the text does not show which of the two is written.
        if any(
            depths[match.start()] > 0 or match[0][0] in "(,"
            for match in re.finditer(_LOCAL.format(escaped), code)
        ):
            continue
        written = (match.start() for match in re.finditer(_WRITTEN.format(escaped), code))
        first = next((at for at in written if depths[at] > 0), None)
        if first is not None:
            found.append((name, first))
    return found


def _depths(code: str) -> list[int]:
    """Number of open braces at each character."""
    depth, depths = 0, []
    for character in code:
        depth -= character == "}"
        depths.append(depth)
        depth += character == "{"
    return depths


def _line(code: str, at: int) -> int:
    return code.count("\n", 0, at) + 1
