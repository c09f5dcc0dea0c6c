"""OpenRLHF's reward function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.trainer_rows import check_length, labelled_row
from workbench.deploy.reward.trainers import TrainerFunction, trainer
from workbench.graders.rules.threads import completion_of


@trainer("openrlhf")
class OpenRlhfReward(TrainerFunction):
    """`reward_func(queries, prompts, labels) -> {"rewards", "scores", "extra_logs"}`.

    A query is the prompt followed by the completion, with special tokens; the text after the prompt is graded, without
    the special tokens at its end. The reference is in the metadata under every usual name. If torch is installed,
    rewards are tensors. OpenRLHF cannot represent a missing score: see `on_error` of `wb.reward`.

    Source: OpenRLHF 0.11.2, `--reward.remote_url file.py`.
    """

    passes_columns: ClassVar[bool] = False

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any
    ) -> dict[str, Any]:
        """Scores in order."""
        for name, values in (("prompts", prompts), ("labels", labels)):
            check_length(name, values, len(queries), of="queries")
        column = self._reward.reference
        rows = [
            labelled_row(f"row {at}", prompt, _completion(query, prompt), label, column=column)
            for at, (query, prompt, label) in enumerate(zip(queries, prompts, labels, strict=True))
        ]
        graded = self._reward.grade(rows, only=self._only)
        numbers = self._reward.numbers(graded)
        logs = {name: _tensor(values) for name, values in _logs(graded).items()}
        return {"rewards": _tensor(numbers), "scores": _tensor(numbers), "extra_logs": logs}


def _completion(query: Any, prompt: Any) -> str | None:
    """The text after the prompt; None, a missing completion, if either is not a text."""
    return completion_of(query, prompt) if isinstance(query, str) and isinstance(prompt, str) else None


def _logs(graded: RewardGrades) -> dict[str, list[float]]:
    """Each grader's scores, NaN for rows without one, and 1.0 if it failed or skipped: one value per row."""
    logs: dict[str, list[float]] = {}
    for name, grades in graded.parts.items():
        failed = [float(row in grades.errors) for row in range(len(grades))]
        logs[f"{name}_failed"] = failed
        logs[f"{name}_skipped"] = (np.isnan(grades.scores) - np.array(failed)).tolist()
    # The scores last: a grader may have the same name as another one's failures.
    return logs | {name: grades.scores.tolist() for name, grades in graded.parts.items()}


def _tensor(values: list[float]) -> Any:
    try:
        import torch
    except ImportError:
        return values
    return torch.tensor(values, dtype=torch.float32)
