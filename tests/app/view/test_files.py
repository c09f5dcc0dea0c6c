"""Graders from files that a user opens on the page, and the page's messages as a whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import workbench as wb
from tests.app.view.page import NASTY, YES, coded
from workbench.app.session import opened_files
from workbench.app.session.opened_files import MAX_BYTES
from workbench.cli import main

OPENAI = {
    "type": "string_check", "name": "same", "input": "{{sample.output_text}}", "reference": "{{item.expected}}",
    "operation": "eq",
}  # fmt: skip
PROTOCOL = Path(__file__).resolve().parents[3] / "frontend" / "src" / "protocol.ts"


@pytest.fixture
def page(page_of):
    """A page with one grader."""
    return page_of(graders=(wb.ExactMatch(name="first"),), labels="good").opened()


def test_a_platforms_file_is_graded_at_once(page):
    """Its grader is selected; the sentence is that of `workbench open`, and the line of code does the same."""
    page.send_files({"same.json": json.dumps(OPENAI)})
    page.settled()
    assert page.chosen["name"] == "same"
    assert page.line("same")["counts"]["bad_refused"] > 0
    assert page.code == "app.add(wb.load('same.json').graders)"
    assert page.problem is None
    (file,) = page.files["files"]
    assert file["text"] == "same.json: OpenAI grader JSON"
    assert file["problem"] == ""
    assert "1 grader: same" in file["notes"][0]


def test_the_sentence_is_that_of_the_command(page, tmp_path, capsys):
    """Whatever the file is."""
    texts = {
        "same.json": json.dumps(OPENAI),
        "rows.jsonl": '{"prompt": "p", "completion": "c"}\n',
        "x.py": YES,
        "rows.csv": "prompt,completion\n1,2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
        page.send_files({name: text})
        main(["open", str(tmp_path / name)])
        assert capsys.readouterr().out.splitlines()[0] == f"{tmp_path}/{page.files['files'][0]['text']}"


def test_source_of_a_file_is_imported(page, tmp_path):
    """It runs only with kernel confinement, and replaces no grader of the same name."""
    wb.save([coded()], tmp_path / "g.json", allow_unvalidated=True)
    page.session.graders.add(coded())
    page.send_files({"g.json": (tmp_path / "g.json").read_bytes()})
    page.settled()
    assert list(page.session.graders.by_name) == ["first", "coded", "coded_2"]
    assert page.session.graders.by_name["coded_2"].source.imported
    assert not page.session.graders.by_name["coded"].source.imported


def test_what_cannot_be_read_says_so_and_keeps_nothing_else_out(page):
    """Each such file is reported by name; graders of the others are added."""
    page.send_files(
        {"bad.json": "{", "no.txt": NASTY, "ok.json": json.dumps(OPENAI), "../x.py": YES, "none.csv": ""}
    )
    page.settled()
    assert "same" in page.session.graders.by_name
    problems = {file["name"]: file["problem"] for file in page.files["files"]}
    assert list(problems) == ["bad.json", "no.txt", "ok.json", ".._x.py", "none.csv"]
    assert "JSON" in problems["bad.json"]
    assert problems["no.txt"]
    assert problems["ok.json"] == problems[".._x.py"] == ""
    assert "the file is empty" in problems["none.csv"]
    assert "workbench-opened" not in json.dumps(page.files)
    assert "bad.json" not in page.code
    assert page.problem is None


def test_a_file_that_another_one_names_is_part_of_it(page):
    """A config and the prompt in the same folder."""
    config = "prompts: [file://p.txt]\nproviders: [echo]\ntests:\n  - vars: {a: b}\n    assert: [{type: equals, value: x}]\n"
    page.send_files({"promptfooconfig.yaml": config, "p.txt": "Say {{a}}"})
    assert [file["name"] for file in page.files["files"]] == ["promptfooconfig.yaml"]


def test_files_that_are_too_large_are_refused(page, monkeypatch):
    """By the sizes that the page gives, and by what arrives; what was received is dropped."""
    page.tell("open_files", upload="a", files=[{"name": "big.json", "size": MAX_BYTES + 1}])
    assert "too large" in page.files["files"][0]["problem"]
    assert "wb.Workbench('big.json')" in page.files["files"][0]["problem"]
    monkeypatch.setattr(opened_files, "MAX_BYTES", 2_500)
    with pytest.raises(LookupError, match="too large"):
        page.send_files({"big.txt": "x" * 3_000})
    assert not page.session.files._uploads


def test_pieces_in_another_order_are_refused(page):
    """And a file of which not all arrived is not read."""
    page.ask("file_piece", upload="u", name="a.csv", start=0, data="YSxi")
    for start, data in ((0, "YSxi"), (3, "%"), (9, "YSxi")):
        with pytest.raises(LookupError):
            page.ask("file_piece", upload="u", name="a.csv", start=start, data=data)
    page.tell("open_files", upload="u", files=[{"name": "a.csv", "size": 12}])
    assert "3 of 12 bytes" in page.files["files"][0]["problem"]


def test_what_the_browser_cannot_read_is_told(page):
    """Such as a folder."""
    page.tell("open_files", upload="u", files=[{"name": "folder", "size": 0, "problem": "NotFoundError"}])
    assert "NotFoundError" in page.files["files"][0]["problem"]


def test_cancelled_files_are_dropped(page):
    """Nothing of them is left."""
    page.ask("file_piece", upload="u", name="a.csv", start=0, data="YSxi")
    folder = page.session.files._uploads["u"].path
    assert folder.exists()
    page.tell("cancel_files", upload="u")
    assert not folder.exists()


def test_weights_that_are_left_out_are_told(page, tmp_path):
    """The graders come alone."""
    suite = wb.Suite([wb.Entry(wb.Contains("a"), "c", weight=2.0), wb.Entry(wb.ExactMatch(), "e")])
    wb.save(suite, tmp_path / "s.json")
    page.send_files({"s.json": (tmp_path / "s.json").read_bytes()})
    assert set(page.session.graders.by_name) == {"first", "c", "e"}
    assert any("weights" in note for note in page.files["files"][0]["notes"])


def test_an_undo_removes_the_graders_of_a_file(page):
    """They can be restored, and the notice is gone."""
    page.send_files({"same.json": json.dumps(OPENAI)})
    assert page.files["undo"] == "remove 1 grader of the file"
    page.tell("undo_opening")
    assert set(page.session.graders.by_name) == {"first"}
    assert page.files is None
    page.tell("restore")
    assert "same" in page.session.graders.by_name


@pytest.mark.parametrize(
    ("name", "head"), [("s.db", b"SQLite format 3\0"), ("b.json", b'{"workbench_baseline": 1}')]
)
def test_what_the_app_does_not_open_names_what_does(page, name, head):
    """A store and a baseline."""
    page.send_files({name: head})
    assert name in page.files["files"][0]["problem"]
    assert "next step" in page.files["files"][0]["problem"]


def test_rows_wait_in_a_view_that_shares_a_session(page):
    """Only the app itself can show other rows."""
    page.send_files({"rows.csv": "prompt,completion\n1,2\n"})
    assert not page.files["offer"]["extends"]
    assert "app itself" in page.files["offer"]["why"]


@pytest.mark.parametrize(("word", "handlers"), [("do", "_do"), ("ask", "_ask")])
def test_whatever_a_page_may_send_is_answered(page, word, handlers):
    """The front end's list of messages and the kernel's are the same."""
    sent = set(re.findall(rf'{{ {word}: "(\w+)"', PROTOCOL.read_text("utf-8")))
    assert sent == set(getattr(page.view.actions, handlers))
