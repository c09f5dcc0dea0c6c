"""Scores near the largest float: every statistic is finite, or a dash with a reason."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from tests.report.test_report import make_grades, make_samples
from workbench.report import Report
from workbench.report.plots import figures_for

_NO_NUMBER = re.compile(r"(?<![a-z])(?:inf|nan)(?![a-z])", re.IGNORECASE)
_DRAWN = np.random.default_rng(0).uniform(-1, 1, 40) * 1.79e308
COLUMNS = {
    "one score": np.full(40, 1e308),
    "two scores": np.array([1e308, -1e308] * 20),
    "ends": np.array([1.79e308, -1.79e308] * 20),
    "spread": _DRAWN,
    "high": np.abs(_DRAWN) / 2 + 8e307,
    "mixed": np.array([1.7e308, 0.0, 1.0, -1.7e308] * 10),
    "two rows": np.array([1.79e308, -1.79e308]),
}


def report_of(scores, *, per_prompt=4, **settings):
    samples = make_samples(len(scores), per_prompt=per_prompt)
    grades = {"g": make_grades(scores), "small": make_grades(np.linspace(0, 1, len(scores)))}
    return Report(samples, grades, **settings)


@pytest.mark.parametrize("per_prompt", [1, 4])
@pytest.mark.parametrize("preset", ["workbench", "vllora", "seed"])
@pytest.mark.parametrize("scores", COLUMNS.values(), ids=COLUMNS)
def test_no_view_has_an_infinite_number(scores, preset, per_prompt):
    """Text, notebook view, findings and comparison, for every set of diagnostics, without a warning."""
    report = report_of(scores, per_prompt=per_prompt, preset=preset)
    comparison = report.compare("g", "small")
    shown = [str(report), report._repr_html_(), str(comparison), comparison.verdict, comparison._repr_html_()]
    assert [
        text for text in shown if _NO_NUMBER.search(re.sub("<style>.*?</style>", "", text, flags=re.DOTALL))
    ] == []
    assert max(map(len, str(comparison).split(" "))) < 40  # no number of 300 digits


@pytest.mark.parametrize("per_prompt", [1, 2, 4])
@pytest.mark.parametrize("scores", COLUMNS.values(), ids=COLUMNS)
def test_no_figure_has_an_infinite_number(scores, per_prompt):
    """Every figure that fits the report, and the forecast's table."""
    report = report_of(scores, per_prompt=per_prompt, scale=(-1.79e308, 1.79e308))
    for kind in figures_for(report):
        if drawn := kind.draw(report, ["g"]):
            hovers = [str(text) for trace in drawn.data for text in np.atleast_1d(trace.hovertext)]
            assert not [text for text in hovers if _NO_NUMBER.search(text)], kind.name
    if per_prompt > 1 and len(scores) > 2:
        forecast = wb.forecast(report, "g")
        assert not _NO_NUMBER.search(str(forecast))


def test_a_dash_has_a_reason():
    """The sd of the largest and smallest float overflows: a dash, and a line with the reason."""
    report = report_of(COLUMNS["ends"])
    assert np.isnan(report.summary.loc["g", "sd"])
    assert "sd: none for g, whose scores differ by more than the largest number (1.8e+308)" in str(report)
    assert "more than the largest number" in report._repr_html_()
    assert "further apart" not in str(report_of(COLUMNS["one score"]))


def test_a_small_score_on_a_huge_scale_has_an_interval():
    """Neither a warning nor a division by zero."""
    for scores in (np.arange(40) * 1e-308, np.linspace(0, 1, 40)):
        line = report_of(scores, scale=(0.0, 1.7e308)).summary.loc["g"]
        assert line["mean_lo"] <= line["mean"] <= line["mean_hi"]


def test_differences_beyond_the_largest_float_stop_there():
    """Two graders at opposite ends: the interval lies on the right side of 0."""
    grades = {"low": make_grades(np.full(40, -1.7e308)), "high": make_grades(np.full(40, 1.7e308))}
    comparison = Report(make_samples(40), grades, scale=(-1.7e308, 1.7e308)).compare("low", "high")
    assert np.isfinite(comparison.difference)
    assert comparison.interval.lo > 1e308
    assert "high scores higher than low" in comparison.verdict
