"""The label card's Python side: decisions heard once, in order, and told to callbacks."""

import pytest
from ipywidgets.widgets import widget

from workbench.widgets.views.label_card import LabelCard


def card_of(seq):
    return {"id": f"row {seq}", "seq": seq, "note": ""}


@pytest.fixture
def queue():
    """A card over three rows, whose callback moves on and drops what is old."""
    card, kept = LabelCard(card=card_of(0), upcoming=card_of(1), total=3), []

    def decided(action, note, seq):
        if seq != card.card.get("seq", -1):
            return
        kept.append((action, note, seq))
        at = {"undo": max(seq - 1, 0), "note": seq}.get(action, seq + 1)
        card.card, card.upcoming, card.done = card_of(at) if at < 3 else {}, card_of(at + 1), at

    card.on_decide(decided)
    return card, kept


def press(card, action, seq, note="", turn="a:1"):
    card._handle_custom_msg({"do": "decide", "action": action, "note": note, "seq": seq, "turn": turn}, [])


def test_decisions_of_a_page_reach_callbacks_in_order(queue):
    """Two quick decisions are two, with their notes; the card says which it has heard."""
    card, kept = queue
    press(card, "good", 0, "clear", "a:1")
    press(card, "bad", 1, "", "a:2")
    assert kept == [("good", "clear", 0), ("bad", "", 1)]
    assert (card.card["seq"], card.heard) == (2, "a:2")


def test_double_decision_for_an_old_card_is_seen_by_the_caller_as_old(queue):
    """A second message for a card that is gone carries its old number, so that the caller drops it."""
    card, kept = queue
    press(card, "good", 0)
    press(card, "bad", 0, turn="a:2")
    assert kept == [("good", "", 0)]
    assert (card.card["seq"], card.heard) == (1, "a:2")


def test_decide_by_code_is_as_by_key(queue):
    """What a key does, a call does; an unknown action is refused in words."""
    card, kept = queue
    card.decide("skip")
    card.decide("note", "hm")
    card.decide("undo")
    assert [one[0] for one in kept] == ["skip", "note", "undo"]
    with pytest.raises(ValueError, match="one of good, bad, skip, undo, note, not 'maybe'"):
        card.decide("maybe")


def test_recent_decisions_are_shown_and_undone(queue):
    """The last five verdicts are kept with the rows' names; undo takes the last one away."""
    card, _ = queue
    card.decide("good")
    card.decide("bad")
    assert [(one["id"], one["action"]) for one in card.recent] == [("row 0", "good"), ("row 1", "bad")]
    card.decide("undo")
    card.decide("note", "x")
    assert [one["action"] for one in card.recent] == ["good"]
    many = LabelCard()
    for at in range(9):
        many.card = card_of(at)
        many.decide("good")
    assert [one["seq"] for one in many.recent] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    "content",
    [
        {"action": "explode", "note": "", "seq": 0},
        {"action": "good", "note": None, "seq": 0},
        {"action": "good", "note": "", "seq": "0"},
        {"action": ["good"], "note": "", "seq": 0},
        {},
    ],
)
def test_decisions_without_sense_are_ignored_but_heard(queue, content):
    """The page must not wait for ever for an answer to nonsense."""
    card, kept = queue
    card._handle_custom_msg({"do": "decide", "turn": "a:7", **content}, [])
    assert (kept, card.recent, card.heard) == ([], [], "a:7")


@pytest.mark.parametrize("message", [None, 3, "decide", [], {"do": "other"}])
def test_messages_that_are_no_decisions_are_ignored(queue, message):
    """Anything else changes nothing."""
    card, kept = queue
    card._handle_custom_msg(message, [])
    assert (kept, card.heard) == ([], "")


def test_failing_callback_is_raised_and_heard():
    """An error reaches whoever guards the callback; the page learns that the card is still there."""
    card = LabelCard(card=card_of(0))
    card.on_decide(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        card.hear({"do": "decide", "action": "good", "note": "", "seq": 0, "turn": "a:1"})
    assert (card.heard, card.recent) == ("a:1", [])


def test_whole_texts_come_from_whoever_has_them(monkeypatch):
    """A part that was cut is asked of the owner of the rows; without one there is no answer."""
    sent = []
    monkeypatch.setattr(LabelCard, "send", lambda self, content, buffers=None: sent.append(content))
    card = LabelCard(card=card_of(0))
    card._handle_custom_msg({"ask": "more", "seq": 0, "part": "turn-0"}, [])
    assert sent == [{"tell": "more", "seq": 0, "part": "turn-0", "problem": "the whole text is not here"}]
    card.on_more(lambda seq, part: f"{part} of {seq}")
    card._handle_custom_msg({"ask": "more", "seq": 0, "part": "turn-0"}, [])
    assert sent[1]["value"] == "turn-0 of 0"


def test_card_is_short_and_leaves_nothing_behind():
    """The repr is stable; a closed card has no model left."""
    card = LabelCard(done=3, total=1_000)
    assert repr(card) == "LabelCard(3 of 1,000)"
    ids = {card.model_id, card.layout.model_id}
    card.close()
    assert not ids & set(widget._instances)
