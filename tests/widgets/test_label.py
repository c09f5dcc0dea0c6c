"""The Label panel: decisions by key, kept at once, in an order that finds mistakes."""

from __future__ import annotations

from itertools import pairwise

import pytest

import workbench as wb
from tests.widgets import using


@pytest.fixture
def url(tmp_path):
    """A store's address."""
    return f"sqlite:///{tmp_path}/labels.db"


@pytest.fixture
def panel(url):
    """The panel after a run, with a store on disk."""
    made = wb.widgets.LabelPanel(using.ROWS, list(using.GRADERS), store=url, labeller="ada")
    using.ran(made)
    yield made
    made.close()


def kept(url, panel):
    """What another reader of the store sees: sample to (value, note, labeller)."""
    with wb.open_store(url) as store:
        found = store.labels.latest(dataset=panel.session.labels.dataset)
        return {name: (one.value, one.note, one.labeller) for name, one in found.items()}


def press(panel, action, note="", seq=None):
    """What a page sends for a key."""
    told = {"do": "decide", "action": action, "note": note, "turn": "t1"}
    panel.card.hear({**told, "seq": panel.card.card.get("seq", -1) if seq is None else seq})


def test_decisions_are_in_the_store_before_the_next_card(panel, url):
    """Good, bad and skip with their notes are kept at once, and a second Workbench sees them."""
    names = []
    for action, note in (("good", ""), ("bad", "too short"), ("skip", "unsure")):
        names.append(panel.card.card["id"])
        press(panel, action, note)
        assert panel.session.guard.problem is None
        assert panel.card.card["id"] not in names
    expected = dict(
        zip(names, [(True, "", "ada"), (False, "too short", "ada"), (None, "unsure", "ada")], strict=True)
    )
    assert kept(url, panel) == expected
    assert (panel.card.done, panel.card.total) == (3, 24)
    assert "1 good, 1 bad, 1 skipped" in panel.summary.value
    second = wb.Workbench(using.ROWS, list(using.GRADERS), store=url, labeller="ada")
    assert [second.labels[int(name.removeprefix("row-"))] for name in names] == [True, False, None]
    assert second.panel(wb.widgets.LabelPanel).card.done == 3
    second.close()


def test_undo_goes_back_card_by_card(panel, url):
    """Undo brings the last card back, then the one before; with none left it says so."""
    names = []
    for action in ("good", "bad", "skip"):
        names.append(panel.card.card["id"])
        press(panel, action)
    for name in reversed(names):
        press(panel, "undo")
        assert panel.card.card["id"] == name
    assert kept(url, panel) == {}
    press(panel, "undo")
    assert "no label of this session to undo" in panel.session.guard.problem.what
    press(panel, "bad")
    assert kept(url, panel) == {names[0]: (False, "", "ada")}


def test_a_key_pressed_twice_counts_once(panel, url):
    """A second decision on the same card, or a late one on a card that is gone, is dropped."""
    first = panel.card.card
    press(panel, "good", seq=first["seq"])
    press(panel, "bad", seq=first["seq"])
    assert kept(url, panel) == {first["id"]: (True, "", "ada")}
    press(panel, "undo")
    press(panel, "bad", seq=first["seq"])
    assert kept(url, panel) == {}, "the card that came back is another showing"
    assert panel.card.card["id"] == first["id"]


def test_the_card_after_is_ready(panel):
    """What the page shows at once is the card that Python shows then, with the seq it will have."""
    ready = panel.card.upcoming
    press(panel, "good")
    assert (panel.card.card["id"], panel.card.card["seq"]) == (ready["id"], ready["seq"])


def test_a_store_that_cannot_be_written_loses_nothing(panel, url, monkeypatch):
    """The error is shown, the card stays, and the same key works once the store does."""
    name, labels = panel.card.card["id"], panel.session.storage.store.labels

    def full(*_args, **_named):
        raise wb.errors.StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(type(labels), "put", full)
        press(panel, "bad", "why")
    assert "the disk is full" in panel._alert.value
    assert panel.card.card["id"] == name
    assert panel.card.done == 0
    assert kept(url, panel) == {}
    press(panel, "bad", "why")
    assert panel.session.guard.problem is None
    assert kept(url, panel) == {name: (False, "why", "ada")}


def test_an_error_stays_to_be_read_when_a_key_follows_at_once(panel, monkeypatch):
    """A key for the next card, pressed before the page knew, neither acts nor takes the error away."""
    ahead = panel.card.upcoming["seq"]
    with monkeypatch.context() as broken:
        broken.setattr(type(panel.session.storage.store.labels), "put", lambda *_a, **_n: 1 / 0)
        press(panel, "good")
    press(panel, "bad", seq=ahead)
    assert "division by zero" in panel._alert.value
    assert panel.card.done == 0


@pytest.mark.parametrize("name", ["x" * 201, "two\nlines", "\u202egpj"])
def test_a_name_no_store_takes_is_refused_at_once(panel, name):
    """Not at the first label: whoever types it reads why, and labels as before."""
    panel.labeller.value = name
    assert "a labeller must be a short printable text" in panel._alert.value
    assert panel.session.labels.labeller == "ada"


def test_a_decision_that_was_not_kept_is_not_among_the_last_ones(panel, monkeypatch):
    """The strip of the last decisions shows what is in the store."""

    def full(*_args, **_named):
        raise wb.errors.StoreError("the disk is full")

    monkeypatch.setattr(type(panel.session.storage.store.labels), "put", full)
    press(panel, "bad")
    assert panel.card.recent == []


def test_an_undo_that_failed_drops_nothing(panel):
    """What was not undone is still among the last decisions; what was is not."""
    press(panel, "good")
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(type(panel.session.storage.store.labels), "undo", lambda *_a, **_n: 1 / 0)
        shown = panel.card.card
        press(panel, "undo")
    assert panel.session.guard.problem is not None
    assert ([one["action"] for one in panel.card.recent], panel.card.card) == (["good"], shown)
    press(panel, "undo")
    assert panel.card.recent == []
    press(panel, "undo")
    press(panel, "skip", seq=99)
    assert panel.card.recent == []


def test_undo_brings_the_note_back(panel, url):
    """A note that was written is not written again."""
    name = panel.card.card["id"]
    press(panel, "good", "a long careful note")
    press(panel, "undo")
    assert (panel.card.card["id"], panel.card.card["note"]) == (name, "a long careful note")
    press(panel, "bad", panel.card.card["note"])
    assert kept(url, panel) == {name: (False, "a long careful note", "ada")}


def test_a_note_waits_for_its_label(panel, url):
    """What is written beside a card is there whatever happens to the card, and goes with the label."""
    name = panel.card.card["id"]
    press(panel, "note", "half a th")
    assert (panel.card.card["note"], kept(url, panel), panel.card.recent) == ("half a th", {}, [])
    panel.order.value = "class-balanced"
    panel.order.value = "random"
    assert (panel.card.card["id"], panel.card.card["note"]) == (name, "half a th")
    panel.card.decide("bad")
    assert kept(url, panel) == {name: (False, "half a th", "ada")}


def test_a_note_of_a_row_that_has_a_label_is_kept_at_once(panel, url):
    """A remark on a row that was labelled joins its label; an undo takes the remark away first."""
    press(panel, "bad")
    name = panel.card.card["id"]
    press(panel, "good")
    panel.session.label(name, None)  # by code, so that an undo shows a row that has a label
    press(panel, "undo")
    press(panel, "note", "on second thoughts")
    assert kept(url, panel)[name] == (True, "on second thoughts", "ada")
    press(panel, "undo")
    assert kept(url, panel)[name] == (True, "", "ada")
    assert [one["action"] for one in panel.card.recent] == ["bad"]


@pytest.mark.parametrize("what", ["run", "relabel", "reveal"])
def test_nobody_takes_the_card_away(panel, what):
    """A run that ends, new findings and shown scores leave the card that is read where it is."""
    press(panel, "good")
    press(panel, "note", "half a th")
    before = panel.card.card
    if what == "run":
        using.ran(panel)
    elif what == "relabel":
        panel.session.use_labels()
    else:
        panel.reveal.value = True
    assert [panel.card.card[key] for key in ("id", "seq", "note")] == [
        before["id"],
        before["seq"],
        "half a th",
    ]
    press(panel, "bad", seq=before["seq"])
    assert panel.card.card["id"] != before["id"]


def test_a_second_labeller_gets_the_queue_anew(panel, url):
    """The first one's decisions are not theirs; where both labelled, their agreement is shown."""
    seen = []
    for _ in range(6):
        seen.append(panel.card.card["id"])
        press(panel, "good" if len(seen) % 2 else "bad")
    panel.labeller.value = "bob"
    assert (panel.card.card["id"], panel.card.done, panel.card.recent) == (seen[0], 0, [])
    for at in range(4):
        assert panel.card.card["id"] == seen[at]
        press(panel, "bad" if at % 2 else "good")
    names = dict(map(tuple, panel.card.status))
    assert names["kappa with ada"].endswith("on 4")
    assert names["kappa with ada"].startswith("1.00")
    panel.labeller.value = "ada"
    assert panel.card.done == 6


def test_labels_put_by_code_are_seen(panel, url):
    """Whoever labels elsewhere meanwhile finds the panel up to date when it is shown again."""
    name = panel.card.card["id"]
    with wb.open_store(url) as store:
        store.labels.put(name, True, labeller="ada", dataset=panel.session.labels.dataset)
    panel.refresh()
    assert (panel.card.done, panel.card.card["id"] != name) == (1, True)
    assert "1 good" in panel.summary.value


@pytest.mark.parametrize(
    ("order", "drawn"),
    [
        ("random", "random"), ("class-balanced", "class-balanced refused 12/24"), ("disagreement first", "disagreement first"),
        ("as shown", "as shown"),
    ],
)  # fmt: skip
def test_a_label_says_how_its_row_was_drawn(panel, order, drawn):
    """Only so can rates be told from labels; the panel says what stays out of what."""
    panel.grader.value = "has yes"
    panel.session.results.look({"grader": "has yes", "passed": True})
    panel.order.value = order
    name = panel.card.card["id"]
    press(panel, "good")
    assert panel.session.labels.latest[name].drawn == drawn
    assert ("1 label of rows not drawn at random: not in the findings" in panel.summary.value) == (
        order != "random"
    )
    assert ("1 label of rows chosen for what graders say: not in the agreement" in panel.summary.value) == (
        order in {"disagreement first", "as shown"}
    )
    assert (panel.card.status == []) == (order in {"disagreement first", "as shown"})


def test_rows_come_at_random_unless_asked(panel):
    """Labels of rows drawn otherwise make no findings, so the order that does comes first."""
    assert panel.order.value == "random"
    assert panel.order.options[0] == ("random", "random")


def test_a_decision_on_a_card_of_before_the_run_is_dropped(url):
    """After a run over other rows a late key says nothing of the row that has the number now."""
    panel = wb.widgets.LabelPanel(using.ROWS, list(using.GRADERS), store=url)
    shown = [panel.card.card, panel.card.upcoming]
    using.ran(panel, 6, seed=1)
    there = {str(name) for name in panel.session.results.report.samples.ids} & {shown[0]["id"]}
    for card in shown:
        press(panel, "good", seq=card["seq"])
    assert set(kept(url, panel)) == there, "the card that was read stays where its row does"
    using.ran(panel, 6, seed=2)
    press(panel, "good", seq=shown[1]["seq"])
    assert set(kept(url, panel)) == there
    panel.close()


def test_class_balanced_shows_both_verdicts_alike(panel):
    """Of every two cards one was accepted and one refused, as long as there are both; then the queue is done."""
    panel.order.value, panel.grader.value = "class-balanced", "has yes"
    report, seen = panel.session.results.report, []
    for _ in range(24):
        seen.append(report.grades["has yes"][int(panel.card.card["id"].removeprefix("row-"))].passed)
        press(panel, "skip")
    assert [sorted(pair) for pair in zip(seen[::2], seen[1::2], strict=True)] == [[False, True]] * 12
    assert seen != [False, True] * 12, "a strict turn tells the labeller the verdict"
    assert panel.card.card == {}
    assert "Every row of this queue is labelled." in panel.card.message
    assert (panel.card.done, panel.card.total) == (24, 24)
    press(panel, "good")
    assert panel.session.guard.problem is None
    press(panel, "undo")
    assert panel.card.card != {}


def test_class_balanced_starts_anew_after_other_labels(panel):
    """Rows labelled at random before leave the pairs whole: of every two cards one was accepted and one refused."""
    panel.grader.value = "has yes"
    grades, seen = panel.session.results.report.grades["has yes"], []
    for _ in range(7):
        press(panel, "skip")
    panel.order.value = "class-balanced"
    left = [grades[row].passed for row in panel._queue.next(panel.session.labels.own_labels, 99)]
    pairs = min(left.count(True), left.count(False))
    for _ in range(2 * pairs):
        seen.append(grades[int(panel.card.card["id"].removeprefix("row-"))].passed)
        press(panel, "skip")
    assert [sorted(pair) for pair in zip(seen[::2], seen[1::2], strict=True)] == [[False, True]] * pairs


def test_disagreement_with_known_labels_comes_first(url):
    """One grader and a column of labels: where it is wrong comes before where it is right."""
    panel = wb.widgets.LabelPanel(
        using.ROWS, [wb.Contains(expected="no", name="wrong")], store=url, labels="good"
    )
    using.ran(panel)
    panel.order.value = "disagreement first"
    report = panel.session.results.report
    wrong = set(report.row_numbers({"wrong": report.graders[0]}).tolist())
    assert wrong
    assert set(panel._queue.rows[: len(wrong)].tolist()) == wrong
    panel.close()


def test_disagreement_first_and_as_shown(panel):
    """Rows on which the chosen grader lies furthest from another come first; or the rows that Results shows."""
    for name in panel.session.graders.by_name:
        panel.grader.value, panel.order.value = name, "disagreement first"
        scores = panel.session.results.report.scores.astype(float)
        gaps = scores.sub(scores[name], axis=0).abs().max(axis=1).to_numpy()[panel._queue.rows]
        assert gaps.tolist() == sorted(gaps, reverse=True)
    panel.order.value = "as shown"
    panel.session.results.look({"grader": "exact", "passed": True})
    assert (
        panel._queue.rows.tolist()
        == panel.session.results.report.row_numbers({"grader": "exact", "passed": True}).tolist()
    )


def test_agreement_moves_with_every_label(panel):
    """The live numbers are the report's agreement of the chosen grader with the labels so far."""
    panel.grader.value = "has yes"
    seen = [panel.card.status]
    for action in ("good", "bad", "good"):
        press(panel, action)
        counted = panel.session.labels.weighted(panel.session.results.report.samples)
        expected = panel.session.results.report.agreement("has yes", counted.labels, weights=counted.weights)
        assert panel.card.status == [list(line) for line in expected.lines]
        seen.append(panel.card.status)
    assert all(one != two for one, two in pairwise(seen))


def test_scores_are_shown_only_when_asked_for(panel):
    """Scores would lead whoever labels: they stay hidden until the box is ticked."""
    assert panel.card.card["grades"] == []
    panel.reveal.value = True
    assert [one["grader"] for one in panel.card.card["grades"]] == ["has yes", "exact", "short"]


def test_another_labeller_takes_over(panel, url):
    """From then on labels carry the new name, and only those can be undone."""
    press(panel, "good")
    panel.labeller.value = " bob "
    press(panel, "undo")
    assert "no label of this session" in panel.session.guard.problem.what
    name = panel.card.card["id"]
    press(panel, "bad")
    assert kept(url, panel)[name] == (False, "", "bob")


def test_a_long_turn_is_fetched_whole(url):
    """What was cut of a card comes whole when it is asked for."""
    rows = [{**using.ROWS[0], "completion": "word " * 4_000}]
    panel = wb.widgets.LabelPanel(rows, [using.GRADERS[0]], store=url)
    turn = panel.card.card["turns"][-1]
    assert turn["more"] > 0
    assert panel._more(panel.card.card["seq"], turn["part"]) == "word " * 4_000
    assert panel._more(99, turn["part"]) == ""
    panel.close()


def test_the_card_does_not_tell_what_the_column_says(make):
    """A column given as labels is no part of the metadata that a labeller reads, until the scores are shown."""
    rows = [{**row, "good": True} for row in using.ROWS]
    panel = make("LabelPanel", samples=rows, labels="good")
    assert '"good"' not in panel.card.card["metadata"]
    panel.reveal.value = True
    assert '"good"' in panel.card.card["metadata"]


def test_labels_of_other_texts_are_told_and_do_not_count(url):
    """A new model's answers under the same ids: the panel says whose labels it left out."""
    first = wb.widgets.LabelPanel(using.ROWS, list(using.GRADERS), store=url, dataset="replies")
    for _ in range(3):
        press(first, "good")
    first.close()
    others = [{**row, "completion": "something else"} for row in using.ROWS]
    second = wb.widgets.LabelPanel(others, list(using.GRADERS), store=url, dataset="replies")
    assert "3 rows with labels of other texts" in second.summary.value
    assert "0 good" in second.summary.value
    assert second.card.done == 0
    second.close()
