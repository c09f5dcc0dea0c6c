"""Per-turn grading: one reference per turn, one grade per turn, their mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, replace
from typing import Any, ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade, GradeError, Status
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.samples.columns import ROLES
from workbench.graders.base import Grader, from_spec, kind
from workbench.graders.rule_grader import Unscored

__all__ = ["PerTurn", "turns_of"]


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
        mine = {key: reference for key in keys if str(key).casefold() in ROLES["reference"]}
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
