"""OpenAI's grader types, by its guide and its package."""

import json
from dataclasses import replace

import pytest

import workbench as wb
from tests.conformance.cases import cases, check_score, suite_of, with_client
from workbench.core.errors import FormatError
from workbench.data.templates import compile as compile_template
from workbench.formats.platforms.openai import error_flag


def sample_of(item):
    sample = item.get("sample", {})
    message = {"role": "assistant", "content": sample.get("output_text", "")}
    if sample.get("output_tools"):
        message["tool_calls"] = sample["output_tools"]
    thread = wb.StringThread.from_messages([message], dict(item.get("item", {})))
    return wb.Sample(id="0", thread=thread, reference=None, group="0")


@pytest.mark.parametrize("case", cases("openai", "string_check", "text_similarity", "python"))
def test_graders(case):
    """One grader on item and sample; a failure counts as 0 with a flag."""
    expected = case["expected"]
    outcome = next(iter(suite_of("openai", case["config"])(sample_of(case["item"])).parts.values()))
    check_score(expected, outcome.score)
    flag = error_flag(outcome.grade, python=case["grader"] == "python")
    assert flag == expected.get("error", flag)
    if expected.get("has_error"):
        assert flag


@pytest.mark.parametrize("case", cases("openai", "multi"))
def test_multi(case):
    """A formula over the parts' rewards."""
    expected, rewards = case["expected"], case["item"].get("sub_rewards", {})
    if "score" not in expected or "error" in expected or "error_any_of" in expected:
        with pytest.raises(FormatError) as caught:
            suite_of("openai", case["config"])
        wanted = expected.get("error_any_of", [expected.get("error")])
        assert wanted == [None] or caught.value.flag in wanted
        return
    suite = suite_of("openai", case["config"])
    fixed = [replace(entry, grader=_fixed(rewards[entry.name])) for entry in suite.entries]
    outcome = wb.Suite(fixed, combine=suite.combine, name=suite.name)(sample_of({}))
    check_score(expected, outcome.score)


def _fixed(reward):
    return wb.FunctionGrader.from_source(f"async def grade(t):\n    return {float(reward)!r}\n")


@pytest.mark.parametrize("case", cases("openai", "template"))
def test_templates(case):
    """Namespaces item and sample, dotted paths and indexes."""
    if case["expected"].get("valid") is False:
        with pytest.raises(wb.errors.WorkbenchError):
            compile_template(case["config"]["template"], "openai").render(case["item"])
        return
    assert (
        compile_template(case["config"]["template"], "openai").render(case["item"])
        == case["expected"]["rendered"]
    )


@pytest.mark.parametrize("case", cases("openai", "score_model", "label_model"))
def test_model_graders(case):
    """Answers inside the range; anything else is a failure that counts as 0 with its flag."""
    expected, item = case["expected"], case["item"]
    reply = item.get("judge_response") or json.dumps({"steps": [], "result": item.get("judge_label")})
    suite = with_client(suite_of("openai", case["config"]), reply)
    outcome = next(iter(suite(sample_of({"sample": {"output_text": "x"}})).parts.values()))
    check_score(expected, outcome.score)
    assert error_flag(outcome.grade) == expected.get("error", error_flag(outcome.grade))
    assert outcome.passed == expected.get("passed", outcome.passed)


@pytest.mark.parametrize("case", cases("openai", "validate"))
def test_validation(case):
    """What the validate call accepts."""
    if case["expected"]["valid"]:
        assert len(suite_of("openai", case["config"])) == 1
    else:
        with pytest.raises(FormatError):
            suite_of("openai", case["config"])
