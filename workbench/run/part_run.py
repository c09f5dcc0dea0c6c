"""A run as a fold over parts of the rows: each part is graded, and what is made of its grades is added to those before."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from workbench.core import background
from workbench.core.display_text import did_you_mean
from workbench.core.errors import WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.core.grades import MISSING, Grades
from workbench.core.progress import OnProgress, Progress
from workbench.data.packed import BATCH_ROWS
from workbench.data.samples import Samples
from workbench.data.samples.frame_columns import UnreadableRowsError
from workbench.graders import Control
from workbench.graders.combine import Entry
from workbench.graders.repeats import (
    check_repeats,
    check_workers,
    is_deterministic,
    reduce_repeats,
    shuffled_rows,
)
from workbench.graders.serialization import parts
from workbench.judges.budget import Budget, as_budget, check_priced
from workbench.judges.judge_run import JudgeRun, use_judge_run
from workbench.judges.kinds import Judge
from workbench.judges.spending import Spending

if TYPE_CHECKING:
    from workbench.run.run_file import RunFile
    from workbench.store import Store


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
    batch: bool = False

    def __post_init__(self) -> None:
        check_workers(self.workers)
        check_repeats(self.repeats, self.reduce)


def require_settings(settings: Iterable[str], known: frozenset[str], method: str, twin: str) -> None:
    """Raise a TypeError for a setting that the method of this name does not have."""
    if unknown := set(settings) - known:
        near = did_you_mean(min(unknown), known)
        raise TypeError(
            f"{method} has no parameter {min(unknown)!r}; {near or f'its parameters are those of {twin}'}"
        )


Part = TypeVar("Part")


class _RowsSoFar:
    """Rows of the current grader. Separate from the run, which would otherwise keep its rows in a reference cycle."""

    def __init__(self) -> None:
        self.done = self.failed = 0

    def __call__(self, done: int, failed: int) -> None:
        """Update the progress."""
        self.done, self.failed = done, failed


class PartRun:
    """A run over the rows of one part, which may be all rows.

    Graders run one after another, since each uses all workers; repeats when all have graded every row once.

    Args:
        entries: The graders.
        samples: The rows.
        settings: How often every row is graded, and by how many sandbox processes.
        judge_run: State shared by the judges.
        file: Stores grades during the run, and has those of earlier runs; None without.
        is_part: Whether the rows are part of a larger run: then repeats start even if no row of these was scored.

    Attributes:
        passes: Grades by entry name, one per started repeat, each in the samples' order.
        kept: Number of grades of earlier runs in the file, in the started passes.
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
        self._settings = settings
        self._repeats = repeats_of(entries, settings.repeats)
        self.passes: dict[str, list[Grades]] = {}
        self.kept = self._kept_now = 0
        self._current = ""
        self._start = self._last_report = self._grader_start = time.monotonic()

    @property
    def notes(self) -> list[str]:
        """Sentences about the graders for the user."""
        once = [
            f"{entry.name}: graded once, not {self._settings.repeats} times, because it is deterministic."
            for entry in self._entries
            if self._settings.repeats > 1 and is_deterministic(entry.grader)
        ]
        return [*dict.fromkeys(self._control.notes), *once]

    def grades(self) -> dict[str, Grades]:
        """Grades by entry name, reduced from the repeats."""
        return reduced_passes(self.passes, self._settings.reduce)

    def go(self, listen: OnProgress) -> bool:
        """Grade the rows; returns whether the run was interrupted.

        Args:
            listen: Receives progress; if it returns False, the run stops.
        """
        self._listen = listen
        future = None
        stopped = False
        try:
            # An interrupt between the start and the assignment would leave a run that cannot be stopped.
            with background.uninterrupted():
                future = background.submit(self._all())
            background.wait(future, lambda: self._report_progress(0.1))
        except KeyboardInterrupt:
            if future is None:
                raise  # nothing was started
            stopped = True
            self._control.cancel.set()
            background.wait(future)  # for the rows in flight; a second interrupt stops the waiting
        if not stopped:  # the bar of an interrupted run keeps its position
            self._report_progress()
        return stopped or self._control.cancel.is_set()

    async def _all(self) -> None:
        """Every row once by each grader, then the repeats."""
        with use_judge_run(self._judge_run):
            for repeat in range(max(self._repeats.values())):
                self._judge_run.repeat = repeat
                self._control.looks_again = repeat == 0
                entries = [entry for entry in self._entries if self._has(entry.name, repeat)]
                judges_left = sum(map(asks_model, entries))
                for entry in entries:
                    if repeat and self._control.cancel.is_set():
                        return  # rows of a repeat that was never started are not failures
                    self._current, self._grader_start = entry.name, time.monotonic()
                    # The remaining budget is shared by the remaining judges; code uses nothing of it.
                    is_judge = asks_model(entry)
                    self._judge_run.spending.allocate(judges_left if is_judge else 1)
                    judges_left -= is_judge
                    self.passes.setdefault(entry.name, []).append(await self._grade(entry, repeat))
                    self._now(0, 0)

    def _has(self, name: str, repeat: int) -> bool:
        """Whether a grader grades the rows in this repeat; one that scored no row in the first does not start another."""
        if repeat == 0:
            return True
        if self._control.cancel.is_set() or not (self._control.is_part or self.passes[name][0].n_scored):
            self._repeats[name] = min(self._repeats[name], len(self.passes[name]))
        return repeat < self._repeats[name]

    async def _grade(self, entry: Entry, repeat: int) -> Grades:
        """One pass of a grader in the repeat's order of rows; the grades are returned in the samples' order.

        Rows that an earlier run graded are skipped. Every row fails if the samples can no longer be read: the grades of
        other graders are retained.
        """
        samples, control = self._samples, self._control
        if self._file is not None:
            checkpoint = control.checkpoint = self._file.of(entry.name, repeat)
            self._kept_now = int((checkpoint.kept(len(samples)).codes != MISSING).sum())
            self.kept += self._kept_now
        try:
            if repeat == 0:
                return await entry.grade_all(samples, control)
            rows = shuffled_rows(len(samples), repeat, BATCH_ROWS if samples.is_lazy else None)
            if control.checkpoint is not None:
                control.checkpoint = control.checkpoint.of_rows(rows)
            grades = await entry.grade_all(samples.take(rows), control)
            return grades.take(np.argsort(rows))
        except UnreadableRowsError as error:
            grades = Grades.empty(len(samples))
            grades.ended = f"not graded: {error.what}"
            grades.finish(ErrorKind.SAMPLE, f"{error.what}; {error.where}, found {error.found}")
            return grades

    def _report_progress(self, min_seconds: float = 0.0) -> None:
        """Report to the listener, unless the last report is more recent than this."""
        if time.monotonic() - self._last_report < min_seconds:
            return
        self._last_report = time.monotonic()
        finished = [grades for passes in list(self.passes.values()) for grades in passes]
        progress_now = Progress(
            grader=self._current,
            done=sum(map(len, finished)) + self._now.done,
            failed=sum(g.n_failed for g in finished) + self._now.failed,
            total=len(self._samples) * sum(self._repeats.values()),
            seconds=self._last_report - self._start,
            money=self._judge_run.spending.money,
            reserved=self._judge_run.spending.reserved,
            tokens=self._judge_run.spending.tokens,
            kept=self._judge_run.spending.from_store,
            waiting=self._judge_run.waiting,
            rate_limited=self._judge_run.rate_limited,
            rows=max(0, self._now.done - self._kept_now),
            since=self._last_report - self._grader_start,
        )
        if self._listen(progress_now) is False and progress_now.done < progress_now.total:
            self._control.cancel.set()


class PartedRun(ABC, Generic[Part]):
    """A run as a fold over parts of the rows: what a part is, and what is made of its grades, is up to each kind.

    Parts are graded here, see `grade_here`, or by the workers of a cluster, see `ClusterQueue`.

    Args:
        entries: The graders.
        samples: The rows.
        settings: Of the run.
        judge_run: State shared by judges; counts what was spent.

    Attributes:
        planned: Number of grades at the start of the run.
        notes: Sentences about the graders' run for the user.
        done: Number of grades in the parts so far.
        failed: Number of them that failed.
    """

    def __init__(
        self, entries: tuple[Entry, ...], samples: Samples, settings: RunSettings, judge_run: JudgeRun
    ) -> None:
        self.entries, self.samples, self.settings, self.judge_run = entries, samples, settings, judge_run
        self.repeats = repeats_of(entries, settings.repeats)
        self.planned = len(samples) * sum(self.repeats.values())
        self.notes: list[str] = []
        self.done = self.failed = 0
        self.client = cluster_of(samples)

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """The parts to grade, in order."""

    @abstractmethod
    def grade(self, part: Part, listen: OnProgress) -> bool:
        """Grade a part in this process and add its result; returns whether it was interrupted."""

    @abstractmethod
    def task(self, part: Part) -> tuple[Any, Callable[..., Any]]:
        """A part's rows as a Dask partition, and what a worker of a cluster makes of them: see `WorkerTask.grade`."""

    @abstractmethod
    def add(self, part: Part, result: Any) -> None:
        """Add a part's result from a worker."""

    @abstractmethod
    def lose(self, part: Part, reason: str) -> None:
        """Record that a worker could not grade a part."""

    def affordable(self, part: Part) -> Part | None:
        """The remaining part once the budget is exhausted; None for nothing."""
        return part

    def judge_notes(self) -> Iterator[str]:
        """Notes on the judges: replies that could not be stored, the budget, prices, and what models do not support."""
        if errors := self.judge_run.store_errors:
            yield f"{len(errors):,} replies could not be stored: {errors[0]}"
        yield from self.judge_run.notes()

    def add_notes(self, notes: Iterable[str]) -> None:
        """Add notes for the user, each once."""
        self.notes += [note for note in dict.fromkeys(notes) if note not in self.notes]

    def grade_here(self, listen: OnProgress) -> bool:
        """Grade all parts in this process, one after another; returns whether the run was interrupted.

        Args:
            listen: Receives progress; if it returns False, the run stops.
        """
        parts = list(self.parts())
        if len(parts) == 1:
            return self.grade(parts[0], listen)
        progress = _WholeProgress(listen, self)
        for number, part in enumerate(parts, 1):
            if self.grade(part, progress):
                return True
            if progress.is_stopped and number < len(parts):
                return True
        return False


class _WholeProgress:
    """Receives the progress of the current part, and reports that of the run.

    Attributes:
        is_stopped: Whether the caller wants the run to stop. A part may end before it has received a stop.
    """

    def __init__(self, listen: OnProgress, run: PartedRun[Any]) -> None:
        self._listen, self._run, self._start = listen, run, time.monotonic()
        self.is_stopped = False

    def __call__(self, part: Progress) -> bool:
        run = self._run
        whole = replace(
            part, done=run.done + part.done, failed=run.failed + part.failed, total=run.planned,
            seconds=time.monotonic() - self._start,
        )  # fmt: skip
        self.is_stopped = self._listen(whole) is False or self.is_stopped
        return not self.is_stopped


def cluster_of(samples: Samples) -> Any:
    """The client of the cluster on which Dask would compute these samples.

    Returns:
        None if they are not a whole Dask frame, or Dask computes in this process.
    """
    if samples.dask_columns is None or "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client

    scheduler: Any = get_scheduler  # has no types
    client = getattr(scheduler(), "__self__", None)
    return client if isinstance(client, Client) else None


def reduced_passes(passes: Mapping[str, list[Grades]], reduce: str) -> dict[str, Grades]:
    """Grades by entry name, reduced from those of each repeat."""
    return {name: reduce_repeats(own, reduce) for name, own in passes.items()}


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
def open_judge_run(store: Any, budget: Budget | None = None) -> Iterator[JudgeRun]:
    """What the judges of a run share, with its store open: see `open_run_store`."""
    with open_run_store(store) as run_store:
        yield JudgeRun(Spending(budget), None if run_store is None else run_store.replies)


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


def ready_budget(entries: Iterable[Entry], budget: Budget | float | None) -> Budget | None:
    """The budget of a run, at its start; raises what would end the run before its first row."""
    limits = as_budget(budget)
    for entry in entries:
        check_ready(entry, limits)
    return limits


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
