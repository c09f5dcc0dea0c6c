"""Rows put off, and tags that grow while labelling: stored with the labels, a column, a filter, a chart."""

from __future__ import annotations

import csv
import io

import pytest

import workbench as wb
from tests.app.view.labelling import break_store, counts, first, kept, press
from tests.app.view.page import NASTY, ROWS, RULES

ROWS = ROWS[:30]


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


def tagged(page, action, *tags, seq=None):
    """What a page sends for a key with tags; the name of the row that was shown."""
    card = first(page)
    page.tell(
        "label", action=action, seq=card["seq"] if seq is None else seq, note="", tags=list(tags), turn=1
    )
    return card["id"]


def ids(page):
    """The cards that come."""
    return [card["id"] for card in page.label["cards"]]


def test_a_deferred_row_comes_at_the_end(page, url):
    """It is not decided, is counted, and comes again after all others, in the order in which rows were put off."""
    names = [press(page, "defer"), press(page, "defer")]
    assert not set(names) & set(ids(page))
    assert (page.label["deferred"], *counts(page)) == (2, 0, 0, 0, 0)
    assert kept(url) == {}
    for _ in range(len(ROWS) - 2):
        assert press(page, "good") not in names
    assert ids(page) == names
    assert press(page, "defer") == names[0]
    assert ids(page) == names[::-1]
    press(page, "bad")
    press(page, "bad")
    assert (page.label["deferred"], ids(page)) == (0, [])
    assert "Every row of this queue is decided" in page.label["message"]


def test_undo_goes_back_over_decisions_and_deferrals(page, url):
    """Step by step, in the order in which keys were pressed; the notes and tags come back, too."""
    names = [
        press(page, "defer"),
        tagged(page, "bad", "rude"),
        press(page, "defer"),
        press(page, "good", "fine"),
    ]
    for name in reversed(names):
        press(page, "undo")
        assert first(page)["id"] == name
    assert (page.label["deferred"], kept(url)) == (0, {})
    assert ids(page)[:4] == names
    cards = {card["id"]: card for card in page.label["cards"]}
    assert (cards[names[1]]["tags"], cards[names[3]]["note"]) == (["rude"], "fine")
    press(page, "undo")
    assert "no label to undo" in page.problem


def test_deferrals_stay_in_another_order_and_go_with_the_labeller(page):
    """A queue that is made anew has the same rows last."""
    name = press(page, "defer")
    page.tell("label_order", order="class-balanced")
    assert (page.label["deferred"], name in ids(page)[:-1]) == (1, False)
    page.tell("labeller", name="ben")
    assert page.label["deferred"] == 0


def test_tags_are_stored_with_the_label(page, url, labelling):
    """Several each, spelled as they were first; they are listed with their labels, and where the grader differs."""
    page.tell("label_grader", name="has yes")
    wrong = tagged(page, "good", "Wrong unit", "rude")
    tagged(page, "tag", "wrong  UNIT")
    assert first(page)["tags"] == ["Wrong unit"]
    other = press(page, "bad")
    with wb.open_store(url) as store:
        stored = store.labels.latest(dataset="mine")
        assert (stored[wrong].tags, stored[other].tags) == (("Wrong unit", "rude"), ("Wrong unit",))
    lines = {line["name"]: line for line in page.label["tags"]}
    assert list(lines) == ["Wrong unit", "rude"]
    accepted = {name: int(name.removeprefix("row-")) % 2 == 1 for name in (wrong, other)}
    assert lines["Wrong unit"] == {
        "name": "Wrong unit", "count": 2, "good": 1, "bad": 1, "skipped": 0,
        "differ": (not accepted[wrong]) + accepted[other], "where": [{"tag": "Wrong unit"}],
    }  # fmt: skip
    assert "tags=['Wrong unit']" in page.code
    assert [line["count"] for line in labelling().label["tags"]] == [2, 1]


def test_tags_are_a_column_and_a_filter(page):
    """Sorted, downloaded, saved in a view; the rows of a tag follow when it is taken back."""
    one, two = tagged(page, "bad", "rude", "wrong unit"), tagged(page, "bad", "rude")
    page.tell("mode", mode="grade")
    assert page.table["has_tags"]
    assert page.ask("tags") == [
        {"text": "rude", "count": 2, "where": [{"tag": "rude"}]},
        {"text": "wrong unit", "count": 1, "where": [{"tag": "wrong unit"}]},
    ]
    page.tell("columns", columns=[{"key": "tags", "shown": True, "width": 0}])
    page.tell("sort", key="tags", descending=True)
    place = [column["key"] for column in page.table["columns"] if column["shown"]].index("tags")
    assert [row["cells"][place]["t"] for row in page.table["first"][:2]] == [
        [["rude, wrong unit", ""]],
        [["rude", ""]],
    ]
    page.tell("look", where=[{"tag": "rude"}])
    assert (set(page.rows()), page.table["title"], page.code) == ({one, two}, "Tag: rude", "app.selected")
    lines = {line["sample"]: line["tags"] for line in csv.DictReader(io.StringIO(page.ask("csv")))}
    assert lines == {one: "rude; wrong unit", two: "rude"}
    page.tell("save_view", name="rude ones")
    page.tell("look", where=[])
    page.tell("mode", mode="label")
    press(page, "undo")
    page.tell("open_view", name="rude ones")
    assert page.rows() == [one]


def test_a_label_in_the_reader_keeps_tags_and_note(page):
    """Only the verdict is changed there."""
    card = first(page)
    page.tell("label", action="bad", seq=card["seq"], note="why", tags=["rude"], turn=1)
    page.tell("mode", mode="grade")
    page.tell("label_row", row=card["row"], value=True)
    label = page.session.labels.own_labels[card["id"]]
    assert (label.value, label.note, label.tags) == (True, "why", ("rude",))


def test_a_tag_that_cannot_be_kept_loses_nothing(page, url):
    """A line break is a blank; a hidden character and a full disk are refused, and the card stays."""
    tagged(page, "tag", "two\nlines")
    assert first(page)["tags"] == ["two lines"]
    tagged(page, "tag", "a\u202eb")
    assert "short printable text" in page.problem
    assert first(page)["tags"] == ["two lines"]
    with pytest.MonkeyPatch.context() as broken:
        break_store(page, broken)
        name = press(page, "bad")
    assert (first(page)["id"], first(page)["tags"]) == (name, ["two lines"])
    tagged(page, "bad", NASTY[:25])
    assert kept(url)[name] == (False, "", "ada")


def test_only_what_nobody_labelled(labelling):
    """Rows labelled in the data or by another labeller are left out; what is drawn so counts as random."""
    rows = [{**row, "mark": "good" if at < 10 else ""} for at, row in enumerate(ROWS)]
    ben = labelling(rows, labels="mark", labeller="ben")
    by_ben = [press(ben, "good") for _ in range(4)]
    ada = labelling(rows, labels="mark")
    assert ada.label["total"] == 20
    assert ids(ada)[:4] == by_ben
    ada.tell("label_order", order="unlabelled only")
    assert (ada.label["total"], set(ids(ada)) & set(by_ben)) == (16, set())
    name = press(ada, "bad")
    assert ada.session.labels.latest[name].drawn == "random"


def test_the_next_cell_has_the_tags(tmp_path):
    """One tuple per sample."""
    app = wb.Workbench(ROWS[:3], list(RULES), store=f"sqlite:///{tmp_path}/w.db", dataset="mine")
    app.session.label("row-1", False, "", ("rude",))
    assert app.tags == [(), ("rude",), ()]
    app.close()


def test_tags_are_changed_in_the_reader(page_of, url):
    """The label in the data, one's own label and its note remain; known spellings are used; a bad tag changes nothing."""
    page = page_of(ROWS, RULES, labels="good", store=url, labeller="ada", dataset="mine").opened()
    page.tell("select", row=0)
    before = page.reader["label"]
    page.tell("tag_row", row=0, tags=["Wrong unit", "rude"])
    page.settled()
    assert page.reader["tags"] == ["Wrong unit", "rude"]
    assert page.reader["label"] is before
    assert {"Wrong unit", "rude"} <= {tag["text"] for tag in page.ask("tags")}
    page.tell("select", row=1)
    page.tell("label_row", row=1, value=False)
    page.tell("tag_row", row=1, tags=["wrong  UNIT"])
    page.settled()
    assert page.reader["tags"] == ["Wrong unit"]
    assert page.reader["label"] is False
    page.tell("tag_row", row=1, tags=["x" * 2_000])
    assert page.problem
    assert page.reader["tags"] == ["Wrong unit"]
    page.tell("tag_row", row=1, tags=[])
    assert page.reader["tags"] == []
    page.tell("tag_row", row=10**9, tags=["a"])
