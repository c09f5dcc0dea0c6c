"""Columns as integers and strata without sorting, against the plain way over the same cells."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from workbench.analysis.coded_column import CodedColumn
from workbench.analysis.confounders import explained_share, within
from workbench.analysis.statistics import dot, level_codes
from workbench.analysis.statistics.association import difference_within_levels, within_levels
from workbench.report.sample_columns import SampleColumns

CELLS = {
    "texts": ["b", "a", None, "", "a", "ä"],
    "whole numbers": [3, 1, 2, 1, 3, 3],
    "numbers": [0.5, 1.0, math.nan, 0.5, 2.5, 1.0],
    "zeros of both signs": [0.0, -0.0, 1.0, 0.0, -0.0, 1.0],
    "truth values": [True, False, True, True, False, True],
    "mixed": [1, "1", 1.0, True, None, "x"],
    "dates": list(pd.to_datetime(["2024-01-01", "2024-02-01"] * 3)),
    "gaps": pd.array([1, 2, None, 1, 2, 1], dtype="Int64"),
    "categories": pd.Categorical(["u", "v", "u", "v", "v", "u"]),
}


class Rows:
    """Rows of one column."""

    columns: dict[str, str] = {}

    def __init__(self, cells):
        self.frame = pd.DataFrame({"c": cells})
        self.column_names = ["c"]

    def __len__(self):
        return len(self.frame)

    def column(self, name):
        return self.frame[name]

    def take(self, rows):
        return Rows(self.frame["c"].iloc[rows])


@pytest.mark.parametrize("kind", CELLS)
def test_cells_have_the_texts_of_the_column(kind):
    """Of every type, with "" for a missing one; codes are in the order of the texts."""
    rows = Rows(CELLS[kind])
    plain = ["" if cell is None or cell is pd.NA or cell != cell else str(cell) for cell in rows.frame["c"]]
    columns = SampleColumns(rows)
    assert list(columns.few_valued["c"]) == plain
    coded = columns.coded["c"]
    assert list(coded.categories) == sorted(set(plain))


@pytest.mark.parametrize("seed", range(20))
def test_some_rows_are_coded_as_by_unique(seed):
    """Only the values that occur, sorted; a missing cell stays missing."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(np.array(["b", "a", "", "long", "ä"], dtype=object), 60)
    coded = CodedColumn.of_texts(cells)
    rows = np.sort(rng.choice(60, int(rng.integers(1, 60)), replace=False))
    values, codes = np.unique(cells[rows].astype(str), return_inverse=True)
    some = coded.at(rows)
    assert some.categories == tuple(values.tolist())
    assert (some.codes == codes).all()
    gaps = CodedColumn.of_texts(None if cell == "a" else cell for cell in cells)
    assert list(gaps.texts) == [None if cell == "a" else cell for cell in cells]


def test_values_by_frequency():
    """The most frequent first; of equally frequent ones the one that occurs first; missing cells do not count."""
    coded = CodedColumn.of_texts(["b", None, "c", "a", "c", None, None, "a", "b", "c"])
    assert [(coded.categories[code], count) for code, count in coded.by_frequency()] == [
        ("c", 3),
        ("b", 2),
        ("a", 2),
    ]
    assert CodedColumn.of_texts([]).by_frequency() == []


@pytest.mark.parametrize("seed", range(20))
def test_strata_are_those_of_sorting(seed):
    """Levels, pairs of levels and values, and differences within them, for labels, large numbers and floats."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 400))
    levels = [rng.integers(-1, 2, n).astype(np.int8), rng.integers(0, 10**9, n), rng.choice([0.5, 1.5], n)][
        seed % 3
    ]
    codes, scores, own = rng.integers(0, 4, n), rng.random(n), rng.random(n) < 0.4
    assert (level_codes(levels) == np.unique(levels, return_inverse=True)[1]).all()
    if seed % 3 != 2:
        pairs = np.stack([levels.astype(np.intp), codes])
        assert (within(levels, codes) == np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)).all()
    few = levels if seed % 3 != 1 else levels % 3
    gaps, weights = [], []
    for level in np.unique(few):
        inside, outside = scores[own & (few == level)], scores[~own & (few == level)]
        if min(len(inside), len(outside)) >= 8:
            gaps.append(inside.mean() - outside.mean())
            weights.append(len(inside) * len(outside) / (len(inside) + len(outside)))
    value = np.average(gaps, weights=weights) if gaps else math.nan
    assert difference_within_levels(scores, few, own) == pytest.approx(value, nan_ok=True)
    assert within_levels(scores, np.arange(n), few, own).value == pytest.approx(value, nan_ok=True)


def test_a_share_of_the_variance():
    """A column that is the scores explains all of it, one without relation nothing but its adjustment."""
    codes = np.tile([0, 1], 50)
    assert explained_share(codes.astype(float), np.zeros(100, np.int8), codes) == pytest.approx(1.0)
    assert explained_share(np.tile([0.0, 0.0, 1.0, 1.0], 25), np.zeros(100, np.int8), codes) <= 0
    assert dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 11.0
