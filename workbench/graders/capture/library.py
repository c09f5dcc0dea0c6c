"""Changed state of the standard library that a grader reads and that cannot be captured.

Detected, and refused: plain values of a module that the source names (`math.tau = 1.0`), compared with those
in the sandbox; the decimal context; the locale's categories; `random.seed` in a cell, if the
source draws from the shared generator.

Not detected: changed containers and objects (`html.entities.html5`, `random.setstate`), changes through
another module or after the capture, and functions replaced by others of the standard library.
"""

from __future__ import annotations

import ast
import locale
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.core.errors import CaptureError
from workbench.graders.capture.cells import CellText
from workbench.graders.capture.modules import ModuleOwner, owner_of
from workbench.graders.capture.names import chains_in
from workbench.graders.capture.statements import parsed

__all__ = ["library_values", "refuse_library_state"]

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
    outer = [node for node in tree.body if not isinstance(node, _DEFINITIONS)] if tree else []
    calls = [part for node in outer for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(isinstance(call.func, ast.Attribute | ast.Name) and _is_seed(call.func) for call in calls)


_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


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
