"""Where evidence rows come from: a column that separates them, and only one that does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from workbench.analysis.coded_column import CodedColumn
from workbench.app.view.chosen import _p_value, origin_data

ROWS = np.arange(200)


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), min_size=2, max_size=200).filter(
        lambda pairs: (
            len(set(pairs)) > 1
            and len({value for value, _ in pairs}) > 1
            and len({hit for _, hit in pairs}) == 2
        )
    )
)
def test_the_chance_is_that_of_the_usual_test(pairs):
    """Of any table of two and more values, to the last digits, as scipy's own function has it."""
    values, hits = (np.array(column) for column in zip(*pairs, strict=True))
    expected = chi2_contingency(pd.crosstab(hits, values).to_numpy()).pvalue
    assert _p_value(np.unique(values, return_inverse=True)[1], hits) == pytest.approx(
        expected, rel=1e-9, abs=1e-300
    )


def told(cells, hits):
    """The origin of evidence rows, among all rows, by this column."""
    return origin_data(
        {"writer": CodedColumn.of_texts(cells)}, hits, ROWS, np.zeros(len(ROWS), np.int8), [{"label": False}]
    )


def test_a_writer_of_all_of_them_is_named_with_its_rows():
    """Its line counts the evidence rows, and all of its rows."""
    cells = np.array(["hasty" if row % 4 == 0 else "careful" for row in ROWS], dtype=object)
    found = told(cells, ROWS[cells == "hasty"][:30])
    assert found["title"] == "Who wrote the 30"
    assert [(line["text"], line["hits"], line["of"]) for line in found["lines"]] == [("hasty", 30, 50)]
    assert found["lines"][0]["where"][-1] == {"column": "writer", "is": "hasty"}


def test_a_column_that_has_nothing_to_do_with_it_is_not_shown():
    """Values that hits and others have alike."""
    cells = np.array(["a" if row % 2 else "b" for row in ROWS], dtype=object)
    assert told(cells, ROWS[:100]) is None


def test_the_labels_do_not_explain_themselves(page_of):
    """Neither under other words nor after one label was changed; a column of numbers is cut at its quartiles."""
    rows = [
        {
            "id": f"r{n}", "prompt": f"question {n}", "human": "correct" if n % 2 else "incorrect",
            "latency": str(5_000 + n if n % 4 == 0 else n), "completion": "yes" if n % 2 or n % 4 == 0 else "no",
        }
        for n in range(240)
    ]  # fmt: skip
    page = page_of(rows, labels="human").opened()
    page.tell("label_row", row=1, value=False)
    page.settled()
    page.tell("choose", name="has yes")
    origin = page.chosen["from"]
    assert origin["note"].startswith("column latency")
    line = origin["lines"][0]
    page.tell("look", where=line["where"])
    assert page.table["count"] == line["hits"]
    assert "between" in line["where"][-1]
