"""The Label mode: decisions by key, saved immediately, in an order that finds errors."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.app.view.labelling import break_store, counts, first, kept, press
from tests.app.view.page import ROWS, RULES

ROWS = ROWS[:24]
SHARE = "async def grade(thread):\n    return len(thread.completion() or '') / 9\n"


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


def test_decisions_are_in_the_store_before_the_next_card(page, url, labelling):
    """Good, bad and skip with their notes are saved immediately, and a second page shows them."""
    names = [press(page, "good"), press(page, "bad", "too short"), press(page, "skip", "unsure")]
    assert len(set(names)) == 3
    assert first(page)["id"] not in names
    values = [(True, "", "ada"), (False, "too short", "ada"), (None, "unsure", "ada")]
    assert kept(url) == dict(zip(names, values, strict=True))
    assert (*counts(page), page.label["total"]) == (3, 1, 1, 1, 24)
    assert counts(labelling()) == (3, 1, 1, 1)


def test_what_was_decided_is_listed_the_last_one_first(page):
    """Each line has its row, its completion, the label, and whether the grader agrees."""
    names = [press(page, action) for action in ("good", "bad", "skip")]
    assert [(line["id"], line["value"]) for line in page.label["past"]] == list(
        zip(reversed(names), [None, False, True], strict=True)
    )
    accepted = int(names[0].removeprefix("row-")) % 2 == 1
    assert page.label["past"][-1]["same"] is accepted
    assert page.label["past"][-1]["text"] == ROWS[int(names[0].removeprefix("row-"))]["completion"]


def test_undo_goes_back_card_by_card(page, url):
    """Undo restores the last card, then the one before; with none left it reports this."""
    names = [press(page, action) for action in ("good", "bad", "skip")]
    for name in reversed(names):
        press(page, "undo")
        assert first(page)["id"] == name
    assert (kept(url), page.label["past"]) == ({}, [])
    press(page, "undo")
    assert "no label to undo" in page.problem
    press(page, "bad")
    assert kept(url) == {names[0]: (False, "", "ada")}


def test_a_key_pressed_twice_counts_once(page, url):
    """A second decision on the same card is dropped; a card that came back has its number, and is decided by it."""
    card = first(page)
    press(page, "good", seq=card["seq"])
    press(page, "bad", seq=card["seq"])
    press(page, "good", seq=999)
    assert kept(url) == {card["id"]: (True, "", "ada")}
    press(page, "undo")
    assert first(page)["seq"] == card["seq"]
    press(page, "bad", seq=card["seq"])
    assert kept(url) == {card["id"]: (False, "", "ada")}


def test_the_cards_ahead_are_those_that_come(page):
    """What a page shows before it has heard back is what is shown then, under the same numbers; keys may run ahead."""
    ahead = page.label["cards"][:6]
    for card in ahead[:4]:
        press(page, "good", seq=card["seq"])
    assert page.label["cards"][:2] == ahead[4:]
    assert page.label["heard"] == {"page": "p", "seq": ahead[3]["seq"], "turn": 1}


def test_a_store_that_cannot_be_written_loses_nothing(page, url):
    """The error is shown, the card stays, nothing is listed, and the same key works once the store does."""
    card = first(page)
    with pytest.MonkeyPatch.context() as broken:
        break_store(page, broken)
        press(page, "bad", "why")
    assert "the disk is full" in page.problem
    assert (first(page)["id"], page.label["done"], page.label["past"], kept(url)) == (card["id"], 0, [], {})
    assert page.label["heard"]["seq"] == card["seq"], "the page must not wait for ever"
    press(page, "bad", "why")
    assert page.problem is None
    assert kept(url) == {card["id"]: (False, "why", "ada")}


def test_an_undo_that_failed_drops_nothing(page):
    """What was not undone is still among the last decisions; what was is not."""
    name = press(page, "good")
    with pytest.MonkeyPatch.context() as broken:
        break_store(page, broken, "undo")
        press(page, "undo")
    assert "the disk is full" in page.problem
    assert ([line["id"] for line in page.label["past"]], first(page)["id"] != name) == ([name], True)
    press(page, "undo")
    assert (page.label["past"], first(page)["id"]) == ([], name)


@pytest.mark.parametrize("name", ["x" * 201, "two\nlines", "\u202egpj"])
def test_a_name_no_store_takes_is_refused_at_once(page, name):
    """Not at the first label: the error is shown, and labelling continues."""
    page.tell("labeller", name=name)
    assert "a labeller must be a short printable text" in page.problem
    assert page.label["labeller"] == "ada"


def test_undo_brings_the_note_back(page, url):
    """A note that was written is not written again."""
    name = press(page, "good", "a long careful note")
    press(page, "undo")
    assert (first(page)["id"], first(page)["note"]) == (name, "a long careful note")
    press(page, "bad", first(page)["note"])
    assert kept(url) == {name: (False, "a long careful note", "ada")}


def test_a_note_waits_for_its_label(page, url):
    """A note outlives changes of its card, and is saved with the label."""
    name = press(page, "note", "half a th")
    assert (first(page)["note"], kept(url), page.label["past"]) == ("half a th", {}, [])
    page.tell("label_order", order="class-balanced")
    page.tell("label_order", order="random")
    assert (first(page)["id"], first(page)["note"]) == (name, "half a th")
    press(page, "bad")
    assert kept(url) == {name: (False, "half a th", "ada")}


def test_a_note_of_a_row_that_has_a_label_is_kept_at_once(page, url):
    """A remark on a row that was labelled joins its label; an undo takes the remark away first."""
    before = press(page, "bad")
    card = first(page)
    press(page, "good")
    press(page, "note", "on second thoughts", seq=card["seq"])
    assert kept(url)[card["id"]] == (True, "on second thoughts", "ada")
    press(page, "undo")
    assert kept(url)[card["id"]] == (True, "", "ada")
    assert [line["id"] for line in page.label["past"]] == [card["id"], before]


@pytest.mark.parametrize("what", ["run", "use_labels", "choose"])
def test_nobody_takes_the_card_away(page, what):
    """A run that ends, new findings and another chosen grader leave the card that is read where it is."""
    press(page, "good")
    press(page, "note", "half a th")
    before = first(page)
    page.tell(what, **({"name": "exact"} if what == "choose" else {}))
    if what == "run":
        page.session.runs.job.report(60)
    page.settled()
    assert first(page) == before
    press(page, "bad", seq=before["seq"])
    assert first(page)["id"] != before["id"]


def test_a_second_labeller_gets_the_queue_anew(page):
    """The first labeller's decisions are not the second's; if both labelled, their agreement is shown."""
    seen = [press(page, "bad" if n % 2 else "good") for n in range(6)]
    page.tell("labeller", name=" bob ")
    assert page.label["labeller"] == "bob"
    assert (first(page)["id"], page.label["done"], page.label["past"]) == (seen[0], 0, [])
    for n in range(4):
        assert press(page, "bad" if n % 2 else "good") == seen[n]
    kappa = next(line for line in page.label["stats"] if line["name"] == "kappa with ada")
    assert kappa["of"] == "1.00"
    page.tell("labeller", name="ada")
    assert page.label["done"] == 6


def test_another_labellers_label_is_not_taken_back(page, url):
    """From then on labels carry the new name, and only those can be undone."""
    press(page, "good")
    page.tell("labeller", name="bob")
    press(page, "undo")
    assert "no label to undo" in page.problem
    name = press(page, "bad")
    assert kept(url)[name] == (False, "", "bob")


def test_labels_put_by_code_are_seen(page, url):
    """Labels added elsewhere meanwhile are shown when the mode is opened again."""
    name = first(page)["id"]
    with wb.open_store(url) as store:
        store.labels.put(name, True, labeller="ada", dataset="mine")
    page.tell("mode", mode="grade")
    page.tell("mode", mode="label")
    assert (counts(page), first(page)["id"] != name) == ((1, 1, 0, 0), True)


PARTLY = [
    {**row, "good": ("correct" if row["good"] else "incorrect") if n < 16 else ""}
    for n, row in enumerate(ROWS)
]


def test_rows_that_the_data_labels_are_not_asked_again(labelling):
    """The queue has the others, and the page says how many the column labels; an order asks for these."""
    page = labelling(PARTLY, labels="good")
    asked = {card["id"] for card in page.label["cards"]}
    assert asked == {row["id"] for row in PARTLY[16:]}
    assert page.label["total"] == 8
    assert "16 rows labelled by column good: not shown again." in page.label["message"]
    page.tell("label_order", order="check the data's labels")
    assert {card["id"] for card in page.label["cards"]} == {row["id"] for row in PARTLY[:16]}


def test_a_changed_label_is_marked_told_and_undone(page_of):
    """In the table, in the reader and in Label; the findings follow; undoing it brings the data's label back."""
    page = page_of(PARTLY, RULES, labels="good").opened()
    page.tell("select", row=1)
    assert (page.reader["label"], page.reader["given"]) == (True, None)
    before = page.line("has yes")["counts"]
    page.tell("label_row", row=1, value=False)
    page.settled()
    assert (page.reader["label"], page.reader["given"]) == (False, True)
    cells = [cell for cell in page.table["first"][1]["cells"] if "label" in cell]
    assert cells == [{"label": False, "changed": True}]
    after = page.line("has yes")["counts"]
    assert (after["good_accepted"], after["bad_accepted"]) == (
        before["good_accepted"] - 1,
        before["bad_accepted"] + 1,
    )
    assert page.session.results.report.labels[1] is False
    page.tell("mode", mode="label")
    assert "Your labels differ from it in 1 row." in page.label["message"]
    page.tell("mode", mode="grade")
    page.tell("label_row", row=1, value=None)
    page.settled()
    assert (page.reader["label"], page.reader["given"]) == (True, None)
    assert page.line("has yes")["counts"] == before


def test_rows_nearest_the_pass_threshold_come_first(labelling):
    """Those whose score is farthest from it come last."""
    graders = [wb.FunctionGrader.from_source(SHARE, name="share")]
    rows = [{**row, "completion": "x" * (n % 9)} for n, row in enumerate(ROWS)]
    page = labelling(rows, graders)
    page.tell("label_order", order="nearest the pass threshold")
    scores = page.session.results.report.scores["share"].to_numpy()
    distances = [abs(scores[card["row"]] - 0.5) for card in page.label["cards"]]
    assert distances == sorted(distances)
    assert len(set(distances)) > 5
