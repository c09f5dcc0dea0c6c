"""Every registered figure: drawn from any report, of a size that rows do not change, its marks meaning rows."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.report.plots.test_scores import make_report
from workbench.analysis.suite_case import SuiteParts
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.graders.repeats import reduce_repeats
from workbench.report.plots import FIGURES, figure, figures_for
from workbench.report.plots.comparison import plot_comparison

ODD = "<b>b</b>\u202e"


def scored(n, names=("a", ODD)):
    """A report of random scores, four rows a prompt, half of them labelled, all graded twice."""
    rng = np.random.default_rng(3)
    parts = SuiteParts(
        tuple(wb.Entry(wb.Contains("x"), name) for name in names), wb.combine.Mean(), "combined"
    )
    report, again = (
        make_report({name: rng.integers(0, 5, n) / 4 for name in names}, per_prompt=4, suite=parts)
        for _ in range(2)
    )
    twice = {name: reduce_repeats([report.grades[name], again.grades[name]]) for name in names}
    report = replace(report, grades=twice)
    return report.diagnose(labels=[[True, False, None, None][row % 4] for row in range(n)])


def marks(drawn):
    """Conditions and number of rows of every mark."""
    for trace in drawn.data:
        yield from zip(_lists(trace.customdata), _flat(trace.hovertext), strict=True)


def _lists(customdata):
    for one in map(list, customdata):
        if one and isinstance(one[0], dict):
            yield one
        else:
            yield from _lists(one)


def _flat(texts):
    return [text for part in texts for text in ([part] if isinstance(part, str) else part)]


@pytest.mark.parametrize("name", FIGURES)
class TestEveryFigure:
    def draw(self, name, report):
        return FIGURES[name].draw(report, None)

    def test_every_mark_means_its_rows(self, name):
        """The conditions of a mark find rows in the report, and as many as its text states."""
        report = scored(60)
        assert FIGURES[name].fits(report)
        found = list(marks(self.draw(name, report)))
        assert found
        for conditions, said in found:
            rows = report.row_numbers(*conditions)
            if told := re.search(r"([\d,]+)( of [\d,]+)? rows", said):
                assert len(rows) == int(told[1].replace(",", ""))

    def test_payload_is_independent_of_rows(self, name):
        """10,000 rows weigh what 100 do, within digits."""
        sizes = [len(self.draw(name, scored(n)).to_json()) for n in (100, 10_000)]
        assert abs(sizes[1] - sizes[0]) < 1_500

    def test_names_are_no_markup(self, name):
        """A grader's name in a heading, tick or tooltip is text."""
        drawn = self.draw(name, scored(40)).update_traces(customdata=None)
        text = drawn.to_json()
        assert not re.search(r"(<|\\u003c)b(>|\\u003e)b(<|\\u003c)", text)
        assert "\u202e" not in text
        assert "\\u202e" not in text

    def test_an_empty_and_a_failed_report_draw(self, name):
        """No rows, or no scores: still a figure."""
        for scores in ([], [np.nan, np.nan, np.nan]):
            report = make_report({"a": scores, "b": scores}).diagnose(labels=[True] * len(scores))
            assert self.draw(name, report).to_json()

    def test_an_unknown_grader_is_refused(self, name):
        """By name, with those there are."""
        with pytest.raises(ReportError, match="'nobody'"):
            FIGURES[name].draw(scored(8), ["a", "nobody"])

    def test_nothing_is_white(self, name):
        """The figure is on the page's theme."""
        layout = self.draw(name, scored(20)).layout
        assert (layout.paper_bgcolor, layout.plot_bgcolor) == ("rgba(0,0,0,0)", "rgba(0,0,0,0)")


def test_what_fits_a_report_is_offered():
    """One grader without labels has only distributions; two have matrices; labels have their figure."""
    alone = make_report({"a": [0.5, 1.0]})
    offered = [kind.name for kind in figures_for(alone)]
    assert offered[0] == "scores"
    assert not {"overview", "differences", "labels", "noise"} & {*offered}
    assert "labels" in [one.name for one in figures_for(alone.diagnose(labels=[True, False]))]
    assert [one.name for one in figures_for(scored(8), pair=True)] == ["comparison"]


def test_a_figure_of_ones_own_is_offered():
    """Registering is all it takes."""

    @figure("mine", "Mine")
    def mine(report, graders):
        return wb.plot_scores(report, graders)

    try:
        assert "mine" in [one.name for one in figures_for(scored(8))]
    finally:
        del FIGURES["mine"]


LEVELS = st.lists(
    st.one_of(
        st.sampled_from([0.0, 0.5, 0.5000005, 0.5 + 1e-9, 1.0, 500.0, 1000.0, -1000.0, 5e-324, 1e9, 1e9 + 1, 1e308, -1e308]),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=25)
@given(LEVELS, LEVELS, st.integers(0, 5))
@example([0.0, 500.0, 1000.0], [0.0, 5000.0, 10000.0], 0)
@example([-1000.0, 0.0, 1000.0], [0.5, 0.5000005], 0)
@example([1e9, 1e9 + 1], [0.0, 1.0], 1)
def test_cells_of_a_comparison_part_the_rows(a, b, failed):
    """For any levels, each row scored by both is in one cell, and a cell's conditions find its rows."""
    rng = np.random.default_rng(0)
    scores = {"a": rng.choice(a, 40), "b": rng.choice(b, 40)}
    scores["a"][:failed] = np.nan
    report = make_report(scores)
    (drawn,) = plot_comparison(report).data
    cells = [
        (int(count or 0), report.row_numbers(*conditions).tolist())
        for counts, line in zip(drawn.z, drawn.customdata, strict=True)
        for count, conditions in zip(counts, line, strict=True)
    ]
    assert [count for count, _ in cells] == [len(rows) for _, rows in cells]
    assert sorted(row for _, rows in cells for row in rows) == list(range(failed, 40))


def test_graders_of_other_scales_differ_by_their_own(scored_lengths):
    """A length in characters is not half a scale away from a share because it counts in hundreds."""
    report, shares, lengths = scored_lengths
    (drawn,) = FIGURES["differences"].draw(report, None).data
    expected = np.mean(np.abs(shares - lengths / 300) >= 0.5)
    assert drawn.z[0][1] == drawn.z[1][0] == pytest.approx(expected)
    assert 0 < expected < 1
    rows = report.row_numbers(*drawn.customdata[0][1])
    assert rows.tolist() == np.flatnonzero(np.abs(shares - lengths / 300) >= 0.5).tolist()


@pytest.fixture
def scored_lengths():
    """A share and a length of up to 300 over the same rows."""
    rng = np.random.default_rng(5)
    shares, lengths = rng.random(200), np.append(rng.integers(5, 300, 199), 300).astype(float)
    return make_report({"share": shares, "length": lengths}), shares, lengths


def test_labels_say_what_colours_mean_and_count_to_both_sides():
    """A legend of two colours, and numbers of rows that are the same to the left as to the right."""
    drawn = FIGURES["labels"].draw(scored(400), None)
    keys = {one.name: one.marker.color for one in drawn.data if one.showlegend is not False}
    assert list(keys) == ["agrees with the label", "differs from the label"]
    assert drawn.layout.showlegend
    bars = {one.name: one.marker.color for one in drawn.data if one.showlegend is False}
    for name, colour in bars.items():
        right = name in {"known good, accepted", "known bad, rejected"}
        assert colour == keys[f"{'agrees with' if right else 'differs from'} the label"]
    axis = drawn.layout.xaxis
    assert axis.ticktext == ("200", "150", "100", "50", "0", "50", "100", "150", "200")
    assert axis.tickvals == (-200, -150, -100, -50, 0, 50, 100, 150, 200)


@pytest.mark.parametrize(("rows", "step"), [(0, 1), (4, 1), (18, 5), (5_000, 1_000), (100_000, 20_000)])
def test_numbers_of_rows_are_round(rows, step):
    """Whole rows, few numbers, and the longest bar within them."""
    report = make_report({"a": [1.0] * rows}).diagnose(labels=[row % 4 > 0 for row in range(rows)])
    values = FIGURES["labels"].draw(report, None).layout.xaxis.tickvals
    assert values[-1] - values[-2] == step
    assert len(values) <= 9
    assert values[-1] >= 3 * rows // 4


@pytest.mark.parametrize("name", ["comparison", "overview", "differences"])
def test_the_smallest_count_has_a_shade(name):
    """One row of a thousand differs from none: a quarter of the way from the background to the full colour."""
    many = np.arange(1_000) % 2.0
    one_off = np.where(np.arange(1_000) == 7, 0.0, many)
    drawn = FIGURES[name].draw(make_report({"a": many, "b": one_off, "c": many}), ["a", "b"]).data[0]
    shades = [
        (shade, int(re.search(r"([\d,]+)( of [\d,]+)? rows", said)[1].replace(",", "")))
        for shade, said in zip(
            [one for line in drawn.z for one in line],
            [one for line in drawn.hovertext for one in line],
            strict=True,
        )
        if "same grader" not in said
    ]
    assert {count for _, count in shades} >= ({1} if name != "overview" else {499, 501})
    for shade, count in shades:
        empty = shade is None or shade == drawn.zmin
        assert empty == (count == 0)
        assert empty or (shade - drawn.zmin) / (drawn.zmax - drawn.zmin) >= 0.25


def test_a_report_draws_any_figure_by_its_name():
    """One grader may be given alone; an unknown figure, or one that does not fit, is refused with those that fit."""
    report = scored(8)
    assert report.plot("a").to_json() == FIGURES["scores"].draw(report, ["a"]).to_json()
    assert report.plot(figure="overview").to_json() == FIGURES["overview"].draw(report, None).to_json()
    for refused, name in ((report, "nothing"), (make_report({"a": [0.5]}), "labels")):
        with pytest.raises(ReportError, match="figure") as raised:
            refused.plot(figure=name)
        assert "scores" in raised.value.expected


def test_two_figures_may_not_share_a_name():
    """Another function of a name that is taken is refused; the same cell run again is not."""
    with pytest.raises(ValueError, match=r"'scores' is taken by workbench\.report\.plots"):
        figure("scores", "x")(lambda report, graders: None)
    assert figure("scores", "Distributions", position=0)(FIGURES["scores"].draw)


def test_a_comparison_is_of_two():
    """One or three are refused."""
    with pytest.raises(ReportError, match="two graders"):
        plot_comparison(scored(8), ["a"])


def test_many_graders_and_long_names_draw():
    """Twenty graders with names of a hundred letters."""
    report = scored(30, tuple(f"grader {n} {'x' * 100}" for n in range(20)))
    for one in figures_for(report):
        drawn = one.draw(report, None)
        assert drawn.layout.height < 6_000
        assert len(drawn.to_json()) < 400_000


def test_intervals_show_the_limits_of_the_report():
    """A limit that the user chose is drawn, and the usual one for the other finding."""
    grades = Grades.empty(40)
    grades.put_scores(0, np.tile([1.0, 0.0], 20), seconds=0.001)
    rows = wb.Samples([{"prompt": str(n), "completion": "c", "ok": n % 3 == 0} for n in range(40)])
    report = wb.Report(
        rows, {"g": grades}, labels=[n % 3 == 0 for n in range(40)], limits={"too-lenient": 0.5}
    )
    limits = {shape["x0"] for shape in report.plot(figure="intervals").layout.shapes}
    assert limits == {0.5, 0.1}
