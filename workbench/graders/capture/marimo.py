"""Cells of a marimo notebook.

marimo compiles them under the notebook's file, or a temporary name, whose text may be older than the running code; the
executed text is in its runtime, for which it has no public name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["marimo_cells", "private_names"]

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
