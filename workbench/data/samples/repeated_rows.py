"""Rows that are repeated, one for each of their completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.data.samples.source_file import Loaded


def group_names(frame: pd.DataFrame, column: str | None, rows: NDArray[np.intp]) -> list[str]:
    """The group of one row's completions: its id, or its number."""
    names = (
        [str(row) for row in range(len(frame))] if column is None else [str(cell) for cell in frame[column]]
    )
    return [names[row] for row in rows.tolist()]


def repeated(loaded: Loaded, frame: pd.DataFrame, rows: NDArray[np.intp]) -> Loaded:
    """The rows at these positions, with their lines and faults; renumbered if the index carries no information."""
    own = frame.iloc[rows]
    if frame.index.nlevels == 1 and frame.index.name is None:
        own = own.reset_index(drop=True)
    lines = None if loaded.lines is None else [loaded.lines[row] for row in rows.tolist()]
    faults = {at: loaded.faults[row] for at, row in enumerate(rows.tolist()) if row in loaded.faults}
    old = {name: [scores[row] for row in rows.tolist()] for name, scores in loaded.old.items()}
    return Loaded(own.copy(), lines, faults, old, loaded.shape)


def cells_as_column(cells: Sequence[Any], index: pd.Index[Any]) -> pd.Series[Any]:
    """Cells as separate objects: pandas would make a table of equally long lists."""
    values = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        values[at] = cell
    return pd.Series(values, index=index, dtype=object)
