"""What the cells of a column contain: messages, requests and responses of an API, texts, names, numbers, verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.data.samples.chats import chat_of, ends_with_user, turns_of_texts
from workbench.data.samples.envelopes import EnvelopeError, message_in, request_in, text_in
from workbench.data.samples.plain import NotPlainError, is_missing, plain
from workbench.data.samples.roles import COMPLETION_KEYS, PROMPT_KEYS, completions_of

MAX_ID = 200
"""Maximum characters of an id, an address or a number."""

VERDICTS = frozenset({
    "accept", "accepted", "bad", "benign", "correct", "factual", "fail", "failed", "faithful", "false", "good", "grounded",
    "hallucinated", "hallucination", "harmful", "harmless", "helpful", "incorrect", "malicious", "non-factual", "pass", "passed",
    "reject", "rejected", "right", "safe", "toxic", "true", "unfaithful", "ungrounded", "unharmful", "unhelpful", "unsafe",
    "unsupported", "wrong",
})  # fmt: skip
"""Verdicts on a completion, in lower case."""

_DIGITS = frozenset({"0", "1", "0.0", "1.0"})
_DIGIT = re.compile(r"(?<![\d.])[01](?![\d.])")

_JUDGEMENTS = frozenset(
    {"accept", "accepted", "bad", "fail", "failed", "good", "pass", "passed", "reject", "rejected"}
)
"""Verdicts that are not an expected completion."""


def plain_cells(cells: Sequence[Any]) -> list[Any]:
    """The non-missing cells that have a plain form."""
    found = []
    for cell in cells:
        if not is_missing(cell):
            try:
                found.append(plain(cell))
            except NotPlainError:
                found.append(None)
    return found


def are_all(is_fitting: Callable[[Any], bool], cells: Sequence[Any]) -> bool:
    """Whether there are non-missing cells, and the plain form of each one fits."""
    values = plain_cells(cells)
    return bool(values) and all(map(is_fitting, values))


def are_chats(cells: Sequence[Any]) -> bool:
    """Whether all cells are lists of messages."""
    return are_all(lambda value: isinstance(value, list) and chat_of(value) is not None, cells)


def are_numbers(cells: Sequence[Any]) -> bool:
    """Whether all cells are numbers, not written as text."""
    return are_all(lambda value: isinstance(value, int | float) and not isinstance(value, bool), cells)


_IDENTIFIER = re.compile(r"[^\W\d][\w.@/+-]*[\w+]")


def are_identifiers(cells: Sequence[Any]) -> bool:
    """Whether all cells are names without a blank, such as those of accounts and models."""
    return are_all(
        lambda value: (
            isinstance(value, str) and len(value) <= MAX_ID and bool(_IDENTIFIER.fullmatch(value.strip()))
        ),
        cells,
    )


_MODEL = re.compile(
    r"(?:[\w.-]+/)?(?:chat)?(?:gpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|phi|grok|palm|o[134])(?:[-_.:@\d].*)?"
    r"|(?=.*\d)[\w./]+-[\w.@/+:-]+",
    re.IGNORECASE,
)


def are_models(cells: Sequence[Any]) -> bool:
    """Whether all cells are names such as those of models: of a known family, or with a hyphen and a digit."""
    return are_identifiers(cells) and are_all(lambda value: bool(_MODEL.fullmatch(value.strip())), cells)


def are_texts(cells: Sequence[Any]) -> bool:
    """Whether all cells are texts."""
    values = [cell for cell in cells if not is_missing(cell)]
    return bool(values) and all(isinstance(cell, str) for cell in values)


def are_user_turns(cells: Sequence[Any]) -> bool:
    """Whether all cells are lists of texts, one for each turn, the user's first and last."""
    return are_all(ends_with_user, cells)


def are_conversations(cells: Sequence[Any]) -> bool:
    """Whether all cells are lists of messages, or all are lists of texts, one for each turn."""
    return are_chats(cells) or are_all(lambda value: turns_of_texts(value) is not None, cells)


def are_completions(cells: Sequence[Any]) -> bool:
    """Whether all cells are lists of completions, or API responses."""
    return are_all(
        lambda value: bool(completions_of(value)) if isinstance(value, list) else is_api_reply(value), cells
    )


def is_api_reply(value: Any) -> bool:
    """Whether a value is an object with messages, or an API's response."""
    try:
        return isinstance(value, Mapping) and message_in(value) is not None
    except EnvelopeError:
        return True  # of a request that failed


def are_requests(cells: Sequence[Any]) -> bool:
    """Whether all cells are API requests: objects with messages."""
    return are_all(lambda value: isinstance(value, Mapping) and request_in(value) is not None, cells)


def are_records(cells: Sequence[Any]) -> bool:
    """Whether all cells are objects without a text or messages of a prompt, such as the account of a user."""
    return are_all(
        lambda value: (
            isinstance(value, Mapping)
            and request_in(value) is None
            and chat_of(value) is None
            and text_in(value, PROMPT_KEYS) is None
        ),
        cells,
    )


def are_lists_of_texts(cells: Sequence[Any]) -> bool:
    """Whether all cells are lists of texts."""
    return are_all(
        lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value), cells
    )


def are_wrapped(cells: Sequence[Any]) -> bool:
    """Whether all cells are objects around one text of a completion."""
    return are_all(
        lambda value: isinstance(value, Mapping) and text_in(value, COMPLETION_KEYS) is not None, cells
    )


def are_verdicts(cells: Sequence[Any], completions: Sequence[Any], *, strict: bool = False) -> bool:
    """Whether the cells of a column are verdicts on completions: truth values, or words such as pass and fail.

    Args:
        cells: The cells.
        completions: If completions are such words themselves, the column contains their expected values.
        strict: Whether the column may have expected values, such as true and incorrect: then only words about a completion count.
    """
    values = [cell for cell in cells if not is_missing(cell)]
    if not values:
        return False
    if all(isinstance(cell, bool) or type(cell).__name__ == "bool_" for cell in values):
        return not strict
    said = [cell for cell in completions if isinstance(cell, str) and cell.strip()]
    if not strict and all(str(cell).strip() in _DIGITS for cell in values):
        # Unless completions state a digit themselves, such as a class.
        return bool(said) and not any(_DIGIT.search(text) for text in said)
    words = _JUDGEMENTS if strict else VERDICTS
    if not all(_is_verdict(cell, words) for cell in values):
        return False
    if not said:
        return not strict
    return sum(_is_verdict(cell, words) for cell in said) * 2 < len(said)


def _is_verdict(cell: Any, words: frozenset[str]) -> bool:
    return isinstance(cell, str) and cell.strip().rstrip(".!").casefold() in words
