"""Named graders over the same samples: one run, one report, one progress bar."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from workbench.analysis.diagnostics import SuiteParts
from workbench.core import background
from workbench.core.display_text import did_you_mean, visible
from workbench.core.errors import FormatError
from workbench.core.grades import Grades
from workbench.core.progress import Bar, OnProgress
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples, as_samples
from workbench.graders import Grader
from workbench.graders.arguments import with_call_help
from workbench.graders.base import as_sample
from workbench.graders.combine import CombiningRule, Entry, Gate, GateResult
from workbench.graders.combine.combined import combine, combine_repeats
from workbench.graders.combine.entry import as_entry, check_names, grades_of_one
from workbench.judges.budget import Budget
from workbench.judges.judge_run import JudgeRun
from workbench.report import Report, check_settings
from workbench.report.certificates import Certificate, fingerprints_of
from workbench.run.jobs import Job
from workbench.run.suite_run import (
    Run,
    RunSettings,
    SuiteOutcome,
    ending_notes_of,
    open_budget,
    open_run_file,
    open_run_store,
    store_summary,
)

if TYPE_CHECKING:
    from workbench.run.batches import BatchGrader
    from workbench.run.cluster import ClusterRun
    from workbench.run.overview import Overview
    from workbench.run.run_file import RunFile


_SETTINGS = ("combine", "gate", "name", "description")
"""Fields of a suite, in addition to its entries, that affect grading."""
_OF_RUNS = frozenset(f.name for f in fields(RunSettings))
"""Settings of a run."""
_OF_OVERVIEWS = _OF_RUNS - {"dataset", "resume"}
"""Settings of an overview."""


@with_call_help
@dataclass(frozen=True, repr=False)
class Suite:
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

    entries: tuple[Entry, ...]
    _: KW_ONLY
    combine: CombiningRule | None = None
    gate: Gate | None = None
    name: str = ""
    description: str = field(default="", compare=False)
    certificate: Certificate | None = field(default=None, compare=False)

    def __init__(
        self,
        graders: Iterable[Grader | Entry] | Grader | Entry,
        *,
        combine: CombiningRule | None = None,
        gate: Gate | None = None,
        name: str = "",
        description: str = "",
        certificate: Certificate | None = None,
    ) -> None:
        items = (graders,) if isinstance(graders, Grader | Entry) else tuple(graders)
        names, values = (*_SETTINGS, "certificate"), (combine, gate, name, description, certificate)
        object.__setattr__(self, "entries", tuple(map(as_entry, items)))
        for attribute, value in zip(names, values, strict=True):
            object.__setattr__(self, attribute, value)
        self._check()

    def _check(self) -> None:
        check_names(self.entries)
        names = [entry.name for entry in self.entries]
        if not isinstance(self.name, str):
            raise TypeError(f"a suite's name must be text, not {self.name!r}")
        for value, base, noun, example in (
            (self.combine, CombiningRule, "combining rule", "Mean()"),
            (self.gate, Gate, "gate", "SimpleGate(...)"),
        ):
            if value is not None and not isinstance(value, base):
                raise TypeError(f"a suite requires a {noun} such as {example}, not {value!r}")
        if self.combine is not None:
            self.combine.check(self.entries)
            if self.column in names:
                raise ValueError(
                    f"an entry is called {self.column!r}, as the suite is; give the suite another name"
                )
        for metric in self.gate.metrics if self.gate else ():
            if metric not in names:
                raise ValueError(
                    f"the gate reads {metric!r}, which is not one of the graders {', '.join(names)}"
                )

    @property
    def column(self) -> str:
        """The combined column's name in a report."""
        return self.name or "combined"

    @property
    def graders(self) -> tuple[Grader, ...]:
        """The graders, in order."""
        return tuple(entry.grader for entry in self.entries)

    @property
    def grader(self) -> Grader:
        """The grader of a suite that has only one, such as a suite loaded from a file of one grader.

        Raises:
            AttributeError: There are several; the message explains how to get each.
        """
        if len(self.entries) > 1:
            names = ", ".join(f"suite[{entry.name!r}]" for entry in self.entries)
            raise AttributeError(
                f"a suite of {len(self.entries)} graders has no single grader; take suite[0], or by name: {names}"
            )
        return self.entries[0].grader

    def __repr__(self) -> str:
        """The call that creates it, and how to get the grader if there is only one."""
        items = [entry.grader if entry == Entry(entry.grader) else entry for entry in self.entries]
        changed = {name: value for name in _SETTINGS if (value := getattr(self, name))}
        parts = [repr(items), *(f"{name}={value!r}" for name, value in changed.items())]
        return f"Suite({', '.join(parts)})" + (
            "  # its grader: .grader" if self.plain and len(items) == 1 else ""
        )

    @property
    def plain(self) -> bool:
        """Whether this is a list of graders and nothing more."""
        are_defaults = all(entry == Entry(entry.grader) for entry in self.entries)
        has_text = self.name or self.description
        return are_defaults and self.combine is None and self.gate is None and not has_text

    def __iter__(self) -> Iterator[Grader]:
        return iter(self.graders)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int | str) -> Grader:
        """A grader by its position or its entry's name.

        Raises:
            KeyError: The name is unknown.
            IndexError: The position is out of range.
        """
        if isinstance(index, int):
            return self.graders[index]
        graders = {entry.name: entry.grader for entry in self.entries}
        if index not in graders:
            raise KeyError(f"no grader {index!r} here; there are {', '.join(graders)}")
        return graders[index]

    def __call__(self, sample: Sample | StringThread) -> SuiteOutcome:
        """Grade one sample with every grader, and wait for the grades."""
        return background.run(self.grade(as_sample(sample)))

    async def grade(self, sample: Sample | StringThread) -> SuiteOutcome:
        """Grade one sample with every grader concurrently, in async code."""
        item = as_sample(sample)
        grades = await asyncio.gather(*(entry.grade(item) for entry in self.entries))
        pairs = list(zip(self.entries, grades, strict=True))
        parts = {entry.name: entry.outcome_of(grade) for entry, grade in pairs}
        if self.combine is None:
            return SuiteOutcome(parts)
        columns = {entry.name: grades_of_one(grade) for entry, grade in pairs}
        return SuiteOutcome(parts, combine(self.entries, columns, self.combine)[0])

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

        Raises:
            FormatError: The folder of `resume` is missing or cannot be written.
            SamplesError: The samples cannot be read.
            IsolationError: Imported source, and the machine cannot confine it.
            StoreError: The store cannot be opened.
            BudgetError: A budget in money, and a judge's model without a price.
            ReportError: Fewer than one worker or repeat, or an unknown reducer; `resume` is the file of another run,
                of none, or in use.
        """
        settings = RunSettings(workers, preset, labels, budget, store, repeats, reduce, dataset, resume)
        report = self._run_suite(samples, progress, settings)
        _print_notes(report.notes, progress)
        return report

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
            settings: `workers`, `preset`, `labels`, `budget`, `store`, `repeats`, `reduce`, `dataset` and `resume`, as in `run`.

        Raises:
            TypeError: An unknown setting. Errors of `run` are raised by `job.report()`.
        """
        _require_settings(settings, _OF_RUNS, "start", "run")
        return Job(
            lambda listen: self._run_suite(samples, listen, RunSettings(**settings)),
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
        from workbench.run.batches import BatchGrader  # imports pyarrow, only when used

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
        _require_settings(settings, _OF_OVERVIEWS, "start_overview", "overview")
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
        from workbench.run.overview_run import OverviewPlan, run_overview

        fingerprints = fingerprints_of(self)  # of the current graders, as in `run`
        plan = OverviewPlan(
            self.entries,
            as_samples(samples),
            settings,
            folder,
            sample,
            self.combine,
            self.column,
            fingerprints,
        )
        make_report = partial(
            self._report, fingerprints=fingerprints, preset=settings.preset, labels=settings.labels
        )
        return run_overview(plan, progress, make_report)

    def _run_suite(self, samples: Any, progress: bool | OnProgress, settings: RunSettings) -> Report:
        data = as_samples(samples)
        data.require_answers()
        shown = {"preset": settings.preset, "labels": settings.labels}
        check_settings(data, **shown)  # now rather than after hours of grading
        spending = open_budget(self.entries, settings.budget)
        fingerprints = fingerprints_of(
            self
        )  # of the current graders: a dict in a grader may be changed later
        own = {entry.name: fingerprints.get(entry.name, {}) for entry in self.entries}
        with open_run_store(settings.store) as run_store, open_run_file(settings.resume, data, own) as file:
            if file is not None:
                file.require_repeats(settings.repeats)
            judge_run = JudgeRun(spending, None if run_store is None else run_store.replies)
            run = self._new_run(data, settings, judge_run, file)
            with Bar(run.total, show=progress is True) as bar:
                grades, stopped = run.go(progress if callable(progress) else bar)
            report = self._report(data, grades, fingerprints=fingerprints, **shown)
            notes = store_summary(run_store, report, self.name, settings.dataset)
            notes += ending_notes_of(run, judge_run, interrupted=stopped)
            report = replace(report, notes=(*notes, *run.notes))
            return report if file is None else file.finish(report)

    def _new_run(
        self, data: Samples, settings: RunSettings, judge_run: JudgeRun, file: RunFile | None
    ) -> Run | ClusterRun:
        """The run, on Dask's cluster if the rows are a Dask frame and there is one."""
        if data.dask_columns is not None:
            from workbench.run.cluster import ClusterRun
            from workbench.run.queue import cluster_of

            if (client := cluster_of(data)) is not None:
                return ClusterRun(client, self.entries, data, settings, judge_run, file)
        return Run(self.entries, data, settings, judge_run, file)

    def _report(self, data: Samples, grades: dict[str, Grades], **settings: Any) -> Report:
        gate = self._judge(grades)
        if self.combine is not None:
            grades[self.column] = combine_repeats(self.entries, grades, self.combine)
        sources = {e.name: e.grader.source.text for e in self.entries if hasattr(e.grader, "source")}
        return Report(data, grades, sources=sources, gate=gate, suite=self._parts(), **settings)

    def _parts(self) -> SuiteParts:
        return SuiteParts(self.entries, self.combine, self.column if self.combine else "", self.gate)

    def _judge(self, grades: Mapping[str, Grades]) -> GateResult | None:
        if self.gate is None:
            return None
        # With the entries' values: a failure that is a 0.0 by `on_error` is one for the gate as well.
        return self.gate.judge({entry.name: entry.count(grades[entry.name]).scores for entry in self.entries})

    def spec(self) -> dict[str, Any]:
        """The suite as a plain dict: entries, and rule, gate and names if there are any."""
        settings = {
            "combine": self.combine and self.combine.spec(),
            "gate": self.gate and self.gate.spec(),
            "name": self.name,
            "description": self.description,
        }
        return {
            "entries": [entry.spec() for entry in self.entries],
            **{key: value for key, value in settings.items() if value},
        }

    @classmethod
    def build(cls, spec: Mapping[str, Any]) -> Self:
        """Create the suite of a spec.

        Raises:
            FormatError: A field is missing or invalid.
        """
        entries = spec.get("entries") if isinstance(spec, Mapping) else None
        if not isinstance(entries, list | tuple):
            raise FormatError("a suite needs a list of entries", found=repr(spec)[:80])
        rule, gate = spec.get("combine"), spec.get("gate")
        built = [entry if isinstance(entry, Entry) else Entry.build(entry) for entry in entries]
        try:
            return cls(
                built,
                combine=None if rule is None else CombiningRule.build(rule),
                gate=None if gate is None else Gate.build(gate),
                name=spec.get("name", ""),
                description=spec.get("description", ""),
            )
        except (TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError("a suite cannot be created from these fields", found=str(error)) from error


def _require_settings(settings: Iterable[str], known: frozenset[str], method: str, twin: str) -> None:
    if unknown := set(settings) - known:
        near = did_you_mean(min(unknown), known)
        raise TypeError(
            f"{method} has no parameter {min(unknown)!r}; {near or f'its parameters are those of {twin}'}"
        )


def _print_notes(notes: Iterable[str], progress: bool | OnProgress) -> None:
    for note in notes if progress is not False else ():
        print(visible(note))  # noqa: T201 (a caller may discard the result and its notes)


def run(graders: Iterable[Grader | Entry], samples: Any, **settings: Any) -> Report:
    """Shorthand for `Suite(graders).run(samples, ...)`."""
    return Suite(graders).run(samples, **settings)
