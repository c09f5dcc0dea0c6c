"""Agreement of a grader's verdicts with labels, or of one annotator's labels with another's."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.diagnostics import group_codes
from workbench.analysis.diagnostics.label_agreement import KAPPA, LABELS, against_labels, is_lopsided
from workbench.analysis.finding import percent
from workbench.analysis.labels import read_labels
from workbench.analysis.statistics import Estimate, Interval, compact
from workbench.analysis.statistics.association import auroc
from workbench.analysis.statistics.confusion import Confusion, corrected_rate
from workbench.analysis.statistics.means import Share, share
from workbench.core.display import DisplayBlock, Displayed, Only, Paragraph, TableBlock
from workbench.core.display_text import counted, one_line, two_digits
from workbench.core.errors import ReportError
from workbench.report.cases import read_weights

_MAX_LABELS = 5_000  # labels: the largest number that is advised for separating a kappa from 0.6
_NO_INTERVAL = Interval(math.nan, math.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Displayed):
    """Agreement of verdicts with labels. Prints as up to four sentences.

    A `Share` has `k`, `n`, `value` and `interval()`; an `Estimate` has `value`, `interval()` and, if there is
    no number, NaN and the `reason`. All intervals are at 95 % and clustered by prompt. If rows were sampled for
    labelling with unequal probability, each is weighted by the number of rows it represents (`weights` of
    `Report.agreement`): counts are then counts of labels, and shares and estimates are about all rows of the report.

    Attributes:
        grader: Name of the grader, or of the annotator who gave the verdicts.
        other: "labels", or the annotator who gave them.
        n: Rows with both a verdict and a label; all numbers are computed on these.
        unlabelled: Rows with a verdict but no label.
        unscored: Rows with a label but no verdict.
        accepted_good: Good rows accepted (true positives).
        accepted_bad: Bad rows accepted (false positives).
        rejected_good: Good rows rejected (false negatives).
        rejected_bad: Bad rows rejected (true negatives).
        kappa: Cohen's kappa: agreement beyond chance.
        ac1: Gwet's AC1, to be read with kappa if nearly all labels are of one class.
        observed: Share of rows with the same verdict.
        base_rate: Share of labels that are good.
        sensitivity: Share of good rows accepted (TPR).
        specificity: Share of bad rows rejected (TNR); EvalGen calls it coverage.
        auroc: The chance that a good row scores above a bad one; NaN without scores, without both classes, or if
            rows have unequal weights.
        auroc_interval: Its interval.
        accepted: Share of all rows with a verdict that are accepted, labelled or not.
        corrected: Estimated share of these rows that is actually good (Rogan & Gladen 1978).
        alignment: Harmonic mean of specificity and sensitivity, 0 to 1 (Shankar 2024).
    """

    _label = "Agreement"

    grader: str
    other: str
    n: int
    unlabelled: int
    unscored: int
    accepted_good: int
    accepted_bad: int
    rejected_good: int
    rejected_bad: int
    kappa: Estimate
    ac1: Estimate
    observed: Share
    base_rate: Share
    sensitivity: Share
    specificity: Share
    auroc: float
    auroc_interval: Interval
    accepted: Share
    corrected: Estimate
    alignment: float = field(default=math.nan)

    @property
    def coverage(self) -> Share:
        """Share of bad rows caught: `specificity` by its name in EvalGen (Shankar 2024, arXiv 2404.12272)."""
        return self.specificity

    @property
    def false_failure_rate(self) -> Share:
        """Share of good rows rejected."""
        return self.sensitivity.complement

    @property
    def is_weighted(self) -> bool:
        """Whether rows have unequal weights."""
        return self.observed.rate is not None

    @property
    def needed(self) -> int | None:
        """Labels still needed for a verdict; 0 if there is one already.

        None if it cannot be estimated, or is above 5,000.
        """
        to_minimum = max(0, LABELS - self.n)
        if math.isnan(self.kappa.value):
            return to_minimum or None
        to_decide = self.kappa.needed(KAPPA)
        if to_decide is None or to_decide > _MAX_LABELS:
            return to_minimum or None
        return max(to_minimum, to_decide)

    @property
    def verdict(self) -> str:
        """Whether kappa is shown to be 0.6 or more ("agrees") or less ("poor"); takes at least 100 labels.

        Otherwise "undecided" and what is missing, such as "undecided: about 50 more labels".
        """
        if self.needed == 0:
            return "agrees" if self.kappa.value >= KAPPA else "poor"
        if self.n and math.isnan(self.kappa.value):
            missing = "bad" if self.base_rate.k == self.n else "good"
            return f"undecided: {self.kappa.reason}, and it takes some {missing} ones too"
        if self.needed is None:
            return f"undecided: the interval of kappa contains {KAPPA}"
        return f"undecided: about {_more_labels(self.needed)}"

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The main numbers as (short name, short text), for a live display."""
        entries = [
            ("agreement", f"{_two_decimals(self.observed.value)} of {self.n:,}"),
            ("kappa", str(self.kappa)),
            ("bad rejected", _share_text(self.specificity)),
            ("good accepted", _share_text(self.sensitivity)),
        ]
        if is_lopsided(self.base_rate):
            entries.insert(2, ("AC1", str(self.ac1)))
        if self.needed:
            why = "" if self.needed <= LABELS - self.n else f" to separate kappa from {KAPPA}"
            return [*entries, ("needs", f"{_more_labels(self.needed)}{why}")]
        return [*entries, ("verdict", self.verdict)]

    @property
    def table(self) -> list[tuple[str, str]]:
        """All numbers as (name, text), in the order of display."""
        details = [
            ("labels that are good", _share_text(self.base_rate)),
            ("alignment", _two_decimals(self.alignment)),
            ("AUROC", _with_interval(self.auroc, self.auroc_interval)),
            ("accepted of all", _share_text(self.accepted)),
            ("good of all, corrected", str(self.corrected)),
            ("without a label", f"{self.unlabelled:,}"),
            ("label but no verdict", f"{self.unscored:,}"),
        ]
        named = dict(self.lines)
        named |= {"AC1": str(self.ac1), "verdict": self.verdict}
        named.pop("needs", None)
        return [*named.items(), *details]

    @property
    def _sentences(self) -> str:
        """Two sentences, or one if there is nothing to compare."""
        name, other = one_line(self.grader), one_line(self.other)
        if not self.n:
            return f"{name} and {other} share no row with a verdict of both."
        lo, hi = self.observed.interval()
        sentence = (
            f"{name} agrees with {other} on {self._agreed_rows()} "
            f"(95 % interval {percent(lo)} to {percent(hi)}), kappa {self.kappa}; {self.verdict}."
        )
        beside = f" AC1 is {self.ac1}, as {percent(self.base_rate.value)} of labels are good."
        return f"{sentence} {self._errors()}{beside if is_lopsided(self.base_rate) else ''}"

    def _agreed_rows(self) -> str:
        if not self.is_weighted:
            return f"{self.observed.k:,} of {self.n:,} rows"
        return f"{percent(self.observed.value)} of rows, by {self.n:,} labels weighted by how their rows were drawn"

    def _errors(self) -> str:
        bad, good = self.specificity, self.sensitivity
        if self.is_weighted:
            caught, kept = (percent(part.value) if part.n else "-" for part in (bad, good))
            return f"Bad rows rejected: {caught}; good rows accepted: {kept}."
        return f"Bad rows rejected: {bad.k:,} of {bad.n:,}; good rows accepted: {good.k:,} of {good.n:,}."

    def __repr__(self) -> str:
        kappa = "none" if math.isnan(self.kappa.value) else f"{self.kappa.value:.2f}"
        return f"Agreement({self.grader!r} with {self.other!r}, n={self.n}, kappa {kappa}, {self.verdict})"

    def _blocks(self) -> Iterator[DisplayBlock]:
        yield Paragraph(self._sentences, "lead")
        heads = [f"{one_line(self.other)} \\ {one_line(self.grader)}", "accepts", "rejects"]
        counts = [
            ("good", f"{self.accepted_good:,}", f"{self.rejected_good:,}"),
            ("bad", f"{self.accepted_bad:,}", f"{self.rejected_bad:,}"),
        ]
        yield Only(
            "html markdown",
            [TableBlock(heads, counts, numbers={1, 2}), TableBlock(["number", "value"], self.table)],
        )


def agreement(
    a: Sequence[Any] | NDArray[Any],
    b: Sequence[Any] | NDArray[Any],
    *,
    groups: Sequence[Hashable] | NDArray[Any] | None = None,
    names: tuple[str, str] = ("a", "b"),
) -> Agreement:
    """Agreement of two columns of verdicts or labels, such as those of two annotators.

    Args:
        a: True or good, False or bad, None for a row without a verdict, (n,); texts as in `Report.labels`.
        b: The same from another annotator, (n,). Measures that need ground truth, such as sensitivity, use this column.
        groups: The prompt of each row, (n,); None if all rows are independent.
        names: Who gave `a`, and who `b`.

    Raises:
        ReportError: Columns of different lengths, or an entry that is neither good, bad nor unknown.

    Example:
        >>> print(agreement(["good", "bad", "bad", None], [True, False, True, True], names=("Ann", "Ben")))
        Ann agrees with Ben on 2 of 3 rows (95 % interval 9.4 % to 99.2 %), kappa 0.40 (-0.54 to 1.00); undecided: about 97 more labels. Bad rows rejected: 1 of 1; good rows accepted: 1 of 2.
    """
    if len(a) != len(b):
        raise ReportError(
            "two columns to compare must have the same length",
            found=f"{len(a):,} and {len(b):,} entries",
            expected="one entry per row, in the same order",
        )
    verdicts, truth, codes = read_labels(a, len(a)), read_labels(b, len(a)), group_codes(groups, len(a))
    rows = np.flatnonzero((verdicts >= 0) & (truth >= 0))
    confusion = Confusion(truth[rows] == 1, verdicts[rows] == 1, compact(codes[rows]))
    judged = verdicts >= 0
    return _agreement(
        confusion,
        names,
        accepted=share(verdicts[judged] == 1, compact(codes[judged])),
        unlabelled=int(judged.sum()) - len(rows),
        unscored=int((truth >= 0).sum()) - len(rows),
        area=(math.nan, _NO_INTERVAL),
    )


def agreement_of(case: Case, labeller: str = "", weights: Any = None) -> Agreement:
    """Agreement of one grader with the labels of its case; see `Agreement`.

    Args:
        case: Grades, labels, prompts and pass threshold.
        labeller: Who gave the labels; "" for "labels".
        weights: As in `Report.agreement`.

    Raises:
        ReportError: A labelled row with a weight that is not a number above 0, or another number of weights than rows.
    """
    confusion, rows = against_labels(case)
    confusion = replace(confusion, weights=read_weights(weights, rows, len(case.labels)))
    scores = case.scores[np.searchsorted(case.rows, rows)]
    area = (
        (math.nan, _NO_INTERVAL)
        if confusion.weights is not None
        else auroc(scores, confusion.truth, confusion.groups)
    )
    return _agreement(
        confusion,
        (case.grader, labeller or "labels"),
        accepted=share(case.accepted, case.scored_groups),
        unlabelled=len(case.rows) - len(confusion),
        unscored=int((case.labels >= 0).sum()) - len(confusion),
        area=area,
    )


def _agreement(
    confusion: Confusion,
    names: tuple[str, str],
    *,
    accepted: Share,
    unlabelled: int,
    unscored: int,
    area: tuple[float, Interval],
) -> Agreement:
    return Agreement(
        *names,
        n=len(confusion),
        unlabelled=unlabelled,
        unscored=unscored,
        accepted_good=confusion.accepted_good,
        accepted_bad=confusion.accepted_bad,
        rejected_good=confusion.rejected_good,
        rejected_bad=confusion.rejected_bad,
        kappa=confusion.kappa,
        ac1=confusion.ac1,
        observed=confusion.observed,
        base_rate=confusion.base_rate,
        sensitivity=confusion.sensitivity,
        specificity=confusion.specificity,
        auroc=area[0],
        auroc_interval=area[1],
        accepted=accepted,
        corrected=corrected_rate(accepted, confusion.sensitivity, confusion.specificity),
        alignment=confusion.alignment,
    )


def _share_text(part: Share) -> str:
    """Such as "18 of 20, 0.70 to 0.97"; "0.93 (0.70 to 0.97)" if rows have unequal weights."""
    lo, hi = part.interval()
    if part.rate is not None:
        return f"{part.rate:.2f} ({lo:.2f} to {hi:.2f})"
    return f"{part.k:,} of {part.n:,}, {lo:.2f} to {hi:.2f}" if part.n else "-"


def _with_interval(value: float, interval: Interval) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} ({interval.lo:.2f} to {interval.hi:.2f})"


def _more_labels(count: int) -> str:
    """Such as "50 more labels", rounded to two digits, the precision of the estimate."""
    return counted(two_digits(count), "more label")


def _two_decimals(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
