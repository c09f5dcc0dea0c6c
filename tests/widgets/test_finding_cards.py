"""Findings as cards."""

from __future__ import annotations

import pytest

from tests.widgets import using
from workbench.diagnostics.finding import Finding, Severity
from workbench.widgets.views.finding_cards import MOST, FindingCards


def finding(n=0, **settings):
    """A finding."""
    told = {
        "grader": f"g{n}",
        "kind": "of-a-test",
        "message": "it is so",
        "advice": "mend it",
        "rows": (1, 2),
    }
    numbers = {"statistic": "rows", "value": 2.0, "interval": None, "n": 24, "needed": 0}
    return Finding(**{**told, **numbers, "severity": Severity.WARNING, **settings})


def test_cards_say_kind_grader_advice_and_rows():
    """One item a finding, of any kind."""
    cards = FindingCards([finding()])
    (item,) = cards.items
    assert (item["grader"], item["title"], item["advice"], item["rows"], item["severity"]) == (
        "g0", "of a test", "mend it", 2, "warning",
    )  # fmt: skip
    assert not item["text"].startswith("g0: ")
    cards.close()


def test_many_findings_are_cut_and_counted():
    """The page holds so many cards, and says how many more there are; another report takes them away."""
    cards = FindingCards([finding(n) for n in range(MOST + 3)])
    assert len(cards.items) == MOST
    assert "3 more" in cards.more
    cards.show([], empty="none")
    assert (cards.items, cards.more, cards.empty, cards.active) == ([], "", "none", -1)
    cards.close()


def test_a_click_picks_and_nonsense_does_not():
    """The callback gets the finding itself; a place that is not there is ignored."""
    cards, picked = FindingCards([finding(0), finding(1)]), []
    cards.on_pick(picked.append)
    cards.hear({"do": "pick", "at": 1})
    for at in (2, -1, "1", None, 1.0):
        cards.hear({"do": "pick", "at": at})
    cards.hear({"do": "other", "at": 0})
    assert picked == [finding(1)]
    cards.mark([("g1", "of-a-test")])
    assert cards.active == 1
    cards.mark([])
    assert cards.active == -1
    cards.close()


@pytest.mark.parametrize("field", ["grader", "message", "advice"])
def test_hidden_characters_are_seen(field):
    """Names and texts show what would turn them round."""
    cards = FindingCards([finding(**{field: using.NASTY})])
    assert "\u202e" not in str(cards.items)
    cards.close()
