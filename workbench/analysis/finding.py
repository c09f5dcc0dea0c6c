"""`Finding`: the result of a diagnostic, with its number, interval and rows, and the verdict that follows from findings."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics import Interval
from workbench.core.display_text import capital, counted, one_line, two_digits, visible


class RowNumbers(Sequence[int]):
    """Row indices, like a tuple of integers but four or eight bytes each.

    Equal to any tuple, list or array of the same numbers in the same order.

    Args:
        rows: Integers from 0 on.

    Raises:
        ValueError: Not a flat sequence of integers from 0 on.

    Example:
        >>> rows = RowNumbers([4, 2, 7])
        >>> len(rows), rows[0], rows[1:], rows == (4, 2, 7)
        (3, 4, RowNumbers([2, 7]), True)
    """

    __slots__ = ("_array",)

    def __init__(self, rows: Iterable[int] = ()) -> None:
        numbers = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0)):
            raise ValueError("row numbers must be whole numbers from 0 on")
        needs_int64 = numbers.size and numbers.max() > np.iinfo(np.int32).max
        self._array: NDArray[Any] = numbers.astype(np.int64 if needs_int64 else np.int32)
        self._array.flags.writeable = False

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> RowNumbers: ...
    def __getitem__(self, at: int | slice) -> int | RowNumbers:
        return RowNumbers(self._array[at]) if isinstance(at, slice) else int(self._array[at])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # copy= was added in numpy 2; asarray works for both.
        array = np.asarray(self._array, dtype=dtype)
        return array.copy() if copy else array

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple | list):
            return bool(self._array.tolist() == list(other))
        return isinstance(other, RowNumbers) and bool(np.array_equal(self._array, other._array))

    def __hash__(self) -> int:
        return hash(tuple(self._array.tolist()))  # equal to that of equal tuples

    def __repr__(self) -> str:
        first_ten = ", ".join(map(str, self._array[:10].tolist()))
        return f"RowNumbers([{first_ten}{', ...' if len(self) > 10 else ''}])"

    def __deepcopy__(self, _: Any) -> RowNumbers:
        return self  # immutable

    def packed(self) -> str:
        """The numbers as short text for a database: their differences (small where sorted), compressed, in base64."""
        differences = np.diff(self._array.astype(np.int64), prepend=0)
        return base64.b64encode(zlib.compress(differences.astype("<i8").tobytes())).decode()

    @classmethod
    def unpacked(cls, text: str, most: int) -> RowNumbers:
        """The numbers from the text that `packed` returned.

        Args:
            text: The text.
            most: Maximum number of entries; text that unpacks to more is refused, however short it is.

        Raises:
            ValueError: Any other text.
        """
        stream = zlib.decompressobj()
        try:
            # One byte more than allowed shows that there are too many; a short text may unpack to gigabytes.
            data = stream.decompress(base64.b64decode(text, validate=True), 8 * most + 1)
        except zlib.error as error:
            raise ValueError(f"not packed row numbers: {error}") from None
        if len(data) > 8 * most:
            raise ValueError(f"more than {most} row numbers")
        if not stream.eof:
            raise ValueError("not packed row numbers: truncated")
        return cls(np.cumsum(np.frombuffer(data, "<i8")))


_ROUNDED_FROM = 1_000
"""Rows above which the number still needed is rounded to two digits, since it is based on an imprecise estimate."""


class Severity(StrEnum):
    """Severity of a finding, most severe first; `WITHIN_LIMIT` means that the grader is within the limit."""

    ERROR = "error"
    WARNING = "warning"
    QUESTION = "question"
    NOTE = "note"
    WITHIN_LIMIT = "within_limit"

    @property
    def rank(self) -> int:
        """0 for the most severe."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a diagnostic. Prints as one sentence.

    Attributes:
        grader: Name of the grader.
        kind: The diagnostic, such as "saturated-high".
        severity: "error" and "warning" are verdicts; a "question" of a probe is for the author to decide; a "note" is
            inconclusive, or a fact worth knowing; `WITHIN_LIMIT` means that the grader is shown to be within the limit.
        statistic: What was measured, such as "share at 0.95 or above".
        value: The measured number; NaN if there is none.
        interval: Its 95 % confidence interval; None for a plain fact and for the `seed` preset. A verdict may require
            more than an interval that excludes the limit: see `claims`.
        n: Number of rows (or prompts, or labels) on which the value is based.
        needed: Additional units that would decide it with 90 % power; 0 if it is decided, or no number can be computed.
        message: The sentence without grader, interval and full stop.
        advice: What to do next.
        rows: Indices of all rows that are evidence for it, the strongest first; see `RowNumbers`.
        preset: Its preset of diagnostics.
        unit: Unit of `needed`, in the singular.
        limit: The limit for the value; None for a fact.
        undecided: Whether it is inconclusive.
        claims: Number of claims among which its level was shared (Holm's correction); 1 for a single claim.
        cause: Kind of the finding about the same grader that explains this one; "" if there is none.
        leads: Whether it may be the cause of others: strong enough to explain them.
    """

    grader: str
    kind: str
    severity: Severity
    statistic: str
    value: float
    interval: Interval | None
    n: int
    needed: int
    message: str
    advice: str
    rows: Sequence[int] = field(default=(), repr=False)
    preset: str = "workbench"
    unit: str = "row"
    limit: float | None = None
    undecided: bool = False
    claims: int = 1
    cause: str = ""
    leads: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.rows, RowNumbers):
            object.__setattr__(self, "rows", RowNumbers(self.rows))

    @property
    def is_verdict(self) -> bool:
        """Whether a fault is shown: an error or a warning."""
        return self.severity in {Severity.ERROR, Severity.WARNING}

    def __str__(self) -> str:
        """One sentence, with the interval and the rows still needed; hidden characters appear as code points."""
        return f"{one_line(self.grader)}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The sentence without the grader's name."""
        outlook = f"; {self.outlook}" if self.outlook else ""
        return f"{one_line(self.message, 1_000)}{self._interval_clause()}{outlook}."

    def _interval_clause(self) -> str:
        if self.interval is None or math.isnan(self.interval.lo):
            return ""
        lo, hi = self.interval
        if self.severity is Severity.WITHIN_LIMIT:
            return " (95 % confidence)"
        return f" (95 % interval {self._number(lo)} to {self._number(hi)})"

    @property
    def outlook(self) -> str:
        """How many more rows are needed, or why it is inconclusive; "" if it is decided."""
        if self.needed:
            return f"{_about(self.needed, self.unit)} needed (90 % power)"
        if not self.undecided or self.limit is None:
            return ""
        if self.interval is not None and not self.interval.lo <= self.limit <= self.interval.hi:
            return f"inconclusive, because {self.claims} claims are tested together"
        return f"inconclusive: the interval contains the limit of {self._number(self.limit)}"

    def _number(self, value: float) -> str:
        return percent(value) if self.statistic.startswith("share") else f"{value:.3g}"


def _about(count: int, unit: str) -> str:
    """A planned number of rows: "23 more rows", "about 1,200 more prompts"."""
    if count < _ROUNDED_FROM:
        return counted(count, f"more {unit}")
    return f"about {counted(two_digits(count), f'more {unit}')}"


def joint_line(findings: Iterable[Finding]) -> str:
    """One line on the joint error rate of the verdicts; "" for a single claim."""
    most = max((finding.claims for finding in findings), default=1)
    if most < 2:
        return ""
    return (
        f"intervals are 95 % each; verdicts are corrected for {most} joint tests (at most 1 report in 20 "
        "contains a false one); adding or removing graders can change a verdict"
    )


def percent(value: float) -> str:
    """A share in percent with at most one decimal: "98.4 %", "90 %"."""
    return f"{100 * value:.1f} %".replace(".0 %", " %")


def percent_with_interval(value: float, lo: float, hi: float) -> str:
    """Such as "57.5 % (50.5 % to 64.3 %)"; a dash if the share is unknown."""
    return "-" if math.isnan(value) else f"{percent(value)} ({percent(lo)} to {percent(hi)})"


NO_SCORE = frozenset({"broken", "nothing-scored", "fails-when-repeated"})
"""Findings about rows without a score: they have priority, because nothing else is known of such rows."""

SHORT_VERDICTS = {
    "too-lenient": "too lenient", "too-strict": "too strict", "accepts-known-bad": "accepts bad rows",
    "same-score": "always same", "saturated-high": "nearly all high", "saturated-low": "nearly all low",
    "collapsed": "few values", "no-variance": "always same", "narrow-range": "narrow range", "out-of-scale": "off the scale",
    "broken": "often fails", "nothing-scored": "no score", "no-completion": "no completion", "unfinished": "not finished", "ungraded": "scored by rule",
    "skipped": "some skipped", "few-rows": "few rows", "one-prompt": "one prompt",
    "writer-bias": "writer matters", "score-position-bias": "position matters", "position-bias": "position bias",
    "order-decides": "order decides", "zero-variance-groups": "zero variance", "prompt-decides": "prompt decides",
    "no-better-than-chance": "like chance", "worse-than-chance": "worse than chance",
    "fails-when-repeated": "fails when repeated", "keeps-state": "keeps state", "uses-chance": "not repeatable",
    "inconsistent": "inconsistent", "suboptimal-pass-threshold": "wrong threshold", "labels-disagree": "labels disagree",
    "below-human-ceiling": "below human ceiling", "reads-the-label": "reads the label", "reads-a-giveaway": "reads a giveaway",
    "copied-completions": "copied completions", "follows-length": "follows length", "drifts": "drifts", "differs-by-column": "differs by column", "few-levels": "few levels",
}  # fmt: skip
"""Kind of a finding to its two-word verdict; the kind itself if it is missing."""

_TIPS = {
    "too-lenient": "It accepts more known-bad rows than the limit.",
    "too-strict": "It rejects more known-good rows than the limit.",
    "broken": "Rows get no score; a failure is never counted as 0.",
    "nothing-scored": "No row has a score.",
}
_SHAPES = {
    Severity.ERROR: "bad",
    Severity.WARNING: "bad",
    Severity.QUESTION: "unsettled",
    Severity.NOTE: "note",
    Severity.WITHIN_LIMIT: "good",
}


def short_verdict(kind: str) -> str:
    """The short verdict for a finding's kind."""
    return SHORT_VERDICTS.get(kind, kind.replace("-", " "))


def leading(findings: Sequence[Finding]) -> Finding | None:
    """The leading finding of a grader; None for none.

    Findings about missing scores have priority, then verdicts in order, then inconclusive ones, then good news.

    Args:
        findings: Of one grader, most severe first.
    """
    return min(findings, key=_rank, default=None)  # the first of those of one rank


def _rank(finding: Finding) -> int:
    if finding.is_verdict:
        return 0 if finding.kind in NO_SCORE else 1 if not finding.cause else 2
    if finding.undecided:
        return 3
    return 4 if finding.severity is Severity.WITHIN_LIMIT else 5


def shape_of(finding: Finding) -> str:
    """The shape of a finding: of a fault, of a missing score, of an inconclusive result, of good news, of a note."""
    if finding.kind in NO_SCORE and finding.is_verdict:
        return "failed"
    if finding.undecided and not finding.is_verdict:
        return "unsettled"
    return _SHAPES[finding.severity]


def verdict_of(findings: Sequence[Finding], *, has_labels: bool) -> dict[str, Any]:
    """A grader's verdict in two words, with its shape and one sentence.

    Args:
        findings: Of one grader, most severe first.
        has_labels: Whether any row is labelled.
    """
    finding = leading(findings)
    if finding is None or (not has_labels and not finding.is_verdict):
        return _without_verdict(has_labels)
    shape = shape_of(finding)
    words = {"unsettled": "inconclusive", "good": "within limit"}.get(shape, short_verdict(finding.kind))
    tip = _TIPS.get(finding.kind, "") if shape in {"bad", "failed"} else ""
    return {"shape": shape, "words": words, "tip": tip or visible(capital(finding.sentence))}


def _without_verdict(has_labels: bool) -> dict[str, Any]:
    if not has_labels:
        tip = "Error rates are unknown: no row is labelled. Label some rows."
        return {"shape": "note", "words": "no labels", "tip": tip}
    return {"shape": "good", "words": "nothing found", "tip": "No diagnostic found a fault in these rows."}
