"""Summaries of runs: numbers and findings as the report had them."""

import json
import math

import pandas as pd
import pytest

import workbench as wb
from workbench.analysis.finding import RowNumbers
from workbench.judges import Reply, Usage
from workbench.store import StoreError


@pytest.fixture(scope="module")
def report():
    samples = wb.Samples([{"prompt": "2+2?", "completion": str(n % 5)} for n in range(200)])
    verdict = Reply('{"reasoning": "r", "score": "PASS"}', Usage(10, 5, 0.001), {"finish_reason": "stop"})
    judge = wb.BinaryJudge(criteria="right", client=wb.ScriptedClient(verdict), name="judge")
    function = wb.FunctionGrader.from_source("async def grade(thread):\n    return 'x'\n", name="broken")
    return wb.Suite([judge, wb.Contains(expected="4"), function]).run(samples, progress=False)


def test_a_run_comes_back_as_it_was(store, report):
    """Summary, findings, tokens and cost are those of the report."""
    stored = store.runs.add(report, "first", dataset="sums")
    run = store.runs.get(stored.id)
    assert run == stored
    assert (run.name, run.dataset, run.rows) == ("first", "sums", 200)
    assert run.graders == ("judge", "contains", "broken")
    pd.testing.assert_frame_equal(run.summary, report.summary, check_dtype=False)
    assert list(map(str, run.findings)) == list(map(str, report.findings))
    assert [finding.rows for finding in run.findings] == [finding.rows for finding in report.findings]
    assert repr(run.findings) == repr(tuple(report.findings))
    assert (run.tokens, math.isclose(run.cost, 0.2)) == (3_000, True)
    assert set(run.sources) == {"broken"}


def test_a_failed_grader_has_no_number(store, report):
    """What has no score has NaN in the summary, and null in the database, never 0."""
    run = store.runs.add(report)
    assert math.isnan(run.summary.loc["broken", "mean"])
    with store._database.reading() as connection:
        text = connection.exec_driver_sql("SELECT summary, findings FROM workbench_runs").one()
    assert "NaN" not in "".join(text)


def test_a_stored_finding_keeps_all_its_rows(store):
    """Also thousands, in little text; a run of an older version, with a list of rows, is still read."""
    report = wb.Length(minimum=1).run([{"completion": "x"}] * 5_000, progress=False)
    run = store.runs.add(report)
    assert {len(finding.rows) for finding in run.findings} == {5_000}
    with store._database.writing() as connection:
        text = connection.exec_driver_sql("SELECT findings FROM workbench_runs").scalar_one()
        assert len(text) < 5_000
        records = json.loads(text)
        older = json.dumps([record | {"rows": [3, 1]} for record in records]).replace("'", "''")
        connection.exec_driver_sql(f"UPDATE workbench_runs SET findings = '{older}'".replace("%", "%%"))
    assert {finding.rows for finding in store.runs.get(run.id).findings} == {RowNumbers([3, 1])}


def test_runs_are_listed_newest_first(store, report):
    """As a table with a line each."""
    assert store.runs.list() == ()
    for name in ("one", "two"):
        store.runs.add(report, name)
    assert [run.name for run in store.runs.list()] == ["two", "one"]
    assert "judge, contains, broken" in repr(store.runs.list())
    assert list(store.runs.list().frame["rows"]) == [200, 200]


def test_a_run_without_judges_has_no_cost(store):
    """Unknown is None, not 0."""
    run = store.runs.add(wb.ExactMatch().run([{"completion": "x", "reference": "x"}], progress=False))
    assert run.cost is None


def test_what_is_no_report_or_no_run(store):
    """Each is told."""
    with pytest.raises(TypeError, match="by its report, not by str"):
        store.runs.add("report")
    with pytest.raises(StoreError, match="there is no run 7"):
        store.runs.get(7)
