"""vLLora's readiness gate (revision of 2026-03-31): whether a grader is suitable as a reward, by twelve fixed checks.

Hard checks decide; soft ones warn. PASS if all pass, WARN if only soft ones fail or exactly one hard
minimum is missed by less than 20 %, else FAIL. No intervals: these are fixed thresholds.

Source of every number here: vLLora's `compute-readiness-gate.ts`. Scores are from 0 to 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np

from workbench.analysis.statistics import mean, sample_sd
from workbench.analysis.statistics.spread import rescaled

__all__ = ["Readiness", "ReadinessCheck", "readiness"]

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
    return Readiness(_verdict(checks), tuple(checks))


def _verdict(checks: Sequence[ReadinessCheck]) -> str:
    hard = [check for check in checks if check.hard and not check.holds]
    if not hard:
        return "PASS" if all(check.holds for check in checks) else "WARN"
    return "WARN" if len(hard) == 1 and hard[0].near else "FAIL"


def _hard(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]], prompts: Sequence[Hashable]
) -> list[ReadinessCheck]:
    unique, spread = len(set(prompts)), _number(sample_sd(scores))
    average = mean(scores) if len(scores) else 0.0
    zeros = _share(scores < 0.01)
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
        ("perfect_score_frac", _share(scores >= 0.99), 0.50),
        ("high_score_frac", _share(scores > 0.9), 0.50),
        ("dead_weight_frac", _share(scores < 0.1), 0.75),
    )
    passing = _share(scores >= 0.7)
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


def _share(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def _number(value: float) -> float:
    """0.0 if there is no number: too few rows, or sums beyond the float range."""
    return float(value) if math.isfinite(value) else 0.0
