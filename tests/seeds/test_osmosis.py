"""Osmosis' grader document: every grader runs as printed."""

import pytest

import workbench as wb
from tests.seeds.blocks import block

IMPORTS = "from osmosis_ai.rollout import Grader, GraderContext\n\n\n"


def sample(messages, label="12", **metadata):
    return wb.Sample("row", wb.StringThread.from_messages(messages, metadata), label, "0")


def answers(content):
    return [{"role": "user", "content": "3*4?"}, {"role": "assistant", "content": content}]


def test_base_class():
    """The first example gives every sample 1.0."""
    grader = wb.RolloutGrader.from_source(block("osmosis", "Grader Base Class"))
    assert grader.validate().ok
    assert grader(sample(answers("x"))).score == 1.0


@pytest.mark.parametrize(
    ("content", "score"), [(" 12\n", 1.0), ([{"text": "12"}], 1.0), ("13", 0.0), ([{"image": {}}], 0.0)]
)
def test_exact_match(content, score):
    """Text and content blocks against the label."""
    grader = wb.RolloutGrader.from_source(block("osmosis", "Exact Match Grading"))
    assert grader(sample(answers(content))).score == score


def test_tool_calls():
    """`toolUse` blocks on assistant messages are seen."""
    grader = wb.RolloutGrader.from_source(block("osmosis", "Tool-Call Based Grading"))
    used = [{"toolUse": {"toolUseId": "1", "name": "multiply", "input": {"a": 3, "b": 4}}}]
    assert grader(sample(answers(used))).score == 1.0
    assert grader(sample(answers("12"))).score == 0.0


def test_artifacts():
    """Rewards and artifacts both arrive."""
    grade = wb.RolloutGrader.from_source(IMPORTS + block("osmosis", "Artifacts"))(sample(answers("x")))
    assert grade.score == 0.7
    assert grade.metadata["artifacts"]["trace_ref"]["size_bytes"] == 38291


def test_config():
    """A config class with thresholds is found and given to the grader."""
    text = block("osmosis", "GraderConfig").replace(
        "        # ... use config values in grading logic ...",
        "        for name in ctx.samples:\n            ctx.set_sample_reward(name, threshold)",
    )
    grader = wb.RolloutGrader.from_source(text)
    assert grader(sample(answers("x"))).score == 0.8


def test_a_judge_with_a_package_is_refused_in_the_sandbox():
    """Litellm is not there; the failed check says what is and what to do."""
    grader = wb.RolloutGrader.from_source(block("osmosis", "LLM-as-Judge Grading"))
    validation = grader.validate()
    assert not validation.ok
    assert "litellm" in str(validation)


def test_several_samples_and_metadata_alone():
    """One reward a sample, the score their mean; metadata without a label is enough."""
    text = block("osmosis", "Grader Base Class").replace("1.0)", "0.5 if sample_id == 'a' else 1.0)")
    row = wb.Sample(
        "row", wb.StringThread([], {"tier": 1, "samples": {"a": answers("x"), "b": answers("y")}}), None, "0"
    )
    grade = wb.RolloutGrader.from_source(text)(row)
    assert grade.score == 0.75
    assert grade.metadata["rewards"] == {"a": 0.5, "b": 1.0}
