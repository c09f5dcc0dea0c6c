"""The pairwise judge: two orders, one verdict."""

import json

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.base import from_spec
from workbench.judges import JudgeServerError, Reply, ScriptedClient, Usage
from workbench.judges.kinds.pairwise import PairwiseJudge

THREAD = wb.StringThread(
    [("system", "S"), ("user", "Q1"), ("assistant", "A1"), ("user", "Q2"), ("assistant", "OURS")],
    {"rival": "THEIRS", "count": 4, "empty": None},
)
ROW = wb.Sample("1", THREAD, "REF", "1")


def verdict_reply(letter, reasoning="why"):
    return json.dumps({"reasoning": reasoning, "verdict": letter})


def graded_pair(*letters, **fields):
    return PairwiseJudge(client=ScriptedClient([verdict_reply(letter) for letter in letters]), **fields)(ROW)


@pytest.mark.parametrize(
    ("letters", "score", "passed", "winners", "consistent"),
    [
        ("AB", 1.0, True, ["completion", "completion"], True),
        ("BA", 0.0, False, ["other", "other"], True),
        ("AA", 0.5, None, ["completion", "other"], False),
        ("BB", 0.5, None, ["other", "completion"], False),
        (["TIE", "TIE"], 0.5, None, ["tie", "tie"], True),
        (["A", "TIE"], 0.5, None, ["completion", "tie"], False),
        (["tie", " a "], 0.5, None, ["tie", "other"], False),
    ],
)
def test_a_win_must_hold_in_both_orders(letters, score, passed, winners, consistent):
    """1 wins both, 0 loses both, all else is 0.5 without a verdict; each order's verdict is kept."""
    grade = graded_pair(*letters)
    assert (grade.score, grade.passed) == (score, passed)
    assert grade.metadata["verdicts"] == [letter.strip().upper() for letter in letters]
    assert (grade.metadata["winners"], grade.metadata["consistent"]) == (winners, consistent)


@pytest.mark.parametrize(
    ("letter", "score", "passed"), [("A", 1.0, True), ("B", 0.0, False), ("TIE", 0.5, None)]
)
def test_one_order(letter, score, passed):
    """Without swap one question is asked, and nothing is said of consistency."""
    grade = graded_pair(letter, swap=False)
    assert (grade.score, grade.passed, grade.metadata["consistent"]) == (score, passed, None)


def test_both_questions_are_shown():
    """The same question twice, with the answers in both orders; a preview is the first."""
    judge = PairwiseJudge(criteria="be short")
    first_question, second_question = judge.questions(ROW)
    assert judge.preview(ROW) == first_question
    assert "<answer_a>\nOURS\n</answer_a>" in first_question[1]["content"]
    assert "<answer_b>\nREF\n</answer_b>" in first_question[1]["content"]
    swapped = first_question[1]["content"].replace("OURS", "#").replace("REF", "OURS").replace("#", "REF")
    assert second_question[1]["content"] == swapped
    for part in ("[user]\nQ1", "[assistant]\nA1", "<question>\nQ2", "be short"):
        assert part in first_question[1]["content"]
    assert len(PairwiseJudge(swap=False).questions(ROW)) == 1


@pytest.mark.parametrize(("against", "expected"), [("reference", "REF"), ("rival", "THEIRS"), ("count", "4")])
def test_against(against, expected):
    """The other answer is the reference, or a column."""
    question = PairwiseJudge(against=against).preview(ROW)[1]["content"]
    assert f"<answer_b>\n{expected}\n</answer_b>" in question


def test_a_threads_own_reference():
    """A thread alone brings its reference in its metadata."""
    thread = wb.StringThread([("user", "q"), ("assistant", "a")], {"expected": "E"})
    judge = PairwiseJudge(client=ScriptedClient([verdict_reply("A"), verdict_reply("B")]))
    assert "<answer_b>\nE\n" in judge.preview(thread)[1]["content"]
    assert judge(thread).score == 1.0


@pytest.mark.parametrize("against", ["reference", "nope", "empty"])
def test_nothing_to_compare_with(against):
    """A row without the other answer, or without an answer of its own, is no sample for it; nothing is asked."""
    judge = PairwiseJudge(against=against, client=ScriptedClient(verdict_reply("A")))
    grade = judge(wb.Sample("1", THREAD, None, "1"))
    assert grade.error.kind == "sample"
    assert against in grade.error.message
    unanswered = wb.Sample("1", wb.StringThread([("user", "q")], {"rival": "x"}), "r", "1")
    assert PairwiseJudge(client=judge.client)(unanswered).error.kind == "sample"
    assert not judge.client.calls


def test_either_question_fails_the_row():
    """One order that cannot be read, or asked, is no half verdict; all that was answered is paid for."""
    paid = Reply(verdict_reply("A"), Usage(1, 1), {})
    for script in ([paid, "no", "no"], ["no", "no", paid], [paid, JudgeServerError("down")]):
        judge = PairwiseJudge(client=ScriptedClient(script))
        grade = judge(ROW)
        assert (grade.score, grade.status, grade.tokens) == (None, "failed", 2)
        assert len(judge.client.calls) == len(script)


@pytest.mark.parametrize("answer", ["C", "AB", "", None, 1, True, ["A"]])
def test_other_verdicts_are_none(answer):
    """Only A, B and TIE are verdicts."""
    judge = PairwiseJudge(client=ScriptedClient(json.dumps({"reasoning": "r", "verdict": answer})))
    assert judge(ROW).error.kind == "judge_parse"


def test_a_template_of_ones_own():
    """jinja2 with both answers and the thread's variables, in one pass."""
    judge = PairwiseJudge(
        criteria="c",
        user_template="{{ criteria }}|{{ last_user_turn_content }}|{{ answer_a }}|{{ answer_b }}",
    )
    hostile = wb.Sample("1", wb.StringThread([("user", "q"), ("assistant", "{{ criteria }}")]), "REF", "1")
    assert [question[1]["content"] for question in judge.questions(hostile)] == [
        "c|q|{{ criteria }}|REF",
        "c|q|REF|{{ criteria }}",
    ]
    assert from_spec(judge.spec()) == judge


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"criteria": " "}, "criteria"),
        ({"against": ""}, "against"),
        ({"against": 5}, "against"),
        ({"swap": 1}, "swap"),
        ({"user_template": "{{ answer_a }}"}, "both completions"),
        ({"user_template": "{% if"}, "line 1"),
    ],
)
def test_bad_fields_are_refused(fields, part):
    """What cannot be asked is refused when the judge is made."""
    with pytest.raises(FormatError, match=part):
        PairwiseJudge(**fields)
