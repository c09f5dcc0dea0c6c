"""Two graders on the same rows: the paired difference, and the rows they disagree on most."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.columns import Grades
from workbench.report.frames import row_frame
from workbench.report.protocols import SamplesLike
from workbench.report.rich import STYLE, rows_table
from workbench.statistics import Interval, mean, mean_interval
from workbench.statistics.spread import SAME
from workbench.visible import one_line

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What two graders say of the rows both have scored.

    Attributes:
        a: Name of one grader.
        b: Name of the other.
        n: Rows both have scored; only these are compared.
        only_a: Rows only `a` has scored.
        only_b: Rows only `b` has scored.
        equal: Rows with the same score from both.
        difference: Mean of `b` minus `a`, NaN over no rows.
        interval: Its 95 % interval from the paired cluster bootstrap; NaN where it cannot be had.
        frame: The compared rows with prompt, completion, reference, both scores, `difference`, and both
            reasons where there are any; largest disagreement first, index row numbers.
    """

    a: str
    b: str
    n: int
    only_a: int
    only_b: int
    equal: int
    difference: float
    interval: Interval
    frame: pd.DataFrame

    def __str__(self) -> str:
        """One or two sentences."""
        if not self.n:
            return f"{one_line(self.a)} and {one_line(self.b)} have no scored row in common."
        said = (
            f"On {self.n:,} rows {one_line(self.b)} scores {abs(self.difference):.3f} "
            f"{'higher' if self.difference >= 0 else 'lower'} than {one_line(self.a)} on average "
            f"(95 % interval of the difference {self.interval.lo:+.3f} to {self.interval.hi:+.3f}); "
            f"{self.equal:,} rows have the same score."
        )
        if not (self.only_a or self.only_b):
            return said
        return f"{said} Not compared: {self.only_a:,} rows with a score from {one_line(self.a)} only, {self.only_b:,} from {one_line(self.b)} only."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        scores = [name for name in self.frame if str(name).startswith(("score ", "difference"))]
        top = rows_table(self.frame.head(8), [str(name) for name in scores])
        return f"<div class='wb-report'><style>{STYLE}</style><p>{html.escape(str(self))}</p>{top}</div>"


def compare(
    samples: SamplesLike, grades: dict[str, Grades], groups: NDArray[np.intp], names: tuple[str, str]
) -> Comparison:
    """Compare the two named graders. See `Comparison`."""
    a, b = (grades[name] for name in names)
    in_a, in_b = a.codes == 1, b.codes == 1
    rows = np.flatnonzero(in_a & in_b)
    gaps = _gaps(a, b, rows)
    return Comparison(
        *names,
        n=len(rows),
        only_a=int((in_a & ~in_b).sum()),
        only_b=int((in_b & ~in_a).sum()),
        equal=int((np.abs(gaps) <= SAME).sum()),
        difference=mean(gaps),
        interval=_paired(gaps, groups[rows]),
        frame=_disagreements(samples, grades, names, rows[np.argsort(-np.abs(gaps), kind="stable")]),
    )


def _gaps(a: Grades, b: Grades, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        gaps: NDArray[np.float64] = b.scores[rows] - a.scores[rows]
    return np.nan_to_num(gaps)  # two finite scores may be further apart than the largest float


def _paired(gaps: NDArray[np.float64], groups: NDArray[np.intp]) -> Interval:
    """The cluster bootstrap's, except that equal gaps are not taken for certain."""
    codes: NDArray[np.intp] = np.unique(groups, return_inverse=True)[1]
    # Gaps run from -1 to 1 where scores run from 0 to 1: halved and moved they are bounded scores.
    lo, hi = mean_interval(gaps / 2 + 0.5, codes)
    return Interval(2 * lo - 1, 2 * hi - 1)


def _disagreements(
    samples: SamplesLike, grades: dict[str, Grades], names: tuple[str, str], rows: NDArray[np.intp]
) -> pd.DataFrame:
    frame = row_frame(samples, {}, rows)
    one, two = (grades[name] for name in names)
    for name, columns in zip(names, (one, two), strict=True):
        frame[f"score {name}"] = columns.scores[rows]
    frame["difference"] = _gaps(one, two, rows)
    for name, columns in zip(names, (one, two), strict=True):
        if columns.reasoning:
            frame[f"reasoning {name}"] = [columns.reasoning.get(int(row)) for row in rows]
    return frame
