"""The notice about another text than the one in the editor: the last graded one, and the store's."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.app.view.page import HALF, NO, RULES, YES, coded

BROKEN = "async def grade(thread)\n    return 1.0\n"


@pytest.fixture
def page(page_of):
    """A page on a grader of code, graded."""
    page = page_of(graders=(coded(), *RULES), labels="good").opened()
    assert page.chosen["name"] == "coded"
    return page


def test_grades_below_a_refused_text_are_said_to_be_of_the_version_before(page):
    """Its line has no tick, and the notice leads back to that version."""
    assert (page.chosen["refused"], page.chosen["notice"]) == (False, None)
    page.typed("coded", BROKEN)
    notice = page.chosen["notice"]
    assert page.chosen["refused"]
    assert notice["text"] == "This text is not graded: the results shown are of version 1."
    assert notice["link"] == "Restore version 1"
    assert page.line("coded")["validation"] == "failed"
    assert page.line("coded")["stale"]
    page.tell(**notice["act"])
    page.settled()
    assert (page.chosen["refused"], page.chosen["notice"]) == (False, None)
    assert page.chosen["source"]["text"] == YES
    assert page.line("coded")["validation"] == "validated"


def test_between_them_may_be_a_text_that_nobody_kept(page):
    """The shown results belong to that one then; the link leads to the saved one."""
    page.typed("coded", NO)
    page.typed("coded", BROKEN)
    notice = page.chosen["notice"]
    assert "the last text that passed its checks" in notice["text"]
    assert notice["link"] == "Restore version 1"


@pytest.fixture
def store(tmp_path):
    """A store's address."""
    return f"sqlite:///{tmp_path / 'graders.db'}"


def again(page_of, store):
    """The cell that runs again, with its own text."""
    return page_of(graders=(coded(), *RULES), labels="good", store=store).opened()


def test_a_version_that_was_kept_is_offered_when_the_cell_runs_again(page_of, store):
    """The cell restores its text; one click loads the saved one, another the cell's."""
    page = again(page_of, store)
    page.typed("coded", NO)
    page.tell("keep", name="coded")
    assert page.chosen["notice"] is None
    page.close()
    page = again(page_of, store)
    notice = page.chosen["notice"]
    assert notice["text"].startswith("The store has another text of it, saved ")
    page.tell(**notice["act"])
    page.settled()
    assert page.chosen["source"]["text"] == NO
    assert page.chosen["notice"] is None
    assert page.line("coded")["counts"]["good_refused"] == 30
    assert page.code.endswith(".graders.get('coded', 1))")
    page.tell("restore")
    page.settled()
    assert page.chosen["source"]["text"] == YES


def test_nothing_is_said_where_the_store_has_the_same_or_nothing(page_of, store):
    """Nor while another text is being edited."""
    with wb.open_store(store) as opened:
        opened.graders.create("coded", coded())
        opened.graders.create("exact", coded(NO, "exact"))
    page = again(page_of, store)
    assert page.chosen["notice"] is None
    page.typed("coded", NO)
    assert page.chosen["notice"] is None
    page.tell("choose", name="has yes")
    assert page.chosen["notice"] is None
    page.tell("choose", name="exact")  # a rule of the workbench here, code in the store
    assert page.chosen["notice"]["act"]["version"] == 1


def test_a_version_that_is_not_there_is_said_and_changes_nothing(page_of, store):
    """A page makes numbers up, or a cell deleted it: what is being typed stays."""
    with wb.open_store(store) as opened:
        opened.graders.create("coded", coded(NO))
    page = again(page_of, store)
    page.typed("coded", BROKEN)
    page.tell("bring_stored", name="coded", version=7)
    assert page.chosen["source"]["text"] == BROKEN
    assert "coded" in page.problem
    with wb.open_store(store) as opened:
        opened.graders.delete("coded")
    page.tell("bring_stored", name="coded", version=1)
    assert page.chosen["source"]["text"] == BROKEN
    assert "coded" in page.problem


def test_the_store_is_read_anew_when_a_grader_is_chosen(page_of, store):
    """A cell keeps another version, and deletes it again."""
    page = again(page_of, store)

    def notice():
        page.tell("choose", name="exact")
        page.tell("choose", name="coded")
        return page.chosen["notice"]

    assert notice() is None
    with wb.open_store(store) as opened:
        opened.graders.create("coded", coded(HALF))
        opened.graders.edit("coded", coded(NO))
        assert notice()["act"]["version"] == 2
        opened.graders.delete("coded")
    assert notice() is None


def test_a_judge_of_the_store_asks_whom_the_one_here_asks(page_of, store):
    """A store keeps no client: without one it would be the provider's, and cost money."""
    client = wb.ScriptedClient("{}")
    with wb.open_store(store) as opened:
        opened.graders.create("judge", wb.BinaryJudge("Is it true?", name="judge"))
    page = page_of(
        graders=(wb.BinaryJudge("Is it right?", name="judge", client=client),), store=store
    ).opened()
    page.tell(**page.chosen["notice"]["act"])
    judge = page.session.graders.by_name["judge"]
    assert judge.criteria == "Is it true?"
    assert judge.client is client
    assert page.chosen["stored"] == 1


def test_what_was_run_here_is_kept_when_the_kernel_ends(page_of, store):
    """An edit that was run, without being saved by hand: the next kernel offers it beside the cell's text."""
    page = again(page_of, store)
    page.typed("coded", NO)
    page.tell("run")
    page.settled()
    page.close()
    page = again(page_of, store)
    notice = page.chosen["notice"]
    assert notice["text"].startswith("The store has another text of it, saved ")
    assert (notice["link"], notice["other"]["link"]) == ("Use that text", "Keep this text")
    page.tell(**notice["other"]["act"])
    assert page.chosen["source"]["text"] == YES
    assert page.chosen["notice"] is None
    page.close()
    assert again(page_of, store).chosen["notice"] is None


def test_what_was_exported_is_kept_too(page_of, store, tmp_path, monkeypatch):
    """And an unchanged grader of a cell is not: its text is in the notebook."""
    monkeypatch.chdir(tmp_path)
    page = again(page_of, store)
    page.tell("mode", mode="export")
    page.tell("write")
    with wb.open_store(store) as opened:
        assert not list(opened.graders.list())
    page.tell("mode", mode="grade")
    page.typed("coded", NO)
    page.tell("mode", mode="export")
    page.tell("export_settings", settings={"file": "other.json"})
    page.tell("write")
    with wb.open_store(store) as opened:
        assert [entry.key for entry in opened.graders.list()] == ["coded"]
