"""Verl's custom reward function under its batch reward manager, which passes all rows together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.deploy.reward.trainers import TrainerFunction, trainer
from workbench.deploy.reward.trainers.verl import verl_row


@trainer("verl_batch")
class VerlBatchReward(TrainerFunction):
    """`compute_score(data_sources, solution_strs, ground_truths, extra_infos) -> list[float]`, all rows of a batch.

    Graders that rank the completions of a prompt need it: rows are grouped by `extra_info`'s `prompt` or `question`, else by
    its `index`. Everything else is as for `verl`.

    Source: verl 0.9.1, `reward.reward_manager.name=batch`.
    """

    def __call__(
        self, data_sources: Sequence[Any], solution_strs: Sequence[Any], ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None, **_: Any,
    ) -> list[float]:  # fmt: skip
        """The score of every completion, in order."""
        extras = [None] * len(solution_strs) if extra_infos is None else list(extra_infos)
        columns = zip(data_sources, solution_strs, ground_truths, extras, strict=True)
        rows = [
            verl_row(
                f"row {at}, data source {source}", source, solution, label, extra, self._reward.reference
            )
            for at, (source, solution, label, extra) in enumerate(columns)
        ]
        return self._reward.numbers(self._reward.grade(rows, only=self._only))
