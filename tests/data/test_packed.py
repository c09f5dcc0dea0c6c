"""Packing rows: everything comes back, batches stay small, and odd values are named."""

import marshal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.thread import StringThread
from workbench.data import packed as packing

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.tuples(st.lists(st.tuples(TEXT, TEXT), max_size=4), st.none() | st.dictionaries(TEXT, PLAIN)))
)
def test_threads_survive_packing(rows):
    """Turns, metadata and lone surrogates come back as they were."""
    threads = [StringThread(turns, metadata) for turns, metadata in rows]
    packed = packing.pack(threads, batch_rows=2)
    back = [StringThread.from_wire(row) for batch in packed.batches for row in marshal.loads(batch)]
    assert [(t.get_turns(), t.metadata) for t in back] == [(t.get_turns(), t.metadata) for t in threads]
    assert packed.rows == len(rows)


def test_large_rows_close_a_batch_early(monkeypatch):
    """A batch of megabyte rows is split until it is small or one row."""
    monkeypatch.setattr(packing, "BATCH_BYTES", 1000)
    packed = packing.pack([StringThread([("user", str(i) * 400)]) for i in range(10)])
    assert packed.rows == 10
    assert max(packed.counts) <= 2


def test_a_value_that_is_not_plain_names_its_row():
    """An object in the metadata is an error that says which row holds it."""
    with pytest.raises(TypeError, match="row 1 contains a builtins.object"):
        packing.pack([StringThread(), StringThread(None, {"x": object()})])


@pytest.mark.parametrize(
    "value", [np.int64(4), np.float32(0.5), np.bool_(True), np.array([1]), bytearray(b"x")]
)
def test_buffers_are_not_quietly_turned_into_bytes(value):
    """A numpy number in the metadata is refused, since `marshal` would write its bytes."""
    with pytest.raises(TypeError, match="not plain data"):
        packing.pack([StringThread(None, {"gold": value})])


def test_serials_are_never_used_twice():
    """Two datasets are told apart even when one takes the other's place in memory."""
    assert len({packing.pack([]).serial for _ in range(50)}) == 50
