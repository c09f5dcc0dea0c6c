"""The grader of latency, cost and tokens."""

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.portable import portable


def grade(row, **settings):
    """The grade of a row with columns."""
    return wb.LatencyCostTokens(**settings)(wb.StringThread([("user", "q"), ("assistant", "a")], row))


@pytest.mark.parametrize(
    ("columns", "settings", "score"),
    [
        ({"latency": 1.5}, {"max_latency": 2}, 1.0),
        ({"latency": 2}, {"max_latency": 2}, 1.0),
        ({"latency_ms": 2500}, {"max_latency": 2}, 0.0),
        ({"took_ms": 1500}, {"max_latency": 2, "columns": {"latency": "took_ms"}}, 1.0),
        ({"cost": "0.01"}, {"max_cost": 0.02}, 1.0),
        ({"usage": {"total_tokens": 120}}, {"max_tokens": 100}, 0.0),
        ({"tokens": 0}, {"max_tokens": 0}, 1.0),
        ({"latency": 1, "cost": 1, "tokens": 1}, {"max_latency": 2, "max_cost": 0.5, "max_tokens": 9}, 0.0),
    ],
)
def test_limits(columns, settings, score):
    """Every limit that is given must be met."""
    assert grade(columns, **settings).score == score


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"latency": None},
        {"latency": "fast"},
        {"latency": -1},
        {"latency": float("nan")},
        {"latency": True},
        {"latency": float("inf")},
    ],
)
def test_a_value_that_was_not_measured_is_not_zero(columns):
    """The row fails."""
    assert grade(columns, max_latency=2).error.kind == "sample"


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({}, "at least one limit"),
        ({"max_cost": -1}, "max_cost"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_cost": 1, "columns": {"speed": "x"}}, "columns"),
        ({"max_cost": 1, "columns": []}, "columns"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.LatencyCostTokens(**settings)


def test_details_and_code():
    """Values are in the details; the exported function scores the same."""
    graded = grade({"latency_ms": 500, "tokens": 7}, max_latency=1, max_tokens=5)
    assert graded.metadata == {"latency": 0.5, "tokens": 7.0}
    assert graded.reasoning == "tokens 7, limit 5"
    code = wb.FunctionGrader.from_source(portable(wb.LatencyCostTokens(max_tokens=5)))
    assert code(wb.StringThread([("assistant", "a")], {"tokens": 4})).score == 1.0
    assert code(wb.StringThread([("assistant", "a")], {})).error is not None


def test_its_probe_finds_only_that_no_text_is_read():
    """Any text passes in a row whose columns are within the limits: that is what the kind is for."""
    rows = [{"prompt": f"q{n}", "completion": f"a{n}", "tokens": n} for n in range(16)]
    probe = wb.probe(wb.LatencyCostTokens(max_tokens=8), wb.Samples(rows), progress=False)
    assert {one.kind for one in probe.findings if one.severity == "error"} <= {
        "accepts-anything-on-some-rows"
    }
