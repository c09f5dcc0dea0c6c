"""vLLora's dry run with the rules of its scripts: `GO`, `WARNING` or `NO-GO` on a column of scores, without intervals.

Thresholds as of January 2026 (`analyze-dry-run.ts`, and `run_dry_run` of the code reference). A missing
score counts as 0 here: that is the script's rule, and no other module of the workbench has it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.analysis.statistics import mean as mean_of
from workbench.analysis.statistics.spread import rescaled

__all__ = ["UNKNOWN_TOPIC", "DryRun", "balance", "code_reference_verdict", "dry_run"]

UNKNOWN_TOPIC = "__unknown__"
# All from vLLora's `analyze-dry-run.ts`, on scores of 0 to 1.
_MEAN_LOW, _MEAN_HIGH, _STD_LOW, _STD_HIGH = 0.25, 0.65, 0.10, 0.25
_SUCCESS, _PERFECT = 0.10, 0.50  # shares of rows: least above 0, most at 1
_TOPIC_GOOD, _TOPIC_WARNING = 0.25, 0.15  # lowest mean score of a topic
_EDGES = (0.0, 0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True)
class DryRun:
    """The result of the dry run.

    Attributes:
        verdict: "GO", "WARNING" (some warning) or "NO-GO" (some error, or no scores).
        issues: Such as "mean_low:error", in the script's order.
        mean: Of all rows.
        std: Population standard deviation (ddof=0).
        median: Linear interpolation, as all percentiles here.
        above_zero: Share of scores above 0.
        perfect: Share of scores at 1.0 or above.
        percentiles: p10, p25, p50, p75, p90.
        distribution: Shares in five bins, closed on the left, 1.0 in the last.
        dataset_quality: "good", "warning" or "problem".
        grader_quality: "good" or "warning".
        by_topic: Topic to "good" (mean 0.25 or more), "warning" (0.15 or more) or "problem".
    """

    verdict: str
    issues: tuple[str, ...]
    mean: float
    std: float
    median: float
    above_zero: float
    perfect: float
    percentiles: dict[str, float]
    distribution: dict[str, float]
    dataset_quality: str
    grader_quality: str
    by_topic: dict[str, str]


def dry_run(scores: Sequence[float | None], topics: Sequence[Hashable | None] | None = None) -> DryRun:
    """Judge a column of scores.

    Args:
        scores: n scores; None or NaN for a missing one, which counts as 0.
        topics: Topic of each row, None if there is none.

    Raises:
        ValueError: The number of topics differs from the number of scores.
    """
    values = [0.0 if score is None or math.isnan(score) else float(score) for score in scores]
    if topics is not None and len(topics) != len(values):
        raise ValueError(f"there must be one topic per score: {len(topics)} topics, {len(values)} scores")
    by_topic = _topics(values, topics)
    mean, std = _mean(values), _population_std(values)
    above, perfect = _share(values, lambda x: x > 0), _share(values, lambda x: x >= 1)
    issues = _issues(mean, std, above, perfect)
    issues += ["topic_problem:warning"] if "problem" in by_topic.values() else []
    dataset = "problem" if above < _SUCCESS else "warning" if not _MEAN_LOW <= mean <= _MEAN_HIGH else "good"
    return DryRun(
        _verdict(values, issues, dataset), tuple(issues), mean, std, _percentile(values, 0.5), above, perfect,
        {f"p{p}": _percentile(values, p / 100) for p in (10, 25, 50, 75, 90)}, _distribution(values),
        dataset, "warning" if std < _STD_LOW else "good", by_topic,
    )  # fmt: skip


def _issues(mean: float, std: float, above: float, perfect: float) -> list[str]:
    checks = (
        ("mean_low:error", mean < _MEAN_LOW),
        ("mean_high:warning", mean > _MEAN_HIGH),
        ("std_low:warning", std < _STD_LOW),
        ("std_high:warning", std > _STD_HIGH),
        ("low_success:error", above < _SUCCESS),
        ("high_perfect:warning", perfect > _PERFECT),
    )
    return [name for name, is_missed in checks if is_missed]


def _verdict(values: list[float], issues: list[str], dataset: str) -> str:
    if not values or dataset == "problem" or any(issue.endswith(":error") for issue in issues):
        return "NO-GO"
    return "WARNING" if issues else "GO"


def code_reference_verdict(scores: Sequence[float]) -> str:
    """The shorter rule of the code reference: "FAIL", "WARN" or "PASS".

    Mean below 0.10 FAIL, above 0.90 WARN, then sample std (ddof=1) below 0.10 FAIL; the first that applies decides.
    """
    mean = _mean(scores)
    spread = math.sqrt(_squares(scores) / (len(scores) - 1)) if len(scores) > 1 else 0.0
    if mean < 0.10 or not scores:
        return "FAIL"
    if mean > 0.90:
        return "WARN"
    return "FAIL" if spread < 0.10 else "PASS"


def balance(shares: Sequence[float]) -> float:
    """Smallest over largest topic share, 1.0 if all are equal; 0.0 without topics."""
    return min(shares) / max(shares) if shares and max(shares) > 0 else 0.0


def _topics(values: list[float], topics: Sequence[Hashable | None] | None) -> dict[str, str]:
    if topics is None:
        return {}
    scores_by_topic: dict[str, list[float]] = {}
    for value, topic in zip(values, topics, strict=True):
        scores_by_topic.setdefault(UNKNOWN_TOPIC if topic is None else str(topic), []).append(value)
    return {topic: _topic_status(_mean(column)) for topic, column in scores_by_topic.items()}


def _topic_status(mean: float) -> str:
    return "good" if mean >= _TOPIC_GOOD else "warning" if mean >= _TOPIC_WARNING else "problem"


def _mean(values: Sequence[float]) -> float:
    """The script's mean; finite even if its sum is not."""
    plain = sum(values) / len(values) if values else 0.0
    return plain if math.isfinite(plain) else mean_of(np.array(values))


def _population_std(values: Sequence[float]) -> float:
    """The script's standard deviation (ddof=0); finite even if its squares are not."""
    plain = math.sqrt(_squares(values) / len(values)) if values else 0.0
    if math.isfinite(plain):
        return plain
    small, factor = rescaled(np.array(values))
    return float(small.std()) * factor


def _squares(values: Sequence[float]) -> float:
    """Summed squared distances from the mean; infinite, without an error, if they are too large."""
    mean = _mean(values)
    # Not `** 2`, which raises OverflowError for large floats.
    return sum((x - mean) * (x - mean) for x in values)


def _share(values: Sequence[float], holds: object) -> float:
    assert callable(holds)
    return sum(map(bool, map(holds, values))) / len(values) if values else 0.0


def _percentile(values: Sequence[float], share: float) -> float:
    if not values:
        return 0.0
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    step = ordered[high] - ordered[low]
    if math.isinf(step):  # of two finite numbers: halved, it is finite
        return 2 * (ordered[low] / 2 + (ordered[high] / 2 - ordered[low] / 2) * (place - low))
    return ordered[low] + step * (place - low)


def _distribution(values: Sequence[float]) -> dict[str, float]:
    names = [f"{low:.1f}-{low + 0.2:.1f}" for low in _EDGES]
    counts = dict.fromkeys(names, 0)
    for value in values:
        counts[names[max(0, sum(value >= low for low in _EDGES) - 1)]] += 1
    return {name: count / len(values) if values else 0.0 for name, count in counts.items()}
