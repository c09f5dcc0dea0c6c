"""Notes of rows: whatever is done to them, they are what a dict would be."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.grades import RowNotes

STRETCHES = st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(-1, 2), max_size=6)), max_size=4)
OWN = st.dictionaries(st.integers(0, 40), st.text(max_size=2), max_size=6)


@given(STRETCHES, OWN, st.lists(st.integers(0, 40), max_size=5), st.lists(st.integers(0, 40), unique=True))
def test_notes_are_a_dict(stretches, own, removed, taken):
    """Notes by rule and notes of single rows, replaced, removed, copied, taken and listed."""
    notes, expected, first = RowNotes(), {}, 0
    for gap, codes in stretches:
        first += gap
        notes.put_stretch(first, np.array(codes, np.int64), str)
        expected |= {first + at: str(code) for at, code in enumerate(codes) if code >= 0}
        first += len(codes)
    notes.update(own)
    expected |= own
    before = notes.copy()
    for row in removed:
        assert notes.pop(row, None) == expected.pop(row, None)
    assert dict(notes.items()) == expected
    assert list(notes) == sorted(expected)
    assert len(notes) == len(expected)
    assert bool(notes) == bool(expected)
    assert [notes.get(row) for row in range(45)] == [expected.get(row) for row in range(45)]
    assert [row in notes for row in range(45)] == [row in expected for row in range(45)]
    assert notes == expected
    assert list(notes.values()) == [expected[row] for row in sorted(expected)]
    assert notes.get("no row") is None
    assert pickle.loads(pickle.dumps(notes)) == expected
    assert repr(notes) == f"RowNotes({dict(sorted(expected.items()))!r})"
    some = notes.take(np.array(taken, np.intp))
    assert some == {at: expected[row] for at, row in enumerate(taken) if row in expected}
    assert all(before.get(row) is not None for row in removed if row in before)
    whole = RowNotes.joined([(notes, 45), (some, len(taken)), (before, 45)])
    joined = [(expected, 45), (dict(some), len(taken)), (dict(before), 45)]
    after = {0: 0, 1: 45, 2: 45 + len(taken)}
    assert whole == {
        after[at] + row: note for at, (part, _) in enumerate(joined) for row, note in part.items()
    }
