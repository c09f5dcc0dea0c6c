"""Calls an exported file's rewards as verifiers does: `Task.score`, with the functions named in the task's config.

The file's `REWARDS` is `{name: weight}`, or `{name: {"fn": "name", "weight": 0.5}}`. Where a reward raises, verifiers ends the
scoring of that rollout with an error: the rollout is a failed one, whatever the other rewards would have given.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import verifiers.v1 as vf
from verifiers.v1.configs.agent import WireAgentConfig
from verifiers.v1.configs.task import TaskConfig
from verifiers.v1.graph import MessageNode
from verifiers.v1.task import Task, WireTaskData
from verifiers.v1.trace import AgentInfo, Trace, TraceTask
from verifiers.v1.types import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from verifiers.v1.utils.loaders import file_module

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, completion_messages, messages_of, number

TURNS = {"system": SystemMessage, "user": UserMessage, "assistant": AssistantMessage, "tool": ToolMessage}


def config_of(exported: str) -> TaskConfig:
    """The task's config, as a TOML file's `[taskset.task.rewards.NAME]` tables make it."""
    rewards = {}
    for name, entry in file_module(exported).REWARDS.items():
        settings = entry if isinstance(entry, dict) else {"fn": name, "weight": entry}
        rewards[name] = settings | {"fn": f"{exported}:{settings['fn'].rpartition(':')[2]}"}
    return TaskConfig.model_validate({"rewards": rewards})


def message_of(turn: dict):
    """A message of a row as one of verifiers'."""
    return TURNS[turn["role"]].model_validate(turn)


def trace_of(data: WireTaskData, row: dict) -> Trace:
    """A finished rollout: the prompt's messages, and the completion's, which the model sampled."""
    turns = [(turn, False) for turn in messages_of(row["prompt"])]
    turns += [(turn, turn["role"] == "assistant") for turn in completion_messages(row["completion"])]
    nodes = [
        MessageNode(parent=index - 1 if index else None, message=message_of(turn), sampled=sampled)
        for index, (turn, sampled) in enumerate(turns)
    ]
    return Trace[WireTaskData, vf.State, WireAgentConfig](
        task=TraceTask(type="Task", data=data),
        agent=AgentInfo(config=WireAgentConfig()),
        nodes=nodes,
        ok=True,
    )


async def score(config: TaskConfig, row: dict, index: int, scores: Scores) -> None:
    """Scores one rollout, and records an error as verifiers' own replay of a run does."""
    prompt = row["prompt"] if isinstance(row["prompt"], str) else [message_of(turn) for turn in row["prompt"]]
    data = WireTaskData(idx=index, prompt=prompt, **row["columns"])
    trace = trace_of(data, row)
    try:
        await Task(data, config=config).score(trace)
    except Exception as error:
        trace.record_error(error)
        scores.error(index, f"{error!r} from {error.__cause__!r}")
    for name, reward in trace.rewards.items():
        scores.part(name, index, None if reward is None else reward.score)
    scores.scores[index] = None if trace.has_error else number(trace.reward)


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    config = config_of(exported)

    async def all_rows() -> None:
        for index, row in enumerate(rows):
            await score(config, row, index, scores)

    asyncio.run(all_rows())
    scores.write(target)


main()
