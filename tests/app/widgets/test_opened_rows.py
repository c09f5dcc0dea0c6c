"""Rows of a file that is opened in the app: they replace or extend its table, and an undo restores everything."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest

import workbench as wb
from tests.app.view.page import YES, coded
from tests.app.widgets import using
from tests.app.widgets.test_cell_state import notebook  # noqa: F401 (a fixture)

NEW = [
    {"question": f"new {n}", "answer": "yes" if n % 2 else "no", "ref": "yes", "good": n % 2 == 1}
    for n in range(8)
]


def lines(rows):
    """Rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


ROWS = lines(
    [
        {"prompt": row["question"], "completion": row["answer"], "expected": "yes", "good": row["good"]}
        for row in NEW
    ]
)


@pytest.fixture
def page():
    """The page of an app with a code grader, graded."""
    page = using.WidgetPage(
        wb.Workbench(using.ROWS, [coded(), wb.Contains("yes", name="has")], labels="good", store=None)
    )
    page.tell("open")
    yield page.settled()
    page.close()


def rows_of(page):
    """Number of rows that the page shows."""
    return page.head["total"]


def test_rows_are_offered_before_anything_changes(page):
    """With the sentence and the reading of `wb.read_samples`, and the numbers of both."""
    page.send_files({"rows.jsonl": ROWS})
    page.settled()
    assert rows_of(page) == 24
    assert page.files["offer"] == {"rows": 8, "now": 24, "extends": True, "why": ""}
    (file,) = page.files["files"]
    assert file["text"] == "rows.jsonl: rows"
    assert file["notes"][0].startswith("8 rows; prompt from 'prompt', completion from 'completion'")
    page.tell("close_opening")
    assert page.files is None


def test_rows_replace_the_table(page):
    """They are graded by the graders of the app, with the labels of the same column; the line of code does the same."""
    page.send_files({"rows.jsonl": ROWS})
    page.tell("use_rows", how="replace")
    page.settled()
    assert rows_of(page) == 8
    assert page.head["dataset"] == "rows"
    assert page.line("coded")["counts"] == {
        **page.line("coded")["counts"],
        "good_accepted": 4,
        "bad_refused": 4,
    }
    assert page.files["offer"] is None
    assert page.widget.samples[0].thread.completion() == "no"
    assert (
        page.code
        == "rows = wb.read_samples('rows.jsonl')\napp = wb.Workbench(rows, list(app.graders.values()), labels='good')"
    )


def test_an_undo_restores_rows_grades_and_labels_and_keeps_edits(page):
    """What was written meanwhile stays."""
    page.tell("label_row", row=0, value=True)
    before = page.widget.report
    page.send_files({"rows.jsonl": ROWS})
    page.tell("use_rows", how="replace")
    page.settled().typed("coded", YES.replace("yes", "no"))
    assert page.files["undo"] == "restore the 24 rows before"
    page.tell("undo_opening")
    page.settled()
    assert rows_of(page) == 24
    assert page.widget.report is not None
    assert page.widget.report.samples is before.samples
    assert page.widget.labels[0] is True
    assert '"no" in' in page.chosen["source"]["text"]
    assert page.files is None


def test_rows_extend_the_table_under_its_column_names(page):
    """Roles get the columns of the app's rows; labels of both count, and one's own labels remain."""
    page.tell("label_row", row=1, value=False)
    renamed = lines([{"question": "q", "output": "yes", "target": "yes", "good": True, "extra": 1}])
    page.send_files({"more.jsonl": renamed})
    page.tell("use_rows", how="extend")
    page.settled()
    assert rows_of(page) == 25
    samples = page.widget.samples
    assert samples.columns["completion"] == "completion"
    assert samples[24].thread.metadata["expected"] == "yes"
    assert samples[0].thread.metadata["extra"] is None
    assert page.widget.labels[1] is False
    assert page.widget.labels[24] is True
    assert (
        ".rename(columns={'question': 'prompt', 'output': 'completion', 'target': 'expected'})" in page.code
    )
    page.tell("undo_opening")
    page.settled()
    assert rows_of(page) == 24
    assert page.widget.labels[1] is False


def test_rows_that_do_not_fit_change_nothing(page):
    """The reason is shown, and they can still replace the table."""
    page.send_files(
        {
            "chat.jsonl": lines(
                [{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}]
            )
        }
    )
    page.tell("use_rows", how="extend")
    page.settled()
    assert rows_of(page) == 24
    assert "messages per row" in page.problem
    page.tell("use_rows", how="replace")
    page.settled()
    assert rows_of(page) == 1


def test_a_bad_file_loses_nothing(page):
    """Neither rows, nor grades, nor what is typed."""
    report = page.widget.report
    page.send_files({"rows.jsonl": '{"prompt": "p", "completion": "c"}\n{"prompt": \n'})
    page.settled()
    assert "line 2" in page.files["files"][0]["problem"]
    assert page.files["offer"] is None
    page.tell("use_rows", how="replace")
    assert page.widget.report is report


def test_a_table_without_known_columns_opens_with_its_columns(page):
    """As an app over the file does."""
    page.send_files({"mine.csv": "frage,antwort,note\nq,a,x\nr,b,y\n"})
    assert page.files["files"][0]["notes"] == [
        "2 rows; no column contains a prompt, a completion or messages: you choose the columns next"
    ]
    page.tell("use_rows", how="replace")
    page.settled()
    assert page.columns["required"]
    page.tell("map_columns", roles={"prompt": "frage", "completion": "antwort"})
    page.settled()
    assert page.columns is None
    assert page.widget.samples[1].thread.completion() == "b"
    page.tell("undo_opening")
    page.settled()
    assert rows_of(page) == 24


def test_binary_files_and_several_files_are_read(page):
    """Parquet and Excel; rows of several files are joined, and graders of the same drop are added."""
    frame, parquet, excel = pd.DataFrame(NEW), io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    frame.to_excel(excel, index=False)
    files = {"a.parquet": parquet.getvalue(), "b.xlsx": excel.getvalue(), "g.py": YES}
    page.send_files(files)
    assert page.files["offer"]["rows"] == 16
    assert [file["problem"] for file in page.files["files"]] == ["", "", ""]
    page.tell("use_rows", how="replace")
    page.settled()
    assert rows_of(page) == 16
    assert len(page.session.graders.by_name) == 3
    assert page.files["undo"] == "restore the 24 rows before and remove 1 grader of the file"
    page.tell("undo_opening")
    page.settled()
    assert rows_of(page) == 24
    assert len(page.session.graders.by_name) == 2


def test_past_scores_come_with_the_rows(page):
    """Also when they extend the table."""
    page.send_files({"old.jsonl": lines([{"prompt": "p", "completion": "yes", "score": 0.5, "good": True}])})
    page.tell("use_rows", how="extend")
    page.settled()
    old = page.widget.samples.old_grades["score"]
    assert old.n_scored == 1
    assert old.scores[24] == 0.5


def test_an_app_without_rows_takes_those_of_a_file():
    """Nothing is asked: there is nothing to lose."""
    page = using.WidgetPage(wb.Workbench([], [wb.Contains("yes", name="has")], store=None))
    page.tell("open")
    page.send_files({"rows.jsonl": ROWS})
    page.settled()
    assert rows_of(page) == 8
    page.close()


def test_a_cell_that_runs_again_keeps_the_opened_rows(notebook):  # noqa: F811
    """Its rows are those from before; an undo restores them."""
    first = notebook.run("a", using.app_of)
    page = using.WidgetPage(first)
    page.send_files({"rows.jsonl": ROWS})
    page.tell("use_rows", how="replace")
    assert len(notebook.run("a", using.app_of).samples) == 8
    assert len(notebook.run("a", lambda: using.app_of(samples=using.ROWS[:5])).samples) == 5
