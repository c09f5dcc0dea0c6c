"""The words and cells of rows, as they are searched and filtered."""

from __future__ import annotations

import pandas as pd

import workbench as wb
from workbench.data.samples.row_drawing import written_column


def test_cells_are_told_apart_as_they_are_written():
    """1, 1.0, True and "1" read differently or alike as text does; every kind of nothing is empty; made once."""
    cells = [1, 1.0, True, "1", None, float("nan"), pd.NA, "nan", ["a"]]
    samples = wb.Samples(pd.DataFrame({"completion": "x", "cell": pd.Series(cells, dtype=object)}))
    column = written_column(samples, "cell")
    assert column.texts == ["1", "1.0", "True", "nan", "['a']"]
    assert [list(column.rows(text)) for text in ("1", "1.0", "True", None, "nan", "no")] == [
        [0, 3], [1], [2], [4, 5, 6], [7], [],
    ]  # fmt: skip
    assert written_column(samples, "cell") is column
