"""The texts of executed cells, in IPython and in marimo.

IPython compiles a cell under a generated file name and stores its text in `linecache`, transformed (magics
have become calls). That cache can be emptied (`linecache.clearcache`), shares one name between cells under
some settings, and has no entry for `%%time`; so an event records each cell before it runs, and the cache is the fallback.
marimo compiles cells under the notebook's file, or a temporary name, whose text may be older than the running code; the
executed text is in its runtime, for which it has no public name.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CELL_MARKS = ("<ipython-input", "<python-input")
_TIMED = "<timed exec>"


@dataclass(frozen=True, slots=True)
class CellText:
    """One text that was executed.

    Attributes:
        text: The compiled text: magics are calls here.
        filename: The name under which it was compiled.
        label: For users: "cell 3", "a cell", "graders.py".
    """

    text: str
    filename: str
    label: str


_records: dict[int, tuple[Mapping[str, Any], list[CellText]]] = {}
"""By the id of a shell's namespace, which is stored with its texts so that the id remains unique."""


def install(ip: Any = None) -> bool:
    """Start to record the cells of a shell; calling it again changes nothing.

    Args:
        ip: An IPython shell; the running one by default.

    Returns:
        Whether cells are recorded now.
    """
    shell = ip if ip is not None else _running_shell()
    if shell is None:
        return False
    namespace = shell.user_global_ns
    if id(namespace) not in _records:
        _records[id(namespace)] = (namespace, [])
        shell.events.register("pre_run_cell", lambda info: _remember(shell, info))
    return True


def texts_for(namespace: Mapping[str, Any]) -> list[CellText]:
    """Every text that may have filled a namespace, oldest first: cells, or the module's file."""
    recorded = _recorded(namespace)
    filenames = {text.filename for text in recorded}
    cached = [text for text in _cached_cells(namespace) if text.filename not in filenames]
    filename = namespace.get("__file__")
    from_file = file_text(filename) if isinstance(filename, str) else None
    return [*([from_file] if from_file else []), *cached, *_of_marimo(namespace), *recorded]


def texts_named(filename: str, namespace: Mapping[str, Any]) -> list[CellText]:
    """The texts compiled under a file name, newest first."""
    recorded = [text for text in reversed(_recorded(namespace)) if text.filename == filename]
    texts = [*recorded, *_of_marimo(namespace), *filter(None, [_cached(filename), _on_disk(filename)])]
    return list({text.text: text for text in texts}.values())


def file_text(filename: str) -> CellText | None:
    """A file's text as Python loaded it if that is still known, else the current text on disk."""
    return _cached(filename) or _on_disk(filename)


def _recorded(namespace: Mapping[str, Any]) -> list[CellText]:
    record = _records.get(id(namespace))
    return record[1] if record is not None else []


def _of_marimo(namespace: Mapping[str, Any]) -> list[CellText]:
    return [CellText(text, f"<marimo cell {name}>", "a cell") for name, text in marimo_cells(namespace)]


def _running_shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def _remember(shell: Any, info: Any) -> None:
    """Record one cell. Exceptions are suppressed, because they would appear in the user's notebook."""
    try:
        _recorded(shell.user_global_ns).extend(_texts_of_cell(shell, info.raw_cell, bool(info.store_history)))
    except Exception:  # noqa: BLE001
        return


def _texts_of_cell(shell: Any, raw: str, counted: bool) -> list[CellText]:
    number = shell.execution_count
    label = f"cell {number}" if counted else "a cell"
    head, _, body = raw.lstrip().partition("\n")
    if head.startswith("%%time"):
        return [CellText(shell.transform_cell(body), _TIMED, label)]
    transformed = shell.transform_cell(raw)
    return [CellText(transformed, _cell_name(shell, raw, transformed, number), label)]


def _cell_name(shell: Any, raw: str, transformed: str, number: int) -> str:
    if hasattr(shell.compile, "get_code_name"):
        return str(shell.compile.get_code_name(raw, transformed, number))
    from IPython.core.compilerop import code_name

    return str(code_name(transformed, number))  # IPython 7, as on Colab


def _cached_cells(namespace: Mapping[str, Any]) -> list[CellText]:
    shell = _running_shell()
    is_shell_namespace = shell is not None and shell.user_global_ns is namespace
    if not is_shell_namespace and namespace.get("__name__") != "__main__":
        return []
    # A copy: another thread may be adding to the cache.
    names = [name for name in list(linecache.cache) if _is_cell(name)]
    return [text for text in map(_cached, names) if text is not None]


def _is_cell(name: str) -> bool:
    path = Path(name)
    return (
        name.startswith(_CELL_MARKS)
        or path.parent.name.startswith("ipykernel_")
        or path.name.startswith("__marimo__cell_")
    )


def _cached(filename: str) -> CellText | None:
    # Only the cached text: for other names getlines would read the current file.
    lines = linecache.getlines(filename) if filename in linecache.cache else []
    return CellText("".join(lines), filename, _label(filename)) if lines else None


def _on_disk(filename: str) -> CellText | None:
    if filename.startswith("<") or not Path(filename).is_file():
        return None
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    return CellText("".join(lines), filename, _label(filename)) if lines else None


def _label(filename: str) -> str:
    if not _is_cell(filename):
        return Path(filename).name
    compiler = getattr(_running_shell(), "compile", types.SimpleNamespace())
    number = getattr(compiler, "_filename_map", {}).get(filename)
    return "a cell" if number is None else f"cell {number}"


_PRIVATE = re.compile(r"_cell_[A-Za-z]{4}_\w+")


def marimo_cells(namespace: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The name and the text of each cell of the marimo notebook that defines a namespace; none elsewhere."""
    runtime = sys.modules.get("marimo._runtime.context")
    if runtime is None:
        return []
    try:
        context = runtime.get_context()
        if context.globals is not namespace:
            return []
        return [(str(cell.cell_id), str(cell.code)) for cell in list(context.graph.cells.values())]
    except Exception:  # noqa: BLE001 (another marimo version, or not in a notebook: file texts remain)
        return []


def private_names(names: Iterator[str]) -> list[str]:
    """Names of a function that marimo made private to a cell, in their original form."""
    return [name[len("_cell_xxxx") :] for name in names if _PRIVATE.fullmatch(name)]
