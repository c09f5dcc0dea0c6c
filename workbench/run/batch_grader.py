"""A suite as a plain function over batches of rows, for engines with their own cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from workbench.core.errors import SamplesError
from workbench.core.grades import Grades
from workbench.data.samples import Samples
from workbench.data.samples.parquet_columns import to_frame
from workbench.graders.combine import CombiningRule, Entry
from workbench.graders.combine.combined import combine_repeats
from workbench.report.grades_table import GRADE_COLUMNS, grade_columns
from workbench.run.cluster import Plan, shared_address
from workbench.run.part_run import RunSettings, open_judge_run, ready_budget
from workbench.run.whole_run import WholeRun, ending_notes_of

_ADDED = ("status", "score", "passed", "reasoning", "error_kind", "error", "seconds", "tokens", "cost")
"""Parts of each grade that become a column "<grader>.<name>"; see `GRADE_COLUMNS`."""
_PANDAS = {"string": "string", "bool": "boolean"}
"""Nullable pandas types of columns."""
_SPARK = {"score": "double", "seconds": "double", "tokens": "double", "cost": "double", "passed": "boolean"}
"""Spark types of columns; all others are strings."""


class BatchGrader:
    """Adds grades to batches of rows: the return value of `Suite.map_batches`.

    It takes a pandas DataFrame, a pyarrow Table or RecordBatch, or a dict of arrays, and returns the same with more columns;
    for an iterator of frames it returns one. It pickles as plain data and is rebuilt in the process that calls it, which
    grades with a separate sandbox, event loop and environment (keys are read there). Limits such as a client's
    `concurrency` apply per process.

    Args:
        entries: The graders.
        rule: Combines their grades; None for none.
        column: Name of the column of the combined grade.
        columns: Role to column name, as in `Samples`.
        workers: Sandbox processes per call.
        store: The address of a store of judge replies.

    Attributes:
        added: Name to Arrow type of the columns that are added.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        rule: CombiningRule | None = None,
        column: str = "combined",
        *,
        columns: Mapping[str, str | None] | None = None,
        workers: int | None = 1,
        store: str | None = None,
    ) -> None:
        self._plan, self._rule, self._column = Plan.of(entries), rule, column
        self._columns = None if columns is None else dict(columns)
        self._settings = RunSettings(workers=workers, store=shared_address(store))
        names = [entry.name for entry in entries] + ([column] if rule is not None else [])
        self.added: dict[str, pa.DataType] = {
            f"{name}.{part}": pa.string() if part == "status" else GRADE_COLUMNS[part]
            for name in names
            for part in _ADDED
        }

    @property
    def spark_schema(self) -> str:
        """The added columns in Spark's schema syntax, to append to those of the frame: "`exact-match.score` double, ..."."""
        kinds = {name: _SPARK.get(name.rpartition(".")[2], "string") for name in self.added}
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in kinds.items())

    def __call__(self, batch: Any) -> Any:
        """The batch with grades.

        Raises:
            SamplesError: It is not a batch, or has no usable column.
            IsolationError: Imported source, and the machine cannot confine it.
        """
        if isinstance(batch, Iterator):
            return (self(one) for one in batch)
        if isinstance(batch, pd.DataFrame):
            return batch.assign(**self._series(batch))
        if isinstance(batch, pa.Table):
            return self._with_grades(batch)
        if isinstance(batch, pa.RecordBatch):
            table = self._with_grades(pa.Table.from_batches([batch])).combine_chunks()
            return pa.RecordBatch.from_arrays([_one(column) for column in table.columns], schema=table.schema)
        if isinstance(batch, Mapping):
            frame = pd.DataFrame({name: _cells(column) for name, column in batch.items()})
            return {**batch, **{name: _array(series) for name, series in self._series(frame).items()}}
        raise SamplesError(
            "these data are not a batch", found=type(batch).__name__,
            expected="a DataFrame, a pyarrow Table or RecordBatch, a dict of arrays, or an iterator of these",
        )  # fmt: skip

    def _with_grades(self, table: pa.Table) -> pa.Table:
        for name, column in self._graded(to_frame(table)).items():
            place = table.schema.get_field_index(name)
            table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
        return table

    def _series(self, frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
        """Columns with the frame's index, of types that do not depend on which rows have a grade."""
        graded = self._graded(frame)
        return {
            name: pd.Series(column.to_pandas().to_numpy(), frame.index, dtype=_PANDAS.get(str(column.type)))
            for name, column in graded.items()
        }

    def _graded(self, frame: pd.DataFrame) -> dict[str, pa.Array]:
        if not len(frame):  # such as the one from which an engine infers the columns
            return {name: pa.array([], kind) for name, kind in self.added.items()}
        rows, graded = slice(0, len(frame)), self._grades(frame.reset_index(drop=True))
        columns = {
            f"{name}.{part}": column
            for name, grades in graded.items()
            for part, column in grade_columns(grades, rows).items()
        }
        return {name: columns[name].cast(kind) for name, kind in self.added.items()}

    def _grades(self, frame: pd.DataFrame) -> dict[str, Grades]:
        entries = self._plan.built()
        samples = Samples.of_part(frame, self._columns)
        samples.require_completion()
        with open_judge_run(self._settings.store, ready_budget(entries, None)) as judge_run:
            run = WholeRun(entries, samples, self._settings, judge_run)
            is_stopped = run.go(lambda _: None)
        if is_stopped:  # the existing grades are known, but the calling loop must stop
            raise KeyboardInterrupt
        for note in ending_notes_of(run, interrupted=False):
            warnings.warn(note, stacklevel=2)
        grades = run.grades()
        if self._rule is not None:
            grades[self._column] = combine_repeats(entries, grades, self._rule)
        return grades


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _cells(column: Any) -> Any:
    """A column of a batch of arrays for pandas: arrays of several dimensions as lists."""
    return list(column) if getattr(column, "ndim", 1) > 1 else column


def _array(series: pd.Series[Any]) -> np.ndarray[Any, Any]:
    if series.dtype.kind == "f":
        return np.asarray(series)
    return np.array([None if cell is pd.NA else cell for cell in series.tolist()], dtype=object)
