"""Combined graders: several graders with a rule that combines their grades, and one grader for each turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.grade import UNGRADED, ErrorKind, Grade, GradeError, Status
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples
from workbench.data.samples.column_names import is_name_of
from workbench.graders.base import Grader, from_spec, kind
from workbench.graders.combine.combining_rules import CombiningRule, Mean
from workbench.graders.combine.entry import Entry, as_entry, check_names, grades_of_one
from workbench.graders.concurrent_rows import Control
from workbench.graders.rule_grader import Unscored
from workbench.sandbox.host.program import weakest


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
            if error.kind not in UNGRADED:
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


def _part_record(entry: Entry, grade: Grade) -> dict[str, Any]:
    outcome = entry.outcome_of(grade)
    return {"score": outcome.score, "passed": outcome.passed, "message": outcome.message}


@kind("per-turn", family="several")
@dataclass(frozen=True, kw_only=True)
class PerTurn(Grader):
    """Grades every turn against a separate reference; the score is the mean over the turns.

    A turn is a user's message and all that follows up to the next one. A reference that is a list must have one
    entry per turn; any other reference, or none, is graded with the conversation as a whole. A turn passes at
    1.0; a turn without a score leaves the whole unscored. The details contain `per_turn_grades`, their `turn`
    counted from 0 as upstream.

    Attributes:
        grader: Grades each turn, without the others.

    Error kinds: sample (the reference does not fit the turns), and those of the inner grader.

    Source: Letta Evals from 0.9 (lists as `input` and `ground_truth`).
    """

    why_not_portable: ClassVar[str] = "it grades each turn separately"

    grader: Grader = field(kw_only=False)

    def __post_init__(self) -> None:
        if not isinstance(self.grader, Grader):
            raise FormatError("grader must be a grader", found=repr(self.grader)[:80])
        if not self.name:
            object.__setattr__(self, "name", self.grader.name)
        super().__post_init__()

    def _field_spec(self, f: Field[Any]) -> Any:
        return self.grader.spec() if f.name == "grader" else super()._field_spec(f)

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        if isinstance(values.get("grader"), dict):
            values = {**values, "grader": from_spec(values["grader"])}
        return super().build(values)

    def check_ready(self) -> None:
        """Raise any error that would end a run of this grader before its first row."""
        self.grader.check_ready()

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        return "turn"

    @property
    def at_once(self) -> int:
        """As the inner grader's."""
        return self.grader.at_once

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """As the inner grader's: a row's failure is of the kind of the turn that failed."""
        return self.grader.ends_run()

    async def grade(self, sample: Sample) -> Grade:
        """Grade turn by turn, or the whole if there is no list of references."""
        if not isinstance(sample.reference, list):
            grade: Grade = await self.grader.grade(sample)
            return grade
        try:
            turns = _samples_of_turns(sample)
        except Unscored as error:
            return Grade.failed(error.kind, str(error))
        return _mean([await self.grader.grade(turn) for turn in turns])


def _mean(grades: list[Grade]) -> Grade:
    for at, grade in enumerate(grades, 1):
        if grade.error is not None:
            return Grade.failed(grade.error.kind, f"turn {at} of {len(grades)}: {grade.error.message}")
        if grade.status is Status.SKIPPED:
            return Grade.skipped(
                f"turn {at} of {len(grades)} was skipped: {grade.reasoning or 'no reason given'}"
            )
    scores = [grade.score for grade in grades if grade.score is not None]
    passed = sum(score >= 1.0 for score in scores)
    reasons = "; ".join(f"turn {at}: {grade.reasoning or grade.score}" for at, grade in enumerate(grades, 1))
    details = [
        {"turn": at, "score": grade.score, "rationale": grade.reasoning} for at, grade in enumerate(grades)
    ]
    return Grade(
        sum(scores) / len(scores),
        passed=passed == len(scores),
        reasoning=f"{passed}/{len(scores)} passed: {reasons}",
        metadata={"per_turn_grades": details},
        tokens=_total([grade.tokens for grade in grades]),
        cost=_total([grade.cost for grade in grades]),
    )


def _total(values: list[Any]) -> Any:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def _samples_of_turns(sample: Sample) -> list[Sample]:
    turns, references = turns_of(sample.thread), sample.reference
    if len(references) != len(turns) or not turns:
        raise Unscored(
            ErrorKind.SAMPLE,
            f"per-turn grading needs one reference per turn: there are {len(turns)} turns, found {len(references)} of them",
        )
    return [
        replace(sample, thread=_with_reference(turn, references, reference), reference=reference)
        for turn, reference in zip(turns, references, strict=True)
    ]


def _with_reference(thread: StringThread, references: list[Any], reference: Any) -> StringThread:
    """The metadata with the turn's reference instead of the list."""
    if isinstance(thread.metadata, Mapping):
        # A list compares as a whole; an array would not.
        keys = [
            key for key, value in thread.metadata.items() if isinstance(value, list) and value == references
        ]
        mine = {key: reference for key in keys if is_name_of("reference", str(key))}
        thread.metadata = {**thread.metadata, **mine}
    return thread


def turns_of(thread: StringThread) -> list[StringThread]:
    """The thread cut at its user messages, including tool calls; turns before the first are added to it."""
    turns, metadata, calls, tools, answers = thread.to_wire()
    starts = [at for at, (role, _) in enumerate(turns) if role == "user"]
    if not starts:
        return [thread] if turns else []
    starts[0] = 0
    threads = []
    for start, end in zip(starts, [*starts[1:], len(turns)], strict=True):
        records_of_turn = [
            {at - start: records for at, records in (part or {}).items() if start <= at < end}
            for part in (calls, answers)
        ]
        threads.append(
            StringThread.from_wire(
                (turns[start:end], metadata, records_of_turn[0] or None, tools, records_of_turn[1] or None)
            )
        )
    return threads
