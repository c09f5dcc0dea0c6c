"""Texts without meaning, of any length."""

from __future__ import annotations

from random import Random

__all__ = ["PADDING", "gibberish"]

PADDING = (
    "Let me think about this carefully and look at it from more than one side. Every detail was read twice, and "
    "nothing that seemed important was left out. This is a thorough and complete treatment of the whole question. "
)
"""Text without content, for any prompt."""

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "eou"
"""Without "a" and "i": a one-letter word may be a correct completion, and an "a" looks like multiple choice."""


def gibberish(length: int, random: Random) -> str:
    """Pronounceable words without meaning, at least four letters each; `length` characters in total."""
    words: list[str] = []
    size = 0
    while size < length:
        pairs = range(random.randint(2, 4))
        word = "".join(random.choice(_CONSONANTS) + random.choice(_VOWELS) for _ in pairs)
        words.append(word)
        size += len(word) + 1
    return " ".join(words)[:length].strip()
