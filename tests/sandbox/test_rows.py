"""Rows with a reference: packed apart, kept with their dataset, metadata left as it was."""

import gc
import marshal
import weakref

import pytest

import workbench as wb
from workbench.packed import pack
from workbench.sandbox.host.rows import metadata_key, pack_rows, row_wire


def wires(packed):
    return [wire for batch in packed.batches for wire in marshal.loads(batch)]


def test_reference_key_and_id_stand_behind_the_thread():
    """The thread's own tuple is untouched."""
    samples = wb.Samples([{"id": "r1", "completion": "a", "answer": 4}, {"id": "r2", "completion": "b"}])
    rows = wires(pack_rows(samples.packed(), samples.references, samples.ids, "answer"))
    assert [row[-3:] for row in rows] == [(4, "answer", "r1"), (None, "answer", "r2")]
    assert [row[:-3] for row in rows] == wires(samples.packed())


def test_a_dataset_is_packed_once_and_let_go():
    """Every run shares the bytes, and they go with the dataset."""
    packed = pack([wb.StringThread([("assistant", "a")], {})])
    rows = pack_rows(packed, ["x"], ["0"])
    assert pack_rows(packed, ["x"], ["0"]) is rows
    assert rows.serial != packed.serial
    gone = weakref.ref(rows)
    del rows, packed
    gc.collect()
    assert gone() is None


def test_lengths_must_agree():
    """A reference too few is a mistake of ours, not a shift of rows."""
    packed = pack([wb.StringThread([("assistant", "a")])] * 2)
    with pytest.raises(ValueError, match="zip"):
        pack_rows(packed, ["x"], ["0", "1"])


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
