"""Letta's gates, both releases."""

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.combine import Gate, LogicalGate, SimpleGate, WeightedGate

NAN = float("nan")


def judge(gate, **scores):
    return gate.judge({name: np.array(column, float) for name, column in scores.items()})


def test_accuracy_is_a_percent():
    """A fraction as threshold is met by almost anything, and a warning says so."""
    result = judge(SimpleGate(aggregation="accuracy", value=0.9), a=[0.2, 0.1, 1.0])
    assert (round(result.value, 6), result.passed) == (33.333333, True)
    assert result.sample_pass.tolist() == [False, False, True]
    assert "percent" in result.warnings[0]
    assert "90" in result.warnings[0]
    assert not judge(SimpleGate(aggregation="accuracy", value=50), a=[1.0]).warnings


def test_pass_operator_falls_back():
    """A sample passes by pass_op and pass_value, each falling back to the gate's own."""
    result = judge(SimpleGate(aggregation="accuracy", value=50, pass_value=0.7), a=[0.7, 0.69])
    assert (result.value, result.passed, result.sample_pass.tolist()) == (50.0, True, [True, False])
    assert judge(SimpleGate(op="lte", value=0.2), a=[0.1, 0.3]).sample_pass.tolist() == [True, False]


def test_errored_samples():
    """They leave the average and count as 0 in the total."""
    result = judge(SimpleGate(value=0.9), a=[1, 1, NAN, NAN])
    assert result.value == 1.0
    assert result.passed
    assert result.averages["a"] == {"avg_score_attempted": 1.0, "avg_score_total": 0.5}
    assert result.sample_pass.tolist() == [True, True, False, False]
    assert judge(SimpleGate(value=0.1), a=[]).value == 0.0


@pytest.mark.parametrize(
    ("name", "value"),
    [("min", 0.0), ("max", 1.0), ("median", 0.5), ("p50", 0.5), ("p95", 0.94), ("p99", 0.988)],
)
def test_aggregations(name, value):
    """Percentiles interpolate linearly."""
    result = judge(SimpleGate(aggregation=name, value=0.0), a=[0.0, 0.4, 0.6, 1.0])
    assert result.value == pytest.approx(value)


def test_weighted_and_logical():
    """Weights are normalised; conditions nest."""
    weighted = WeightedGate(weights={"a": 3, "b": 1}, value=0.5)
    assert judge(weighted, a=[1.0], b=[0.0]).value == 0.75
    either = LogicalGate(operator="or", conditions=(SimpleGate(metric_key="b", value=0.5), weighted))
    both = LogicalGate(conditions=(SimpleGate(metric_key="b", value=0.5), weighted))
    assert judge(either, a=[1.0], b=[0.0]).passed
    assert not judge(both, a=[1.0], b=[0.0]).passed
    assert both.metrics == ("b", "a")
    assert Gate.build(both.spec()) == both


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "simple", "op": "ne"},
        {"kind": "simple", "aggregation": "mean"},
        {"kind": "simple", "value": "high"},
        {"kind": "simple", "treshold": 1},
        {"kind": "weighted_average", "weights": {}},
        {"kind": "weighted_average", "weights": {"a": -1}},
        {"kind": "weighted_average", "weights": {"a": 0}},
        {"kind": "weighted_average"},
        {"kind": "logical", "conditions": []},
        {"kind": "logical", "operator": "xor", "conditions": [{"kind": "simple"}]},
        {"kind": "metric"},
    ],
)
def test_refused_gates(spec):
    """What does not fit is refused by name."""
    with pytest.raises(FormatError):
        Gate.build(spec)


def test_a_suite_is_gated(tmp_path):
    """The report carries the gate's verdict; a gate on a metric that is not there is refused."""
    grader = wb.FunctionGrader.from_source(
        "async def grade(t):\n    return float(t.completion() == 'a')\n", name="g"
    )
    samples = [{"prompt": "q", "completion": text} for text in "aab"]
    report = wb.Suite([grader], gate=SimpleGate(value=0.6)).run(samples, progress=False)
    assert report.gate.passed
    assert bool(report.gate)
    assert "gate passed: avg_score of g is 0.666667" in str(report)
    assert "gate passed" in report._repr_html_()
    assert "gate passed" in report.to_html(tmp_path / "r.html").read_text("utf-8")
    with pytest.raises(ValueError, match="'h'"):
        wb.Suite([grader], gate=SimpleGate(metric_key="h"))


def test_accuracy_is_the_percent_upstream_gives():
    """1 of 3 is 33.333333333333336, to the last bit: `eq` is exact."""
    gate = SimpleGate(aggregation="accuracy", op="eq", value=33.333333333333336)
    assert gate.judge({"q": np.array([1.0, 0.0, 0.2, np.nan])}).passed


@pytest.mark.parametrize("number", [float("nan"), float("inf"), True, "0.5", 10**400])
def test_gates_take_finite_numbers(number):
    """A limit no score can be held against is refused, in a value and in a weight, and the field is named."""
    with pytest.raises(ValueError, match="value must be a finite number"):
        SimpleGate(value=number)
    with pytest.raises(ValueError, match="weight of 'q' must be a finite number"):
        WeightedGate(weights={"q": number})


def test_a_metric_may_have_any_name():
    """Even that of a field."""
    gate = WeightedGate(weights={"value": 1.0, "pass_threshold": 1.0}, value=0.5)
    assert gate.judge({"value": np.array([1.0]), "pass_threshold": np.array([0.0])}).value == 0.5
    with pytest.raises(TypeError, match="metric names"):
        WeightedGate(weights=None)


def test_results_are_compared_by_identity():
    """Two verdicts hold arrays, which have no one truth value."""
    one, two = (SimpleGate().judge({"q": np.array([1.0, 0.0])}) for _ in range(2))
    assert one != two


def test_equal_gates_share_a_hash():
    """A suite can stand in a set, gate and all."""
    one, two = (WeightedGate(weights={"a": 1.0, "b": weight}, value=0.5) for weight in (2, 2.0))
    assert {one, two} == {one}
    assert len({LogicalGate(conditions=(one,)), LogicalGate(conditions=(two,))}) == 1


@pytest.mark.parametrize(("op", "part"), [("gte", "almost any run"), ("eq", "is 1 %"), ("lt", "is 1 %")])
def test_an_accuracy_of_one_is_asked_about(op, part):
    """Whatever the operator, 1 is one percent."""
    assert part in SimpleGate(aggregation="accuracy", op=op, value=1).warnings[0]
