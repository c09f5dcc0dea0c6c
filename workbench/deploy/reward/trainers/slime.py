"""slime's custom reward model function."""

from __future__ import annotations

from typing import Any

from workbench.deploy.reward.trainer_rows import RewardRow, labelled_row
from workbench.deploy.reward.trainers import TrainerFunction, trainer


@trainer("slime")
class SlimeReward(TrainerFunction):
    """`async custom_rm(args, sample) -> float`; with `--group-rm`, which passes a list of samples, a list.

    The reference is the sample's label, in the metadata under every usual name. slime cannot represent a missing score:
    see `on_error` of `wb.reward`.

    Source: slime 624b824, `--custom-rm-path`.
    """

    async def __call__(self, args: Any, sample: Any, **_: Any) -> float | list[float]:  # noqa: ARG002 (slime's)
        """The score of one sample, or of each of a group."""
        if not isinstance(sample, list | tuple):
            return await self._one_awaited(self._row(0, sample))
        rows = [self._row(at, one) for at, one in enumerate(sample)]
        return self._reward.numbers(await self._reward.agrade(rows, only=self._only))

    def _row(self, at: int, sample: Any) -> RewardRow:
        column, label = self._reward.reference, getattr(sample, "label", None)
        name, metadata = f"sample {getattr(sample, 'index', at)}", getattr(sample, "metadata", None)
        return labelled_row(name, sample.prompt, sample.response, label, metadata, column=column)
