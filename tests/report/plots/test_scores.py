"""The figure of a report."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest

from workbench.core.errors import ReportError
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.data.samples import Samples
from workbench.report import Report
from workbench.report.plots.scores import plot_scores


def make_report(columns, *, per_prompt=1, **settings):
    n = len(next(iter(columns.values()), []))
    grades = {name: Grades.empty(n) for name in columns}
    for name, scores in columns.items():
        grades[name].put_scores(0, np.array(scores, dtype=float), seconds=0.1)
    samples = Samples(
        [
            {"prompt": str(row // per_prompt), "completion": "x", "probe": f"p{row % 3}"}
            for row in range(max(n, 1))
        ]
    )
    return Report(samples.take(range(n)), grades, **settings)


def words(figure):
    return " ".join(note.text for note in figure.layout.annotations)


def test_one_row_of_bars_a_grader():
    """Each grader has its own axes, and the bars contain every scored row."""
    figure = make_report({"a": [0.1, 0.2, 1.0], "b": [0.5, 0.5, 0.5]}).plot()
    assert [bar.name for bar in figure.data] == ["a", "b"]
    assert [sum(bar.y) for bar in figure.data] == [3, 3]
    assert figure.data[0].yaxis != figure.data[1].yaxis


def test_findings_are_written_on_it():
    """The sentence of the finding is above the bars."""
    assert "gives every row the same score" in words(make_report({"a": np.ones(100)}).plot())


def test_missing_scores_are_counted_in_words():
    """Failed and skipped rows have no bar but a count."""
    report = make_report({"a": np.ones(100)})
    report.grades["a"].put(0, Grade.failed("runtime", "x"))
    assert "99 scored · 1 failed" in words(report.plot())


def test_bars_carry_their_ends():
    """The conditions of a bar choose its rows in the report."""
    report = make_report({"a": np.random.default_rng(0).random(500)})
    bar = report.plot().data[0]
    for conditions, count in zip(bar.customdata, bar.y, strict=True):
        assert len(report.row_numbers(*conditions)) == count


def test_payload_is_independent_of_rows():
    """100,000 rows weigh what 1,000 do, within digits."""
    sizes = [
        len(make_report({"a": np.random.default_rng(1).beta(2, 2, n)}).plot().to_json())
        for n in (1_000, 100_000)
    ]
    assert abs(sizes[1] - sizes[0]) < 200


def test_fits_any_theme():
    """Transparent paper, no white, text in a grey."""
    figure = make_report({"a": [0.5]}).plot()
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert figure.layout.font.color == "#808080"


def test_height_grows_with_graders():
    """Each grader gets its room, and no two lie on each other."""
    one = make_report({"a": [0.5]}).plot()
    many = make_report({f"g{at}": np.ones(40) for at in range(12)}).plot()
    assert many.layout.height > 8 * one.layout.height
    domains = sorted(
        many.layout[name].domain for name in many.layout.to_plotly_json() if name.startswith("yaxis")
    )
    assert all(below[1] < above[0] for below, above in pairwise(domains))
    assert domains[0][0] >= 0
    assert domains[-1][1] <= 1


def test_names_are_no_markup():
    """Figures read tags in texts; a name is not one."""
    figure = make_report({"<a href='javascript:alert(1)'>x</a>\u202e": [0.5]}).plot()
    shown = figure.update_traces(customdata=None)  # conditions are data, and are never drawn
    assert not re.search(r"(<|\\\\u003c)a ", shown.to_json())
    assert "\u202e" not in words(figure)


def test_scores_off_the_scale_are_drawn():
    """A wide range, or the largest float, still draws."""
    figure = make_report({"a": [-3.0, 0.5, 1.7e308]}).plot()
    assert sum(figure.data[0].y) == 3
    assert "NaN" not in json.dumps(json.loads(figure.to_json()))


def test_the_ends_of_floats_are_drawn():
    """Scores of plus and minus 1e308: bars with finite middles and widths, that open their rows."""
    report = make_report({"a": [-1e308, 1e308, 0.0]})
    bar = report.plot().data[0]
    assert np.isfinite(bar.x).all()
    assert np.isfinite(bar.width).all()
    assert [len(report.row_numbers(*conditions)) for conditions in bar.customdata] == list(bar.y)
    assert str(report)


def test_bars_of_a_widened_scale_open_their_rows():
    """With scores up to 2, a score of 1 belongs to one bar."""
    report = make_report({"a": [1.0, 1.0, 1.5, 1.5, 1.5, 2.0, 0.05, 0.15]})
    bar = report.plot().data[0]
    assert [len(report.row_numbers(*conditions)) for conditions in bar.customdata] == list(bar.y)


def test_isolation_stands_beside_the_scores():
    """The heading states the isolation of the scores, or that nothing ran."""
    report = make_report({"a": [0.2, 0.4], "b": [0.2, 0.4]})
    report.grades["a"].isolation = "kernel"
    assert "2 scored · mean 0.300 · kernel" in words(report.plot())
    assert "mean 0.300 · no sandbox" in words(report.plot(["b"]))
    assert "0 scored · not run" in words(make_report({"a": []}).plot())


def test_findings_of_odd_names_are_whole():
    """The sentence begins with the finding, however the name is written."""
    text = words(make_report({"na\u202eme\n" * 30: np.ones(100)}).plot())
    assert "warning: gives every row the same score" in text


@pytest.mark.parametrize("columns", [{}, {"a": []}])
def test_nothing_to_draw(columns):
    """No graders or no rows give an empty figure, no error."""
    assert plot_scores(make_report(columns)).layout.height > 0


def test_choice_of_graders():
    """Only those named, in that order; unknown names list what exists."""
    report = make_report({"a": [1.0], "b": [0.0]})
    assert [bar.name for bar in report.plot(["b"]).data] == ["b"]
    with pytest.raises(ReportError, match="'a' or 'b'"):
        report.plot(["c"])
