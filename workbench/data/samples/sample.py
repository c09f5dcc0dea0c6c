"""`Sample`: one row, ready to be graded; and digests of conversations, so that a label of one text is not applied to another."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import SamplesError
from workbench.core.thread import StringThread
from workbench.data.samples.plain import NotPlainError, plain


@dataclass(frozen=True, slots=True)
class Sample:
    """One row, ready to be graded.

    Attributes:
        id: Text, unique in its dataset.
        thread: The conversation; its metadata is always a dict.
        reference: The ground truth, as plain data; None if there is none.
        group: Its prompt: rollouts of one prompt share it.
    """

    id: str
    thread: StringThread
    reference: Any
    group: str


_DIGITS = 16
"""64 bits: the probability of a collision among a million texts is one in tens of millions."""


def digest_of(thread: StringThread) -> str:
    """A conversation's turns and tool calls as 16 hexadecimal digits; the metadata and available tools do not count.

    Empty keys of tool calls are omitted, because Parquet gives every call the keys of all calls.

    Raises:
        SamplesError: A tool call contains an object that is not plain data, or a list that contains itself.

    Example:
        >>> one, two = (StringThread([("user", "2+2?")], metadata) for metadata in ({"good": True}, None))
        >>> digest_of(one) == digest_of(two), digest_of(one) == digest_of(one.assistant("4"))
        (True, False)
    """
    turns, _, calls, *_ = thread.to_wire()
    # Sorted, since another file's calls may be in another order.
    content = json.dumps([turns, _calls_as_json(calls)], sort_keys=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()[:_DIGITS]


def _calls_as_json(calls: dict[int, Any] | None) -> dict[int, Any] | None:
    """Tool calls by turn, as JSON data."""
    if calls is None:
        return None
    try:
        return {turn: _without_gaps(plain(turn_calls)) for turn, turn_calls in calls.items()}
    except NotPlainError as error:
        raise SamplesError(
            "a tool call cannot be read",
            found=str(error),
            expected="text, numbers, lists or dicts",
            hint="pass its arguments as plain data or as JSON text",
        ) from None


def _without_gaps(value: Any) -> Any:
    """Plain data without empty keys."""
    if isinstance(value, dict):
        return {key: _without_gaps(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_gaps(item) for item in value]
    # Marked, to distinguish bytes from a text of the same digits.
    return ["bytes", value.hex()] if isinstance(value, bytes) else value
