"""Two graders on the same rows, or two versions of one: the paired difference, which rows each accepts, which is closer to the labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.diagnostics.noise import repeats_of
from workbench.analysis.finding import percent
from workbench.analysis.statistics import SAME, Estimate, Interval, compact
from workbench.analysis.statistics.association import spearman
from workbench.analysis.statistics.confusion import (
    Difference,
    PairedVerdicts,
    accuracy_difference,
    paired_difference,
)
from workbench.analysis.statistics.means import Share, share
from workbench.analysis.statistics.noise import noise_floor
from workbench.core.display import DisplayBlock, Displayed
from workbench.core.display_text import counted, encodable, number, one_line, signed
from workbench.core.grades import Grades
from workbench.report.frames import row_frame
from workbench.report.selection import Joint, joint
from workbench.report.sentences import comparison_blocks
from workbench.report.settings import SamplesLike

_MAX_FLOAT = float(np.finfo(np.float64).max)
_LARGE = _MAX_FLOAT / 4
"""Half a difference above which doubling it, or adding two, may overflow to infinity."""
_SIGNIFICANCE = 0.05  # two-sided p value of McNemar's test, the level of the reported 95 % intervals


@dataclass(frozen=True)
class AgainstLabels:
    """Which of two graders is closer to the labels, on the rows that both gave a verdict.

    Attributes:
        a: Share of labelled rows on which the first agrees with the label.
        b: The same for the second.
        difference: `b` minus `a`, paired by row, with its interval.
    """

    a: Share
    b: Share
    difference: Difference


@dataclass(frozen=True, eq=False)
class Comparison(Displayed):
    """The differences of two graders' scores and verdicts on the rows that both scored.

    Attributes:
        a: Name of one grader.
        b: Name of the other.
        n: Rows that both scored; only these are compared.
        only_a: Rows that only `a` scored.
        only_b: Rows that only `b` scored.
        equal: Rows with the same score from both.
        difference: Mean of `b` minus `a`, NaN over no rows.
        interval: Its 95 % interval from the paired cluster bootstrap; NaN if there is none.
        verdicts: Rows accepted by `both`, `only_a`, `only_b` or `neither`, and McNemar's `p`.
        kappa: Cohen's kappa: agreement of these verdicts beyond chance, with its interval.
        spearman: Rank correlation of the scores; NaN if one of the two does not vary.
        labels: Which of the two is closer to the labels; None if no compared row is labelled.
        rows: Numbers of the compared rows, largest disagreement first.
        row_labels: 1 known good, 0 known bad, -1 unknown, (n,), in the order of `verdicts`.
        noise_floor: The difference of means that noise alone reaches in 95 % of two runs of the same graders over these
            rows, from their repeats; without any 0 for code, whose scores do not vary, and NaN if one is a judge. See `workbench.analysis.statistics.noise.noise_floor`.
    """

    _label = "Comparison"

    a: str
    b: str
    n: int
    only_a: int
    only_b: int
    equal: int
    difference: float
    interval: Interval
    verdicts: PairedVerdicts
    kappa: Estimate
    spearman: float
    labels: AgainstLabels | None
    rows: NDArray[np.intp]
    row_labels: NDArray[np.int8] = field(repr=False)
    _samples: SamplesLike = field(repr=False)
    _grades: tuple[Grades, Grades] = field(repr=False)
    noise_floor: float = math.nan

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The compared rows to read, largest disagreement first.

        Prompt, completion, reference, both scores, `difference`, and any reasoning of both; index
        row numbers.
        """
        return self.read(self.rows)

    @cached_property
    def joint(self) -> Joint:
        """Rows by pair of scores, in 20 by 20 bins."""
        return joint(*self._grades)

    @property
    def verdict(self) -> str:
        """The result of the comparison in one sentence."""
        if not self.n:
            return f"{one_line(self.a)} and {one_line(self.b)} share no scored row."
        statement = self._of_verdicts() if self._all_pass_or_fail else self._of_scores()
        parts = (statement, self._of_noise(), self._of_labels())
        return f"{'; '.join(filter(None, parts))}."

    @property
    def is_noise(self) -> bool:
        """Whether the difference is below the noise floor: another run of the same two graders may not reproduce it."""
        return bool(self.n) and abs(self.difference) < self.noise_floor

    def _of_noise(self) -> str:
        if math.isnan(self.noise_floor) or not self.noise_floor:
            return ""
        floor = f"the noise floor of {self.noise_floor:.2g}, the difference between two runs of the same two graders"
        return f"the difference is {'below' if self.is_noise else 'above'} {floor}"

    @property
    def _all_pass_or_fail(self) -> bool:
        return all(bool(np.isin(grades.scores[self.rows], (0.0, 1.0)).all()) for grades in self._grades)

    def _of_scores(self) -> str:
        if self.equal == self.n:
            return f"{one_line(self.a)} and {one_line(self.b)} give {'the one row' if self.n == 1 else f'all {self.n:,} rows'} the same score"
        lo, hi = self.interval
        difference = f"{signed(self.difference)} ({_interval_phrase(self.interval)})"
        if lo > 0 or hi < 0:
            return f"{one_line(self.b)} scores {'higher' if lo > 0 else 'lower'} than {one_line(self.a)}: {difference}"
        return f"no difference shown: {one_line(self.b)} minus {one_line(self.a)} is {difference}"

    def _of_verdicts(self) -> str:
        a, b, verdicts = one_line(self.a), one_line(self.b), self.verdicts
        if not verdicts.only_a + verdicts.only_b:
            return f"{a} and {b} accept the same rows; {self._rates()}"
        counts = (
            f"{b} accepts {counted(verdicts.only_b, 'row')} that {a} rejects, and rejects {verdicts.only_a:,} that {a} accepts "
            f"({self._test}); {self._rates()}"
        )
        return counts if verdicts.p < _SIGNIFICANCE else f"no difference shown: {counts}"

    def _rates(self) -> str:
        gap = self.verdicts.difference
        interval = _interval_phrase(gap.interval)
        return f"share accepted by {one_line(self.b)} minus {one_line(self.a)} {gap.value:+.3f} ({interval})"

    @property
    def _test(self) -> str:
        test = "McNemar" if self.verdicts.is_exact else "McNemar by prompt"
        return f"{test} p {_p_text(self.verdicts.p)}"

    def _of_labels(self) -> str:
        against = self.labels
        if against is None:
            return ""
        gap, a, b = against.difference, one_line(self.a), one_line(self.b)
        rates = (
            f"{b} is right on {percent(against.b.value)} of {counted(gap.n, 'labelled row')} and {a} on {percent(against.a.value)} "
            f"(difference {gap.value:+.3f}, {_interval_phrase(gap.interval)})"
        )
        if gap.is_shown:
            return f"{rates}, so {b if gap.value > 0 else a} is closer to the labels"
        return f"{rates}, which does not show who is closer to the labels"

    def _sentences(self) -> str:
        """The comparison of at least one row in about five sentences."""
        a, b = one_line(self.a), one_line(self.b)
        sentences = f"On {counted(self.n, 'row')} {self._means(a, b)}; {self._alike()}. {self._table()}"
        for more in filter(None, (self._of_noise(), self._of_labels())):
            sentences += f" {more[:1].upper()}{more[1:]}." if more.startswith("the ") else f" {more}."
        if not (self.only_a or self.only_b):
            return sentences
        return f"{sentences} Not compared: {counted(self.only_a, 'row')} with a score from {a} only, {self.only_b:,} from {b} only."

    def _means(self, a: str, b: str) -> str:
        size, way = number(abs(self.difference)), "higher" if self.difference > 0 else "lower"
        interval = _interval_phrase(self.interval, of="of the difference ")
        if not self.difference:
            return f"{b} and {a} score the same on average ({interval})"
        return f"{b} scores {size} {way} than {a} on average ({interval})"

    def _alike(self) -> str:
        if self.equal == 1:
            return "1 row has the same score" if self.n > 1 else "it has the same score"
        return f"{self.equal:,} rows have the same score"

    def _table(self) -> str:
        verdicts = self.verdicts
        return (
            f"Accepted by both: {verdicts.both:,}, by {one_line(self.a)} only: {verdicts.only_a:,}, by {one_line(self.b)} "
            f"only: {verdicts.only_b:,}, by neither: {verdicts.neither:,} ({self._test}, kappa {self.kappa})."
        )

    __repr__ = Displayed.__str__

    def _blocks(self) -> Iterator[DisplayBlock]:
        return comparison_blocks(self, self._sentences() if self.n else self.verdict)

    def read(self, rows: NDArray[np.intp]) -> pd.DataFrame:
        """Rows with these numbers, with the columns of `frame`."""
        frame = row_frame(self._samples, {}, rows)
        both = tuple(zip(map(encodable, (self.a, self.b)), self._grades, strict=True))
        for name, grades in both:
            frame[f"score {name}"] = grades.scores[rows]
        frame["difference"] = _differences(*self._grades, rows)
        for name, grades in both:
            if grades.reasoning:
                frame[f"reasoning {name}"] = [grades.reasoning.get(int(row)) for row in rows]
        return frame


def _interval_phrase(interval: Interval, *, of: str = "") -> str:
    """The 95 % interval of a difference for a sentence, or that there is none."""
    if math.isnan(interval.lo):
        return f"no 95 % interval {of}from so few rows"
    return f"95 % interval {of}{signed(interval.lo)} to {signed(interval.hi)}"


def compare_cases(samples: SamplesLike, a: Case, b: Case) -> Comparison:
    """Compare two graders of one report. See `Comparison`.

    Args:
        samples: The report's.
        a: One grader's grades, with labels and prompts.
        b: The other's, over the same rows.
    """
    rows = np.intersect1d(a.rows, b.rows, assume_unique=True)
    gaps = _differences(a.grades, b.grades, rows)
    codes = compact(a.groups[rows])
    verdicts = PairedVerdicts(_accepted(a, rows), _accepted(b, rows), codes)
    difference = _difference(a, b, rows, codes)
    return Comparison(
        a.grader,
        b.grader,
        n=len(rows),
        only_a=len(a.rows) - len(rows),
        only_b=len(b.rows) - len(rows),
        equal=int((np.abs(gaps) <= SAME).sum()),
        difference=difference.value,
        interval=difference.interval,
        verdicts=verdicts,
        kappa=verdicts.kappa,
        spearman=spearman(a.grades.scores[rows], b.grades.scores[rows]),
        labels=_against_labels(a.labels[rows], verdicts),
        row_labels=a.labels[rows],
        rows=rows[np.argsort(-np.abs(gaps), kind="stable")],
        _samples=samples,
        _grades=(a.grades, b.grades),
        noise_floor=_noise_floor(a, b, len(rows)),
    )


def _noise_floor(a: Case, b: Case, n: int) -> float:
    """On the graders' scale; NaN if one of the two is non-deterministic and graded every row once."""
    sds = [_grade_sd(case) for case in (a, b)]
    return math.nan if any(map(math.isnan, sds)) else noise_floor(sds[0], sds[1], n) * a.span


def _grade_sd(case: Case) -> float:
    """Noise of one grade; none for built-in rules."""
    repeats = repeats_of(case)
    if repeats is not None:
        return repeats.grade_sd
    return 0.0 if case.grades.code else math.nan


def _accepted(case: Case, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    accepted: NDArray[np.bool_] = case.accepted[np.searchsorted(case.rows, rows)]
    return accepted


def _against_labels(labels: NDArray[np.int8], verdicts: PairedVerdicts) -> AgainstLabels | None:
    is_labelled = labels >= 0
    if not is_labelled.any():
        return None
    truth, a, b = labels[is_labelled] == 1, verdicts.a[is_labelled], verdicts.b[is_labelled]
    codes = None if verdicts.groups is None else compact(verdicts.groups[is_labelled])
    gap = accuracy_difference(truth, a, b, codes)
    return AgainstLabels(share(a == truth, codes), share(b == truth, codes), gap)


def _difference(a: Case, b: Case, rows: NDArray[np.intp], codes: NDArray[np.intp]) -> Difference:
    """The mean difference and its interval; halved temporarily if scores are so far apart that a difference would overflow."""
    halves = 0.5 * np.array([case.grades.scores[rows] for case in (a, b)])
    spans = [case.scale[1] / 2 - case.scale[0] / 2 for case in (a, b)]
    if max(np.abs(halves[1] - halves[0]).max(initial=0.0), *spans) <= _LARGE:
        return paired_difference(_differences(a.grades, b.grades, rows), codes, span=2 * max(spans))
    found = paired_difference(halves[1] - halves[0], codes, span=max(spans))
    lo, hi = (float(np.clip(2 * end, -_MAX_FLOAT, _MAX_FLOAT)) for end in found.interval)
    return Difference(float(np.clip(2 * found.value, -_MAX_FLOAT, _MAX_FLOAT)), Interval(lo, hi), found.n)


def _differences(a: Grades, b: Grades, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        differences: NDArray[np.float64] = b.scores[rows] - a.scores[rows]
    return np.nan_to_num(differences)  # two finite scores may differ by more than the largest float


def _p_text(p: float) -> str:
    """With two significant digits: "= 0.62", "= 0.00032", "< 0.00001"."""
    return "< 0.00001" if p < 1e-5 else f"= {np.format_float_positional(p, 2, fractional=False, trim='-')}"
