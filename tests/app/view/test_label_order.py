"""Which rows are labelled next, how they count, and how labels agree with graders as they come."""

from __future__ import annotations

from itertools import pairwise

import pytest

import workbench as wb
from tests.app.view.labelling import counts, first, kept, press
from tests.app.view.page import ROWS, RULES

ROWS = ROWS[:24]


@pytest.fixture
def url(tmp_path):
    """A store's address."""
    return f"sqlite:///{tmp_path}/labels.db"


@pytest.fixture
def labelling(page_of, url):
    """Make a page with Label open, all rows graded."""

    def new(samples=ROWS, graders=RULES, **settings):
        page = page_of(samples, graders, **{"store": url, "labeller": "ada", "dataset": "mine", **settings})
        page.opened().tell("mode", mode="label")
        return page

    return new


@pytest.fixture
def page(labelling):
    """One such page."""
    return labelling()


@pytest.mark.parametrize(
    ("order", "drawn"),
    [
        ("random", "random"), ("class-balanced", "class-balanced refused 12/24"), ("disagreement first", "disagreement first"),
        ("as shown", "as shown"),
    ],
)  # fmt: skip
def test_a_label_says_how_its_row_was_drawn(page, order, drawn):
    """Only then can rates be estimated from labels; the mode states which labels are excluded."""
    page.tell("label_grader", name="has yes")
    page.tell("look", where=[{"grader": "has yes", "passed": True}])
    page.tell("label_order", order=order)
    name = press(page, "good")
    assert page.session.labels.latest[name].drawn == drawn
    told, chosen = page.label["message"], order in {"disagreement first", "as shown"}
    assert ("1 label of rows not drawn at random: not used in the findings" in told) == (order != "random")
    assert ("1 label of rows selected by their grades: not used in these rates" in told) == chosen
    assert (page.label["stats"] == []) == chosen


def test_rows_come_at_random_unless_asked(page):
    """Labels of rows drawn otherwise make no findings, so the order that does comes first."""
    assert page.label["order"] == page.label["orders"][0]["name"] == "random"
    page.tell("label_order", order="unknown order")
    assert page.label["order"] == "random"


def test_a_decision_on_a_card_of_other_rows_says_nothing_of_these(page, url):
    """After another draw a late key is of the row that was shown, never of the row that has its number now."""
    shown = page.label["cards"][:2]
    page.tell("draw", draw={"n": 6, "seed": 1})
    page.settled()
    for card in shown:
        press(page, "good", seq=card["seq"])
    assert set(kept(url)) == {card["id"] for card in shown}
    there = {str(name) for name in page.session.results.report.samples.ids}
    assert {card["id"] for card in page.label["cards"]} == there - set(kept(url))


def is_accepted(name):
    """Whether "has yes" accepts a row."""
    return ROWS[int(name.removeprefix("row-"))]["completion"] == "yes"


def test_class_balanced_shows_both_verdicts_alike(page):
    """Of every two cards one was accepted and one refused, as long as there are both; then the queue is done."""
    page.tell("label_grader", name="has yes")
    page.tell("label_order", order="class-balanced")
    seen = [is_accepted(press(page, "skip")) for _ in range(24)]
    assert [sorted(pair) for pair in zip(seen[::2], seen[1::2], strict=True)] == [[False, True]] * 12
    assert seen != [False, True] * 12, "a strict turn tells the labeller the verdict"
    assert page.label["cards"] == []
    assert "Every row of this queue is decided." in page.label["message"]
    assert (page.label["done"], page.label["total"]) == (24, 24)
    press(page, "good")
    assert page.problem is None
    press(page, "undo")
    assert page.label["cards"] != []


def test_class_balanced_starts_anew_after_other_labels(page):
    """Rows labelled at random before leave the pairs whole: of every two cards one was accepted and one refused."""
    page.tell("label_grader", name="has yes")
    done = [is_accepted(press(page, "skip")) for _ in range(7)]
    page.tell("label_order", order="class-balanced")
    pairs = 12 - max(done.count(True), done.count(False))
    seen = [is_accepted(press(page, "skip")) for _ in range(2 * pairs)]
    assert [sorted(pair) for pair in zip(seen[::2], seen[1::2], strict=True)] == [[False, True]] * pairs


def test_disagreement_with_known_labels_comes_first(labelling):
    """One grader and a column of labels: where it is wrong comes before where it is right."""
    page = labelling(graders=(wb.Contains(expected="yes", name="has yes"),), labels=[True] * 24)
    page.tell("label_order", order="disagreement first")
    assert not any(is_accepted(press(page, "skip")) for _ in range(12))
    assert all(is_accepted(press(page, "skip")) for _ in range(12))


def test_rows_as_shown_follow_the_table(page):
    """The queue is what the table shows, in its order, and another filter makes another queue."""
    page.tell("label_order", order="as shown")
    page.tell("look", where=[{"grader": "exact", "passed": True}])
    expected = page.session.results.report.row_numbers({"grader": "exact", "passed": True}).tolist()
    assert [card["row"] for card in page.label["cards"]] == expected
    assert page.label["total"] == len(expected)


def test_agreement_moves_with_every_label(page):
    """The live numbers are the report's agreement of the chosen grader with the labels so far."""
    page.tell("label_grader", name="has yes")
    seen = [page.label["stats"]]
    for action in ("good", "bad", "good", "bad"):
        press(page, action)
        weighted = page.session.labels.weighted(page.session.results.report.samples)
        agreement = page.session.results.report.agreement(
            "has yes", weighted.labels, weights=weighted.weights
        )
        shares = (agreement.observed, agreement.specificity, agreement.sensitivity)
        assert [line["of"] for line in page.label["stats"][:3]] == [
            f"{one.k:,} of {one.n:,}" for one in shares
        ]
        seen.append(page.label["stats"])
    assert all(one != two for one, two in pairwise(seen))


def test_cards_tell_nothing_that_leads(labelling):
    """No score, no verdict, and nothing of the column that is given as labels."""
    page = labelling(labels="good")
    assert set(first(page)) == {"seq", "row", "id", "note", "tags", "turns", "documents", "expected"}
    assert [turn["role"] for turn in first(page)["turns"]] == ["prompt", "completion"]
    assert '"good"' not in str(page.ask("card_piece", row=first(page)["row"], part="metadata", start=0))


def test_a_long_turn_is_fetched_whole(labelling):
    """Long texts of a card are sent in pieces on request."""
    text = "word " * 4_000
    page = labelling([{**ROWS[0], "completion": text}], RULES[:1])
    turn = first(page)["turns"][-1]
    start = len("".join(piece for piece, _ in turn["text"]))
    assert (start + turn["more"], start > 0) == (len(text), True)
    pieces = []
    while start < len(text):
        piece = page.ask("card_piece", row=0, part=turn["part"], start=start)
        pieces.append("".join(part for part, _ in piece["text"]))
        start = piece["stop"]
    assert text.endswith("".join(pieces))


def test_labels_of_other_texts_are_told_and_do_not_count(page, labelling):
    """A new model's completions under the same ids: the mode states whose labels it excluded."""
    for _ in range(3):
        press(page, "good")
    page.close()
    second = labelling([{**row, "completion": "something else"} for row in ROWS])
    assert "3 rows with labels of other texts under the same ids" in second.label["message"]
    assert counts(second) == (0, 0, 0, 0)


def test_labels_in_memory_are_said_to_be_so(labelling):
    """Without a store nothing is saved, and the labeller is warned at the start."""
    assert "pass store= to save them" in labelling(store=None).label["message"]


def test_findings_take_the_labels_when_they_are_asked_to(page):
    """New labels are reported; once used, the findings depend on them."""
    assert not page.label["new_labels"]
    name = press(page, "good")
    assert page.label["new_labels"]
    page.tell("use_labels")
    assert not page.label["new_labels"]
    assert page.session.results.report.labels[int(name.removeprefix("row-"))] is True


@pytest.mark.parametrize(
    "content",
    [
        {"action": "explode", "note": "", "seq": 1}, {"action": "good", "note": None, "seq": 1},
        {"action": "good", "note": "", "seq": "1"}, {"action": ["good"], "note": "", "seq": 1}, {},
    ],
)  # fmt: skip
def test_decisions_without_sense_are_ignored(page, url, content):
    """None of them is saved, and there is no error."""
    page.tell("label", turn=1, **content)
    assert (kept(url), page.problem, page.label["done"]) == ({}, None, 0)
