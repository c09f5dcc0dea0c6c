"""Calls an exported file as slime does, whose package has no release: a copy of how its rollout awaits `custom_rm`.

slime (`slime/rollout/rm_hub/__init__.py`, commit 624b824): `async_rm(args, sample)` loads the function by
`load_function(args.custom_rm_path)`, that is `importlib.import_module(module)` and `getattr`, and awaits
`function(args, sample, **kwargs)`; `batched_async_rm(args, samples)`, used with `--group-rm`, awaits `function(args, samples)` once
for the group. A dictionary's reward is `sample.reward[args.reward_key]`.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, messages_of, number, reference_of, text_of

KEY = "score"


def load_function(path: str):
    """Slime's own: `slime/utils/misc.py`."""
    module_path, _, attr = path.rpartition(".")
    return getattr(importlib.import_module(module_path), attr)


def sample_of(row: dict, index: int) -> SimpleNamespace:
    """The fields of slime's `Sample` that a reward reads; a prompt is a text, or messages where no template was applied."""
    prompt = row["prompt"] if isinstance(row["prompt"], str) else messages_of(row["prompt"])
    return SimpleNamespace(
        index=index,
        group_index=index // 4,
        prompt=prompt,
        response=text_of(row["completion"]),
        label=reference_of(row),
        metadata=row["columns"],
        reward=None,
    )


def note(scores: Scores, index: int, reward: object) -> None:
    """Writes a reward, a number or a dictionary of them."""
    if not isinstance(reward, dict):
        scores.scores[index] = number(reward)
        return
    for name, value in reward.items():
        scores.part(name, index, value)
    scores.scores[index] = number(reward[KEY])


async def one_by_one(function, samples: list, scores: Scores) -> None:
    """As without `--group-rm`: a task a sample."""
    args = SimpleNamespace(reward_key=KEY, group_rm=False)
    rewards = await asyncio.gather(*(function(args, sample) for sample in samples), return_exceptions=True)
    for index, reward in enumerate(rewards):
        if isinstance(reward, BaseException):
            scores.error(index, reward)
        else:
            note(scores, index, reward)


async def in_groups(function, samples: list, size: int = 4) -> list:
    """As with `--group-rm`: a call a group; None for the rows of a group that raised."""
    args = SimpleNamespace(reward_key=KEY, group_rm=True)
    rewards = []
    for at in range(0, len(samples), size):
        group = samples[at : at + size]
        try:
            rewards += await function(args, group)
        except Exception:
            rewards += [None] * len(group)
    return rewards


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    sys.path.insert(0, str(Path(exported).parent))
    function = load_function(f"{Path(exported).stem}.custom_rm")
    samples = [sample_of(row, index) for index, row in enumerate(rows)]
    asyncio.run(one_by_one(function, samples, scores))
    grouped = asyncio.run(in_groups(function, samples))
    alone = Scores(len(rows))
    for index, reward in enumerate(grouped):
        if reward is not None:
            note(alone, index, reward)
    scores.facts["grouped"] = alone.scores
    scores.write(target)


main()
