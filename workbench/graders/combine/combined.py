"""Combined grader: several graders as one, with entries and a rule that combines their grades."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.data.samples import Sample, Samples
from workbench.graders.base import Control, Grader, kind
from workbench.graders.combine.combining import CombiningRule, Mean
from workbench.graders.combine.entry import Entry, as_entry, grades_of_one
from workbench.sandbox.host.limits import weakest

__all__ = ["Combined", "check_names", "combine", "combine_repeats"]


def combine(entries: Sequence[Entry], grades: Mapping[str, Grades], rule: CombiningRule) -> Grades:
    """One grade per row from the entries' grades, with the result of each part in the metadata.

    Args:
        entries: In order.
        grades: By entry name, as returned by `Entry.grade_all`, n rows each.
        rule: The combining rule.
    """
    result = rule.combine(entries, {entry.name: entry.count(grades[entry.name]) for entry in entries})
    columns = [grades[entry.name] for entry in entries]
    levels = {column.isolation for column in columns} - {""}
    for target in ("seconds", "tokens", "cost"):
        parts = np.array([getattr(column, target) for column in columns])
        # If no part has the number, `nansum` by itself would return 0.0.
        known = ~np.isnan(parts).all(axis=0)
        getattr(result, target)[known] = np.nansum(parts[:, known], axis=0)
    for row, reason in _failures_that_count(entries, grades).items():
        result.ungraded[row] = reason
        before = result.reasoning.get(row)
        result.reasoning[row] = f"{before}; {reason}" if before else reason
    unstable = next((column for column in columns if column.unstable), columns[0])
    return replace(
        result,
        isolation=weakest(*levels),
        code=all(column.code for column in columns),
        graded_again=unstable.graded_again,
        unstable=unstable.unstable,
    )


def combine_repeats(entries: Sequence[Entry], grades: Mapping[str, Grades], rule: CombiningRule) -> Grades:
    """As `combine`, from the reduced grades; each repeat of the whole combines the same repeat of all.

    A deterministic entry was graded once and has that grade in every repeat. Tokens and cost
    are unknown rather than a sum: the entries' columns contain them, and totals must not count them twice.
    """
    columns = [grades[entry.name] for entry in entries]
    count = min((len(column.repeats) for column in columns if column.repeats), default=0)
    passes = [
        {
            entry.name: column.repeats[at] if column.repeats else column
            for entry, column in zip(entries, columns, strict=True)
        }
        for at in range(count)
    ]
    combined = combine(entries, grades, rule)
    unknown = np.full_like(combined.cost, np.nan)
    return replace(
        combined,
        tokens=unknown,
        cost=unknown,
        repeats=tuple(combine(entries, columns_of_pass, rule) for columns_of_pass in passes),
        reduced=next((column.reduced for column in columns if column.reduced), ""),
    )


def _failures_that_count(entries: Sequence[Entry], grades: Mapping[str, Grades]) -> dict[int, str]:
    """Row to the parts that failed but count as a number because of their entries' settings."""
    reasons: dict[int, str] = {}
    for entry in entries:
        for row, error in grades[entry.name].errors.items() if entry.on_error == "zero" else ():
            # A cancelled row was never graded: it is not a failure that counts as a number.
            if error.kind is not ErrorKind.CANCELLED:
                counts = 1.0 if entry.negate and entry.negate_errors else 0.0
                reason = f"{entry.name} failed and counts as {counts} ({error})"
                reasons[row] = f"{reasons[row]}; {reason}" if row in reasons else reason
    return reasons


@kind("combined", family="several")
@dataclass(frozen=True, kw_only=True)
class Combined(Grader):
    """Several graders over one sample, combined by a rule.

    A part that failed leaves the whole unscored, and its error names the part; see the rule. When a single sample is
    graded, the metadata contains the result of each part under `parts`.

    Attributes:
        entries: Entries or graders; names must differ.
        combine: `Mean()` by default; `Sum`, `AllPass`, `Formula`.

    Raises:
        ValueError: No entries, two of one name, or entries the rule cannot combine.

    Source: Adaptive's combined grader, vLLora's multi-grader, OpenAI's multigrader.
    """

    entries: tuple[Entry, ...] = field(kw_only=False)
    combine: CombiningRule = Mean()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        if hasattr(self.entries, "entries"):  # iterating over a suite would lose its names, weights and rule
            raise TypeError(
                "Combined requires graders or entries: write Combined(suite.entries, combine=suite.combine)"
            )
        object.__setattr__(self, "entries", tuple(map(as_entry, self.entries)))
        super().__post_init__()
        check_names(self.entries)
        if not isinstance(self.combine, CombiningRule):
            raise TypeError(f"combine must be a combining rule such as Mean(), not {self.combine!r}")
        self.combine.check(self.entries)

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        return ""

    def check_ready(self) -> None:
        """Raise any error that would end a run before its first row; every part must be ready."""
        for entry in self.entries:
            entry.grader.check_ready()

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample with every part concurrently."""
        grades = await asyncio.gather(*(entry.grade(sample) for entry in self.entries))
        columns = {
            entry.name: grades_of_one(grade) for entry, grade in zip(self.entries, grades, strict=True)
        }
        combined = combine(self.entries, columns, self.combine)[0]
        parts = {e.name: _part_record(e, grade) for e, grade in zip(self.entries, grades, strict=True)}
        return replace(combined, metadata={**combined.metadata, "parts": parts})

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row with every part, one part after another."""
        columns: dict[str, Grades] = {}
        for entry in self.entries:
            checkpoint = control.checkpoint and control.checkpoint.of_part(entry.name)
            part = control.part(self._news(control, columns, len(samples)), checkpoint)
            columns[entry.name] = await entry.grade_all(samples, part)
        return combine(self.entries, columns, self.combine)

    def _news(self, control: Control, columns: Mapping[str, Grades], n: int) -> Callable[[int, int], None]:
        """Passes a part's rows on as a share of the whole's; the failed count is that of the part with most failures."""
        before = max((column.n_failed for column in columns.values()), default=0)
        start = len(columns) * n

        def tell(done: int, failed: int) -> None:
            if control.on_rows:
                control.on_rows((start + done) // len(self.entries), max(before, failed))

        return tell

    def _field_spec(self, f: Any) -> Any:
        if f.name == "entries":
            return [entry.spec() for entry in self.entries]
        return self.combine.spec() if f.name == "combine" else super()._field_spec(f)

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        values = dict(values)
        if isinstance(values.get("entries"), list):
            values["entries"] = tuple(
                entry if isinstance(entry, Entry) else Entry.build(entry) for entry in values["entries"]
            )
        if "combine" in values and not isinstance(values["combine"], CombiningRule):
            values["combine"] = CombiningRule.build(values["combine"])
        if not values.get("entries"):
            raise FormatError("a combined grader needs entries")
        return super().build(values)


def check_names(entries: Sequence[Entry]) -> None:
    """Refuse an empty list of entries, and two of one name.

    Raises:
        ValueError: With the name and a hint.
    """
    if not entries:
        raise ValueError("a suite needs at least one grader")
    names = [entry.name for entry in entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"two graders are called {twice[0]!r}; rename one: Contains(..., name='b'), @wb.grader(name='b') or Entry(grader, 'b')"
        )


def _part_record(entry: Entry, grade: Grade) -> dict[str, Any]:
    outcome = entry.outcome_of(grade)
    return {"score": outcome.score, "passed": outcome.passed, "message": outcome.message}
