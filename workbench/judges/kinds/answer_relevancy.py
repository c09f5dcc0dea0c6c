"""The answer relevancy judge: the share of a completion's claims that are relevant to the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from workbench.core.grade import Grade
from workbench.graders.base import kind
from workbench.judges.kinds.claims_judge import ClaimsJudge

__all__ = ["AnswerRelevancyJudge"]


@kind("answer-relevancy", family="judges")
@dataclass(frozen=True, kw_only=True)
class AnswerRelevancyJudge(ClaimsJudge):
    """The share of the completion's claims that help to respond to the prompt.

    `metadata["claims"]` has one dict for each claim with `claim`, `relevant` and `reason`. A completion without claims is
    skipped. With `platform="adaptive"` sentences are judged, the number of scores is not checked, the share is rounded to
    three decimals, and a reply without any score is 0.0, as on the platform.

    Source: Adaptive (`ANSWER_RELEVANCY`).
    """

    verdict_key: ClassVar[str] = "relevant"
    statements_key: ClassVar[str] = "results"

    def check_count(self, grade: Grade, expected: int) -> Grade:  # noqa: ARG002 (Adaptive does not check here)
        """The unchanged grade."""
        return grade
