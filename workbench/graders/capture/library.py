"""What a grader reads that its text does not name: changed state of the standard library, and names in evaluated texts."""

from __future__ import annotations

import ast
import locale
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.python_text import parse
from workbench.graders.capture import refusals
from workbench.graders.capture.cells import CellText
from workbench.graders.capture.modules import ModuleOwner, owner_of
from workbench.graders.capture.source_edit import Definition, Names, chains_in, names_in, parsed

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
