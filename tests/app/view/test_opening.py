"""The work an app does when it opens: little, for any number of rows, and nothing twice."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.app.view.page import RULES, Page
from workbench.app.session.session_labels import DatasetLabels
from workbench.app.session.storage import Storage
from workbench.data.samples import row_drawing
from workbench.report.sample_columns import few_valued_columns

MANY = 5_200  # more rows than are indexed immediately


@pytest.fixture
def many():
    """Rows whose words are read in the background."""
    return wb.Samples(
        pd.DataFrame(
            {
                "prompt": [f"question {n}" for n in range(MANY)],
                "completion": [f"answer {n}" for n in range(MANY)],
            }
        )
    )


def everything(page):
    """All rows drawn, and graded."""
    page.tell("draw", draw={"n": 0})
    return page.settled()


def test_what_is_seldom_needed_is_not_loaded():
    """SciPy's distributions and the dialects of other databases take half a second."""
    seldom = {"scipy.stats", "sqlalchemy.dialects.postgresql"}
    code = f"import sys, workbench.app.widgets.app; print({seldom!r} & set(sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "set()"
    )


def test_words_are_read_once_nothing_is_graded(page_of, many, monkeypatch):
    """Indexing blocks grading: it starts after grading, or immediately for a search."""
    begun = []
    row_words = row_drawing.row_words
    monkeypatch.setattr(
        "workbench.app.view.table.row_words",
        lambda samples: (
            (begun.append(page.session.live.idle) if samples is many else None) or row_words(samples)
        ),
    )
    page = page_of(many, graders=RULES).opened()
    everything(page)
    page.until(lambda _: row_drawing.known_words(many) is not None, "the words")
    assert all(begun)
    assert not page.table["busy"]
    page.tell("search", text="answer 5199")
    assert page.table["count"] == 1


def test_a_search_finds_its_rows_whenever_the_words_come(page_of, many):
    """The rows may arrive between the check and the wait: they are checked again."""
    page = page_of(many, graders=RULES)
    page.tell("mode", mode="grade")
    page.session.rows.change(n=0)
    table, update = page.view.rows.table, type(page.view.rows.table).update

    def update_then_words(self):
        update(self)
        row_drawing.row_words(many)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(table), "update", update_then_words)
        page.tell("search", text="answer 5199")
        page.until(lambda page: page.table["count"] == 1, "the row")
    assert not page.table["busy"]


def test_nothing_is_opened_to_learn_that_nobody_labelled():
    """A store in memory is new until something is put into it."""
    storage = Storage(None)
    labels = DatasetLabels(wb.Samples([{"prompt": "p", "completion": "c"}]), None, storage)
    assert labels.latest == {}
    assert storage.is_new
    storage.store.labels.put("x", True, labeller="", dataset="d")
    assert not storage.is_new
    storage.close()
    assert not Storage("sqlite://").is_new


def test_given_labels_of_some_of_the_rows():
    """Rows that are drawn, taken twice, in another order, or not of this dataset have the column's label, or none."""
    rows = wb.Samples(
        [{"prompt": f"p{n}", "completion": "c", "good": [True, False, None][n % 3]} for n in range(30)]
    )
    half = rows.take(np.arange(0, 30, 2))
    labels = DatasetLabels(half, "good", Storage(None))
    expected = {f"p{n}": [True, False, None][n % 3] for n in range(0, 30, 2)}
    for view in (half.take([3, 3, 0]), half.head(4), rows, rows.take([29, 28, 27])):
        known = labels.given_to(view) or [None] * len(view)
        assert known == [expected.get(name) for name in view.frame["prompt"]]


@pytest.mark.parametrize(("n", "few"), [(50, True), (51, False)])
def test_columns_of_few_values_are_those_of_all_rows(n, few):
    """Also if the first thousand rows contain fewer of them than all."""
    values = ["x"] * 2_000 + [f"v{number}" for number in range(n - 1)]
    frame = pd.DataFrame({"prompt": "p", "completion": "c", "kind": values, "own": range(len(values))})
    assert few_valued_columns(wb.Samples(frame)) == (["kind"] if few else [])


def test_a_page_that_was_never_opened_reads_no_words(many):
    """Code that makes an app and shows it nowhere pays nothing for it."""
    page = Page(many, RULES)
    page.session.rows.change(n=0)
    assert row_drawing.known_words(many) is None
    page.close()
