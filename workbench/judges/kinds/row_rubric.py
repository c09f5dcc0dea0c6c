"""The judge of a rubric that every row has: its criteria are a column, and each of them has a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from workbench.core.grade import ErrorKind, Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.graders.arguments import check_choice
from workbench.graders.base import as_sample, is_number, kind
from workbench.judges.kinds import Judge, json_schema
from workbench.judges.prompts import prompt, question_and_context
from workbench.judges.protocol import (
    Messages,
    Reply,
    SampleError,
    ScriptedClient,
    check_number,
    refuse_unless,
)
from workbench.judges.row_criteria import (
    RowCriterion,
    RubricError,
    earned_points,
    possible_points,
    read_criteria,
)
from workbench.judges.several_requests import ask_each
from workbench.judges.verdicts import AnswerError, verdict_object

_VERDICT = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"}, "reason": {"type": "string"}, "met": {"type": "boolean"},
    },
    "required": ["number", "reason", "met"],
    "additionalProperties": False,
}  # fmt: skip
_ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"criteria": {"type": "array", "items": _VERDICT}},
    "required": ["criteria"],
    "additionalProperties": False,
}
_MAX_REASON = 2_000
"""Maximum characters of a reason in a grade. Workbench limit."""


@kind("row-rubric", family="judges")
@dataclass(frozen=True, kw_only=True)
class RowRubric(Judge):
    """Earned over possible points of the row's own criteria, each of which a model finds met or not.

    The criteria are a column of the row, in the forms of HealthBench (`criterion`, `points`, `tags`), PaperBench (a tree
    of `requirements`, `weight`, `sub_tasks`), a list of texts, an object of text to points, or any of these as JSON text.
    Points below 0 are subtracted if the completion has the fault. Possible points are those above 0. The judge sees
    the texts, not the points. A reply without a verdict on a criterion, or with two, is requested again once, and then fails
    the row by the criterion's number and text.

    Metadata: `criteria`, one dict per criterion with `criterion`, `points`, `met`, `reason`, and `name`, `tags` and
    `label` if it has them; `earned` and `possible` points. `report.criteria` has pass rate, agreement with labels and
    share of the variance of every criterion.

    Attributes:
        column: Key of the row's metadata that contains the criteria.
        requests: "one" for a single request with all criteria, "each" for one request per criterion, which costs more and
            in which no verdict depends on other criteria.
        clip: Lowest and highest score, either may be None; None for no clipping. Faults alone give a score below 0.
        pass_threshold: The lowest score that passes; None for neither pass nor fail.

    Error kinds: as `Judge`; sample if the row has no rubric or one that cannot be read.

    Source: HealthBench (Arora et al. 2025, arXiv 2505.08775) for points of either sign; PaperBench (Starace et al. 2025,
    arXiv 2504.01848) for trees.

    Example:
        >>> import workbench as wb
        >>> rubric = [{"criterion": "names the capital", "points": 3}, {"criterion": "is rude", "points": -2}]
        >>> row = wb.StringThread([("user", "Capital of France?"), ("assistant", "Paris, stupid.")], {"rubrics": rubric})
        >>> both_met = '{"criteria": [{"number": 1, "reason": "", "met": true}, {"number": 2, "reason": "", "met": true}]}'
        >>> round(RowRubric(client=wb.ScriptedClient(both_met))(row).score, 3)
        0.333
    """

    hidden_from_dir = "criteria_of"
    column: str = field(default="rubrics", kw_only=False)
    requests: str = "one"
    clip: tuple[float | None, float | None] | None = (0.0, 1.0)
    pass_threshold: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(isinstance(self.column, str) and self.column, "column must be a name", self.column)
        check_choice("requests", self.requests, ("one", "each"))
        object.__setattr__(self, "clip", _checked_clip(self.clip))
        if self.pass_threshold is not None:
            check_number("pass_threshold", self.pass_threshold)
        refuse_unless(not self.platform, "no platform has rubrics in a column", self.platform, "platform=''")

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(
            "rubrics", client=ScriptedClient('{"criteria": [{"number": 1, "reason": "r", "met": true}]}')
        )

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt."""
        return True

    def criteria_of(self, sample: Sample) -> tuple[RowCriterion, ...]:
        """The criteria of a row.

        Raises:
            SampleError: The row has no rubric, or one that cannot be read.
        """
        metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
        if metadata.get(self.column) in (None, ""):
            names = ", ".join(map(str, metadata)) or "none"
            raise SampleError(f"the row has no rubric in {self.column!r}; its columns are: {names}"[:400])
        try:
            return read_criteria(metadata[self.column])
        except RubricError as error:
            raise SampleError(f"the row's {self.column!r} cannot be read: {error}") from None

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The request with all criteria, or the one for the first criterion; see `questions`."""
        return self.questions(sample)[0]

    def questions(self, sample: Sample | StringThread) -> list[Messages]:
        """One request with all criteria, or one for each."""
        sample = as_sample(sample)
        shown = [criterion.shown for criterion in self.criteria_of(sample)]
        completion = self.judged_text(sample)
        if not completion.strip():
            raise SampleError("there is no completion to judge")
        question, context = question_and_context(sample.thread)
        material = {"context": context, "question": question, "completion": completion}
        system = {"role": "system", "content": prompt("row_rubric_system")}
        parts = [shown] if self.requests == "one" else [[text] for text in shown]
        # The criteria too, so that a row's rubric cannot close the tags of the other texts.
        texts = [prompt("row_rubric_user", {**material, "criteria": part}) for part in parts]
        return [[dict(system), {"role": "user", "content": text}] for text in texts]

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Send the request or requests; the row has no score if one criterion has no verdict."""
        criteria, questions = self.criteria_of(sample), self.questions(sample)
        if self.requests == "one":
            verdicts = (await self.ask_messages(sample, questions[0], replies)).metadata["verdicts"]
        else:
            names = [_place(criteria, at) for at in range(len(criteria))]
            grades = await ask_each(self, sample, questions, replies, names=names)
            verdicts = [grade.metadata["verdicts"][0] for grade in grades]
        return self._graded(criteria, verdicts)

    def _graded(self, criteria: Sequence[RowCriterion], verdicts: Sequence[Mapping[str, Any]]) -> Grade:
        met = [verdict["met"] for verdict in verdicts]
        earned, possible = earned_points(criteria, met), possible_points(criteria)
        score = _clipped(earned / possible, self.clip)
        records = [_record(*pair) for pair in zip(criteria, verdicts, strict=True)]
        reasons = [
            f"{criterion.points:+.3g} {'met' if verdict['met'] else 'not met'}: {criterion.text}: {verdict['reason']}"
            for criterion, verdict in zip(criteria, verdicts, strict=True)
        ]
        passed = None if self.pass_threshold is None else score >= self.pass_threshold
        metadata = {"criteria": records, "earned": earned, "possible": possible}
        return Grade(score, passed=passed, reasoning="\n".join(reasons), metadata=metadata)

    def read(self, text: str) -> Grade:
        """The share of criteria that are met, and the verdicts in the metadata; points and completeness need the row."""
        answers = verdict_object(text, "criteria", self.platform).get("criteria")
        if not isinstance(answers, list) or not answers:
            raise AnswerError(ErrorKind.JUDGE_PARSE, "the judge's criteria must be a list of verdicts")
        verdicts = [_verdict(answer) for answer in answers]
        return Grade(sum(one["met"] for one in verdicts) / len(verdicts), metadata={"verdicts": verdicts})

    def read_reply(self, sample: Sample, messages: Messages, reply: Reply) -> Grade:
        """See `Judge.read_reply`; every criterion of the request must have one verdict."""
        grade = super().read_reply(sample, messages, reply)
        criteria = self.criteria_of(sample) if self.requests == "one" else ()
        verdicts = _in_order(grade.metadata["verdicts"], criteria)
        return Grade(grade.score, metadata={"verdicts": verdicts})

    def answer_format(self) -> dict[str, Any] | None:
        """A list of verdicts."""
        return json_schema(_ANSWER_SCHEMA)


def _checked_clip(clip: Any) -> tuple[float | None, float | None] | None:
    if clip is None:
        return None
    ends = list(clip) if isinstance(clip, list | tuple) else []
    are_numbers = len(ends) == 2 and all(end is None or is_number(end) for end in ends)
    in_order = are_numbers and (None in ends or ends[0] < ends[1])
    refuse_unless(in_order, "clip must be the lowest and the highest score, or None", clip, "(0, 1)")
    low, high = (None if end is None else float(end) for end in ends)
    return low, high


def _clipped(score: float, clip: tuple[float | None, float | None] | None) -> float:
    low, high = clip or (None, None)
    score = score if low is None else max(low, score)
    return score if high is None else min(high, score)


def _place(criteria: Sequence[RowCriterion], at: int) -> str:
    """A criterion as error messages name it."""
    text = criteria[at].text
    return f"criterion {at + 1} of {len(criteria)} ({text[:80] + '...' if len(text) > 80 else text!r})"


def _verdict(answer: Any) -> dict[str, Any]:
    fields = answer if isinstance(answer, Mapping) else {}
    number, met = fields.get("number"), fields.get("met")
    if not isinstance(number, int) or isinstance(number, bool):
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"a verdict needs the number of its criterion, not {answer!r}"[:200]
        )
    if not isinstance(met, bool):
        raise AnswerError(
            ErrorKind.JUDGE_PARSE,
            f"the verdict on criterion {number} must be true or false, not {met!r}"[:200],
        )
    return {"number": number, "met": met, "reason": str(fields.get("reason") or "")[:_MAX_REASON]}


def _in_order(
    verdicts: Sequence[Mapping[str, Any]], criteria: Sequence[RowCriterion]
) -> list[Mapping[str, Any]]:
    """The verdicts in the order of the criteria; without criteria, the one verdict of a request about one.

    Raises:
        AnswerError: A criterion has no verdict or several, or a verdict belongs to no criterion.
    """
    n = max(len(criteria), 1)
    by_number: dict[int, Mapping[str, Any]] = {}
    for verdict in verdicts:
        number = verdict["number"]
        if not 1 <= number <= n:
            raise AnswerError(ErrorKind.JUDGE_PARSE, f"there is no criterion {number}, but criteria 1 to {n}")
        if number in by_number:
            raise AnswerError(ErrorKind.JUDGE_PARSE, f"criterion {number} has two verdicts")
        by_number[number] = verdict
    if missing := [at for at in range(n) if at + 1 not in by_number]:
        more = f", and on {len(missing) - 1} more" if len(missing) > 1 else ""
        place = _place(criteria, missing[0]) if criteria else "criterion 1"
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's reply has no verdict on {place}{more}")
    return [by_number[at + 1] for at in range(n)]


def _record(criterion: RowCriterion, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A criterion and its verdict, for the grade's metadata."""
    known = {
        "name": criterion.name, "tags": list(criterion.tags), "parents": list(criterion.parents), "label": criterion.label,
    }  # fmt: skip
    optional = {key: value for key, value in known.items() if value not in ("", [], None)}
    required = {"criterion": criterion.text, "points": criterion.points}
    return {**required, "met": verdict["met"], "reason": verdict["reason"], **optional}
