"""Rows as columns: what comes out is what the row path makes, with and without a reference."""

import copy
import marshal
import pickle

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.data import row_columns
from workbench.data.packed import Packed, Stream
from workbench.data.row_columns import ColumnBatch, cells, dumped, loaded, metadata_key, row_wire


def wires(packed):
    """The rows of a dataset, however it is held."""
    if isinstance(packed, Stream):
        return [wire for row in range(packed.rows) for wire in loaded(packed.encode(row, row + 1))]
    return [wire for batch in packed.batches for wire in loaded(batch)]


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
CELL = st.one_of(st.none(), TEXT, st.integers(), st.floats(), st.booleans())
COLUMNS = ("system", "prompt", "completion", "answer", "topic", "score")


@st.composite
def frames(draw):
    """Frames of one to eight rows whose columns are text as Arrow holds it, or objects of several kinds."""
    names = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))
    names = sorted({*names, "completion"})
    rows = draw(st.integers(1, 8))
    columns = {}
    for name in names:
        is_text = draw(st.booleans())
        values = draw(st.lists(st.one_of(st.none(), TEXT) if is_text else CELL, min_size=rows, max_size=rows))
        columns[name] = (
            pd.array(values, dtype=pd.StringDtype("pyarrow")) if is_text else pd.Series(values, dtype=object)
        )
    return pd.DataFrame(columns)


@given(frames(), st.data())
def test_columns_make_the_rows_that_the_row_path_makes(frame, data):
    """Turns, metadata, order and gaps, of all rows and of any choice of them; nothing is lost in text of any script."""
    samples = wb.Samples(frame)
    chosen = data.draw(st.lists(st.integers(0, len(frame) - 1), max_size=6))
    for rows in (samples, samples.take(chosen)):
        assert repr(wires(rows.packed())) == repr([tuple(wire) for wire in rows._build().wires])


@given(frames(), st.sets(st.sampled_from(["_turns", "metadata", "tools"])))
def test_threads_of_a_batch_are_those_of_its_rows(frame, asked):
    """Whatever is asked first, and whatever was made beforehand; a copy needs no batch."""
    data = wb.Samples(frame)._encoding.encode(0, len(frame))
    expected = [wb.StringThread.from_wire(wire) for wire in loaded(data)]
    for read in ("completion", "get_turns", "tool_calls", "last", "metadata"):
        threads = wb.StringThread.of_batch(ColumnBatch(data), asked)
        for thread, other in zip(threads, expected, strict=True):
            if read == "last":
                assert repr(thread) == repr(other)
            elif read == "metadata":
                assert repr(thread.metadata) == repr(other.metadata)
            else:
                assert getattr(thread, read)() == getattr(other, read)()
            for twin in (
                copy.copy(thread),
                copy.deepcopy(thread),
                pickle.loads(pickle.dumps(thread)),
                thread,
            ):
                assert repr(twin.to_wire()) == repr(other.to_wire())
            assert not hasattr(thread, "nothing")


class Extended(wb.StringThread):
    """A thread with an attribute of its own."""


def test_copies_of_a_subclass_keep_its_attributes():
    """By copy, deep copy and pickle."""
    thread = Extended([("assistant", "a")], {"x": 1})
    thread.extra = 5
    for twin in (copy.copy(thread), copy.deepcopy(thread), pickle.loads(pickle.dumps(thread))):
        assert (twin.extra, twin.completion(), twin.metadata) == (5, "a", {"x": 1})


def test_what_a_grader_changes_stays_with_its_row():
    """Metadata and tools of a thread out of a batch are its own, and can be set."""
    data = wb.Samples([{"completion": "a", "x": 1}, {"completion": "b", "x": 2}])._encoding.encode(0, 2)
    one, other = wb.StringThread.of_batch(ColumnBatch(data))
    one.metadata["x"], other.metadata = 9, {"y": 3}
    one.tools.append({"name": "t"})
    assert (one.metadata, other.metadata, other.tools) == ({"x": 9}, {"y": 3}, [])
    assert one.assistant("more").completion() == "more"
    assert one.completion() == "a"


@given(frames())
def test_references_and_ids_stand_behind_the_thread(frame):
    """With the key under which the metadata holds the reference; the thread's own part is untouched."""
    samples = wb.Samples(frame)
    rows = wires(samples.packed(extras=True))
    column = samples.columns.get("reference", "")
    expected = [
        row_wire(thread, reference, name, column)
        for thread, reference, name in zip(samples.threads, samples.references, samples.ids, strict=True)
    ]
    assert repr(rows) == repr(expected)


def test_only_the_columns_that_are_used_are_decoded(monkeypatch):
    """A worker that reads completions never decodes the prompts, which are most of the bytes."""
    data = wb.Samples([{"prompt": "q" * 1000, "completion": "a", "topic": "t"}] * 3)._encoding.encode(0, 3)
    batch, decoded = ColumnBatch(data), []
    monkeypatch.setattr(row_columns, "cells", lambda column: decoded.append(len(column)) or cells(column))
    thread = wb.StringThread.of_batch(batch)[1]
    assert thread.completion() == "a"
    assert thread.metadata == {"topic": "t"}
    assert sum(decoded) < 100 < len(data)


@given(st.integers(0, 8), st.integers(0, 8))
def test_threads_of_some_rows_of_a_batch(first, stop):
    """Those rows, with the ones that have more than turns and metadata."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [[{"role": "user", "content": f"q{row}"}] for row in range(8)]
    messages[5].append({"role": "assistant", "tool_calls": [call]})
    data = wb.Samples([{"messages": turns, "n": row} for row, turns in enumerate(messages)])._encoding.encode(
        0, 8
    )
    threads = wb.StringThread.of_batch(ColumnBatch(data), {"metadata"}, slice(first, stop))
    expected = [wb.StringThread.from_wire(wire) for wire in loaded(data)[first:stop]]
    assert [thread.to_wire() for thread in threads] == [thread.to_wire() for thread in expected]


def test_messages_tools_and_faults():
    """Conversations that no column of text holds: calls stay with their row, and what cannot be read is empty."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    samples = wb.Samples(
        [
            {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "n": 1},
            {
                "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": [call]}],
                "n": 2,
            },
            {"messages": [{"role": "user", "content": {"no": "text"}}], "n": 3},
            {"messages": '[{"role": "user", "content": "q"}]', "n": None},
        ]
    )
    rows = wires(samples.packed())
    assert rows == [tuple(wire) for wire in samples._build().wires]
    assert list(samples.problems) == [2]
    assert rows[1][2] == {1: [call]}
    assert rows[2] == ([], {}, None, None, None)


def test_a_list_of_wire_tuples_is_read_too():
    """Single rows and rows from elsewhere come as they are."""
    wire = wb.StringThread([("assistant", "a")], {"x": 1}).to_wire()
    assert [tuple(row) for row in loaded(marshal.dumps([wire]))] == [wire]
    assert loaded(dumped(0, (), ())) == []
    assert loaded(dumped(2, (), ())) == [([], {}, None, None, None)] * 2


def test_rows_beyond_the_limit_are_sent_as_they_are_graded(monkeypatch):
    """By their number, or by their bytes; the rows are the same."""
    from workbench.data.samples import encoding

    frame = pd.DataFrame({"prompt": ["q"] * 40, "completion": [f"answer {row}" for row in range(40)]})
    kept = wb.Samples(frame).packed()
    assert isinstance(kept, Packed)
    for name, value in (("CACHED_ROWS", 39), ("CACHED_BYTES", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(encoding, name, value)
            sent = wb.Samples(frame).packed()
            assert isinstance(sent, Stream)
            assert wires(sent) == wires(kept)


@pytest.mark.parametrize(
    ("metadata", "reference", "column", "key"),
    [
        ({"answer": "4"}, "4", "", "answer"),
        ({"answer": "4", "label": "4"}, "4", "answer", "answer"),
        ({"answer": "5"}, "4", "", ""),
        ({"topic": "4"}, "4", "", ""),
        ({"gold": "4"}, "4", "gold", "gold"),
        ({"label": None}, None, "", "label"),
        ({}, None, "", ""),
        (None, "4", "", ""),
    ],
)
def test_the_key_of_the_reference(metadata, reference, column, key):
    """The column where it is known, else a usual name that holds the very value."""
    assert metadata_key(metadata, reference, column) == key


def test_one_row():
    """The same tuple for a single thread."""
    thread = wb.StringThread([("assistant", "a")], {"label": "x"})
    assert row_wire(thread, "x", "7") == (*thread.to_wire(), "x", "label", "7")
