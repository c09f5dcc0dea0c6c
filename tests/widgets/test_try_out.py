"""The Try panel, by its own controls."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass

import workbench as wb
from tests.widgets import using
from workbench.widgets.panels.panel import STYLE


def test_try_finds_rows_by_id_words_and_chance(make):
    """An id is that row, words the next row that has them, Random any."""
    panel = make("TryPanel")
    panel.query.value = "row-7"
    assert panel.sample.id == "row-7"
    panel.query.value = "QUESTION 1"
    assert panel.sample.id == "row-10"
    assert "question 10" in str(panel.thread.row["turns"])
    panel.random.click()
    assert panel.sample.id in {row["id"] for row in using.ROWS}
    panel.query.value = "nobody said this"
    assert "no row has this id or these words" in panel.session.guard.problem.what
    panel.query.value = "row-1"
    assert panel.session.guard.problem is None


def test_next_match_steps_through_the_rows_with_the_words(make):
    """From match to match and round again; the panel says which row is shown."""
    panel = make("TryPanel")
    assert panel.next.disabled
    assert "row-0, row 1 of 24" in panel.place.value
    panel.query.value = "no, 2"
    assert not panel.next.disabled
    seen = [panel.sample.id]
    for _ in range(3):
        panel.next.click()
        seen.append(panel.sample.id)
        assert panel.session.code.text.startswith(f"sample = app.samples[{panel.sample.id[4:]}]")
    assert seen == ["row-2", "row-20", "row-22", "row-2"]
    assert "row-2, row 3 of 24: match 1 of 3" in panel.place.value
    panel.query.value = " "
    assert panel.next.disabled
    assert "match" not in panel.place.value


def test_next_match_says_where_there_is_no_other(make):
    """One match stays with the answer as edited; none is told each time; pasted messages are no row."""
    panel = make("TryPanel")
    panel.query.value = "question 17"
    assert "no other row" in panel.place.value
    panel.answer.value = "edited"
    panel.next.click()
    assert (panel.sample.id, panel.answer.value) == ("row-17", "edited")
    panel.query.value = "nobody said this"
    assert "row-17, row 18 of 24<" in panel.place.value
    panel.query.value = "row-3"
    panel.query.value = "nobody said that"
    panel.next.click()
    assert "no row has this id or these words" in panel.session.guard.problem.what
    panel.pasted.value = json.dumps([{"role": "user", "content": "q"}])
    panel.use.click()
    assert "pasted messages" in panel.place.value


def test_try_shows_each_grader_and_follows_an_edited_answer(make):
    """Scores of the row's answer stand side by side, and change with it."""
    panel = make("TryPanel")
    panel.query.value = "row-1"
    using.tried(panel)
    assert {name: grade.score for name, grade in panel.grades.items()} == {
        "has yes": 1.0,
        "exact": 1.0,
        "short": 1.0,
    }
    panel.answer.value = "oh yes"
    using.tried(panel)
    assert {name: grade.score for name, grade in panel.grades.items()} == {
        "has yes": 1.0,
        "exact": 0.0,
        "short": 0.0,
    }
    assert panel.results.value.count("<tr>") == 4
    assert " ms" in panel.results.value


def test_a_graders_name_keeps_its_words_whole(make):
    """However long the reasons beside it are, the name has room of its own: a class that the panels' style widens."""
    panel = make("TryPanel", graders=[wb.Contains(expected="x", name="mentions_number <b>")])
    assert "<div class='wb-name'>mentions_number &lt;b&gt;</div>" in panel.results.value
    using.tried(panel)
    assert "<div class='wb-name'>mentions_number &lt;b&gt;</div>" in panel.results.value
    assert ".wb-name{width:max-content" in STYLE


def test_try_takes_pasted_messages(make):
    """A list of messages, or an object with a reference; what cannot be read names its place, and the old row stays."""
    panel = make("TryPanel")
    messages = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "two"}]
    panel.pasted.value = json.dumps({"messages": messages, "reference": "two"})
    panel.use.click()
    assert (panel.sample.id, panel.answer.value) == ("pasted", "two")
    using.tried(panel)
    assert panel.grades["exact"].score == 1.0
    for bad in (
        "{",
        "3",
        '{"messages": 1}',
        '[{"content": "x"}]',
        '["x"]',
        '[{"role": "user", "content": 3}]',
        "[" * 99_999,
    ):
        panel.pasted.value = bad
        panel.use.click()
        assert panel.session.guard.problem.what.startswith("the pasted"), (
            bad[:40],
            panel.session.guard.problem,
        )
        assert panel.answer.value == "two"


def test_try_asks_no_model_before_score(make):
    """A judge costs: it waits for the button, also when the answer is edited."""
    client = wb.ScriptedClient('{"reasoning": "fine", "score": "PASS"}')
    judge = wb.BinaryJudge(name="judge", criteria="is fine", client=client)
    panel = make("TryPanel", graders=[using.GRADERS[0], judge])
    using.tried(panel, "has yes")
    panel.answer.value = "another answer"
    using.tried(panel, "has yes")
    assert client.calls == []
    assert "press Score" in panel.results.value
    assert "judge" not in panel.session.code.text
    panel.score.click()
    using.tried(panel)
    assert len(client.calls) == 1
    assert "fine" in panel.results.value


def test_try_drops_what_comes_too_late(make):
    """An answer to an earlier question never stands beside a later one."""
    gate = threading.Event()
    told = []
    panel = make("TryPanel", graders=[using.gated(gate)])
    panel._trial._on_grade = lambda name, grade: told.append((panel.answer.value, grade))
    panel.answer.value = "first"
    panel.score.click()
    panel.answer.value = "second"
    panel.score.click()
    old = panel._trial._question - 1
    late = Future()
    late.set_result(wb.Grade(0.123))
    panel._trial._end(old, "waits", late)
    assert told == []
    panel._trial._on_grade = panel._on_grade
    gate.set()
    using.tried(panel)
    assert panel.grades["waits"].score == 1.0


@dataclass(frozen=True, kw_only=True)
class SaysTyped(wb.Grader):
    """1.0 for the answer "typed"; at work on any other answer for ever."""

    async def grade(self, sample):
        while sample.thread.completion() != "typed":
            await asyncio.sleep(0.01)
        return 1.0


def test_an_answer_that_is_typed_while_graders_work_is_graded(make):
    """What is under way is of the row's own answer: it is given up, and the typed one is asked about."""
    panel = make("TryPanel", graders=[SaysTyped(name="says")])
    panel.answer.value = "typed"
    assert using.tried(panel, "says")
    assert panel.grades["says"].score == 1.0


def test_try_shows_the_graders_own_line_of_an_error(make):
    """A grader that fails says where in its own text; it has no score."""
    panel = make("TryPanel", graders=[wb.FunctionGrader.from_source(using.WRONG, name="wrong")])
    using.tried(panel)
    assert panel.grades["wrong"].score is None
    assert "KeyError" in panel.results.value
    assert "return {}[answer]" in panel.results.value or "line 3" in panel.results.value
    assert "failed" in panel.results.value


def test_code_of_a_trial_gives_the_same_grades(make):
    """A row, an edited row and a pasted conversation, edited too: the code asks the same graders the same."""
    panel = make("TryPanel")
    app = using.AppOf(panel)

    def same():
        using.tried(panel)
        space = using.repeated(app)
        assert (
            space["sample"] == panel.sample
            or space["sample"].thread.to_wire() == panel.sample.thread.to_wire()
        )
        assert space["sample"].reference == panel.sample.reference
        lines = panel.session.code.text.splitlines()[1:]
        assert len(lines) == 3
        grades = [eval(line, space) for line in lines]
        assert [one.score for one in grades] == [
            panel.grades[name].score for name in panel.session.graders.chosen
        ]

    panel.query.value = "row-7"
    same()
    panel.answer.value = 'it\'s "no",\n\\n 7'
    same()
    messages = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "yes"}]
    panel.pasted.value = json.dumps(
        {"messages": messages, "reference": "yes", "metadata": {"a": None}}, indent=1
    )
    panel.use.click()
    same()
    panel.answer.value = "two"
    same()


def test_code_of_pasted_messages_runs_in_a_new_process(make):
    """The line that makes the sample needs no app and nothing that the notebook has imported."""
    panel = make("TryPanel")
    panel.pasted.value = json.dumps([{"role": "user", "content": "1 + 1?"}])
    panel.use.click()
    panel.answer.value = "two"
    panel.score.click()
    line = panel.session.code.text.splitlines()[0]
    assert "wb.session.trial.paste(" in line
    script = f"import workbench as wb\n{line}\nprint(sample.id, sample.thread.completion())"
    process = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert process.stdout.strip() == "pasted two"


def test_what_was_paid_for_stays_while_the_question_is_the_same(make):
    """Another grader appears, one is dropped: the judge's answer is still there, and was asked for once."""
    client = wb.ScriptedClient(lambda _: '{"reasoning": "fine", "score": "PASS"}')
    judge = wb.BinaryJudge(name="judge", criteria="kind", model="m", client=client)
    panel = make("TryPanel", graders=[judge, using.GRADERS[0]])
    panel.score.click()
    using.tried(panel)
    panel.session.graders.add(wb.Length(name="short", maximum=3))
    using.tried(panel)
    assert (panel.grades["judge"].passed, len(client.calls)) == (True, 1)
    panel.answer.value = "another answer"
    assert "judge" not in panel.grades


def test_a_grader_is_tried_as_the_suite_has_it(make):
    """Negation and threshold of an entry count in Try as they do in a run."""
    suite = wb.Suite([wb.Entry(wb.Contains(expected="yes"), "no yes", negate=True)])
    panel = make("TryPanel", graders=suite)
    using.tried(panel)
    sample = panel.sample
    assert panel.grades["no yes"].score == suite(sample).parts["no yes"].score


def test_services_wait_for_the_button(make):
    """Opening Try sends nothing to anybody: an endpoint is asked when somebody says so."""
    panel = make(
        "TryPanel", graders=[wb.Endpoint(url="http://127.0.0.1:9/score", name="service"), using.GRADERS[0]]
    )
    assert "asks a service: press Score" in panel.results.value
    assert "service" not in panel._trial._under_way


def test_what_a_grader_prints_is_shown_as_text(make):
    """The first of what is printed stands below the score, escaped, and cut where it is long."""
    source = "async def grade(thread):\n    print('<b>looks</b>', 'x' * 9000)\n    return 1.0\n"
    panel = make("TryPanel", graders=[wb.FunctionGrader.from_source(source, name="prints")])
    using.tried(panel)
    assert "&lt;b&gt;looks&lt;/b&gt; xxx" in panel.results.value
    assert len(panel.results.value) < 8000
