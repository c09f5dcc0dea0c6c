"""Letta Evals' cases: the seed's era by default, later ones by their switch."""

import json

import numpy as np
import pytest

import workbench as wb
from tests.conformance.cases import cases, check_score, with_client
from workbench.data.extractors import Extractor
from workbench.formats.platforms.letta import letta_thread
from workbench.graders.combine import Gate


def release_of(case):
    """The release a case needs; "" for those that hold for all, or for the seed's."""
    return case["era"].lstrip(">=") if case["era"].startswith(">=") else ""


def thread_of(item):
    """A trajectory, turns of typed messages, as a thread."""
    return letta_thread(
        item["trajectory"], input=item.get("input", "question"), agent_state=item.get("agent_state")
    )


def sample_of(item):
    return wb.Sample(id="0", thread=thread_of(item), reference=item.get("ground_truth"), group="0")


@pytest.mark.parametrize("case", cases("letta", "tool", "per_turn"))
def test_tool_graders(case):
    """Built-in functions on the extracted submission."""
    suite = wb.loads(json.dumps({"graders": {"metric": case["config"]}}), "letta", release=release_of(case))
    outcome = suite(sample_of(case["item"])).parts["metric"]
    check_score(case["expected"], outcome.score)
    assert case["expected"].get("rationale_contains", "") in (outcome.message or "")


@pytest.mark.parametrize("case", cases("letta", "extractor"))
def test_extractors(case):
    """Each extractor with its settings and direction."""
    rule = Extractor(case["grader"].partition(":")[2], case["config"])
    if error := case["expected"].get("error"):
        with pytest.raises(Exception) as caught:
            rule.extract(thread_of(case["item"]))
        assert error in [cls.__name__ for cls in type(caught.value).__mro__]
    else:
        assert rule.extract(thread_of(case["item"])) == case["expected"]["submission"]


@pytest.mark.parametrize("case", cases("letta", "gate"))
def test_gates(case):
    """Both generations of gates over columns of scores."""
    config, item, expected = case["config"], case["item"], case["expected"]
    document = {
        "graders": {name: {"kind": "tool", "function": "contains"} for name in item["scores"]},
        "gate": config,
    }
    if expected.get("valid") is False:
        with pytest.raises(ValueError):
            wb.loads(json.dumps(document), "letta")
        return
    gate = wb.loads(json.dumps(document), "letta").gate
    errored = [np.nan] * item.get("errored_samples", 0)
    result = gate.judge(
        {name: np.array([*scores, *errored], float) for name, scores in item["scores"].items()}
    )
    if "value" in expected:
        assert result.value == pytest.approx(expected["value"])
    assert result.passed == expected.get("passed", result.passed)
    if "sample_pass" in expected:
        assert result.sample_pass.tolist()[: len(expected["sample_pass"])] == expected["sample_pass"]
    for name in {"avg_score_total", "avg_score_attempted"} & set(expected):
        averages = result.averages[config.get("metric_key") or next(iter(item["scores"]))]
        assert averages[name] == pytest.approx(expected[name])
    assert Gate.build(gate.spec()) == gate


def rubric(config, **settings):
    spec = {"kind": "rubric", "prompt": "p", **config}
    return wb.loads(json.dumps({"graders": {"judge": spec}}), "letta", **settings)


@pytest.mark.parametrize("case", cases("letta", "rubric:response"))
def test_judge_answers(case):
    """Clamped, coerced, or a failure that this suite counts as 0.0."""
    expected = case["expected"]
    suite = with_client(rubric(case["config"]), case["item"]["judge_response"])
    outcome = suite(wb.StringThread([("user", "q"), ("assistant", "a")], {})).parts["judge"]
    check_score(expected, outcome.score)
    if "rationale" in expected:
        assert (outcome.grade.reasoning or "") == expected["rationale"]
    if "Error during grading" in expected.get("rationale_contains", ""):
        assert outcome.grade.error is not None  # the error and its text; 0.0 is what the suite counts


@pytest.mark.parametrize("case", cases("letta", "rubric:temperature"))
def test_judge_temperature(case):
    """Reasoning models take 1.0 where 0.0 is asked."""
    judge = rubric(case["config"]).graders[0]
    assert judge.sent_temperature == case["expected"]["sent_temperature"]


@pytest.mark.parametrize("case", cases("letta", "rubric:prompt"))
def test_judge_prompts(case):
    """What a rubric becomes, in the era of the case."""
    item, expected = case["item"], case["expected"]
    metadata = {"rubric_vars": item.get("rubric_vars", {})}
    thread = wb.StringThread([("user", item["input"]), ("assistant", item["submission"])], metadata)
    sample = wb.Sample(id="0", thread=thread, reference=item.get("ground_truth"), group="0")

    def preview():
        judge = rubric(case["config"], release=release_of(case)).graders[0]
        return "\n".join(message["content"] for message in judge.preview(sample))

    if "error" in expected:
        with pytest.raises(Exception) as caught:
            preview()
        assert isinstance(caught.value, ValueError | KeyError | wb.errors.WorkbenchError)
        return
    prompt = preview()
    for part in expected.get("prompt_contains", []):
        assert part in prompt
    for part in expected.get("prompt_excludes", []):
        assert part not in prompt


@pytest.mark.parametrize("case", cases("letta", "grader_spec"))
def test_specs(case):
    """What a grader spec must and must not have."""
    valid = case["expected"]["valid"]
    document = json.dumps({"graders": {"m": case["config"]}})
    if valid:
        assert len(wb.loads(document, "letta")) == 1
    else:
        with pytest.raises(wb.errors.FormatError):
            wb.loads(document, "letta")


@pytest.mark.parametrize("case", cases("letta", "grade_result"))
def test_grade_results(case):
    """A result's score lies in 0 to 1."""
    module = (
        "from letta_evals.decorators import grader\nfrom letta_evals.models import GradeResult, Sample\n\n@grader\n"
        "def f(sample: Sample, submission: str) -> GradeResult:\n"
        f"    return GradeResult(score={case['item']['score']!r}, rationale='r')\n"
    )
    grade = wb.FunctionGrader.from_source(module)(wb.StringThread([("user", "q"), ("assistant", "a")], {}))
    assert (grade.error is None) == case["expected"]["valid"]
