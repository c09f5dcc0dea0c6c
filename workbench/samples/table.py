"""The data behind a `Samples`: one frame, the roles of its columns, what is known of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.errors import SamplesError
from workbench.samples.cells import EMPTY, Built, Fault, build, clean, prompt_key
from workbench.samples.columns import check_frame, metadata_columns, recognise
from workbench.samples.plain import plain, text

__all__ = ["Loaded", "Rows", "Table"]

Rows = NDArray[np.intp]

_SCAN = 512


@dataclass(frozen=True)
class Loaded:
    """What a reader hands over.

    Attributes:
        frame: The rows.
        lines: Line number in the file of each row, counted from 1; None where the file has no lines.
        faults: Row to what is wrong with its line, for rows kept although their line is broken.
    """

    frame: pd.DataFrame
    lines: Sequence[int] | None = None
    faults: Mapping[int, Fault] = field(default_factory=dict)


class Table:
    """A private copy of a frame whose columns have roles. Every view of one dataset shares it."""

    def __init__(self, loaded: Loaded, columns: Mapping[str, str | None] | None, source: str) -> None:
        names = check_frame(loaded.frame, source)
        self.roles = recognise(names, columns, source=source)
        self.metadata = metadata_columns(names, self.roles)
        self.source = source
        self.frame = loaded.frame.copy()
        self._loaded = loaded
        self._position = {name: position for position, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.frame)

    def cells(self, column: str, rows: Rows | None) -> list[Any]:
        """The cells of one column, all rows or those asked for."""
        series = self.frame.iloc[:, self._position[column]]
        return list((series if rows is None else series.iloc[rows]).tolist())

    def role(self, role: str, rows: Rows | None) -> list[Any] | None:
        """The cells of a role's column; None where the role has no column."""
        return self.cells(self.roles[role], rows) if role in self.roles else None

    def build(self, rows: Rows | None) -> Built:
        """The threads of some rows, and the faults among them."""
        cells = {role: self.cells(name, rows) for role, name in self.roles.items() if role != "reference"}
        metadata = {name: self.cells(name, rows) for name in self.metadata}
        count = len(self) if rows is None else len(rows)
        built = build(cells, metadata, names=self.roles, rows=count)
        return self._with_line_faults(built, rows) if self._loaded.faults else built

    def _with_line_faults(self, built: Built, rows: Rows | None) -> Built:
        numbers = range(len(self)) if rows is None else rows.tolist()
        known = self._loaded.faults
        faults = {at: known[row] for at, row in enumerate(numbers) if row in known}
        wires = [EMPTY if at in faults else wire for at, wire in enumerate(built.wires)]
        return Built(wires, dict(sorted({**built.faults, **faults}.items())))

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """Text (n,), every one once: the second row called "a" is "a#2"; a row without an id has its number."""
        given = self.role("id", None)
        if given is None:
            return _objects([str(row) for row in range(len(self))])
        names = [str(row) if name is None else name for row, name in enumerate(clean(given, text, ""))]
        return _objects(_unique(names))

    def groups(self, rows: Rows | None) -> NDArray[np.object_]:
        """Text (n,): the group column, else the prompt, else the row's own id."""
        ids = self.ids if rows is None else self.ids[rows]
        given = self.role("group", rows)
        groups = [None] * len(ids) if given is None else clean(given, text, "")
        if None in groups:
            keys = map(prompt_key, self.build(rows).wires)
            groups = [key if group is None else group for group, key in zip(groups, keys, strict=True)]
        return _objects([name if group is None else group for group, name in zip(groups, ids, strict=True)])

    def references(self, rows: Rows | None) -> NDArray[np.object_]:
        """Plain values (n,), None where missing."""
        given = self.role("reference", rows)
        count = len(self) if rows is None else len(rows)
        return _objects([None] * count if given is None else clean(given, plain, ""))

    def place(self, row: int, column: str = "") -> str:
        """Where a row is, in words: file, row, line, column."""
        lines = self._loaded.lines
        line = f" (line {lines[row]})" if lines is not None else ""
        parts = (self.source, f"row {row}{line}", f"column {column!r}" if column else "")
        return ", ".join(part for part in parts if part)

    def error(self, row: int, fault: Fault) -> SamplesError:
        """The error that one row's fault is."""
        names = ", ".join(repr(str(name)) for name in self.frame.columns[:30])
        return SamplesError(
            f"row {row} cannot be read",
            where=self.place(row, fault.column),
            found=fault.found,
            expected=fault.expected,
            hint=f"mend the cell, or map another column; there are {names}",
        )

    def check_some_row_reads(self) -> None:
        """Refuse a dataset of which not one row can be read.

        Stops at the first good row, so that a healthy dataset pays for one slice.

        Raises:
            SamplesError: The first row's fault.
        """
        first: Fault | None = None
        for start in range(0, len(self), _SCAN):
            rows = np.arange(start, min(start + _SCAN, len(self)), dtype=np.intp)
            faults = self.build(rows).faults
            if len(faults) < len(rows):
                return
            first = first or faults[0]
        if first is not None:
            raise self._nothing_reads(first)

    def _nothing_reads(self, first: Fault) -> SamplesError:
        error = self.error(0, first)
        return SamplesError(
            f"none of the {len(self)} rows can be read" if len(self) > 1 else error.what,
            where=error.where,
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        )


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    # Filled one by one: numpy would make a table of equally long lists.
    result = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        result[row] = value
    return result


def _unique(names: Sequence[str]) -> list[str]:
    if len(set(names)) == len(names):
        return list(names)
    given, used, count = set(names), set[str](), dict[str, int]()
    result = []
    for name in names:
        fresh = name
        while fresh in used or (fresh != name and fresh in given):
            count[name] = count.get(name, 1) + 1
            fresh = f"{name}#{count[name]}"
        used.add(fresh)
        result.append(fresh)
    return result
