"""Rows with the columns of another file: the requests of a batch, the items of an eval, the prompts of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from workbench.core.display_text import counted
from workbench.core.errors import SamplesError
from workbench.data.samples.plain import is_missing
from workbench.data.samples.repeated_rows import cells_as_column
from workbench.data.samples.source_file import Loaded

_KEYS = (
    "custom_id", "key", "recordId", "id", "question_id", "task_id", "instance_id", "prompt_id", "example_id", "doc_id", "sample_id", "uid", "idx",
)  # fmt: skip
"""Columns that identify a request, an item or a prompt; the first one that both files have is used."""


def joined(loaded: Loaded, other: Loaded, source: str, name: str) -> Loaded:
    """The rows with the columns of other rows that have the same id; no row is added or removed.

    Columns that both have keep their own cells. An object `item` of the other rows, as in OpenAI's evals, becomes a column per key.

    Args:
        loaded: The rows.
        other: The rows with further columns: each id once.
        source: Where the rows are from, for errors.
        name: Where the others are from.

    Raises:
        SamplesError: Lazily read rows, no common id, an id that occurs twice in the other rows, or no common value.
    """
    left, right = loaded.frame, other.frame
    if not isinstance(left, pd.DataFrame) or not isinstance(right, pd.DataFrame):
        raise SamplesError(
            "rows that are read on demand cannot be joined",
            where=source,
            hint="read them in memory: without lazy=True",
        )
    key = _key(left, right)
    if key is None:
        raise SamplesError(
            "the two files have no common id", where=f"{source} and {name}", found=f"columns {_listed(left)} and {_listed(right)}",
            expected="a column of the same name in both, one of " + ", ".join(_KEYS), hint="rename the column of the ids in one of them",
        )  # fmt: skip
    places: dict[str, int] = {}
    for place, cell in enumerate(right[key]):
        if not is_missing(cell) and places.setdefault(str(cell), place) != place:
            raise SamplesError(
                "an id occurs twice in the joined file",
                where=f"{name}, column {key!r}",
                found=repr(str(cell)[:80]),
                expected="each id once",
            )
    found = [None if is_missing(cell) else places.get(str(cell)) for cell in left[key]]
    n_found = sum(place is not None for place in found)
    if len(left) and not n_found:
        raise SamplesError(
            "no row has an id of the joined file", where=f"{source} and {name}, column {key!r}",
            found=f"{str(left[key].iloc[0])[:60]!r} and {str(right[key].iloc[0])[:60]!r}" if len(right) else "no rows in the joined file", expected="the same ids",
        )  # fmt: skip
    new = {
        column: cells_as_column([None if place is None else cells[place] for place in found], left.index)
        for column, cells in _columns(right).items()
        if column not in left.columns
    }
    note = f"{n_found:,} of {counted(len(left), 'row')} joined with {name} by {key!r}: columns {', '.join(map(repr, new)) or '(none)'}"
    notes = (note,) if n_found < len(left) else ()
    return replace(loaded, frame=left.assign(**new), notes=(*loaded.notes, *notes))


def _key(left: pd.DataFrame, right: pd.DataFrame) -> str | None:
    return next((name for name in _KEYS if name in left.columns and name in right.columns), None)


def _columns(frame: pd.DataFrame) -> dict[str, Sequence[Any]]:
    """The cells of each column, those of objects `item` by their keys."""
    columns: dict[str, Sequence[Any]] = {str(name): frame[name].tolist() for name in frame.columns}
    cells = columns.get("item", ())
    if cells and all(isinstance(cell, Mapping) for cell in cells):
        del columns["item"]
        for key in dict.fromkeys(str(key) for cell in cells for key in cell):
            columns.setdefault(key, [cell.get(key) for cell in cells])
    return columns


def _listed(frame: pd.DataFrame) -> str:
    return ", ".join(repr(str(name)) for name in list(frame.columns)[:12])
