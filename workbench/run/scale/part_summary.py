"""Grading of one part of the data, which returns only sums, counts and a sample of its grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.analysis.diagnostics import SuiteParts
from workbench.core.errors import FormatError, ReportError, WorkbenchError
from workbench.core.grades import Grades
from workbench.core.progress import OnProgress
from workbench.data.samples import Samples
from workbench.graders.combine import CombiningRule, Entry
from workbench.graders.combine.combined import combine_repeats
from workbench.judges.asking.judge_run import JudgeRun
from workbench.judges.asking.spending import Spending
from workbench.report import Report
from workbench.report.cases import labelled_case
from workbench.run.scale.grader_summary import BUNDLES, GraderSummary
from workbench.run.scale.partition import PartitionTask, Stop, share_of
from workbench.run.scale.plan import with_concurrency
from workbench.run.scale.row_sample import Cut, SampledPart, keys_of
from workbench.run.suite_run import Run, RunSettings, open_run_file, open_run_store

if TYPE_CHECKING:
    from workbench.run.run_file import RunFile

__all__ = ["PartSummary", "PartTask", "part_path", "summarise_in_worker", "summarise_part"]


@dataclass(frozen=True)
class PartTask:
    """How a part is graded and summarised.

    Attributes:
        grading: How its rows are graded.
        number: Of the part.
        first: The number of its first row among all rows.
        fingerprints: Of the graders, by name.
        limit: Maximum rows of the sample.
        cut: Hash threshold above which rows are not sampled.
        rule: Combines the graders' grades; None for none.
        column: Name of the combined grade.
        reduce: How several repeats are reduced to one grade.
        labels: The column of labels; None without.
        folder: Folder for the part's grades; None to discard them.
    """

    grading: PartitionTask
    number: int
    first: int
    fingerprints: Mapping[str, Mapping[str, str]]
    limit: int
    cut: Cut
    rule: CombiningRule | None = None
    column: str = ""
    reduce: str = "first"
    labels: str | None = None
    folder: str | None = None


@dataclass(frozen=True)
class PartSummary:
    """The result of a part: plain data.

    Attributes:
        number: Of the part.
        rows: Its rows.
        graders: The summary of each grader's grades, by name.
        sampled: Its rows that belong to the sample.
        cut: Hash threshold above which it has omitted rows.
        kept: Number of grades that an earlier run had stored.
        is_left: Whether its file has rows that another run would grade again.
        stopped: Whether grading was stopped before the last row.
        notes: Notes for the user.
        spent: Calls, tokens, US dollars and cache hits.
        share_spent: Whether its part of the budget was exhausted.
        store_errors: Why replies could not be stored.
    """

    number: int
    rows: int
    graders: dict[str, GraderSummary]
    sampled: SampledPart
    cut: Cut
    kept: int = 0
    is_left: bool = False
    stopped: bool = False
    notes: list[str] = field(default_factory=list)
    spent: tuple[int, float, float, int] = (0, 0.0, 0.0, 0)
    share_spent: bool = False
    store_errors: list[str] = field(default_factory=list)


def part_path(folder: str | Path, number: int) -> Path:
    """The file of a part's grades."""
    return Path(folder) / f"part-{number:05d}.parquet"


def summarise_in_worker(frame: pd.DataFrame, task: PartTask) -> PartSummary | WorkbenchError:
    """`summarise_part` in a worker of a cluster, with this process's sandbox, event loop and environment.

    Its errors are returned: a cluster would retry such a part, and write each error to its log.
    """
    grading = task.grading
    entries = with_concurrency(grading.plan.built(), share_of(grading.tasks))
    with open_run_store(grading.store) as store:
        judge_run = JudgeRun(Spending(grading.budget), None if store is None else store.replies)
        try:
            whole = frame.reset_index(drop=True)
            samples = Samples.of_part(whole, grading.columns, text_chats=grading.text_chats)
            summary = summarise_part(samples, task, entries, judge_run, Stop(grading.stop))
        except (ReportError, FormatError) as error:
            return error
    spending = judge_run.spending
    return replace(
        summary,
        notes=[*summary.notes, *judge_run.notes()],
        spent=(spending.calls, spending.tokens, spending.money, spending.from_store),
        share_spent=spending.any_share_spent,
        store_errors=list(judge_run.store_errors),
    )


def summarise_part(
    samples: Samples,
    task: PartTask,
    entries: tuple[Entry, ...],
    judge_run: JudgeRun,
    listen: OnProgress,
) -> PartSummary:
    """Grade a part in this process and summarise its grades.

    Args:
        samples: Its rows.
        task: How.
        entries: The graders.
        judge_run: State shared by judges.
        listen: Receives progress; if it returns False, grading stops.

    Raises:
        ReportError: The file of the part's grades is of other rows or graders, damaged or in use.
    """
    settings = RunSettings(workers=task.grading.workers, repeats=task.grading.repeats, reduce=task.reduce)
    path = None if task.folder is None else part_path(task.folder, task.number)
    own = {entry.name: task.fingerprints.get(entry.name, {}) for entry in entries}
    with _part_file(path, samples, own) as file:
        if file is not None:
            file.require_repeats(settings.repeats)
        run = Run(entries, samples, settings, judge_run, file, is_part=True)
        grades, stopped = run.go(listen)
        report, notes, is_left = _report(samples, entries, grades, task), run.notes_on_graders, False
        if file is not None:
            of_file = file.finish(report).notes
            is_left = file.goes_on in of_file
            notes += [note for note in of_file if note != file.goes_on]
    return _summary(report, task, kept=run.kept, is_left=is_left, stopped=stopped, notes=notes)


@contextmanager
def _part_file(
    path: Path | None, samples: Samples, fingerprints: Mapping[str, Mapping[str, str]]
) -> Iterator[RunFile | None]:
    """The file of a part, or None without a path."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_run_file(path, samples, fingerprints))
        except (ReportError, FormatError) as error:
            hint = "name another folder, or remove the files in this one to grade all rows again"
            raise type(error)(
                error.what, where=error.where, found=error.found, expected=error.expected, hint=hint
            ) from error
        yield file


def _report(
    samples: Samples, entries: tuple[Entry, ...], grades: dict[str, Grades], task: PartTask
) -> Report:
    if task.rule is not None:
        grades[task.column] = combine_repeats(entries, grades, task.rule)
    suite = SuiteParts(entries, task.rule, task.column if task.rule else "", None)
    try:
        return Report(samples, grades, labels=task.labels, fingerprints=task.fingerprints, suite=suite)
    except ReportError as error:
        error.where = ", ".join(filter(None, [f"part {task.number}", error.where]))
        raise


def _summary(report: Report, task: PartTask, **facts: Any) -> PartSummary:
    samples: Any = report.samples
    hashes, has_prompt = samples.group_hashes
    keys = keys_of(hashes, has_prompt, task.first)
    bundles = (keys[:, 0] % np.uint64(BUNDLES)).astype(np.intp)
    no_groups = np.zeros(len(report), np.intp)  # no statistic of a single part is computed
    graders = {
        name: GraderSummary.of(labelled_case(report, name, no_groups), bundles) for name in report.graders
    }
    sampled, cut = SampledPart.of(task.number, samples.frame, report.grades, keys, task.limit, task.cut)
    return PartSummary(task.number, len(report), graders, sampled, cut, **facts)
