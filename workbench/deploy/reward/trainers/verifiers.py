"""The reward functions of verifiers, which prime-rl uses as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.deploy.reward.trainer_rows import RewardRow, row_of
from workbench.deploy.reward.trainers import TrainerFunction, trainer

_EMPTY: tuple[Any, ...] = ()


@trainer("verifiers")
class VerifiersReward(TrainerFunction):
    """`async f(task, trace) -> float`: the conversation of the trace's last branch; the task's fields are metadata.

    "No score" is an error there: the rollout is retried or dropped. So a row without a score raises, unless
    `on_error` of `wb.reward` is a number.

    Source: verifiers 0.4.0, `taskset.task.rewards`.
    """

    async def __call__(self, task: Any, trace: Any) -> float:
        """The score of one rollout."""
        return await self._one_awaited(_row(task, trace, self._reward.reference))


def _row(task: Any, trace: Any, column: str) -> RewardRow:
    fields = _fields(task)
    name = f"task {fields.get('idx') if fields.get('idx') is not None else ''}".rstrip()
    messages = [_message(message) for message in _last_branch(trace)]
    # A reply of the root agent is in no separate branch.
    if getattr(trace, "root_reply", None) is None and messages and messages[-1]["role"] == "assistant":
        return row_of(name, messages[:-1], messages[-1], fields, column=column)
    return row_of(name, getattr(task, "prompt_text", None), trace.last_reply, fields, column=column)


def _last_branch(trace: Any) -> Any:
    branches = getattr(trace, "branches", _EMPTY)
    return branches[-1].messages if branches else _EMPTY


def _message(message: Any) -> dict[str, Any]:
    """A message in OpenAI's format, whose tool calls are flat there."""
    plain = _fields(message)
    calls = [
        {"id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": call.get("arguments")}}
        for call in plain.get("tool_calls") or ()
    ]  # fmt: skip
    return {**plain, "tool_calls": calls}


def _fields(data: Any) -> dict[str, Any]:
    """The fields of a task or a message as plain data."""
    if hasattr(data, "model_dump"):
        return dict(data.model_dump(mode="json"))
    return dict(data) if isinstance(data, Mapping) else dict(vars(data))
