"""vLLora's two gates for a grader: its dry run and its readiness gate, with fixed thresholds and without intervals.

Sources: `analyze-dry-run.ts`, and `run_dry_run` of the code reference (January 2026); `compute-readiness-gate.ts`
(revision of 2026-03-31). Scores are from 0 to 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np

from workbench.analysis.statistics import mean, rescaled, sample_sd

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

    `GO`, `WARNING` or `NO-GO`. A missing score counts as 0, which is the rule of the script and not of the workbench.

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
    return plain if math.isfinite(plain) else mean(np.array(values))


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


_NEAR = 0.8  # share of a hard minimum from which a miss counts as near
_LEARNABLE = 0.30  # share of prompts whose completions have different scores
_LENGTH_ROWS = 10  # minimum rows for the correlation with length


@dataclass(frozen=True)
class ReadinessCheck:
    """One check.

    Attributes:
        name: As in vLLora.
        value: What was measured.
        limit: The threshold.
        holds: Whether the value is on the right side of the limit.
        hard: Whether the check decides; the others only warn.
        minimum: Whether the limit is a minimum rather than a maximum.
    """

    name: str
    value: float
    limit: float
    holds: bool
    hard: bool = False
    minimum: bool = False

    @property
    def near(self) -> bool:
        """A hard minimum missed by less than 20 %."""
        return self.hard and self.minimum and not self.holds and self.value > self.limit * _NEAR


@dataclass(frozen=True)
class Readiness:
    """The gate's verdict.

    Attributes:
        verdict: "PASS", "WARN" or "FAIL".
        checks: Those that could be made, in vLLora's order.
    """

    verdict: str
    checks: tuple[ReadinessCheck, ...]

    @property
    def failed(self) -> list[str]:
        """Names of the failed checks."""
        return [check.name for check in self.checks if not check.holds]


def readiness(
    scores: Sequence[float],
    *,
    prompts: Sequence[Hashable] | None = None,
    lengths: Sequence[float] | None = None,
    topics: Sequence[Hashable | None] | None = None,
) -> Readiness:
    """Judge scored rows.

    Twelve fixed checks of whether a grader is suitable as a reward. Hard checks decide; soft ones warn. PASS if all pass,
    WARN if only soft ones fail or exactly one hard minimum is missed by less than 20 %, else FAIL.

    Args:
        scores: n scores from 0 to 1; exclude rows without a score.
        prompts: Prompt of each row; by default each row is a separate prompt.
        lengths: Length of each completion; without it, the correlation is not checked.
        topics: Topic of each row; without it, their balance is not checked.

    Raises:
        ValueError: The number of prompts differs from the number of scores.
    """
    column = np.asarray(scores, np.float64)
    prompt_of_row = list(range(len(column))) if prompts is None else list(prompts)
    with np.errstate(all="ignore"):  # scores near the end of the float range have infinite sums
        checks = [*_hard(column, prompt_of_row), *_soft(column), *_by_prompt(column, prompt_of_row)]
        checks += _length_check(column, lengths) + _topic_check(topics)
    return Readiness(_readiness_verdict(checks), tuple(checks))


def _readiness_verdict(checks: Sequence[ReadinessCheck]) -> str:
    hard = [check for check in checks if check.hard and not check.holds]
    if not hard:
        return "PASS" if all(check.holds for check in checks) else "WARN"
    return "WARN" if len(hard) == 1 and hard[0].near else "FAIL"


def _hard(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]], prompts: Sequence[Hashable]
) -> list[ReadinessCheck]:
    unique, spread = len(set(prompts)), _number(sample_sd(scores))
    average = mean(scores) if len(scores) else 0.0
    zeros = _true_share(scores < 0.01)
    return [
        ReadinessCheck("sample_count", unique, 50, unique >= 50, hard=True, minimum=True),
        ReadinessCheck("score_std", spread, 0.10, spread > 0.10, hard=True, minimum=True),
        ReadinessCheck("avg_score", average, 0.05, average > 0.05, hard=True, minimum=True),
        ReadinessCheck("zero_score_frac", zeros, 0.10, zeros < 0.10, hard=True),
    ]


def _soft(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[ReadinessCheck]:
    counts: Counter[Decimal] = Counter()
    # Distinct scores only: decimals are slow, and there are far fewer scores than rows.
    for score, times in zip(*np.unique(scores, return_counts=True), strict=True):
        counts[_two_decimals(float(score))] += int(times)
    most = max(counts.values()) / len(scores) if counts else 0.0
    maxima = (
        ("score_concentration", most, 0.70),
        ("perfect_score_frac", _true_share(scores >= 0.99), 0.50),
        ("high_score_frac", _true_share(scores > 0.9), 0.50),
        ("dead_weight_frac", _true_share(scores < 0.1), 0.75),
    )
    passing = _true_share(scores >= 0.7)
    limits = [ReadinessCheck(name, value, limit, value < limit) for name, value, limit in maxima]
    return [*limits, ReadinessCheck("pass_rate", passing, 0.05, passing > 0.05, minimum=True)]


def _two_decimals(score: float) -> Decimal:
    """Rounded as JavaScript's toFixed does, which vLLora uses: 0.125 is 0.13, where Python's round gives 0.12."""
    # The largest float has 309 digits before its point, and `quantize` refuses more than the precision.
    with localcontext(prec=400):
        return Decimal(score).quantize(Decimal("0.01"), ROUND_HALF_UP)


def _by_prompt(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]], prompts: Sequence[Hashable]
) -> list[ReadinessCheck]:
    scores_by_prompt: dict[Hashable, list[float]] = {}
    for prompt, score in zip(prompts, scores.tolist(), strict=True):
        scores_by_prompt.setdefault(prompt, []).append(score)
    repeated = [column for column in scores_by_prompt.values() if len(column) > 1]
    if not repeated:
        return []  # one completion each: nothing to learn from
    spread = sum(max(column) - min(column) > 1e-9 for column in repeated) / len(repeated)
    return [ReadinessCheck("prompt_learnability", spread, _LEARNABLE, spread > _LEARNABLE, minimum=True)]


def _length_check(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]], lengths: Sequence[float] | None
) -> list[ReadinessCheck]:
    if lengths is None or len(scores) < _LENGTH_ROWS:
        return []
    column = np.asarray(lengths, np.float64)
    # A column that does not vary correlates with nothing: `corrcoef` would divide 0 by 0.
    flat = not (np.ptp(column) and np.ptp(scores))
    value = 0.0 if flat else abs(float(np.corrcoef(rescaled(scores)[0], column)[0, 1]))
    return [ReadinessCheck("score_length_corr", value, 0.30, value < 0.30)]


def _topic_check(topics: Sequence[Hashable | None] | None) -> list[ReadinessCheck]:
    counts = Counter(topic for topic in topics or () if topic is not None)
    if not counts:
        return []
    largest = max(counts.values()) / sum(counts.values())
    return [ReadinessCheck("topic_balance", largest, 0.40, largest < 0.40)]


def _true_share(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def _number(value: float) -> float:
    """0.0 if there is no number: too few rows, or sums beyond the float range."""
    return float(value) if math.isfinite(value) else 0.0
