"""Letta's trajectories as threads."""

import pytest

from workbench.core.errors import SamplesError
from workbench.data.extractors import Extractor
from workbench.formats import letta_thread

TURN = [
    {"message_type": "reasoning_message", "reasoning": "hm"},
    {"type": "tool_call_message", "tool_call": {"name": "search", "arguments": "{}", "tool_call_id": "c"}},
    {"type": "tool_return_message", "tool_call_id": "c", "tool_return": "found"},
    {"type": "assistant_message", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
]


def test_messages_of_every_type():
    """Parts are joined by a space, calls meet their returns, reasoning is left out."""
    thread = letta_thread(
        [TURN, TURN], input=["one?", "two?"], agent_state={"blocks": [{"label": "h", "value": "v"}]}
    )
    assert [turn.role for turn in thread.get_turns()] == ["user", "assistant", "tool", "assistant"] * 2
    assert Extractor("last_assistant").extract(thread) == "a b"
    assert Extractor("tool_output", {"tool_name": "search"}).extract(thread) == "found"
    assert Extractor("memory_block", {"block_label": "h"}).extract(thread) == "v"


@pytest.mark.parametrize("trajectory", [[{"type": "assistant_message"}], ["text"], [[7]]])
def test_other_shapes_are_refused_with_their_place(trajectory):
    """A turn is a list of objects."""
    with pytest.raises(SamplesError, match="turn 0"):
        letta_thread(trajectory)
