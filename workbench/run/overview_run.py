"""A run that returns only sums, counts and a sample: over partitions in a cluster, or part by part in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.core import background
from workbench.core.display_text import counted
from workbench.core.errors import FormatError, ReportError
from workbench.core.files import check_writable
from workbench.core.grade import ErrorKind
from workbench.core.grades import Grades
from workbench.core.progress import Bar, OnProgress
from workbench.core.safe_frame import SafeFrame
from workbench.data.samples import Samples, as_samples
from workbench.data.samples.columns import every_role
from workbench.data.samples.frame_columns import UnreadableRowsError
from workbench.judges.judge_run import NOT_ASKED, UNRECOVERABLE, JudgeRun
from workbench.report.digests import COMPARED, fingerprints_of
from workbench.report.parquet import require_own_file
from workbench.report.settings import check_settings
from workbench.run.cluster import ClusterQueue
from workbench.run.overview import GraderSummary, Overview
from workbench.run.part_run import PartedRun, RunSettings, cluster_of, open_judge_run, ready_budget
from workbench.run.part_summary import PartSummary, RowSample, Summary, part_path
from workbench.run.suite_definition import SuiteDefinition, report_on

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

    def summary(self) -> Summary:
        """How a part is summarised, except for its number."""
        return Summary(
            number=0,
            first=0,
            fingerprints=self.fingerprints,
            limit=self.sample,
            cut=RowSample(self.sample).cut,
            rule=self.suite.combine,
            column=self.suite.column,
            labels=self.settings.labels,
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
        kept: Number of grades that earlier runs had stored.
        is_left: Whether another call would have more to grade.
    """

    sample: RowSample
    graders: dict[str, GraderSummary] = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)
    lost: dict[int, str] = field(default_factory=dict)
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
    budget = ready_budget(plan.suite.entries, settings.budget)
    _prepare(plan)
    # The workers of a cluster open the store themselves.
    with open_judge_run(settings.store if cluster_of(samples) is None else None, budget) as judge_run:
        run = OverviewRun(plan, judge_run)
        with Bar(run.planned, show=progress is True) as bar:
            stopped = run.go(progress if callable(progress) else bar)
    return _overview(plan, run.collected, _notes(run, stopped=stopped))


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


def _notes(run: OverviewRun, *, stopped: bool) -> list[str]:
    plan, collected = run.plan, run.collected
    of_all = f"{collected.rows:,} of {len(plan.samples):,} rows"
    notes = [f"Interrupted: {of_all} are in the parts that were started."] if stopped else []
    if collected.lost and not stopped:
        notes.append(f"{of_all} were graded.")
    if run.judge_run.spending.any_share_spent and any(
        one.errors.get("budget") for one in collected.graders.values()
    ):
        notes.append("Budget exhausted.")
    if collected.kept:
        kept = f"{collected.kept:,} grades were in {plan.folder}: these rows were not graded again."
        is_long = max(last - first for first, last in pairwise(plan.bounds)) > COMPARED
        notes.append(f"{kept} {_COMPARED}" if is_long else kept)
    notes += [f"{name}: {why}" for name, one in collected.graders.items() for why in one.ended]
    notes += [note for name, one in collected.graders.items() for note in _unreachable_notes(name, one)]
    notes += [*collected.lost.values(), *run.notes]
    notes += [note for note in run.judge_notes() if note not in notes]
    if plan.folder is not None and (collected.is_left or stopped):
        notes.append(f"Rerun with the folder {str(plan.folder)!r} to continue.")
    return notes


def _unreachable_notes(name: str, one: GraderSummary) -> Iterator[str]:
    """Why a judge's model, or the store of its replies, could not be reached."""
    for kind, count in one.errors.items():
        if kind == ErrorKind.STORE or (kind in UNRECOVERABLE and not one.scored):
            why = one.examples.get(kind, kind).removesuffix(NOT_ASKED)
            yield f"{name}: {why}\n{counted(count, 'row')} without a grade for it."


class OverviewRun(PartedRun[int]):
    """A run that summarises each part; at most one is in this process's memory. Parts are named by their numbers.

    Args:
        plan: What is graded.
        judge_run: State shared by judges; counts what was spent.

    Attributes:
        collected: The results of the parts so far.
    """

    def __init__(self, plan: OverviewPlan, judge_run: JudgeRun) -> None:
        super().__init__(plan.suite.entries, plan.samples, plan.settings, judge_run)
        self.plan, self.collected = plan, Collected(RowSample(plan.sample))
        self._bounds, self._summary = plan.bounds, plan.summary()

    def parts(self) -> Iterator[int]:
        """The parts' numbers."""
        yield from range(len(self._bounds) - 1)

    def go(self, listen: OnProgress) -> bool:
        """Grade all parts; returns whether the run was interrupted."""
        try:
            if self.client is None:
                return self.grade_here(listen)
            return ClusterQueue(self.client, self).work_off(listen)
        except KeyboardInterrupt:
            # Between the rows of two parts: a part without a summary is graded again, or is in its file.
            return True

    def grade(self, part: int, listen: OnProgress) -> bool:
        """Grade a part with all sandbox processes, and add its summary."""
        try:
            rows = self.samples.part(self._bounds[part], self._bounds[part + 1])
        except UnreadableRowsError as error:
            self.lose(part, f"{error.found} ({error.where})")
            return False
        summarise = self._summary_of(part)
        found = summarise(rows, self.entries, self.settings, self.judge_run, listen)
        del rows
        with background.uninterrupted():
            self.add(part, found)
        return found.stopped

    def task(self, part: int) -> tuple[Any, Summary]:
        """The partition, and how it is summarised."""
        assert self.samples.dask_columns is not None
        return self.samples.dask_columns.part(part), self._summary_of(part)

    def _summary_of(self, part: int) -> Summary:
        """How a part is summarised: rows after the cut of the sample so far are not sampled."""
        cut = self.collected.sample.cut
        return replace(self._summary, number=part, first=self._bounds[part], cut=cut)

    def add(self, part: int, result: PartSummary) -> None:  # noqa: ARG002 (the summary has its number)
        """Add the summary of a part."""
        self.collected.add(result)
        self.add_notes(result.notes)
        self.done += result.rows * sum(self.repeats.values())
        self.failed += sum(result.graders[entry.name].failed for entry in self.entries)
        pa.default_memory_pool().release_unused()  # otherwise it retains the memory of finished parts

    def lose(self, part: int, reason: str) -> None:
        """Record that a part was not graded."""
        self.collected.lose(part, self._bounds[part + 1] - self._bounds[part], reason)
