"""vLLora's cases: scripts, weights, prompts, answers, the dry run and the readiness gate."""

import pytest

import workbench as wb
from tests.conformance.cases import cases, check_score, suite_of, with_client
from workbench.analysis.diagnostics import diagnose
from workbench.analysis.vllora_gates import balance, code_reference_verdict, dry_run, readiness
from workbench.core.grades import Grades
from workbench.graders.combine import Entry, Sum


def thread_of(item):
    message = {"role": "assistant", "content": item["response"]}
    if item.get("toolCalls"):
        message["tool_calls"] = item["toolCalls"]
    messages = [*item.get("messages", []), message]
    return wb.StringThread.from_messages(messages, item.get("metadata", {}), tools=item.get("tools") or None)


@pytest.mark.parametrize("case", cases("vllora", "script"))
def test_scripts(case):
    """JavaScript graders on the input of the document."""
    expected = case["expected"]
    grade = suite_of("vllora", case["config"]).graders[0](thread_of(case["item"]))
    check_score(expected, grade.score)
    if "error_contains" in expected:
        assert expected["error_contains"] in grade.error.message
    if expected.get("has_error"):
        assert grade.error is not None


@pytest.mark.parametrize("case", cases("vllora", "multi"))
def test_weights(case):
    """A weighted sum whose weights must sum to 1."""
    weights, scores = case["config"]["weights"], case["item"].get("scores", [])
    entries = [Entry(wb.Contains(expected="x"), f"g{at}", weight=weight) for at, weight in enumerate(weights)]
    rule = Sum(strict=True, weights_sum_to_one=True)
    if "score" not in case["expected"]:
        with pytest.raises(ValueError):
            rule.check(entries)
        return
    parts = {}
    for entry, score in zip(entries, scores, strict=True):
        grades = Grades.empty(1)
        grades.put(0, wb.Grade(score))
        parts[entry.name] = entry.count(grades)
    rule.check(entries)
    check_score(case["expected"], rule.combine(entries, parts)[0].score)


def judge(config):
    given = {
        "outputSchema": {"type": "object", "properties": {"score": {"type": "number"}}},
        "prompt": "{{response}}",
    }
    return suite_of("vllora", {"type": "llm-judge", **given, **config})


@pytest.mark.parametrize("case", cases("vllora", "llm-judge:response"))
def test_judge_answers(case):
    """An answer that does not fit the schema is an error."""
    expected = case["expected"]
    suite = with_client(judge(case["config"]), case["item"]["judge_response"])
    grade = suite.graders[0](wb.StringThread([("user", "q"), ("assistant", "a")], {}))
    check_score(expected, grade.score)
    if "reasoning" in expected:
        assert grade.reasoning == expected["reasoning"]
    assert bool(expected.get("has_error")) == (grade.error is not None)


@pytest.mark.parametrize("case", cases("vllora", "llm-judge:prompt"))
def test_judge_prompts(case):
    """Mustache variables without escaping."""
    grader = judge(case["config"]).graders[0]
    sample = wb.Sample(id="0", thread=thread_of(case["item"]), reference=None, group="0")
    prompt = "\n".join(message["content"] for message in grader.preview(sample))
    if "prompt" in case["expected"]:
        assert case["expected"]["prompt"] in prompt
    for part in case["expected"].get("prompt_contains", []):
        assert part in prompt


@pytest.mark.parametrize("case", cases("vllora", "diagnose"))
def test_anti_patterns(case):
    """The seed preset fires on the document's literal cut-offs."""
    grades = Grades.empty(len(case["item"]["scores"]))
    for row, score in enumerate(case["item"]["scores"]):
        grades.put(row, wb.Grade(score))
    found = {finding.kind for finding in diagnose(grades, preset="seed")}
    names = {
        "seed-too-lenient": "too_lenient",
        "seed-too-strict": "too_strict",
        "seed-no-variance": "no_variance",
    }
    assert sorted(names[kind] for kind in found if kind in names) == sorted(case["expected"]["flags"])


@pytest.mark.parametrize("case", cases("vllora", "dry-run:analyze"))
def test_dry_run(case):
    """Statistics, issues and verdict of the dry run."""
    expected = case["expected"]
    result = dry_run(case["item"]["scores"], case["item"].get("topics"))
    names = {
        "percentAboveZero": "above_zero",
        "percentPerfect": "perfect",
        "datasetQuality": "dataset_quality",
        "graderQuality": "grader_quality",
        "byTopic": "by_topic",
    }
    for key, value in expected.items():
        got = getattr(result, names.get(key, key))
        if (
            isinstance(value, dict) and value and isinstance(next(iter(value.values())), int | float)
        ) or isinstance(value, int | float):
            assert got == pytest.approx(value)
        else:
            assert (list(got) if isinstance(got, tuple) else got) == value


@pytest.mark.parametrize("case", cases("vllora", "dry-run:code-reference"))
def test_code_reference(case):
    """The shorter rule."""
    assert code_reference_verdict(case["item"]["scores"]) == case["expected"]["verdict"]


@pytest.mark.parametrize("case", cases("vllora", "readiness-gate"))
def test_readiness(case):
    """Hard and soft checks."""
    result = readiness(case["item"]["scores"])
    assert (result.verdict, result.failed) == (case["expected"]["verdict"], case["expected"]["failed"])


@pytest.mark.parametrize("case", cases("vllora", "balance"))
def test_balance(case):
    """Smallest over largest topic share."""
    assert balance(case["item"]["topic_share"]) == case["expected"]["value"]
