"""TRL's GRPO and RLOO trainers (and Unsloth's, which follow them)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.trainer_rows import rows_of
from workbench.deploy.reward.trainers import TrainerFunction, trainer

_NO_COLUMNS = frozenset(
    ["trainer_state", "log_extra", "log_metric", "environments", "completion_ids", "prompt_ids"]
)
"""Arguments that TRL passes in addition to the data set's columns."""


@trainer("trl")
class TrlReward(TrainerFunction):
    """`f(prompts, completions, **columns) -> list[float | None]`; None is left out of a row's sum.

    Counts of each call go to the trainer's log as `<grader>/failed`, `<grader>/skipped` and `<grader>/slowest_seconds`.

    Source: TRL 1.16, `GRPOTrainer._calculate_rewards`.
    """

    several: ClassVar[bool] = True

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        """Scores in order."""
        log_metric = columns.get("log_metric")
        values = {name: value for name, value in columns.items() if name not in _NO_COLUMNS}
        rows = rows_of(prompts, completions, values, reference=self._reward.reference)
        graded = self._reward.grade(rows, only=self._only)
        if log_metric is not None:
            _log(graded, log_metric)
        return self._reward.scores(graded)


def _log(graded: RewardGrades, log_metric: Callable[[str, float], Any]) -> None:
    for name, grades in graded.parts.items():
        log_metric(f"{name}/failed", float(grades.n_failed))
        log_metric(f"{name}/skipped", float(grades.n_skipped))
        known = grades.seconds[~(grades.seconds != grades.seconds)]
        log_metric(f"{name}/slowest_seconds", float(known.max(initial=0.0)))
