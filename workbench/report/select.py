"""Row numbers by a finding, a status, a score, a bin, a mask or numbers (`where=` of `Report.rows`), by text or by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.finding import Finding
from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.core.grade import Status
from workbench.core.grades import Grades
from workbench.data.samples import Samples
from workbench.data.samples.selection import row_words, rows_with_text, written, written_column
from workbench.report.bins import Rows, within
from workbench.report.frames import row_texts
from workbench.report.settings import ReportLike


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


def by_text(report: ReportLike, words: str) -> Rows:
    """Rows whose id, turns or reference contain these words, ignoring case."""
    return rows_with_text(_texts(report), str(words))


def by_value(report: ReportLike, column: str, value: Any) -> Rows:
    """Rows whose cell in a column has this text; None selects empty cells.

    Raises:
        ReportError: No such column.
    """
    name, samples = _column(report, column), report.samples
    cells = written_column(samples, name) if isinstance(samples, Samples) else written(samples.column(name))
    return cells.rows(None if value is None else str(value))


def by_range(report: ReportLike, column: str, ends: Sequence[float]) -> Rows:
    """Rows whose cell in a column is a number in a range, both ends included.

    Raises:
        ReportError: No such column.
    """
    low, high = (float(end) for end in ends)
    cells = report.samples.frame[_column(report, column)]
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float, na_value=np.nan)
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
