"""The score judge: OpenAI's model grader with a score on a scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.grade import Grade
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import number, verdict
from workbench.judges.asking.settings import ANSWER_LIMITS, sampling
from workbench.judges.kinds.rubric import bounds
from workbench.judges.kinds.templated import TemplatedJudge, conclusions, steps_and
from workbench.judges.prompts.files import prompt

__all__ = ["ScoreJudge"]


@kind("score-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class ScoreJudge(TemplatedJudge):
    """A model's score on a scale; its steps are the reasoning.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        scale: Lowest and highest score.
        sampling_params: More settings of the request: temperature, top_p, seed, reasoning_effort, penalties, and the
            answer's limit (max_completions_tokens, as OpenAI's graders call it). Nothing else, and each within its
            bounds: see `judges.asking.settings`.

    With `rules="openai"` a number off the scale is clamped. An answer without a number is a failed grade; OpenAI
    counts it as 0.

    Source: OpenAI (`score_model`).
    """

    scale: tuple[float, float] = (0.0, 1.0)
    sampling_params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", bounds(self.scale))
        object.__setattr__(self, "sampling_params", sampling(self.sampling_params))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and a number."""
        return steps_and({"type": "number"})

    def asked(self) -> dict[str, Any]:
        """With the sampling parameters."""
        params = {name: value for name, value in sampling(self.sampling_params).items() if value is not None}
        own = super().asked()
        if any(name in params for name in ANSWER_LIMITS):
            own.pop("max_tokens")
        return {**own, **params}

    def system(self) -> str:
        """See `TemplatedJudge.system`."""
        low, high = self.scale
        return prompt("score_system", low=f"{low:g}", high=f"{high:g}")

    def read(self, text: str) -> Grade:
        """The result, on the scale."""
        found = verdict(text, "result", self.rules)
        score = number(found.get("result"), self.rules, low=self.scale[0], high=self.scale[1])
        return Grade(score, reasoning=conclusions(found), metadata={"steps": found.get("steps") or []})
