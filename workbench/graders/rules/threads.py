"""What a portable grader reads from a thread that provides less than `StringThread`, and from decoded text of a trainer."""

from __future__ import annotations

import re
from typing import Any

from workbench.graders.rules.text import as_text


def reference_of(thread: Any, names: tuple[str, ...]) -> Any:
    """The reference in a thread's metadata, under the first of these names that exists; None without."""
    metadata = thread.metadata if isinstance(thread.metadata, dict) else {}
    folded = {str(key).casefold(): key for key in reversed(metadata)}
    keys = [name for name in names if name in metadata] or [folded[name] for name in names if name in folded]
    return metadata[keys[0]] if keys else None


def text_of_reference(thread: Any, names: tuple[str, ...]) -> str:
    """The reference as text.

    Raises:
        ValueError: There is none.
    """
    reference = reference_of(thread, names)
    if reference is None:
        raise ValueError(f"no reference in the metadata under {', '.join(names)}")
    return as_text(reference)


def calls_of(thread: Any) -> list[Any]:
    """The thread's tool calls; none if the platform does not provide them."""
    return list(thread.tool_calls()) if hasattr(thread, "tool_calls") else []


def _assistant_messages(thread: Any) -> list[tuple[int, str]]:
    """Assistant messages, oldest first, with their index among the turns, without silent turns that call tools.

    If the platform does not mark turns with tool calls, silent turns count as messages.
    """
    calls_of_turn = getattr(thread, "turn_calls", lambda _: ())
    turns = [(at, *turn) for at, turn in enumerate(thread.get_turns())]
    return [(at, text) for at, role, text in turns if role == "assistant" and (text or not calls_of_turn(at))]


class Pattern:
    """A pattern without a time limit: the platform's limit per row applies."""

    def __init__(self, text: str) -> None:
        self.search = re.compile(text).search
        self.findall = re.compile(text).findall


SPECIAL_TOKENS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<|return|>", "<end_of_turn>", "</s>",
    "<eos>", "<pad>",
)  # fmt: skip
"""End tokens of common chat models."""


def completion_of(query: str, prompt: str) -> str:
    """The text after the prompt, without special tokens at its end; white space before them belongs to the completion."""
    text = query.removeprefix(prompt)
    # From the end, one token after another: a pattern would search for an end at every character of a long text.
    while end := next((end for end in SPECIAL_TOKENS if text.rstrip().endswith(end)), ""):
        text = text.rstrip().removesuffix(end)
    return text
