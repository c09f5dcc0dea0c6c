"""Row numbers of findings."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
import workbench.analysis.diagnostics as wd
from workbench.analysis.finding import RowNumbers
from workbench.core.grades import Grades

NUMBERS = st.lists(st.integers(0, 2**40), max_size=50)


@given(NUMBERS)
def test_they_read_as_a_tuple_does(numbers):
    """Length, items, slices, membership, equality and hash are those of the numbers."""
    rows = RowNumbers(numbers)
    assert (len(rows), list(rows), rows[1:].__class__) == (len(numbers), numbers, RowNumbers)
    assert rows == tuple(numbers) == rows
    assert rows == RowNumbers(np.array(numbers, np.int64))
    assert hash(rows) == hash(RowNumbers(numbers))
    assert rows != [*numbers, 1]
    assert np.asarray(rows).tolist() == numbers
    assert copy.deepcopy(rows) == pickle.loads(pickle.dumps(rows)) == rows
    assert all(type(number) is int for number in rows)


@given(NUMBERS)
def test_packed_text_comes_back(numbers):
    """In the same order; with fewer allowed than there are it is refused."""
    text = RowNumbers(numbers).packed()
    assert RowNumbers.unpacked(text, len(numbers)) == tuple(numbers)
    if numbers:
        with pytest.raises(ValueError, match="more than"):
            RowNumbers.unpacked(text, len(numbers) - 1)


@pytest.mark.parametrize("text", ["", "x", "eJw=", "!!!!", "AAAA"])
def test_what_is_no_packed_text_is_refused(text):
    """With a ValueError, as a damaged database may hold anything."""
    with pytest.raises(ValueError):
        RowNumbers.unpacked(text, 10)


@pytest.mark.parametrize("rows", [[-1], [0.5], ["a"], [[1, 2]], [True]])
def test_what_is_no_row_number_is_refused(rows):
    """A row number is a whole number from 0 on."""
    with pytest.raises(ValueError, match="whole numbers"):
        RowNumbers(rows)


def test_a_finding_keeps_all_its_rows():
    """As many as its sentence counts, from all over the data, and each of them can be found again."""
    n = 20_000
    good = np.arange(n) % 2 == 0
    samples = wb.Samples([{"completion": f"row {at}" + " rare" * (at % 1_001 == 0)} for at in range(n)])
    report = wb.Length(minimum=1).run(samples, progress=False).diagnose(labels=good)
    found = next(one for one in report.findings if one.kind == "too-lenient")
    assert "10,000 of 10,000" in found.message
    assert set(found.rows) == set(range(1, n, 2))
    where = {"finding": [found.grader, found.kind]}
    assert len(report.row_numbers(where)) == 10_000
    assert len(report.row_numbers(where, {"text": "rare"})) == sum(at % 1_001 == 0 for at in range(1, n, 2))


@pytest.mark.parametrize("preset", wd.presets())
def test_no_preset_leaves_rows_out(preset):
    """Every finding about scores at one end has all the rows at that end."""
    grades = Grades.empty(3_000)
    grades.put_scores(0, np.ones(3_000), seconds=0.0)
    assert {len(one.rows) for one in wd.diagnose(grades, preset=preset) if one.rows} == {3_000}
