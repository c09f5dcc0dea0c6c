"""Verl's custom reward function, and the one of its batch reward manager, which passes all rows together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
