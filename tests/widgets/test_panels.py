"""Every panel alone: what holds for all of them."""

from __future__ import annotations

import contextlib

import ipywidgets
import pytest

import workbench as wb
from tests.widgets import using

PANELS = ["WritePanel", "TryPanel", "RunPanel", "ResultsPanel", "LabelPanel", "ComparePanel", "ExportPanel"]


@pytest.mark.parametrize("name", PANELS)
def test_each_panel_stands_alone_and_leaves_nothing(name):
    """It shows itself before a run and after one, and closes every widget it made."""
    before = set(ipywidgets.widgets.widget._instances)
    panel = getattr(wb.widgets, name)(using.ROWS, list(using.GRADERS), store=None)
    assert repr(panel) == f"{name}(24 rows, 3 graders)"
    using.ran(panel)
    assert panel.session.guard.problem is None
    panel.close()
    assert set(ipywidgets.widgets.widget._instances) <= before


def test_half_a_panel_leaves_nothing():
    """A panel that cannot be made is an error, and neither a widget nor a listener of it stays."""
    before = set(ipywidgets.widgets.widget._instances)
    with pytest.raises(wb.errors.StoreError, match="no folder"):
        wb.widgets.LabelPanel(using.ROWS, list(using.GRADERS), store="sqlite:////nowhere/at/all.db")
    assert set(ipywidgets.widgets.widget._instances) <= before


@pytest.mark.parametrize(
    "part", ["", "nonsense", "turn-99", "turn-x", "grade-7", "metadata-1-2", "document-5"]
)
def test_a_page_that_asks_for_a_part_that_is_not_there_gets_an_answer(at_once, part, monkeypatch):
    """Nonsense of a page ends in no bare error of a callback: the table tells the page, other views give nothing."""
    panel = at_once("LabelPanel")
    sent = []
    monkeypatch.setattr(panel.card, "send", sent.append)
    with contextlib.suppress(Exception):
        panel.card.hear({"ask": "more", "seq": panel.card.card["seq"], "part": part})
    assert len(sent) == 1
    assert sent[0]["tell"] == "more"


def test_a_store_that_cannot_be_opened_is_told_at_once(tmp_path):
    """The panel that is open says so, before anything is run or lost."""
    bad = tmp_path / "bad.db"
    bad.write_text("no database")
    app = wb.Workbench(using.ROWS, list(using.GRADERS), store=str(bad))
    assert "bad.db" in app.panel(wb.widgets.WritePanel)._alert.value
    app.close()
