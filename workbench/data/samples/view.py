"""`Samples`: an immutable view on a dataset whose columns have roles in threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.display import DisplayBlock, Displayed
from workbench.core.errors import SamplesError
from workbench.core.grades import Grades
from workbench.core.safe_frame import SafeSeries, safe_frame
from workbench.core.thread import StringThread
from workbench.data.packed import BATCH_ROWS
from workbench.data.samples.cells import CellFault, CellProblem, Wire, is_silent, no_answer, rewritten
from workbench.data.samples.frame_columns import Rows
from workbench.data.samples.memory_rows import load
from workbench.data.samples.nested_rows import unnested, with_nested
from workbench.data.samples.plain import plain
from workbench.data.samples.row_drawing import checked_mask, draw_rows, mask_of, strata
from workbench.data.samples.row_expansion import expanded
from workbench.data.samples.row_view import ANY_ROW, RowView
from workbench.data.samples.sample import Sample, digest_of
from workbench.data.samples.samples_blocks import as_line, dataset_notes, reading_line, samples_blocks
from workbench.data.samples.shaped_rows import shaped, with_column_scores
from workbench.data.samples.table import Table
from workbench.data.samples.written_forms import without_written_forms

_HIDDEN = frozenset(name for name in vars(RowView) if not name.startswith("_")) | {
    "read",
    "threads_and_references",
}
"""Names that this package uses and users do not need."""


class Samples(RowView, Displayed):
    """Rows of a dataset as samples. Immutable; every selection of rows is a new view of the same data.

    Columns have *roles*, recognised by name, exactly first and then case-insensitively; of two
    names for one role the first in this table wins:

    | role | column names | becomes |
    | --- | --- | --- |
    | messages | `messages`; `conversations` `conversation` `contents` `chat` if they contain messages | the turns: chat messages of OpenAI, Anthropic, Gemini, ShareGPT, LangChain; a list, its JSON text or its repr |
    | system | `system` | a leading system turn |
    | instruction | `instruction` | the prompt, or its part before `input` (Alpaca) |
    | prompt | `prompt` `input` `question` `user` `user_input` `query` `problem` `inputs` `request` … | a user turn; messages, or an API's request, become those turns |
    | completion | `completion` `output` `response` `assistant` `generated_text` `prediction` `model_output` `model_response` `actual_output` `outputs` …; `completions` `responses` `generations` if they contain lists | the assistant's last turn; an API response; each of several is a row |
    | tools | `tools` | `thread.tools`: a list of dicts, or its JSON text |
    | reference | `reference` `expected` `ground_truth` `label` (other than verdicts) `answer` `target` `ideal` `gold` `expected_output` `reference_answer` `correct_answer` `solution` `gts` `expectations` … | `Sample.reference`, and metadata |
    | group | `group` | `Sample.group`; without one the prompt is the group |
    | id | `id` | `Sample.id`; the second row with one id gets `#2`, a row without one its number |
    | metadata | `metadata` | a dict, or its JSON text, merged under the columns that have no role |

    Every other column is metadata under its name. The reference is in the metadata too, under its
    column's name, because a grade function gets only the thread. Missing cells: no completion, no assistant
    turn; no prompt, no user turn; a metadata column keeps its key with None. A row whose last turn is not the
    assistant's fails in a run, and never scores. A column of times without a time of day is read as days.

    A completion that is not text is encoded as JSON (4 is "4"), with these exceptions. A chat message or a list of them
    becomes turns. An object with one text becomes that text. An API response becomes its message; one without a message
    fails its row, and so does any other object in a column `response`. Pairs (`chosen`, `rejected`), lists
    of completions and API choices become one row each, in one group; a column `chosen` or `choice` distinguishes them. In
    lazily read data they fail their row. A completion next to `messages` is appended, unless it equals their last turn.
    A named index of a DataFrame is read as columns. Whole numbers that a gap in their column made floats
    are converted back to whole numbers.

    Args:
        data: A DataFrame (copied), a list of dicts or a list of StringThreads.
        columns: Role to column name, overriding what is recognised; None switches a role off.
        source: Origin of the data, for error messages.

    Raises:
        SamplesError: No usable column, a mapping that does not fit, columns that share a name, or no
            readable row. A single bad row is not an error here: see `problems`.

    Example:
        >>> samples = Samples([{"question": "2+2?", "answer": "4", "output": "It is 4."}])
        >>> samples[0].thread.completion(), samples[0].reference, samples[0].thread.metadata
        ('It is 4.', '4', {'answer': '4'})
    """

    _label = "Samples"
    _kind = "workbench-samples"

    __slots__ = ()

    def __init__(
        self, data: Any, *, columns: Mapping[str, str | None] | None = None, source: str = ""
    ) -> None:
        loaded, of_nested = unnested(load(data, source), columns)
        of_nested = (*loaded.notes, *of_nested)
        loaded, columns, of_shape = shaped(loaded, columns, source)
        loaded, of_forms = without_written_forms(with_nested(loaded, columns), columns, source)
        loaded, columns, of_rows = expanded(loaded, columns)
        table = Table(
            with_column_scores(loaded, columns),
            columns,
            source,
            notes=(*of_nested, *of_shape, *of_forms, *of_rows),
        )
        table.check_some_row_reads()
        self._set(table, None)

    @overload
    def __getitem__(self, row: int) -> Sample: ...

    @overload
    def __getitem__(self, row: slice) -> Samples: ...

    def __getitem__(self, row: int | slice) -> Sample | Samples:
        """One sample, or a view of a slice; negative rows count from the end.

        Raises:
            IndexError: The row is out of range.
            SamplesError: The row cannot be read; the error gives file, line, column, found and expected.
        """
        if isinstance(row, slice):
            return self.take(range(len(self))[row])
        if not isinstance(row, int | np.integer):
            raise TypeError(f"samples[...] requires a row number, not {row!r}; columns are in samples.frame")
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)} rows")
        return next(self._samples(self.row_numbers[row % len(self)].reshape(1)))

    def __iter__(self) -> Iterator[Sample]:
        """The samples in order, built lazily; an unreadable row raises as `samples[i]` does."""
        numbers = self.row_numbers
        for start in range(0, len(numbers), BATCH_ROWS):
            yield from self._samples(numbers[start : start + BATCH_ROWS])

    def _samples(self, rows: Rows) -> Iterator[Sample]:
        table = self._table
        built = self._built(rows)
        columns = (table.ids[rows], built.wires, table.references(rows), self._texts.groups(rows))
        for at, (name, wire, reference, group) in enumerate(zip(*columns, strict=True)):
            if at in built.faults:
                raise table.error(int(rows[at]), built.faults[at])
            yield Sample(name, StringThread.from_wire(wire), reference, group)

    @property
    def threads(self) -> NDArray[np.object_]:
        """StringThreads (n,), rebuilt each time; an unreadable row has an empty one (see `problems`)."""
        result = np.empty(len(self), dtype=object)
        for row, wire in enumerate(self._build().wires):
            # A new list and dict: unreadable rows share one empty wire.
            result[row] = StringThread.from_wire((list(wire[0]), dict(wire[1]), *wire[2:]))
        return result

    @property
    def ids(self) -> NDArray[np.object_]:
        """Text (n,), unique in the whole dataset, the same in every view of it."""
        ids = self._table.ids
        return ids.copy() if self._rows is None else ids[self._rows]

    @property
    def references(self) -> NDArray[np.object_]:
        """Plain values (n,), None if there is no reference."""
        return self._table.references(self._rows)

    @property
    def groups(self) -> NDArray[np.object_]:
        """Text (n,): the group column, else the prompt, else the row's id."""
        return self._texts.groups(self._rows)

    @property
    def group_codes(self) -> NDArray[np.intp]:
        """`groups` as integers (n,), from 0 in the order of the rows: the same grouping, computed many times faster.

        Unreadable rows, each a separate group in `groups`, may be grouped with the others of their prompt here.
        """
        if self._codes is None:
            self._codes = self._texts.group_codes(self._rows)
        return self._codes

    def completions(self, rows: Rows | slice | None = None) -> list[str | None]:
        """The text of each completion (n,), None if there is none or its line cannot be read.

        Args:
            rows: Positions in this view; all by default.
        """
        if self._rewrite is not None:
            return [
                thread.completion()
                for thread in (self if rows is None else self.take(np.arange(len(self))[rows])).threads
            ]
        return self._texts.completions(self._of_table(rows))

    def completion_lengths(self, rows: Rows | slice | None = None) -> NDArray[np.float64]:
        """Characters of each completion (n,), 0 if there is none; `rows` as in `completions`."""
        if self._rewrite is not None:
            return np.array([len(text or "") for text in self.completions(rows)], np.float64)
        return self._texts.completion_lengths(self._of_table(rows))

    @property
    def row_numbers(self) -> Rows:
        """Positions in the original frame (n,), counted from 0."""
        return self._numbers() if self._rows is None else self._rows.copy()

    @property
    def frame(self) -> pd.DataFrame:
        """The rows with all their columns, as a copy (lists and dicts inside cells are shared, as pandas does)."""
        return safe_frame(self._table.data.frame(self._rows))

    def column(self, name: Any) -> pd.Series[Any]:
        """One column of `frame`, without reading the others.

        Raises:
            KeyError: There is no column of that name.
        """
        data = self._table.data
        if name not in data.names:
            raise KeyError(name)
        return SafeSeries(data.series(str(name), self._rows), copy=False)

    @property
    def is_lazy(self) -> bool:
        """Whether rows are read from their file on demand."""
        return self._table.data.is_lazy

    @property
    def column_names(self) -> list[Any]:
        """The names of the columns of `frame`."""
        return list(self._table.data.names)

    @property
    def columns(self) -> dict[str, str]:
        """Role to column name, only roles that have one."""
        return dict(self._table.roles)

    @property
    def source(self) -> str:
        """Origin of the data; "" if unknown."""
        return self._table.source

    @property
    def old_grades(self) -> dict[str, Grades]:
        """The grades that the rows came with, by the grader's name: scores, verdicts and reasoning, n rows each.

        From a past run of another tool, such as an inspect log or promptfoo's results, or from columns such as `reward`. A
        report compares them with its graders: `report.compare("match (old)", "mine")`.
        """
        whole = self._table.old_grades
        return (
            dict(whole)
            if self._rows is None
            else {name: grades.take(self._rows) for name, grades in whole.items()}
        )

    @property
    def problems(self) -> dict[int, CellProblem]:
        """View row to why it cannot be read. Empty for a valid dataset.

        Such a row has an empty thread in `packed()` and fails, never scores, in a run.
        """
        if self._faults is None:
            self._faults = self._encoding.faults(self._asked)
        return self._described(self._faults)

    def threads_and_references(self) -> tuple[list[Wire], NDArray[np.object_]]:
        """The threads of all rows as plain data and the references, in one pass that `problems` also uses."""
        built, references = self._table.read(self._rows, references=True)
        lacking = self._lacking([wire[0] for wire in built.wires])
        if self._rewrite is not None:
            built = rewritten(built, self._rewrite)
        self._faults = dict(sorted({**lacking, **built.faults}.items()))
        return built.wires, references

    def _lacking(self, turns: Sequence[Sequence[Sequence[str]]]) -> dict[int, CellFault]:
        """The rows that lack a completion of the required kind; see `needing`."""
        if self._need in ("", ANY_ROW):
            return {}
        faults = {row: fault for row, one in enumerate(turns) if (fault := no_answer(one))}
        if self._need != "turn":
            return faults
        return {row: fault for row, fault in faults.items() if is_silent(turns[row])}

    def read(self) -> list[Sample | CellProblem]:
        """The samples (n,), built together; an unreadable one is replaced by the reason."""
        wires, references = self.threads_and_references()
        problems = self.problems
        if len(problems) == len(self):
            return [problems[row] for row in range(len(self))]
        columns = zip(self.ids, wires, references, self.groups, strict=True)
        return [
            problems[at] if at in problems else Sample(name, StringThread.from_wire(wire), reference, group)
            for at, (name, wire, reference, group) in enumerate(columns)
        ]

    @property
    def reading(self) -> str:
        """One line on how the rows were read: the column of each role, metadata, old scores, counts of prompts and problems."""
        return reading_line(self, self._table)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user: empty prompts, one prompt for all rows, whole-number references stored as floats."""
        if self._notes is None:
            self._notes = dataset_notes(self._table, self.row_numbers)
        return self._notes

    def head(self, n: int = 5) -> Samples:
        """The first n rows, or all if n is larger.

        Raises:
            ValueError: n is negative.
        """
        return self.take(range(min(_count(n), len(self))))

    def draw(self, n: int = 5, *, seed: int | None = None, by: str | Sequence[str] | None = None) -> Samples:
        """Rows at random, without replacement, in their original order.

        Args:
            n: Number of rows; all if n is larger. Five is the usual test sample.
            seed: Same seed, same rows; None draws differently each time. A larger uniform draw with the same seed
                contains the smaller one.
            by: A column, or several, whose values are strata; a missing value is a separate stratum. Each gets its share of
                n, and at least one row if n is at least the number of strata. "group" may be the role.

        Raises:
            ValueError: n is negative.
            SamplesError: `by` names no column.
        """
        n = _count(n)
        names = [by] if isinstance(by, str) else list(by or ())
        groups = strata(list(zip(*map(self._stratum, names), strict=True))) if names else None
        return self.take(draw_rows(len(self), n, seed=seed, groups=groups))

    def _stratum(self, name: str) -> list[str]:
        if name in self._table.column_names:
            # By `repr`: a cell may be a list, which cannot be a key, and 1 and "1" are two strata.
            return [repr(plain(cell)) for cell in self._table.cells(name, self._rows)]
        if name == "group":
            return list(self.groups)
        raise SamplesError(
            f"there is no column {name!r} to draw by",
            where=self.source,
            found="columns " + ", ".join(map(repr, self._table.column_names[:30])),
            expected=f"a column {name!r}",
        )

    def where(self, condition: Any) -> Samples:
        """The rows that meet a condition.

        Args:
            condition: A mask of n truth values, a function of the frame that returns one, or a pandas query
                such as `"task == 'rag' and truth < 1"`. A missing value in a mask selects nothing.

        Raises:
            SamplesError: A mask of another length, with another index, or with values that are not truth values;
                a query that pandas cannot read.
        """
        if isinstance(condition, str):
            condition = mask_of(condition, self.frame, self.source)
        elif callable(condition):
            condition = condition(self.frame)
        return self.take(np.flatnonzero(checked_mask(condition, self.frame)))

    def take(self, rows: Sequence[int] | NDArray[Any] | range) -> Samples:
        """The rows at these positions of this view, in this order.

        Raises:
            IndexError: A position outside 0 to n - 1.
            TypeError: Positions that are not integers (use `where` for a mask).
        """
        positions = np.asarray(rows)
        if positions.size and positions.dtype.kind not in "iu":
            raise TypeError(f"rows must be whole numbers, not {positions.dtype}; pass a mask to where()")
        positions = positions.astype(np.intp)
        outside = positions[(positions < 0) | (positions >= len(self))]
        if outside.size:
            raise IndexError(f"row {int(outside[0])} of {len(self)} rows")
        view = self._view(self._table, positions if self._rows is None else self._rows[positions])
        view._rewrite, view._need = self._rewrite, self._need  # noqa: SLF001 (its own class)
        return view

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _HIDDEN]

    def __repr__(self) -> str:
        return as_line(len(self), self._table.roles, len(self._table.metadata), self.source)

    def __str__(self) -> str:
        return repr(self)

    def _blocks(self) -> Iterator[DisplayBlock]:
        return samples_blocks(repr(self), self._first_rows(), total=len(self))

    def _first_rows(self) -> dict[str, list[Any]]:
        """Cells of the first rows by the column's name, with their numbers."""
        rows = self.row_numbers[:5]
        names = [*self._table.roles.values(), *self._table.metadata]
        return {"#": rows.tolist(), **{name: list(self._table.cells(name, rows)) for name in names}}


def _count(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise TypeError(f"n must be a whole number, not {n!r}")
    if n < 0:
        raise ValueError(f"n must be 0 or more, not {n}")
    return int(n)


def digests_of(samples: Samples, rows: Sequence[int]) -> list[str]:
    """The digests of some rows; an unreadable row has the digest of an empty conversation.

    Raises:
        IndexError: A row is out of range.
    """
    return [digest_of(thread) for thread in samples.take(rows).threads]


def share_texts(first: Samples, second: Samples) -> bool:
    """Whether both are views of one dataset, so that an id has the same text in both. Reads no row; False is inconclusive."""
    return first._table is second._table and first._rewrite is second._rewrite  # noqa: SLF001 (an object of this package)
