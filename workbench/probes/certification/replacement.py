"""The drift check for a judge whose model is replaced: old against new verdicts on the same rows, paired."""

from __future__ import annotations

import numpy as np

from workbench.analysis.finding import percent
from workbench.analysis.statistics.confusion import PairedVerdicts, accuracy_difference
from workbench.analysis.statistics.means import bounded_mean
from workbench.core.display_text import one_line
from workbench.probes.certification.check import JudgeCheck, counts, untested
from workbench.probes.certification.judged_rows import JudgedRows

_DRIFT = 0.02
"""Difference of the accepted share from which a judge has drifted; from the register of statistics."""
_SAME = 0.05
"""Largest difference with which it is the same judge; this project's choice: 59 rows without a difference show it."""
_MIN_ROWS = 8


def replacement(new: JudgedRows, old: JudgedRows) -> JudgeCheck:
    """Whether a judge accepts as much as the one it replaces: a warning, since the new one may be the better one."""
    rows = np.flatnonzero((new.verdicts >= 0) & (old.verdicts >= 0))
    name = one_line(old.name, 40)
    if len(rows) < _MIN_ROWS:
        return untested(
            "replacement", f"fewer than {_MIN_ROWS} rows have a verdict of both {name!r} and the new judge"
        )
    pair = PairedVerdicts(old.verdicts[rows] == 1, new.verdicts[rows] == 1, new.compact(rows))
    gaps = pair.b.astype(float) - pair.a
    mean = bounded_mean(gaps, new.compact(rows), low=-1.0, high=1.0)
    larger = mean if mean.value >= 0 else mean.complement
    low, high = mean.interval(0.9)
    differs = new.share(pair.a != pair.b, rows)
    sentence = (
        f"against {name!r}, {counts(differs)} rows get another verdict; the share accepted changes by "
        f"{100 * mean.value:+.1f} points (95 % CI {100 * mean.interval().lo:+.1f} to {100 * mean.interval().hi:+.1f}){_accuracy(new, old)}"
    )
    return JudgeCheck(
        "replacement", sentence, "", mean.value, mean.interval(), len(rows), _DRIFT,
        "correct trends over time for the difference, or grade the old rows again with the new judge",
        min(1.0, 2 * larger.p_above(_DRIFT)), passes=low >= -_SAME and high <= _SAME, blocks=False,
        rows=tuple(map(int, rows[pair.a != pair.b])),
    )  # fmt: skip


def _accuracy(new: JudgedRows, old: JudgedRows) -> str:
    rows = np.flatnonzero((new.verdicts >= 0) & (old.verdicts >= 0) & (new.labels >= 0))
    if not len(rows):
        return ""
    truth, a, b = (codes[rows] == 1 for codes in (new.labels, old.verdicts, new.verdicts))
    gap = accuracy_difference(truth, a, b, new.compact(rows))
    shown = (
        "closer to"
        if gap.interval.lo > 0
        else "further from"
        if gap.interval.hi < 0
        else "not shown to be closer to"
    )
    return f"; it is {shown} the labels ({percent(float((b == truth).mean()))} of {len(rows):,} rows, before {percent(float((a == truth).mean()))})"
