"""The pairwise judge: whether the completion is better than another one, judged in both orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.grade import ErrorKind, Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.samples.plain import NotPlainError
from workbench.data.samples.plain import text as plain_text
from workbench.data.templates import compile as compile_template
from workbench.data.templates import thread_variables
from workbench.graders.base import as_sample, kind
from workbench.judges.kinds import JSON_OBJECT, Judge, json_schema
from workbench.judges.prompts import prompt, question_and_context
from workbench.judges.protocol import Messages, Reply, SampleError, refuse_unless
from workbench.judges.several_requests import ask_each
from workbench.judges.verdicts import AnswerError, verdict_object

_ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "verdict": {"type": "string", "enum": ["A", "B", "TIE"]}},
    "required": ["reasoning", "verdict"],
    "additionalProperties": False,
}
_SCORES = {"A": 1.0, "TIE": 0.5, "B": 0.0}
_WINNERS = {1.0: "completion", 0.5: "tie", 0.0: "other"}


@kind("pairwise-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class PairwiseJudge(Judge):
    """1.0 if a model finds the completion better than another one, 0.0 if it finds it worse, else 0.5.

    Models favour a completion for its position, so both orders are judged, and only a completion that wins in both has
    won. 0.5 is a tie in both orders, or two verdicts that differ. `passed` is True for a win, False for a loss and None
    for 0.5. An order whose reply cannot be parsed fails the row.

    Metadata: `verdicts`, the letter that won in each order (A is the completion in the first order, the other one in
    the second); `winners`, the same as "completion", "other" or "tie"; `consistent`, whether both orders agree (None
    with one order).

    Attributes:
        criteria: What makes a completion the better one.
        against: Where the other completion is: "reference", or a key of the row's metadata.
        swap: Whether both orders are judged. With one order, at half the price, the completion is A.
        user_template: Replaces the built-in user prompt: jinja2 with `answer_a`, `answer_b`, `criteria` and the
            variables that Adaptive documents.

    Error kinds: as `Judge`; sample if the other completion is missing.

    Source: Zheng et al. 2023 (2306.05685) for the two orders and the rule that a win requires both.

    Example:
        >>> import workbench as wb
        >>> from workbench.judges import ScriptedClient
        >>> always_first = ScriptedClient('{"reasoning": "it came first", "verdict": "A"}')
        >>> judge = PairwiseJudge(client=always_first)
        >>> row = wb.Sample("0", wb.StringThread([("user", "2+2?"), ("assistant", "4")]), "5", "0")
        >>> judge(row).score, judge(row).metadata["consistent"]
        (0.5, False)
    """

    criteria: str = field(
        default="The better answer is more correct, more complete, and does what was asked.", kw_only=False
    )
    against: str = "reference"
    swap: bool = True
    user_template: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        has_criteria = isinstance(self.criteria, str) and self.criteria.strip()
        refuse_unless(has_criteria, "criteria must be text", self.criteria)
        is_name = isinstance(self.against, str) and self.against
        refuse_unless(is_name, "against must be a name", self.against, '"reference" or a key of the metadata')
        refuse_unless(isinstance(self.swap, bool), "swap must be True or False", self.swap)
        if self.user_template is not None:
            template = compile_template(self.user_template)
            missing = {"answer_a", "answer_b"} - template.variables
            expected = "{{ answer_a }} and {{ answer_b }}"
            refuse_unless(
                not missing, "user_template must contain both completions", sorted(missing), expected
            )

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The request with the completion as A; see `questions`."""
        return self.questions(sample)[0]

    @property
    def shows_question(self) -> bool:
        """Whether the request contains the row's prompt."""
        return self.user_template is None

    def questions(self, sample: Sample | StringThread) -> list[Messages]:
        """Both orders: the completion first, then the other one first."""
        sample = as_sample(sample)
        pair = (self._completion(sample), self._other_answer(sample))
        orders = [pair, pair[::-1]] if self.swap else [pair]
        return [self._question(sample, *order) for order in orders]

    def _question(self, sample: Sample, answer_a: str, answer_b: str) -> Messages:
        answers = {"answer_a": answer_a, "answer_b": answer_b}
        if self.user_template is None:
            question, context = question_and_context(sample.thread)
            material = {"context": context, "question": question, **answers}
            text = prompt("pairwise_user", material, criteria=self.criteria)
        else:
            values = thread_variables(sample, criteria=self.criteria, **answers)
            text = compile_template(self.user_template).render(values)
        return [{"role": "system", "content": prompt("pairwise_system")}, {"role": "user", "content": text}]

    def _completion(self, sample: Sample) -> str:
        if self.extractor.name == "last_assistant" and sample.thread.completion() is None:
            raise SampleError(
                "a pairwise judge needs a completion: the thread does not end with an assistant turn"
            )
        return self.judged_text(sample)

    def _other_answer(self, sample: Sample) -> str:
        """The text to compare with."""
        metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
        value = sample.reference if self.against == "reference" else metadata.get(self.against)
        if value is None and self.against == "reference":
            value = metadata.get("reference")
        try:
            answer = plain_text(value)
        except NotPlainError as error:
            raise SampleError(f"the row's {self.against} is not a text to compare with: {error}") from None
        if answer is None:
            raise SampleError(f"the row has no {self.against} to compare the completion with")
        return answer

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Judge both orders concurrently."""
        grades = await ask_each(self, sample, self.questions(sample), replies)
        scores = [grade.score or 0.0 for grade in grades]
        # `read` scores A, and in the second order the completion is B.
        completion_scores = [score if order == 0 else 1.0 - score for order, score in enumerate(scores)]
        consistent = len(set(completion_scores)) == 1
        score = completion_scores[0] if consistent else 0.5
        verdicts = [grade.metadata["verdict"] for grade in grades]
        metadata = {
            "verdicts": verdicts,
            "winners": [_WINNERS[completion_score] for completion_score in completion_scores],
            "consistent": consistent if self.swap else None,
        }
        reasons = "\n".join(
            f"{verdict}: {grade.reasoning}" for verdict, grade in zip(verdicts, grades, strict=True)
        )
        passed = None if score == 0.5 else score > 0.5
        return Grade(score, passed=passed, reasoning=reasons, metadata=metadata)

    def read(self, text: str) -> Grade:
        """The verdict of one order, as the score of A."""
        answer = verdict_object(text, "verdict", self.platform)
        verdict = answer.get("verdict")
        label = verdict.strip().upper() if isinstance(verdict, str) else verdict
        if not isinstance(label, str) or label not in _SCORES:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's verdict must be A, B or TIE, not {verdict!r}"[:300]
            )
        reasoning = str(answer.get("reasoning") or "")
        return Grade(_SCORES[label], reasoning=reasoning, metadata={"verdict": label})

    def answer_format(self) -> dict[str, Any] | None:
        """Reasoning and a letter."""
        return JSON_OBJECT if self.platform else json_schema(_ANSWER_SCHEMA)


_FIRST = {"completion": 1.0, "tie": 0.5, "other": 0.0}
"""The result of the completion that was read first, by the winner."""


@dataclass(frozen=True)
class PairComparison:
    """One pair, judged in both orders.

    Attributes:
        a: Index of the completion.
        b: Index of the other one.
        grade: The pairwise judge's.
    """

    a: int
    b: int
    grade: Grade

    @property
    def results(self) -> tuple[float, float]:
        """Of `a` when read first, and when read second: 1 a win, 0.5 a tie, 0 a loss."""
        first, second = (_FIRST[winner] for winner in self.grade.metadata["winners"])
        return first, second
