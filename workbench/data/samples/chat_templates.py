"""Texts in a chat template, such as ChatML: their turns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_CHATML = re.compile(r"<\|im_start\|>\s*(\w+)\n?(.*?)(?:<\|im_end\|>|\Z)", re.DOTALL)
_LLAMA3 = re.compile(
    r"<\|start_header_id\|>(\w+)<\|end_header_id\|>\s*(.*?)(?:<\|eot_id\|>|<\|eom_id\|>|<\|end_of_text\|>|\Z)",
    re.DOTALL,
)
_GEMMA = re.compile(r"<start_of_turn>(\w+)\n(.*?)(?:<end_of_turn>|\Z)", re.DOTALL)
_ZEPHYR = re.compile(
    r"<\|(system|user|assistant)\|>\s*\n(.*?)(?=<\|(?:system|user|assistant)\|>|\Z)", re.DOTALL
)
_HUMAN = re.compile(
    r"(?:\A|\n\s*|\s)(?:### ?)?(Human|Assistant|User|System): ?(.*?)(?=(?:\n\s*|\s)?(?:### ?)(?:Human|Assistant|User): ?|\n\n(?:Human|Assistant|User): ?|\Z)",
    re.DOTALL,
)
_ALPACA = re.compile(r"### ?(Instruction|Input|Response):")
_ENDS = re.compile(r"</s>|<\|endoftext\|>|<eos>")


def _by_turns(pattern: re.Pattern[str]) -> Callable[[str], list[dict[str, str]]]:
    def read(text: str) -> list[dict[str, str]]:
        found = [(match[1].casefold(), _ENDS.sub("", match[2]).strip()) for match in pattern.finditer(text)]
        return [{"role": role, "content": said} for role, said in found]

    return read


def _alpaca(text: str) -> list[dict[str, str]]:
    """The turns between the marks, which are searched for in one pass: a text may have many of them."""
    marks = list(_ALPACA.finditer(text))
    first = next((at for at, mark in enumerate(marks) if mark[1] == "Instruction"), len(marks))
    last = next((at for at, mark in enumerate(marks) if at > first and mark[1] == "Response"), -1)
    if last < 0 or text.count("### Response:") != 1:
        return []
    start, stop = marks[first].end(), marks[last].start()
    middle = next((mark for mark in marks[first + 1 : last] if mark[1] == "Input"), None)
    parts = (
        [text[start:stop]] if middle is None else [text[start : middle.start()], text[middle.end() : stop]]
    )
    said = text[marks[last].end() :]
    return [
        {"role": "user", "content": "\n\n".join(part.strip() for part in parts if part.strip())},
        {"role": "assistant", "content": _ENDS.sub("", said).strip()},
    ]


def _mistral(text: str) -> list[dict[str, str]]:
    turns = []
    at = text.find("[INST]")
    while at >= 0 and (middle := text.find("[/INST]", at)) >= 0:
        following = text.find("[INST]", middle)
        said = text[middle + len("[/INST]") : len(text) if following < 0 else following]
        if following >= 0:
            said = said.rstrip().removesuffix("<s>")
        turns += [
            {"role": "user", "content": text[at + len("[INST]") : middle].strip()},
            {"role": "assistant", "content": _ENDS.sub("", said).strip()},
        ]
        at = following
    return turns


_TEMPLATES: Mapping[str, Callable[[str], list[dict[str, str]]]] = {
    "<|im_start|>": _by_turns(_CHATML), "<|start_header_id|>": _by_turns(_LLAMA3), "<start_of_turn>": _by_turns(_GEMMA), "<|user|>": _by_turns(_ZEPHYR),
    "[INST]": _mistral, "### Instruction": _alpaca, "### Human:": _by_turns(_HUMAN), "\n\nHuman:": _by_turns(_HUMAN),
}  # fmt: skip
"""The mark of a chat template to the reader of its turns."""


def turns_of_template(text: str) -> list[dict[str, str]]:
    """The turns of a text in a chat template; none if it is in none."""
    return next((turns for mark, read in _TEMPLATES.items() if mark in text and (turns := read(text))), [])


_SPECIAL = ("<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|user|>", "<|system|>")
"""Marks that a text can only have from a template."""

_BEGINS = re.compile(r"\s*(?:<s>|<bos>|<\|begin_of_text\|>)?\s*")


def prompt_in_template(text: str) -> list[dict[str, str]] | None:
    """The turns of a prompt that a template formatted, without the empty turn at its end; None for any other text."""
    if not any(mark in text[:1_000] for mark in _SPECIAL):
        return None
    start = _BEGINS.match(text)
    if start is None or not text.startswith(_SPECIAL, start.end()):
        return None
    turns = turns_of_template(text)
    if turns and turns[-1]["role"] in ("assistant", "model") and not turns[-1]["content"]:
        turns = turns[:-1]
    return turns if turns and turns[-1]["role"] == "user" else None
