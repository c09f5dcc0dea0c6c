"""Environments that own their reward: the tool calls of a row are repeated on a new instance, which then returns it.

Source: TRL 1.16 (`environment_factory`): a class with `reset(**columns)`, public methods as tools, and `get_reward()`.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from workbench.data.samples import Sample

_OWN = frozenset({"get_reward", "reset"})
"""Public methods of an environment that are not tools."""


def environment_of(fn: Any) -> Callable[[], Any] | None:
    """What makes an environment for each row: of its class, an instance or its method `get_reward`; None for anything else."""
    owner = getattr(fn, "__self__", None) if getattr(fn, "__name__", "") == "get_reward" else fn
    if owner is None or not all(callable(getattr(owner, name, None)) for name in _OWN):
        return None
    return owner if isinstance(owner, type) else partial(copy.deepcopy, owner)


class EnvironmentReward:
    """The reward of an environment, as a function of a sample.

    As in TRL, `reset` gets the row's columns, a call of an unknown tool and a tool that raises change nothing, and the text of
    the completion is not seen by the environment.

    Args:
        made_by: The environment's class, an instance, or its method `get_reward`.
        factory: Makes an environment without arguments.
    """

    def __init__(self, made_by: Any, factory: Callable[[], Any]) -> None:
        self.made_by, self.factory = made_by, factory
        owner = getattr(made_by, "__self__", made_by)
        kind: Any = owner if isinstance(owner, type) else type(owner)
        self.fn = kind.get_reward
        self.__name__ = kind.__name__
        self.__doc__ = kind.__doc__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnvironmentReward) and other.made_by == self.made_by

    def __hash__(self) -> int:
        return hash(self.made_by)

    def __call__(self, sample: Sample) -> Any:
        """The reward of one row, as the environment returns it."""
        return asyncio.run(self._reward(sample))

    async def _reward(self, sample: Sample) -> Any:
        environment = self.factory()
        columns = sample.thread.metadata
        await _result(
            environment.reset(**_accepted(environment.reset, columns if isinstance(columns, Mapping) else {}))
        )
        for call in sample.thread.tool_calls():
            await self._repeat(environment, call)
        reward = await _result(environment.get_reward())
        item = getattr(reward, "item", None)
        return item() if callable(item) else float(reward) if isinstance(reward, bool) else reward

    async def _repeat(self, environment: Any, call: Mapping[str, Any]) -> None:
        function = call.get("function", call)
        name = str(function.get("name"))
        tool = getattr(environment, name, None)
        if name in _OWN or name.startswith("_") or not callable(tool):
            return
        try:
            arguments = function.get("arguments")
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
            await _result(tool(**(given or {})))
        except Exception:  # noqa: BLE001 (the model gets the error of a tool, and the episode continues)
            return


async def _result(value: Any) -> Any:
    return await value if isinstance(value, Awaitable) else value


def _accepted(fn: Callable[..., Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that a function takes."""
    parameters = inspect.signature(fn).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(columns)
    return {one.name: columns[one.name] for one in parameters if one.name in columns}
