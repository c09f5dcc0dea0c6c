"""Examples in every judge, from the author or from labels; rows that are examples are in no figure."""

import json
from dataclasses import replace

import pytest

import workbench as wb
from tests.judges.examples import EXAMPLES, SCORED
from workbench.core.errors import FormatError, ReportError
from workbench.graders.base import KINDS, from_spec
from workbench.judges import Judge

THREAD = wb.StringThread(
    [("system", "S"), ("document", "D"), ("user", "Q"), ("assistant", "A")], {"style": "other"}
)
SHOT = {
    "input": "What is 2+2?",
    "output": "EXAMPLE-OUTPUT",
    "reference": "4",
    "metadata": {"style": "brief", "documents": ["D"]},
}
REPLIES = {
    "rubric-judge": {"score": 0.25, "rationale": "why"},
    "criteria-judge": {"score": 0.25, "reasoning": "why"},
    "guardrail-judge": {"safetyScore": 0.5},
    "schema-judge": {"score": 0.25},
    "score-judge": {"result": 2, "steps": []},
    "label-judge": {"result": "bad", "steps": []},
    "faithfulness": {"claims": []},
    "answer-relevancy": {"claims": []},
    "context-relevancy": {"score": 0, "reason": "why"},
    "pairwise-judge": {"verdict": "TIE", "reasoning": "why"},
    "row-rubric": {"criteria": [{"number": 1, "met": False, "reason": "why"}]},
}
JUDGES = sorted(
    name
    for name, kind in KINDS.items()
    if issubclass(kind, Judge) and kind.__module__.startswith("workbench")
)


def test_every_judge_is_here():
    """But the binary judge, which has its own form, and the agent, which refuses examples."""
    assert {*REPLIES, "binary-judge", "agent-judge"} == set(JUDGES)


@pytest.mark.parametrize("kind", REPLIES)
def test_examples_stand_before_the_request(kind):
    """As a request of the same form and the reply, in each of the judge's requests; the request itself is unchanged."""
    plain = EXAMPLES[kind]()
    judge = replace(plain, examples=[{**SHOT, "reply": REPLIES[kind]}])
    judge.check_ready()
    for before, after in zip(plain.questions(THREAD), judge.questions(THREAD), strict=True):
        assert after[:-3] == before[:-1]
        assert after[-1] == before[-1]
        asked, replied = after[-3:-1]
        assert asked["role"] == "user"
        assert "EXAMPLE-OUTPUT" in asked["content"] or kind == "context-relevancy"
        assert json.loads(replied["content"]) == REPLIES[kind]
    assert judge.preview(THREAD) == judge.questions(THREAD)[0]
    assert judge(THREAD).score == plain(THREAD).score
    assert from_spec(json.loads(json.dumps(judge.spec()))) == judge
    assert judge != plain


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ({"input": "q", "output": "a"}, "no 'reply'"),
        ({"input": "q", "output": "a", "reply": {}, "score": 1}, "unknown key 'score'"),
        ({"input": 3, "output": "a", "reply": {}}, "text or messages"),
        ({"input": "q", "output": None, "reply": {}}, "text or messages"),
        ({"input": "q", "output": "a", "reply": 3}, "object or text"),
        ("q", "no 'input'"),
    ],
)
def test_an_incomplete_example_is_refused(example, words):
    """With its index and the expected form."""
    with pytest.raises(FormatError, match=words):
        wb.RubricJudge("Rate.", examples=[example])


def test_a_reply_that_the_judge_could_not_read_is_refused_before_a_run():
    """An example must show what the parser reads."""
    judge = wb.RubricJudge(
        "Rate.", model="m", examples=[{**SHOT, "reply": {"grade": "good"}}], client=wb.ScriptedClient(SCORED)
    )
    with pytest.raises(FormatError, match=r"cannot be read(.|\n)*examples\[0\]"):
        judge.run([{"prompt": "q", "completion": "a"}], progress=False)
    with pytest.raises(FormatError, match="agent judge has no examples"):
        replace(EXAMPLES["agent-judge"](), examples=[{**SHOT, "reply": "x"}])


def test_a_row_that_is_an_example_is_skipped():
    """It counts in no figure; another completion of its prompt does. A platform's rules grade it."""
    judge = wb.RubricJudge(
        "Rate.", examples=[{**SHOT, "reply": REPLIES["rubric-judge"]}], client=wb.ScriptedClient(SCORED)
    )
    rows = [{"prompt": "What is 2+2?", "completion": text} for text in ("EXAMPLE-OUTPUT", "5")]
    report = judge.run(rows, progress=False)
    assert report.grades["rubric-judge"].statuses.tolist() == ["skipped", "scored"]
    assert "one of the judge's examples" in report.frame["reasoning"][0]
    binary = wb.BinaryJudge(
        "c", examples=[{"input": [{"role": "user", "content": "q"}], "output": "a", "passes": True}],
        client=wb.ScriptedClient('{"score": "FAIL"}'),
    )  # fmt: skip
    row = wb.StringThread([("user", "q"), ("assistant", "a")])
    assert binary(row).status == "skipped"
    assert replace(binary, platform="adaptive")(row).status == "scored"


ROWS = [{"prompt": f"q{at // 2}", "completion": f"reply {at}", "good": at % 3 == 0} for at in range(24)]


@pytest.mark.parametrize(
    "judge",
    [
        wb.BinaryJudge("c", client=wb.ScriptedClient('{"score": "PASS"}')),
        wb.RubricJudge("Rate.", scale=(1, 5), client=wb.ScriptedClient('{"score": 3}')),
        wb.CriteriaJudge(client=wb.ScriptedClient(SCORED)),
        replace(
            EXAMPLES["score-judge"](), input=[{"role": "user", "content": "Rate {{sample.output_text}}"}]
        ),
        EXAMPLES["label-judge"](),
    ],
    ids=lambda judge: judge.kind,
)
def test_labels_become_examples_that_no_figure_has(judge):
    """Good and bad in turn, of different prompts; the report with these labels lacks exactly these rows."""
    shown = judge.with_examples(ROWS, "good", n=4)
    assert len(shown.examples) == 4
    prompts = [example["input"][0]["content"] for example in shown.examples]
    assert len(set(prompts)) == 4
    labels = {row["completion"]: row["good"] for row in ROWS}
    assert [labels[example["output"]] for example in shown.examples] == [True, False, True, False]
    report = shown.run(ROWS, labels="good", progress=False)
    skipped = [
        row["completion"]
        for row, status in zip(ROWS, report.grades[judge.name].statuses, strict=True)
        if status == "skipped"
    ]
    assert sorted(skipped) == sorted(example["output"] for example in shown.examples)
    assert report.agreement().n == 20
    assert shown == judge.with_examples(ROWS, "good", n=4)
    assert shown != judge.with_examples(ROWS, "good", n=4, seed=1)


def test_labels_of_a_report_are_used():
    """A report has rows and labels."""
    judge = wb.BinaryJudge("c", client=wb.ScriptedClient('{"score": "PASS"}'))
    report = judge.run(ROWS, labels="good", progress=False)
    assert judge.with_examples(report) == judge.with_examples(ROWS, "good")


def test_too_few_labels_and_kinds_without_a_reply_are_refused():
    """With what to do."""
    judge = wb.BinaryJudge("c")
    with pytest.raises(ReportError, match="labelled good(.|\n)*smaller n"):
        judge.with_examples(ROWS[:4], "good", n=8)
    with pytest.raises(ReportError, match="need labels"):
        judge.with_examples(ROWS)
    with pytest.raises(ReportError, match="n must"):
        judge.with_examples(ROWS, "good", n=0)
    with pytest.raises(FormatError, match="does not determine"):
        wb.FaithfulnessJudge().with_examples(ROWS, "good")


def test_exports_name_examples_as_a_loss(tmp_path):
    """No platform has them for a rubric judge."""
    judge = wb.RubricJudge("Rate.", model="m", examples=[{**SHOT, "reply": REPLIES["rubric-judge"]}])
    with pytest.raises(FormatError, match="examples"):
        wb.export(judge, tmp_path / "s.yaml", "letta")
    wb.save([judge], tmp_path / "g.json")
    assert wb.load(tmp_path / "g.json").graders[0] == judge
