"""A reward plugged into a task of verifiers by its configuration; prints one line of JSON. Needs verifiers 0.4."""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace

from verifiers.v1.configs.task import RewardFunctionConfig, TaskConfig
from verifiers.v1.task import Task, TaskData
from verifiers.v1.types import AssistantMessage, UserMessage

FUNCTIONS = '''
import workbench as wb

TEXT = """
async def grade(thread):
    metadata = thread.metadata or {}
    while metadata.get("name") == "hang":
        pass
    said = [turn.content for turn in thread.messages()]
    return 1.0 if (thread.completion() or "").strip() == "4" and said == ["2+2?"] else 0.0
"""
grader = wb.FunctionGrader.from_source(TEXT, name="right", timeout=0.5)
grader.validate().raise_for_failure()
right = wb.reward(grader).verifiers
'''


def trace(text):
    messages = [UserMessage(content="2+2?"), AssistantMessage(content=text)]
    found = SimpleNamespace(
        branches=[SimpleNamespace(messages=messages)],
        last_reply=text,
        root_reply=None,
        rewards={},
        metrics={},
    )

    def record_reward(name, value, weight=1.0):
        found.rewards[name] = (value, weight)

    found.record_reward = record_reward
    return found


async def scored(data, answer, config):
    rollout = trace(answer)
    try:
        await Task(data, config).score(rollout)
    except Exception as error:
        return str(error)[:300]
    return rollout.rewards["correct"]


async def main(folder: str) -> None:
    path = Path(folder) / "rewards.py"
    path.write_text(FUNCTIONS)
    config = TaskConfig(rewards={"correct": RewardFunctionConfig(fn=f"{path}:right", weight=0.5)})
    plain, hang = TaskData(idx=0, prompt="2+2?"), TaskData(idx=1, name="hang", prompt="2+2?")
    rows = [scored(plain, "4", config), scored(plain, "5", config), scored(hang, "4", config)]
    print(json.dumps(await asyncio.gather(*rows)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
