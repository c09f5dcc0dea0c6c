"""Calls an exported file as OpenRLHF does: `SingleTurnAgentExecutor.execute`, with an engine that says the row's completion.

What comes after is OpenRLHF's too: the response becomes an `Experience`, whose `rewards` is None where the function failed.
"""

from __future__ import annotations

import asyncio
import importlib.abc
import importlib.util
import logging
import sys
from pathlib import Path
from types import SimpleNamespace

from openrlhf.utils import agent
from openrlhf.utils.agent import SingleTurnAgentExecutor

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, byte_tokenizer, number, reference_of, text_of


class LeftOut(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives an empty module for each of vLLM, which needs a GPU, and of which nothing is used in what is called here."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "vllm":
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def exec_module(self, module) -> None:
        vars(module)["__getattr__"] = lambda name: type(name, (), {})


class Engine:
    """Returns one completion, as vLLM does: with the token that ends it."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens

    async def generate(self, prompt_tokens, params, multi_modal_data=None):
        output = SimpleNamespace(token_ids=self.tokens, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


class Complaints(logging.Handler):
    """Keeps what the executor logs, for an exception is only logged there."""

    def __init__(self) -> None:
        super().__init__()
        self.last: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if "Failed to fetch reward" in record.getMessage():
            self.last = record.getMessage()


def prompt_of(row: dict, tokenizer) -> str:
    """The prompt as OpenRLHF's dataset makes it: a text unchanged, messages through the chat template."""
    if isinstance(row["prompt"], str):
        return row["prompt"]
    return tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True)


async def score(executor, row: dict, tokenizer) -> dict:
    """The executor's response for one row."""
    tokens = tokenizer(text=text_of(row["completion"]))["input_ids"] + [tokenizer.eos_token_id]
    params = SimpleNamespace(max_tokens=1 << 19, logprobs=None)
    prompt = prompt_of(row, tokenizer)
    return await executor.execute(prompt, reference_of(row), params, 1 << 20, tokenizer, Engine(tokens))


def samples_generator():
    """OpenRLHF's class that makes a response into an experience."""
    if importlib.util.find_spec("vllm") is None:
        sys.meta_path.append(LeftOut())
    from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

    return SamplesGenerator


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    complaints = Complaints()
    agent.logger.addHandler(complaints)
    agent.logger.setLevel(logging.INFO)
    generator = samples_generator()
    executor = SingleTurnAgentExecutor([exported])
    tokenizer = byte_tokenizer()
    for index, row in enumerate(rows):
        complaints.last = None
        response = asyncio.run(score(executor, row, tokenizer))
        if complaints.last:
            scores.error(index, complaints.last)
        try:
            experience = generator._process_response_into_experience(None, response, max_len=1 << 20)
        except Exception as error:
            scores.error(index, error)
            continue
        scores.scores[index] = number(experience.rewards)
        for name, value in response["extra_logs"].items():
            scores.part(name, index, value)
    scores.write(target)


main()
