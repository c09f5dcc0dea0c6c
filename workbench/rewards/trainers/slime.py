"""slime's custom reward model function."""

from __future__ import annotations

from typing import Any

from workbench.rewards.rows import Row, row_of, with_reference
from workbench.rewards.trainer import TrainerFunction, trainer

__all__ = ["SlimeReward"]


@trainer("slime")
class SlimeReward(TrainerFunction):
    """`async custom_rm(args, sample) -> float`; with `--group-rm`, where a list of samples comes, a list.

    The reference is the sample's label, in the metadata under every usual name. slime has no word for "no score": see
    `on_error` of `wb.reward`.

    Source: slime 624b824, `--custom-rm-path`.
    """

    async def __call__(self, args: Any, sample: Any, **_: Any) -> float | list[float]:  # noqa: ARG002 (slime's)
        """The score of one sample, or of each of a group."""
        if not isinstance(sample, list | tuple):
            return await self._one_awaited(_row(0, sample))
        rows = [_row(at, one) for at, one in enumerate(sample)]
        return self._reward.numbers(await self._reward.agrade(rows, only=self._only))


def _row(at: int, sample: Any) -> Row:
    metadata = with_reference(getattr(sample, "metadata", None), getattr(sample, "label", None))
    return row_of(f"sample {getattr(sample, 'index', at)}", sample.prompt, sample.response, metadata)
