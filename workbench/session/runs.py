"""The runs of a Workbench: one at a time, in the background; what they say is kept beside each other. No widget here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import Bool

from workbench.errors import WorkbenchError
from workbench.graders.combine import Entry
from workbench.samples import Samples
from workbench.session.code_lines import run_code
from workbench.session.grader_versions import Versions
from workbench.session.graders import Graders
from workbench.session.labels import Labelling
from workbench.session.merged_reports import beside, others

if TYPE_CHECKING:
    from workbench.jobs import Job
    from workbench.progress import Progress
    from workbench.report import Report
    from workbench.report.protocols import SamplesLike

__all__ = ["Runs"]


class Runs(Graders):
    """Runs of the chosen graders over one dataset.

    Traits beside those of `Graders` (observe them; set them through the methods):
        progress: The last news of the run under way or over, None before the first.
        running: Whether a run is under way.
        report: The last report.
        where: Conditions on its rows (see `Report.where`), all of which hold.
        row: Number of the row that is read, None for none.

    Args:
        samples: Whatever `Suite.run` takes.
        labelling: The labels of these samples.

    Attributes:
        job: The run under way or over; None before the first.
        ran: What the last run itself said, without others beside it; None before the first.
    """

    progress = AnyTrait(None, allow_none=True)
    running = Bool(False)
    report: Any = AnyTrait(None, allow_none=True)
    where = AnyTrait(())
    row = AnyTrait(None, allow_none=True)

    def __init__(self, samples: Samples, labelling: Labelling) -> None:
        super().__init__()
        self.samples, self.labelling = samples, labelling
        self.job: Job | None = None
        self.ran: Report | None = None
        self._versions, self._closing = Versions(), False
        self._running: Mapping[str, Entry] = {}

    def start(
        self, n: int = 0, *, seed: int | None = 0, by: str | None = None, budget: float | None = None
    ) -> Job:
        """Begin a run over a draw of the samples, in the background.

        Args:
            n: Rows to draw; 0 for all.
            seed: Of the draw.
            by: Column whose values are strata.
            budget: US dollars at most; None for no limit.

        Raises:
            WorkbenchError: A run is under way, no grader is chosen, or the draw cannot be made.
        """
        with self.lock:
            if self.running:
                raise WorkbenchError("a run is under way", hint="cancel it, or wait for its end")
            suite = self.chosen_suite()
            rows = self.samples.draw(n, seed=seed, by=by) if n else self.samples
            self.labelling.reload()  # another notebook may have labelled meanwhile
            labels = self.labelling.known(rows)
            given = {} if not self.labelling.store_url else {"store": self.labelling.store}
            self._running = self.chosen_entries()
            self.job = suite.start(
                rows, progress=self._tell, ended=self._ended, labels=labels, budget=budget, **given
            )
            self.progress, self.running = None, True
            self.code = run_code(
                self.suite_code(), self.labelling, n, budget=budget, draw={"seed": seed, "by": by},
                joins=suite.gate is None and bool(self._others(rows, list(self._running))),
            )  # fmt: skip
            return self.job

    def cancel(self) -> None:
        """Stop the run; what was graded is kept."""
        if self.job is not None:
            self.job.cancel()

    def _tell(self, moment: Progress) -> bool:
        with self.lock:
            self.progress = moment
        return True

    def _ended(self, job: Job) -> None:
        """The end of a run, on its thread."""
        own = None if job.error is not None else job.report()
        report = None if own is None or self._closing else self.beside(own)
        if report is not None:
            with suppress(Exception):  # what a diagnostic raises is raised again where it is shown
                _ = report.findings  # takes seconds for many rows: before the lock
        with self.guard("Run"):
            self.running = False
            if self._closing:
                self.labelling.close()
            elif report is None or own is None:
                assert job.error is not None
                raise job.error
            else:
                self._show(report, own)

    def beside(self, report: Report) -> Report:
        """A run's report, with what graders that did not run again said of the same rows."""
        with self.lock:
            before: Report | None = self.report
            order = list(self.graders)
            names = self._others(report.samples, report.graders) if report.gate is None else []
        return report if before is None or not names else beside(report, before, names, order)

    def _others(self, rows: SamplesLike, running: Collection[str]) -> list[str]:
        standing = set(self.graders) - self.unrun
        return others(self.report, rows, running=running, standing=standing)

    @property
    def failed(self) -> bool:
        """Whether the last run ended without a report."""
        return self.job is not None and self.job.error is not None

    def _show(self, report: Report, own: Report) -> None:
        """Take a new report; what the graders said before a change stays for comparing.

        Args:
            report: What is shown.
            own: What the run itself said.
        """
        now = {name: self.entry(name) for name in self._running if name in self.graders}
        self._versions.note(own, self._running)
        self.row, self.where, self.ran = None, (), own
        self.report = report
        ran = {**self._ran, **self._running}
        self._ran = {name: entry for name, entry in ran.items() if name in report.grades}
        self.unrun -= {name for name, entry in self._running.items() if now.get(name) == entry}

    def report_of(self, *names: str) -> Report | None:
        """What holds these graders: the last report, else with what changed graders said before on the rows of both."""
        there = self.report is not None and set(names) <= set(self.report.graders)
        return self.report if there else self.versions()

    def versions(self) -> Report | None:
        """The last report, and beside each changed grader what it said before, on the rows that both runs have."""
        return None if self.report is None else self._versions.beside(self.report)

    @property
    def no_version(self) -> str:
        """Why a changed grader cannot be compared with itself; "" where it can, or none was changed."""
        return self._versions.why_not
