"""One run of a suite's entries: on the background event loop, with progress, interruption and a store."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.core import background
from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import MISSING, Grades
from workbench.core.progress import OnProgress, Progress
from workbench.data.packed import BATCH_ROWS
from workbench.data.samples import Samples
from workbench.data.samples.frame_columns import UnreadableRowsError
from workbench.graders import Control
from workbench.graders.combine import Entry, EntryOutcome
from workbench.graders.repeats import (
    check_repeats,
    check_workers,
    is_deterministic,
    reduce_repeats,
    shuffled_rows,
)
from workbench.graders.serialization import parts
from workbench.judges.base import Judge
from workbench.judges.budget import Budget, as_budget, check_priced
from workbench.judges.judge_run import NOT_ASKED, UNRECOVERABLE, JudgeRun, use_judge_run
from workbench.judges.spending import Spending
from workbench.report import Report

if TYPE_CHECKING:
    from workbench.run.run_file import RunFile
    from workbench.store import Store


@dataclass(frozen=True)
class SuiteOutcome:
    """The result of a suite for one sample.

    Attributes:
        parts: Outcome of each entry, by name.
        combined: The combined grade; None for a suite without a combining rule.
    """

    parts: Mapping[str, EntryOutcome]
    combined: Grade | None = None

    @property
    def score(self) -> float | None:
        """The combined score; without a rule that of the only entry, None if there are more."""
        if self.combined is not None:
            return self.combined.score
        return next(iter(self.parts.values())).score if len(self.parts) == 1 else None

    @property
    def passed(self) -> bool | None:
        """The combined verdict, or that of the only entry."""
        if self.combined is not None:
            return self.combined.passed
        return next(iter(self.parts.values())).passed if len(self.parts) == 1 else None


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run, as described in `Suite.run`.

    Raises:
        ReportError: Fewer than one worker or repeat, or an unknown reducer.
    """

    workers: int | None = None
    preset: str = "workbench"
    labels: Any = None
    budget: Budget | float | None = None
    store: Any = None
    repeats: int = 1
    reduce: str = "first"
    dataset: str = ""
    resume: str | Path | None = None

    def __post_init__(self) -> None:
        check_workers(self.workers)
        check_repeats(self.repeats, self.reduce)


class _RowsSoFar:
    """Rows of the current grader. Separate from the run, which would otherwise keep its rows in a reference cycle."""

    def __init__(self) -> None:
        self.done = self.failed = 0

    def __call__(self, done: int, failed: int) -> None:
        """Update the progress."""
        self.done, self.failed = done, failed


class Run:
    """One run. Graders run one after another, since each uses all workers; repeats when all have graded every row once.

    Args:
        entries: The graders.
        samples: The rows.
        settings: How often every row is graded, and by how many sandbox processes.
        judge_run: State shared by the judges.
        file: Stores grades during the run, and has those of earlier runs; None without.
        is_part: Whether the rows are part of a larger run: then repeats start even if no row of these was scored.

    Attributes:
        planned: Number of grades at the start of the run.
    """

    def __init__(
        self,
        entries: tuple[Entry, ...],
        samples: Samples,
        settings: RunSettings,
        judge_run: JudgeRun,
        file: RunFile | None = None,
        *,
        is_part: bool = False,
    ) -> None:
        self._entries, self._samples, self._judge_run, self._file = entries, samples, judge_run, file
        self._listen: OnProgress = lambda _: None
        self._now = _RowsSoFar()
        self._control = Control(self._now, workers=settings.workers)
        self._control.is_part = is_part
        judge_run.stopped = self._control.cancel.is_set
        repeats, self._reduce = settings.repeats, settings.reduce
        self._repeats = repeats_of(entries, repeats)
        self.planned = self.total
        self._graded_once = [
            f"{entry.name}: graded once, not {repeats} times, because it is deterministic."
            for entry in entries
            if repeats > 1 and is_deterministic(entry.grader)
        ]
        self._passes: dict[str, list[Grades]] = {}
        self._current = ""
        self._kept_now = self._kept = 0
        self._start = self._last_report = self._grader_start = time.monotonic()

    @property
    def total(self) -> int:
        """Number of grades, over all graders and repeats; fewer than `planned` if repeats are not started."""
        return len(self._samples) * sum(self._repeats.values())

    @property
    def passes(self) -> Mapping[str, list[Grades]]:
        """Grades by entry name, one per started repeat, each in the samples' order."""
        return self._passes

    @property
    def notes(self) -> list[str]:
        """Sentences about the run for the user."""
        of_file: list[str] = []
        if self._file is not None:
            kept = [self._file.kept_note(self._kept, self.planned)] if self._kept else []
            of_file = [*kept, *self._file.notes]
        return [*of_file, *self.notes_on_graders]

    @property
    def kept(self) -> int:
        """Number of grades of earlier runs in the file, in the started passes."""
        return self._kept

    @property
    def notes_on_graders(self) -> list[str]:
        """The notes about the graders."""
        return [*dict.fromkeys(self._control.notes), *self._graded_once]

    def go(self, listen: OnProgress) -> tuple[dict[str, Grades], bool]:
        """Grades by entry name, reduced from the repeats, and whether the run was interrupted.

        Args:
            listen: Receives progress.
        """
        self._listen = listen
        future = None
        stopped = False
        try:
            # An interrupt between the start and the assignment would leave a run that cannot be stopped.
            with background.uninterrupted():
                future = background.submit(self._all())
            background.wait(future, self._report_if_due)
        except KeyboardInterrupt:
            if future is None:
                raise  # nothing was started
            stopped = True
            self._control.cancel.set()
            background.wait(future)  # for the rows in flight; a second interrupt stops the waiting
        if not stopped:  # the bar of an interrupted run keeps its position
            self._report_progress()
        grades = {name: reduce_repeats(passes, self._reduce) for name, passes in self._passes.items()}
        return grades, stopped or self._control.cancel.is_set()

    async def _all(self) -> None:
        with use_judge_run(self._judge_run):
            for repeat in range(max(self._repeats.values())):
                self._judge_run.repeat = repeat
                self._control.looks_again = repeat == 0
                await self._pass(repeat)

    async def _pass(self, repeat: int) -> None:
        """Every row once, by each grader with this repeat."""
        entries = [entry for entry in self._entries if self._has(entry.name, repeat)]
        for at, entry in enumerate(entries):
            if repeat and self._control.cancel.is_set():
                return  # rows of a repeat that was never started are not failures
            self._current, self._grader_start = entry.name, time.monotonic()
            # The remaining budget is shared by the remaining judges; code uses nothing of it.
            self._judge_run.spending.allocate(sum(map(asks_model, entries[at:])) if asks_model(entry) else 1)
            self._open_checkpoint(entry.name, repeat)
            grades = await self._safely(entry, repeat)
            self._passes.setdefault(entry.name, []).append(grades)
            self._now(0, 0)

    def _open_checkpoint(self, name: str, repeat: int) -> None:
        """Make the next pass skip the rows that an earlier run graded, and store those that it grades."""
        if self._file is None:
            return
        checkpoint = self._file.of(name, repeat)
        self._control.checkpoint = checkpoint
        self._kept_now = int((checkpoint.kept(len(self._samples)).codes != MISSING).sum())
        self._kept += self._kept_now

    def _has(self, name: str, repeat: int) -> bool:
        """Whether a grader grades the rows in this repeat; one that scored no row in the first does not start another."""
        if repeat == 0:
            return True
        if self._control.cancel.is_set() or not (self._control.is_part or self._passes[name][0].n_scored):
            self._repeats[name] = min(self._repeats[name], len(self._passes[name]))
        return repeat < self._repeats[name]

    async def _safely(self, entry: Entry, repeat: int) -> Grades:
        """One pass, in which every row fails if the samples can no longer be read: grades of others are retained."""
        try:
            return await self._grade_all(entry, repeat)
        except UnreadableRowsError as error:
            grades = Grades.empty(len(self._samples))
            grades.ended = f"not graded: {error.what}"
            grades.finish(ErrorKind.SAMPLE, f"{error.what}; {error.where}, found {error.found}")
            return grades

    async def _grade_all(self, entry: Entry, repeat: int) -> Grades:
        """One pass of a grader in the repeat's order of rows; the grades are returned in the samples' order."""
        if repeat == 0:
            return await entry.grade_all(self._samples, self._control)
        block = BATCH_ROWS if self._samples.is_lazy else None
        rows = shuffled_rows(len(self._samples), repeat, block)
        if self._control.checkpoint is not None:
            self._control.checkpoint = self._control.checkpoint.of_rows(rows)
        grades = await entry.grade_all(self._samples.take(rows), self._control)
        return grades.take(np.argsort(rows))

    def _report_if_due(self) -> None:
        if time.monotonic() - self._last_report >= 0.1:
            self._report_progress()

    def _report_progress(self) -> None:
        self._last_report = time.monotonic()
        finished = [grades for passes in list(self._passes.values()) for grades in passes]
        progress_now = Progress(
            grader=self._current,
            done=sum(map(len, finished)) + self._now.done,
            failed=sum(g.n_failed for g in finished) + self._now.failed,
            total=self.total,
            seconds=self._last_report - self._start,
            money=self._judge_run.spending.money,
            tokens=self._judge_run.spending.tokens,
            kept=self._judge_run.spending.from_store,
            waiting=self._judge_run.waiting,
            rows=max(0, self._now.done - self._kept_now),
            since=self._last_report - self._grader_start,
        )
        if self._listen(progress_now) is False and progress_now.done < progress_now.total:
            self._control.cancel.set()


def repeats_of(entries: Sequence[Entry], repeats: int) -> dict[str, int]:
    """By name how often each grader grades a row: a deterministic one only once."""
    return {entry.name: 1 if is_deterministic(entry.grader) else repeats for entry in entries}


def asks_model(entry: Entry) -> bool:
    """Whether the entry's grader, or one inside it, is a judge."""
    return any(isinstance(part, Judge) for part in parts(entry.grader))


@contextmanager
def open_run_store(store: Any) -> Iterator[Store | None]:
    """The store for a run, from a `Store`, an address or None. Only a store that is opened here is closed at the end."""
    if store is None:
        yield None
        return
    from workbench.store import Store, open_store  # SQLAlchemy takes 0.2 s to load

    if isinstance(store, Store):
        yield store
        return
    with open_store(store) as opened_store:
        yield opened_store


@contextmanager
def open_run_file(
    path: str | Path | None, samples: Samples, fingerprints: Mapping[str, Mapping[str, str]]
) -> Iterator[RunFile | None]:
    """The file of a run, or None without a path; see `RunFile`."""
    if path is None:
        yield None
        return
    from workbench.run.run_file import RunFile  # imports SQLite, only when used

    with closing(RunFile(path, samples, fingerprints)) as file:
        yield file


def store_summary(store: Store | None, report: Report, name: str, dataset: str) -> list[str]:
    """Save a run's summary. A failure is returned as text; an exception would lose the report."""
    if store is None:
        return []
    try:
        store.runs.add(report, name=name, dataset=dataset)
    except WorkbenchError as error:
        return [f"Could not save the run summary: {error}"]
    return []


class GradedRun(Protocol):
    """A run that is over: `Run`, or one on a cluster."""

    @property
    def planned(self) -> int:
        """Number of planned grades."""
        ...

    @property
    def passes(self) -> Mapping[str, list[Grades]]:
        """Grades of each repeat, by grader."""
        ...


def ending_notes_of(run: GradedRun, judge_run: JudgeRun, *, interrupted: bool) -> Iterator[str]:
    """Notes on why a run ended early or incomplete: an interrupt, an exhausted budget, a grader or judge that stopped."""
    columns = [grades for passes in run.passes.values() for grades in passes]
    errors = (error for grades in columns for error in grades.errors.values())
    spent = judge_run.spending.any_share_spent and any(error.kind is ErrorKind.BUDGET for error in errors)
    reason = "Interrupted" if interrupted else "Budget exhausted" if spent else ""
    if reason:
        kept = sum(len(grades) - len(grades.cut_off) for grades in columns)
        yield f"{reason}: {kept:,} of {run.planned:,} grades completed."
    for name, passes in run.passes.items():
        for grades in passes:
            if grades.ended:
                yield f"{name}: {grades.ended}"
            yield from _unreachable_notes(name, grades)
    if judge_run.store_errors:
        yield f"{len(judge_run.store_errors):,} replies could not be stored: {judge_run.store_errors[0]}"
    yield from judge_run.notes()


def _unreachable_notes(name: str, grades: Grades) -> Iterator[str]:
    """Why a judge's model could not be reached. As a separate note: in the report it would be one finding of many."""
    store_errors = [error.message for error in grades.errors.values() if error.kind is ErrorKind.STORE]
    refusals = [error.message for error in grades.errors.values() if error.kind in UNRECOVERABLE]
    if store_errors:
        yield f"{name}: {store_errors[0]}\n{len(store_errors):,} requests were not sent."
    not_asked = [message for message in refusals if message.endswith(NOT_ASKED)]
    if not refusals or (grades.n_scored and not not_asked):
        return
    yield f"{name}: {(not_asked or refusals)[0].removesuffix(NOT_ASKED)}"
    if not_asked:
        yield f"{len(not_asked):,} requests were not sent."


def open_budget(entries: Iterable[Entry], budget: Budget | float | None) -> Spending:
    """The budget state of a run, at its start; raises what would end the run before its first row, see `check_ready`."""
    spending = Spending(as_budget(budget))
    for entry in entries:
        check_ready(entry, spending.budget)
    return spending


def check_ready(entry: Entry, budget: Budget | None) -> None:
    """Raise what would end the run before its first row, with the grader's name."""
    try:
        entry.grader.check_ready()
        for part in parts(entry.grader):
            if budget is not None and isinstance(part, Judge):
                check_priced(budget, part.priced_model)
    except WorkbenchError as error:
        where = f"grader {entry.name!r}" + (f", {error.where}" if error.where else "")
        hint = f"{error.hint}; or run the suite without it" if error.hint else ""
        raise type(error)(
            error.what, where=where, found=error.found, expected=error.expected, hint=hint
        ) from error
