"""What a judge's answer quotes out of the text under judgement is not its verdict.

A judge may repeat parts of what it judges, and a completion may hold a verdict of its own ("score": 1.0). Such an
object is taken out of the answer before the verdict is looked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from workbench.judges.answers.verdicts import json_spans
from workbench.judges.protocol import Messages
from workbench.samples import Sample
from workbench.thread import StringThread

__all__ = ["QUOTED", "without_quotes"]

QUOTED = "[quoted from what is judged]"
"""What stands in an answer in the place of an object that was taken out."""
_IGNORED = b" \t\r\n\\\"'"
"""Bytes that a quote may change: spaces, and the marks of JSON inside JSON and of Python's dicts."""


def without_quotes(text: str, sample: Sample, messages: Messages) -> str:
    """An answer's text without the JSON objects that stand word for word in what was judged.

    An object counts as quoted where the conversation holds it, or where another column of the row holds it and the
    question showed it: what only the author's prompt holds, such as an example of an answer, is no quote, and neither
    is a column that the judge never saw. Spaces, quotation marks and backslashes are not compared.

    Args:
        text: The answer, without thinking and fences.
        sample: What was judged.
        messages: What was asked.

    Raises:
        AnswerError: More braces than an answer has.
    """
    if "{" not in text:
        return text
    row = _Shown(sample, messages)
    kept, end = [], 0
    for start, stop, _ in json_spans(text):
        if row.holds(_bare(text[start:stop])):
            kept += [text[end:start], QUOTED]
            end = stop
    return "".join([*kept, text[end:]])


class _Shown:
    """The texts of a row and of a question, each made when it is first looked at: most answers quote nothing."""

    def __init__(self, sample: Sample, messages: Messages) -> None:
        self._sample, self._messages = sample, messages

    def holds(self, quote: bytes) -> bool:
        """Whether a quote stands in the conversation, or in a column that the question showed."""
        return quote in self._said or (quote in self._columns and quote in self._question)

    @cached_property
    def _said(self) -> bytes:
        return _joined(_conversation(self._sample.thread))

    @cached_property
    def _columns(self) -> bytes:
        return _joined(_columns(self._sample))

    @cached_property
    def _question(self) -> bytes:
        return _joined(_message_texts(self._messages))


def _joined(texts: Iterable[str]) -> bytes:
    return _bare("\0".join(texts))


def _bare(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(None, _IGNORED)


def _conversation(thread: StringThread) -> Iterator[str]:
    yield from (turn.content for turn in thread.get_turns())
    if calls := thread.tool_calls():
        yield _as_text(calls)


def _columns(sample: Sample) -> Iterator[str]:
    return map(_as_text, filter(None, (sample.reference, sample.thread.metadata, sample.thread.tools)))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _message_texts(messages: Messages) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            yield str(part.get("text", "")) if isinstance(part, Mapping) else str(part)
