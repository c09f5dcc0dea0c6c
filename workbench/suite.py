"""Named graders over the same samples: one run, one report, one bar."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from workbench import background
from workbench.display_text import visible
from workbench.errors import FormatError, WorkbenchError
from workbench.graders import Grader
from workbench.graders.base import as_sample
from workbench.graders.calls import with_call_help
from workbench.graders.combine import Entry, Gate, GateResult, Rule
from workbench.graders.combine.combined import check_names, combine
from workbench.graders.combine.entry import as_column, as_entry
from workbench.grades import Grades
from workbench.jobs import Job
from workbench.judges.asking.budget import Budget, Spending, as_budget, check_priced
from workbench.judges.asking.judge_run import JudgeRun
from workbench.judges.base import Judge
from workbench.progress import Bar, OnProgress
from workbench.report import Report, check_settings
from workbench.samples import Sample, Samples, as_samples
from workbench.serialization import parts
from workbench.suite_run import Run, SuiteOutcome, endings, opened, sum_up
from workbench.thread import StringThread

__all__ = ["Suite", "SuiteOutcome", "run"]


@with_call_help
@dataclass(frozen=True, repr=False)
class Suite:
    """Graders that judge the same samples, and perhaps a rule that makes one score of theirs.

    Attributes:
        entries: At least one; graders are taken as entries with everything at its default.
        combine: Makes one grade a row; it stands in the report as a grader of its own.
        gate: Judges a whole run; its verdict is `report.gate`.
        name: How the combined column is called, "combined" by default.
        description: One sentence for people.

    Raises:
        ValueError: No grader, two of one name, or a rule or gate that does not fit the entries.
        TypeError: Something that is no grader.

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
    combine: Rule | None = None
    gate: Gate | None = None
    name: str = ""
    description: str = field(default="", compare=False)

    def __init__(
        self,
        graders: Iterable[Grader | Entry] | Grader | Entry,
        *,
        combine: Rule | None = None,
        gate: Gate | None = None,
        name: str = "",
        description: str = "",
    ) -> None:
        items = (graders,) if isinstance(graders, Grader | Entry) else tuple(graders)
        values = (tuple(map(as_entry, items)), combine, gate, name, description)
        for attribute, value in zip(
            ("entries", "combine", "gate", "name", "description"), values, strict=True
        ):
            object.__setattr__(self, attribute, value)
        self._check()

    def _check(self) -> None:
        check_names(self.entries)
        names = [entry.name for entry in self.entries]
        if not isinstance(self.name, str):
            raise TypeError(f"a suite's name must be text, not {self.name!r}")
        for what, wanted, example in ((self.combine, Rule, "Mean()"), (self.gate, Gate, "SimpleGate(...)")):
            if what is not None and not isinstance(what, wanted):
                raise TypeError(f"a suite takes a {wanted.__name__.lower()} such as {example}, not {what!r}")
        if self.combine is not None:
            self.combine.check(self.entries)
            if self.column in names:
                raise ValueError(
                    f"an entry is called {self.column!r}, as the suite is; give the suite another name"
                )
        for metric in self.gate.metrics if self.gate else ():
            if metric not in names:
                raise ValueError(
                    f"the gate reads {metric!r}, which is none of the graders {', '.join(names)}"
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
        """The grader of a suite of one, such as a file of one grader gives.

        Raises:
            AttributeError: There are several; the message says how to get each.
        """
        if len(self.entries) > 1:
            names = ", ".join(f"suite[{entry.name!r}]" for entry in self.entries)
            raise AttributeError(
                f"a suite of {len(self.entries)} graders has no one grader; take suite[0], or by name: {names}"
            )
        return self.entries[0].grader

    def __repr__(self) -> str:
        """The call that makes it, and how to get the grader where there is one."""
        items = [entry.grader if entry == Entry(entry.grader) else entry for entry in self.entries]
        changed = {f.name: getattr(self, f.name) for f in fields(self)[1:] if getattr(self, f.name)}
        parts = [repr(items), *(f"{name}={value!r}" for name, value in changed.items())]
        return f"Suite({', '.join(parts)})" + (
            "  # its grader: .grader" if self.plain and len(items) == 1 else ""
        )

    @property
    def plain(self) -> bool:
        """Whether this is a list of graders and nothing more."""
        bare = all(entry == Entry(entry.grader) for entry in self.entries)
        named = self.name or self.description
        return bare and self.combine is None and self.gate is None and not named

    def __iter__(self) -> Iterator[Grader]:
        return iter(self.graders)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, which: int | str) -> Grader:
        """A grader by its place or its entry's name.

        Raises:
            KeyError: No such name.
            IndexError: No such place.
        """
        if isinstance(which, int):
            return self.graders[which]
        found = {entry.name: entry.grader for entry in self.entries}
        if which not in found:
            raise KeyError(f"no grader {which!r} here; there are {', '.join(found)}")
        return found[which]

    def __call__(self, sample: Sample | StringThread) -> SuiteOutcome:
        """Grade one sample with every grader, and wait for it."""
        return background.run(self.grade(as_sample(sample)))

    async def grade(self, sample: Sample | StringThread) -> SuiteOutcome:
        """The same inside async code: one sample with every grader at once."""
        made = as_sample(sample)
        found = await asyncio.gather(*(entry.grade(made) for entry in self.entries))
        pairs = list(zip(self.entries, found, strict=True))
        parts = {entry.name: entry.outcome_of(grade) for entry, grade in pairs}
        if self.combine is None:
            return SuiteOutcome(parts)
        columns = {entry.name: as_column(grade) for entry, grade in pairs}
        return SuiteOutcome(parts, combine(self.entries, columns, self.combine)[0])

    def run(
        self,
        samples: Any,
        *,
        progress: bool | OnProgress = True,
        workers: int | None = None,
        preset: str = "workbench",
        labels: Any = None,
        budget: Budget | float | None = None,
        store: Any = None,
    ) -> Report:
        """Grade every sample with every grader.

        An Interrupt (Ctrl-C, or the stop button) ends the run early and returns the report of what was
        graded; the rest is failed as *cancelled*, never zero.

        Args:
            samples: `Samples`, a DataFrame, a list of dicts, or a path.
            progress: True for a bar, False for none, or a function that is called with a `Progress` on the calling
                thread, ten times a second at most and at the end. Where it returns False the run stops as after an
                Interrupt. What a person should read of the run is printed at its end, except with False; it always
                stands in `report.notes`.
            workers: Sandbox processes; all cores but one by default.
            preset: Which diagnostics the report carries.
            labels: One bool or None a row, known good or known bad: what turns *saturated* into *lenient*.
            budget: The most that judges may spend: a `Budget`, or a number of US dollars. What it has no room for
                is failed as *budget*.
            store: A `Store`, or the address of one (see `open_store`): judges' answers are kept there as they
                come, and what was answered once is not asked again. The run's summary is kept too.

        Raises:
            SamplesError: The samples cannot be read.
            IsolationError: Imported source where the machine cannot confine it.
            StoreError: The store cannot be opened.
            BudgetError: A budget in money, and a judge's model without a price.
            ValueError: Fewer than one worker.
        """
        report = self._go(
            samples, progress,
            workers=workers, preset=preset, labels=labels, budget=budget, store=store,
        )  # fmt: skip
        for note in report.notes if progress is not False else ():
            print(visible(note))  # noqa: T201 (also where nobody keeps the report)
        return report

    def start(
        self,
        samples: Any,
        *,
        progress: OnProgress | None = None,
        ended: Callable[[Job], object] | None = None,
        **settings: Any,
    ) -> Job:
        """Begin a run in the background and return at once: `job.progress`, `job.cancel()`, `await job`.

        Args:
            samples: As in `run`.
            progress: Called with each `Progress` on the job's thread; where it returns False the run stops.
            ended: Called with the job when it is over, on the job's thread.
            settings: `workers`, `preset`, `labels`, `budget` and `store`, as in `run`.

        Raises:
            TypeError: Another setting. What `run` raises comes out of `job.report()`.
        """
        if unknown := set(settings) - {"workers", "preset", "labels", "budget", "store"}:
            raise TypeError(f"start takes no {min(unknown)!r}; it takes what run takes")
        return Job(lambda listen: self._go(samples, listen, **settings), listen=progress, ended=ended)

    def _go(
        self,
        samples: Any,
        progress: bool | OnProgress,
        *,
        workers: int | None = None,
        preset: str = "workbench",
        labels: Any = None,
        budget: Budget | float | None = None,
        store: Any = None,
    ) -> Report:
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be 1 or more, not {workers!r}")
        data = as_samples(samples)
        data.require_completion()
        check_settings(data, preset=preset, labels=labels)  # now, not after an hour of grading
        spending = Spending(as_budget(budget))
        for entry in self.entries:
            _check_ready(entry, spending.budget)
        with opened(store) as kept, Bar(len(data) * len(self.entries), show=progress is True) as bar:
            judge_run = JudgeRun(spending, None if kept is None else kept.replies)
            listen = progress if callable(progress) else bar
            run = Run(self.entries, data, listen, workers, judge_run)
            grades, stopped = run.go()
            report = self._report(data, dict(grades), preset=preset, labels=labels)
            notes = sum_up(kept, report, self.name) if kept is not None else []
        told = endings(grades, len(data), judge_run, interrupted=stopped)
        return replace(report, notes=(*notes, *told, *run.notes))

    def _report(self, data: Samples, grades: dict[str, Grades], **settings: Any) -> Report:
        gate = self._judge(grades)
        if self.combine is not None:
            whole = combine(self.entries, grades, self.combine)
            unpaid = np.full_like(whole.cost, np.nan)  # the parts' columns hold what was paid
            grades[self.column] = replace(whole, tokens=unpaid, cost=unpaid)
        sources = {e.name: e.grader.source.text for e in self.entries if hasattr(e.grader, "source")}
        return Report(data, grades, sources=sources, gate=gate, **settings)

    def _judge(self, grades: Mapping[str, Grades]) -> GateResult | None:
        if self.gate is None:
            return None
        return self.gate.judge({entry.name: entry.count(grades[entry.name]).scores for entry in self.entries})

    def spec(self) -> dict[str, Any]:
        """The suite as a plain dict: entries, and rule, gate and names where there are any."""
        rest = {
            "combine": self.combine and self.combine.spec(),
            "gate": self.gate and self.gate.spec(),
            "name": self.name,
            "description": self.description,
        }
        return {
            "entries": [entry.spec() for entry in self.entries],
            **{key: value for key, value in rest.items() if value},
        }

    @classmethod
    def build(cls, spec: Mapping[str, Any]) -> Self:
        """The suite behind a spec.

        Raises:
            FormatError: What does not fit.
        """
        entries = spec.get("entries") if isinstance(spec, Mapping) else None
        if not isinstance(entries, list | tuple):
            raise FormatError("a suite needs a list of entries", found=repr(spec)[:80])
        rule, gate = spec.get("combine"), spec.get("gate")
        made = [one if isinstance(one, Entry) else Entry.build(one) for one in entries]
        try:
            return cls(
                made,
                combine=None if rule is None else Rule.build(rule),
                gate=None if gate is None else Gate.build(gate),
                name=spec.get("name", ""),
                description=spec.get("description", ""),
            )
        except (TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError("a suite cannot be made from these fields", found=str(error)) from error


def _check_ready(entry: Entry, budget: Budget | None) -> None:
    """What would end the run before its first row is told with the grader's name."""
    try:
        entry.grader.check_ready()
        for part in parts(entry.grader):
            if budget is not None and isinstance(part, Judge):
                check_priced(budget, part.priced_model)
    except WorkbenchError as error:
        where = f"grader {entry.name!r}" + (f", {error.where}" if error.where else "")
        hint = f"{error.hint}; or run the suite without it" if error.hint else ""
        raise type(error)(
            error.what, where=where, found=error.found, expected=error.expected, hint=hint
        ) from error


def run(graders: Iterable[Grader | Entry], samples: Any, **settings: Any) -> Report:
    """Shorthand for `Suite(graders).run(samples, ...)`."""
    return Suite(graders).run(samples, **settings)
