"""Rows by score, part, text and value: counted in bins and parts, and selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case
from workbench.analysis.finding import Finding
from workbench.core import display_html
from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.core.grade import Status
from workbench.core.grades import FAILED, SCORED, SKIPPED, Grades
from workbench.data.samples import Samples
from workbench.data.samples.row_drawing import (
    WrittenColumn,
    row_words,
    rows_with_text,
    scale_end,
    written,
    written_column,
)
from workbench.report.frames import row_texts
from workbench.report.settings import ReportLike

BINS = 20
_EDGE_TOLERANCE = 1e-9
"""Share of the scores' span: 3 * 0.05 is a little above 0.15, and both belong to the same bin."""


@dataclass(frozen=True)
class Histogram:
    """Counts of one grader's rows.

    Attributes:
        edges: float64 (21,), see `edges_of`.
        counts: int64 (20,), scored rows in each bin, see `within`.
        scored: Rows with a score.
        failed: Rows that failed.
        skipped: Rows that the grader skipped.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    scored: int
    failed: int
    skipped: int

    @property
    def ends(self) -> list[list[float]]:
        """[low, high] of each bin."""
        return [list(pair) for pair in pairwise(self.edges.tolist())]


def histogram(grades: Grades) -> Histogram:
    """Count the scores of one grader in 20 equal bins over 0 to 1, widened if scores are outside."""
    scores = grades.scores[grades.codes == 1]
    edges = edges_of(scores)
    return Histogram(edges, bin_counts(scores, edges), len(scores), grades.n_failed, grades.n_skipped)


def bin_counts(
    scores: NDArray[np.float64], edges: NDArray[np.float64], counts: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Number of scores in each bin, int64 (20,).

    Args:
        scores: Scores within the edges, (m,).
        edges: Of a grader's histogram, (21,).
        counts: Rows that have each of the scores, (m,); one by default.
    """
    # By `_left_of` and not by numpy's histogram: a bar counts exactly the rows that `within` finds for it.
    are_right = [~_left_of(scores, edge, edges) for edge in edges[:-1]]
    right_of = np.array(
        [right.sum() if counts is None else counts[right].sum() for right in are_right], dtype=np.int64
    )
    in_bins: NDArray[np.int64] = right_of - np.append(right_of[1:], 0)
    return in_bins


def edges_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ends of the 20 bins, float64 (21,): from 0 to 1, or the scores' range if it is wider."""
    lo, hi = min(0.0, scores.min(initial=0.0)), max(1.0, scores.max(initial=1.0))
    # Halved first: the span of two finite scores may be infinite. Rounded, so that 3 * 0.05 reads 0.15.
    halves = np.linspace(lo / 2, hi / 2, BINS + 1).tolist()
    return np.array([lo, *(round(2 * half, 12) for half in halves[1:-1]), hi])


def within(scores: NDArray[np.float64], lo: float, hi: float) -> NDArray[np.bool_]:
    """Which of a grader's scores are in the bin from `lo` to `hi`.

    The left end belongs to the bin, the right end only if it is the last edge of the grader's histogram, or equals the left
    end: then the bin is this one score.

    Args:
        scores: All scores of the grader, (m,): they determine the ends of its histogram.
        lo: Left end, an edge or any number.
        hi: Right end, an edge or any number.
    """
    edges = edges_of(scores)
    if lo == hi:
        slack = _EDGE_TOLERANCE * (edges[-1] / 2 - edges[0] / 2)
        same: NDArray[np.bool_] = np.abs(scores / 2 - lo / 2) <= slack
        return same
    is_last_edge = not bool(_left_of(np.array([hi]), edges[-1], edges)[0])
    inside: NDArray[np.bool_] = ~_left_of(scores, lo, edges) & (is_last_edge | _left_of(scores, hi, edges))
    return inside


def _left_of(scores: NDArray[np.float64], edge: float, edges: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which scores are left of an edge. Bars and the rows of a bar both use this, so that they agree."""
    # Halved for the reason given in `edges_of`.
    slack = _EDGE_TOLERANCE * (edges[-1] / 2 - edges[0] / 2)
    is_left: NDArray[np.bool_] = scores / 2 < edge / 2 - slack
    return is_left


@dataclass(frozen=True, eq=False)
class Joint:
    """Number of rows for each pair of scores.

    Attributes:
        a_edges: float64, ends of the first grader's bins; by default the 21 of its histogram.
        b_edges: float64, those of the second's.
        counts: int64 (i, j): rows with a score of the first grader in its bin i and of the second in bin j.
    """

    a_edges: NDArray[np.float64]
    b_edges: NDArray[np.float64]
    counts: NDArray[np.int64]


def joint(
    a: Grades,
    b: Grades,
    *,
    a_edges: NDArray[np.float64] | None = None,
    b_edges: NDArray[np.float64] | None = None,
) -> Joint:
    """Count the rows that both scored. A bin contains the same rows as the histogram's bin with these ends.

    Args:
        a: One grader's grades, n rows.
        b: The other's, over the same rows.
        a_edges: Ends of adjacent bins that contain every score of `a`; those of its histogram by default.
        b_edges: The same for `b`.
    """
    both = (a.codes == SCORED) & (b.codes == SCORED)
    (a_ends, i), (b_ends, j) = _binned(a, a_edges), _binned(b, b_edges)
    shape = tuple(max(len(ends) - 1, 0) for ends in (a_ends, b_ends))
    counts = np.bincount(i[both] * shape[1] + j[both], minlength=shape[0] * shape[1])
    return Joint(a_ends, b_ends, counts.reshape(shape).astype(np.int64))


def _binned(grades: Grades, ends: NDArray[np.float64] | None) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The edges, and the bin of each row, (n,); 0 if there is no score."""
    scored = grades.codes == SCORED
    scores = grades.scores[scored]
    edges = edges_of(scores) if ends is None else ends
    bins, scored_bins = np.zeros(len(grades), np.intp), np.zeros(len(scores), np.intp)
    # The first bin needs no search: rows in no other bin are in that one.
    for at in range(1, len(edges) - 1):
        scored_bins[within(scores, edges[at], edges[at + 1])] = at
    bins[scored] = scored_bins
    return edges, bins


Counts = dict[str, int]
"""Number of rows by the name of their part."""
Rows = NDArray[np.intp]
"""Row numbers, (m,)."""

PARTS = tuple(display_html.PARTS)
"""Parts of a bar: by label (none for the fifth and sixth) and the grader's verdict, or without a score."""

NO_PART = -1
"""A row that the grader never reached."""

_FAILED, _SKIPPED = PARTS.index("failed"), PARTS.index("skipped")
_OF_CODE = np.full(4, NO_PART, np.int8)
_OF_CODE[[FAILED, SKIPPED]] = _FAILED, _SKIPPED
_OF_LABEL = np.array([2, 0, 4], np.int8)  # the first part of a label: 0, 1 and, as the last, -1


def parts_of(case: Case) -> NDArray[np.int8]:
    """Index in `PARTS` of each row of one grader, (n,); `NO_PART` for rows it never reached.

    Args:
        case: The grader's grades with labels and pass threshold.
    """
    parts: NDArray[np.int8] = _OF_CODE[case.grades.codes]
    parts[case.rows] = _OF_LABEL[case.labels[case.rows]] + ~case.accepted
    return parts


def counts_of(parts: NDArray[np.int8], rows: Rows | NDArray[np.bool_] | None = None) -> Counts:
    """Number of rows in each part.

    Args:
        parts: As `parts_of` gives them.
        rows: Numbers of the rows to count, or a truth value for each; all by default.
    """
    chosen = parts if rows is None else parts[rows]
    counts = np.bincount(chosen[chosen >= 0], minlength=len(PARTS))
    return {name: int(count) for name, count in zip(PARTS, counts, strict=True)}


def part_name(part: Any) -> str | None:
    """The name of a part; None for a row that the grader never reached."""
    return None if part < 0 else PARTS[part]


def select(where: Any, grades: Grades | None, n: int) -> Rows:
    """Numbers of the rows that `where` selects; see `Report.rows` for its forms.

    Args:
        where: The selection.
        grades: The grader of the selection; None if a report has several and none was named.
        n: Rows of the report.

    Raises:
        ReportError: The selection is invalid, does not fit, or needs one grader.
    """
    if where is None:
        return np.arange(n, dtype=np.intp)
    if isinstance(where, Finding):
        return _checked_rows(np.array(where.rows, dtype=np.intp), n)
    if isinstance(where, str) or callable(where) or _is_bin(where):
        return _by_score(where, _require_grades(grades))
    return _by_array(where, n)


def check_graders(names: Iterable[str], existing: Iterable[str]) -> None:
    """Refuse unknown graders.

    Raises:
        ReportError: Names the first unknown one, and those that exist.
    """
    existing_names = list(existing)
    missing = [name for name in names if name not in existing_names]
    if missing:
        raise ReportError(
            f"unknown grader {missing[0]!r}",
            expected=" or ".join(map(repr, existing_names)) or "none: the report is empty",
            hint=did_you_mean(missing[0], existing_names),
        )


def check_two_graders(a: str, b: str, existing: Iterable[str]) -> None:
    """Refuse two names that are not those of two graders of the report.

    Raises:
        ReportError: An unknown grader, or the same one twice.
    """
    existing_names = list(existing)
    check_graders([a, b], existing_names)
    if a == b:
        others = [name for name in existing_names if name != a]
        raise ReportError(
            "a grader cannot be compared with itself",
            found=f"{a!r} twice",
            expected=" or ".join(map(repr, others)) or "a report with two graders; this one has one",
            hint="two versions of one grader are in two reports: wb.compare(before, now, 'name')",
        )


def _require_grades(grades: Grades | None) -> Grades:
    if grades is None:
        raise ReportError(
            "this selection of rows needs one grader, and the report has several",
            hint="name the grader: report.rows('name', where=...)",
        )
    return grades


def _is_bin(where: Any) -> bool:
    numbers = (int, float, np.integer, np.floating)
    # A tuple of two numbers is a bin; two rows are selected by a list.
    return isinstance(where, tuple) and len(where) == 2 and all(isinstance(end, numbers) for end in where)


def _by_score(where: Any, grades: Grades) -> Rows:
    if isinstance(where, str):
        return _by_status(where, grades)
    scored = np.flatnonzero(grades.codes == 1)
    scores = grades.scores[scored]
    return scored[_where_true(where, scores) if callable(where) else within(scores, *where)]


def _where_true(where: Callable[[float], Any], scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.fromiter((bool(where(float(score))) for score in scores), bool, len(scores))


def _by_status(status: str, grades: Grades) -> Rows:
    names = [*map(str, Status), "missing"]
    if status not in names:
        raise ReportError(
            "unknown status", found=repr(status), expected=", ".join(names), hint=did_you_mean(status, names)
        )
    return np.flatnonzero(grades.statuses == status)


def _by_array(where: Any, n: int) -> Rows:
    chosen = np.asarray(where)
    if chosen.dtype == bool and chosen.shape == (n,):
        return np.flatnonzero(chosen)
    # numpy makes floats of an empty list.
    if chosen.ndim == 1 and (chosen.dtype.kind in "iu" or not chosen.size):
        return _checked_rows(chosen.astype(np.intp), n)
    raise ReportError(
        "invalid selection of rows",
        found=f"{type(where).__name__} of {chosen.dtype}, shape {chosen.shape}",
        expected=f"a finding, a status, a function of the score, a (low, high) bin, {n} truth values or row numbers",
    )


def _checked_rows(rows: Rows, n: int) -> Rows:
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise ReportError("row number out of range", found=f"row {outside[0]}", expected=f"0 to {n - 1}")
    return rows


def ordered(rows: Rows, grades: Grades, sort: str | None) -> Rows:
    """Rows by score: "score" lowest first, "-score" highest first, None unchanged. Unscored rows come last.

    Raises:
        ReportError: Unknown value of `sort`.
    """
    if sort is None:
        return rows
    if sort not in {"score", "-score"}:
        raise ReportError("invalid sort order", found=repr(sort), expected="'score', '-score' or None")
    scores = grades.scores[rows]
    # Negated scores instead of reversed order: NaN sorts last, and would otherwise come first.
    return rows[np.argsort(scores if sort == "score" else -scores, kind="stable")]


def default_order(where: Any) -> str | None:
    """By score; findings and row numbers preserve their order, which is meaningful."""
    is_unordered = where is None or isinstance(where, str) or callable(where)
    is_bin = isinstance(where, tuple) and len(where) == 2
    is_mask = not is_unordered and not isinstance(where, Finding) and np.asarray(where).dtype == bool
    return "score" if is_unordered or is_bin or is_mask else None


def by_text(report: ReportLike, words: str) -> Rows:
    """Rows whose id, turns or reference contain these words, ignoring case."""
    return rows_with_text(_texts(report), str(words))


def by_value(report: ReportLike, column: str, value: Any) -> Rows:
    """Rows whose cell in a column has this text; None selects empty cells.

    Raises:
        ReportError: No such column.
    """
    return _written(report, column).rows(None if value is None else str(value))


def _written(report: ReportLike, column: str) -> WrittenColumn:
    name, samples = _column(report, column), report.samples
    return written_column(samples, name) if isinstance(samples, Samples) else written(samples.column(name))


def by_range(report: ReportLike, column: str, ends: Sequence[float]) -> Rows:
    """Rows whose cell in a column is a number or a time in a range, both ends included.

    Raises:
        ReportError: No such column.
        ValueError: An end is neither a number nor an ISO 8601 time.
    """
    low, high = map(scale_end, ends)
    scale = _written(report, column).scale
    if scale is None:  # some cells are neither
        cells = report.samples.frame[_column(report, column)]
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float, na_value=np.nan)
    else:
        numbers = scale.points
    return np.flatnonzero((numbers >= low) & (numbers <= high))


def by_probe(report: ReportLike, name: str) -> Rows:
    """Rows that a probe created with this transformation.

    Raises:
        ReportError: The rows are not those of a probe.
    """
    frame = report.samples.frame
    if "probe" not in frame:
        raise ReportError("the rows have no column 'probe'", expected="the report or the rows of a probe")
    return np.flatnonzero(frame["probe"].astype(str).to_numpy() == str(name))


def _column(report: ReportLike, column: str) -> Any:
    """The name of a column of the rows, which need not be text."""
    by_name = {str(name): name for name in report.samples.frame.columns}
    if column not in by_name:
        raise ReportError(f"the rows have no column {column!r}", expected=", ".join(map(repr, by_name))[:300])
    return by_name[column]


def _texts(report: ReportLike) -> list[str]:
    """Every row's id, turns and reference, case-folded; made once for the samples, or for this report."""
    if isinstance(report.samples, Samples):
        return row_words(report.samples).searched

    def compute() -> list[str]:
        parts = row_texts(report.samples, np.arange(len(report), dtype=np.intp))
        return [
            "\n".join("" if part is None else str(part) for part in row_parts).casefold()
            for row_parts in parts
        ]

    return report.analysis.once("searched texts", compute)
