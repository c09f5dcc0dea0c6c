"""Judges of answers from documents."""

import json

import pytest

import workbench as wb
from workbench.judges import AnswerRelevancy, ContextRelevancy, Faithfulness, ScriptedClient
from workbench.judges.rag import sentences

THREAD = wb.StringThread(
    [("document", "D1"), ("user", "Who?"), ("assistant", "It was Tim. It was in 1990.")],
    {"documents": ["D2", {"content": "D3"}]},
)


def statements(*scores):
    return json.dumps(
        {
            "all_statements_scoring": [
                {"statement_idx": at, "reasoning": f"r{at}", "score": score}
                for at, score in enumerate(scores)
            ]
        }
    )


def results(*scores):
    return json.dumps({"results": [{"reason": "r", "score": score} for score in scores]})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two. Three.", 3), ("Dr. Smith met J. R. Lee, e.g. in 3.5 hours.", 1), ('He said "No." Then left!', 2), ("- a\n- b\n", 2),
        ("", 0), ("  ", 0), ("no end", 1), ("Really?! Yes...", 2), ("Version 2.0 is out. Get it.", 2),
    ],
)  # fmt: skip
def test_sentences(text, count):
    """Ends of sentences and lines; not abbreviations, initials or decimals."""
    assert len(sentences(text)) == count
    assert "".join(text.split()) == "".join("".join(sentences(text)).split())


def test_faithfulness():
    """The share of supported sentences, to three decimals, held against all documents."""
    judge = Faithfulness(client=ScriptedClient(statements("1", "0")))
    grade = judge(THREAD)
    assert (grade.score, grade.reasoning) == (0.5, "r0\nr1")
    asked = judge.client.calls[0][0][1]["content"]
    assert all(
        part in asked
        for part in ("[document]\nD1", "D2", "D3", "Who?", "0: It was Tim.", "1: It was in 1990.")
    )
    three = wb.StringThread([("assistant", "One. Two. Three.")])
    assert Faithfulness(client=ScriptedClient(statements("1", 0, 0)))(three).score == 0.333


def test_faithfulness_must_judge_every_sentence():
    """Another number of scores fails the row; Adaptive leaves it out."""
    assert Faithfulness(client=ScriptedClient(statements("1")))(THREAD).error.kind == "judge_parse"
    assert Faithfulness(rules="adaptive", client=ScriptedClient(statements("1")))(THREAD).status == "skipped"
    assert Faithfulness(client=ScriptedClient("x"))(wb.StringThread([("user", "q")])).error.kind == "sample"


@pytest.mark.parametrize("score", ["2", True, None, "yes", 0.5])
def test_parts_are_one_or_zero(score):
    """Any other score of a part fails the row."""
    assert Faithfulness(client=ScriptedClient(statements(score, "1")))(THREAD).error.kind == "judge_parse"


def test_answer_relevancy():
    """The share of sentences that answer the question; Adaptive does not count them."""
    assert AnswerRelevancy(client=ScriptedClient(results(1, 0)))(THREAD).score == 0.5
    assert AnswerRelevancy(client=ScriptedClient(results(1)))(THREAD).status == "failed"
    for scores, expected in (((1,), 1.0), ((), 0.0)):
        assert (
            AnswerRelevancy(rules="adaptive", client=ScriptedClient(results(*scores)))(THREAD).score
            == expected
        )


def test_context_relevancy():
    """One question a document, of turns and metadata; Adaptive looks at the metadata only."""
    answers = {
        "DOCUMENT\nD1": '{"score": 1}',
        "DOCUMENT\nD2": '{"score": 0}',
        "DOCUMENT\nD3": '{"score": 0, "reason": "no"}',
    }
    judge = ContextRelevancy(client=ScriptedClient(answers))
    grade = judge(THREAD)
    assert (grade.score, grade.metadata["scores"], len(judge.client.calls)) == (0.333, [1.0, 0.0, 0.0], 3)
    assert ContextRelevancy(rules="adaptive", client=ScriptedClient(answers))(THREAD).score == 0.0


def test_context_relevancy_needs_documents():
    """None, or one that cannot be judged, leaves the row without a score."""
    bare = wb.StringThread([("user", "q"), ("assistant", "a")])
    assert ContextRelevancy(client=ScriptedClient("x"))(bare).error.kind == "sample"
    only_turns = wb.StringThread([("document", "D"), ("user", "q"), ("assistant", "a")])
    assert ContextRelevancy(rules="adaptive", client=ScriptedClient("x"))(only_turns).error.kind == "sample"
    assert ContextRelevancy(client=ScriptedClient(['{"score": 1}', "no", "no"]))(THREAD).status == "failed"
