"""The reward functions of verifiers, which prime-rl uses as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.rewards.rows import Row, row_of
from workbench.rewards.trainer import TrainerFunction, trainer

__all__ = ["VerifiersReward"]


@trainer("verifiers")
class VerifiersReward(TrainerFunction):
    """`async f(task, trace) -> float`: the task's prompt and the trace's last reply; the task's fields are metadata.

    "No score" is an error there: the rollout is retried or dropped. So a row without a score raises, whatever
    `on_error` says, unless it is a number.

    Source: verifiers 0.4.0, `taskset.task.rewards`.
    """

    async def __call__(self, task: Any, trace: Any) -> float:
        """The score of one rollout."""
        return await self._one_awaited(_row(task, trace))


def _row(task: Any, trace: Any) -> Row:
    data = getattr(task, "data", task)
    return row_of(
        f"task {getattr(data, 'idx', '')}".rstrip(),
        getattr(data, "prompt_text", None),
        trace.last_reply,
        _fields(data),
    )


def _fields(data: Any) -> dict[str, Any]:
    """The fields of a task as plain data."""
    if hasattr(data, "model_dump"):
        return dict(data.model_dump())
    return dict(data) if isinstance(data, Mapping) else dict(vars(data))
