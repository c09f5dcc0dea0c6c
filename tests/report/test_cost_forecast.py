"""`forecast_cost`: time, requests, money and bytes of many rows, estimated from some."""

import math

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.graders.repeats import reduce_repeats
from workbench.judges import Reply
from workbench.judges.protocol import Usage

ROWS = [{"prompt": f"q{row // 2}", "completion": f"a{row}", "answer": "a1"} for row in range(100)]


def report_of(**columns):
    """A report whose grades have these columns of 100 rows."""
    report = wb.ExactMatch().run(ROWS, progress=False)
    grades = Grades.empty(100)
    grades.put_scores(0, np.ones(100), seconds=0.5)
    for name, value in columns.items():
        setattr(grades, name, value)
    return wb.Report(report.samples, {"g": grades})


def test_code_takes_cores():
    """Rows times seconds over cores; the machines' own number by default."""
    forecast = wb.forecast_cost(report_of(code=True), 1_000_000, cores=10)
    assert forecast.table.loc["g", "time"] == pytest.approx(50_000)
    assert forecast.seconds == pytest.approx(50_000 + forecast.table.loc["(reading rows)", "time"])
    assert forecast.table.loc["g", "rate"] == pytest.approx(2)
    assert forecast.cost == 0.0
    assert forecast.sentences[0] == "1,000,000 rows take about 13.9 h on 10 cores, estimated from 100 rows."


def test_reading_is_told_where_it_takes_much():
    """It is not divided by the cores, but by the processes that read."""
    forecast = wb.forecast_cost(wb.ExactMatch().run(ROWS, progress=False), 10**9, cores=64, readers=3)
    assert any("in 3 processes" in sentence for sentence in forecast.sentences)
    assert not any("reading" in sentence for sentence in wb.forecast_cost(report_of(), 100).sentences)


def test_the_time_of_answers_out_of_the_store_is_nobodys():
    """A new row needs a request; if all replies came from the store the time is unknown."""
    seconds = np.full(100, 0.5)
    seconds[:50] = 0.0001
    stored = {row: {"cached": True} for row in range(50)}
    forecast = wb.forecast_cost(report_of(seconds=seconds, metadata=stored), 1000, concurrency=10)
    assert forecast.table.loc["g", "time"] == pytest.approx(50)
    all_stored = {row: {"cached": True} for row in range(100)}
    assert math.isnan(wb.forecast_cost(report_of(metadata=all_stored), 1000).seconds)


def test_a_rule_is_graded_once_whatever_the_repeats():
    """It gives the same grade always; code in the sandbox may not."""
    assert wb.forecast_cost(report_of(code=True), 1000, cores=1, repeats=3).table.loc[
        "g", "time"
    ] == pytest.approx(500)
    confined = report_of(code=True, isolation="kernel")
    assert wb.forecast_cost(confined, 1000, cores=1, repeats=3).table.loc["g", "time"] == pytest.approx(1500)


def test_judges_take_questions_under_way():
    """Time, tokens and money; a reply out of the store counts at the price of the others."""
    tokens, cost = np.full(100, 400.0), np.tile([0.001, 0.003], 50)
    tokens[:20] = cost[:20] = math.nan
    kept = {row: {"cached": True} for row in range(20)}
    forecast = wb.forecast_cost(report_of(tokens=tokens, cost=cost, metadata=kept), 1_000_000, cores=1, concurrency=100)  # fmt: skip
    line = forecast.table.loc["g"]
    assert (line["waits"], line["questions"]) == (True, 1_000_000)
    assert line["time"] == pytest.approx(5_000)
    assert line["tokens"] == pytest.approx(400e6)
    assert forecast.cost == pytest.approx(2_000)
    assert line["cost_lo"] == line["cost_hi"] == pytest.approx(2_000)  # each prompt has one of both prices
    assert "The judges cost about $2,000.00" in str(forecast)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """Of the mean cost of a row, where the rows of a prompt cost alike: 95 % within two standard errors of 300 draws."""
    rng, hits = np.random.default_rng(5), 0
    for _ in range(300):
        cost = np.repeat(rng.exponential(0.002, 50), 2)
        line = wb.forecast_cost(report_of(tokens=np.full(100, 9.0), cost=cost), 1, cores=1).table.loc["g"]
        hits += line["cost_lo"] <= 0.002 <= line["cost_hi"]
    assert (
        hits / 300 >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / 300) - 0.02
    )  # a skewed price: the t interval is a little short


def test_repeats_are_counted_once():
    """What a row took in all its repeats is their sum, and one of them is what a row takes."""
    report = report_of(isolation="kernel")
    once = report.grades["g"]
    repeated = reduce_repeats([once, once, once], "mean")
    line = wb.forecast_cost(wb.Report(report.samples, {"g": repeated}), 1000, cores=1).table.loc["g"]
    assert line["time"] == pytest.approx(500)


def test_an_unknown_price_is_said():
    """It is not a price of 0."""
    forecast = wb.forecast_cost(report_of(tokens=np.full(100, 9.0)), 1000, cores=1)
    assert math.isnan(forecast.cost)
    assert "a model has no price" in str(forecast)


def test_bytes_are_measured():
    """Of the rows as encoded, and of their grades."""
    few = wb.forecast_cost(report_of(), 1000, cores=1)
    reasons = report_of(reasoning=dict.fromkeys(range(100), "because " * 20))
    assert wb.forecast_cost(reasons, 1000, cores=1).bytes - few.bytes == pytest.approx(160 * 1000, rel=0.2)
    assert 20_000 < few.data_bytes < 200_000


def test_a_suite_counts_each_grader_once():
    """The combined score is not a separate grader."""
    usage = Usage(90, 10, 0.002)
    judge = wb.BinaryJudge(criteria="x", model="m", client=wb.ScriptedClient(Reply('{"reasoning": "r", "score": "PASS"}', usage)))  # fmt: skip
    report = wb.Suite([wb.ExactMatch(), judge], combine=wb.combine.Mean()).run(ROWS, progress=False)
    forecast = wb.forecast_cost(report, 10_000, cores=2)
    assert list(forecast.table.index) == ["exact-match", "binary-judge", "(reading rows)"]
    assert forecast.cost == pytest.approx(20.0)
    assert list(forecast.table["questions"]) == [0, 10_000, 0]
    assert "<table" in forecast._repr_html_()
    assert "binary-judge" in forecast._repr_markdown_()
    assert repr(forecast).startswith("CostForecast(10,000 rows")


@pytest.mark.parametrize(
    "wrong", [{"rows": 0}, {"cores": 0}, {"cores": -1}, {"concurrency": 0}, {"repeats": True}, {"rows": 1.5}]
)
def test_impossible_numbers_are_refused(wrong):
    """With the number found."""
    with pytest.raises(ReportError, match="must be a whole number"):
        wb.forecast_cost(report_of(), **{"rows": 10, "cores": 1, **wrong})


def test_what_is_no_report_is_refused():
    """Rows, for instance."""
    with pytest.raises(ReportError, match="needs a report"):
        wb.forecast_cost(ROWS, 100)


def test_too_few_rows_are_refused():
    """With the way to more."""
    with pytest.raises(ReportError, match="too few rows"):
        wb.forecast_cost(wb.ExactMatch().run(ROWS[:5], progress=False), 10)
