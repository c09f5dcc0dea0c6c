"""Calls an exported file as verl does: a `RewardLoopWorker` that loads `compute_score` by its config and decodes tokens.

The prompt never reaches the function unless it is in `extra_info`; what verl's own data preparation puts there (`index`,
`split`) comes with the row's columns, and verl adds `num_turns` and `rollout_reward_scores`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("RAY_DEDUP_LOGS", "0")

import numpy as np
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, byte_tokenizer, messages_of, number, reference_of, text_of

TOGETHER = 64


def config_for(exported: str, tokenizer: str):
    """The part of verl's config that a reward worker reads, with the names of `verl/trainer/config/reward`."""
    return OmegaConf.create(
        {
            "actor_rollout_ref": {"model": {"path": tokenizer, "tokenizer_path": tokenizer}},
            "reward": {
                "num_workers": 1,
                "custom_reward_function": {"path": exported, "name": "compute_score"},
                "reward_manager": {"source": "register", "name": "naive"},
                "reward_model": {"enable": False},
            },
        }
    )


def data_of(row: dict, index: int, tokenizer) -> DataProto:
    """One rollout: the tokens of prompt and completion, and the row of the dataset."""
    response = tokenizer(text_of(row["completion"]), return_tensors="pt")["input_ids"].long()
    response = torch.cat([response, torch.tensor([[tokenizer.eos_token_id]])], dim=1)
    prompt = tokenizer.apply_chat_template(
        messages_of(row["prompt"]), add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"].long()
    mask = torch.ones(1, prompt.shape[1] + response.shape[1], dtype=torch.long)
    batch = TensorDict({"prompts": prompt, "responses": response, "attention_mask": mask}, batch_size=1)
    beside = {
        "data_source": "rows",
        "reward_model": {"style": "rule", "ground_truth": reference_of(row)},
        "extra_info": {
            "index": index, "split": "test", "prompt": row["prompt"], **row["columns"],
        },
        "raw_prompt": messages_of(row["prompt"]),
        "__num_turns__": 2,
    }  # fmt: skip
    columns = {}
    for name, value in beside.items():
        columns[name] = np.empty(1, dtype=object)
        columns[name][0] = value
    return DataProto(batch=batch, non_tensor_batch=columns)


async def score_all(worker: RewardLoopWorker, data: list[DataProto]) -> list:
    """The worker's result for each rollout, or its exception."""
    found = []
    for at in range(0, len(data), TOGETHER):
        tasks = [asyncio.create_task(worker.compute_score(one)) for one in data[at : at + TOGETHER]]
        found += await asyncio.gather(*tasks, return_exceptions=True)
    return found


def note(found: list, data: list[DataProto], scores: Scores) -> None:
    """Writes each reward as the trainer's float32 tensor stores it, and the other keys as parts."""
    keys: set[str] | None = None
    for row, one in enumerate(found):
        if isinstance(one, BaseException):
            scores.error(row, one)
            continue
        try:
            # What the trainer does with a batch: a reward at the last token of each row.
            tensor = NaiveRewardManager.assemble_rm_scores(data[row], [one["reward_score"]])
        except (TypeError, RuntimeError, ValueError) as error:
            scores.error(row, error)
            continue
        scores.scores[row] = number(tensor.sum())
        extra = one["reward_extra_info"]
        # The first row's keys are read from all rows: `np.array([info[key] for info in reward_extra_infos])`.
        keys = keys or set(extra)
        if not keys <= set(extra):
            scores.error(row, KeyError(*sorted(keys - set(extra))))
        for name, value in extra.items():
            scores.part(name, row, value)


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    tokenizer = byte_tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        worker = RewardLoopWorker(config_for(exported, folder))
        data = [data_of(row, index, tokenizer) for index, row in enumerate(rows)]
        found = loop.run_until_complete(score_all(worker, data))
    note(found, data, scores)
    scores.write(target)


main()
