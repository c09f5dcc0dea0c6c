"""Origin of modules and objects, and the import line that gives them."""

from __future__ import annotations

import ast
import builtins
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from workbench.core.errors import CaptureError
from workbench.graders.capture.cells import CellText
from workbench.graders.capture.refusals import MISSING
from workbench.graders.capture.source_edit import parsed, statements
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
