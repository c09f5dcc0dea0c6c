"""Row numbers from a finding, a status, a condition on the score, a bin, a mask or numbers: `where=` of `Report.rows`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Finding
from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.core.grade import Status
from workbench.core.grades import Grades
from workbench.report.bins import within

__all__ = ["check_graders", "check_two_graders", "default_order", "ordered", "select"]

Rows = NDArray[np.intp]


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
            "unknown status",
            found=repr(status),
            expected=", ".join(names),
            hint=did_you_mean(status, names),
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
