"""vLLora's dry run and readiness gate, as its scripts decide."""

import numpy as np
import pytest

import workbench as wb
from workbench.analysis.vllora_gates import balance, code_reference_verdict, dry_run, readiness

SPREAD = [0.2, 0.4, 0.6, 0.8] * 15


@pytest.mark.parametrize(
    ("scores", "verdict", "issues"),
    [
        ([0.25, 0.25, 0.1, 0.4], "GO", []),
        ([0.0] * 10, "NO-GO", ["mean_low:error", "std_low:warning", "low_success:error"]),
        ([0, 1] * 5, "WARNING", ["std_high:warning"]),
        ([1.0] * 5, "WARNING", ["mean_high:warning", "std_low:warning", "high_perfect:warning"]),
        ([], "NO-GO", ["mean_low:error", "std_low:warning", "low_success:error"]),
        ([0.5, None, 0.6, float("nan")], "WARNING", ["std_high:warning"]),
    ],
)
def test_dry_run(scores, verdict, issues):
    """Any error is NO-GO, any warning WARNING; a missing score counts as 0."""
    result = dry_run(scores)
    assert (result.verdict, list(result.issues)) == (verdict, issues)


def test_topics():
    """Topic means are good from 0.25, a warning from 0.15, else a problem; no topic is a topic."""
    result = dry_run([0.5, 0.6, 0.1, 0.12, 0.2, 0.22], ["a", "a", "b", "b", None, None])
    assert result.by_topic == {"a": "good", "b": "problem", "__unknown__": "warning"}
    assert result.issues == ("topic_problem:warning",)
    with pytest.raises(ValueError, match="one topic per score"):
        dry_run([1.0], [])


def test_numbers():
    """Population std, linear percentiles, five bins with 1.0 in the last."""
    result = dry_run([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert result.std == pytest.approx(np.std([0, 0.2, 0.4, 0.6, 0.8, 1]))
    assert result.percentiles == pytest.approx({"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9})
    assert result.distribution["0.8-1.0"] == pytest.approx(1 / 3)


def test_code_reference():
    """A high mean is looked at before the spread."""
    cases = {"WARN": [0.95, 0.9, 1.0], "FAIL": [0.5, 0.55, 0.5], "PASS": [0.2, 0.8, 0.5]}
    assert {name: code_reference_verdict(scores) for name, scores in cases.items()} == {n: n for n in cases}
    assert balance([25, 25]) == 1.0
    assert balance([]) == 0.0


@pytest.mark.parametrize(
    ("scores", "verdict", "failed"),
    [
        (SPREAD, "PASS", []),
        (SPREAD[:45], "WARN", ["sample_count"]),
        (SPREAD[:41], "WARN", ["sample_count"]),
        (SPREAD[:40], "FAIL", ["sample_count"]),
        (SPREAD[:30], "FAIL", ["sample_count"]),
        ([0.5] * 60, "FAIL", ["score_std", "score_concentration", "pass_rate"]),
        ([0.8, 0.8, 0.8, 0.2] * 15, "WARN", ["score_concentration"]),
        ([0.0] * 12 + [0.8, 0.6] * 24, "FAIL", ["zero_score_frac"]),
    ],
)
def test_readiness(scores, verdict, failed):
    """Soft checks warn, one hard minimum missed by less than a fifth warns, the rest fails."""
    result = readiness(scores)
    assert (result.verdict, result.failed) == (verdict, failed)


@pytest.mark.parametrize(
    ("scores", "name", "verdict"),
    [
        ([0.5] * 30 + [0.68] * 30, "score_std", "WARN"),
        ([0.5] * 30 + [0.65] * 30, "score_std", "FAIL"),
        ([0.8] * 2 + [0.02] * 58, "avg_score", "WARN"),
        ([0.9] * 2 + [0.01] * 58, "avg_score", "FAIL"),
    ],
)
def test_a_hard_minimum_decides(scores, name, verdict):
    """Missed by less than a fifth it warns, by more it fails, whatever the soft checks say."""
    result = readiness(scores)
    assert result.verdict == verdict
    assert [check.name for check in result.checks if check.hard and not check.holds] == [name]


@pytest.mark.parametrize(
    ("name", "fine", "missed"),
    [
        ("score_concentration", [0.5] * 69 + [0.2] * 31, [0.5] * 70 + [0.2] * 30),
        ("perfect_score_frac", [0.99] * 49 + [0.98] * 51, [0.99] * 50 + [0.98] * 50),
        ("high_score_frac", [0.91] * 49 + [0.9] * 51, [0.91] * 50 + [0.9] * 50),
        ("dead_weight_frac", [0.09] * 74 + [0.1] * 26, [0.09] * 75 + [0.1] * 25),
        ("pass_rate", [0.7] * 6 + [0.69] * 94, [0.7] * 5 + [0.69] * 95),
        ("zero_score_frac", [0.009] * 9 + [0.01] * 91, [0.009] * 10 + [0.01] * 90),
    ],
)
def test_shares_at_their_limits(name, fine, missed):
    """A share that reaches its limit misses the check, one row fewer (for the pass rate: more) does not."""
    assert name not in readiness(fine).failed
    assert name in readiness(missed).failed


@pytest.mark.parametrize(
    ("correlation", "holds"), [(0.29, True), (-0.29, True), (0.31, False), (-0.31, False)]
)
def test_limit_of_the_correlation_with_length(correlation, holds):
    """At 0.3 either way the scores go by length."""
    scores, other = np.tile([0.2, 0.8, 0.2, 0.8], 5), np.tile([1.0, 1.0, -1.0, -1.0], 5)
    lengths = 100 + correlation * (scores - 0.5) / 0.3 + np.sqrt(1 - correlation**2) * other
    assert ("score_length_corr" not in readiness(scores, lengths=lengths).failed) == holds
    assert len(readiness(scores[:9], lengths=lengths[:9]).checks) == len(readiness(scores[:9]).checks)


@pytest.mark.parametrize(("largest", "holds"), [(39, True), (40, False)])
def test_limit_of_the_largest_topic(largest, holds):
    """Two rows of five with one topic are too many; rows without a topic do not count."""
    topics = ["a"] * largest + ["b"] * 30 + ["c"] * (70 - largest) + [None] * 50
    assert ("topic_balance" not in readiness(np.linspace(0, 1, 150), topics=topics).failed) == holds


@pytest.mark.parametrize(("spread", "holds"), [(4, True), (3, False)])
def test_limit_of_learnable_prompts(spread, holds):
    """More than three prompts of ten have to have different scores; prompts with one answer do not count."""
    scores = [0.2, 0.8] * spread + [0.5, 0.5] * (10 - spread) + [0.1, 0.9]
    prompts = [*np.arange(20) // 2, 10, 11]
    assert ("prompt_learnability" not in readiness(scores, prompts=prompts).failed) == holds


def test_each_score_has_its_prompt():
    """Prompts that are not one a score are refused."""
    with pytest.raises(ValueError, match="zip"):
        readiness(SPREAD, prompts=["a"] * 59)


def test_readiness_by_prompt_length_and_topic():
    """Learnable prompts, correlation with length and the largest topic are looked at where known."""
    flat = [score for score in SPREAD for _ in range(2)]
    result = readiness(
        flat, prompts=np.arange(120) // 2, lengths=[s * 100 for s in flat], topics=["a"] * 100 + ["b"] * 20
    )
    assert result.failed == ["prompt_learnability", "score_length_corr", "topic_balance"]
    assert result.verdict == "WARN"


def test_preset():
    """A report diagnosed by this preset says GO or not, and readiness."""
    grader = wb.FunctionGrader.from_source("async def grade(t):\n    return float(t.completion())\n")
    samples = [{"prompt": str(i), "completion": str(score)} for i, score in enumerate(SPREAD)]
    report = wb.Suite([grader]).run(samples, progress=False, preset="vllora")
    assert "dry run GO" in str(report)
    assert "readiness gate PASS" in str(report)


def test_topics_of_a_column_reach_the_report():
    """The dry run names topics whose mean is low, the gate and a finding of their own look at their balance."""
    grader = wb.FunctionGrader.from_source("async def grade(t):\n    return float(t.completion())\n")
    topics = ["algebra"] * 50 + ["rare"] * 5 + [None] * 5
    scores = [*SPREAD[:50], *[0.1] * 5, *SPREAD[:5]]
    rows = [
        {"prompt": str(i), "completion": f"{score} " + " " * int(score * 50), "topic": topic}
        for i, (score, topic) in enumerate(zip(scores, topics, strict=True))
    ]
    report = wb.Suite([grader]).run(wb.Samples(rows), progress=False, preset="vllora")
    told = {finding.kind: finding for finding in report.findings}
    assert "a topic's mean is below 0.15 (rare)" in told["vllora-dry-run"].message
    assert "topic_balance is 0.909, limit 0.4" in told["vllora-readiness"].message
    assert "score_length_corr is" in told["vllora-readiness"].message
    assert told["vllora-topics"].severity == "warning"
    assert told["vllora-topics"].value == 0.1
    assert told["vllora-topics"].rows == (50, 51, 52, 53, 54)
    assert "code reference PASS" in told["vllora-code-reference"].message


def test_balanced_topics_are_a_note():
    """With over half as many rows as the largest the smallest topic is fine; at one half it wants more rows."""
    rows = [{"completion": "x", "topic": topic} for topic in ["a"] * 100 + ["b"] * 51 + [None] * 9]
    report = wb.Length(minimum=1).run(rows, progress=False)
    (fine,) = (found for found in report.diagnose(preset="vllora").findings if found.kind == "vllora-topics")
    assert (fine.severity, fine.value, fine.n, fine.advice) == ("note", 0.51, 151, "nothing to do")
    assert fine.message.startswith("topics balanced")
    report = wb.Length(minimum=1).run(rows[:150], progress=False)
    (rare,) = (found for found in report.diagnose(preset="vllora").findings if found.kind == "vllora-topics")
    assert (rare.severity, rare.value, fine.needed, rare.needed) == ("warning", 0.5, 0, 0)
    assert rare.advice == "add rows of the rare topics before training"


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        (["a"], "only one topic, a, with 1 row: there is nothing to balance"),
        (["a"] * 12, "only one topic, a, with 12 rows: there is nothing to balance"),
        (["a", "b"], "topics balanced, 2 of them with 1 row each"),
        (["a"] * 5 + ["b"] * 4, "topics balanced, the smallest of 2, b, has 80 % as many rows as the largest, a: 4 against 5"),
        (["a"] * 9 + ["b"], "topics unbalanced, the smallest of 2, b, has 11.1 % as many rows as the largest, a: 1 against 9"),
        (
            ["a"] * 8 + list("bcdefghijkl"),
            "topics unbalanced, 11 of 12, such as b, have 12.5 % as many rows as the largest, a: 1 against 8",
        ),
    ],
)  # fmt: skip
def test_topics_in_words(topics, said):
    """One topic, two and twelve, as one would say it."""
    rows = [{"completion": "x", "topic": topic} for topic in topics]
    findings = wb.Length(minimum=1).run(rows, progress=False, preset="vllora").findings
    assert [found.message for found in findings if found.kind == "vllora-topics"] == [said]


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        (["a"] * 3, "a topic's mean is below 0.15 (a)"),
        (["a", "b", None], "the means of 3 topics are below 0.15 (a, b, rows without a topic)"),
        (list("abcdefghijkl"), "the means of 12 topics are below 0.15 (a, b, c, d, e and 7 more)"),
    ],
)
def test_low_topics_in_words(topics, said):
    """In the plural where there are several; rows without a topic are called so."""
    rows = [{"completion": "x", "topic": topic} for topic in topics]
    findings = wb.Length(minimum=9).run(rows, progress=False, preset="vllora").findings
    assert said in next(found.message for found in findings if found.kind == "vllora-dry-run")


@pytest.mark.parametrize(
    "scores", [[1e308] * 20, [1.7e308, -1.7e308] * 10, [1.7e308, 1.6e308, 1.79e308] * 10]
)
def test_huge_scores_have_finite_measures(scores):
    """Mean, spread, percentiles and the correlation with length, where sums of the scores are infinite."""
    result = dry_run(scores)
    measures = (result.mean, result.std, result.median, *result.percentiles.values())
    assert np.isfinite(measures).all()
    assert result.mean == pytest.approx(np.mean(np.array(scores) / 1e10) * 1e10, abs=1e295)
    checks = readiness(scores, lengths=list(range(len(scores)))).checks
    assert np.isfinite([check.value for check in checks]).all()


def test_without_a_column_of_topics_nothing_is_said_of_them():
    """Grades alone have no topics, and neither has a column by another name."""
    report = wb.Length(minimum=1).run([{"completion": "x", "subject": "a"}] * 60, progress=False)
    kinds = {finding.kind for finding in report.diagnose(preset="vllora").findings}
    assert kinds >= {"vllora-dry-run", "vllora-readiness", "vllora-code-reference"}
    assert "vllora-topics" not in kinds


def test_scores_are_rounded_as_upstream_rounds_them():
    """0.125 is 0.13 to JavaScript, so it is no score of its own beside 0.13, and one beside 0.12."""
    concentration = lambda scores: next(  # noqa: E731
        check.value for check in readiness(scores).checks if check.name == "score_concentration"
    )
    assert concentration([0.125, 0.13, 0.9, 0.5]) == 0.5
    assert concentration([0.125, 0.12, 0.9, 0.5]) == 0.25
