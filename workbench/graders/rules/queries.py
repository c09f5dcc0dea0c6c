"""Extracts the completion from a trainer's decoded text with special tokens. Standard library only."""

from __future__ import annotations

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
