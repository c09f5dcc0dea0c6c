"""Adaptive's cases: threads, grade functions, validation, judges, templates, combining."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from tests.conformance.cases import cases, check_score
from workbench.core.grades import Grades
from workbench.data.templates import compile as compile_template
from workbench.data.templates import thread_variables
from workbench.graders.combine import Combined, Entry, Mean, Sum

# Upstream takes True as a score; here a bool is refused, because it hides mistakes.
BY_DESIGN = {"adaptive-function-bool", "adaptive-grade-nan"}


def thread_of(item):
    return wb.StringThread(item.get("turns"), item.get("metadata"))


@pytest.mark.parametrize("case", cases("adaptive", "thread"))
def test_threads(case):
    """The thread's methods."""
    item, expected = case["item"], case["expected"]
    if "error" in expected:
        with pytest.raises(Exception) as caught:
            _call(item)
        assert type(caught.value).__name__ == expected["error"]
        return
    assert _call(item) == expected["value"]


def _call(item):
    found = getattr(thread_of(item), item["call"])
    value = found() if callable(found) else found
    return [list(turn) for turn in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", cases("adaptive", "function"))
def test_functions(case):
    """Grade functions on threads, and what is no grade function; what a captured function becomes."""
    if case["id"] in BY_DESIGN:
        pytest.skip("a bool is no score here, by design")
    if case["grader"] == "function:capture":
        source = wb.capture(case["item"]["module_source"], name=case["config"]["function"])
        assert source.text == case["expected"]["source"]
        return
    expected = case["expected"]
    if "error" in expected:
        try:
            grader = wb.FunctionGrader.from_source(case["config"]["source"])
        except ValueError:
            return
        assert grader(thread_of(case["item"])).error is not None
        return
    check_score(
        expected, wb.FunctionGrader.from_source(case["config"]["source"])(thread_of(case["item"])).score
    )


@pytest.mark.parametrize("case", cases("adaptive", "validate"))
def test_validation(case):
    """Five checks in order, stopping at the first cross; warnings counted without the one on metadata."""
    text, size = case["config"]["source"], case["config"].get("pad_with_comment_to_bytes")
    text += "#" * (size - len(text.encode()) - 1) + "\n" if size else ""
    expected = case["expected"]
    try:
        proof = wb.FunctionGrader.from_source(text).validate()
    except wb.errors.CaptureError:
        assert not expected["valid"]
        return
    assert proof.ok == expected["valid"]
    if "failed_check" in expected:
        assert (proof.failure.name if proof.failure else None) == expected["failed_check"]
    if "warnings" in expected:
        assert (
            len([warning for warning in proof.warnings if "metadata is None" not in warning])
            == expected["warnings"]
        )


@pytest.mark.parametrize("case", cases("adaptive", "binary_judge:response"))
def test_binary_judge(case):
    """PASS is 1, FAIL is 0, NA is left out, anything else fails."""
    judge = wb.BinaryJudge(
        criteria="c",
        model="m",
        platform="adaptive",
        client=wb.ScriptedClient([case["item"]["judge_response"]] * 4),
    )
    _check_judged(case["expected"], judge(wb.StringThread([("user", "q"), ("assistant", "a")], {})))


def _check_judged(expected, grade):
    check_score(expected, grade.score)
    if expected.get("ignored"):
        assert grade.score is None
    if expected.get("has_error") or "error" in expected:
        assert grade.error is not None


@pytest.mark.parametrize("case", cases("adaptive", "prebuilt"))
def test_prebuilt_judges(case):
    """RAG judges with stubbed verdicts."""
    name, scores = case["grader"].partition(":")[2], case["item"].get("judge_scores", [])
    answers = {
        "FAITHFULNESS": [
            {"all_statements_scoring": [
                {"statement_idx": at, "reasoning": "r", "score": str(score)} for at, score in enumerate(scores)
            ]}
        ],
        "ANSWER_RELEVANCY": [{"results": [{"reason": "r", "score": score} for score in scores]}],
        "CONTEXT_RELEVANCY": [{"reason": "r", "score": score} for score in scores],
    }[name]  # fmt: skip
    kind = {
        "FAITHFULNESS": wb.FaithfulnessJudge,
        "ANSWER_RELEVANCY": wb.AnswerRelevancyJudge,
        "CONTEXT_RELEVANCY": wb.ContextRelevancyJudge,
    }[name]
    client = wb.ScriptedClient([json.dumps(answer) for answer in answers for _ in range(1)])
    grade = kind(model="m", platform="adaptive", client=client)(thread_of({"metadata": {}, **case["item"]}))
    _check_judged(case["expected"], grade)


@pytest.mark.parametrize("case", cases("adaptive", "judge_template"))
def test_templates(case):
    """Handlebars with the document's variables, without escaping."""
    variables = {
        **thread_variables(thread_of(case["item"]), "adaptive"),
        **case["config"].get("template_variables", {}),
    }
    rendered = compile_template(case["config"]["template"], "handlebars").render(variables)
    expected = case["expected"]
    if "rendered" in expected:
        assert rendered == expected["rendered"]
    for part in expected.get("rendered_contains", []):
        assert part in rendered


@pytest.mark.parametrize("case", cases("adaptive", "combined"))
def test_combined(case):
    """Mean renormalises over those that answered, sum does not; a failure is never averaged away."""
    config, given, expected = case["config"], case["item"]["grades"], case["expected"]
    grades = {"ignore": "return None", "raise": "return 1/0", "parse_error": "return None"}
    entries = []
    for at, (grade, weight) in enumerate(zip(given, config["weights"] or [1.0] * len(given), strict=True)):
        body = grades.get(grade, f"return {grade!r}") if isinstance(grade, str) else f"return {grade!r}"
        text = f"async def grade(t):\n    {body}\n"
        grader = wb.FunctionGrader.from_source(text, name=f"g{at}")
        entries.append((Entry(grader, weight=weight), grade))
    rule = {"mean": Mean(), "sum": Sum()}[config["aggregation_method"]]
    columns = {}
    for entry, grade in entries:
        columns[entry.name] = Grades.empty(1)
        ignored = grade in {"ignore", "parse_error"}
        held = (
            wb.Grade.skipped("ignored")
            if ignored
            else entry.grader(wb.StringThread([("assistant", "x")], {}))
        )
        columns[entry.name].put(0, held)
    whole = rule.combine([e for e, _ in entries], {e.name: e.count(columns[e.name]) for e, _ in entries})[0]
    check_score(expected, whole.score)
    if "error" in expected:
        assert whole.score is None
        assert expected["error"] in str(whole.error) or whole.error is None
    assert isinstance(Combined(entries=tuple(replace(e) for e, _ in entries), combine=rule), wb.Grader)


@pytest.mark.parametrize("case", cases("adaptive", "logs"))
def test_logs(case):
    """Mean, sample standard deviation, extremes and count of a column."""
    scores = case["item"]["scores"]
    samples = [{"prompt": str(at), "completion": str(score)} for at, score in enumerate(scores)]
    grader = wb.FunctionGrader.from_source(
        "async def grade(t):\n    return float(t.completion())\n", name="g"
    )
    line = wb.Suite([grader]).run(samples, progress=False).summary.loc["g"]
    names = {"mean": "mean", "std": "sd", "min": "min", "max": "max", "count": "scored"}
    for key, value in case["expected"].items():
        got = line[names[key.partition("/")[2]]]
        assert (0.0 if isinstance(got, float) and math.isnan(got) else got) == pytest.approx(value)


@pytest.mark.parametrize("case", cases("adaptive", "grade"))
def test_grades(case):
    """What a grade takes; NaN and bools are refused here, by design."""
    if case["id"] in BY_DESIGN:
        pytest.skip("NaN is no score here, by design")
    item = case["item"]
    value = eval(item["value_expr"], {"np": np}) if "value_expr" in item else item["value"]
    if case["expected"].get("accepted"):
        assert wb.Grade(value).score == value
    else:
        with pytest.raises((TypeError, ValueError)):
            wb.Grade(value)
