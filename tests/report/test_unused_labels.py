"""The sentence on a column that seems to contain labels, in a report without any."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.report.settings import unused_labels

N = 40


def report(name, cells):
    """A report without labels over rows with one more column."""
    frame = pd.DataFrame({"prompt": ["q"] * N, "completion": ["a"] * N, name: pd.Series(cells, dtype=object)})
    return wb.Contains(expected="a").run(wb.Samples(frame), progress=False)


@pytest.mark.parametrize(
    "late",
    [["a", "b"], {"a": 1}, ("a", "b"), {"a"}, np.array(["a", "b"]), pd.Series([1, 2]), b"good", Decimal(1)],
)
def test_cells_that_are_no_labels_may_come_late(late):
    """Lists after many empty cells: the column has no labels, and the report prints."""
    plain = report("verdict", [None] * 25 + [late] * 15)
    assert unused_labels(plain.samples, plain.labels) == ""
    assert "no labels were given" not in str(plain)


@pytest.mark.parametrize(
    "cells",
    [["good", "bad"], [True, False], [1, 0], [1.0, 0.0], [np.bool_(True), np.bool_(False)], np.array(["good", "bad"])],
)  # fmt: skip
@pytest.mark.parametrize("empty", [None, float("nan"), pd.NA])
def test_labels_are_found_among_empty_cells(cells, empty):
    """Of every type that `labels` takes."""
    plain = report("verdict", [empty] * 20 + list(cells) * 10)
    assert "the column 'verdict' seems to contain some" in unused_labels(plain.samples, plain.labels)


@pytest.mark.parametrize("name", ["verdict", "it's", 5, 2.5, ("a", 1)])
def test_the_call_that_is_printed_works(name):
    """A column of a frame may be named by a number, which `labels` does not take as a name."""
    plain = report(name, ["correct", "wrong"] * (N // 2))
    sentence = unused_labels(plain.samples, plain.labels)
    assert f"the column {str(name)!r} seems" in sentence
    diagnosed = eval(sentence.rpartition(": ")[2], {"report": plain})
    assert list(diagnosed.labels) == ["correct", "wrong"] * (N // 2)
