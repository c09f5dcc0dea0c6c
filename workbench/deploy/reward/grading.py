"""The grading of one call: code in warm workers, rules in the caller's thread, everything else on the workbench's loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from workbench.core import background
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import Grades
from workbench.data.samples import Sample
from workbench.data.samples.cells import prompt_key
from workbench.deploy.reward.trainer_rows import RewardRow
from workbench.graders.base import Grader
from workbench.graders.code import SandboxedGrader
from workbench.graders.combine import CombiningRule, Entry
from workbench.graders.combine.combined import combine
from workbench.graders.rule_grader import RuleGrader
from workbench.judges.judge_run import JudgeRun, use_judge_run
from workbench.sandbox.host.batches import Batch
from workbench.sandbox.host.worker_pool import new_owner, release, worker_pool

Put = Callable[[Grades], Grades]
"""Receives the grades of finished rows, to put them at their indices among all rows."""


_EARLY_SECONDS = 0.02
"""Seconds after which a call reports partial results as they arrive: quick calls are not slowed down by that."""


_LARGE_BYTES = 256 * 1024
"""Bytes. In a large call, larger rows are graded in a worker for such rows, so that no other row waits for them."""


@dataclass(frozen=True)
class RewardGrades:
    """The grades of one call.

    Attributes:
        rows: The graded rows.
        parts: Grades of each entry, by its name, n rows each.
        combined: Of the rule; None without one.
        seconds: How long the call took.
    """

    rows: Sequence[RewardRow]
    parts: Mapping[str, Grades]
    combined: Grades | None
    seconds: float

    @property
    def known(self) -> NDArray[np.bool_]:
        """Rows that every grader has finished, bool (n,)."""
        known = np.ones(len(self.rows), np.bool_)
        for grades in self.parts.values():
            known &= grades.codes != 0
        return known

    def of(self, rows: NDArray[np.intp]) -> RewardGrades:
        """Those of some of the rows, by their indices (m,)."""
        parts = {name: grades.take(rows) for name, grades in self.parts.items()}
        combined = None if self.combined is None else self.combined.take(rows)
        return RewardGrades([self.rows[row] for row in rows.tolist()], parts, combined, self.seconds)


Early = Callable[[RewardGrades], object]
"""Called with partial results while a call is running; unfinished rows are missing in them."""


@dataclass
class _Part:
    """The grades of one entry in progress: code and slow graders run concurrently, rules run afterwards."""

    entry: Entry
    put: Put
    rule: Callable[[], Grades] | None = None
    future: Future[Grades] | None = None
    batch: Batch | None = None

    def stop(self) -> None:
        """Cancel them: no caller waits any more."""
        if self.batch is not None:
            self.batch.stopped = True
        elif self.future is not None:
            self.future.cancel()

    def done(self, grades: Grades) -> Grades:
        return self.entry.apply(self.put(grades))

    def so_far(self, rows: int) -> Grades:
        """The grades available for n rows; for anything except code none before all are finished."""
        return Grades.empty(rows) if self.batch is None else self.done(self.batch.so_far())


class Graders:
    """The entries of a suite, and their workers.

    Args:
        entries: What grades.
        rule: Combines their grades into one; None for none.
        workers: Sandbox processes of each grader.
    """

    def __init__(self, entries: Sequence[Entry], rule: CombiningRule | None, *, workers: int | None) -> None:
        self._entries, self._rule, self._workers = tuple(entries), rule, workers
        self.owners = (new_owner(), new_owner())  # of the usual workers, and of those for large rows
        self._judge_run, self._process = JudgeRun(), os.getpid()

    def grade(self, rows: Sequence[RewardRow], *, only: str = "") -> RewardGrades:
        """Grade rows and wait for them; a KeyboardInterrupt cancels those that have not started.

        Args:
            rows: What to grade.
            only: The single entry to call; "" for all, and the rule.

        Raises:
            SandboxError: No worker could be started, or confinement is weaker than the source needs; a grader's failure on
                a row is a grade instead.
        """
        start, parts = time.perf_counter(), self._begin(rows, only)
        with _stopped_on_error(parts):
            grades = {part.entry.name: part.done(_waited(part)) for part in _rules_first(parts)}
        return self._graded(rows, grades, only, start)

    async def agrade(
        self, rows: Sequence[RewardRow], *, only: str = "", early: Early | None = None, large: bool = False
    ) -> RewardGrades:
        """The same as `grade` inside async code, on any event loop; raises the same.

        Args:
            rows: What to grade.
            only: The single entry to call; "" for all, and the rule.
            early: Called on the event loop whenever more rows are finished, if the call takes long.
            large: Whether the rows take so long to pack that the event loop must not wait for it, nor other rows for them.
        """
        start = time.perf_counter()
        begin = partial(self._begin, rows, only, large=large)
        parts = await asyncio.to_thread(begin) if large else begin()
        named, grades = {part.entry.name: part for part in parts}, dict[str, Grades]()

        def tell() -> None:
            columns = {name: part.so_far(len(rows)) for name, part in named.items() if name not in grades}
            graded = self._graded(rows, columns | grades, only, start)
            if early is not None and not graded.known.all():  # else the call itself is about to end
                early(graded)

        with _stopped_on_error(parts), _telling(parts, tell) if early else contextlib.nullcontext():
            for part in _rules_first(parts):
                grades[part.entry.name] = part.done(await _awaited(part))
        return self._graded(rows, grades, only, start)

    def _graded(
        self, rows: Sequence[RewardRow], grades: dict[str, Grades], only: str, start: float
    ) -> RewardGrades:
        parts = {entry.name: grades[entry.name] for entry in self._entries if entry.name in grades}
        rule = None if only else self._rule
        combined = None if rule is None else combine(self._entries, parts, rule)
        return RewardGrades(rows, parts, combined, time.perf_counter() - start)

    def _begin(self, rows: Sequence[RewardRow], only: str, *, large: bool = False) -> list[_Part]:
        return [
            self._part(entry, rows, large=large) for entry in self._entries if not only or entry.name == only
        ]

    def _part(self, entry: Entry, rows: Sequence[RewardRow], *, large: bool) -> _Part:
        shown, put = _shown(entry, rows)
        grader = entry.grader
        if isinstance(grader, SandboxedGrader):
            grader.require_engine()
            packed = [row.packed(whole=grader.takes_rows) for row in shown]
            is_large = large and max(map(len, packed), default=0) > _LARGE_BYTES
            owner = self.owners[is_large]
            batch = worker_pool().grade_batch(
                grader.program, packed, owner=owner, workers=1 if is_large else self._workers
            )
            return _Part(entry, put, future=batch.future, batch=batch)
        if isinstance(grader, RuleGrader):
            samples = [row.sample for row in shown]
            return _Part(entry, put, rule=lambda: grader.grade_samples(samples))
        samples = [row.sample for row in shown]
        return _Part(entry, put, future=background.submit(self._each(entry, samples)))

    async def _each(self, entry: Entry, samples: Sequence[Sample]) -> Grades:
        """Rows of a judge, an endpoint or a user's function: as many concurrently as it accepts."""
        if entry.grader.whole_groups:
            with use_judge_run(self._run_of_judges()):
                return await _in_groups(entry.grader, samples)
        grades, places = Grades.empty(len(samples)), asyncio.Semaphore(entry.grader.at_once)

        async def one(at: int, sample: Sample) -> None:
            async with places:
                grades.put(at, await entry.grader.grade(sample))

        with use_judge_run(self._run_of_judges()):
            await asyncio.gather(*(one(at, sample) for at, sample in enumerate(samples)))
        return grades

    def _run_of_judges(self) -> JudgeRun:
        """What judges share over all calls; new in a forked process, which has another loop."""
        if self._process != os.getpid():
            self._judge_run, self._process = JudgeRun(), os.getpid()
        return self._judge_run

    def close(self) -> None:
        """End the workers; the next call starts them again."""
        for owner in self.owners:
            release(owner)


async def _in_groups(grader: Grader, samples: Sequence[Sample]) -> Grades:
    """Rows of a grader that compares the completions of a prompt: rows with one prompt are a group.

    A trainer that passes no prompt passes an index of it (verl's `extra_info`); rows without either are in no group.
    """
    groups = [_group_of(sample, at) for at, sample in enumerate(samples)]
    rows = [
        replace(sample, id=f"row {at}", group=group)
        for at, (sample, group) in enumerate(zip(samples, groups, strict=True))
    ]
    grades = Grades.empty(len(samples))
    for at, grade in enumerate(await grader.grade_together(rows)):
        grades.put(at, grade)
    return grades


def _group_of(sample: Sample, at: int) -> str:
    key = prompt_key(sample.thread.to_wire())
    if key is not None:
        return f"prompt {key}"
    metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
    index = next((metadata[name] for name in ("uid", "index") if metadata.get(name) is not None), None)
    return f"row {at}" if index is None else f"index {index}"


@contextlib.contextmanager
def _stopped_on_error(parts: Sequence[_Part]) -> Iterator[None]:
    """Stop the parts if the call ends early: by an error, a cancellation or a KeyboardInterrupt."""
    with contextlib.ExitStack() as undo:
        for part in parts:
            undo.callback(part.stop)
        yield
        undo.pop_all()


@contextlib.contextmanager
def _telling(parts: Sequence[_Part], tell: Callable[[], None]) -> Iterator[None]:
    """Have `tell` called on this event loop whenever more rows are finished, once the call has taken long."""
    loop = asyncio.get_running_loop()
    batches = [part.batch for part in parts if part.batch is not None]

    def news() -> None:  # on the workers' thread
        with contextlib.suppress(RuntimeError):  # the loop was closed, so nothing waits
            loop.call_soon_threadsafe(tell_on)

    def tell_on() -> None:
        if batches:
            tell()

    def begin() -> None:
        for batch in batches:
            batch.news = news
        tell_on()

    timer = loop.call_later(_EARLY_SECONDS, begin)
    try:
        yield
    finally:
        timer.cancel()
        for batch in batches:
            batch.news = None
        batches.clear()  # reports still on their way to the loop are dropped


def _rules_first(parts: Sequence[_Part]) -> Iterator[_Part]:
    """Rules before graders that are running already: rules finish meanwhile."""
    yield from sorted(parts, key=lambda part: part.rule is None)


def _waited(part: _Part) -> Grades:
    if part.rule is not None:
        return part.rule()
    assert part.future is not None
    return background.wait(part.future)


async def _awaited(part: _Part) -> Grades:
    if part.rule is not None:
        return await asyncio.to_thread(part.rule)
    assert part.future is not None
    return await asyncio.wrap_future(part.future)


def _shown(entry: Entry, rows: Sequence[RewardRow]) -> tuple[Sequence[RewardRow], Put]:
    """The rows that the grader is to see, and how its grades become those of all rows."""
    fixed = Grades.empty(len(rows))
    shown = [_row_shown(entry, row, at, fixed) for at, row in enumerate(rows)]
    kept = [row for row in shown if row is not None]
    if len(kept) == len(rows):
        return kept, lambda grades: grades
    places = np.flatnonzero([row is not None for row in shown])

    def put(grades: Grades) -> Grades:
        whole = fixed.take(np.arange(len(rows)))
        for at, row in enumerate(places.tolist()):
            if grades.codes[at]:
                whole.put(row, grades[at])
        return replace(whole, isolation=grades.isolation, code=grades.code)

    return kept, put


def _row_shown(entry: Entry, row: RewardRow, at: int, fixed: Grades) -> RewardRow | None:
    """What the grader sees of a row; None if the row can have no score, for a reason recorded in `fixed`."""
    if row.thread is None:
        fixed.fail(at, GradeError(ErrorKind.SAMPLE, row.problem))
        return None
    if entry.extractor is None:
        return row
    shown = entry.shown(row.thread)
    if isinstance(shown, Grade):
        fixed.put(at, shown)
        return None
    return replace(row, thread=shown)
