"""The map of rows: similar rows near each other, by words or embeddings, in named clusters; colours follow every state."""

from __future__ import annotations

import json
from concurrent.futures import Future

import numpy as np
import pytest

import workbench as wb
from tests.app.view.page import NASTY, NO, RULES, coded
from workbench.app.session import row_map as module
from workbench.app.session.row_map import row_map
from workbench.app.view.row_places import RowPlaces

RIVERS = (
    "The Danube flows through Vienna",
    "A recipe for onion soup with cheese",
    "The compiler reports a type error",
)


def rows_of(n=90, **more):
    """Rows about three subjects, in turn."""
    return [
        {"id": f"r{at}", "prompt": f"question {at}", "completion": f"{RIVERS[at % 3]} {'yes' if at % 2 else 'no'}", "good": bool(at % 2)}
        | {name: make(at) for name, make in more.items()}
        for at in range(n)
    ]  # fmt: skip


def nearest_share(places, kinds):
    """The share of rows whose nearest other row is of their kind."""
    distances = ((places[:, None] - places[None]) ** 2).sum(-1)
    np.fill_diagonal(distances, np.inf)
    return float((kinds[distances.argmin(1)] == kinds).mean())


def test_rows_with_the_same_words_are_near():
    """Each subject is its own place and cluster, named by its words; the same rows have the same map."""
    samples = wb.Samples(rows_of())
    made = row_map(samples)
    kinds = np.arange(90) % 3
    assert nearest_share(made.places, kinds) > 0.95
    assert made.places.min() == 0
    assert made.places.max() == 1
    assert made.source == ""
    for cluster, name in enumerate(made.names):
        inside = kinds[made.clusters == cluster]
        words = set(RIVERS[np.bincount(inside).argmax()].lower().split())
        assert set(name.split()) & words, name
    again = row_map(samples)
    assert np.array_equal(made.places, again.places)
    sizes = np.bincount(made.clusters)
    assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("written", [list, np.array, tuple, lambda vector: json.dumps(list(vector))])
def test_a_column_of_embeddings_gives_the_places(written):
    """Lists, arrays and JSON; a row without one is placed in the middle; the words still name the clusters."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(4, 12)) * 6

    def embed(at):
        return None if at == 5 else written((centres[at // 3 % 4] + rng.normal(size=12)).tolist())

    made = row_map(wb.Samples(rows_of(120, vector=embed, size=lambda at: at)))
    assert made.source == "vector"
    assert nearest_share(made.places, np.arange(120) // 3 % 4) > 0.9


@pytest.mark.parametrize(
    "cells", [lambda at: [1.0], lambda at: [True, False], lambda at: [1.0, float("nan")], lambda at: [1.0] * (2 + at % 2), lambda at: "[1, 2", lambda at: ["a", "b"]]
)  # fmt: skip
def test_other_lists_are_no_embeddings(cells):
    """Too short, of other things, of different lengths, broken."""
    assert row_map(wb.Samples(rows_of(30, vector=cells))).source == ""


@pytest.mark.parametrize(
    "rows", [[{"prompt": "a", "completion": "b"}], [{"prompt": "a", "completion": "b"}] * 40, [{"prompt": "", "completion": ""}] * 3, rows_of(2)]
)  # fmt: skip
def test_few_or_equal_rows_have_a_map(rows):
    """One row, equal rows, rows without a word."""
    made = row_map(wb.Samples(rows))
    assert made.places.shape == (len(rows), 2)
    assert np.isfinite(made.places).all()
    assert len(made.names) == made.clusters.max() + 1


def test_of_many_rows_some_are_drawn(monkeypatch):
    """At most `MAX_ROWS`, at random, in order."""
    monkeypatch.setattr(module, "MAX_ROWS", 50)
    made = row_map(wb.Samples(rows_of(90)))
    assert len(made.rows) == len(made.places) == 50
    assert (np.diff(made.rows) > 0).all()


@pytest.fixture
def page(page_of):
    """A page over three subjects, graded."""
    return page_of(rows_of(), (*RULES, coded()), labels="good").opened()


def mapped(page):
    """The map, once it is made."""
    page.until(lambda page: not page.ask("map")["busy"], "the map")
    return page.ask("map")


def test_a_page_gets_the_map_when_it_is_made(page):
    """The first answer is that it is under way; the kernel is not blocked; then every row has its place."""
    assert page.ask("map") == {"busy": True, "problem": ""}
    made = mapped(page)
    assert made["rows"] == list(range(90))
    assert all(0 <= place <= made["side"] for place in (*made["x"], *made["y"]))
    assert made["note"] == "by words"
    assert max(made["clusters"]) == len(made["names"]) - 1


def test_colours_follow_grader_edit_and_selection(page):
    """One character per row: its part, its score, whether it is selected."""
    assert page.ask("map_state") == {"parts": "", "scores": "", "picked": ""}
    mapped(page)
    page.tell("choose", name="coded")
    before = page.ask("map_state")
    expected = "".join("0" if at % 2 else "3" for at in range(90))  # known good accepted, known bad rejected
    assert (before["parts"], before["scores"], before["picked"]) == (
        expected,
        expected.replace("0", "9").replace("3", "0"),
        "",
    )
    page.typed("coded", NO)
    assert page.ask("map_state")["parts"] != expected
    page.tell("look", where=[{"rows": [0, 2, 4]}])
    picked = page.ask("map_state")["picked"]
    assert [at for at, each in enumerate(picked) if each == "1"] == [0, 2, 4]


def test_other_rows_have_another_map(page):
    """After another draw the old map is gone, and the new one has its rows."""
    mapped(page)
    page.tell("draw", draw={"n": 30})
    page.settled()
    assert len(mapped(page)["rows"]) == 30


def test_a_map_that_fails_says_why(page, monkeypatch):
    """Nothing else does."""

    def fail(_):
        raise ValueError(NASTY)

    monkeypatch.setattr("workbench.app.view.row_places.row_map", fail)
    page.until(lambda page: not page.ask("map")["busy"], "the failure")
    assert "ValueError" in page.ask("map")["problem"]
    assert page.problem is None


def test_a_map_that_is_cancelled_says_so(page):
    """Its future has neither a map nor an exception."""
    mapped(page)
    places, future = RowPlaces(page.view), Future()
    future.cancel()
    places._samples = page.view.graded.report.samples
    places._made(places._samples, future)
    assert places.ask_map()["problem"].startswith("CancelledError")
