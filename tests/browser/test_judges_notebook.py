"""The notebook on judges in JupyterLab, scripted."""

from __future__ import annotations

import re

import pytest

from tests.browser.page import opened

NAME = "03_judges.ipynb"


@pytest.fixture(scope="module")
def run(browser, lab):
    """The notebook, opened and run once."""
    with opened(browser, lab, NAME) as notebook:
        notebook.run_all()
        yield notebook


def output(run, text):
    """The outputs of the cell whose source holds this text."""
    return run.find(".jp-CodeCell").filter(has_text=text).first.locator(".jp-OutputArea").first


def test_every_cell_runs_without_errors(run):
    """All code cells get a number, none shows an error or writes to stderr."""
    assert run.errors() == []
    assert all(cell["execution_count"] for cell in run.cells())


def test_what_is_scripted_says_so(run):
    """The label stands at the choice, at the first run and at the comparison."""
    for text in ("scripted_judge(messages)", "report = first.run(", "both.compare(", "def mistakes("):
        run.expect(output(run, text)).to_contain_text("SCRIPTED: no model is called")
    run.picture("judges-choice", output(run, "scripted_judge(messages)"))


def test_the_preview_is_readable_text(run):
    """Every turn of the question stands under its role, the material between its tags."""
    shown = output(run, "first.preview(")
    text = shown.inner_text()
    assert text.count(" of 8, assistant\n") == 3
    assert re.search(
        r"----- 8 of 8, user\nCONTEXT\n<context[-\w]*>\n\[document\]\nNoor Aziz has been mayor", text
    )
    run.picture("judges-preview", shown)


def test_the_diagnosis_names_cost_and_fault(run):
    """The report says that the first judge is too lenient, with an interval, and what it cost."""
    shown = output(run, 'report.diagnose(labels="good")')
    text = shown.inner_text()
    assert "accepts 56 of 112 known-bad rows" in text
    assert "cost: $0.0148 for" in text
    run.picture("judges-diagnosis", shown)


def test_wrongly_accepted_rows_can_be_read(run):
    """Prompt, completion and reason of the accepted bad answers stand in one table."""
    shown = output(run, "where=accepted & ~good")
    run.expect(shown.locator("tbody tr")).to_have_count(6)
    run.expect(shown).to_contain_text("Paolo Venn as its mayor")
    run.picture("judges-accepted", shown)


def test_the_comparison_is_paired_and_priced(run):
    """The sentence has its interval, the table both prompts' mistakes and dollars."""
    compared = output(run, "both.compare(")
    run.expect(compared).to_contain_text("95 % interval of the difference")
    run.expect(compared.locator("tbody tr")).to_have_count(5)
    table = output(run, "def mistakes(").locator("table")
    lines = [line.locator("td").all_inner_texts() for line in table.locator("tbody tr").all()]
    assert lines[:2] == [["56 of 112", "2 of 112"], ["0 of 88", "0 of 88"]]
    assert all(float(cost) > 0 for cost in lines[-1])
    run.picture("judges-compared", compared)
    run.picture("judges-mistakes", output(run, "def mistakes("))


def test_the_repetition_is_free(run):
    """Four hundred answers come out of the store."""
    shown = output(run, "again.spending").inner_text()
    assert "cost: $0.00 for 0 tokens; 400 rows from the store, not paid again" in shown


def test_claims_show_their_evidence(run):
    """Each claim stands with its verdict and the words of the document."""
    shown = output(run, "wb.FaithfulnessJudge(")
    text = shown.inner_text()
    assert text.count("supported: True") == 2
    assert text.count("found: True") == 2
    assert "called Ebb.\n  supported: False" in text
    run.picture("judges-claims", shown)


def test_page_is_quiet_and_stays_at_home(run):
    """No console error, and no request to another host."""
    assert run.trouble.console == []
    assert run.trouble.strangers == []
