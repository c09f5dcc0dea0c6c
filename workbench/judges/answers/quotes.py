"""Removes from a judge's reply the JSON objects that it quotes from the judged text.

A judge may repeat parts of the judged text, and a completion may contain a verdict ("score": 1.0). Such an object must not
be parsed as the judge's verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.core.cached import cached_property
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.judges.answers.verdicts import json_spans
from workbench.judges.protocol import Messages

__all__ = ["QUOTED", "without_quotes"]

QUOTED = "[quoted from what is judged]"
"""Replaces a removed object."""
_IGNORED = b" \t\r\n\\\"'"
"""Bytes that a quote may change: spaces, and the quotation marks of JSON inside JSON and of Python's dicts."""


def without_quotes(text: str, sample: Sample, messages: Messages) -> str:
    """A reply's text without the JSON objects that are quoted from the judged text.

    An object counts as quoted if it occurs in the conversation, or in another column of the row that the request
    included. An object that occurs only in the author's prompt, such as an example of a reply, is not a quote. A column
    that the judge never saw is not searched. Spaces, quotation marks and backslashes are not compared.

    Args:
        text: The reply, without thinking and code fences.
        sample: The judged sample.
        messages: The request.

    Raises:
        AnswerError: The reply has too many braces; see `verdicts.json_spans`.
    """
    if "{" not in text:
        return text
    row = _RowTexts(sample, messages)
    parts, position = [], 0
    for start, end, _ in json_spans(text):
        if row.holds(_normalized(text[start:end])):
            parts += [text[position:start], QUOTED]
            position = end
    return "".join([*parts, text[position:]])


class _RowTexts:
    """The texts of a row and its request. Each is made when first needed, because most replies quote nothing."""

    def __init__(self, sample: Sample, messages: Messages) -> None:
        self._sample, self._messages = sample, messages

    def holds(self, quote: bytes) -> bool:
        """Whether a quote is in the conversation, or in a column that the request included."""
        return quote in self._conversation or (quote in self._columns and quote in self._question)

    @cached_property
    def _conversation(self) -> bytes:
        return _joined(_conversation_texts(self._sample.thread))

    @cached_property
    def _columns(self) -> bytes:
        return _joined(_column_texts(self._sample))

    @cached_property
    def _question(self) -> bytes:
        return _joined(_message_texts(self._messages))


def _joined(texts: Iterable[str]) -> bytes:
    # A null character between them, so that no quote matches across the border of two texts.
    return _normalized("\0".join(texts))


def _normalized(text: str) -> bytes:
    # Bytes, because `bytes.translate` removes characters many times faster than `str.translate`.
    return text.encode("utf-8", "surrogatepass").translate(None, _IGNORED)


def _conversation_texts(thread: StringThread) -> Iterator[str]:
    yield from (turn.content for turn in thread.get_turns())
    if calls := thread.tool_calls():
        yield _as_text(calls)


def _column_texts(sample: Sample) -> Iterator[str]:
    return map(_as_text, filter(None, (sample.reference, sample.thread.metadata, sample.thread.tools)))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _message_texts(messages: Messages) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            yield str(part.get("text", "")) if isinstance(part, Mapping) else str(part)
