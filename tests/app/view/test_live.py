"""Grading while the user types: the messages a page gets."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.app.view.page import HALF, NO, ROWS, RULES, TWO, YES, coded
from workbench.app.session import auto_grader


@pytest.fixture
def page(page_of):
    """A page with two rules and a function, graded."""
    return page_of(graders=(*RULES, coded()), labels="good").opened()


def test_an_opened_page_grades_what_costs_nothing(page_of):
    """Code and rules are validated and graded as soon as a page shows them; a judge waits for Run, as shown."""
    judge = wb.BinaryJudge("Is it right?", name="judge", client=wb.ScriptedClient("{}"))
    page = page_of(graders=(*RULES, coded(), judge), labels="good")
    assert page.line("coded")["counts"] is None
    page.opened()
    assert page.line("coded")["validation"] == "validated"
    assert page.line("coded")["counts"]["good_accepted"] == 30
    assert page.line("judge")["say"] == "judge, waits for Run"
    assert page.session.results.report.graders == ["has yes", "exact", "coded"]


def test_a_session_without_a_page_grades_nothing(page_of):
    """Code that makes an app and shows it nowhere pays nothing."""
    page = page_of(graders=(coded(),))
    page.session.graders.add(coded(HALF, "other"))
    assert page.session.live.idle
    assert page.session.results.report is None


def test_an_edit_is_proved_graded_and_compared_with_the_kept_version(page):
    """The text typed becomes the grader; the changed line counts what it did to known-good and known-bad rows."""
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    assert page.session.graders.by_name["coded"].source.text == NO
    assert page.chosen["changed"]["sentence"] == "Your edit changed 60 rows"
    assert {pill["text"] for pill in page.chosen["changed"]["pills"]} == {
        "30 known-good are lost",
        "30 known-bad are now accepted",
    }
    assert page.chosen["version"] == 2
    assert not page.chosen["kept"]
    assert page.line("coded")["was"]["good_accepted"] == 30
    assert page.line("coded")["counts"]["good_refused"] == 30
    assert page.head["state"] == {"shape": "ok", "text": "graded as you type"}


def test_bar_verdict_scores_and_rows_change_in_one_message(page):
    """No message has the new counts without the new verdict, finding, rows and state."""
    page.tell("choose", name="coded")
    page.tell("look", where=[{"grader": "coded", "passed": True}])
    page.news.clear()
    page.typed("coded", NO)
    told = [
        news for news in page.news if "rail" in news and any(line["was"] for line in news["rail"]["lines"])
    ]
    assert {"rail", "chosen", "table", "head"} <= told[0].keys()
    assert told[0]["table"]["first"][0]["id"] == "row-0"
    assert told[0]["chosen"]["changed"] is not None
    assert told[0]["head"]["state"]["shape"] == "ok"


def test_scores_of_many_rows_come_before_their_findings(page, monkeypatch):
    """The new counts are shown with the findings before, marked as outdated; one message later with their own."""
    monkeypatch.setattr(auto_grader, "_MAX_AT_ONCE", 10)
    page.tell("choose", name="coded")
    before = page.chosen["finding"]["lead"]
    page.news.clear()
    page.typed("coded", HALF.replace("0.5", "1.0"))
    told = [news["chosen"] for news in page.news if news.get("chosen", {}).get("changed")]
    first, last = told[0], told[-1]
    assert (first["undiagnosed"], first["finding"]["lead"]) == (True, before)
    assert first["scores"] == last["scores"]
    assert not last["undiagnosed"]
    assert last["finding"]["lead"] != before
    assert not page.line("coded")["undiagnosed"]
    assert page.session.results.undiagnosed == frozenset()


def test_rows_of_a_finding_are_never_those_of_older_scores(page, monkeypatch):
    """While a finding filters the rows, scores and findings change in one message at any size."""
    monkeypatch.setattr(auto_grader, "_MAX_AT_ONCE", 10)
    page.tell("choose", name="coded")
    page.typed("coded", HALF.replace("0.5", "1.0"))
    page.tell("look", where=[{"finding": ["coded", page.session.results.report.findings[0].kind]}])
    page.news.clear()
    page.typed("coded", NO)
    assert not any(news["chosen"]["undiagnosed"] for news in page.news if "chosen" in news)


def test_grades_of_a_text_that_fails_a_check_are_dropped(page):
    """It is graded while it is validated; another grader that was waiting for its grades gets them."""
    page.tell("choose", name="coded")
    before = page.session.results.report
    page.typed("coded", TWO)
    assert page.session.results.report is before
    assert page.session.live.idle
    page.session.graders.add(coded(HALF, "other"))
    page.until(lambda page: page.line("other")["counts"], "the other one's grades")
    page.settled()
    assert page.session.graders.by_name["coded"].source.text == YES
    assert page.chosen["source"]["error"] is not None


def test_a_pill_shows_its_rows_and_they_follow_the_next_edit(page):
    """A pill's rows are those that changed; after another edit they are those that changed then."""
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    page.tell("look", where=[{"changed": "good_refused"}])
    assert page.table["title"] == "Known good, lost by the edit"
    assert page.table["count"] == 30
    assert page.chosen["changed"]["pills"][0]["on"] or page.chosen["changed"]["pills"][1]["on"]
    page.typed("coded", YES.replace('"yes" in', '(thread.metadata or {}).get("size", 0) > 20 and "yes" in'))
    assert page.table["title"] == "Known good, lost by the edit"
    assert page.table["count"] == sum(row["good"] and row["size"] <= 20 for row in ROWS)
    assert all(row["cells"][-1]["was"] == "1" for row in page.table["first"])


def test_a_text_that_fails_a_check_leaves_the_grader_as_it_was(page):
    """The error is shown at its line, the last valid version remains graded, and is what would be exported."""
    page.tell("choose", name="coded")
    page.typed("coded", TWO)
    assert page.chosen["source"]["error"]["line"] == 1
    assert "one parameter" in page.chosen["source"]["error"]["message"]
    assert [check["state"] for check in page.chosen["checks"]] == ["ok", "ok", "failed", "open", "open"]
    assert page.session.graders.by_name["coded"].source.text == YES
    assert page.chosen["finding"] is not None
    assert page.chosen["source"]["text"] == TWO
    page.typed("coded", YES)
    assert page.chosen["source"]["error"] is None
    assert page.chosen["kept"]


def test_a_text_that_fails_a_check_fails_it_for_other_rows_too(page):
    """Another draw grades the last valid version again; the text in the editor is still not valid."""
    page.tell("choose", name="coded")
    page.typed("coded", TWO)
    page.tell("draw", draw={"n": 20})
    page.until(lambda page: page.table["total"] == 20)
    page.settled()
    assert sum(page.line("coded")["counts"].values()) == 20
    assert page.chosen["source"]["text"] == TWO
    assert page.chosen["source"]["error"] is not None
    assert page.head["state"] == {"shape": "failed", "text": "coded fails its checks"}


def test_a_text_that_is_no_grader_says_why(page):
    """JSON that is not a spec gives an error in the editor, not in an alert."""
    page.tell("choose", name="exact")
    page.typed("exact", '{"kind": "no such kind"}')
    assert "no such kind" in page.chosen["source"]["error"]["message"]
    assert page.problem is None


def test_a_rule_is_edited_by_its_spec(page):
    """A changed spec is another rule, graded immediately."""
    page.tell("choose", name="has yes")
    page.typed("has yes", page.chosen["source"]["text"].replace('"yes"', '"no"'))
    assert page.session.graders.by_name["has yes"].expected == "no"
    assert page.line("has yes")["counts"]["bad_accepted"] == 30


def test_back_brings_the_kept_version(page):
    """Undo by version: text, grades and bar are those of before, and nothing has changed."""
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    revision = page.chosen["source"]["revision"]
    page.tell("back", name="coded")
    page.until(lambda page: page.line("coded")["counts"]["good_accepted"] == 30)
    page.settled()
    assert page.chosen["source"]["text"] == YES
    assert page.chosen["source"]["revision"] > revision
    assert page.chosen["changed"] is None


def test_a_kept_version_is_what_the_next_edit_is_compared_with(page):
    """After Keep the changed line is empty, and the version counts."""
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    page.tell("keep", name="coded")
    assert (page.chosen["version"], page.chosen["kept"], page.chosen["changed"]) == (2, True, None)
    page.typed("coded", HALF)
    assert (page.chosen["version"], page.chosen["kept"]) == (3, False)
    assert page.chosen["changed"]["back"] == "Restore version 2"


def test_a_cell_run_again_is_an_edit(page):
    """A grader redefined in a cell is validated and graded, and the line shows the effect."""
    page.tell("choose", name="coded")
    revision = page.chosen["source"]["revision"]
    page.session._grader_defined(coded(NO))
    page.until(lambda page: page.chosen["changed"] is not None)
    assert page.settled().chosen["changed"]["sentence"] == "Your edit changed 60 rows"
    assert page.chosen["source"]["text"] == NO
    assert page.chosen["source"]["revision"] > revision


def test_the_newest_text_is_answered_and_no_older_one_after_it(page):
    """Texts in quick succession: the last one's grades stand in the end, however long the ones before take."""
    page.tell("choose", name="coded")
    slow = YES.replace("    return", "    import time; time.sleep(0.02)\n    return")
    for seq, text in enumerate([slow, NO, slow, HALF], start=1_000):
        page.tell("edit", name="coded", text=text, seq=seq)
    page.until(lambda page: page.chosen["seq"] == 1_003)
    page.settled()
    assert page.session.graders.by_name["coded"].source.text == HALF
    assert {value["value"] for value in page.chosen["scores"]["values"]} == {0.5}
    answered = [news["chosen"]["seq"] for news in page.news if "chosen" in news]
    assert answered == sorted(answered)


def test_an_endless_loop_is_told_and_ends(page):
    """A text that never returns fails its test run, and the next one is graded."""
    page.tell("choose", name="coded")
    page.typed("coded", "async def grade(thread):\n    while True:\n        pass\n")
    assert page.chosen["checks"][4]["state"] == "failed"
    page.typed("coded", NO)
    assert page.chosen["changed"] is not None


def test_a_new_grader_whose_checks_fail_is_a_draft(page):
    """It is listed as a draft, not selected; Run and the suite exclude it; once valid it is part of the run."""
    page.tell("add", text=TWO, name="mine")
    page.until(lambda page: page.rail["drafts"])
    page.settled()
    assert page.rail["drafts"][0]["say"] == "check 3 of 5 fails: signature"
    assert not page.rail["drafts"][0]["ticked"]
    assert "mine" not in page.session.graders.chosen_suite().spec().__repr__()
    page.tell("tick", name="mine", on=True)
    assert "mine" not in page.session.graders.chosen
    page.typed("mine", YES)
    assert page.rail["drafts"] == []
    assert page.line("mine")["ticked"]
    assert page.line("mine")["counts"]["good_accepted"] == 30


def test_an_imported_text_stays_imported_when_it_is_edited(page_of):
    """What came from a file is not made the user's own by one keystroke."""
    grader = wb.FunctionGrader.from_source(YES, name="coded", imported=True)
    page = page_of(graders=(grader,)).opened()
    page.typed("coded", NO)
    assert page.session.graders.by_name["coded"].source.imported


def test_limits_of_a_grader_survive_an_edit(page_of):
    """The time limit is not part of the text, and is unchanged."""
    grader = wb.FunctionGrader.from_source(YES, name="coded", timeout=3.0)
    page = page_of(graders=(grader,)).opened().typed("coded", NO)
    assert page.session.graders.by_name["coded"].timeout == 3.0


def test_another_draw_grades_the_new_rows(page):
    """Fewer rows by hand: counts, table and note follow."""
    page.tell("draw", draw={"n": 20, "seed": 1, "by": "", "repeats": 1, "budget": ""})
    page.until(lambda page: page.table["total"] == 20)
    assert sum(page.settled().line("coded")["counts"].values()) == 20
    page.tell("draw", draw={"n": -1, "seed": 1, "by": "", "repeats": 1, "budget": ""})
    assert "rows must be a whole number" in page.problem


def test_run_keeps_what_was_edited(page):
    """Run makes the edited text a version: nothing is changed any more."""
    page.tell("choose", name="coded")
    page.typed("coded", NO)
    page.tell("run")
    page.session.runs.job.report(60)
    page.settled()
    assert page.chosen["kept"]
    assert page.chosen["changed"] is None


def test_the_pass_mark_and_a_limit_are_moved_and_stay(page_of):
    """Bars, verdict and sentence follow immediately, and after the next edit."""
    page = page_of(graders=(coded(YES.replace("1.0 if", "0.6 if")),), labels="good").opened()
    assert page.line("coded")["counts"]["good_accepted"] == 30
    page.tell("pass_threshold", value=0.7)
    assert page.line("coded")["counts"]["good_refused"] == 30
    page.typed("coded", YES.replace("1.0 if", "0.65 if"))
    assert page.line("coded")["counts"]["good_refused"] == 30
    assert page.chosen["scores"]["pass_threshold"] == 0.7
    page.tell("limit", kind="strict", value=0.25)
    strict = [page.chosen["finding"], *page.chosen["more"]]
    assert "limit 25 %" in [each["strip"]["limit_text"] for each in strict if each["strip"]]
    page.tell("pass_threshold", value=7)
    assert "not on the scale" in page.problem


SLOW = "async def grade(thread):\n    import time\n    time.sleep(0.5)\n    return 0.5\n"


def test_stop_ends_what_is_graded_while_one_types(page):
    """The text stays typed and is not graded, what was known of the grader stays, and the next text is graded."""
    page.tell("choose", name="coded")
    page.tell("edit", name="coded", text=SLOW, seq=1_000)
    page.until(lambda page: page.progress["running"], "the grading has begun")
    page.tell("stop")
    page.settled()
    assert not page.progress["running"]
    assert page.head["state"] == {"shape": "old", "text": "stopped: this text is not graded"}
    assert page.line("coded")["counts"]["good_accepted"] == 30
    assert page.chosen["source"]["text"] == SLOW
    page.tell("edit", name="coded", text=NO, seq=1_001)
    page.until(lambda page: page.chosen["seq"] == 1_001, "the answer to what was typed")
    assert page.settled().line("coded")["counts"]["good_refused"] == 30
