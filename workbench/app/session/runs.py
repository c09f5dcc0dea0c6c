"""Runs of the selected graders: one at a time, in the background, each merged with the shown report; and the time left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from traitlets import Any as AnyTrait
from traitlets import Bool, HasTraits

from workbench.app.session.action import LastCode, graders_code, grading_code, run_code
from workbench.app.session.versions import GraderVersions
from workbench.core.errors import ReportError, WorkbenchError
from workbench.core.progress import Progress
from workbench.graders.combine import Entry
from workbench.graders.repeats import is_deterministic
from workbench.report.digests import require_same_rows

if TYPE_CHECKING:
    from workbench.app.session.action import ActionGuard
    from workbench.app.session.graders import GraderList
    from workbench.app.session.results import Draw, Results
    from workbench.app.session.session_labels import DatasetLabels
    from workbench.app.session.versions import SavedVersions
    from workbench.data.samples import Samples
    from workbench.report import Report
    from workbench.report.settings import SamplesLike
    from workbench.run.suite import Job


_SURE_ROWS, _SURE_SECONDS = 20, 2.0
"""Minimum rows for an estimate, or seconds with two rows: after one slow row the estimate would be hours."""


class TimeLeft(NamedTuple):
    """The estimate for the rest of a run.

    Attributes:
        seconds: For the current grader and following ones whose pace is known; None while none is known.
        unknown: Following graders that have never run here.
    """

    seconds: float | None
    unknown: int


@dataclass
class Pace:
    """Seconds per row by grader, as measured so far: a grader that ran before is known before it starts."""

    _seconds: dict[str, float] = field(default_factory=dict)

    def note(self, moment: Progress) -> None:
        """Record the pace of the current grader."""
        if moment.rows >= _SURE_ROWS or (moment.rows > 1 and moment.since >= _SURE_SECONDS):
            self._seconds[moment.grader] = moment.since / moment.rows

    def left(self, moment: Progress, passes: Sequence[str], n_rows: int) -> TimeLeft:
        """The rest of a run.

        Args:
            moment: Its progress.
            passes: Names of the graders in the order in which they grade all rows, once for each pass.
            n_rows: Rows of one pass.
        """
        at = (moment.done - moment.rows) // n_rows if n_rows else -1
        if not 0 <= at < len(passes) or passes[at] != moment.grader:
            at = passes.index(moment.grader) if moment.grader in passes else -1
        to_come = passes[at + 1 :]
        unknown = {name for name in to_come if name not in self._seconds}
        if at < 0 or moment.grader not in self._seconds:
            return TimeLeft(None, len(unknown))
        rows_left = max(n_rows - moment.rows, 0)
        known = sum(self._seconds[name] * n_rows for name in to_come if name in self._seconds)
        return TimeLeft(self._seconds[moment.grader] * rows_left + known, len(unknown))


def reusable_graders(
    before: Report | None, rows: SamplesLike, *, running: Collection[str], unchanged: Collection[str]
) -> list[str]:
    """Graders of the previous report that do not run and whose grades of these rows remain valid.

    Args:
        before: The report that is shown; None for none. A report with a gate applies to a whole suite, and has none.
        rows: The rows of the new run, of the same dataset.
        running: Graders that run.
        unchanged: Graders with the same definition as in the previous report.
    """
    if before is None or before.gate is not None or not np.array_equal(before.samples.ids, rows.ids):
        return []
    return [name for name in before.graders if name in unchanged and name not in running]


def merge(report: Report, before: Report, names: Sequence[str], order: Sequence[str]) -> Report:
    """A run's report with the grades of other graders on the same rows.

    Args:
        report: The run's.
        before: The report with the others' grades.
        names: The others; if the run has grades of them too, these are older.
        order: All graders in list order; a suite's score comes last.

    Returns:
        The run's unchanged report if the rows have other texts under the same ids.
    """
    try:
        require_same_rows(before.samples, report.samples)
    except ReportError:
        return report
    grades = {**report.grades, **{name: before.grades[name] for name in names}}
    rank = {name: position for position, name in enumerate(order)}
    ordered = sorted(grades, key=lambda name: rank.get(name, len(rank)))
    sources = {name: before.sources[name] for name in names if name in before.sources}
    kept = {name: before.fingerprints[name] for name in names if name in before.fingerprints}
    cut_off = any(before.grades[name].cut_off for name in names)  # the notes of their run give the reason
    return replace(
        report,
        grades={name: grades[name] for name in ordered},
        sources={**report.sources, **sources},
        fingerprints={**report.fingerprints, **kept},
        notes=tuple(dict.fromkeys((*report.notes, *(before.notes if cut_off else ())))),
    )


class SessionRuns(HasTraits):
    """Runs of the selected graders over one dataset.

    Traits (observe them; set them through the methods):
        progress: Progress of the current or last run, None before the first.
        running: Whether a run is in progress.

    Args:
        graders: The graders of the session.
        labels: The labels of the samples that they run on.
        results: Shows the report of a run.
        kept: Versions of the graders: a user's run saves one.
        guard: Its lock is held during changes; it records errors of a run.
        code: Gets the lines that repeat an action.

    Attributes:
        pace: The time each grader takes.
        job: The current or last run; None before the first.
        last_report: The report of the last run alone, without graders that did not run; None before the first.
        budget: US dollars that the current or last run may spend; None for no limit.
    """

    progress = AnyTrait(None, allow_none=True)
    running = Bool(False)

    def __init__(
        self,
        graders: GraderList,
        labels: DatasetLabels,
        results: Results,
        *,
        kept: SavedVersions,
        guard: ActionGuard,
        code: LastCode,
    ) -> None:
        super().__init__()
        self._graders, self._labels, self._results, self._kept = graders, labels, results, kept
        self._guard, self._code = guard, code
        self.pace = Pace()
        self._n_rows, self._repeats = 0, 1  # of the current or last run
        self.budget: float | None = None
        self.job: Job[Report] | None = None
        self.last_report: Report | None = None
        self._versions, self._closing = GraderVersions(), False
        self._entries: Mapping[str, Entry] = {}  # of the current or last run

    def start(
        self,
        n: int = 0,
        *,
        seed: int | None = 0,
        by: str | None = None,
        budget: float | None = None,
        repeats: int = 1,
        rows: Samples | None = None,
        without: Collection[str] = (),
    ) -> Job[Report]:
        """Start a run over a draw of the samples, in the background.

        Args:
            n: Rows to draw; 0 for all.
            seed: Of the draw.
            by: Column whose values are strata.
            budget: Maximum US dollars; None for no limit.
            repeats: How often non-deterministic graders grade each row.
            rows: The draw for these settings, if it exists already: reports on one object are merged fast.
            without: Selected graders that are omitted, because they are graded elsewhere.

        Raises:
            WorkbenchError: A run is in progress, no grader is selected, or the draw fails.
        """
        with self._guard.lock:
            if self.running:
                raise WorkbenchError("a run is in progress", hint="cancel it, or wait until it ends")
            suite, labels = self._graders.chosen_suite(without), self._labels
            if rows is None:
                rows = labels.samples.draw(n, seed=seed, by=by) if n else labels.samples
            labels.reload()  # another notebook may have labelled meanwhile
            store = {"store": labels.storage.store, "dataset": labels.dataset} if labels.storage.url else {}
            self._entries = self._graders.chosen_entries(without)
            self._n_rows, self._repeats, self.budget = len(rows), repeats, budget
            self.job = suite.start(
                rows, progress=self._show_progress, ended=self._end, labels=labels.for_rates(rows),
                budget=budget, repeats=repeats, **store,
            )  # fmt: skip
            self.progress, self.running = None, True
            self._code.text = run_code(
                self._graders.suite_code(), labels, n, budget=budget, repeats=repeats, draw={"seed": seed, "by": by},
                merges=suite.gate is None and bool(self._reusable(rows, list(self._entries))),
            )  # fmt: skip
            return self.job

    def cancel(self) -> None:
        """Stop the run and show the grades so far."""
        if self.job is not None:
            self.job.cancel()

    def close(self) -> None:
        """Stop the run, and close the store when it has ended: replies in flight are paid for, so they are stored."""
        with self._guard.lock:
            self._closing = True
            self.cancel()
            if not self.running:
                self._labels.storage.close()

    @property
    def failed(self) -> bool:
        """Whether the last run ended without a report."""
        return self.job is not None and self.job.error is not None

    def _show_progress(self, progress: Progress) -> bool:
        with self._guard.lock:
            self.pace.note(progress)
            self.progress = progress
        return True

    @property
    def time_left(self) -> TimeLeft:
        """The estimated rest of the current run."""
        progress: Progress | None = self.progress
        if progress is None:
            return TimeLeft(None, 0)
        again = [name for name, entry in self._entries.items() if not is_deterministic(entry.grader)]
        return self.pace.left(progress, [*self._entries, *again * (self._repeats - 1)], self._n_rows)

    def _end(self, job: Job[Report]) -> None:
        """Process the report of a finished run, on its thread."""
        if job.error is None and not self._closing:
            run_report = job.report()
            while not self._shown(run_report):
                pass  # the report was changed while findings were computed: merge with the new one
            return
        with self._guard.locked("Run"):
            self.running = False
            if self._closing:
                self._labels.storage.close()
            else:
                assert job.error is not None
                raise job.error

    def _shown(self, run_report: Report) -> bool:
        """Show a run's report, unless the shown report changed while its findings were computed."""
        with self._guard.lock:
            before, settings = self._results.report, self._results.settings
        merged = self._results.with_settings(self.merged(run_report))
        with suppress(Exception):  # an error of a diagnostic is raised again where it is shown
            _ = merged.findings  # takes seconds for many rows: before acquiring the lock
        with self._guard.lock:
            if not self._closing and (before, settings) != (self._results.report, self._results.settings):
                return False
            with self._guard.locked("Run"):
                self.running = False
                if self._closing:
                    self._labels.storage.close()
                else:
                    self._show(merged, run_report)
        return True

    def _show(self, merged: Report, run_report: Report) -> None:
        """Show a new report; the scores of graders before a change are retained for comparison."""
        self.last_report = run_report
        # What `merged` took from an edit is newer, and recorded already; by identity, as equal grades may be of another text.
        entries = {
            name: entry
            for name, entry in self._entries.items()
            if merged.grades.get(name) is run_report.grades.get(name)
        }
        self._versions.note(run_report, entries)
        for name, entry in entries.items():
            self._kept.note(name, entry.grader, report=run_report)
        self._results.show(merged)
        self._graders.note_run(entries, merged.grades)

    @property
    def _overtaken(self) -> set[str]:
        """Graders of the run that were changed while it ran, and whose current definition was graded."""
        graders = self._graders
        return {
            name
            for name, entry in self._entries.items()
            if name in graders.by_name and name not in graders.unrun and graders.entry(name) != entry
        }

    def take_edit(self, report: Report, entry: Entry, before: tuple[Entry, Report] | None) -> None:
        """Show a report with the new grades of an edited grader. Called with the lock.

        Args:
            report: The report to show, with all graders.
            entry: The edited grader, as it ran.
            before: The version it is compared with, as it ran, and its report; None for none.
        """
        self._versions.note_edit(entry.name, entry, report, before)
        self._results.show(report)
        self._graders.note_run({entry.name: entry}, report.grades)

    def leave_line(self, draw: Draw, names: Collection[str]) -> None:
        """Set the lines that grade the drawn rows.

        Args:
            draw: The draw.
            names: The graders. If they are exactly the selected ones, code uses the suite with its rule, weights and gate.
        """
        graders = self._graders
        in_order = [name for name in graders.by_name if name in names]
        if not in_order:
            return
        whole = set(in_order) == set(graders.chosen)
        suite = graders.suite_code() if whole else f"wb.Suite({graders_code(in_order)})"
        settings = {"seed": draw.seed, "by": draw.by or None}
        self._code.text = grading_code(suite, self._labels, draw.n, settings)

    @property
    def has_left_lines(self) -> bool:
        """Whether some action here has set lines of code."""
        return bool(self._code.text)

    def merged(self, report: Report) -> Report:
        """A run's report, with the grades of the same rows by graders that did not run again."""
        with self._guard.lock:
            before: Report | None = self._results.report
            order = list(self._graders.by_name)
            running = set(report.graders) - self._overtaken
            names = self._reusable(report.samples, running) if report.gate is None else []
        return report if before is None or not names else merge(report, before, names, order)

    def _reusable(self, rows: SamplesLike, running: Collection[str]) -> list[str]:
        unchanged = set(self._graders.by_name) - self._graders.unrun
        return reusable_graders(self._results.report, rows, running=running, unchanged=unchanged)

    def versions(self) -> Report | None:
        """The report, with the previous scores of each changed grader, on the rows that both runs have."""
        report: Report | None = self._results.report
        return None if report is None else self._versions.added_to(report)

    def report_with(self, *names: str) -> Report | None:
        """The report that contains these graders: the shown one, else `versions`."""
        report: Report | None = self._results.report
        return report if report is not None and set(names) <= set(report.graders) else self.versions()

    @property
    def why_no_version(self) -> str:
        """Why a changed grader cannot be compared with itself; "" if it can, or none was changed."""
        return self._versions.why_not
