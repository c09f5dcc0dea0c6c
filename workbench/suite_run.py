"""One run of a suite's entries: on the background loop, with news, a stop and a store."""

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
from workbench.judges.asking.breaker import HOPELESS, NOT_ASKED
from workbench.judges.asking.judge_run import JudgeRun, sharing
from workbench.judges.base import Judge
from workbench.progress import OnProgress, Progress
from workbench.report import Report
from workbench.samples import Samples
from workbench.serialization import parts

if TYPE_CHECKING:
    from workbench.store import Store

__all__ = ["Run", "SuiteOutcome", "endings", "opened", "sum_up"]


@dataclass(frozen=True)
class SuiteOutcome:
    """What a suite makes of one sample.

    Attributes:
        parts: Outcome of each entry, by name.
        whole: The combined grade; None for a suite without a combining rule.
    """

    parts: Mapping[str, Outcome]
    whole: Grade | None = None

    @property
    def score(self) -> float | None:
        """The combined score; without a rule that of the only entry, None where there are more."""
        if self.whole is not None:
            return self.whole.score
        return next(iter(self.parts.values())).score if len(self.parts) == 1 else None

    @property
    def passed(self) -> bool | None:
        """The combined verdict, or that of the only entry."""
        if self.whole is not None:
            return self.whole.passed
        return next(iter(self.parts.values())).passed if len(self.parts) == 1 else None


class Run:
    """One run: graders one after the other, since each uses all workers."""

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
        self._start = self._told = self._began = time.monotonic()

    @property
    def notes(self) -> list[str]:
        """What a person should read of how the graders went."""
        return list(self._control.notes)

    def go(self) -> tuple[Mapping[str, Grades], bool]:
        """Grades by entry name, and whether the run was interrupted."""
        future = None
        stopped = False
        try:
            with background.uninterrupted():
                future = background.submit(self._all())
            background.wait(future, self._beat)
        except KeyboardInterrupt:
            if future is None:
                raise  # nothing had begun
            stopped = True
            self._control.cancel.set()
            background.wait(future)  # for the rows in flight; a second Interrupt leaves at once
        if not stopped:  # else the bar stays where the run was
            self._tell()
        return self._grades, stopped or self._control.cancel.is_set()

    async def _all(self) -> None:
        with sharing(self._judge_run):
            for at, entry in enumerate(self._entries):
                self._current, self._began = entry.name, time.monotonic()
                self._judge_run.spending.share(sum(map(_asks, self._entries[at:])) if _asks(entry) else 1)
                grades = await entry.grade_all(self._samples, self._control)
                self._grades[entry.name] = grades
                self._now = (0, 0)

    def _note(self, done: int, failed: int) -> None:
        self._now = (done, failed)

    def _beat(self) -> None:
        if time.monotonic() - self._told >= 0.1:
            self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        finished = list(self._grades.values())
        moment = Progress(
            grader=self._current,
            done=sum(map(len, finished)) + self._now[0],
            failed=sum(g.n_failed for g in finished) + self._now[1],
            total=len(self._samples) * len(self._entries),
            seconds=self._told - self._start,
            money=self._judge_run.spending.money,
            tokens=self._judge_run.spending.tokens,
            kept=self._judge_run.spending.kept,
            waiting=self._judge_run.waiting,
            rows=self._now[0],
            since=self._told - self._began,
        )
        if self._listen(moment) is False and moment.done < moment.total:
            self._control.cancel.set()


def _asks(entry: Entry) -> bool:
    """Whether a model is asked somewhere in it."""
    return any(isinstance(part, Judge) for part in parts(entry.grader))


@contextmanager
def opened(store: Any) -> Iterator[Store | None]:
    """A store as `run` takes it; one that is opened here is closed here."""
    if store is None:
        yield None
        return
    from workbench.store import Store, open_store  # SQLAlchemy takes a fifth of a second to load

    if isinstance(store, Store):
        yield store
        return
    with open_store(store) as made:
        yield made


def sum_up(store: Store, report: Report, name: str) -> list[str]:
    """Keep a run's summary; why not, where it cannot be kept: that must not cost the report."""
    try:
        store.runs.add(report, name=name)
    except WorkbenchError as error:
        return [f"The run's summary could not be kept: {error}"]
    return []


def endings(
    grades: Mapping[str, Grades], rows: int, judge_run: JudgeRun, *, interrupted: bool
) -> Iterator[str]:
    """What a person should read where a run ended early: a stop, a spent budget, a grader or judge that gave up."""
    errors = (error for one in grades.values() for error in one.errors.values())
    spent = judge_run.spending.ended and any(error.kind is ErrorKind.BUDGET for error in errors)
    why = "Interrupted" if interrupted else "Budget spent" if spent else ""
    if why:
        done = rows * len(grades) - sum(len(one.cut_off) for one in grades.values())
        yield f"{why}: {done:,} of {rows * len(grades):,} grades kept."
    for name, one in grades.items():
        if one.ended:
            yield f"{name}: {one.ended}"
        yield from _hopeless(name, one)
    if judge_run.not_kept:
        yield f"{len(judge_run.not_kept):,} answers could not be kept: {judge_run.not_kept[0]}"
    yield from judge_run.notes()


def _hopeless(name: str, grades: Grades) -> Iterator[str]:
    """Why a judge could not be asked at all: before the report, where it would be one finding of many."""
    broken = [error.message for error in grades.errors.values() if error.kind is ErrorKind.STORE]
    hopeless = [error.message for error in grades.errors.values() if error.kind in HOPELESS]
    if broken:
        yield f"{name}: {broken[0]}\n{len(broken):,} rows were not asked."
    left = [message for message in hopeless if message.endswith(NOT_ASKED)]
    if not hopeless or (grades.n_scored and not left):
        return
    yield f"{name}: {(left or hopeless)[0].removesuffix(NOT_ASKED)}"
    if left:
        yield f"{len(left):,} rows were not asked."
