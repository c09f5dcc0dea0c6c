"""The answer relevancy judge: how much of an answer helps with the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from workbench.grade import Grade
from workbench.graders.base import kind
from workbench.judges.kinds.claims import ClaimsJudge

__all__ = ["AnswerRelevancyJudge"]


@kind("answer-relevancy")
@dataclass(frozen=True, kw_only=True)
class AnswerRelevancyJudge(ClaimsJudge):
    """The share of the completion's claims that help to answer the question.

    `metadata["claims"]` holds one dict a claim with `claim`, `relevant` and `reason`. A completion that claims nothing
    is skipped. With `rules="adaptive"` sentences are judged, their number is not checked, the share is rounded to
    three decimals and no scores at all are 0.0, as there.

    Source: Adaptive (`ANSWER_RELEVANCY`).
    """

    label: ClassVar[str] = "relevant"
    statements_key: ClassVar[str] = "results"

    def counted(self, grade: Grade, expected: int) -> Grade:  # noqa: ARG002 (Adaptive does not count here)
        """The grade as it is."""
        return grade
