"""A run that returns only sums, counts and a sample: over partitions in a cluster, or part by part in this process."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.core import background
from workbench.core.display_text import counted, one_line
from workbench.core.errors import FormatError, ReportError, WorkbenchError
from workbench.core.files import check_writable
from workbench.core.grade import ErrorKind
from workbench.core.grades import Grades
from workbench.core.progress import Bar, OnProgress, Progress
from workbench.core.safe_frame import SafeFrame
from workbench.data.samples import Samples, as_samples
from workbench.data.samples.columns import every_role
from workbench.data.samples.frame_columns import UnreadableRowsError
from workbench.judges.budget import Budget
from workbench.judges.judge_run import NOT_ASKED, UNRECOVERABLE, JudgeRun
from workbench.report.digests import COMPARED, fingerprints_of
from workbench.report.parquet import require_own_file
from workbench.report.settings import check_settings
from workbench.run.cluster import PartitionTask
from workbench.run.overview import GraderSummary, Overview
from workbench.run.part_summary import (
    PartSummary,
    PartTask,
    RowSample,
    part_path,
    summarise_in_worker,
    summarise_part,
)
from workbench.run.queue import PartitionQueue, Plan, cluster_of, shared_address
from workbench.run.suite_definition import SuiteDefinition, report_on
from workbench.run.suite_run import RunSettings, open_budget, open_run_store, repeats_of

_COMPARED = "Only the first 1,000 and the last 100 rows of a part are compared with those of the earlier run."
PART_ROWS = 65_536
"""Rows graded at a time if the data have no partitions: 45 MB of 700 bytes each."""


@dataclass(frozen=True)
class OverviewPlan:
    """What is to be graded, how, and what is returned.

    Attributes:
        suite: The graders, and the rule that combines their grades.
        samples: The rows.
        settings: Of the run.
        folder: Folder for the grades, one file per part; None to discard them.
        sample: Maximum rows of the sample.
        fingerprints: Of the graders at the start, by name: a dict in a grader may be changed later.

    Raises:
        ReportError: A sample of no rows, or a folder that is not a path.
    """

    suite: SuiteDefinition
    samples: Samples
    settings: RunSettings
    folder: str | Path | None
    sample: int
    fingerprints: Mapping[str, Mapping[str, str]]

    def __post_init__(self) -> None:
        if isinstance(self.sample, bool) or not isinstance(self.sample, int) or self.sample < 1:
            raise ReportError(
                "a sample needs rows", found=f"sample={self.sample!r}", expected="a whole number from 1 on"
            )
        if self.folder is not None and not (
            isinstance(self.folder, str | os.PathLike) and os.fspath(self.folder).strip()
        ):
            raise ReportError(
                "grades are written to a folder", found=f"folder={self.folder!r}"[:80], expected="its path, or None to discard the grades",
                hint="name a separate folder, such as 'graded/'",
            )  # fmt: skip

    @property
    def bounds(self) -> list[int]:
        """The first row of each part, and the number of all rows."""
        data, count = self.samples.dask_columns, len(self.samples)
        if data is not None:
            return [int(bound) for bound in data.bounds]
        return [*range(0, count, PART_ROWS), count] if count else [0, 0]

    @property
    def total(self) -> int:
        """Number of grades."""
        return len(self.samples) * self._grades_a_row

    @property
    def _grades_a_row(self) -> int:
        return sum(repeats_of(self.suite.entries, self.settings.repeats).values())

    def counts(self, part: PartSummary) -> tuple[int, int]:
        """Number of grades of a part, over all graders and repeats, and of those that failed."""
        return part.rows * self._grades_a_row, sum(
            part.graders[entry.name].failed for entry in self.suite.entries
        )

    def task(self, **grading: Any) -> PartTask:
        """How a part is graded, except for its number.

        Args:
            grading: Fields of `PartitionTask` that depend on where it is graded.
        """
        columns, settings = every_role(self.samples.columns), self.settings
        return PartTask(
            PartitionTask(
                Plan.of(self.suite.entries),
                columns,
                repeats=settings.repeats,
                text_chats=self.samples.text_chats,
                **grading,
            ),
            number=0,
            first=0,
            fingerprints=self.fingerprints,
            limit=self.sample,
            cut=RowSample(self.sample).cut,
            rule=self.suite.combine,
            column=self.suite.column,
            reduce=settings.reduce,
            labels=settings.labels,
            # Workers of a cluster may have another working directory.
            folder=None if self.folder is None else str(Path(self.folder).absolute()),
        )


@dataclass
class Collected:
    """Results of the parts so far.

    Attributes:
        sample: The sample of their rows.
        graders: The summary of each grader, by name, in the graders' order.
        parts: For each part its number, rows, and for each grader scored and failed rows and mean: the lines of a table.
        lost: Parts that were not graded at all, with the reason.
        notes: Notes for the user.
        kept: Number of grades that earlier runs had stored.
        is_left: Whether another call would have more to grade.
    """

    sample: RowSample
    graders: dict[str, GraderSummary] = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kept: int = 0
    is_left: bool = False

    @property
    def rows(self) -> int:
        """Rows in the parts so far."""
        return max((one.rows for one in self.graders.values()), default=0)

    def lose(self, number: int, rows: int, why: str) -> None:
        """Record that a part was not graded."""
        self.lost[number] = f"{rows:,} rows of part {number} were not graded: {why}"
        self.is_left = True

    def add(self, part: PartSummary) -> None:
        """Add the result of a part."""
        for name, summary in part.graders.items():
            known = self.graders.get(name)
            self.graders[name] = summary if known is None else known.merged(summary)
            self.parts.append({
                "part": part.number, "grader": name, "rows": summary.rows, "scored": summary.scored, "failed": summary.failed,
                "skipped": summary.skipped, "mean": summary.moments.mean if summary.scored else float("nan"),
            })  # fmt: skip
        self.sample.add(part.sampled, part.cut)
        self.kept += part.kept
        self.is_left = self.is_left or part.is_left
        self.notes += [note for note in part.notes if note not in self.notes]


def run_overview(
    suite: SuiteDefinition,
    data: Any,
    progress: bool | OnProgress,
    folder: str | Path | None,
    sample: int,
    settings: RunSettings,
) -> Overview:
    """Grade part by part and return aggregates of the grades; see `Suite.overview`."""
    samples = as_samples(data)
    plan = OverviewPlan(suite, samples, settings, folder, sample, fingerprints_of(suite))
    samples.require_answers()
    _check_labels(samples, settings)
    check_settings(samples[:0], preset=settings.preset)
    spending = open_budget(plan.suite.entries, settings.budget)
    _prepare(plan)
    client = cluster_of(samples)
    with open_run_store(settings.store if client is None else None) as store:
        judge_run = JudgeRun(spending, None if store is None else store.replies)
        with Bar(plan.total, show=progress is True) as bar:
            listen = progress if callable(progress) else bar
            if client is None:
                collected, stopped = _collect_here(plan, judge_run, listen)
            else:
                queue = _OverviewQueue(client, plan, judge_run)
                collected, stopped = queue.collected, queue.work_off(listen)
                if queue.error is not None:
                    raise queue.error
    return _overview(plan, collected, _notes(plan, collected, judge_run, stopped=stopped))


def _check_labels(samples: Samples, settings: RunSettings) -> None:
    labels = settings.labels
    if labels is None or (isinstance(labels, str) and labels in samples.column_names):
        if samples.dask_columns is None and not samples.is_lazy:
            check_settings(samples, labels=labels)  # refuses an unreadable column before anything is graded
        return
    several = isinstance(labels, list | tuple)
    raise ReportError(
        "labels of an overview must be a column of the data", found=repr(labels)[:80], expected=f"one of {', '.join(map(repr, samples.column_names[:30]))}",
        hint="name one annotator's labels, or compare several annotators in a run on fewer rows" if several else
        "add the labels to the data as a column, so that each part contains its labels",
    )  # fmt: skip


def _prepare(plan: OverviewPlan) -> None:
    """Create the folder; refuse one inside the data, or one that has grades of more rows."""
    if plan.folder is None:
        return
    path, count = Path(plan.folder), len(plan.bounds) - 1
    try:
        require_own_file(part_path(path, 0), plan.samples)
    except ReportError as error:
        data = Path(str(plan.samples.source))
        beside = repr(str(data.with_name(data.name + "-graded")))
        raise ReportError(
            "grades cannot be written to the folder of their data", where=str(path), found=error.found, expected="a separate folder",
            hint=f"write them to {beside}",
        ) from error  # fmt: skip
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(
            "the folder cannot be created", where=str(path), found=error.strerror or str(error), hint="choose a folder you may write to"
        ) from error  # fmt: skip
    check_writable(part_path(path, 0))
    known = {part_path(path, number) for number in range(count)}
    if behind := sorted(set(path.glob("part-*.parquet")) - known):
        raise ReportError(
            "the folder has grades of other rows", where=str(behind[0]), found=f"a part after the last of these rows ({count} parts)",
            expected="the parts of these rows, or none", hint="name another folder, or partition the rows as before",
        )  # fmt: skip


def _overview(plan: OverviewPlan, collected: Collected, notes: list[str]) -> Overview:
    sample = collected.sample
    sample.finish()
    suite = plan.suite
    names = [*(entry.name for entry in suite.entries), *([suite.column] if suite.combine is not None else [])]
    graders = collected.graders or {name: GraderSummary() for name in names}
    grades = sample.grades() or {name: Grades.empty(0) for name in graders}
    report = report_on(suite,
        _sampled(plan, sample), grades,
        fingerprints=plan.fingerprints, preset=plan.settings.preset, labels=plan.settings.labels,
    )  # fmt: skip
    parts = SafeFrame(
        collected.parts, columns=["part", "grader", "rows", "scored", "failed", "skipped", "mean"]
    ).sort_values("part", kind="stable", ignore_index=True)
    folder = None if plan.folder is None else Path(plan.folder)
    return Overview(
        graders,
        report,
        sample.places,
        parts,
        notes=tuple(notes),
        folder=folder,
        whole=sample.is_whole,
        missing=len(plan.samples) - collected.rows,
        has_part_of_a_prompt=sample.has_part_of_a_prompt,
    )


def _sampled(plan: OverviewPlan, sample: RowSample) -> Samples:
    """The rows of the sample: as a view of the data if these are in memory, with all their attributes."""
    if plan.samples.is_lazy and sample.parts:
        whole = plan.samples
        return Samples.of_part(sample.frame(), every_role(whole.columns), text_chats=whole.text_chats)
    places, firsts = sample.places, np.array(plan.bounds, np.intp)
    return plan.samples.take(firsts[places["part"].to_numpy()] + places["row"].to_numpy())


def _notes(plan: OverviewPlan, collected: Collected, judge_run: JudgeRun, *, stopped: bool) -> list[str]:
    of_all = f"{collected.rows:,} of {len(plan.samples):,} rows"
    notes = [f"Interrupted: {of_all} are in the parts that were started."] if stopped else []
    if collected.lost and not stopped:
        notes.append(f"{of_all} were graded.")
    if judge_run.spending.any_share_spent and any(
        one.errors.get("budget") for one in collected.graders.values()
    ):
        notes.append("Budget exhausted.")
    if collected.kept:
        kept = f"{collected.kept:,} grades were in {plan.folder}: these rows were not graded again."
        is_long = max(last - first for first, last in pairwise(plan.bounds)) > COMPARED
        notes.append(f"{kept} {_COMPARED}" if is_long else kept)
    notes += [f"{name}: {why}" for name, one in collected.graders.items() for why in one.ended]
    notes += [note for name, one in collected.graders.items() for note in _unreachable_notes(name, one)]
    notes += [*collected.lost.values(), *collected.notes]
    if judge_run.store_errors:
        notes.append(
            f"{len(judge_run.store_errors):,} replies could not be stored: {judge_run.store_errors[0]}"
        )
    notes += [note for note in judge_run.notes() if note not in notes]
    if plan.folder is not None and (collected.is_left or stopped):
        notes.append(f"Rerun with the folder {str(plan.folder)!r} to continue.")
    return notes


def _unreachable_notes(name: str, one: GraderSummary) -> Iterator[str]:
    """Why a judge's model, or the store of its replies, could not be reached."""
    for kind, count in one.errors.items():
        if kind == ErrorKind.STORE or (kind in UNRECOVERABLE and not one.scored):
            why = one.examples.get(kind, kind).removesuffix(NOT_ASKED)
            yield f"{name}: {why}\n{counted(count, 'row')} without a grade for it."


def _collect_here(plan: OverviewPlan, judge_run: JudgeRun, listen: OnProgress) -> tuple[Collected, bool]:
    """Grade part by part, each with all sandbox processes; at most one part is in memory.

    Returns:
        The results of the parts, and whether the run was stopped.
    """
    task = plan.task(tasks=1, workers=plan.settings.workers)
    collected, progress = Collected(RowSample(plan.sample)), _WholeProgress(listen, plan.total)
    bounds = list(pairwise(plan.bounds))
    try:
        for number, (first, last) in enumerate(bounds):
            try:
                rows = plan.samples.part(first, last)
            except UnreadableRowsError as error:
                collected.lose(number, last - first, f"{error.found} ({error.where})")
                continue
            one = replace(task, number=number, first=first, cut=collected.sample.cut)
            part = summarise_part(rows, one, plan.suite.entries, judge_run, progress)
            with background.uninterrupted():
                collected.add(part)
            progress.part_ended(*plan.counts(part))
            del rows
            pa.default_memory_pool().release_unused()  # otherwise it retains the memory of finished parts
            if part.stopped or (progress.is_stopped and number < len(bounds) - 1):
                return collected, True
    except KeyboardInterrupt:
        # Between the rows of two parts: a part without a summary is graded again, or is in its file.
        return collected, True
    return collected, False


class _WholeProgress:
    """The progress of the whole run, from that of each part.

    Attributes:
        is_stopped: Whether the listener wants the run to stop.
    """

    def __init__(self, listen: OnProgress, total: int) -> None:
        self._listen, self._total = listen, total
        self._done = self._failed = 0
        self._start = time.monotonic()
        self.is_stopped = False

    def __call__(self, part: Progress) -> bool:
        whole = replace(
            part, done=self._done + part.done, failed=self._failed + part.failed, total=self._total,
            seconds=time.monotonic() - self._start,
        )  # fmt: skip
        # A part may end before it has received a stop.
        self.is_stopped = self._listen(whole) is False or self.is_stopped
        return not self.is_stopped

    def part_ended(self, done: int, failed: int) -> None:
        """Count a part's grades, and those of them that failed."""
        self._done += done
        self._failed += failed


class _OverviewQueue(PartitionQueue[int]):
    """Partitions by their numbers; each result is a `PartSummary`.

    Attributes:
        collected: The results.
        error: Why the run cannot continue: a folder of another run.
    """

    def __init__(self, client: Any, plan: OverviewPlan, judge_run: JudgeRun) -> None:
        data = plan.samples.dask_columns
        assert data is not None
        self._data, self._plan = data, plan
        stop = f"workbench-stop-{uuid.uuid4()}"
        super().__init__(client, plan.suite.entries, judge_run, stop, plan.total)
        self._task = plan.task(
            tasks=self.tasks if self._judges else 1, workers=plan.settings.workers or 1,
            store=shared_address(plan.settings.store), stop=stop,
        )  # fmt: skip
        self.collected = Collected(RowSample(plan.sample))
        self.error: WorkbenchError | None = None

    def _waiting(self) -> Iterator[int]:
        yield from range(len(self._data.bounds) - 1)

    def _send(self, work: int, budget: Budget | None) -> Any:
        from dask.delayed import delayed

        task = replace(
            self._task,
            number=work,
            first=int(self._data.bounds[work]),
            cut=self.collected.sample.cut,
            grading=replace(self._task.grading, budget=budget),
        )
        summed = delayed(summarise_in_worker, pure=False)(self._data.part(work), task)
        return self._client.compute(summed, retries=1)

    def _take(self, work: int, future: Any) -> None:
        error = future.exception()
        part: PartSummary | WorkbenchError | None = None if error is not None else future.result()
        if isinstance(part, WorkbenchError):
            self.error = part
        elif part is not None:
            self._count(part.spent, part.store_errors, share_spent=part.share_spent)
            self.collected.add(part)
            done, failed = self._plan.counts(part)
            self._done, self._failed = self._done + done, self._failed + failed
        else:
            rows = int(self._data.bounds[work + 1] - self._data.bounds[work])
            self.collected.lose(work, rows, one_line(f"{type(error).__name__}: {error}")[:300])

    def _report_progress(self, listen: OnProgress) -> object:
        return False if self.error is not None else super()._report_progress(listen)
