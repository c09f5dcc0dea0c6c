"""Tables of a report: one row for each sample, for each grader, or for both, and rows to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.statistics import compact, mean, quantiles, sample_sd
from workbench.analysis.statistics.group_scores import zero_variance_share
from workbench.analysis.statistics.means import mean_interval
from workbench.core.display import DisplayBlock, Displayed, Paragraph, TableBlock
from workbench.core.display_text import encodable, number
from workbench.core.errors import SamplesError
from workbench.core.grade import UNGRADED, ErrorKind
from workbench.core.grades import SCORED, Grades
from workbench.core.safe_frame import SafeFrame
from workbench.core.thread import StringThread
from workbench.report.settings import SampleLike, SamplesLike

_TEXTS = ("sample", "prompt", "completion", "reference")


def rows_table(frame: pd.DataFrame, scores: Sequence[str] | None = ("score",)) -> TableBlock:
    """Rows of `Report.rows` or of a comparison as a table.

    Args:
        frame: The rows.
        scores: Names of its score columns, shown with those texts that are not empty; None for every
            column of the frame, unchanged.
    """
    names = _columns(frame, scores)
    return TableBlock(names, _rows(frame, names), numbers=_numbers(frame, names))


def _columns(frame: pd.DataFrame, scores: Sequence[str] | None) -> list[str]:
    if scores is None:
        return [name for name in frame if isinstance(name, str)]
    wanted = (*_TEXTS, *scores, "reasoning", "error")
    return [name for name in wanted if name in frame and frame[name].notna().any()]


def _numbers(frame: pd.DataFrame, names: Sequence[str]) -> set[int]:
    return {at for at, name in enumerate(names) if _is_numeric(frame.dtypes[name])}


def _is_numeric(dtype: Any) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _rows(frame: pd.DataFrame, names: Sequence[str]) -> list[list[Any]]:
    return [[_cell(row[name]) for name in names] for _, row in frame.iterrows()]


def _cell(value: Any) -> Any:
    if value is pd.NA:
        return ""
    return number(value) if isinstance(value, float) else value


def long_frame(ids: Any, grades: Mapping[str, Grades]) -> pd.DataFrame:
    """One row for each sample and grader; see `Report.frame`."""
    parts = [_grader_frame(ids, name, columns) for name, columns in grades.items()]
    return pd.concat(parts, ignore_index=True) if parts else _grader_frame([], "", Grades.empty(0))


def _grader_frame(ids: Any, name: str, grades: Grades) -> pd.DataFrame:
    n = len(grades)
    return SafeFrame(
        {
            "sample": _text_column(ids),
            "row": np.arange(n),
            "grader": pd.Series([encodable(name)] * n, dtype=object),
            "status": grades.statuses,
            "score": grades.scores,
            "passed": _verdicts(grades.passed),
            "reasoning": _sparse(n, grades.reasoning),
            "error_kind": _sparse(n, {row: str(error.kind) for row, error in grades.errors.items()}),
            "error": _sparse(n, {row: error.message for row, error in grades.errors.items()}),
            "seconds": grades.seconds,
            "tokens": grades.tokens,
            "cost": grades.cost,
            "isolation": pd.Series([isolation(grades)] * n, dtype=object),
        }
    )


_NEVER_STARTED = frozenset(
    {*UNGRADED, ErrorKind.BUDGET, ErrorKind.NO_COMPLETION, ErrorKind.SAMPLE, ErrorKind.SANDBOX}
)


def isolation(grades: Grades) -> str:
    """The sandbox level; else "not run" (no row reached the grader), "not needed" (built-in code) or "no sandbox"."""
    if grades.isolation:
        return grades.isolation
    kinds = {error.kind for error in grades.errors.values()}
    ran = grades.n_scored or grades.n_skipped or kinds - _NEVER_STARTED
    if not ran:
        return "not run"
    return "not needed" if grades.code else "no sandbox"


def _verdicts(passed: NDArray[np.int8]) -> pd.Series[Any]:
    return pd.Series(pd.arrays.BooleanArray(passed == 1, passed < 0))


def _sparse(n: int, values: Mapping[int, str]) -> pd.Series[Any]:
    column = np.full(n, None, dtype=object)
    for row, value in values.items():
        column[row] = value
    return _text_column(column)


def _text_column(values: Iterable[Any]) -> pd.Series[Any]:
    # These tables get saved, and a CSV file cannot contain a lone surrogate.
    return _column(encodable(value) if isinstance(value, str) else value for value in values)


def _column(values: Any) -> pd.Series[Any]:
    # dtype object: pandas' own string types refuse lone surrogates when stored as Arrow.
    return pd.Series(list(values), dtype=object)


def score_frame(ids: Any, grades: Mapping[str, Grades]) -> pd.DataFrame:
    """One row for each sample, one column for each grader; see `Report.scores`."""
    index = pd.Index(list(ids), name="sample", dtype=object)
    frame = SafeFrame(dict(enumerate(columns.scores for columns in grades.values())), index=index)
    return frame.set_axis(_names(grades), axis=1)


def _names(names: Iterable[str], name: str | None = None) -> pd.Index[Any]:
    # dtype object for the same reason as in `_column`: a name may be any text.
    return pd.Index(list(names), dtype=object, name=name)


def summary_frame(
    grades: Mapping[str, Grades],
    groups: NDArray[np.intp],
    scale: tuple[float, float] = (0.0, 1.0),
    known: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] | None = None,
) -> pd.DataFrame:
    """One row for each grader; see `Report.summary`.

    Args:
        grades: Grades by grader name.
        groups: Prompt of each row, (n,).
        scale: Lowest and highest score of the scale.
        known: Lines that were computed before; new ones are added.
    """
    lines = [_known_summary(name, (each, groups, scale), known) for name, each in grades.items()]
    columns = list(lines[0] if lines else _summary(Grades.empty(0), np.empty(0, np.intp), scale))
    return SafeFrame(lines, columns=columns, index=_names(grades, "grader"))


def _known_summary(
    name: str,
    of: tuple[Grades, NDArray[np.intp], tuple[float, float]],
    known: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] | None,
) -> dict[str, Any]:
    """The line of a grader; of the same grades and prompts it is not computed again: an edit changes one grader of many."""
    before, line = (known or {}).get(name, ((), {}))
    if before and before[0] is of[0] and before[1] is of[1] and before[2] == of[2]:
        return line
    line = _summary(*of)
    if known is not None:
        known[name] = of, line
    return line


_MIN_PROMPTS = 10  # with several completions: a share of fewer has a useless interval


def _summary(grades: Grades, groups: NDArray[np.intp], scale: tuple[float, float]) -> dict[str, Any]:
    rows = grades.codes == 1
    scores = grades.scores[rows]
    n = len(scores)
    codes = compact(groups[rows])
    lo, hi = mean_interval(scores, codes, scale=scale)
    zero_variance = zero_variance_share(scores, codes)
    is_known = zero_variance.n >= _MIN_PROMPTS
    q25, median, q75 = quantiles(scores)
    return {
        "n": len(grades),
        "scored": n,
        "failed": grades.n_failed,
        "skipped": grades.n_skipped,
        "mean": mean(scores),
        "mean_lo": lo,
        "mean_hi": hi,
        "sd": sample_sd(scores),
        "min": scores.min() if n else np.nan,
        "q25": q25,
        "median": median,
        "q75": q75,
        "max": scores.max() if n else np.nan,
        "zero_variance": zero_variance.value if is_known else np.nan,
        "zero_variance_lo": zero_variance.interval().lo if is_known else np.nan,
        "zero_variance_hi": zero_variance.interval().hi if is_known else np.nan,
        "seconds_total": known_sum(grades.seconds),
        "tokens": known_sum(grades.tokens),
        "cost": known_sum(grades.cost),
        "isolation": isolation(grades),
    }


def known_sum(values: NDArray[np.float64]) -> float:
    """The sum of known values; NaN if none is known."""
    known_values = values[~np.isnan(values)]
    return float(known_values.sum()) if len(known_values) else float("nan")


class RowFrame(Displayed, SafeFrame):
    """A DataFrame of rows to read, which a notebook shows as text: left-aligned, not truncated, escaped."""

    _label = "Rows"
    MAX_SHOWN = 20

    @property
    def _constructor(self) -> type[RowFrame]:
        return RowFrame

    __str__ = SafeFrame.__str__

    def _blocks(self) -> Iterator[DisplayBlock]:
        yield rows_table(self.head(self.MAX_SHOWN), None)
        n_hidden = len(self) - self.MAX_SHOWN
        yield Paragraph(f"{n_hidden:,} more rows" if n_hidden > 0 else "", "quiet")


def row_frame(samples: SamplesLike, grades: Mapping[str, Grades], rows: NDArray[np.intp]) -> pd.DataFrame:
    """Rows for display; see `Report.rows`. Index: row numbers."""
    texts = row_texts(samples, rows)
    frame = SafeFrame(texts, columns=["sample", "prompt", "completion", "reference"], dtype=object)
    frame = frame.set_axis(_names(frame.columns), axis=1)
    columns = (
        _grade_columns(next(iter(grades.values())), rows)
        if len(grades) == 1
        else _score_columns(grades, rows)
    )
    return RowFrame(frame.assign(**columns).set_index(pd.Index(rows, name="row")))


def row_texts(
    samples: SamplesLike, rows: NDArray[np.intp], prompt: Callable[[StringThread], str] | None = None
) -> list[tuple[Any, ...]]:
    """Id, prompt, completion and reference of each row; an unreadable row has the reason as its completion.

    Args:
        samples: The dataset.
        rows: Row numbers (m,).
        prompt: Function from a thread to the text of its prompt; `thread_prompt` by default.
    """
    prompt = prompt or thread_prompt
    try:
        return [_texts(sample, prompt) for sample in samples.take(rows)]
    except SamplesError:
        return [_texts_or_reason(samples, int(row), prompt) for row in rows]


def _texts_or_reason(
    samples: SamplesLike, row: int, prompt: Callable[[StringThread], str]
) -> tuple[Any, ...]:
    try:
        return _texts(samples[row], prompt)
    except SamplesError as error:
        return (samples.ids[row], None, f"(unreadable: {error.what})", None)


def _texts(sample: SampleLike, prompt: Callable[[StringThread], str]) -> tuple[Any, ...]:
    return (sample.id, prompt(sample.thread), sample.thread.completion(), sample.reference)


def thread_prompt(thread: StringThread) -> str:
    """The turns of the prompt: a single one unchanged, several with their roles."""
    turns = thread.messages()
    if len(turns) == 1:
        return str(turns[0].content)
    return "\n".join(f"{turn.role}: {turn.content}" for turn in turns)


def _grade_columns(grades: Grades, rows: NDArray[np.intp]) -> dict[str, Any]:
    errors = [grades.errors.get(int(row)) for row in rows]
    repeated = {"repeats": _column(repeat_text(grades, int(row)) for row in rows)} if grades.repeats else {}
    return {
        "status": grades.statuses[rows],
        "score": grades.scores[rows],
        **repeated,
        "passed": _verdicts(grades.passed[rows]),
        "reasoning": _column(grades.reasoning.get(int(row)) for row in rows),
        "error": _column(None if error is None else str(error) for error in errors),
    }


def repeat_text(grades: Grades, row: int) -> str:
    """The grades of each repeat of a row, such as "1, 0, failed"."""
    return ", ".join(
        f"{one.scores[row]:.4g}" if one.codes[row] == SCORED else str(one[row].status)
        for one in grades.repeats
    )


def _score_columns(grades: Mapping[str, Grades], rows: NDArray[np.intp]) -> dict[str, Any]:
    row_columns: Iterable[str] = ("sample", "prompt", "completion", "reference")
    return {
        f"{name} (score)" if name in row_columns else name: columns.scores[rows]
        for name, columns in grades.items()
    }
