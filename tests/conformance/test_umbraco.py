"""Umbraco.AI's cases, read from its source."""

import pytest

import workbench as wb
from tests.conformance.cases import cases, check_score, suite_of, with_client
from workbench.analysis.statistics.group_scores import pass_rate, pass_to_the_k
from workbench.core.grades import Grades
from workbench.graders.combine import AllPass, Entry

KINDS = ("exact-match", "contains", "regex", "json-schema", "tool-call", "guardrail", "llm-judge")


def thread_of(item):
    calls = [
        {"function": {"name": call["name"], "arguments": "{}"}} if "name" in call else call
        for call in item.get("toolCalls", [])
    ]
    message = {"role": "assistant", "content": item["output"], **({"tool_calls": calls} if calls else {})}
    return wb.StringThread.from_messages([{"role": "user", "content": "q"}, message], {})


@pytest.mark.parametrize("case", cases("umbraco", *KINDS))
def test_graders(case):
    """Score, verdict, message and metadata of one grader in Umbraco's own suite rules."""
    expected, item = case["expected"], case["item"]
    suite = suite_of("umbraco", case["config"])
    if "judge_response" in item:
        suite = with_client(suite, item["judge_response"])
    outcome = next(iter(suite(thread_of(item)).parts.values()))
    check_score(expected, outcome.score)
    assert outcome.passed == expected["passed"]
    if "failureMessage" in expected:
        assert outcome.message == expected["failureMessage"] or expected["passed"]
    assert (outcome.message or "").startswith(expected.get("failureMessageStartsWith", ""))
    for key, value in (expected.get("metadata") or {}).items():
        assert outcome.grade.metadata[key] == value


@pytest.mark.parametrize("case", cases("umbraco", "test-run"))
def test_runs(case):
    """Only Error-severity graders block."""
    entries, parts = [], {}
    for at, result in enumerate(case["item"]["results"]):
        entry = Entry(wb.Contains(expected="x"), f"g{at}", severity=result["severity"].lower())
        grades = Grades.empty(1)
        grades.put(0, wb.Grade(result["score"], passed=result["passed"]))
        entries.append(entry)
        parts[entry.name] = entry.count(grades)
    combined = AllPass().combine(entries, parts)[0]
    assert {True: "Passed", False: "Failed"}[combined.passed] == case["expected"]["status"]


@pytest.mark.parametrize("case", cases("umbraco", "metrics"))
def test_metrics(case):
    """pass@k is the share of runs that passed, pass^k 1 only if all did."""
    passed = [status == "Passed" for status in case["item"]["statuses"]]
    expected = case["expected"]
    assert expected["totalRuns"] == len(passed)
    assert expected["passedRuns"] == sum(passed)
    assert expected["passAtK"] == pytest.approx(pass_rate(passed))
    assert expected["passToTheK"] == pass_to_the_k(passed)
