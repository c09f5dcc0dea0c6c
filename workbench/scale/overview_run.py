"""A run of which only sums, counts and a sample come back: over partitions in a cluster, or part by part in this process."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from workbench.display_text import one_line
from workbench.errors import FormatError, ReportError, WorkbenchError
from workbench.files import check_writable
from workbench.graders.combine import CombiningRule, Entry
from workbench.grades import Grades
from workbench.judges.asking.budget import Budget, as_budget
from workbench.judges.asking.judge_run import JudgeRun
from workbench.judges.asking.spending import Spending
from workbench.progress import Bar, OnProgress, Progress
from workbench.report import Report, check_settings
from workbench.report.parquet import require_own_file
from workbench.samples import Samples
from workbench.samples.columns import ROLES
from workbench.samples.frame_columns import UnreadableRowsError
from workbench.scale.grader_summary import GraderSummary
from workbench.scale.overview import Overview
from workbench.scale.part_summary import PartSummary, PartTask, part_path, summarise_in_worker, summarise_part
from workbench.scale.partition import PartitionTask
from workbench.scale.plan import Plan, shared_address
from workbench.scale.queue import PartitionQueue, cluster_of
from workbench.scale.row_sample import RowSample
from workbench.suite_run import RunSettings, check_ready, open_run_store, repeats_of

__all__ = ["Collected", "OverviewSettings", "collect_here", "collect_on_cluster", "run_overview"]

PART_ROWS = 65_536
"""Rows that are graded at a time where the data have no partitions: 45 MB of 700 bytes each."""


@dataclass(frozen=True)
class OverviewSettings:
    """What an overview takes beside the settings of a run.

    Attributes:
        folder: Where grades are written, a file a part; None for nowhere.
        sample: Most rows of the sample.
        rule: Makes one grade of the graders' grades; None for none.
        column: Under which name.
        fingerprints: Of the graders, by name.

    Raises:
        ReportError: A sample of no rows.
    """

    folder: str | Path | None
    sample: int
    rule: CombiningRule | None
    column: str
    fingerprints: Mapping[str, Mapping[str, str]]

    def __post_init__(self) -> None:
        if isinstance(self.sample, bool) or not isinstance(self.sample, int) or self.sample < 1:
            raise ReportError(
                "a sample needs rows", found=f"sample={self.sample!r}", expected="a whole number from 1 on"
            )


@dataclass
class Collected:
    """What the parts came to so far.

    Attributes:
        sample: The sample of their rows.
        graders: The summary of each grader, by name, in the graders' order.
        parts: For each part its number, rows, and for each grader scored and failed rows and mean: the lines of a table.
        lost: Parts that were not graded at all, with the reason.
        notes: What a person should read.
        kept: Grades that earlier runs had given.
        is_left: Whether the same call would go on with something.
    """

    sample: RowSample
    graders: dict[str, GraderSummary] = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kept: int = 0
    is_left: bool = False

    def add(self, part: PartSummary) -> None:
        """Add what came of a part."""
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
    entries: tuple[Entry, ...],
    samples: Samples,
    settings: RunSettings,
    own: OverviewSettings,
    progress: bool | OnProgress,
    make_report: Callable[[Samples, dict[str, Grades]], Report],
) -> Overview:
    """See `Suite.overview`.

    Args:
        entries: The graders.
        samples: The rows.
        settings: Of the run.
        own: Of the overview.
        progress: As in `Suite.run`.
        make_report: From the sample and its grades to the report on it.
    """
    samples.require_completion()
    _check_labels(samples, settings)
    check_settings(samples[:0], preset=settings.preset)
    spending = Spending(as_budget(settings.budget))
    for entry in entries:
        check_ready(entry, spending.budget)
    _prepare(own.folder, samples)
    client = cluster_of(samples)
    with open_run_store(settings.store if client is None else None) as store:
        judge_run = JudgeRun(spending, None if store is None else store.replies)
        with Bar(_planned(samples, entries, settings), show=progress is True) as bar:
            listen = progress if callable(progress) else bar
            if client is None:
                collected, stopped = collect_here(samples, entries, settings, own, judge_run, listen)
            else:
                collected, stopped = collect_on_cluster(
                    client, samples, entries, settings, own, judge_run, listen
                )
    return _overview(
        samples, collected, own, make_report, _notes(collected, own, judge_run, len(samples), stopped=stopped)
    )


def _check_labels(samples: Samples, settings: RunSettings) -> None:
    labels = settings.labels
    if labels is None or (isinstance(labels, str) and labels in samples.column_names):
        return
    raise ReportError(
        "labels of an overview are a column of the data", found=repr(labels)[:80], expected=f"one of {', '.join(map(repr, samples.column_names[:30]))}",
        hint="add the labels to the data as a column: each part brings its own",
    )  # fmt: skip


def _prepare(folder: str | Path | None, samples: Samples) -> None:
    """Make the folder, and refuse one in which grades would be among the data."""
    if folder is None:
        return
    path = Path(folder)
    require_own_file(part_path(path, 0), samples)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(
            "the folder cannot be made", where=str(path), found=error.strerror or str(error), hint="choose a folder you may write to"
        ) from error  # fmt: skip
    check_writable(part_path(path, 0))


def _overview(
    samples: Samples,
    collected: Collected,
    own: OverviewSettings,
    make_report: Callable[[Samples, dict[str, Grades]], Report],
    notes: list[str],
) -> Overview:
    sample = collected.sample
    sample.finish()
    grades = sample.grades() or {name: Grades.empty(0) for name in collected.graders}
    report = make_report(_sampled(samples, sample), grades)
    parts = pd.DataFrame(
        collected.parts, columns=["part", "grader", "rows", "scored", "failed", "skipped", "mean"]
    ).sort_values("part", kind="stable", ignore_index=True)
    folder = None if own.folder is None else Path(own.folder)
    return Overview(
        collected.graders,
        report,
        sample.places,
        parts,
        notes=tuple(notes),
        folder=folder,
        whole=sample.is_whole,
    )


def _sampled(samples: Samples, sample: RowSample) -> Samples:
    """The rows of the sample: as a view of the data where these are in memory, with all that is known of them."""
    if samples.is_lazy and sample.parts:
        return Samples.of_part(sample.frame(), {role: samples.columns.get(role) for role in ROLES})
    places = sample.places
    firsts = np.array(_bounds(samples), np.intp)
    return samples.take(firsts[places["part"].to_numpy()] + places["row"].to_numpy())


def _notes(
    collected: Collected, own: OverviewSettings, judge_run: JudgeRun, rows: int, *, stopped: bool
) -> list[str]:
    graded = max((one.rows for one in collected.graders.values()), default=0)
    notes = [f"Interrupted: {graded:,} of {rows:,} rows are in what was begun."] if stopped else []
    if judge_run.spending.any_share_spent and any(
        one.errors.get("budget") for one in collected.graders.values()
    ):
        notes.append("Budget spent.")
    if collected.kept:
        notes.append(f"{collected.kept:,} grades were in {own.folder}: these rows were not graded again.")
    notes += [f"{name}: {why}" for name, one in collected.graders.items() for why in one.ended]
    notes += [*collected.lost.values(), *collected.notes]
    if judge_run.store_errors:
        notes.append(
            f"{len(judge_run.store_errors):,} answers could not be kept: {judge_run.store_errors[0]}"
        )
    notes += [note for note in judge_run.notes() if note not in notes]
    if own.folder is not None and collected.is_left:
        notes.append(f"The same call with the folder {str(own.folder)!r} goes on from here.")
    return notes


def _task(
    samples: Samples, entries: tuple[Entry, ...], settings: RunSettings, own: OverviewSettings, **grading: Any
) -> PartTask:
    columns = {role: samples.columns.get(role) for role in ROLES}
    return PartTask(
        PartitionTask(Plan.of(entries), columns, repeats=settings.repeats, **grading),
        number=0,
        fingerprints=own.fingerprints,
        limit=own.sample,
        cut=RowSample(own.sample).cut,
        rule=own.rule,
        column=own.column,
        reduce=settings.reduce,
        labels=settings.labels,
        folder=None if own.folder is None else str(own.folder),
    )


# ---- in this process


def collect_here(
    samples: Samples,
    entries: tuple[Entry, ...],
    settings: RunSettings,
    own: OverviewSettings,
    judge_run: JudgeRun,
    listen: OnProgress,
) -> tuple[Collected, bool]:
    """Grade part by part, each by all sandbox processes; no more than one part is held.

    Returns:
        What the parts came to, and whether the run was stopped.
    """
    task = _task(samples, entries, settings, own, tasks=1, workers=settings.workers)
    collected = Collected(RowSample(own.sample))
    progress = _WholeProgress(listen, _planned(samples, entries, settings))
    bounds = _bounds(samples)
    check_parts(own.folder, len(bounds) - 1)
    for number, (first, last) in enumerate(pairwise(bounds)):
        try:
            rows = samples.part(first, last)
        except UnreadableRowsError as error:
            collected.lost[number] = (
                f"{last - first:,} rows of part {number} were not graded: {error.found} ({error.where})"
            )
            continue
        part = summarise_part(
            rows, replace(task, number=number, cut=collected.sample.cut), entries, judge_run, progress
        )
        collected.add(part)
        progress.part_ended(*_counts(part, entries, settings))
        del rows
        pa.default_memory_pool().release_unused()  # else it keeps the memory of parts that are gone
        is_last = number == len(bounds) - 2
        if part.stopped or (progress.is_stopped and not is_last):
            collected.is_left = True
            return collected, True
    collected.is_left = collected.is_left or bool(collected.lost)
    return collected, False


def _bounds(samples: Samples) -> list[int]:
    """The first row of each part, and the number of all rows."""
    data = samples.dask_columns
    if data is not None:
        return [int(bound) for bound in data.bounds]
    return [*range(0, len(samples), PART_ROWS), len(samples)] if len(samples) else [0, 0]


def _planned(samples: Samples, entries: tuple[Entry, ...], settings: RunSettings) -> int:
    return len(samples) * sum(repeats_of(entries, settings.repeats).values())


def _counts(part: PartSummary, entries: tuple[Entry, ...], settings: RunSettings) -> tuple[int, int]:
    """Grades of a part and those that failed, over all graders and repeats."""
    done = part.rows * sum(repeats_of(entries, settings.repeats).values())
    return done, sum(part.graders[entry.name].failed for entry in entries)


class _WholeProgress:
    """The progress of the whole out of that of each part.

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
        # A part may end before it has heard of a stop.
        self.is_stopped = self._listen(whole) is False or self.is_stopped
        return not self.is_stopped

    def part_ended(self, done: int, failed: int) -> None:
        """Count a part's grades, and those of them that failed."""
        self._done += done
        self._failed += failed


# ---- on a cluster


def collect_on_cluster(
    client: Any,
    samples: Samples,
    entries: tuple[Entry, ...],
    settings: RunSettings,
    own: OverviewSettings,
    judge_run: JudgeRun,
    listen: OnProgress,
) -> tuple[Collected, bool]:
    """Let the workers of a cluster grade a partition each; see `collect_here`.

    Raises:
        ReportError: A store that workers cannot open, or a folder with grades of other rows or graders.
    """
    queue = _OverviewQueue(client, samples, entries, settings, own, judge_run)
    check_parts(own.folder, len(_bounds(samples)) - 1)
    stopped = queue.work_off(listen)
    if queue.error is not None:
        raise queue.error
    queue.collected.is_left = queue.collected.is_left or stopped or bool(queue.collected.lost)
    return queue.collected, stopped


class _OverviewQueue(PartitionQueue[int]):
    """Partitions by their numbers; what comes back is a `PartSummary`.

    Attributes:
        collected: What they came to.
        error: Why the run cannot go on: a folder of another run.
    """

    def __init__(
        self,
        client: Any,
        samples: Samples,
        entries: tuple[Entry, ...],
        settings: RunSettings,
        own: OverviewSettings,
        judge_run: JudgeRun,
    ) -> None:
        data = samples.dask_columns
        assert data is not None
        self._data, self._settings = data, settings
        stop = f"workbench-stop-{uuid.uuid4()}"
        super().__init__(client, entries, judge_run, stop, _planned(samples, entries, settings))
        self._task = _task(
            samples, entries, settings, own, tasks=self.tasks if self._judges else 1, workers=settings.workers or 1,
            store=shared_address(settings.store), stop=stop,
        )  # fmt: skip
        self.collected = Collected(RowSample(own.sample))
        self.error: WorkbenchError | None = None

    def _waiting(self) -> Iterator[int]:
        yield from range(len(self._data.bounds) - 1)

    def _send(self, work: int, budget: Budget | None) -> Any:
        from dask.delayed import delayed

        task = replace(
            self._task,
            number=work,
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
            done, failed = _counts(part, self._entries, self._settings)
            self._done, self._failed = self._done + done, self._failed + failed
        else:
            found = one_line(f"{type(error).__name__}: {error}")[:300]
            rows = int(self._data.bounds[work + 1] - self._data.bounds[work])
            self.collected.lost[work] = f"{rows:,} rows of part {work} were not graded: {found}"

    def _report_progress(self, listen: OnProgress) -> object:
        return False if self.error is not None else super()._report_progress(listen)


def check_parts(folder: str | Path | None, count: int) -> None:
    """Refuse a folder that has more parts than there are to write: they would be read as parts of these data.

    Raises:
        ReportError: With the file.
    """
    if folder is not None and (path := part_path(folder, count)).exists():
        raise ReportError(
            "the folder has grades of other rows", where=str(path), found=f"a part behind the last of these rows ({count} parts)",
            expected="the parts of these rows, or none", hint="name another folder, or divide the rows as before",
        )  # fmt: skip
