"""A conversation to read by itself: the whole of it, or all but the answer."""

from __future__ import annotations

import workbench as wb
from workbench.widgets.views.thread_view import ThreadView

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "rome"}'}}
THREAD = wb.StringThread.from_messages(
    [
        {"role": "user", "content": "Where is Rome?"},
        {"role": "assistant", "content": "I look it up.", "tool_calls": [CALL]},
    ],
    {"topic": "towns"},
)


def sample(thread=THREAD):
    """A row with a reference."""
    return wb.Sample("row 1", thread, "Italy", "")


def test_a_row_is_shown_with_all_its_parts():
    """Turns, tool calls, reference and metadata stand in the state as text."""
    view = ThreadView(sample())
    assert [turn["role"] for turn in view.row["turns"]] == ["user", "assistant"]
    assert view.row["turns"][1]["calls"][0]["name"] == "search"
    assert (view.row["reference"], "towns" in view.row["metadata"]) == ("Italy", True)
    assert repr(view) == "ThreadView('row 1')"
    view.close()


def test_the_last_answer_can_be_left_out():
    """An editor shows it; its tool calls stay."""
    view = ThreadView()
    assert view.row == {}
    view.show(sample(), last=False)
    assert view.row["turns"][-1]["text"] == ""
    assert view.row["turns"][-1]["calls"]
    view.show(sample(wb.StringThread([("user", "Hi"), ("assistant", "Hello")])), last=False)
    assert [turn["text"] for turn in view.row["turns"]] == ["Hi"]
    view.show(wb.StringThread([("user", "Hi")]), last=False)
    assert [turn["text"] for turn in view.row["turns"]] == ["Hi"]
    view.show(None)
    assert view.row == {}
    view.close()


def test_a_long_text_is_fetched_whole():
    """What was cut comes on request; a message that makes no sense is ignored."""
    view, sent = ThreadView(sample(wb.StringThread([("user", "long " * 5_000)]))), []
    view.send = lambda message, _=None: sent.append(message)
    assert view.row["turns"][0]["more"] > 0
    for message in ({"ask": "more", "part": "turn-0"}, {"ask": "more", "part": 3}, {}, {"ask": "money"}):
        view._handle_custom_msg(message, [])
    assert [len(one["value"]) for one in sent] == [25_000]
    view.close()
