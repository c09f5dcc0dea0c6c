"""Verl's custom reward function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.deploy.reward.trainer_rows import RewardRow, labelled_row
from workbench.deploy.reward.trainers import TrainerFunction, trainer


@trainer("verl")
class VerlReward(TrainerFunction):
    """`compute_score(data_source, solution_str, ground_truth, extra_info=None) -> float`, one row per call.

    Calls of several threads at the same time are graded together. The prompt is `extra_info`'s `prompt` or `question`,
    if there is one; the rest of it is metadata, with the reference under every usual name. Verl cannot represent a
    missing score: see `on_error` of `wb.reward`.

    Source: verl 0.9.1, `reward.custom_reward_function`.
    """

    def __call__(
        self, data_source: Any = None, solution_str: Any = None, ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None, **_: Any,
    ) -> float:  # fmt: skip
        """The score of one completion."""
        name, column = f"data source {data_source}", self._reward.reference
        return self._one(verl_row(name, data_source, solution_str, ground_truth, extra_info, column))


def verl_row(name: str, source: Any, solution: Any, label: Any, extra_info: Any, column: str) -> RewardRow:
    """One row of verl; see `row_of` for name and column."""
    given = extra_info or {}
    extra = given if isinstance(given, Mapping) else {}
    prompt = extra.get("prompt", extra.get("question"))
    # A value that is not a dict fails its row; `labelled_row` gives the reason.
    metadata = {"data_source": source, **extra} if extra is given else given
    return labelled_row(name, prompt, solution, label, metadata, column=column)
