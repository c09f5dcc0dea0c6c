"""The score judge: OpenAI's model grader that gives a score on a scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.grade import Grade
from workbench.graders.base import kind
from workbench.judges.answers.verdicts import score_value, verdict_object
from workbench.judges.asking.settings import ANSWER_LIMITS, check_sampling
from workbench.judges.kinds.rubric import check_scale
from workbench.judges.kinds.templated import TemplatedJudge, conclusions, steps_format
from workbench.judges.prompts.files import prompt

__all__ = ["ScoreJudge"]


@kind("score-judge", family="judges")
@dataclass(frozen=True, kw_only=True)
class ScoreJudge(TemplatedJudge):
    """A model's score on a scale; its steps are the reasoning.

    Attributes:
        input: Messages; their contents are templates over `item` and `sample`.
        scale: Lowest and highest score.
        sampling_params: Further settings of the request: temperature, top_p, seed, reasoning_effort, penalties, and the
            reply limit (max_completions_tokens, as OpenAI's graders call it). No others, and each within its bounds:
            see `judges.asking.settings`.

    With `platform="openai"` a score outside the scale is clamped. A reply without a number is a failed grade; OpenAI counts
    it as 0.

    Source: OpenAI (`score_model`).
    """

    scale: tuple[float, float] = (0.0, 1.0)
    sampling_params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", check_scale(self.scale))
        object.__setattr__(self, "sampling_params", check_sampling(self.sampling_params))

    def answer_format(self) -> dict[str, Any] | None:
        """Steps and a number."""
        return steps_format({"type": "number"})

    def request_settings(self) -> dict[str, Any]:
        """With the sampling parameters."""
        params = check_sampling(self.sampling_params)
        params = {name: value for name, value in params.items() if value is not None}
        settings = super().request_settings()
        # One limit only: the parameters may have it already, under another of its names.
        if any(name in params for name in ANSWER_LIMITS):
            settings.pop("max_tokens")
        return {**settings, **params}

    def system_prompt(self) -> str:
        """The required format of the reply; precedes the author's messages."""
        low, high = self.scale
        return prompt("score_system", low=f"{low:g}", high=f"{high:g}")

    def read(self, text: str) -> Grade:
        """The result, on the scale."""
        answer = verdict_object(text, "result", self.platform)
        score = score_value(answer.get("result"), self.platform, low=self.scale[0], high=self.scale[1])
        return Grade(score, reasoning=conclusions(answer), metadata={"steps": answer.get("steps") or []})
