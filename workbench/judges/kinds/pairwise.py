"""The pairwise judge: is the completion better than another answer, asked in both orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.grade import ErrorKind, Grade
from workbench.graders.base import as_sample, kind
from workbench.judges.answers.verdicts import AnswerError, verdict
from workbench.judges.ask_each import ask_each
from workbench.judges.base import JSON_OBJECT, Judge, SampleError, json_schema, refuse_unless
from workbench.judges.prompts.files import prompt
from workbench.judges.prompts.thread_parts import asked_and_context
from workbench.judges.protocol import Messages, Reply
from workbench.samples import Sample
from workbench.samples.plain import NotPlainError
from workbench.samples.plain import text as plain_text
from workbench.templates import compile as compile_template
from workbench.templates import thread_variables
from workbench.thread import StringThread

__all__ = ["PairwiseJudge"]

_SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "verdict": {"type": "string", "enum": ["A", "B", "TIE"]}},
    "required": ["reasoning", "verdict"],
    "additionalProperties": False,
}
_SCORES = {"A": 1.0, "TIE": 0.5, "B": 0.0}
_WINNERS = {1.0: "completion", 0.5: "tie", 0.0: "other"}


@kind("pairwise-judge")
@dataclass(frozen=True, kw_only=True)
class PairwiseJudge(Judge):
    """1.0 where a model finds the completion better than another answer, 0.0 where it finds it worse, else 0.5.

    Models favour an answer for the place it stands in, so both orders are asked, and only an answer that wins both
    has won. 0.5 is a tie in both orders, or two verdicts that differ. `passed` is True for a win, False for a loss and
    None for 0.5: nobody has won. A question that cannot be answered fails the row.

    Metadata: `verdicts`, the letter that won in each order (slot A holds the completion first, then the other answer);
    `winners`, the same as "completion", "other" or "tie"; `consistent`, whether both orders agree (None with one
    order).

    Attributes:
        criteria: What makes an answer the better one.
        against: Where the other answer stands: "reference", or a key of the row's metadata.
        swap: Whether both orders are asked; with one, half the price, the completion stands in slot A.
        user_template: Replaces the built-in user prompt: jinja2 with `answer_a`, `answer_b`, `criteria` and the
            variables of the Adaptive document.

    Error kinds: as `Judge`; sample where the other answer is missing.

    Source: Zheng et al. 2023 (2306.05685) for the two orders and the rule that a win must hold in both.

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
        said = isinstance(self.criteria, str) and self.criteria.strip()
        refuse_unless(said, "criteria must be text", self.criteria)
        named = isinstance(self.against, str) and self.against
        refuse_unless(named, "against must be a name", self.against, '"reference" or a key of the metadata')
        refuse_unless(isinstance(self.swap, bool), "swap must be True or False", self.swap)
        if self.user_template is not None:
            template = compile_template(self.user_template)
            missing = {"answer_a", "answer_b"} - template.variables
            wanted = "{{ answer_a }} and {{ answer_b }}"
            refuse_unless(not missing, "user_template must show both answers", sorted(missing), wanted)

    def preview(self, sample: Sample | StringThread) -> Messages:
        """The question with the completion as answer A; see `questions`."""
        return self.questions(sample)[0]

    def questions(self, sample: Sample | StringThread) -> list[Messages]:
        """All that would be asked: the completion first, then the other answer first."""
        sample = as_sample(sample)
        pair = (self._completion(sample), self._other(sample))
        orders = [pair, pair[::-1]] if self.swap else [pair]
        return [self._question(sample, *order) for order in orders]

    def _question(self, sample: Sample, answer_a: str, answer_b: str) -> Messages:
        answers = {"answer_a": answer_a, "answer_b": answer_b}
        if self.user_template is None:
            asked, context = asked_and_context(sample.thread)
            material = {"context": context, "question": asked, **answers}
            text = prompt("pairwise_user", material, criteria=self.criteria)
        else:
            values = thread_variables(sample, criteria=self.criteria, **answers)
            text = compile_template(self.user_template).render(values)
        return [{"role": "system", "content": prompt("pairwise_system")}, {"role": "user", "content": text}]

    def _completion(self, sample: Sample) -> str:
        if self.extractor.name == "last_assistant" and sample.thread.completion() is None:
            raise SampleError("a pairwise judge needs an answer to compare: the thread does not end with one")
        return self.judged(sample)

    def _other(self, sample: Sample) -> str:
        """The answer to compare with."""
        held = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
        found = sample.reference if self.against == "reference" else held.get(self.against)
        if found is None and self.against == "reference":
            found = held.get("reference")
        try:
            other = plain_text(found)
        except NotPlainError as error:
            raise SampleError(f"the row's {self.against} is no text to compare with: {error}") from None
        if other is None:
            raise SampleError(f"the row has no {self.against} to compare the completion with")
        return other

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Both orders, side by side."""
        grades = await ask_each(self, sample, self.questions(sample), replies)
        scores = [grade.score or 0.0 for grade in grades]
        # The second order has the completion in slot B.
        own = [score if at == 0 else 1.0 - score for at, score in enumerate(scores)]
        score = own[0] if len(set(own)) == 1 else 0.5
        verdicts = [grade.metadata["verdict"] for grade in grades]
        told = {
            "verdicts": verdicts,
            "winners": [_WINNERS[one] for one in own],
            "consistent": len(set(own)) == 1 if self.swap else None,
        }
        reasons = "\n".join(
            f"{said}: {grade.reasoning}" for said, grade in zip(verdicts, grades, strict=True)
        )
        return Grade(score, passed=None if score == 0.5 else score > 0.5, reasoning=reasons, metadata=told)

    def read(self, text: str) -> Grade:
        """One order's verdict as the score of answer A."""
        found = verdict(text, "verdict", self.rules)
        said = found.get("verdict")
        label = said.strip().upper() if isinstance(said, str) else said
        if not isinstance(label, str) or label not in _SCORES:
            raise AnswerError(
                ErrorKind.JUDGE_PARSE, f"the judge's verdict must be A, B or TIE, not {said!r}"[:300]
            )
        reasoning = str(found.get("reasoning") or "")
        return Grade(_SCORES[label], reasoning=reasoning, metadata={"verdict": label})

    def answer_format(self) -> dict[str, Any] | None:
        """Reasoning and a letter."""
        return JSON_OBJECT if self.rules else json_schema(_SCHEMA)
