"""Modules that a grader reads: the owner of each, the import line that gives it, and changed state of the standard library."""

from __future__ import annotations

import ast
import builtins
import locale
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.python_text import parse
from workbench.graders.capture import refusals
from workbench.graders.capture.cell_texts import CellText
from workbench.graders.capture.refusals import MISSING
from workbench.graders.capture.source_edit import Definition, Names, chains_in, names_in, parsed, statements
from workbench.sandbox.host.program import OWN_PROCESS_HINT

_OURS = frozenset({"workbench", "adaptive_harmony"})
GIVEN = ("StringThread", "Grade", "Skip")
"""Names of the workbench that graders can import where they run."""
# IPython and `site` add these to the builtins; they are not Python's own.
_NOT_BUILTIN = frozenset(
    {"get_ipython", "display", "exit", "quit", "copyright", "credits", "license", "help"}
)
# A kernel replaces these two by its own functions.
_REPLACED = frozenset({"input", "open"})


class ModuleOwner(Enum):
    """The owner of a module."""

    LIBRARY = "the standard library"
    OURS = "the workbench"
    COMPATIBLE = "a package that the sandbox replaces"
    THIRD_PARTY = "an installed package"
    LOCAL = "a local file"


COMPATIBLE = frozenset({"letta_evals", "osmosis_ai"})
"""Packages for which the sandbox has replacement classes."""
_IMPORTABLE = frozenset({ModuleOwner.LIBRARY, ModuleOwner.OURS, ModuleOwner.COMPATIBLE})
"""What graders can import."""


@dataclass(frozen=True, slots=True, order=True)
class Import:
    """One import line for one name: `import module as name` or `from module import attribute as name`."""

    module: str
    attribute: str = ""
    name: str = ""

    def __str__(self) -> str:
        if not self.attribute:
            return f"import {self.module}" + (f" as {self.name}" if self.name else "")
        own = "" if self.name in {"", self.attribute} else f" as {self.name}"
        return f"from {self.module} import {self.attribute}{own}"

    @property
    def binds(self) -> str:
        """The name the line sets."""
        return self.name or self.attribute or self.module.partition(".")[0]

    def gives(self) -> Any:
        """The value it has here; nothing is imported for this. `MISSING` if unknown."""
        if not self.attribute:
            return sys.modules.get(self.module if self.name else self.module.partition(".")[0], MISSING)
        submodule = sys.modules.get(f"{self.module}.{self.attribute}", MISSING)
        return getattr(sys.modules.get(self.module), self.attribute, submodule)


def owner_of(module: str | None) -> ModuleOwner:
    """The owner of a module by its dotted name. `__main__` and unknown names count as the user's."""
    top = (module or "__main__").partition(".")[0]
    if top in _OURS:
        return ModuleOwner.OURS
    if top in COMPATIBLE:
        return ModuleOwner.COMPATIBLE
    loaded = sys.modules.get(top)
    origin = getattr(loaded, "__file__", None) or ""
    if top in sys.stdlib_module_names and not _shadows(origin):
        return ModuleOwner.LIBRARY
    return ModuleOwner.THIRD_PARTY if _is_installed(origin) else ModuleOwner.LOCAL


def import_of(name: str, value: Any, texts: Sequence[CellText]) -> Import | None:
    """The import line for `value` under `name`: the user's line if it still gives that object, else one from its module and name.

    Only the standard library and the workbench's `StringThread`, `Grade` and `Skip` can be imported where graders run.
    """
    if _is_foreign(value):
        return None
    for import_ in _imports_in_texts(name, texts):
        if import_.gives() is value and _available(import_):
            return _normal(import_)
    guessed = _guessed_import(name, value)
    return (
        _normal(guessed) if guessed is not None and guessed.gives() is value and _available(guessed) else None
    )


def submodules(name: str, module: types.ModuleType, chains: Sequence[tuple[str, ...]]) -> set[Import]:
    """Import lines for the submodules that dotted names access through a package."""
    imports = set()
    for chain in chains:
        path, owner = module.__name__, module
        for part in chain[1:] if chain[0] == name else ():
            inner = getattr(owner, part, None)
            if not isinstance(inner, types.ModuleType) or inner.__name__ != f"{path}.{part}":
                break
            path, owner = inner.__name__, inner
        if path != module.__name__:
            imports.add(Import(path))
    return imports


def is_replaced(module: types.ModuleType, path: Sequence[str]) -> bool:
    """Whether an attribute of a standard module was replaced by a function or class of the user's."""
    value: Any = module
    for part in path:
        if not isinstance(value, types.ModuleType):
            return False
        value = getattr(value, part, None)
    return owner_of(module.__name__) is ModuleOwner.LIBRARY and _is_foreign(value)


def is_builtin(name: str) -> bool:
    """Whether Python itself provides a name everywhere; a notebook adds more."""
    if name in _NOT_BUILTIN or (name.startswith("__") and name not in {"__debug__", "__import__"}):
        return False
    value = getattr(builtins, name, ...)
    module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "builtins")
    return hasattr(builtins, name) and (name in _REPLACED or owner_of(module) is ModuleOwner.LIBRARY)


def refuse_module(module: str, name: str, where: str) -> None:
    """Require that graders can import a module.

    Raises:
        CaptureError: A third-party or local module, with a hint.
    """
    owner = owner_of(module)
    if module.startswith(".") or module.partition(".")[0] == "__main__":
        owner = ModuleOwner.LOCAL
    if owner in _IMPORTABLE:
        return
    top = module.partition(".")[0] or module
    if owner is ModuleOwner.LOCAL and top not in sys.modules:
        owner = ModuleOwner.THIRD_PARTY  # not loaded here, so its owner is unknown
    hints = {
        ModuleOwner.LOCAL: f"import the functions themselves (from {top} import ...), which captures their source",
        ModuleOwner.THIRD_PARTY: OWN_PROCESS_HINT,
    }
    raise CaptureError(
        f"{top} is not in the standard library",
        where=where,
        found=f"{name} is {owner.value}: {module}" if name != module else f"{module} is {owner.value}",
        expected="the standard library, and StringThread, Grade and Skip of the workbench: graders run where nothing else is installed",
        hint=hints[owner],
    )


def _is_foreign(value: Any) -> bool:
    """Whether a function or class was made outside the standard library and the workbench."""
    if isinstance(value, types.FunctionType):
        return owner_of(value.__globals__.get("__name__")) not in _IMPORTABLE
    return isinstance(value, type) and owner_of(value.__module__) not in _IMPORTABLE


def _available(line: Import) -> bool:
    owner = owner_of(line.module)
    if owner is ModuleOwner.OURS:
        return line.attribute in GIVEN or (not line.attribute and line.module in _OURS)
    return owner in {ModuleOwner.LIBRARY, ModuleOwner.COMPATIBLE}


def _normal(line: Import) -> Import:
    """A workbench class from the package itself, whichever of its modules the user imported it from."""
    own = owner_of(line.module) is ModuleOwner.OURS and bool(line.attribute)
    return replace(line, module=line.module.partition(".")[0]) if own else line


def _imports_in_texts(name: str, texts: Sequence[CellText]) -> Iterator[Import]:
    """Import lines in texts that set a name, newest first; star imports last."""
    nodes = [node for text in reversed(texts) for node in _imports(text)]
    yield from (line for node in nodes for line in _lines(node) if line.binds == name)
    stars = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    yield from (Import(node.module or "", name, name) for node in stars)


def _imports(text: CellText) -> list[ast.Import | ast.ImportFrom]:
    tree = parsed(text.text)
    nodes = statements(tree.body) if tree else ()
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)][::-1]


def _lines(node: ast.Import | ast.ImportFrom) -> list[Import]:
    if isinstance(node, ast.Import):
        return [Import(alias.name, "", alias.asname or "") for alias in node.names]
    module = node.module or ""
    imports = [Import(module, alias.name, alias.asname or alias.name) for alias in node.names]
    return imports if not node.level else []


def _guessed_import(name: str, value: Any) -> Import | None:
    if isinstance(value, types.ModuleType):
        return Import(value.__name__, "", "" if value.__name__ == name else name)
    module, attribute = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(attribute, str) or module == "builtins":
        return None
    # The outermost package first, as users write it: JSONDecoder is of `json.decoder`, and imported from
    # `json`.
    parents = [module.rsplit(".", cut)[0] for cut in range(module.count("."), -1, -1)]
    lines = [Import(parent, attribute, name) for parent in parents]
    return next((line for line in lines if line.gives() is value), None)


def _shadows(origin: str) -> bool:
    """Whether a file elsewhere has a standard library module's name."""
    paths = sysconfig.get_paths()
    roots = {paths["stdlib"], paths["platstdlib"]}
    library = not origin or any(Path(origin).is_relative_to(root) for root in roots)
    return not library or _is_installed(origin)


def _is_installed(origin: str) -> bool:
    return bool({"site-packages", "dist-packages"} & set(Path(origin).parts)) if origin else False


def namespace_of(module: str | None, default: Mapping[str, Any]) -> Mapping[str, Any]:
    """The names of a loaded module, or `default` if it has that namespace."""
    loaded = sys.modules.get(module or "")
    if loaded is None or default.get("__name__") == module:
        return default
    return vars(loaded)


_PLAIN = (bool, int, float, complex, str, bytes)
_CONTEXT = {
    "prec": 28,
    "rounding": "ROUND_HALF_EVEN",
    "Emin": -999999,
    "Emax": 999999,
    "capitals": 1,
    "clamp": 0,
}
"""Python's documented default context, without traps: those raise an error in a row."""
_TRAPS = frozenset({"InvalidOperation", "DivisionByZero", "Overflow"})
_DATES = frozenset({"calendar", "datetime", "time"})
_OWN_GENERATORS = frozenset({"Random", "SystemRandom", "seed"})


def library_values(text: str) -> dict[str, Any]:
    """Plain values of standard modules that a module's text names, by `module.attribute`.

    `sys` is excluded: its values describe the process, and a grader intentionally runs in another one.
    """
    values = {}
    for module, path in _reads(text):
        value: Any = sys.modules.get(module)
        for name in path:
            if not isinstance(value, types.ModuleType):
                break
            # Not getattr, which may run a module's own `__getattr__` and load something.
            owner, value = value.__name__, vars(value).get(name)
            if type(value) in _PLAIN and owner != "sys" and owner_of(owner) is ModuleOwner.LIBRARY:
                values[f"{owner}.{name}"] = value
    return values


def refuse_library_state(text: str, cells: Sequence[CellText]) -> None:
    """Refuse standard library settings of this session that the source reads and does not capture.

    Detected: plain values of a module that the source names (`math.tau = 1.0`), compared with those in the sandbox; the decimal
    context; the locale's categories; `random.seed` in a cell, if the source draws from the shared generator.

    Not detected: changed containers and objects (`html.entities.html5`, `random.setstate`), changes through
    another module or after the capture, and functions replaced by others of the standard library.

    Args:
        text: The built module.
        cells: Texts that defined the namespace.

    Raises:
        CaptureError: With the setting and a hint.
    """
    reads = list(_reads(text))
    modules = {module for module, _ in reads}
    if "decimal" in modules:
        _refuse_context()
    _refuse_locale(modules)
    draws = {path[0] for module, path in reads if module == "random" and path}
    if draws and not draws & _OWN_GENERATORS and any(_seeds(cell.text) for cell in cells):
        raise _changed_setting(
            "random",
            "random.seed(...) in a cell: the draws of a run start in another state",
            "draw inside the function from a separate generator, such as random.Random(7)",
        )


def _reads(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Modules a text imports, each with the dotted names read through it."""
    tree = parsed(text)
    chains = chains_in(text) if tree else []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                module = alias.name if alias.asname else bound
                yield alias.name, ()
                yield from ((module, chain[1:]) for chain in chains if chain[0] == bound)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.module or "", (alias.name,)) for alias in node.names)


def _refuse_context() -> None:
    module = sys.modules.get("decimal")
    if module is None:
        return
    context = module.getcontext()
    settings = {name: getattr(context, name) for name in _CONTEXT}
    changed = [f"{name} = {value!r}" for name, value in settings.items() if value != _CONTEXT[name]]
    traps = {signal.__name__ for signal, enabled in context.traps.items() if enabled}
    changed += ["other traps"] if traps != _TRAPS else []
    if changed:
        raise _changed_setting(
            "decimal.getcontext()",
            ", ".join(changed),
            "use a context inside the function: with decimal.localcontext(decimal.Context(prec=...)): ...; "
            "and restore this one: decimal.setcontext(decimal.Context())",
        )


def _refuse_locale(modules: set[str]) -> None:
    # Python sets the category for characters when it starts; the others stay "C" until code sets them.
    names = ["LC_COLLATE", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"] if "locale" in modules else []
    names = names or (["LC_TIME"] if modules & _DATES else [])
    changed = [
        f"{name} = {current!r}" for name in names if (current := _category(name)) not in {"C", "POSIX"}
    ]
    if changed:
        raise _changed_setting(
            "the locale",
            ", ".join(changed),
            'write the format out instead, and restore this: locale.setlocale(locale.LC_ALL, "C")',
        )


def _category(name: str) -> str:
    # Without a second argument it only reads.
    return locale.setlocale(getattr(locale, name))


def _seeds(text: str) -> bool:
    tree = parsed(text)
    # Only seeds that run with the cell: a seed inside a function only affects that function.
    outer = [node for node in tree.body if not isinstance(node, Definition)] if tree else []
    calls = [part for node in outer for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(isinstance(call.func, ast.Attribute | ast.Name) and _is_seed(call.func) for call in calls)


def _is_seed(node: ast.Attribute | ast.Name) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "seed"
    return node.attr == "seed" and isinstance(node.value, ast.Name) and node.value.id in {"random", "rnd"}


def _changed_setting(setting: str, found: str, hint: str) -> CaptureError:
    return CaptureError(
        f"{setting} was changed in this session",
        found=found,
        expected="the standard library in its initial state, which a grader gets elsewhere",
        hint=hint,
    )


EVALUATES = frozenset({"eval", "exec"})
_SHOWS = frozenset({"vars", "locals", "dir"})


def literals_read(text: str, names: Names, asker: str) -> set[str]:
    """Names that the literal texts evaluated in a statement may read; they may be its own variables.

    Calls are `eval` and `exec` anywhere, `vars`, `locals` and `dir` in a module. A literal text is analysed like code. A call
    with a separate namespace reads nothing of the notebook. Any other call may read any name, as `globals()` may, and is
    refused. Inside a function `vars()` and `locals()` see that function's variables only, so they are allowed. Other ways to
    read a module's names are not detected: frames, `sys.modules["__main__"]`, `builtins.eval`.

    Args:
        text: The statement.
        names: What it reads from its module.
        asker: Who it belongs to, for messages.

    Raises:
        CaptureError: A call that may read any name.
    """
    evaluates, shows = EVALUATES & (names.eager | names.late), _SHOWS & names.eager
    if not evaluates and not shows:
        return set()
    tree = parse(text)
    for call in _calls(tree, shows) if not isinstance(tree.body[0], ast.ClassDef) else ():
        if not call.args:
            raise refusals.not_followed(_name(call), asker)
    direct = list(_calls(tree, evaluates))
    if len(direct) < sum(isinstance(node, ast.Name) and node.id in evaluates for node in ast.walk(tree)):
        raise refusals.not_followed(min(evaluates), asker)  # passed as a value, as in map(eval, texts)
    return {name for call in direct for name in _evaluated_names(call, asker)}


def _calls(tree: ast.AST, names: frozenset[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node


def _name(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Name)
    return call.func.id


def _evaluated_names(call: ast.Call, asker: str) -> set[str]:
    if _has_own_namespace(call):
        return set()
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        raise refusals.not_followed(_name(call), asker)
    if parsed(first.value.strip()) is None:
        return set()  # invalid code fails in the same way in the notebook
    names = names_in(first.value.strip())
    read = {*names.eager, *names.late}
    if read & (EVALUATES | _SHOWS | {"globals"}):
        raise refusals.not_followed(_name(call), asker)
    return read


def _has_own_namespace(call: ast.Call) -> bool:
    keywords = [keyword.value for keyword in call.keywords if keyword.arg == "globals"]
    namespaces = [*call.args[1:2], *keywords]
    return any(not (isinstance(part, ast.Constant) and part.value is None) for part in namespaces)
