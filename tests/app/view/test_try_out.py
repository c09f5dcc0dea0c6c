"""The Try mode: one conversation, each grader's grade before and after a change, and saved completions."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import workbench as wb
from tests.app.view.page import NASTY, NO, RULES, YES, coded
from workbench.graders import CustomGrader
from workbench.judges import BinaryJudge, ScriptedClient


def tried(page):
    """This page once every grader that needs no request has graded in Try."""
    page.until(
        lambda page: page.try_out and all(line["after"] or line["waits"] for line in page.try_out["lines"]),
        "answers in Try",
    )
    return page


@pytest.fixture
def page(page_of):
    """Try on the first row, which is bad: "no, 0"; a rule and a grader of code look for "yes"."""
    page = page_of(graders=(coded(),), labels="good").opened()
    page.tell("mode", mode="try")
    return tried(page)


def line(page, name="coded"):
    """A grader's grade in Try."""
    return next(each for each in page.try_out["lines"] if each["grader"] == name)


def kept(page):
    """The saved completions once all have been graded."""
    page.until(lambda page: all(each["grades"] for each in page.try_out["kept"]), "kept answers graded")
    return page.try_out["kept"]


def test_the_row_and_what_graders_say_of_it(page):
    """Score, part and verdict are those of the run."""
    shown = page.try_out
    assert (shown["id"], shown["answer"], shown["label"], shown["expected"]) == (
        "row-0",
        "no, 0",
        False,
        "no",
    )
    assert line(page)["before"] == {"score": "0", "part": "bad_refused"}
    assert shown["verdict"]["lead"] == "None of one accept this completion."


def test_a_changed_answer_is_graded_at_once(page):
    """Before and after are side by side, the change as text, and graders that err by the label are named."""
    page.tell("try", seq=1, text="yes, of course")
    tried(page)
    assert line(page)["after"]["score"] == "1"
    assert line(page)["moved"] == "now accepted"
    page.tell("try", seq=2, label=False)
    tried(page)
    assert page.try_out["verdict"]["text"].startswith("Its label is bad: coded accepts it.")
    assert "with_completion(app.samples[0], 'yes, of course')" in page.code


def test_an_edited_grader_is_asked_again(page):
    """Try is left, the grader changes, and Try shows its current grade."""
    page.tell("mode", mode="grade")
    page.typed("coded", NO)
    page.tell("mode", mode="try")
    page.until(
        lambda page: line(page)["before"] and line(page)["before"]["score"] == "1", "the new grader's answer"
    )


def test_a_kept_answer_is_graded_again_after_every_edit(page):
    """Graders that now get it wrong are named."""
    page.tell("try", seq=1, text="yes and no")
    page.tell("try", seq=2, label=True)
    page.tell("try_keep")
    (answer,) = kept(page)
    assert (answer["text"], answer["label"], answer["note"], answer["errs"]) == (
        "yes and no",
        True,
        "no errors",
        False,
    )
    page.tell("mode", mode="grade")
    page.typed("coded", YES.replace('"yes"', '"maybe"'))
    page.tell("mode", mode="try")
    page.until(lambda page: page.try_out["kept"][0]["errs"], "the kept answer graded again")
    assert page.try_out["kept"][0]["note"] == "coded rejects it"
    assert page.try_out["kept"][0]["grades"] == [
        {"grader": "coded", "said": {"score": "0", "part": "good_refused"}}
    ]


def test_a_kept_answer_is_opened_again_and_dropped(page):
    """With its text and label, over its original row; the newest first, no duplicates."""
    page.tell("try", seq=1, text="one")
    page.tell("try", seq=2, label=False)
    page.tell("try_keep")
    page.tell("try_keep")
    page.tell("try_row", query="row-5")
    tried(page)
    page.tell("try_keep")
    first, second = kept(page)
    assert (first["text"], first["label"]) == ("yes", True)
    assert second["text"] == "one"
    page.tell("try_saved", number=second["number"])
    shown = tried(page).try_out
    assert (shown["id"], shown["yours"], shown["yours_label"]) == ("row-0", "one", False)
    page.tell("try_drop", number=second["number"])
    assert [each["text"] for each in page.try_out["kept"]] == ["yes"]
    page.tell("try_saved", number=second["number"])
    assert page.try_out["id"] == "row-0"


def test_a_kept_answer_of_rows_that_are_drawn_no_more(page):
    """It is opened by itself."""
    page.tell("try_row", query="row-59")
    page.tell("try", seq=1, text="late")
    page.tell("try_keep")
    page.tell("draw", draw={"n": 5, "seed": 3})
    page.tell("try_saved", number=page.try_out["kept"][0]["number"])
    shown = tried(page).try_out
    assert (shown["pasted"], shown["yours"]) == (True, "late")
    assert page.problem is None


def test_a_pasted_conversation(page):
    """Its messages, hostile ones too, are graded; an invalid conversation gives an error and changes nothing."""
    text = '[{"role": "user", "content": "q"}, {"role": "assistant", "content": "yes"}]'
    page.tell("try_paste", text=text)
    shown = tried(page).try_out
    assert (shown["pasted"], shown["row"], shown["answer"]) == (True, -1, "yes")
    assert line(page)["before"]["score"] == "1"
    page.tell("try_keep")
    page.tell("try_row", query="row-1")
    page.tell("try_saved", number=kept(page)[0]["number"])
    assert tried(page).try_out["pasted"]
    page.tell("try_paste", text=NASTY)
    assert "not valid JSON" in page.problem
    assert page.try_out["pasted"]


def test_what_asks_a_model_waits(page_of):
    """A judge's button shows that it costs money; saved completions never call it."""
    asked = []
    client = ScriptedClient(lambda messages: asked.append(1) or '{"reasoning": "r", "score": "PASS"}')
    judge = BinaryJudge(name="judge", criteria="is it right?", model="m", client=client)
    page = page_of(graders=(judge,), labels="good", store="sqlite://").opened()
    page.tell("mode", mode="try")
    assert line(page, "judge")["waits"]
    page.tell("try_keep")
    assert page.try_out["kept"][0]["note"] == "not graded"
    assert asked == []
    page.tell("try_ask", grader="judge")
    page.until(lambda page: line(page, "judge")["before"], "the judge's answer")
    assert line(page, "judge")["before"]["part"] == "bad_accepted"
    assert asked == [1]


def test_rows_by_words(page):
    """Repeated search gives the next match; no match is reported."""
    page.tell("try_row", query="question 1")
    assert page.try_out["id"] == "row-1"
    page.tell("try_row", query="question 1", next=True)
    assert page.try_out["id"] == "row-10"
    page.tell("try_row", query="no such words")
    assert "no row has this id" in page.problem
    page.tell("try_random")
    assert tried(page).try_out["id"].startswith("row-")


def test_an_answer_of_the_grader_before_is_not_the_new_ones(page_of):
    """It was started, redefined before its reply, and shows nothing until it is started again; others continue."""
    event = threading.Event()
    slow = CustomGrader(lambda _: float(event.wait(60)), name="slow")
    page = page_of(graders=(slow, *RULES), labels="good").opened()
    page.tell("mode", mode="try")
    page.tell("try_ask", grader="slow")
    page.tell("tick", name="exact", on=False)
    event.set()
    page.until(lambda page: line(page, "slow")["before"], "the answer of a grader that was asked")
    event.clear()
    page.tell("try_random")
    page.tell("try_ask", grader="slow")
    page.tell("mode", mode="grade")
    page.session.graders.define(CustomGrader(lambda _: 0.0, name="slow"))
    event.set()
    page.tell("mode", mode="try")
    assert line(page, "slow")["before"] is None
    assert line(page, "slow")["waits"]


def test_a_probe_shows_the_shortest_text_of_each_hole(page_of):
    """One click tries it, another saves it as a row that every edit is graded on."""
    rows = [
        {"id": f"r{n}", "prompt": f"{n} plus {n}?", "completion": f"It is {2 * n}.", "expected": f"{2 * n}"}
        for n in range(20, 60)
    ]
    page = page_of(rows, (wb.Contains(name="has"),)).opened()
    page.tell("mode", mode="try")
    assert (page.try_out["probe"]["grader"], page.try_out["probe"]["holes"]) == ("has", [])
    page.tell("try_probe")
    found = page.try_out["probe"]
    assert not found["busy"]
    assert "hole" in found["lead"]
    assert page.problem is None
    hole = found["holes"][0]
    assert (hole["score"], hole["good"]) == ("1", False)
    page.tell("try_hole", number=0, keep=True)
    page.settled()
    assert page.try_out["yours_label"] is False
    assert len(page.try_out["kept"]) == 1
    page.until(lambda p: p.try_out["kept"][0]["errs"], "the saved text is graded")
    assert using_code(page).startswith("has: ")
    page.session.graders.exchange("has", wb.ExactMatch(name="has"))
    page.until(lambda p: p.try_out["probe"]["holes"] == [], "a changed grader was not probed")
    page.until(lambda p: not p.try_out["kept"][0]["errs"], "and rejects the text")


def using_code(page):
    """What the shown line of a probe prints."""
    page.tell("try_probe")
    space = {
        "wb": wb,
        "app": SimpleNamespace(graders=page.session.graders.by_name, samples=page.session.samples),
    }
    exec(page.code, space)
    return str(space["probe"])


def test_a_question_is_marked_as_intended_with_one_click(page_of):
    """The grader keeps it: the next probe lists it as allowed, an export has it; a second click takes it back."""
    rows = [
        {"id": f"r{n}", "prompt": f"Name {n}, 1 and 2", "completion": f"1, 2, {n}", "expected": f"1, 2, {n}"}
        for n in range(3, 23)
    ]
    source = (
        "async def grade(thread):\n"
        "    right = (thread.metadata or {}).get('expected', '')\n"
        "    return float({*(thread.completion() or '').split(', ')} == {*right.split(', ')})\n"
    )
    page = page_of(rows, (wb.FunctionGrader.from_source(source, name="same"),)).opened()
    page.tell("mode", mode="try")
    page.tell("try_probe")
    found = page.try_out["probe"]
    number = next(hole["number"] for hole in found["holes"] if "entry twice" in hole["sentence"])
    assert found["holes"][number]["question"]
    before = found["lead"]
    page.tell("try_allow", number=number, allowed=True)
    assert page.try_out["probe"]["holes"][number]["allowed"]
    assert page.try_out["probe"]["lead"] != before
    assert "probe.allow('entry-twice')" in page.code
    assert page.session.graders.chosen_suite().entries[0].allows == ("entry-twice",)
    page.tell("try_probe")
    again = page.try_out["probe"]["holes"]
    number = next(hole["number"] for hole in again if "entry twice" in hole["sentence"])
    assert again[number]["allowed"]
    page.tell("try_allow", number=number, allowed=False)
    assert page.session.graders.chosen_suite().entries[0].allows == ()
