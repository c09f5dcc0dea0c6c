"""What a trainer decodes with its special tokens: the answer in it. Standard library only."""

from __future__ import annotations

__all__ = ["SPECIAL_TOKENS", "completion_of"]

SPECIAL_TOKENS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<|return|>", "<end_of_turn>", "</s>",
    "<eos>", "<pad>",
)  # fmt: skip
"""What ends a completion of the chat models in use."""


def completion_of(query: str, prompt: str) -> str:
    """What stands behind the prompt, without the special tokens at its end; blanks before them are the model's own."""
    text = query.removeprefix(prompt)
    # From the end, one token after the other: a pattern would look for an end at every sign of a long text.
    while end := next((end for end in SPECIAL_TOKENS if text.rstrip().endswith(end)), ""):
        text = text.rstrip().removesuffix(end)
    return text
