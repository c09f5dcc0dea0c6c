"""Rows by id and text, pasted messages, edited completions, and late results."""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.trial import (
    Trial,
    find_rows,
    next_row,
    paste,
    place_of,
    random_row,
    with_completion,
)
from workbench.core.errors import SamplesError
from workbench.core.thread import StringThread
from workbench.data.samples import Sample

SAMPLES = wb.read_samples(using.ROWS)
TURNS = st.lists(
    st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=20)), max_size=5
)


def test_find_rows_prefers_the_id_and_goes_round():
    """An id is that row; words go from row to row, and begin again at the end."""
    assert find_rows(SAMPLES, "row-12") == [12]
    assert next_row([12], 20) == 12
    hits, at = [], -1
    for _ in range(4):
        at = next_row(find_rows(SAMPLES, "NO, 2"), at)
        hits.append(at)
    assert hits == [2, 20, 22, 2]


def test_the_place_of_a_row_in_words():
    """Number, and index of the match; messages that are not a row are marked as pasted."""
    assert place_of(SAMPLES, 20, []) == place_of(SAMPLES, 20, [2, 22]) == "row 21 of 24"
    assert place_of(SAMPLES, 20, [2, 20, 22]) == "row 21 of 24: match 2 of 3"
    assert place_of(SAMPLES, 20, [20]) == "row 21 of 24: the only match"
    assert place_of(SAMPLES, -1, [2]) == "pasted messages"


@pytest.mark.parametrize("wanted", ["", "not in any of them", "\x00"])
def test_find_rows_says_what_there_is(wanted):
    """Nothing found names an id that would do."""
    with pytest.raises(SamplesError, match="row-0"):
        find_rows(SAMPLES, wanted)


def test_random_row_needs_rows():
    """A row of those there are; none of none."""
    assert random_row(SAMPLES) in range(24)
    with pytest.raises(SamplesError, match="no samples"):
        random_row(SAMPLES.head(0))


@given(TURNS, st.text(max_size=30))
def test_with_completion_round_trip(turns, text):
    """The new text is the completion; everything else is unchanged; the old sample too."""
    thread = StringThread(turns, {"k": 1})
    sample = Sample("a", thread, "ref", "g")
    changed = with_completion(sample, text)
    ends = bool(turns) and turns[-1][0] == "assistant"
    assert changed.thread.completion() == text
    assert [tuple(turn) for turn in changed.thread.get_turns()] == [
        *(turns[:-1] if ends else turns),
        ("assistant", text),
    ]
    assert (changed.id, changed.reference, changed.group, changed.thread.metadata) == (
        "a",
        "ref",
        "g",
        {"k": 1},
    )
    assert [tuple(turn) for turn in sample.thread.get_turns()] == turns
    if ends:
        back = with_completion(changed, turns[-1][1])
        assert back.thread.to_wire() == thread.to_wire()


def test_with_completion_keeps_tool_calls():
    """Calls, their results and the offered tools are unchanged."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "find it"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "assistant", "content": "here"},
    ]
    sample = paste(json.dumps(messages))
    changed = with_completion(sample, "there")
    assert changed.thread.tool_calls() == sample.thread.tool_calls() != []
    assert changed.thread.completion() == "there"


def test_paste_reads_both_shapes():
    """A bare list, or an object with reference and metadata."""
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    bare = paste(json.dumps(messages))
    assert (bare.id, bare.thread.completion(), bare.reference) == ("pasted", "a", None)
    told = paste(json.dumps({"messages": messages, "reference": ["x"], "metadata": {"m": 1}}))
    assert told.reference == ["x"]
    assert told.thread.metadata == {"m": 1, "reference": ["x"]}
    assert paste(json.dumps({"messages": messages, "metadata": {"expected": "y"}})).reference == "y"


@pytest.mark.parametrize(
    "text",
    ["", "hello", "3", "null", '"x"', "{}", '{"messages": {}}', '{"messages": [], "metadata": [1]}', '["x"]', '[{"content": "x"}]', "[" * 99_999],
)  # fmt: skip
def test_paste_says_what_it_takes(text):
    """An invalid conversation is an error that shows the expected form."""
    with pytest.raises(SamplesError, match="messages"):
        paste(text)


def test_paste_takes_what_a_thread_takes():
    """Roles are free text, and no content is empty text, as a turn that only calls tools has it."""
    sample = paste('[{"role": "robot", "content": "beep"}, {"role": "assistant"}]')
    assert [tuple(turn) for turn in sample.thread.get_turns()] == [("robot", "beep"), ("assistant", "")]


def ended(grade):
    """A future that is done."""
    future = Future()
    future.set_result(grade)
    return future


def test_a_trial_tells_each_grade_and_drops_what_is_late():
    """Grades of the last request are reported; those of an earlier one, or after stop, are not."""
    told, over = {}, threading.Event()

    def tell(name, _, grade):
        told[name] = grade.score
        if len(told) == 2:
            over.set()

    trial = Trial(tell)
    trial.ask(SAMPLES[1], {"yes": using.GRADERS[0], "exact": using.GRADERS[1]})
    assert over.wait(600)
    assert told == {"yes": 1.0, "exact": 1.0}
    now = trial._question
    trial._end(now - 1, "late", None, ended(wb.Grade(0.1)))
    trial.stop()
    trial._end(now, "stopped", None, ended(wb.Grade(0.2)))
    assert set(told) == {"yes", "exact"}


def test_a_trial_tells_nothing_while_its_lock_is_held_by_a_new_question():
    """A result that waits for the lock belongs to an earlier request and is dropped."""
    told, lock, entered = [], threading.RLock(), threading.Event()
    trial = Trial(lambda name, *_: told.append(name), lock)

    def late():
        entered.set()
        trial._end(1, "old", None, ended(wb.Grade(1.0)))

    trial._question = 1
    with lock:
        thread = threading.Thread(target=late)
        thread.start()
        assert entered.wait(600)
        trial.stop()
    thread.join(60)
    assert told == []
