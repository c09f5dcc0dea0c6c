"""What OpenAI's users have: evals, exports, criteria, jobs and calls are read, or refused by what they are."""

import json

import pytest

import workbench as wb
from workbench.core.errors import FormatError

SAME = {
    "type": "string_check",
    "name": "same",
    "input": "{{sample.output_text}}",
    "reference": "{{item.river}}",
    "operation": "eq",
}
NEAR = {
    "type": "text_similarity", "name": "near", "input": "{{sample.output_text}}", "reference": "{{item.river}}",
    "evaluation_metric": "fuzzy_match", "pass_threshold": 0.8,
}  # fmt: skip
CODE = {
    "type": "python", "name": "has", "image_tag": "2025-05-08", "pass_threshold": 0.5,
    "source": "def grade(sample, item):\n    return float(item['river'] in sample['output_text'])",
}  # fmt: skip
LABEL = {
    "type": "label_model", "name": "kind", "model": "m", "labels": ["a", "b"], "passing_labels": ["a"],
    "input": [{"type": "message", "role": "user", "content": {"type": "input_text", "text": "{{sample.output_text}}"}}],
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {"item": {"type": "object", "properties": {"q": {}, "river": {}}}, "sample": {}},
}
EVAL = {
    "object": "eval", "id": "eval_9", "name": "rivers", "data_source_config": {"type": "custom", "schema": SCHEMA},
    "testing_criteria": [SAME, NEAR, CODE, LABEL], "created_at": 1, "metadata": {},
}  # fmt: skip


@pytest.mark.parametrize(
    "document",
    [
        EVAL,
        {
            "name": "new",
            "data_source_config": {"type": "custom", "item_schema": {}},
            "testing_criteria": EVAL["testing_criteria"],
        },
        {"object": "list", "data": [EVAL], "has_more": False},
        [EVAL],
        EVAL["testing_criteria"],
        {"eval": EVAL, "rows": [{"item": {}}], "runs": [{"run": {}, "output_items": []}]},
    ],
)
def test_a_criterion_is_a_grader(document):
    """Each with its name and threshold, in order; failures count as zero, as OpenAI counts them."""
    suite = wb.loads(document)
    assert [entry.name for entry in suite.entries] == ["same", "near", "has", "kind"]
    assert [entry.pass_threshold for entry in suite.entries] == [None, 0.8, 0.5, None]
    assert {entry.on_error for entry in suite.entries} == {"zero"}
    outcome = wb.Suite(suite.entries[:3])(
        wb.StringThread([("user", "q"), ("assistant", "Vltava")], {"river": "Vltava"})
    )
    assert [part.passed for part in outcome.parts.values()] == [True, True, True]


def test_what_the_api_adds_to_a_criterion_changes_nothing():
    """A stored eval has an id for each criterion, and null for what was not set."""
    stored = [
        {**SAME, "id": "same-2eaf2d8d-d649-4335-8148-9535a7ca73c2"},
        {**CODE, "id": "has-1", "image_tag": None},
    ]
    suite = wb.loads({**EVAL, "testing_criteria": stored})
    assert (
        suite.entries
        == wb.loads([SAME, {key: value for key, value in CODE.items() if key != "image_tag"}]).entries
    )


def test_equal_names_are_numbered():
    """Two criteria of one name are two graders."""
    assert [entry.name for entry in wb.loads([SAME, SAME]).entries] == ["same", "same 2"]


@pytest.mark.parametrize(
    "document",
    [
        {"grader": SAME},
        {"grader": SAME, "item": {"river": "Vltava"}, "model_sample": "The Vltava."},
        {
            "model": "m",
            "training_file": "f",
            "method": {"type": "reinforcement", "reinforcement": {"grader": SAME}},
        },
        {
            "object": "fine_tuning.job",
            "method": {"type": "reinforcement", "reinforcement": {"grader": SAME, "hyperparameters": {}}},
        },
    ],
)
def test_a_grader_in_a_call_or_a_job(document):
    """The body of a call, and a fine-tuning job, have one grader."""
    assert wb.loads(document).grader.name == "same"


def test_a_job_with_several_graders():
    """Its formula combines them."""
    grader = {
        "type": "multi",
        "graders": {"same": SAME, "near": NEAR},
        "calculate_output": "0.7 * same + 0.3 * near",
    }
    suite = wb.loads({"method": {"type": "reinforcement", "reinforcement": {"grader": grader}}})
    assert suite.combine == wb.combine.Formula("0.7 * same + 0.3 * near")


@pytest.mark.parametrize(
    ("document", "what", "step"),
    [
        ({"object": "list", "data": [EVAL, {**EVAL, "name": "lakes"}]}, "2 evals", 'document["data"][0]'),
        ({"method": {"type": "supervised"}}, "'supervised'", ""),
        ({"object": "eval.run", "id": "r", "eval_id": "eval_9"}, "'eval.run'", "eval_9"),
        ({"object": "list", "data": [{"object": "eval.run.output_item"}]}, "type", ""),
        ({**EVAL, "testing_criteria": []}, "no criteria", ""),
        ({**EVAL, "testing_criteria": [SAME, {"type": "azure_ai_evaluator", "name": "flow", "evaluator_name": "builtin.fluency"}]},
         "'builtin.fluency' of the criterion 'flow'", "RubricJudge"),
        ([SAME, {"type": "new_type", "name": "x"}], "unknown type", ""),
    ],
)  # fmt: skip
def test_what_is_refused(document, what, step):
    """By what it is, with its place."""
    with pytest.raises(FormatError, match=what) as caught:
        wb.loads(document)
    assert step in caught.value.hint
    assert caught.value.where


def test_columns_of_the_schema_are_noted(tmp_path):
    """A conversion reports the columns that the eval's rows have."""
    (tmp_path / "e.json").write_text(json.dumps({**EVAL, "testing_criteria": [SAME]}))
    converted = wb.convert(tmp_path / "e.json", tmp_path / "n.json", "native", allow_unvalidated=True)
    assert any("q, river" in str(note) for note in converted.notes)
