"""`Suite`: graders over the same samples, run as one run with one report, here, in the background, in batches or on a cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from workbench.core import background
from workbench.core.background import HEARTBEAT_SECONDS
from workbench.core.discovery import higher_level
from workbench.core.display_text import visible
from workbench.core.progress import OnProgress, Progress
from workbench.graders import Grader
from workbench.graders.arguments import with_call_help
from workbench.graders.combine import Entry
from workbench.judges.budget import Budget
from workbench.report import Report
from workbench.run.part_run import RunSettings, require_settings
from workbench.run.suite_definition import SuiteDefinition
from workbench.run.whole_run import run_suite

if TYPE_CHECKING:
    from workbench.run.batch_grader import BatchGrader
    from workbench.run.overview import Overview


_OF_RUNS = frozenset(f.name for f in fields(RunSettings))
"""Settings of a run."""
_OF_OVERVIEWS = _OF_RUNS - {"dataset", "resume", "batch"}
"""Settings of an overview."""


@with_call_help
class Suite(SuiteDefinition):
    """Graders that grade the same samples, and optionally a rule that combines their scores into one.

    Attributes:
        entries: At least one; a grader becomes an entry with default settings.
        combine: Combines each row's grades into one; the report has it as a separate grader.
        gate: Judges a whole run; its verdict is `report.gate`.
        name: Name of the combined column, "combined" by default.
        description: One sentence for users.
        certificate: Claims of a file about the graders; None without. `certificate.check(suite)` lists claims that are no longer true.

    Raises:
        ValueError: No grader, two with the same name, or a rule or gate that does not fit the entries.
        TypeError: Something that is not a grader.

    Example:
        >>> import workbench as wb
        >>> suite = wb.Suite(
        ...     [wb.Entry(wb.Contains(expected="yes"), "right", weight=0.8), wb.Entry(wb.Length(maximum=9), "short", weight=0.2)],
        ...     combine=wb.combine.Mean(),
        ... )
        >>> suite(wb.StringThread([("assistant", "yes, of course")])).score
        0.8
    """

    def run(  # noqa: PLR0913 (the main call of users: every setting by its name)
        self,
        samples: Any,
        *,
        progress: bool | OnProgress = True,
        workers: int | None = None,
        preset: str = "workbench",
        labels: Any = None,
        budget: Budget | float | None = None,
        store: Any = None,
        repeats: int = 1,
        reduce: str = "first",
        dataset: str = "",
        resume: str | Path | None = None,
        batch: bool = False,
    ) -> Report:
        """Grade every sample with every grader.

        An interrupt (Ctrl-C, or the stop button) ends the run early and returns the report of what was
        graded; the remaining rows are failed as *cancelled*, never zero.

        Args:
            samples: `Samples`, a DataFrame, a list of dicts, or a path.
            progress: True for a bar, False for none, or a function that is called with a `Progress` on the calling
                thread, at most ten times per second and at the end. If it returns False the run stops as after an
                interrupt. Notes on the run are printed at its end, except with False; `report.notes` always has them.
            workers: Sandbox processes; by default all cores except one.
            preset: Preset of the report's diagnostics, see `Report`.
            labels: True (known good), False (known bad) or None for each row, or the name of a column of these. With
                labels a *saturated* grader can be shown to be too lenient or too strict.
            budget: The maximum that judges may spend: a `Budget`, or a number of US dollars. Rows that it does not
                cover are failed as *budget*.
            store: A `Store`, or the address of one (see `open_store`): judge replies are saved there when they
                arrive, and no request is sent twice. The run's summary is saved too.
            repeats: How often every row is graded by judges, endpoints, and user functions and scripts, in
                another order each time; the report then measures how far they agree with themselves. A stored reply
                is not reused for another repeat. The workbench's rules are deterministic and grade each row once.
            reduce: The report's grade of a row: that of the "first" repeat, the "mean" or "median" of the
                scores, or the "majority" of the verdicts; see `workbench.graders.repeats.reduce_repeats`.
            dataset: Name of the samples in the store, saved with the run's summary.
            resume: A file such as "run.parquet", which contains the report at the end, as written by
                `Report.to_parquet`. During the run grades are stored next to it, in "run.parquet.unfinished". If an
                earlier run of the same graders over the same rows was stopped or killed, this one resumes it: rows with
                a stored grade are not graded again. Rows that failed for a possibly temporary reason (stopped, budget
                exhausted, a server out of reach, a sandbox that did not start, a row that could not be read) are graded
                again.
            batch: Whether judges' requests are sent through their server's batch API, which costs about half and takes up
                to 24 hours. The run ends after it has submitted them: their rows are failed as *pending*. The same call
                again, in any process with this store, collects the replies; it submits what is still missing, such as
                the next step of a judge of several steps. Needs `store`.

        Raises:
            FormatError: The folder of `resume` is missing or cannot be written.
            SamplesError: The samples cannot be read.
            IsolationError: Imported source, and the machine cannot confine it.
            StoreError: The store cannot be opened.
            BudgetError: A budget in money, and a judge's model without a price.
            ReportError: Fewer than one worker or repeat, or an unknown reducer; `resume` is the file of another run,
                of none, or in use.
        """
        settings = RunSettings(
            workers, preset, labels, budget, store, repeats, reduce, dataset, resume, batch
        )
        report = run_suite(self, samples, progress, settings)
        _print_notes(report.notes, progress)
        return report

    def check(self, rows: Any, **settings: Any) -> Any:
        """Test the graders: on labelled rows, regression rows of a probe, and an earlier run; see `workbench.deploy.guard.check`.

        Args:
            rows: As in `run`, or a list of files; rows with the columns `probe`, `label` and `was` are regression rows.
            settings: `labels`, `max_error_rate`, `baseline`, `max_drop`, `fail_on`, `columns`, and settings of `run`.

        Returns:
            A `CheckResult` with the outcome pass, fail or inconclusive, which prints a line per test.
        """
        return higher_level("check")(self, rows, **settings)

    def start(
        self,
        samples: Any,
        *,
        progress: OnProgress | None = None,
        ended: Callable[[Job[Report]], object] | None = None,
        **settings: Any,
    ) -> Job[Report]:
        """Start a run in the background and return immediately: `job.progress`, `job.cancel()`, `await job`.

        Args:
            samples: As in `run`.
            progress: Called with each `Progress` on the job's thread; if it returns False the run stops.
            ended: Called with the job when it is over, on the job's thread.
            settings: `workers`, `preset`, `labels`, `budget`, `store`, `repeats`, `reduce`, `dataset`, `resume` and `batch`, as in `run`.

        Raises:
            TypeError: An unknown setting. Errors of `run` are raised by `job.report()`.
        """
        require_settings(settings, _OF_RUNS, "start", "run")
        return Job(
            lambda listen: run_suite(self, samples, listen, RunSettings(**settings)),
            listen=progress,
            ended=ended,
        )

    def map_batches(
        self,
        *,
        columns: Mapping[str, str | None] | None = None,
        workers: int | None = 1,
        store: str | None = None,
    ) -> BatchGrader:
        """A plain function that adds grades to batches of rows, for engines with their own cluster.

        Ray Data's `Dataset.map_batches`, Spark's `DataFrame.mapInPandas` and Dask's `map_partitions` accept it; so does a
        loop over the batches of a file. It pickles as plain data without keys: each process reads its environment. Limits
        of a judge's client, such as `concurrency`, apply per process.

        Args:
            columns: Role to column name, as in `Samples`.
            workers: Sandbox processes of each call; 1 by default, as engines call it on each core. None: all cores except one.
            store: The address of a store of judge replies that each process can reach.

        Example:
            >>> import pandas as pd, workbench as wb
            >>> grade = wb.Suite(wb.ExactMatch()).map_batches()
            >>> grade(pd.DataFrame({"completion": ["4", "5"], "answer": ["4", "4"]}))["exact-match.score"].tolist()
            [1.0, 0.0]
        """
        from workbench.run.batch_grader import BatchGrader  # imports pyarrow, only when used

        return BatchGrader(
            self.entries, self.combine, self.column, columns=columns, workers=workers, store=store
        )

    def overview(  # noqa: PLR0913 (as `run`)
        self,
        samples: Any,
        folder: str | Path | None = None,
        *,
        sample: int = 50_000,
        progress: bool | OnProgress = True,
        workers: int | None = None,
        preset: str = "workbench",
        labels: str | None = None,
        budget: Budget | float | None = None,
        store: Any = None,
        repeats: int = 1,
        reduce: str = "first",
    ) -> Overview:
        """Grade a dataset of any size and return aggregates instead of per-row grades.

        Data are graded part by part: a Dask frame by its partitions, in the workers of a cluster if there is one, and other
        data 65,536 rows at a time. Each part returns counts, sums and histograms, which are merged, and its rows
        of a random sample of whole prompts, on which findings are based. Memory does not grow with the rows.

        Args:
            samples: As in `run`.
            folder: Where to write the grades: "part-00000.parquet" and so on, each a file of `Report.to_parquet`. If an
                earlier call with the same rows and graders was stopped or killed, this one resumes it, and rows with
                a stored grade are not graded again. Workers of a cluster must all reach it. None: grades are not saved.
            sample: Maximum rows of the sample. If it covers all rows, findings are those of `run`.
            progress: As in `run`.
            workers: As in `run`; on a cluster the sandbox processes of each partition, 1 by default.
            preset: As in `run`.
            labels: The name of a column of labels.
            budget: As in `run`.
            store: As in `run`, for judge replies; a summary of the run is not saved.
            repeats: As in `run`.
            reduce: As in `run`.

        Raises:
            ReportError: The folder has grades of other rows or graders, or labels that are not a column; and as `run`.
            FormatError: The folder cannot be created or written.

        Example:
            >>> import pandas as pd, workbench as wb
            >>> rows = pd.DataFrame({"prompt": ["1+1", "2+2"], "completion": ["2", "5"], "answer": ["2", "4"]})
            >>> overview = wb.Suite(wb.ExactMatch()).overview(rows, progress=False)
            >>> float(overview.summary.loc["exact-match", "mean"])
            0.5
        """
        settings = RunSettings(workers, preset, labels, budget, store, repeats, reduce)
        overview = self._run_overview(samples, progress, folder, sample, settings)
        _print_notes(overview.notes, progress)
        return overview

    def start_overview(
        self,
        samples: Any,
        folder: str | Path | None = None,
        *,
        sample: int = 50_000,
        progress: OnProgress | None = None,
        ended: Callable[[Job[Overview]], object] | None = None,
        **settings: Any,
    ) -> Job[Overview]:
        """Start an overview in the background and return immediately, as `start` does; get it by `await job` or `job.report()`.

        Its notes are not printed, but included in the overview.

        Args:
            samples: As in `run`.
            folder: As in `overview`.
            sample: As in `overview`.
            progress: As in `start`.
            ended: As in `start`.
            settings: `workers`, `preset`, `labels`, `budget`, `store`, `repeats` and `reduce`, as in `overview`.

        Raises:
            TypeError: An unknown setting. Errors of `overview` are raised by `job.report()`.
        """
        require_settings(settings, _OF_OVERVIEWS, "start_overview", "overview")
        return Job(
            lambda listen: self._run_overview(samples, listen, folder, sample, RunSettings(**settings)),
            listen=progress,
            ended=ended,
        )

    def _run_overview(
        self,
        samples: Any,
        progress: bool | OnProgress,
        folder: str | Path | None,
        sample: int,
        settings: RunSettings,
    ) -> Overview:
        from workbench.run.overview_run import run_overview

        return run_overview(self, samples, progress, folder, sample, settings)


def _print_notes(notes: Iterable[str], progress: bool | OnProgress) -> None:
    for note in notes if progress is not False else ():
        print(visible(note))  # noqa: T201 (a caller may discard the result and its notes)


def run(graders: Iterable[Grader | Entry], samples: Any, **settings: Any) -> Report:
    """Shorthand for `Suite(graders).run(samples, ...)`."""
    return Suite(graders).run(samples, **settings)


R = TypeVar("R")


class Job(Generic[R]):
    """A run in a separate thread. `Suite.start` creates it for a report, `Suite.start_overview` for an overview.

    `await job` in a cell waits without blocking the kernel, and an interrupt of that cell stops the run. The job
    continues if it is not awaited.

    Args:
        work: The run. It is called with a listener for progress, which returns False once the run must stop.
        listen: Called with each `Progress`, at most ten times per second, on the job's thread.
        ended: Called with the job when it is over, on the job's thread.

    Attributes:
        progress: The latest progress; None before the first.
        cancelled: Whether a stop was requested.
    """

    progress: Progress | None
    cancelled: bool

    def __init__(
        self,
        work: Callable[[OnProgress], R],
        *,
        listen: OnProgress | None = None,
        ended: Callable[[Job[R]], object] | None = None,
    ) -> None:
        self.progress, self.cancelled = None, False
        self._work, self._listen, self._ended = work, listen, ended
        self._outcome: Future[R] = Future()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go, name="workbench-run", daemon=True)
        self._thread.start()

    def _go(self) -> None:
        background.settle(self._outcome, lambda: self._work(self._note))
        try:
            if self._ended is not None:
                self._ended(self)
        finally:
            self._over.set()  # last: a caller that waits for the report can rely on `ended` having returned

    def _note(self, moment: Progress) -> bool:
        self.progress = moment
        if self._listen is not None and self._listen(moment) is False:
            self.cancelled = True
        return not self.cancelled

    @property
    def done(self) -> bool:
        """Whether it is over, by itself or by `cancel`."""
        return self._outcome.done()

    @property
    def error(self) -> BaseException | None:
        """The error that ended it; None while it runs, and if there is a report."""
        return self._outcome.exception() if self.done else None

    def cancel(self) -> None:
        """Request a stop. Rows in progress have two seconds; the report contains what was graded."""
        self.cancelled = True

    def report(self, timeout: float | None = None) -> R:
        """Wait for the report, or the overview.

        Args:
            timeout: Maximum seconds to wait; unlimited by default.

        Raises:
            TimeoutError: The run still continues.
            Exception: The error of the run.
        """
        is_own_thread = threading.current_thread() is self._thread  # `ended` runs there and may call this
        if not is_own_thread and not self._over.wait(timeout):
            raise TimeoutError(f"the run still continues after {timeout} s")
        return self._outcome.result()

    def __await__(self) -> Generator[Any, None, R]:
        """Wait in short steps, so that an interrupt is processed; it cancels the run."""
        return self._wait().__await__()

    async def _wait(self) -> R:
        try:
            while not self._over.is_set():  # noqa: ASYNC110 (an Interrupt is seen only when the loop wakes)
                await asyncio.sleep(HEARTBEAT_SECONDS)
        finally:
            if not self._over.is_set():
                self.cancel()
        return self._outcome.result()

    def __repr__(self) -> str:
        if self.done:
            return "Job(failed)" if self.error is not None else "Job(done)"
        at = self.progress
        return "Job(starting)" if at is None else f"Job({at.done:,} of {at.total:,})"
