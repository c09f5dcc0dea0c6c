"""Columns that are mapped in the app: what is proposed, what happens before and after, and what a cell that runs again keeps."""

from __future__ import annotations

import csv

import pytest

import workbench as wb
from tests.app.widgets import using
from tests.app.widgets.test_cell_state import notebook  # noqa: F401 (a fixture)

NAMES = ["case", "user_question", "support_reply", "gold", "human_label", "latency_ms"]


@pytest.fixture
def file(tmp_path):
    """A table under a stranger's column names."""
    path = tmp_path / "my_answers.csv"
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(NAMES)
        for n in range(30):
            label = ("correct" if n % 2 else "incorrect") if n < 20 else ""
            writer.writerow(
                [
                    f"c{n}",
                    f"What is {n} plus one?",
                    f"I say {n + n % 2}.",
                    str(n + 1),
                    label,
                    str(1000 - 7 * n),
                ]
            )
    return path


def app_of(path, **settings):
    """An app over a file, with one rule."""
    return wb.Workbench(str(path), [wb.Contains(name="has")], **{"store": None, **settings})


@pytest.fixture
def page(file):
    """The page of such an app, shown."""
    page = using.WidgetPage(app_of(file))
    page.tell("open")
    yield page
    page.close()


def test_nothing_is_graded_until_the_columns_are_mapped(page):
    """The page says why, proposes columns by name and content with their first cells, and Run is off."""
    page.settled()
    assert page.columns["reason"].startswith("no column was recognised as the completion")
    assert not page.columns["required"]  # prompts were recognised
    assert [column["name"] for column in page.columns["columns"]] == NAMES
    assert page.columns["columns"][2]["cells"] == ["I say 0.", "I say 2.", "I say 2."]
    assert page.columns["columns"][5]["note"] == "30 different numbers"
    roles = {
        "prompt": "user_question",
        "completion": "support_reply",
        "reference": "gold",
        "labels": "human_label",
    }
    assert page.columns["roles"] == {**roles, "group": ""}
    assert not page.head["can_run"]
    assert page.widget.report is None


def mapped(page):
    """A page once the proposed columns are used and graded."""
    page.tell("map_columns", roles=page.columns["roles"])
    return page.settled()


def test_the_app_goes_on_with_the_columns_that_were_chosen(page, file):
    """Rows, references and labels are those of the mapped columns, and the line of code reads them in the same way."""
    mapped(page)
    assert page.columns is None
    assert page.problem is None
    samples = page.widget.samples
    assert (samples[3].thread.completion(), samples[3].reference) == ("I say 4.", "4")
    assert page.widget.report.summary.loc["has", "mean"] == 0.5
    counts = page.line("has")["counts"]
    assert (counts["good_accepted"], counts["bad_refused"]) == (10, 10)
    assert using.repeated(page.widget, "samples").columns == samples.columns
    assert "labels='human_label'" in page.code


def test_what_cannot_be_mapped_is_said_and_the_page_stays(page):
    """Without a completion, or with labels that are none."""
    page.tell("map_columns", roles={"prompt": "user_question"})
    assert "completion" in page.problem
    page.tell("map_columns", roles={"completion": "support_reply", "labels": "gold"})
    assert "neither good, bad nor unknown" in page.problem
    assert page.columns is not None


def test_columns_can_be_mapped_again_and_left(page):
    """From the rows' settings; edits and labels stay in the session that goes on."""
    mapped(page)
    page.tell("show_columns", on=True)
    assert (page.columns["reason"], page.columns["roles"]["completion"]) == ("", "support_reply")
    page.tell("show_columns", on=False)
    assert page.columns is None


def test_a_file_without_completions_says_so_first(tmp_path):
    """Prompts alone: the missing column is the first thing that is said, and can be left so."""
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "a?"}\n{"prompt": "b?"}\n')
    page = using.WidgetPage(app_of(path)).opened()
    assert page.columns["reason"].startswith("no column was recognised as the completion")
    assert not page.columns["required"]
    page.tell("show_columns", on=False)
    assert page.settled().columns is None
    page.close()


def test_a_cell_that_runs_again_keeps_the_columns(notebook, file):  # noqa: F811
    """Its text still has the file alone."""
    first = using.WidgetPage(notebook.run("a", lambda: app_of(file)))
    mapped(first)
    again = notebook.run("a", lambda: app_of(file))
    assert again.session is first.session
    assert again.samples.columns["completion"] == "support_reply"
