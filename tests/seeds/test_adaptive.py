"""Adaptive's grader document: every example loads and runs as printed."""

import json

import pytest

import workbench as wb
from tests.seeds.blocks import block
from workbench.data.templates import compile as compile_template
from workbench.data.templates import thread_variables


def said(text, **metadata):
    return wb.StringThread([("user", "q"), ("assistant", text)], metadata)


def test_create_a_function_grader():
    """The file with the SDK call becomes a grader under its key, with its description."""
    suite = wb.loads(block("adaptive", "Create a function grader"), "adaptive")
    grader = suite["exact-match"]
    assert grader.description == "Strict equality between completion and expected answer"
    assert grader.validate().ok
    assert [grader(said(text, expected="4")).score for text in (" 4\n", "5")] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("at", "thread", "score"),
    [
        (0, said("a1", pattern=r"\d"), 1.0),
        (0, said("a", pattern=r"\d"), 0.0),
        (1, said('{"name": 1, "email": 2, "age": 3}'), 1.0),
        (1, said("[1]"), 0.0),
        (2, said("Red and GREEN", keywords=["red", "green", "blue", "Black"]), 0.5),
        (2, said("x"), 0.0),
    ],
)
def test_function_examples(at, thread, score):
    """Regex, JSON shape and keywords, as modules."""
    grader = wb.FunctionGrader.from_source(block("adaptive", "Examples", at=at))
    assert grader.validate().ok
    assert grader(thread).score == score


def test_reading_the_thread():
    """Every member the document names is there."""
    text = block("adaptive", "Reading the thread").replace(
        "    ...", "    return float(len(turns) + len(history))"
    )
    assert wb.FunctionGrader.from_source(text)(said("x")).score == 3.0


def test_binary_judge():
    """The judge's call as printed: criteria, model, feedback key; PASS and FAIL become 1 and 0."""
    judge = wb.loads(block("adaptive", "Create an AI judge"), "adaptive")["helpful-judge"]
    assert (judge.model, judge.feedback_key) == ("llama-3.1-8b-instruct", "helpfulness")
    assert "without going off-topic" in judge.criteria
    prompt = json.dumps(judge.preview(wb.Sample("0", said("the answer"), None, "0")))
    assert "the answer" in prompt
    assert "off-topic" in prompt


def test_prebuilt_judge_and_its_sample():
    """The prebuilt call as printed; on the document's own sample one claim of two is supported: 0.5."""
    judge = wb.loads(block("adaptive", "Pre-built graders", language="python"), "adaptive")[
        "rag-faithfulness"
    ]
    assert isinstance(judge, wb.FaithfulnessJudge)
    lines = [
        json.loads(line) for line in block("adaptive", "Pre-built graders", language="json").splitlines()
    ]
    completion = "Tim Berners-Lee published the first website. It was in August 1990."
    thread = wb.StringThread.from_messages([*lines, {"role": "assistant", "content": completion}], {})
    verdicts = [
        {"statement_idx": at, "reasoning": "r", "score": score} for at, score in enumerate(("1", "0"))
    ]
    client = wb.ScriptedClient([json.dumps({"all_statements_scoring": verdicts})])
    asked = wb.FaithfulnessJudge(model=judge.model, platform=judge.platform, client=client)
    assert asked(thread).score == 0.5


def test_template_syntax_and_example():
    """The syntax block and the example template render with the document's variables."""
    thread = wb.StringThread([("system", "S"), ("user", "Q <b>"), ("assistant", "A & B")], {"domain": "x"})
    variables = {**thread_variables(thread, "adaptive"), "criteria": "be right", "output_schema": "{}"}
    shown = compile_template(block("adaptive", "Prompt templates for AI judges"), "handlebars").render(
        variables
    )
    assert "A & B" in shown
    assert "Turn 0:\nsystem: S" in shown
    assert "Turn 2:" in shown
    example = block("adaptive", "Prompt templates for AI judges", language="")
    told = compile_template(example, "handlebars").render(variables)
    assert "Evaluate based on: be right" in told
    assert "Q <b>" in told
    assert "A & B" in told


def test_managing_calls_are_no_graders():
    """A file of list, get, delete and lock calls has nothing to read, and says so."""
    with pytest.raises(wb.errors.FormatError, match="no graders"):
        wb.loads(block("adaptive", "Manage existing graders"), "adaptive")


def test_the_worked_example_by_claims():
    """The document's own completion is one sentence with two claims; judged claim by claim it is 0.5, with evidence."""
    lines = [
        json.loads(line) for line in block("adaptive", "Pre-built graders", language="json").splitlines()
    ]
    completion = "Tim Berners-Lee published the first website in August 1990."
    thread = wb.StringThread.from_messages([*lines, {"role": "assistant", "content": completion}], {})
    claims = [
        {"claim": "Tim Berners-Lee published the first website.", "supported": True, "reason": "r", "document": 0,
         "quote": "Tim Berners-Lee created the first website."},
        {"claim": "It was in August 1990.", "supported": False, "reason": "no date is given"},
    ]  # fmt: skip
    grade = wb.FaithfulnessJudge(client=wb.ScriptedClient(json.dumps({"claims": claims})))(thread)
    assert grade.score == 0.5
    first, second = grade.metadata["claims"]
    assert (first["supported"], first["evidence"]["document"], first["evidence_found"]) == (True, 0, True)
    assert second["supported"] is False


def test_manage_existing_graders():
    """List, get, delete and lock, by the document's own keywords; a locked grader refuses edits and deletion."""
    with wb.open_store("sqlite://") as store:
        graders = store.graders
        graders.create("exact-match", wb.ExactMatch())
        assert [entry.key for entry in graders.list()] == ["exact-match"]
        assert graders.get(grader_key="exact-match") == wb.ExactMatch()
        graders.lock(grader_key="exact-match", locked=True)
        for refused in (
            lambda: graders.delete(grader_key="exact-match"),
            lambda: graders.edit("exact-match", wb.Length(maximum=3)),
        ):
            with pytest.raises(wb.errors.StoreError, match="locked"):
                refused()
        graders.lock(grader_key="exact-match", locked=False)
        graders.delete(grader_key="exact-match")
        assert not list(graders.list())
        assert graders.history("exact-match"), "deleting keeps history"


def test_nothing_is_saved_on_failure():
    """A grader that fails a check raises ValueError with the check's name and message, and the store stays empty."""
    broken = wb.FunctionGrader.from_source("async def grade(thread):\n    return 'good'\n", name="broken")
    with wb.open_store("sqlite://") as store:
        with pytest.raises(ValueError, match="test_run"):
            store.graders.create("broken", broken)
        assert not list(store.graders.list())


def test_judge_examples_with_justifications():
    """Passing and failing examples with their reasons stand in the prompt as question and answer."""
    examples = [
        {"input": [{"role": "user", "content": "Open today?"}], "output": "Yes, until six.", "passes": True, "reasoning": "It answers."},
        {"input": [{"role": "user", "content": "Open today?"}], "output": "We love you.", "passes": False, "reasoning": "Off topic."},
    ]  # fmt: skip
    judge = wb.BinaryJudge(criteria="stays on topic", examples=examples)
    said_by = [(m["role"], m["content"]) for m in judge.preview(said("Yes."))]
    assert [role for role, _ in said_by] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "until six" in said_by[1][1]
    assert ("It answers." in said_by[2][1], "PASS" in said_by[2][1]) == (True, True)
    assert ("Off topic." in said_by[4][1], "FAIL" in said_by[4][1]) == (True, True)
