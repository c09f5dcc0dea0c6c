"""Findings of the presets `seed` and `vllora`: fixed thresholds on the available rows, without intervals.

`seed` applies the rules of the grader-setup documents literally: all scores above 0.9 "too lenient", all below 0.1 "too
strict", std below 0.1 "no variance". On five rows they report about one valid grader in six (by simulation). The documents
do not specify which std; here the sample std (ddof=1) decides, and the message gives both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import sqrt

import numpy as np

from workbench.analysis.case import Case
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, RowNumbers, Severity, percent
from workbench.analysis.statistics import sample_sd
from workbench.analysis.vllora_gates import (
    UNKNOWN_TOPIC,
    DryRun,
    balance,
    code_reference_verdict,
    dry_run,
    readiness,
)
from workbench.core.display_text import counted, one_line

_HIGH, _LOW, _STD = 0.9, 0.1, 0.1  # on scores of 0 to 1


@diagnostic("seed-too-lenient", presets=("seed",))
def lenient_rule(case: Case) -> Iterable[Finding]:
    """All scores above 0.9."""
    if len(case.scores) and (case.scores > _HIGH).all():
        least = float(case.scores.min())
        message = f"all scores are above {_HIGH}, the lowest is {least:.4g} (too lenient)"
        advice = "add stricter criteria"
        yield _finding(case, "seed-too-lenient", message, advice, least)


@diagnostic("seed-too-strict", presets=("seed",))
def strict_rule(case: Case) -> Iterable[Finding]:
    """All scores below 0.1."""
    if len(case.scores) and (case.scores < _LOW).all():
        most = float(case.scores.max())
        message = f"all scores are below {_LOW}, the highest is {most:.4g} (too strict)"
        advice = "relax the criteria or expect less"
        yield _finding(case, "seed-too-strict", message, advice, most)


@diagnostic("seed-no-variance", presets=("seed",))
def variance_rule(case: Case) -> Iterable[Finding]:
    """Sample std (ddof=1) below 0.1; needs two scores."""
    sample = sample_sd(case.scores)
    if sample < _STD:
        n = len(case.scores)
        population = sample * sqrt((n - 1) / n)
        message = (
            f"std is below {_STD}: sample {sample:.3g} (ddof=1), population {population:.3g} (no variance)"
        )
        advice = "the criteria may be too vague: be specific"
        yield _finding(case, "seed-no-variance", message, advice, sample)


def _finding(case: Case, kind: str, description: str, advice: str, value: float) -> Finding:
    n, evidence = len(case.scores), RowNumbers(case.rows)
    statistic = {"seed-too-lenient": "lowest score", "seed-too-strict": "highest score"}.get(kind, "std")
    message = f"seed rule applies on {counted(n, 'row')}, without an interval; {description}"
    return Finding(
        case.grader, kind, Severity.WARNING, statistic, value, None, n, 0, message, advice, evidence
    )


_SEVERITY = {
    "GO": Severity.NOTE,
    "WARNING": Severity.WARNING,
    "NO-GO": Severity.ERROR,
    "PASS": Severity.NOTE,
    "WARN": Severity.WARNING,
    "FAIL": Severity.ERROR,
}
_WORDS = {
    "mean_low": "the mean is below 0.25 (too hard or too strict)",
    "mean_high": "the mean is above 0.65 (too easy or too lenient)",
    "std_low": "the population std is below 0.10 (too flat)",
    "std_high": "the population std is above 0.25",
    "low_success": "fewer than 10 % of scores are above 0",
    "high_perfect": "more than 50 % of scores are perfect",
    "topic_problem": "a topic's mean is below 0.15",
}
_BALANCED = 0.5
"""Smallest over largest topic share, from the dry-run page of vLLora's fine-tuning documents (January 2026)."""
_MAX_TOPICS = 5  # topics named in a message


@diagnostic("vllora-dry-run", presets=("vllora",))
def dry_run_verdict(case: Case) -> Iterable[Finding]:
    """GO, WARNING or NO-GO; a row without a score counts as 0, as in the script."""
    column = np.zeros(len(case.grades))
    column[case.rows] = case.scores
    result = dry_run(column.tolist(), _topics(case))
    issues = "; ".join(_in_words(issue, result) for issue in result.issues) or "no issue"
    missing = len(column) - len(case.rows)
    zeros = f", {counted(missing, 'row')} without a score counted as 0" if missing else ""
    message = f"dry run {result.verdict}, mean {result.mean:.3g}, std {result.std:.3g}{zeros}: {issues}{_low_topics(result)}"
    advice = (
        "continue with training" if result.verdict == "GO" else "fix the grader or the dataset, then rerun it"
    )
    yield Finding(
        case.grader, "vllora-dry-run", _SEVERITY[result.verdict], "mean", result.mean, None, len(column), 0, message, advice,
        RowNumbers(case.rows),
    )  # fmt: skip


def _topics(case: Case) -> Sequence[Hashable | None] | None:
    return None if case.context is None else case.context.topics


def _low_topics(result: DryRun) -> str:
    """Topics that are a problem, by name."""
    names = [_named(name) for name, status in result.by_topic.items() if status == "problem"]
    more = f" and {len(names) - _MAX_TOPICS:,} more" if len(names) > _MAX_TOPICS else ""
    return f" ({', '.join(names[:_MAX_TOPICS])}{more})" if names else ""


def _in_words(issue: str, result: DryRun) -> str:
    name = issue.partition(":")[0]
    low = sum(status == "problem" for status in result.by_topic.values())
    if name == "topic_problem" and low > 1:
        return f"the means of {low:,} topics are below 0.15"
    return _WORDS[name]


def _named(topic: str) -> str:
    return "rows without a topic" if topic == UNKNOWN_TOPIC else one_line(topic, 40)


@diagnostic("vllora-code-reference", presets=("vllora",))
def code_reference(case: Case) -> Iterable[Finding]:
    """PASS, WARN or FAIL by the shorter rule of vLLora's code reference, on the rows that have a score."""
    scores = case.scores.tolist()
    verdict, mean = code_reference_verdict(scores), dry_run(scores).mean
    message = f"code reference {verdict}, mean {mean:.3g} of the scored rows"
    advice = "FAIL below a mean of 0.10 or a sample std of 0.10, WARN above a mean of 0.90, else PASS"
    yield Finding(
        case.grader, "vllora-code-reference", _SEVERITY[verdict], "mean", mean, None, len(case.rows), 0, message, advice,
        RowNumbers(case.rows),
    )  # fmt: skip


@diagnostic("vllora-topics", presets=("vllora",))
def topic_balance(case: Case) -> Iterable[Finding]:
    """Whether the smallest topic has at least half as many rows as the largest; a column `topic` names them."""
    topics = _topics(case)
    counts = Counter(topic for topic in topics or () if topic is not None)
    if topics is None or not counts:
        return
    value, smallest = balance(list(counts.values())), min(counts, key=lambda topic: counts[topic])
    even = value > _BALANCED
    message = (
        f"topics {'balanced' if even else 'unbalanced'}, {_sizes(counts)}"
        if len(counts) > 1
        else _one(counts)
    )
    rows = RowNumbers(np.flatnonzero([topic == smallest for topic in topics]))
    severity = Severity.NOTE if even else Severity.WARNING
    advice = "add rows of the rare topics before training" if not even else "nothing to do"
    n = sum(counts.values())
    yield Finding(
        case.grader,
        "vllora-topics",
        severity,
        "smallest over largest topic",
        value,
        None,
        n,
        0,
        message,
        advice,
        rows,
    )


def _one(counts: Counter[Hashable]) -> str:
    ((topic, n),) = counts.items()
    return (
        f"only one topic, {one_line(str(topic), 40)}, with {counted(n, 'row')}: there is nothing to balance"
    )


def _sizes(counts: Counter[Hashable]) -> str:
    """The smallest topic compared with the largest, or the size of each."""
    (largest, most), *_, (_, fewest) = counts.most_common()
    if fewest == most:
        return f"{len(counts):,} of them with {counted(most, 'row')} each"
    small = [topic for topic, n in counts.items() if n == fewest]
    name, big = one_line(str(small[0]), 40), one_line(str(largest), 40)
    one = len(small) == 1
    few = (
        f"the smallest of {len(counts):,}, {name}, has"
        if one
        else f"{len(small):,} of {len(counts):,}, such as {name}, have"
    )
    return f"{few} {percent(fewest / most)} as many rows as the largest, {big}: {fewest:,} against {most:,}"


@diagnostic("vllora-readiness", presets=("vllora",))
def readiness_verdict(case: Case) -> Iterable[Finding]:
    """PASS, WARN or FAIL on the rows that have a score."""
    topics = _topics(case)
    result = readiness(
        case.scores.tolist(),
        prompts=case.scored_groups.tolist(),
        lengths=None if case.context is None else case.context.lengths[case.rows].tolist(),
        topics=None if topics is None else [topics[row] for row in case.rows],
    )
    missed = [
        f"{check.name} is {check.value:.3g}, limit {check.limit:g}"
        for check in result.checks
        if not check.holds
    ]
    message = f"readiness gate {result.verdict}: {'; '.join(missed) or 'all checks passed'}"
    yield Finding(
        case.grader, "vllora-readiness", _SEVERITY[result.verdict], "checks passed",
        float(sum(check.holds for check in result.checks)), None, len(case.rows), 0, message,
        "see what each check requires in workbench.analysis.vllora_gates", RowNumbers(case.rows),
    )  # fmt: skip
