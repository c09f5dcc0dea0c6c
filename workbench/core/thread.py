"""The conversation that a grader reads.

`StringThread` implements Adaptive's contract. This file imports only the standard library and no
package module: the sandbox loads it by its path as `adaptive_harmony` and as `workbench`.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

# collections.namedtuple, not typing.NamedTuple: the sandbox child should not pay for a class
# statement's annotations, and upstream's named tuple has just these two fields.
Turn = namedtuple("Turn", "role content")  # noqa: PYI024
Turn.__doc__ = "One turn: `role` is free text and case-sensitive, `content` is text."

_IMAGE = "[image]"
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULTS = ("tool_result", "mcp_tool_result", "web_search_tool_result", "web_fetch_tool_result")

_MADE_LATER = frozenset({"_answers", "_calls", "_turns", "metadata", "tools"})
"""Attributes of a thread of a batch that are computed on demand."""


class StringThread:
    """A conversation of (role, content) turns with metadata.

    Args:
        turns: A sequence of (role, content) pairs of text. Roles are free text and case-sensitive.
        metadata: Anything; a dict in practice. Stays None when not given, as upstream.

    Raises:
        TypeError: `turns` is not a sequence of pairs of text (an iterator is not a sequence).
        ValueError: A turn does not have exactly two parts.

    Example:
        >>> thread = StringThread([("user", "2+2?"), ("assistant", "4")], {"expected": "4"})
        >>> thread.completion(), thread.metadata["expected"]
        ('4', '4')
    """

    __slots__ = ("_answers", "_batch", "_calls", "_row", "_turns", "metadata", "tools")

    _turns: list[tuple[str, str]]
    _calls: dict[int, Any]
    _answers: dict[int, str]
    metadata: Any
    tools: list[Any]
    _batch: Any
    """Source of attributes that were not used yet, for a thread of a batch: `row_columns.ColumnBatch`; None for other threads."""
    _row: int

    def __init__(self, turns: Sequence[Sequence[str]] | None = None, metadata: Any = None) -> None:
        self._turns = [] if turns is None else _pairs(turns)
        self._calls = {}
        self._answers = {}
        self._batch = None
        self.metadata = metadata
        self.tools = []

    @classmethod
    def from_messages(
        cls,
        messages: Sequence[Mapping[str, Any]],
        metadata: Any = None,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> StringThread:
        """Read OpenAI chat messages: dicts with `role`, `content` and optionally `tool_calls`.

        Content in parts becomes text: text parts are joined, an image leaves the marker
        `[image]`, reasoning is omitted. An assistant turn that only calls tools reads "". Anthropic's `tool_use`
        parts become tool calls, and each of their `tool_result` parts a turn of the role `tool`, before the other
        content of the message. `toolUse` and `toolResult` blocks (Bedrock's, as Strands agents write them) become tool
        calls and their results; such a call keeps its block under the key `toolUse`.

        Raises:
            TypeError: A message is not a dict, or its role or content has the wrong type.
            ValueError: A message has no role.
        """
        thread = cls(None, metadata)
        for index, message in enumerate(messages):
            if (turn := _plain_turn(message)) is not None:
                thread._turns.append(turn)
                continue
            role, content, calls = _read_message(index, message)
            results = _results(message.get("content"))
            if results and calls:  # a server's tools: called and returned in one message
                thread._add(role, "", calls)
                calls = []
            for result in results:
                thread._add("tool", _result_text(result), answered=result.get("tool_use_id"))
            if content or calls or not results:
                thread._add(role, content, calls, _answered(message))
        thread.tools = [dict(tool) for tool in tools or ()]
        return thread

    def _add(self, role: str, content: str, calls: Sequence[Any] = (), answered: object = None) -> None:
        """Add one turn in place: only while the thread is being built."""
        at = len(self._turns)
        if calls:
            self._calls[at] = list(calls)
        if isinstance(answered, str):
            self._answers[at] = answered
        self._turns.append((role, content))

    def completion(self) -> str | None:
        """The last turn's text if its role is exactly `assistant`, else None. Empty text stays empty."""
        if self._batch is not None:
            return self._batch.answers[self._row]  # type: ignore[no-any-return]
        if not self._turns:
            return None
        role, content = self._turns[-1]
        return content if role == "assistant" else None

    def messages(self) -> list[Turn]:
        """All turns except the last one, if that is the assistant's; else all."""
        turns = self._turns
        if turns and turns[-1][0] == "assistant":
            turns = turns[:-1]
        return list(map(tuple.__new__, repeat(Turn), turns))

    def get_turns(self) -> list[Turn]:
        """All turns, as named tuples (role, content)."""
        return list(map(tuple.__new__, repeat(Turn), self._turns))

    def last_content(self) -> str:
        """The last turn's text, of any role.

        Raises:
            ValueError: The thread has no turns.
        """
        if not self._turns:
            raise ValueError("last_content() of a thread without turns")
        return self._turns[-1][1]

    def tool_calls(self) -> list[dict[str, Any]]:
        """Every tool call in the thread, in order, in OpenAI's shape `{id, type, function: {name, arguments}}`."""
        return [call for index in sorted(self._calls) for call in self._calls[index]]

    def turn_calls(self, index: int) -> list[dict[str, Any]]:
        """The tool calls made in one turn, by its index in `get_turns()`; none for most."""
        return list(self._calls.get(index, ()))

    def turn_answers(self, index: int) -> str | None:
        """The id of the tool call whose result a turn is, None if it is not one or the id is unknown."""
        return self._answers.get(index)

    def system(self, content: str) -> StringThread:
        """A new thread with an additional system turn."""
        return self._with("system", content)

    def user(self, content: str) -> StringThread:
        """A new thread with an additional user turn."""
        return self._with("user", content)

    def assistant(self, content: str) -> StringThread:
        """A new thread with an additional assistant turn."""
        return self._with("assistant", content)

    def tool(self, content: str, call_id: str | None = None) -> StringThread:
        """A new thread with an additional tool turn, the result of the tool call `call_id`."""
        thread = self._with("tool", content)
        if call_id is not None:
            thread._answers = {**thread._answers, len(thread._turns) - 1: call_id}
        return thread

    def _with(self, role: str, content: str) -> StringThread:
        thread = StringThread.from_wire(self.to_wire())
        # A new list: the copy shares everything with this thread, which must not change.
        thread._turns = [*self._turns, *_pairs([(role, content)])]
        return thread

    def to_wire(self) -> tuple[Any, ...]:
        """The thread as nested plain values, ready for `marshal`."""
        # None for what most threads lack: it is the shortest encoding, and is sent with every row.
        return (self._turns, self.metadata, self._calls or None, self.tools or None, self._answers or None)

    @classmethod
    def from_wire(cls, wire: Sequence[Any]) -> StringThread:
        """The thread from `to_wire`'s values, unchecked: they are from this package."""
        # Bypasses __init__, whose checks were done before; this runs for every row of a dataset.
        thread = cls.__new__(cls)
        thread._turns, thread.metadata, calls, tools, answers = wire
        thread._calls = calls or {}
        thread._answers = answers or {}
        thread.tools = tools or []
        thread._batch = None
        return thread

    @classmethod
    def of_batch(cls, batch: Any, asked: Iterable[str] = (), rows: slice = slice(None)) -> list[StringThread]:
        """The threads of a `row_columns.ColumnBatch`. Unused attributes are never computed.

        Args:
            batch: The rows.
            asked: Attributes that will be used, so that they are computed together, which is cheaper.
            rows: Which of the rows, all by default.
        """
        places = range(len(batch))[rows]
        threads = list(map(cls.__new__, repeat(cls, len(places))))
        for thread, row in zip(threads, places):  # noqa: B905 (runs for every row; both have the same length)
            thread._batch, thread._row = batch, row
        for name in asked:
            for thread, value in zip(threads, batch.parts(name)[rows]):  # noqa: B905 (as above)
                setattr(thread, name, value)
        for row, wire in batch.whole.items():
            if row in places:
                threads[row - places.start] = cls.from_wire(wire)
        return threads

    def __getattr__(self, name: str) -> Any:
        """Called for a missing attribute: one of a thread of a batch is computed now."""
        if name not in _MADE_LATER or self._batch is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = self._batch.part(self._row, name)
        setattr(self, name, value)
        return value

    def __getstate__(self) -> tuple[Any, dict[str, Any]]:
        """What a copy needs: everything but the batch."""
        own: Any = object.__getstate__(self)  # a subclass may have further attributes
        made = {name: getattr(self, name) for name in _MADE_LATER}
        return own[0], {**own[1], **made, "_batch": None}

    def __dir__(self) -> list[str]:
        """The names that users need: without the wire form."""
        return [
            name
            for name in super().__dir__()
            if name not in {"from_wire", "to_wire", "turn_answers", "turn_calls"}
        ]

    def __repr__(self) -> str:
        count = len(self._turns)
        text = self._turns[-1][1] if self._turns else ""
        last = text if len(text) <= 40 else text[:39] + "…"
        return f"StringThread({count} turn{'' if count == 1 else 's'}, last {last!r})"


def _pairs(turns: Any) -> list[tuple[str, str]]:
    if isinstance(turns, str | bytes) or not isinstance(turns, Sequence):
        raise TypeError(f"turns must be a sequence of (role, content) pairs, not {type(turns).__name__}")
    return [_pair(index, turn) for index, turn in enumerate(turns)]


def _pair(index: int, turn: Any) -> tuple[str, str]:
    if not isinstance(turn, tuple | list):
        raise TypeError(f"turn {index} must be a (role, content) pair, not {type(turn).__name__}")
    if len(turn) != 2:
        raise ValueError(f"turn {index} must have 2 parts (role, content), not {len(turn)}")
    role, content = turn
    if not isinstance(role, str) or not isinstance(content, str):
        raise TypeError(
            f"turn {index} must be two texts, not ({type(role).__name__}, {type(content).__name__})"
        )
    return (role, content)


def _plain_turn(message: Any) -> tuple[str, str] | None:
    """The turn of a message of role and text alone, which most are: a tenth of the time of `_read_message`; else None."""
    if type(message) is not dict:
        return None
    role, content = message.get("role"), message.get("content")
    if type(role) is not str or type(content) is not str or message.get("tool_calls"):
        return None
    return None if "tool_call_id" in message else (role, content)


def _read_message(index: int, message: Any) -> tuple[str, str, list[Any]]:
    if not isinstance(message, Mapping):
        raise TypeError(f"message {index} must be a dict with role and content, not {type(message).__name__}")
    role = message.get("role")
    if role is None:
        raise ValueError(f"message {index} has no role; its keys are {sorted(map(str, message))}")
    if not isinstance(role, str):
        raise TypeError(f"message {index}: role must be text, not {type(role).__name__}")
    calls = message.get("tool_calls") or []
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise TypeError(f"message {index}: tool_calls must be a list, not {type(calls).__name__}")
    content = message.get("content")
    used = [*map(_part_call, _parts(content, _CALLS)), *map(_block_call, _blocks(content, "toolUse"))]
    return role, _content_text(index, content), [*calls, *used]


def _parts(content: Any, types: Sequence[str]) -> list[Any]:
    """The content parts of some types, such as `{"type": "tool_use", ...}`."""
    if not isinstance(content, list | tuple):
        return []
    return [part for part in content if isinstance(part, Mapping) and part.get("type") in types]


def _part_call(part: Mapping[str, Any]) -> dict[str, Any]:
    """A `tool_use` part in OpenAI's shape."""
    given = part.get("input", {})
    arguments = given if isinstance(given, str) else json.dumps(given, default=str)
    function = {"name": part.get("name"), "arguments": arguments}
    return {"id": part.get("id"), "type": "function", "function": function}


def _results(content: Any) -> list[Any]:
    return _parts(content, _RESULTS)


def _result_text(part: Mapping[str, Any]) -> str:
    inner = part.get("content")
    return "".join(map(_result_part_text, inner if isinstance(inner, list | tuple) else (inner,)))


def _result_part_text(part: Any) -> str:
    """A part's text; for a search result its title and address."""
    told = [part.get(key) for key in ("title", "url")] if isinstance(part, Mapping) else []
    return _part_text(part) or "\n".join(one for one in told if isinstance(one, str))


def _blocks(content: Any, name: str) -> list[Any]:
    """The content blocks of one kind, such as `{"toolUse": {...}}`."""
    if not isinstance(content, list | tuple):
        return []
    return [
        part[name] for part in content if isinstance(part, Mapping) and isinstance(part.get(name), Mapping)
    ]


def _block_call(block: Mapping[str, Any]) -> dict[str, Any]:
    """A `toolUse` block in OpenAI's shape, including the block itself."""
    function = {"name": block.get("name"), "arguments": json.dumps(block.get("input", {}), default=str)}
    return {"id": block.get("toolUseId"), "type": "function", "function": function, "toolUse": dict(block)}


def _answered(message: Mapping[str, Any]) -> str | None:
    """The id of the tool call whose result a message is."""
    results = [block.get("toolUseId") for block in _blocks(message.get("content"), "toolResult")]
    ids = [message.get("tool_call_id"), *results]
    return next((found for found in ids if isinstance(found, str)), None)


def _content_text(index: int, content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return "".join(_part_text(part) for part in content)
    raise TypeError(f"message {index}: content must be text or a list of parts, not {type(content).__name__}")


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part.get("toolResult"), Mapping):
        inner = part["toolResult"].get("content")
        return "".join(map(_part_text, inner)) if isinstance(inner, list | tuple) else ""
    return _IMAGE if "image" in str(part.get("type", "")) else ""
