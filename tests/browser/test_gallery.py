"""The gallery of graders in JupyterLab."""

from __future__ import annotations

import pytest

from tests.browser.page import opened

NAME = "02_every_grader.ipynb"


@pytest.fixture(scope="module")
def run(browser, lab):
    """The notebook, opened and run once."""
    with opened(browser, lab, NAME) as notebook:
        notebook.run_all()
        yield notebook


def test_every_cell_runs_without_errors(run):
    """All code cells get a number, none shows an error or writes to stderr."""
    assert run.errors() == []
    assert all(cell["execution_count"] for cell in run.cells())


def test_each_kind_passes_and_fails_once(run):
    """Every line of the galleries shows a higher score for the conversation that should pass, and why."""
    run.find("table.dataframe, table[id^='T_']").first.wait_for()
    tables = run.find("table.dataframe, table[id^='T_']").all()
    scored = [
        [line.locator("td").all_inner_texts() for line in table.locator("tbody tr").all()] for table in tables
    ]
    lines = [line for table in scored for line in table if len(line) == 6]
    assert len(lines) >= 35
    assert {line[0].partition(":")[0] for line in lines} >= {
        "exact-match",
        "json-schema",
        "tool-call",
        "script",
        "rollout",
        "custom",
    }
    assert [line for line in lines if not float(line[2]) > float(line[4])] == []
    run.picture("gallery", tables[0])


def test_javascript_shows_its_checks(run):
    """The script's cell shows five ticks."""
    checks = run.find(".wb-checks").first
    run.expect(checks.locator(".check .good")).to_have_text(["✓"] * 5)


def test_page_is_quiet_and_stays_at_home(run):
    """No console error, and no request to another host."""
    assert run.trouble.console == []
    assert run.trouble.strangers == []
