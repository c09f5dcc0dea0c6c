"""One run of a suite's entries: on the background loop, with progress, interruption and a store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench import background
from workbench.errors import WorkbenchError
from workbench.grade import ErrorKind, Grade
from workbench.graders import Control
from workbench.graders.combine import Entry, Outcome
from workbench.grades import Grades
from workbench.judges.asking.budget import Budget, check_priced
from workbench.judges.asking.circuit_breaker import NOT_ASKED, UNRECOVERABLE
from workbench.judges.asking.judge_run import JudgeRun, use_judge_run
from workbench.judges.base import Judge
from workbench.progress import OnProgress, Progress
from workbench.report import Report
from workbench.samples import Samples
from workbench.serialization import parts

if TYPE_CHECKING:
    from workbench.store import Store

__all__ = ["Run", "SuiteOutcome", "ending_notes_of", "open_run_store", "store_summary"]


@dataclass(frozen=True)
class SuiteOutcome:
    """The result of a suite for one sample.

    Attributes:
        parts: Outcome of each entry, by name.
        combined: The combined grade; None for a suite without a combining rule.
    """

    parts: Mapping[str, Outcome]
    combined: Grade | None = None

    @property
    def score(self) -> float | None:
        """The combined score; without a rule that of the only entry, None where there are more."""
        if self.combined is not None:
            return self.combined.score
        return next(iter(self.parts.values())).score if len(self.parts) == 1 else None

    @property
    def passed(self) -> bool | None:
        """The combined verdict, or that of the only entry."""
        if self.combined is not None:
            return self.combined.passed
        return next(iter(self.parts.values())).passed if len(self.parts) == 1 else None


class Run:
    """One run. Graders run one after the other, since each uses all workers."""

    def __init__(
        self,
        entries: tuple[Entry, ...],
        samples: Samples,
        listen: OnProgress,
        workers: int | None,
        judge_run: JudgeRun,
    ) -> None:
        self._entries, self._samples, self._listen, self._judge_run = entries, samples, listen, judge_run
        self._control = Control(self._note, workers=workers)
        judge_run.stopped = self._control.cancel.is_set
        self._grades: dict[str, Grades] = {}
        self._current, self._now = "", (0, 0)
        self._start = self._last_report = self._grader_start = time.monotonic()

    @property
    def notes(self) -> list[str]:
        """Sentences about the graders' run that a person should read."""
        return list(self._control.notes)

    def go(self) -> tuple[Mapping[str, Grades], bool]:
        """Grades by entry name, and whether the run was interrupted."""
        future = None
        stopped = False
        try:
            # An Interrupt between the start and the assignment would leave a run that nobody can stop.
            with background.uninterrupted():
                future = background.submit(self._all())
            background.wait(future, self._report_if_due)
        except KeyboardInterrupt:
            if future is None:
                raise  # nothing had been started
            stopped = True
            self._control.cancel.set()
            background.wait(future)  # for the rows in flight; a second Interrupt stops the waiting
        if not stopped:  # an interrupted run's bar stays where it was
            self._report_progress()
        return self._grades, stopped or self._control.cancel.is_set()

    async def _all(self) -> None:
        with use_judge_run(self._judge_run):
            for at, entry in enumerate(self._entries):
                self._current, self._grader_start = entry.name, time.monotonic()
                # The budget that is left is shared by the judges still to come; code takes nothing of it.
                self._judge_run.spending.start_share(
                    sum(map(_asks_model, self._entries[at:])) if _asks_model(entry) else 1
                )
                grades = await entry.grade_all(self._samples, self._control)
                self._grades[entry.name] = grades
                self._now = (0, 0)

    def _note(self, done: int, failed: int) -> None:
        self._now = (done, failed)

    def _report_if_due(self) -> None:
        if time.monotonic() - self._last_report >= 0.1:
            self._report_progress()

    def _report_progress(self) -> None:
        self._last_report = time.monotonic()
        finished = list(self._grades.values())
        progress_now = Progress(
            grader=self._current,
            done=sum(map(len, finished)) + self._now[0],
            failed=sum(g.n_failed for g in finished) + self._now[1],
            total=len(self._samples) * len(self._entries),
            seconds=self._last_report - self._start,
            money=self._judge_run.spending.money,
            tokens=self._judge_run.spending.tokens,
            kept=self._judge_run.spending.from_store,
            waiting=self._judge_run.waiting,
            rows=self._now[0],
            since=self._last_report - self._grader_start,
        )
        if self._listen(progress_now) is False and progress_now.done < progress_now.total:
            self._control.cancel.set()


def _asks_model(entry: Entry) -> bool:
    """Whether the entry's grader, or one inside it, is a judge."""
    return any(isinstance(part, Judge) for part in parts(entry.grader))


@contextmanager
def open_run_store(store: Any) -> Iterator[Store | None]:
    """The store for a run, from a `Store`, an address or None. Only a store that is opened here is closed at the end."""
    if store is None:
        yield None
        return
    from workbench.store import Store, open_store  # SQLAlchemy takes a fifth of a second to load

    if isinstance(store, Store):
        yield store
        return
    with open_store(store) as opened_store:
        yield opened_store


def store_summary(store: Store, report: Report, name: str) -> list[str]:
    """Save a run's summary. Where it cannot be saved the result says why; an error would lose the report."""
    try:
        store.runs.add(report, name=name)
    except WorkbenchError as error:
        return [f"The run's summary could not be kept: {error}"]
    return []


def ending_notes_of(
    grades: Mapping[str, Grades], rows: int, judge_run: JudgeRun, *, interrupted: bool
) -> Iterator[str]:
    """Notes on why a run ended early or incomplete: an interrupt, a spent budget, a grader or judge that gave up."""
    errors = (error for columns in grades.values() for error in columns.errors.values())
    spent = judge_run.spending.any_share_spent and any(error.kind is ErrorKind.BUDGET for error in errors)
    reason = "Interrupted" if interrupted else "Budget spent" if spent else ""
    if reason:
        graded = rows * len(grades) - sum(len(columns.cut_off) for columns in grades.values())
        yield f"{reason}: {graded:,} of {rows * len(grades):,} grades kept."
    for name, columns in grades.items():
        if columns.ended:
            yield f"{name}: {columns.ended}"
        yield from _unreachable_notes(name, columns)
    if judge_run.store_errors:
        yield f"{len(judge_run.store_errors):,} answers could not be kept: {judge_run.store_errors[0]}"
    yield from judge_run.notes()


def _unreachable_notes(name: str, grades: Grades) -> Iterator[str]:
    """Why a judge's model could not be reached. As a note of its own: in the report it would be one finding of many."""
    store_errors = [error.message for error in grades.errors.values() if error.kind is ErrorKind.STORE]
    refusals = [error.message for error in grades.errors.values() if error.kind in UNRECOVERABLE]
    if store_errors:
        yield f"{name}: {store_errors[0]}\n{len(store_errors):,} rows were not asked."
    not_asked = [message for message in refusals if message.endswith(NOT_ASKED)]
    if not refusals or (grades.n_scored and not not_asked):
        return
    yield f"{name}: {(not_asked or refusals)[0].removesuffix(NOT_ASKED)}"
    if not_asked:
        yield f"{len(not_asked):,} rows were not asked."


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
