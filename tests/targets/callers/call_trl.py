"""Calls an exported file as TRL's GRPO trainer does: `GRPOTrainer._calculate_rewards` of a trainer with a tiny model.

The file has `reward_funcs` and `reward_weights`, or one `reward`. The rows come in batches as a step's rows do; rewards are
combined as the trainer combines them in the step after that: weighted, NaN left out, a row of NaN alone without a reward.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from datasets import Dataset
from transformers import Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, byte_tokenizer, import_file, number

BATCH = 64


def trainer_for(module, rows: list[dict], folder: str) -> GRPOTrainer:
    """A trainer whose model was never trained, and whose data are the rows."""
    functions = getattr(module, "reward_funcs", None) or [module.reward]
    config = GRPOConfig(
        output_dir=folder,
        report_to=[],
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=2,
        num_generations=2,
        reward_weights=getattr(module, "reward_weights", None),
    )
    tokenizer = byte_tokenizer()
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1,
            num_attention_heads=1, num_key_value_heads=1,
        )
    )  # fmt: skip
    data = Dataset.from_list([{"prompt": row["prompt"]} for row in rows])
    return GRPOTrainer(
        model=model, reward_funcs=functions, args=config, train_dataset=data, processing_class=tokenizer
    )


def batches_of(rows: list[dict]) -> list[list[int]]:
    """Numbers of rows by batch; a dataset is all texts or all messages, so no batch mixes them."""
    texts = [index for index, row in enumerate(rows) if isinstance(row["prompt"], str)]
    messages = [index for index, row in enumerate(rows) if not isinstance(row["prompt"], str)]
    return [kind[at : at + BATCH] for kind in (texts, messages) for at in range(0, len(kind), BATCH)]


def columns_as_data_set(rows: list[dict]) -> list[dict]:
    """The rows as the trainer gets them from a data set, whose columns are there for all rows."""
    return list(Dataset.from_list([{"prompt": row["prompt"], **row["columns"]} for row in rows]))


def score(trainer: GRPOTrainer, rows: list[dict], numbers: list[int], scores: Scores) -> None:
    """Scores one batch; what a function raises ends the training step, so that no row of the batch has a score."""
    batch = [rows[number] for number in numbers]
    completions = [row["completion"] for row in batch]
    tokens = [[1, 2]] * len(batch)
    inputs = columns_as_data_set(batch)
    try:
        found = trainer._calculate_rewards(inputs, [row["prompt"] for row in batch], completions, tokens)
    except Exception as error:
        for row in numbers:
            scores.error(row, error)
        return
    combined = (found * trainer.reward_weights.unsqueeze(0)).nansum(dim=1)
    combined[torch.isnan(found).all(dim=1)] = torch.nan
    for place, row in enumerate(numbers):
        scores.scores[row] = number(combined[place])
        for name, value in zip(trainer.reward_func_names, found[place], strict=True):
            scores.part(name, row, value)


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_for(import_file(exported), rows[:1], folder)
        for numbers in batches_of(rows):
            score(trainer, rows, numbers, scores)
        scores.facts["logged"] = sorted(trainer._pending_extra_logs)
        scores.facts["metrics"] = sorted(trainer._pending_metrics)
    scores.write(target)


main()
