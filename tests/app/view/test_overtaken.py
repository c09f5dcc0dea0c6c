"""What comes late: a run that ends after an edit, a key for a card of another queue, a store that cannot be read."""

from __future__ import annotations

import asyncio
import threading

import pytest

import workbench as wb
from tests.app.view.page import NO, ROWS, YES, coded


@pytest.fixture
def held():
    """An event, and a grader that waits for it."""
    event = threading.Event()

    async def wait(_):
        while not event.is_set():
            await asyncio.sleep(0.01)
        return 0.5

    return event, wb.CustomGrader(wait, name="slow")


def test_a_run_that_ends_after_an_edit_keeps_its_grades(page_of, held):
    """The edit's grades stay, and Compare and History have them under the right version."""
    event, slow = held
    page = page_of(graders=(coded(), slow), labels="good").opened()
    page.tell("run")
    page.tell("edit", name="coded", text=NO, seq=1)
    page.until(lambda page: page.chosen["seq"] == 1, "the edit graded")
    assert page.line("coded")["counts"]["bad_accepted"] == 30
    event.set()
    page.until(lambda page: not page.progress["running"], "the run's end")
    page.settled()
    assert page.line("coded")["counts"]["bad_accepted"] == 30
    assert not page.line("coded")["stale"]
    assert page.line("slow")["counts"] is not None
    assert page.session.kept.last("coded").grader.source.text.count('"yes"') == 1


def test_older_grades_are_not_called_fresh_where_nothing_can_be_joined(page_of, held):
    """Other rows are drawn during a run: its grades of the grader before the edit are outdated."""
    event, slow = held
    page = page_of(graders=(coded(), slow), labels="good").opened()
    page.tell("run")
    page.tell("edit", name="coded", text=NO, seq=1)
    page.until(lambda page: page.chosen["seq"] == 1, "the edit graded")
    page.tell("draw", draw={"n": 10, "seed": 1})
    page.until(lambda _: page.session.live.idle, "the new rows graded")
    event.set()
    page.until(lambda page: not page.progress["running"], "the run's end")
    page.settled()
    assert page.session.results.report.grades["coded"].scores.tolist() == [float(n % 2) for n in range(60)]
    assert page.line("coded")["stale"]


def test_run_takes_up_a_text_that_was_stopped(page_of):
    """What is in sight is what runs."""
    page = page_of(graders=(coded(),), labels="good").opened()
    slow = YES.replace("    return", "    for n in range(3_000_000):\n        pass\n    return")
    page.tell("edit", name="coded", text=slow, seq=1)
    page.tell("stop")
    page.settled()
    assert {check["state"] for check in page.chosen["checks"]} <= {"open", "ok"}
    if page.session.live.edits:  # else it was faster than the stop
        page.tell("run")
        page.until(lambda page: not page.session.live.edits, "the text taken up")
    assert "3_000_000" in page.session.graders.by_name["coded"].source.text


def test_a_late_key_finds_the_card_that_was_in_sight(page_of):
    """Another order begins meanwhile: the label is still that row's, and no other row gets one."""
    page = page_of(labels="good").opened()
    page.tell("mode", mode="label")
    card = page.label["cards"][4]
    page.tell("label_order", order="disagreement first")
    assert card["seq"] not in {each["seq"] for each in page.label["cards"]}
    page.tell("label", action="bad", seq=card["seq"], note="", page="p", turn=1)
    assert list(page.session.labels.own_labels) == [card["id"]]


def test_a_key_for_another_person_labels_nothing(page_of):
    """Cards of the previous labeller are removed."""
    page = page_of(labels="good").opened()
    page.tell("mode", mode="label")
    card = page.label["cards"][0]
    page.tell("labeller", name="ann")
    page.tell("label", action="bad", seq=card["seq"], note="", page="p", turn=1)
    assert page.session.labels.own_labels == {}


def test_a_store_that_cannot_be_read_leaves_the_view_standing(page_of, tmp_path):
    """The problem is the store's own words; rows, graders and the column's labels are there."""
    (tmp_path / "a.db").write_bytes(b"this is no database" * 100)
    page = page_of(labels="good", store=f"sqlite:///{tmp_path / 'a.db'}")
    page.tell("open")
    page.settled()
    assert "not an SQLite database" in page.problem
    assert page.table["count"] == len(ROWS)
    assert page.line("exact")
    assert page.rail["has_labels"]


def test_a_kept_version_has_no_grades_of_another_text(page_of):
    """Saved before it has run, it has none."""
    page = page_of(graders=(wb.CustomGrader(lambda _: 1.0, name="c"),), labels="good").opened()
    page.tell("run")
    page.settled()
    page.session.graders.define(wb.CustomGrader(lambda _: 0.0, name="c"))
    page.tell("keep", name="c")
    assert page.session.kept.last("c").report is None
