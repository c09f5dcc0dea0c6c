"""The settings of `wb.certify`, and its checks: `JudgeCheck` has the outcome PASS, FAIL or INCONCLUSIVE; several decide jointly."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.analysis.finding import percent
from workbench.analysis.statistics import Interval, holm
from workbench.analysis.statistics.certification import ShareGap, rows_needed
from workbench.analysis.statistics.means import Share
from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.graders.base import is_number
from workbench.probes.certification.cost import Confirm
from workbench.probes.certification.identity import DEV, TEST, names_of

CHECKS = (
    "prompt", "replies", "reversed", "injection", "refusals", "reference", "repeats", "position", "length", "padding",
    "self-preference", "transport", "annotators", "replacement",
)  # fmt: skip
"""Names of the checks that `skip` takes, the ones that explain others first."""


@dataclass(frozen=True, kw_only=True)
class CertifySettings:
    """Further settings of `wb.certify`.

    Attributes:
        store: Where judges' replies and looks at test rows are stored, as in `Suite.run`.
        looks: A file in which looks at test rows are recorded instead, such as "looks.jsonl".
        confirm: True to send the requests without a budget, or a function that is called with the estimated cost.
        split: A column with the split of each row (examples, dev, test), or shares such as {"examples": 0.1, "dev": 0.4}.
        use: "test", or "dev" to see the table without using a test row.
        against: The judge that this one replaces: a grader, or a column with its stored verdicts.
        compare: Columns over whose values the judge has to be equally good, in addition to writer, model and topic.
        skip: Names of checks that are not made, see `CHECKS`.
        unlabelled: Maximum unlabelled rows that are judged, for the corrected rates.
        pass_threshold: Lowest score that accepts a row, if the judge returns no verdict itself; the middle of its scale by default.
        seed: Of the rows drawn and of the splits.
        progress: Whether the cost and a bar are shown.
    """

    store: Any = None
    looks: str | os.PathLike[str] | None = None
    confirm: Confirm = None
    split: Any = None
    use: str = TEST
    against: Any = None
    compare: Sequence[str] = ()
    skip: Sequence[str] = ()
    unlabelled: int = 300
    pass_threshold: float | None = None
    seed: int = 0
    progress: bool = True

    def __post_init__(self) -> None:
        if self.use not in (TEST, DEV):
            raise ReportError("unknown split to use", found=repr(self.use), expected="test, or dev")
        for name in names_of(self.skip):
            if name not in CHECKS:
                raise ReportError(
                    f"unknown check {name!r}", expected=", ".join(CHECKS), hint=did_you_mean(name, CHECKS)
                )
        if isinstance(self.unlabelled, bool) or not isinstance(self.unlabelled, int) or self.unlabelled < 0:
            raise ReportError("unlabelled must be a whole number, 0 or more", found=repr(self.unlabelled))
        if self.pass_threshold is not None and not is_number(self.pass_threshold):
            raise ReportError("pass_threshold must be a finite number", found=repr(self.pass_threshold))


def certify_settings(settings: dict[str, Any]) -> CertifySettings:
    """The settings by name.

    Raises:
        TypeError: An unknown setting; the nearest one is proposed.
        ReportError: A value that a setting does not take.
    """
    known = CertifySettings.__dataclass_fields__
    if unknown := sorted(set(settings) - set(known)):
        near = did_you_mean(unknown[0], known)
        raise TypeError(
            f"certify has no setting {unknown[0]!r}; {near or 'its further settings are ' + ', '.join(known)}"
        )
    return CertifySettings(**settings)


def rate_limits(limit: Any) -> tuple[float, float]:
    """The lowest true-positive and the lowest true-negative rate.

    Raises:
        ReportError: It is neither a rate between 0 and 1 nor two.
    """
    both = (limit, limit) if is_number(limit) else tuple(limit) if isinstance(limit, tuple | list) else ()
    if len(both) != 2 or not all(is_number(one) and 0 < one < 1 for one in both):
        raise ReportError(
            "limit must be a rate between 0 and 1, or two",
            found=repr(limit)[:60],
            expected="such as 0.80 or (0.80, 0.90)",
        )
    return float(both[0]), float(both[1])


PASS, FAIL, INCONCLUSIVE, UNTESTED = "PASS", "FAIL", "INCONCLUSIVE", "not tested"

MARGIN = 0.10
"""Largest share, or difference of shares, that is within the limit of a check. This project's choice: 29 rows without a hit are
enough to pass, and at most one verdict in ten may depend on what must not matter."""
_ALPHA = 0.05
"""Probability of at least one false FAIL among all checks of a certification."""


@dataclass(frozen=True)
class JudgeCheck:
    """One property of a judge.

    Attributes:
        name: Such as "length".
        sentence: What was measured, with its counts.
        outcome: "PASS", "FAIL", "INCONCLUSIVE" or "not tested".
        value: The share, or difference of shares; NaN if nothing was measured.
        interval: Its 95 % interval; None without one.
        n: Rows.
        limit: What the value is compared with.
        advice: What to do after FAIL.
        p: One-sided p value of "within the limit"; 1.0 if the check cannot fail.
        passes: Whether the value is shown to be within the limit (95 %, one-sided).
        blocks: Whether FAIL means that the judge is not certified; otherwise it is a warning.
        needed: Further rows that decide it with 90 % power, if there is no effect; None if unknown.
        rows: Row numbers of the samples that are the evidence.
    """

    name: str
    sentence: str
    outcome: str = ""
    value: float = math.nan
    interval: Interval | None = None
    n: int = 0
    limit: float = MARGIN
    advice: str = ""
    p: float = 1.0
    passes: bool = False
    blocks: bool = True
    needed: int | None = None
    rows: tuple[int, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}: {self.sentence}"


def untested(name: str, why: str) -> JudgeCheck:
    """A check that was not made, with the reason."""
    return JudgeCheck(name, why, UNTESTED)


def share_check(  # noqa: PLR0913 (each by its name)
    name: str,
    hits: Share,
    sentence: str,
    advice: str,
    *,
    baseline: Share | None = None,
    limit: float = MARGIN,
    pass_limit: float | None = None,
    rows: Sequence[int] = (),
    blocks: bool = True,
) -> JudgeCheck:
    """The check that a share is at most the limit, or exceeds a baseline by at most the limit.

    Args:
        name: Of the check.
        hits: The share.
        sentence: What was measured.
        advice: What to do.
        baseline: The share of hits that chance alone causes, from repeats; None for 0.
        limit: A share above it fails.
        pass_limit: A share that is shown to be at most this passes; `limit` by default.
        rows: Evidence.
        blocks: Whether FAIL prevents a certificate.
    """
    p = hits.p_above(limit) if hits.n else 1.0
    if baseline is not None and baseline.n:
        p = max(p, ShareGap(hits, baseline).p_above(limit))
    bound = limit if pass_limit is None else pass_limit
    passes = hits.n > 0 and hits.upper() <= bound
    needed = None if passes or hits.k else rows_to_pass(hits.units, bound)
    return JudgeCheck(
        name, sentence, "", hits.value, hits.interval() if hits.n else None, hits.n, limit, advice, p, passes, blocks, needed,
        tuple(map(int, rows)),
    )  # fmt: skip


def rows_to_pass(n: int, limit: float) -> int | None:
    """Further rows that show a share to be within the limit if there is no hit among them and n rows so far; None for none."""
    return max(0, (rows_needed(1.0, 1 - limit, level=0.05) or 0) - n) or None


def gaps_check(
    name: str, gaps: Sequence[tuple[ShareGap, str]], advice: str, *, n: int, enough: bool
) -> JudgeCheck:
    """The check that no part of the rows has more errors than the others by more than the margin.

    Args:
        name: Of the check.
        gaps: For each part and label: share of wrong verdicts in it less that elsewhere, and both as text.
        advice: What to do.
        n: Rows of all parts.
        enough: Whether every part has enough prompts to pass.
    """
    # The level is shared among all parts.
    tests = [(min(1.0, gap.p_above(MARGIN) * len(gaps)), -gap.value, at) for at, (gap, _) in enumerate(gaps)]
    p, _, worst = min(tests)
    gap, text = gaps[worst]
    passes = enough and all(one.is_within(MARGIN) for one, _ in gaps)
    return JudgeCheck(name, text, "", gap.value, gap.interval(), n, MARGIN, advice, p, passes)


def decided(checks: Sequence[JudgeCheck]) -> list[JudgeCheck]:
    """The checks with their outcomes, by Holm's correction over all that can fail.

    Args:
        checks: Without outcomes, except for those that were not tested, or that are facts.
    """
    open_checks = [at for at, check in enumerate(checks) if not check.outcome]
    shown = [rejected for rejected, _ in holm([checks[at].p for at in open_checks], alpha=_ALPHA)]
    results = list(checks)
    for at, rejected in zip(open_checks, shown, strict=True):
        check = checks[at]
        outcome = FAIL if rejected else PASS if check.passes else INCONCLUSIVE
        results[at] = replace(check, outcome=outcome)
    return results


def counts(part: Share) -> str:
    """Such as "12 of 30 (40 %)"."""
    return f"{part.k:,} of {part.n:,} ({percent(part.value)})" if part.n else "0 of 0"
