"""Letta's gates as its own files have them: conditions without a kind, nested, and old forms inside new ones."""

import json

import numpy as np
import pytest
import yaml

import workbench as wb
from workbench.core.errors import FormatError

GRADERS = """graders:
  quality: {kind: tool, function: exact_match, extractor: last_assistant}
  ascii_only: {kind: tool, function: ascii_printable_only, extractor: last_assistant}
"""
QUALITY = {"metric_key": "quality", "aggregation": "avg_score", "op": "gte", "value": 0.6}
ASCII = {
    "metric_key": "ascii_only",
    "aggregation": "accuracy",
    "op": "gte",
    "value": 60.0,
    "pass_threshold": 0.5,
}
SCORES = {"quality": np.array([1.0, 0.5, 0.9]), "ascii_only": np.array([1.0, 0.5, 0.0])}


def logical(*conditions, operator="and"):
    return {"kind": "logical", "operator": operator, "conditions": list(conditions)}


def suite_with(gate):
    return wb.loads(GRADERS + f"gate: {json.dumps(gate)}\n", "letta")


def written(suite, folder):
    wb.export(suite, folder / "suite.yaml", "letta")
    return yaml.safe_load((folder / "suite.yaml").read_text())["gate"]


@pytest.mark.parametrize(
    "gate",
    [
        logical(QUALITY, ASCII),
        logical(QUALITY, ASCII, operator="or"),
        logical(logical(QUALITY, {**QUALITY, "aggregation": "min"}), ASCII, operator="or"),
        logical(logical(logical(ASCII), QUALITY), operator="or"),
        logical({**QUALITY, "aggregation": "p95", "op": "lte", "value": 5.0}),
    ],
)
def test_logical_gates_come_back_as_they_were(gate, tmp_path):
    """A real file's gate is read, and written as the very same document."""
    suite = suite_with(gate)
    assert written(suite, tmp_path) == gate
    assert wb.load(tmp_path / "suite.yaml").gate == suite.gate


def test_conditions_mean_what_letta_computes():
    """Aggregates, marks and operators of each condition, joined by the operator."""
    gate = suite_with(logical(QUALITY, ASCII)).gate
    assert [bool(gate.judge(SCORES)), gate.metrics] == [True, ("quality", "ascii_only")]
    assert not suite_with(logical(QUALITY, {**ASCII, "pass_threshold": 1.0})).gate.judge(SCORES)
    either = suite_with(logical(logical(QUALITY, {**ASCII, "value": 99.0}), QUALITY, operator="or")).gate
    assert either.judge(SCORES)


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        (
            {"metric": "accuracy", "metric_key": "ascii_only", "op": "gte", "value": 60.0, "pass_value": 0.5},
            ASCII,
        ),
        ({"metric_key": "quality", "op": "gte", "value": 0.6}, QUALITY),
        ({"op": "gte", "value": 0.6, "pass_op": "gt", "pass_value": 0.1}, QUALITY),
        ({"kind": "simple", **ASCII}, ASCII),
    ],
)
def test_older_forms_inside_become_conditions(condition, same, tmp_path):
    """A single gate inside a logical one counts as the condition that means the same, and is written so."""
    suite = suite_with(logical(condition, QUALITY))
    assert suite.gate == suite_with(logical(same, QUALITY)).gate
    assert written(suite, tmp_path) == logical(same, QUALITY)


def test_gates_inside_gates_need_no_kind(tmp_path):
    """Conditions make a logical gate and weights an average, with or without a kind in the file; the kind is written."""
    bare = {"operator": "or", "conditions": [QUALITY, ASCII]}
    average = {"aggregation": "avg_score", "weights": {"quality": 1.0}, "op": "gte", "value": 0.7}
    suite = suite_with(logical(bare, average))
    assert (
        suite.gate
        == suite_with(logical({**bare, "kind": "logical"}, {**average, "kind": "weighted_average"})).gate
    )
    assert written(suite_with(logical(bare)), tmp_path) == logical({**bare, "kind": "logical"})


def test_a_weighted_average_inside_comes_back_with_a_note(tmp_path):
    """It is read and written with its kind, and the note states that Letta has none there."""
    average = {
        "kind": "weighted_average", "aggregation": "avg_score", "weights": {"quality": 0.7, "ascii_only": 0.3},
        "op": "gte", "value": 0.7,
    }  # fmt: skip
    suite = suite_with(logical(average, QUALITY))
    assert suite.gate.judge(SCORES)
    done = wb.export(suite, tmp_path / "suite.yaml", "letta")
    assert [note.field for note in done.notes] == ["gate"]
    assert wb.load(tmp_path / "suite.yaml").gate == suite.gate


@pytest.mark.parametrize(
    ("gate", "part"),
    [
        (
            logical({key: value for key, value in ASCII.items() if key != "aggregation"}),
            "'aggregation' is missing",
        ),
        (
            logical({key: value for key, value in QUALITY.items() if key != "metric_key"}),
            "'metric_key' is missing",
        ),
        (logical({key: value for key, value in QUALITY.items() if key != "op"}), "'op' is missing"),
        (logical({key: value for key, value in QUALITY.items() if key != "value"}), "'value' is missing"),
        (logical({**QUALITY, "metric": "accuracy"}), "unknown key 'metric'"),
        (logical({**QUALITY, "metric_key": "other"}), "unknown metric"),
        (logical(QUALITY, logical()), "no conditions"),
        (logical({**QUALITY, "aggregation": "mean"}), "unknown aggregation"),
        (QUALITY, "kind: simple"),
    ],
)
def test_broken_gates_are_refused_with_their_place(gate, part):
    """What a condition lacks or has too much of is named, with the path to it."""
    with pytest.raises(FormatError, match=part) as caught:
        suite_with(gate)
    assert "gate" in caught.value.where


def test_what_a_condition_cannot_say_is_refused(tmp_path):
    """Only a mark that samples reach counts there: another comparison would be another accuracy."""
    below = wb.combine.SimpleGate(
        metric_key="q", aggregation="accuracy", value=50.0, pass_op="lt", pass_value=0.5
    )
    nested = wb.combine.LogicalGate(conditions=(wb.combine.LogicalGate(conditions=(below,)),))
    suite = wb.Suite(wb.Entry(wb.ExactMatch(), "q"), gate=nested)
    with pytest.raises(FormatError, match="those with lt 0.5"):
        wb.export(suite, tmp_path / "s.yaml", "letta")
    assert wb.export(suite, tmp_path / "s.yaml", "letta", on_loss="report").losses
    assert wb.load(tmp_path / "s.yaml").gate is None


def test_a_gate_on_the_first_grader_keeps_it(tmp_path):
    """If the first grader is omitted, a gate that names none would read another one: it is reported and omitted."""
    suite = wb.Suite(
        [wb.Entry(wb.BinaryJudge(criteria="Is it so?", model="m"), "j"), wb.ExactMatch()],
        gate=wb.combine.SimpleGate(value=0.5),
    )
    done = wb.export(suite, tmp_path / "s.yaml", "letta", on_loss="report", allow_unvalidated=True)
    assert "it reads 'j', which is not written" in [loss.what for loss in done.losses]
    assert wb.load(tmp_path / "s.yaml").gate is None
    inner = wb.combine.LogicalGate(conditions=(wb.combine.SimpleGate(aggregation="min", value=0.1),))
    named = written(wb.Suite([wb.Entry(wb.ExactMatch(), "e"), wb.Contains(name="c")], gate=inner), tmp_path)
    assert named["conditions"] == [{"metric_key": "e", "aggregation": "min", "op": "gte", "value": 0.1}]
