"""Two steps of TRL's GRPO trainer on the CPU with a model of random numbers, and a reward one of whose rows hangs.

Run with a folder to write to; prints one line of JSON. Needs trl, transformers, tokenizers and torch; no network.
"""

import json
import os
import sys
import time

os.environ |= {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "TOKENIZERS_PARALLELISM": "false"}

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

import workbench as wb

WORDS = [f"w{number}" for number in range(60)]
TIMEOUT = 0.5


@wb.grader(timeout=0.5)
async def steady(thread: wb.StringThread) -> float:
    """Hangs on one prompt, and scores the others by how many words they say."""
    metadata = thread.metadata or {}
    while metadata.get("kind") == "hang":
        pass
    return min(1.0, len((thread.completion() or "").split()) / 8)


@wb.grader
async def right(thread: wb.StringThread) -> float:
    """Whether the reference is said; the data set's own column holds it."""
    return 1.0 if str((thread.metadata or {}).get("answer", "")) in (thread.completion() or "") else 0.0


def tokenizer() -> PreTrainedTokenizerFast:
    words = {word: at for at, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def main(folder: str) -> None:
    for grader in (steady, right):
        grader.validate().raise_for_failure()
    reward = wb.reward([wb.Entry(steady, weight=1.0), wb.Entry(right, weight=0.5)])
    seen = []

    def spied(**given):
        start = time.perf_counter()
        scores = reward.trl[0](**given)
        seen.append((scores, given["kind"], time.perf_counter() - start))
        return scores

    spied.__name__ = reward.trl[0].__name__
    text = tokenizer()
    rows = [
        {"prompt": f"w{at} w1", "answer": f"w{at}", "kind": "hang" if at == 1 else "fine"} for at in range(4)
    ]
    config = Qwen2Config(
        vocab_size=len(text), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=1,
    )  # fmt: skip
    arguments = GRPOConfig(
        output_dir=folder, per_device_train_batch_size=16, num_generations=4, max_completion_length=6, max_steps=2,
        use_cpu=True, bf16=False, report_to=[], logging_steps=1, save_strategy="no", reward_weights=reward.weights,
        disable_tqdm=True,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=Qwen2ForCausalLM(config), reward_funcs=[spied, reward.trl[1]], args=arguments,
        train_dataset=Dataset.from_list(rows), processing_class=text,
    )  # fmt: skip
    trainer.train()
    logs = {key: value for line in trainer.state.log_history for key, value in line.items()}
    stats = reward.stats.graders
    reward.close()
    found = {
        "calls": [{"scores": scores, "kinds": kinds, "seconds": seconds} for scores, kinds, seconds in seen],
        "failed": {name: dict(counts.failed) for name, counts in stats.items()},
        "logs": {key: value for key, value in logs.items() if isinstance(value, float | int)},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
