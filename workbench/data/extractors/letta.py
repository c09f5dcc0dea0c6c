"""The nine extractors of Letta Evals (0.4.x), with their names, settings and search direction.

An *assistant message* is an assistant turn with text; a turn that only calls tools is not one, as in Letta's
trajectories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.core.patterns import Pattern
from workbench.core.thread import StringThread
from workbench.data.extractors import extractor


def _assistant_messages(thread: StringThread) -> list[tuple[int, str]]:
    """Assistant messages, oldest first, with their place among the turns."""
    turns = thread.get_turns()
    return [
        (at, turn.content)
        for at, turn in enumerate(turns)
        if turn.role == "assistant" and (turn.content or not thread.turn_calls(at))
    ]


@extractor("last_assistant")
def last_assistant(thread: StringThread) -> str:
    """The last assistant message, "" if there is none."""
    messages = _assistant_messages(thread)
    return messages[-1][1] if messages else ""


@extractor("first_assistant")
def first_assistant(thread: StringThread) -> str:
    """The first assistant message, "" if there is none."""
    messages = _assistant_messages(thread)
    return messages[0][1] if messages else ""


@extractor("all_assistant")
def all_assistant(thread: StringThread, *, separator: str = "\n") -> str:
    """All assistant messages, joined."""
    return separator.join(text for _, text in _assistant_messages(thread))


@extractor("last_turn")
def last_turn(thread: StringThread, *, separator: str = "\n") -> str:
    """The assistant messages since the last user turn, joined."""
    user_turns = [at for at, turn in enumerate(thread.get_turns()) if turn.role == "user"]
    return separator.join(
        text for at, text in _assistant_messages(thread) if at > (user_turns[-1] if user_turns else -1)
    )


@extractor("pattern")
def pattern(thread: StringThread, *, pattern: str, group: int | str = 0, search_all: bool = False) -> str:
    """The match of a regular expression in the newest assistant message that has one.

    With `search_all` every match in that one message, joined by a space. If the expression has several groups,
    `group` then counts from 0, so that the default is the first one.
    """
    regex = Pattern(pattern)
    for _, text in reversed(_assistant_messages(thread)):
        if match := regex.search(text):
            return _all_matches(regex, text, group) if search_all else match.group(group) or ""
    return ""


def _all_matches(rule: Pattern, text: str, group: Any) -> str:
    return " ".join(match[group] if isinstance(match, tuple) else match for match in rule.findall(text))


@extractor("after_marker")
def after_marker(thread: StringThread, *, marker: str, include_marker: bool = False) -> str:
    """The text after the first marker in the newest assistant message that has one, stripped."""
    for _, text in reversed(_assistant_messages(thread)):
        at = text.find(marker)
        if at >= 0:
            return text[at if include_marker else at + len(marker) :].strip()
    return ""


@extractor("tool_arguments")
def tool_arguments(thread: StringThread, *, tool_name: str) -> str:
    """The arguments of the first call of a tool, as the JSON text of the call; "{}" if it was not called."""
    call = _first_call(thread, tool_name)
    return "{}" if call is None else _text(call.get("function", call).get("arguments", "{}"))


@extractor("tool_output")
def tool_output(thread: StringThread, *, tool_name: str) -> str:
    """The output of the first call of a tool, by the call's id; "" if there is none."""
    call = _first_call(thread, tool_name)
    if call is None:
        return ""
    turns = thread.get_turns()
    answers = (turn.content for at, turn in enumerate(turns) if thread.turn_answers(at) == call.get("id"))
    return next(answers, "") if call.get("id") is not None else ""


@extractor("memory_block")
def memory_block(thread: StringThread, *, block_label: str) -> str:
    """A memory block of the agent, from `metadata["agent_state"]`; "" if no block has the label.

    Raises:
        RuntimeError: The thread's metadata has no agent state.
    """
    metadata = thread.metadata if isinstance(thread.metadata, Mapping) else {}
    state = metadata.get("agent_state")
    if not isinstance(state, Mapping):
        raise RuntimeError("memory_block needs agent state: there is no metadata['agent_state']")  # noqa: TRY004 (as upstream)
    # Before Letta 0.8 the blocks are under `memory`, since then next to it.
    container = state["memory"] if isinstance(state.get("memory"), Mapping) else state
    blocks = [block for block in container.get("blocks") or () if isinstance(block, Mapping)]
    return next((_text(block.get("value")) for block in blocks if block.get("label") == block_label), "")


def _first_call(thread: StringThread, name: str) -> dict[str, Any] | None:
    for call in thread.tool_calls():
        function = call.get("function", call) if isinstance(call, Mapping) else {}
        if isinstance(function, Mapping) and function.get("name") == name:
            return dict(call)
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
