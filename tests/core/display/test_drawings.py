"""Signs, bars and intervals."""

from __future__ import annotations

import pytest

from workbench.core.display_html import PARTS, bar, legend, sign, strip

COUNTS = dict.fromkeys(PARTS, 0) | {"good_accepted": 210, "bad_accepted": 50, "bad_refused": 240, "failed": 3}
SHARE = {
    "value": 0.172, "lo": 0.131, "hi": 0.225, "min": 0.0, "max": 0.3, "limit": 0.05,
    "limit_text": "limit 5 %", "value_text": "17.2 %", "interval_name": "95 % interval", "interval_text": "13.1 to 22.5 %",
}  # fmt: skip


def test_a_bar_says_its_counts():
    """Each part has its share of the width and its words; what has no row has none."""
    drawn = bar(COUNTS)
    assert (
        "210 known good, accepted, 50 known bad, accepted, 240 known bad, rejected, 3 failed: no score"
        in drawn
    )
    assert "flex:210'" in drawn
    assert "flex:290'" in drawn
    assert "p1" not in drawn


def test_no_row_is_said():
    """A bar without rows is empty, as its text states."""
    assert "no row" in bar(dict.fromkeys(PARTS, 0))
    assert legend([dict.fromkeys(PARTS, 0)]) == ""


def test_the_legend_has_what_the_bars_have():
    """Parts that no bar has are left out."""
    assert "known bad, accepted" in legend([COUNTS])
    assert "skipped" not in legend([COUNTS])


def test_an_interval_stands_where_its_numbers_are():
    """On an axis of 240 from 0 to 0.3: the limit at 40, the interval from 104.8 to 180."""
    drawn = strip(SHARE)
    assert "M40.0 0" in drawn
    assert "x='104.8' y='3' width='75.2'" in drawn
    assert "<b>17.2 %</b>, 95 % interval 13.1 to 22.5 %; limit 5 %" in drawn


def test_without_a_limit_none_is_drawn():
    """The axis is lower then."""
    drawn = strip(SHARE | {"limit": None, "limit_text": ""})
    assert "stroke-dasharray" not in drawn
    assert "limit" not in drawn


@pytest.mark.parametrize("shape", ["good", "bad", "unsettled", "failed", "skipped", "note"])
def test_a_sign_is_passed_by(shape):
    """Adjacent text states the same, so a screen reader does not read it."""
    assert "aria-hidden='true'" in sign(shape)
    assert len(sign(shape)) < 400
