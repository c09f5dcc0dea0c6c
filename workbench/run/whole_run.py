"""A run that has the grade of each row: here all rows are one part, on a cluster each partition is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import background
from workbench.core.errors import ReportError, WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.core.grades import MISSING, Grades
from workbench.core.progress import Bar, OnProgress
from workbench.data.samples import Samples, as_samples
from workbench.graders.combine import Entry
from workbench.graders.concurrent_rows import concat_grades
from workbench.judges.judge_run import NOT_ASKED, UNRECOVERABLE, JudgeRun
from workbench.judges.spending import Spending
from workbench.report import Report
from workbench.report.digests import fingerprints_of
from workbench.report.grades_table import GradeRecords, unpack_grades
from workbench.report.settings import check_settings
from workbench.run.part_run import (
    PartedRun,
    PartRun,
    RunSettings,
    asks_model,
    cluster_of,
    open_run_file,
    open_run_store,
    ready_budget,
    reduced_passes,
)
from workbench.run.suite_definition import SuiteDefinition, report_on

if TYPE_CHECKING:
    from workbench.run.batch_run import BatchRun
    from workbench.run.run_file import RunFile, SavedGrades
    from workbench.store import Store


@dataclass(frozen=True)
class PartRows:
    """The rows of a partition that must be graded.

    Attributes:
        number: Of the partition.
        rows: By the grader's name, row indices among all rows (m,).
    """

    number: int
    rows: Mapping[str, NDArray[np.intp]]


class WholeRun(PartedRun[PartRows]):
    """A run that concatenates the grades of all parts. In this process all rows are one part.

    Args:
        entries: The graders.
        samples: The rows.
        settings: Of the run.
        judge_run: State shared by judges; counts what was spent.
        file: Stores grades during the run, and has those of earlier runs; None without.

    Attributes:
        passes: Grades by entry name, one per started repeat, in the samples' order.
    """

    def __init__(
        self,
        entries: tuple[Entry, ...],
        samples: Samples,
        settings: RunSettings,
        judge_run: JudgeRun,
        file: RunFile | None = None,
    ) -> None:
        super().__init__(entries, samples, settings, judge_run)
        self.passes: Mapping[str, list[Grades]] = {}
        self._file = file
        self._new: dict[tuple[str, int], list[tuple[NDArray[np.intp], Grades]]] = {}

    def grades(self) -> dict[str, Grades]:
        """Grades by entry name, reduced from the repeats."""
        return reduced_passes(self.passes, self.settings.reduce)

    def go(self, listen: OnProgress) -> bool:
        """Grade all rows, here or on the cluster that has them; returns whether the run was interrupted."""
        if self.client is None:
            return self.grade_here(listen)
        from workbench.run.cluster import ClusterQueue

        stopped = ClusterQueue(self.client, self).work_off(listen)
        with background.uninterrupted():
            self._join()
        return stopped

    def grade(self, part: PartRows, listen: OnProgress) -> bool:  # noqa: ARG002 (all rows)
        """Grade all rows here; those with grades in the file are not graded again."""
        run = PartRun(self.entries, self.samples, self.settings, self.judge_run, self._file)
        stopped = run.go(listen)
        self.passes = run.passes
        self._add_kept(run.kept)
        self.notes += run.notes
        return stopped

    def _add_kept(self, n_kept: int) -> None:
        """Count the grades of earlier runs, with a note for the user."""
        self.done += n_kept
        if self._file is not None and n_kept:
            self.notes.append(self._file.kept_note(n_kept, self.planned))

    def parts(self) -> Iterator[PartRows]:
        """Partitions with the row indices, by grader, that an earlier run has not graded in each repeat."""
        if self.client is None:
            yield PartRows(0, {})
            return
        n_kept, missing = 0, {entry.name: np.zeros(len(self.samples), np.bool_) for entry in self.entries}
        for name, repeat in self._all_passes():
            is_kept = self._kept(name, repeat).codes != MISSING
            missing[name] |= ~is_kept
            n_kept += int(is_kept.sum())
        self._add_kept(n_kept)
        assert self.samples.dask_columns is not None
        for number, (first, last) in enumerate(pairwise(self.samples.dask_columns.bounds.tolist())):
            rows = {name: first + np.flatnonzero(own[first:last]) for name, own in missing.items()}
            if any(map(len, rows.values())):
                yield PartRows(number, {name: own for name, own in rows.items() if len(own)})

    def _all_passes(self) -> Iterator[tuple[str, int]]:
        for name, repeats in self.repeats.items():
            for repeat in range(repeats):
                yield name, repeat

    def _kept(self, name: str, repeat: int) -> Grades:
        checkpoint = self._checkpoint(name, repeat)
        n = len(self.samples)
        return Grades.empty(n) if checkpoint is None else checkpoint.kept(n)

    def _checkpoint(self, name: str, repeat: int) -> SavedGrades | None:
        return None if self._file is None else self._file.of(name, repeat)

    def affordable(self, part: PartRows) -> PartRows | None:
        """The rows of graders without a model; those of the others fail, since the budget is exhausted."""
        self.judge_run.spending.any_share_spent = True
        judges = {entry.name for entry in self.entries if asks_model(entry)}
        for name in judges & part.rows.keys():
            for repeat in range(self.repeats[name]):
                grades = Grades.empty(len(part.rows[name]))
                grades.finish(ErrorKind.BUDGET, "the budget is exhausted")
                self._put(name, repeat, part.rows[name], grades)
        left = {name: own for name, own in part.rows.items() if name not in judges}
        return PartRows(part.number, left) if left else None

    def task(self, part: PartRows) -> tuple[Any, Callable[..., Any]]:
        """The partition, and its rows to grade, numbered within it."""
        from workbench.run.cluster import PassRecords

        data = self.samples.dask_columns
        assert data is not None
        first, last = data.bounds[part.number : part.number + 2].tolist()
        is_whole = len(part.rows) == len(self.entries) and all(
            len(own) == last - first for own in part.rows.values()
        )
        wanted = None if is_whole else {name: own - first for name, own in part.rows.items()}
        return data.part(part.number), PassRecords(wanted)

    def add(self, part: PartRows, result: tuple[Mapping[str, list[GradeRecords]], list[str]]) -> None:
        """Add the grades of a partition, with their notes: the result of `PassRecords`."""
        passes, notes = result
        self.add_notes(notes)
        for name, own in passes.items():
            for repeat, packed in enumerate(own):
                self._put(name, repeat, part.rows[name], unpack_grades(packed))

    def lose(self, part: PartRows, reason: str) -> None:
        """Fail the rows of a partition."""
        for name, rows in part.rows.items():
            grades = Grades.empty(len(rows))
            grades.ended = f"partition {part.number} was not graded: {reason}"
            grades.finish(ErrorKind.SANDBOX, grades.ended)
            self._put(name, 0, rows, grades)

    def _put(self, name: str, repeat: int, rows: NDArray[np.intp], grades: Grades) -> None:
        """Store new grades of ungraded rows; a row that lacks one repeat may have been graded in others, too."""
        checkpoint = self._checkpoint(name, repeat)
        if checkpoint is not None:
            is_new = self._kept(name, repeat).codes[rows] == MISSING
            rows, grades = rows[is_new], grades.take(np.flatnonzero(is_new))
            checkpoint.of_rows(rows).add(grades, final=True)
        self._new.setdefault((name, repeat), []).append((rows, grades))
        self.done += len(grades)
        self.failed += grades.n_failed

    def _join(self) -> None:
        """All grades in the samples' order; rows that were not reached are failed, and repeats not started are omitted."""
        passes: dict[str, list[Grades]] = {}
        for name, repeat in self._all_passes():
            new = self._new.get((name, repeat), [])
            kept = self._kept(name, repeat)
            if repeat and not new and not (kept.codes != MISSING).any():
                continue
            rest = np.ones(len(self.samples), np.bool_)
            for rows, _ in new:
                rest[rows] = False
            others = np.flatnonzero(rest)
            grades = concat_grades([(others, kept.take(others)), *new])
            grades.finish()
            passes.setdefault(name, []).append(grades)
        self.passes = passes


def store_summary(store: Store | None, report: Report, name: str, dataset: str) -> list[str]:
    """Save a run's summary. A failure is returned as text; an exception would lose the report."""
    if store is None:
        return []
    try:
        store.runs.add(report, name=name, dataset=dataset)
    except WorkbenchError as error:
        return [f"Could not save the run summary: {error}"]
    return []


def ending_notes_of(run: WholeRun, *, interrupted: bool) -> Iterator[str]:
    """Notes on why a run ended early or incomplete: an interrupt, an exhausted budget, a grader or judge that stopped."""
    columns = [grades for passes in run.passes.values() for grades in passes]
    errors = (error for grades in columns for error in grades.errors.values())
    spent = run.judge_run.spending.any_share_spent and any(error.kind is ErrorKind.BUDGET for error in errors)
    reason = "Interrupted" if interrupted else "Budget exhausted" if spent else ""
    if reason:
        kept = sum(len(grades) - len(grades.cut_off) for grades in columns)
        yield f"{reason}: {kept:,} of {run.planned:,} grades completed."
    for name, passes in run.passes.items():
        for grades in passes:
            if grades.ended:
                yield f"{name}: {grades.ended}"
            yield from _unreachable_notes(name, grades)
    yield from run.judge_notes()


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


def run_suite(
    suite: SuiteDefinition, samples: Any, progress: bool | OnProgress, settings: RunSettings
) -> Report:
    """Grade every sample with every entry of a suite; see `Suite.run`."""
    data = as_samples(samples)
    data.require_answers()
    shown = {"preset": settings.preset, "labels": settings.labels}
    check_settings(data, **shown)  # now rather than after hours of grading
    budget = ready_budget(suite.entries, settings.budget)
    fingerprints = fingerprints_of(suite)  # of the current graders: a dict in a grader may be changed later
    own = {entry.name: fingerprints.get(entry.name, {}) for entry in suite.entries}
    with open_run_store(settings.store) as run_store, open_run_file(settings.resume, data, own) as file:
        if file is not None:
            file.require_repeats(settings.repeats)
        batches = _batches(suite.entries, data, run_store) if settings.batch else None
        if batches is not None:
            batches.collect()
        queue = None if batches is None else batches.queue
        judge_run = JudgeRun(Spending(budget), None if run_store is None else run_store.replies, queue)
        run = WholeRun(suite.entries, data, settings, judge_run, file)
        with Bar(run.planned, show=progress is True) as bar:
            stopped = run.go(progress if callable(progress) else bar)
        if batches is not None and not stopped:
            batches.submit()
        report = report_on(suite, data, run.grades(), fingerprints=fingerprints, **shown)
        notes = store_summary(run_store, report, suite.name, settings.dataset)
        notes += ending_notes_of(run, interrupted=stopped)
        notes += [] if batches is None else batches.notes
        report = replace(report, notes=(*notes, *run.notes))
        return report if file is None else file.finish(report)


def _batches(entries: tuple[Entry, ...], samples: Samples, store: Store | None) -> BatchRun:
    """The batches of a run with `batch=True`."""
    if store is None:
        raise ReportError(
            "batch=True needs a store, where the replies are collected", found="store=None",
            hint='store="sqlite:///workbench.db"',
        )  # fmt: skip
    if cluster_of(samples) is not None:
        raise ReportError(
            "batch=True needs rows in this process", found="a Dask cluster", hint="samples.compute()"
        )
    from workbench.run.batch_run import BatchRun

    return BatchRun(entries, store)
