"""The forecast of informative groups: table, prompts, selection, sentences, errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from tests.report.test_report import NASTY, make_grades, make_samples
from workbench.core.errors import ReportError
from workbench.report import Report
from workbench.report.forecast import duration


def scores(rates, answers, seed=0):
    """Scores of 0 and 1, with a number of completions of each prompt of a pass rate."""
    return (
        (np.random.default_rng(seed).random((len(rates), answers)) < np.array(rates)[:, None])
        .astype(float)
        .ravel()
    )


def report_of(columns, answers, **settings):
    grades = {name: make_grades(column) for name, column in columns.items()}
    n = len(next(iter(columns.values())))
    return Report(make_samples(n, per_prompt=answers), grades, **settings)


@pytest.fixture(scope="module")
def forecast():
    """Half of 200 prompts never pass, the others half of the time."""
    return wb.forecast(
        report_of({"exact": scores([0.0] * 100 + [0.5] * 100, 8)}, 8), group_size=8, prompts=1_000
    )


class TestWhatItGives:
    def test_the_table_has_a_line_for_each_size(self, forecast):
        """Shares with intervals from 4 to 64 completions, counted up to the existing number; rollouts, time and money."""
        table = forecast.table
        assert table.index.tolist() == [4, 8, 12, 16, 24, 32, 48, 64]
        assert table["basis"].tolist() == ["counted"] * 2 + ["modelled"] * 6
        assert ((table["lo"] <= table["informative"]) & (table["informative"] <= table["hi"])).all()
        assert table["informative"].is_monotonic_increasing
        assert table["informative"].loc[64] == pytest.approx(0.5, abs=0.08)
        assert table["sd"].loc[8] == pytest.approx(0.23, abs=0.04)
        assert table["rollouts"].tolist() == [1_000 * size for size in table.index]
        assert table["seconds"].loc[4] == pytest.approx(4_000 * 0.5)
        assert (table["cost"] == 0).all()

    def test_hopeless_prompts_are_left_out(self, forecast):
        """Prompts that never pass are not worth training on; the savings and losses have bounds."""
        chosen = forecast.selection
        assert 97 <= chosen.chosen <= 100
        assert chosen.saved == pytest.approx(1 - chosen.chosen / 200)
        assert chosen.informative.value > 0.95
        assert chosen.informative.interval.lo > 0.9
        assert chosen.left_out.interval.lo <= 0.01
        assert chosen.left_out.interval.hi < 0.3

    def test_prompts_stand_best_first(self, forecast):
        """One row per prompt under its name, with completions, mean, sd and the probability of an informative group."""
        prompts = forecast.prompts
        assert len(prompts) == 200
        assert prompts["informative"].is_monotonic_decreasing
        assert prompts.loc["What is 0?"].to_dict() | {"informative": None} == {
            "answers": 8, "mean": 0.0, "sd": 0.0, "informative": None, "train": False,
        }  # fmt: skip
        assert (prompts["train"] == (prompts["informative"] >= 0.5)).all()

    def test_the_best_size_is_where_more_answers_stop_to_pay(self, forecast):
        """Even odds need few completions; if passes are rare every doubling pays."""
        assert forecast.best in {8, 12}
        rare = wb.forecast(report_of({"exact": scores([0.02] * 300, 8)}, 8))
        assert (rare.best, rare.group_size) == (64, 64)
        assert "every doubling" in str(rare)

    def test_it_is_told_in_sentences(self, forecast):
        """How many groups are live and how sure that is, the best size, the prompts worth it; then the table."""
        told = str(forecast)
        assert re.match(
            r"exact: at 8 completions per prompt [\d.]+ % \([\d.]+ % to [\d.]+ %\) of the groups are informative, "
            r"forecast from 8 completions of each of 200 prompts\.\nThe best group size is \d+: ", told
        )  # fmt: skip
        assert re.search(
            r"Train on \d+ of 200 prompts: .* of their groups are informative; omitting the other \d+ saves",
            told,
        )
        assert len(told.splitlines()) == 12
        assert repr(forecast) == f"Forecast('exact', 200 prompts, best group size {forecast.best})"

    def test_a_size_of_ones_own_is_in_the_table(self):
        """Any size from 2 on; where all prompts are alive nothing is left out."""
        forecast = wb.forecast(report_of({"exact": scores([0.5] * 40, 6)}, 6), group_size=20)
        assert 20 in forecast.table.index
        assert forecast.selection.saved == 0
        assert "Train on all 40 prompts" in str(forecast)

    def test_a_score_that_never_changes_teaches_nothing(self):
        """No group size is advised, and the spread of scores never seen is not made up."""
        forecast = wb.forecast(report_of({"always": np.ones(80)}, 4))
        assert forecast.table["informative"].loc[4] == 0
        assert forecast.table["hi"].loc[4] > 0
        assert np.isnan(forecast.table["sd"].loc[64])
        assert "no group size can be advised" in str(forecast)
        assert "No prompt is informative with the required probability" in str(forecast)

    def test_rows_without_a_score_do_not_count(self):
        """A failure is not a completion with a score of 0."""
        report = report_of({"exact": np.tile([1.0, 1.0, np.nan, np.nan], 20)}, 4)
        forecast = wb.forecast(report)
        assert forecast.table["informative"].loc[4] <= 0.2
        assert set(forecast.prompts["answers"]) == {2}


class TestMoney:
    def test_the_price_of_a_row_is_scaled(self):
        """What a judge took for each row, times all rollouts; a reply out of the store counts at the price of the others."""
        report = report_of({"judge": scores([0.5] * 20, 4)}, 4)
        grades = report.grades["judge"]
        grades.tokens[:], grades.cost[:] = 100, 0.01
        for row in range(40):
            grades.metadata[row] = {"cached": True}
            grades.tokens[row], grades.cost[row] = np.nan, 0.0
        table = wb.forecast(report, prompts=50).table
        assert table["cost"].loc[4] == pytest.approx(50 * 4 * 0.01)

    def test_an_unknown_price_is_not_free(self):
        """Tokens without a price give no cost."""
        report = report_of({"judge": scores([0.5] * 20, 4)}, 4)
        report.grades["judge"].tokens[:] = 100
        table = wb.forecast(report).table
        assert table["cost"].isna().all()
        assert "-" in str(wb.forecast(report)).splitlines()[-1]


class TestRefusals:
    def test_too_few_answers(self):
        """The error states the number found, the number required and what to do."""
        with pytest.raises(
            ReportError, match=r"(?s)0 prompts with at least two.*at least 10.*draw 4 to 8 completions"
        ):
            wb.forecast(report_of({"exact": np.ones(40)}, 1))

    def test_one_of_several_graders_must_be_named(self):
        """By the names there are."""
        report = report_of({"a": np.ones(40), "b": np.zeros(40)}, 4)
        with pytest.raises(ReportError, match="'a' or 'b'"):
            wb.forecast(report)
        with pytest.raises(ReportError, match="'c'"):
            wb.forecast(report, "c")
        assert wb.forecast(report, "b").grader == "b"

    @pytest.mark.parametrize(
        "settings",
        [{"group_size": 1}, {"group_size": 4.0}, {"group_size": True}, {"prompts": 0}, {"least_chance": 1.5}],
    )
    def test_numbers_out_of_range(self, settings):
        """Refused by name."""
        with pytest.raises(ReportError, match=next(iter(settings))):
            wb.forecast(report_of({"a": np.ones(40)}, 4), **settings)


class TestShown:
    def test_names_are_no_markup(self):
        """A grader's name is text in a notebook, and cannot hide anything in a terminal."""
        forecast = wb.forecast(report_of({f"<b>{NASTY}": scores([0.5] * 20, 4)}, 4))
        html = forecast._repr_html_()
        assert "<script" not in html
        assert "<b>" not in html
        assert "\u202e" not in html + str(forecast)
        assert "\x1b" not in str(forecast)
        (html + str(forecast)).encode()

    def test_it_can_be_drawn(self, forecast):
        """A curve with its band; marks are filled where they are counted."""
        band, curve = forecast.plot().data
        assert list(curve.x) == forecast.table.index.tolist()
        assert list(curve.marker.symbol)[:3] == ["circle", "circle", "circle-open"]
        assert band.fill == "toself"

    @pytest.mark.parametrize(
        ("seconds", "said"),
        [(0.0, "0 s"), (0.25, "0.25 s"), (95, "95 s"), (750, "12 min"), (12_600, "3.5 h")],
    )
    def test_times_are_short(self, seconds, said):
        """Seconds, minutes or hours."""
        assert duration(seconds) == said
