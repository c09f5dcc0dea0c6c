"""What every caller shares: reading rows, writing scores, loading an exported file. Knows nothing of the workbench.

A caller is run by the Python of an environment that has a trainer's package and not the workbench:

    python -P callers/call_trl.py exported.py rows.jsonl scores.json

`-P` keeps this folder off the import path, so that no file here can stand before a package of the same name; a caller puts
it there itself once its package is imported.

A row is `{"prompt": text or messages, "completion": text or messages, "reference_column": name or null, "columns": {...}}`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
import traceback
from pathlib import Path


class Scores:
    """What one caller found: a score a row, the parts' scores by name, and what went wrong, by row."""

    def __init__(self, rows: int) -> None:
        self.scores: list[float | None] = [None] * rows
        self.parts: dict[str, list[float | None]] = {}
        self.errors: dict[int, str] = {}
        self.facts: dict[str, object] = {}

    def part(self, name: str, row: int, value: object) -> None:
        """Records a part's score; anything other than a number is not a score."""
        self.parts.setdefault(name, [None] * len(self.scores))[row] = number(value)

    def error(self, row: int, error: BaseException | str) -> None:
        """Notes why a row has no score."""
        text = error if isinstance(error, str) else "".join(traceback.format_exception_only(error)).strip()
        self.errors[row] = text

    def write(self, path: str) -> None:
        """Writes all of it as JSON."""
        found = {"scores": self.scores, "parts": self.parts, "errors": self.errors, "facts": self.facts}
        Path(path).write_text(json.dumps(found, allow_nan=False), encoding="utf-8")


def number(value: object) -> float | None:
    """A score as a float; None where there is none: None, NaN, infinity, or no number at all."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return None


def arguments() -> tuple[str, list[dict], str]:
    """The exported file's path, the rows, and where the scores go."""
    exported, rows, scores = sys.argv[1:4]
    lines = Path(rows).read_text(encoding="utf-8").splitlines()
    return str(Path(exported).resolve()), [json.loads(line) for line in lines if line], scores


def text_of(turns: object) -> str:
    """A prompt or completion as one text; messages as the contents of their last one."""
    return turns if isinstance(turns, str) else turns[-1]["content"]


def messages_of(prompt: object) -> list[dict]:
    """A prompt as messages; a text is the user's message."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)


def completion_messages(completion: object) -> list[dict]:
    """A completion as messages; a text is the assistant's message."""
    return [{"role": "assistant", "content": completion}] if isinstance(completion, str) else list(completion)


def reference_of(row: dict) -> object:
    """The value of the row's reference column, or None if the rows have no reference."""
    column = row["reference_column"]
    return None if column is None else row["columns"].get(column)


def plain(value):
    """A request's part as JSON has it: models in camel case, without what is not set."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if one is not None}
    return [plain(one) for one in value] if isinstance(value, list) else value


def import_file(path: str, name: str = "exported"):
    """Imports a file as a user's own script does, by its path, entered into `sys.modules`."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def byte_tokenizer():
    """A tokenizer made in memory that restores every text exactly: one token per byte, and an end token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: index for index, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        clean_up_tokenization_spaces=False,
    )
    made.chat_template = (
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )
    return made
