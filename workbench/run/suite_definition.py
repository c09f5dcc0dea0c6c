"""What a suite consists of: named graders, a rule that combines their grades, and a gate; and its outcome for one sample."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

from workbench.analysis.suite_case import SuiteParts
from workbench.core import background
from workbench.core.errors import FormatError
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples
from workbench.graders import Grader
from workbench.graders.base import as_sample
from workbench.graders.combine import CombiningRule, Entry, EntryOutcome, Gate
from workbench.graders.combine.combined import combine, combine_repeats
from workbench.graders.combine.entry import as_entry, check_names, grades_of_one
from workbench.report import Report
from workbench.report.certificate import Certificate

_SETTINGS = ("combine", "gate", "name", "description")
"""Fields of a suite, in addition to its entries, that affect grading."""


@dataclass(frozen=True)
class SuiteOutcome:
    """The result of a suite for one sample.

    Attributes:
        parts: Outcome of each entry, by name.
        combined: The combined grade; None for a suite without a combining rule.
    """

    parts: Mapping[str, EntryOutcome]
    combined: Grade | None = None

    @property
    def score(self) -> float | None:
        """The combined score; without a rule that of the only entry, None if there are more."""
        if self.combined is not None:
            return self.combined.score
        return next(iter(self.parts.values())).score if len(self.parts) == 1 else None

    @property
    def passed(self) -> bool | None:
        """The combined verdict, or that of the only entry."""
        if self.combined is not None:
            return self.combined.passed
        return next(iter(self.parts.values())).passed if len(self.parts) == 1 else None


@dataclass(frozen=True, repr=False)
class SuiteDefinition:
    """Entries that grade the same samples, and what is made of their grades; see `Suite`, which runs it."""

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
    def score_name(self) -> str:
        """The column of the suite's score in a report: the combined one, else that of its first grader."""
        return self.column if self.combine is not None else self.entries[0].name

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


def report_on(suite: SuiteDefinition, data: Samples, grades: dict[str, Grades], **settings: Any) -> Report:
    """The report on the grades of a suite's entries, with those of its rule and its gate.

    Args:
        suite: The suite.
        data: The rows.
        grades: By entry; the combined grades are added.
        settings: Of the report.
    """
    gate = None
    if suite.gate is not None:
        # With the entries' values: a failure that is a 0.0 by `on_error` is one for the gate as well.
        gate = suite.gate.judge(
            {entry.name: entry.count(grades[entry.name]).scores for entry in suite.entries}
        )
    if suite.combine is not None:
        grades[suite.column] = combine_repeats(suite.entries, grades, suite.combine)
    sources = {e.name: e.grader.source.text for e in suite.entries if hasattr(e.grader, "source")}
    parts = SuiteParts(suite.entries, suite.combine, suite.column if suite.combine else "", suite.gate)
    return Report(data, grades, sources=sources, gate=gate, suite=parts, **settings)
