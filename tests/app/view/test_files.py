"""Graders from files that a user opens on the page, and the page's messages as a whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import workbench as wb
from tests.app.view.page import NASTY, YES, coded
from workbench.app.session.versions import MAX_CHARACTERS

OPENAI = {
    "type": "string_check", "name": "same", "input": "{{sample.output_text}}", "reference": "{{item.expected}}",
    "operation": "eq",
}  # fmt: skip
PROTOCOL = Path(__file__).resolve().parents[3] / "frontend" / "src" / "protocol.ts"


def file(name, text):
    """A file as the page sends it."""
    return {"name": name, "text": text, "size": len(text)}


@pytest.fixture
def page(page_of):
    """A page with one grader."""
    return page_of(graders=(wb.ExactMatch(name="first"),), labels="good").opened()


def test_a_platforms_file_is_graded_at_once(page):
    """Its grader is chosen, and the line of code that does the same is left."""
    page.tell("add_files", files=[file("same.json", json.dumps(OPENAI))])
    page.settled()
    assert page.chosen["name"] == "same"
    assert page.line("same")["counts"]["bad_refused"] > 0
    assert page.code == "app.add(wb.load('same.json').graders)"
    assert page.problem is None


def test_source_of_a_file_is_imported(page, tmp_path):
    """It runs only with kernel confinement, and replaces no grader of the same name."""
    wb.save([coded()], tmp_path / "g.json", allow_unvalidated=True)
    text = (tmp_path / "g.json").read_text("utf-8")
    page.session.graders.add(coded())
    page.tell("add_files", files=[file("g.json", text)])
    page.settled()
    assert list(page.session.graders.by_name) == ["first", "coded", "coded_2"]
    assert page.session.graders.by_name["coded_2"].source.imported
    assert not page.session.graders.by_name["coded"].source.imported


def test_what_cannot_be_read_says_so_and_keeps_nothing_else_out(page):
    """Each such file is reported by name; graders of the others are added."""
    files = [
        file("bad.json", "{"),
        file("no.txt", NASTY),
        file("ok.json", json.dumps(OPENAI)),
        file("../x.py", YES),
    ]
    page.tell("add_files", files=files)
    page.settled()
    assert "same" in page.session.graders.by_name
    assert "bad.json" in page.problem
    assert "no.txt" in page.problem
    assert "workbench-opened" not in page.problem
    assert "bad.json" not in page.code


def test_a_file_that_is_too_large_is_refused(page):
    """Its text was never sent."""
    page.tell("add_files", files=[{"name": "big.json", "text": "", "size": MAX_CHARACTERS + 1}])
    page.settled()
    assert "too large" in page.problem


def test_weights_that_are_left_out_are_told(page, tmp_path):
    """The graders come alone."""
    suite = wb.Suite([wb.Entry(wb.Contains("a"), "c", weight=2.0), wb.Entry(wb.ExactMatch(), "e")])
    wb.save(suite, tmp_path / "s.json")
    page.tell("add_files", files=[file("s.json", (tmp_path / "s.json").read_text("utf-8"))])
    assert set(page.session.graders.by_name) == {"first", "c", "e"}
    assert "weights" in page.problem


@pytest.mark.parametrize(("word", "handlers"), [("do", "_do"), ("ask", "_ask")])
def test_whatever_a_page_may_send_is_answered(page, word, handlers):
    """The front end's list of messages and the kernel's are the same."""
    sent = set(re.findall(rf'{{ {word}: "(\w+)"', PROTOCOL.read_text("utf-8")))
    assert sent == set(getattr(page.view.actions, handlers))
