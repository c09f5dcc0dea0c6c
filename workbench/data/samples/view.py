"""`Samples`: an immutable view on a dataset whose columns have roles in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.display import DisplayBlock, Displayed
from workbench.core.errors import SamplesError
from workbench.core.safe_frame import SafeSeries, safe_frame
from workbench.core.thread import StringThread
from workbench.data.packed import BATCH_ROWS, Packed, Stream
from workbench.data.samples.cells import Built, CellFault, CellProblem, Wire, is_silent, no_answer, rewritten
from workbench.data.samples.columns import no_answers, require_completion
from workbench.data.samples.dask_columns import DaskColumns
from workbench.data.samples.display import as_line, samples_blocks
from workbench.data.samples.encoding import Encoder
from workbench.data.samples.frame_columns import Rows, UnreadableRowsError
from workbench.data.samples.notes import dataset_notes
from workbench.data.samples.plain import plain
from workbench.data.samples.readers import load
from workbench.data.samples.row_expansion import expanded
from workbench.data.samples.sample import Sample
from workbench.data.samples.selection import RowWords, WrittenColumn, checked_mask, draw_rows, mask_of, strata
from workbench.data.samples.table import Table

ANY_ROW = "any"
"""For `Samples.needing`: graders also get rows without a completion, to test how they handle them."""


class Samples(Displayed):
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

    __slots__ = (
        "_codes",
        "_encoder",
        "_faults",
        "_need",
        "_needing",
        "_notes",
        "_rewrite",
        "_rows",
        "_table",
        "_words",
        "_written",
    )

    def __init__(
        self, data: Any, *, columns: Mapping[str, str | None] | None = None, source: str = ""
    ) -> None:
        loaded, columns, notes = expanded(load(data, source), columns)
        table = Table(loaded, columns, source, notes=notes)
        table.check_some_row_reads()
        self._set(table, None)

    @classmethod
    def _view(cls, table: Table, rows: Rows | None) -> Samples:
        # Bypasses `__init__`, which would read and check the data again.
        view = cls.__new__(cls)
        view._set(table, rows)  # noqa: SLF001 (its own class)
        return view

    @classmethod
    def of_part(
        cls,
        data: Any,
        columns: Mapping[str, str | None] | None = None,
        *,
        text_chats: frozenset[str] = frozenset(),
    ) -> Samples:
        """Rows that are a part of a dataset: here it is not an error if none of them can be read.

        Args:
            data: The rows.
            columns: Role to column.
            text_chats: `text_chats` of the whole dataset; in a part it cannot be determined, and its texts stay texts.
        """
        return cls._view(Table(load(data), columns, "", text_chats=text_chats), None)

    @property
    def text_chats(self) -> frozenset[str]:
        """Those of the roles prompt and completion whose texts are read as messages."""
        return self._table.text_chats

    def part(self, first: int, last: int) -> Samples:
        """Consecutive rows as a separate dataset: in memory, and numbered from 0."""
        return self._view(self._table.part(self.row_numbers[first:last]), None)

    def _set(self, table: Table, rows: Rows | None) -> None:
        self._table = table
        self._rows = rows
        self._rewrite: Callable[[StringThread], StringThread] | None = None
        self._encoder: Encoder | None = None
        self._codes: NDArray[np.intp] | None = None
        self._faults: dict[int, CellFault] | None = None
        self._need = ""
        self._needing: dict[str, Samples] = {}
        self._notes: tuple[str, ...] | None = None
        self._words: RowWords | None = None
        self._written: dict[str, WrittenColumn] = {}

    def __len__(self) -> int:
        return len(self._table) if self._rows is None else len(self._rows)

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
        columns = (table.ids[rows], built.wires, table.references(rows), table.groups(rows))
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

    def references_at(self, rows: Rows | slice) -> NDArray[np.object_]:
        """The references at these positions of this view (m,), as in `references`."""
        return self._table.references(self._of_table(rows))

    def faults_at(self, start: int, stop: int) -> dict[int, CellProblem]:
        """`problems` of the rows from `start` up to `stop`, by their positions in this view."""
        return self._described(self._encoding.faults_at(start, stop, self._asked))

    def needing(self, need: str) -> Samples:
        """The same rows; those without a completion are included in `problems`.

        Args:
            need: "completion" if the last turn must be the assistant's, "turn" if any turn after the last user turn must
                be, "" for neither; `ANY_ROW` for neither, and later requirements of graders are ignored.
        """
        if self._need in (need, ANY_ROW):
            return self
        if need not in self._needing:
            view = self._view(self._table, self._rows)
            view._rewrite, view._need, view._encoder = self._rewrite, need, self._encoding  # noqa: SLF001 (its own class)
            self._needing[need] = view
        return self._needing[need]

    @property
    def groups(self) -> NDArray[np.object_]:
        """Text (n,): the group column, else the prompt, else the row's id."""
        return self._table.groups(self._rows)

    @property
    def group_hashes(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """An integer for each row's prompt (n,), the same in any process and any part of the data; see `Table.group_hashes`."""
        return self._table.group_hashes(self._rows)

    @property
    def group_codes(self) -> NDArray[np.intp]:
        """`groups` as integers (n,), from 0 in the order of the rows: the same grouping, computed many times faster.

        Unreadable rows, each a separate group in `groups`, may be grouped with the others of their prompt here.
        """
        if self._codes is None:
            self._codes = self._table.group_codes(self._rows)
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
        return self._table.completions(self._of_table(rows))

    def completion_lengths(self, rows: Rows | slice | None = None) -> NDArray[np.float64]:
        """Characters of each completion (n,), 0 if there is none; `rows` as in `completions`."""
        if self._rewrite is not None:
            return np.array([len(text or "") for text in self.completions(rows)], np.float64)
        return self._table.completion_lengths(self._of_table(rows))

    def _of_table(self, rows: Rows | slice | None) -> Rows | slice | None:
        if self._rows is None or rows is None:
            return self._rows if rows is None else rows
        return self._rows[rows]

    @property
    def row_numbers(self) -> Rows:
        """Positions in the original frame (n,), counted from 0."""
        return np.arange(len(self), dtype=np.intp) if self._rows is None else self._rows.copy()

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
    def metadata_names(self) -> tuple[str, ...]:
        """Columns that are keys of every thread's metadata, including the reference's."""
        return self._table.metadata

    def require_completion(self) -> None:
        """Require a column with completions.

        Raises:
            SamplesError: Neither messages nor a completion column was recognised or mapped.
        """
        if len(self):
            table = self._table
            require_completion(table.column_names, table.roles, self.source, table.first_cells)

    def require_answers(self) -> None:
        """Require at least one row with a completion.

        Raises:
            SamplesError: As `require_completion`, or no row has assistant content.
        """
        self.require_completion()
        if self._need == ANY_ROW:
            return
        table = self._table
        try:
            is_answered = not len(self) or table.has_answer(self.row_numbers)
        except UnreadableRowsError:
            return  # each of its rows fails with its reason
        if not is_answered:
            raise no_answers(len(self), table.column_names, table.roles, self.source)

    @property
    def source(self) -> str:
        """Origin of the data; "" if unknown."""
        return self._table.source

    @property
    def dask_columns(self) -> DaskColumns | None:
        """The data of a whole Dask DataFrame; None for other data, and for some rows of one."""
        data = self._table.data
        whole = self._rows is None and self._rewrite is None
        return data if whole and isinstance(data, DaskColumns) else None

    @property
    def known_problems(self) -> dict[int, CellProblem]:
        """`problems` of the rows that have been sent to graders: no row is read."""
        return self._described(self._encoding.known_faults(self._asked))

    @property
    def _asked(self) -> str:
        """What rows must contain, in the encoder's form."""
        return "" if self._need == ANY_ROW else self._need

    @property
    def problems(self) -> dict[int, CellProblem]:
        """View row to why it cannot be read. Empty for a valid dataset.

        Such a row has an empty thread in `packed()` and fails, never scores, in a run.
        """
        if self._faults is None:
            self._faults = self._encoding.faults(self._asked)
        return self._described(self._faults)

    def _described(self, faults: Mapping[int, CellFault]) -> dict[int, CellProblem]:
        # Without `row_numbers`, an array as long as the dataset.
        numbers = range(len(self)) if self._rows is None else self._rows
        return {
            row: CellProblem.of(fault, self._table.place(int(numbers[row]))) for row, fault in faults.items()
        }

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
    def notes(self) -> tuple[str, ...]:
        """Notes for the user: empty prompts, one prompt for all rows, whole-number references stored as floats."""
        if self._notes is None:
            self._notes = dataset_notes(self._table, self.row_numbers)
        return self._notes

    def packed(self, *, extras: bool = False) -> Packed | Stream:
        """The rows for the sandbox: encoded once and cached or, if there are many, encoded while they are sent.

        Args:
            extras: Include the reference, its key in the metadata, and the id, for graders that use them.
        """
        return self._encoding.packed(extras=extras)

    def stream(self, *, extras: bool = False) -> Stream:
        """The rows for the sandbox, encoded while they are sent; see `packed`."""
        return self._encoding.stream(extras=extras)

    def content_digest(self) -> str:
        """SHA-256 of turns, tools and metadata: equal for rows read in the same way from the same contents."""
        return self._encoding.digest()

    @property
    def _encoding(self) -> Encoder:
        if self._encoder is None:
            self._encoder = Encoder(self._table, self._rows, self._rewrite)
        return self._encoder

    def _build(self) -> Built:
        return self._built(self._rows)

    def _built(self, rows: Rows | None) -> Built:
        built = self._table.build(rows)
        return built if self._rewrite is None else rewritten(built, self._rewrite)

    def rewrite(self, change: Callable[[StringThread], StringThread]) -> Samples:
        """The same rows with every thread changed by a function, such as an extractor's choice of text.

        Ids, references and groups stay. A row whose thread cannot be changed is included in `problems`.

        Args:
            change: From a thread to another; it may raise.
        """
        view = self._view(self._table, self._rows)
        before = self._rewrite
        view._rewrite = change if before is None else lambda thread: change(before(thread))  # noqa: SLF001
        view._need = self._need  # noqa: SLF001
        return view

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
        return [
            name
            for name in super().__dir__()
            if name
            not in {
                "content_digest",
                "dask_columns",
                "faults_at",
                "group_hashes",
                "known_problems",
                "metadata_names",
                "needing",
                "of_part",
                "packed",
                "part",
                "read",
                "references_at",
                "require_answers",
                "require_completion",
                "rewrite",
                "text_chats",
                "threads_and_references",
            }
        ]

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
