"""Scores that rows came with, as grades of earlier graders."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import MISSING, Grades
from workbench.data.samples.plain import is_missing
from workbench.data.samples.shapes import Score, free_name, scores_in

_OBJECTS = frozenset(
    {
        "scores",
        "rewards",
        "reward_info",
        "metrics",
        "grades",
        "feedback_scores",
        "feedback_stats",
        "assertions",
        "evaluations",
        "evaluation_results",
        "eval_results",
        "annotations",
        "assessments",
        "feedback",
    }
)
"""Columns whose objects have a score per grader."""

_NUMBERS = re.compile(
    r"""score|reward|grade|ratings?|passed|(?:\w+_)?is_(?:correct|passed|resolved)|resolved|graded_list|correctness_\w+|symbolic_correct|scores\.\S+|overall_score|correctness|acc|accuracy|exact_match|
    (?:\w+_)?reward(?:_func|_fn)?|reward_\w+|\w+_score|(?:.+/)?(?:v\d+/)?score|.+/(?:value|rating|correct)|
    faithfulness|answer_relevanc\w+|answer_correctness|answer_similarity|context_(?:precision|recall|relevanc\w+|entity_recall)|
    factual_correctness(?:\(.*\))?|semantic_similarity|(?:non_)?llm_context_precision\w*|toxicity|helpfulness|coherence|verbosity|complexity""",
    re.VERBOSE | re.IGNORECASE,
)
"""Columns whose numbers are scores by their names."""

_VERDICTS = frozenset({"correct", "success", "passing", "solved", "utility", "is_right", "is_valid"})
"""Columns whose truth values are scores; under such a name a number may be the place of the right option."""

_DECIMAL_COMMA = re.compile(r"\s*[-+]?(?:\d+,\d{1,2}|\d+,\d{4,}|0,\d+)\s*")
"""A number with a decimal comma; three digits after another number than 0 may be thousands."""

_TRUE = frozenset({"true", "pass", "passed", "yes"})
_FALSE = frozenset({"false", "fail", "failed", "no"})


def number_of(value: Any) -> float | None:
    """A score as a finite number: truth values and verdict words are 1 and 0; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return float(value)
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in _TRUE | _FALSE:
            return float(word in _TRUE)
        value = value.replace(",", ".") if _DECIMAL_COMMA.fullmatch(value) else value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def is_scored(scores: Iterable[Any]) -> bool:
    """Whether at least one row has a score that is a number."""
    return any(
        not is_missing(score) and number_of(score.value if isinstance(score, Score) else score) is not None
        for score in scores
    )


def grades_of(scores: Sequence[Any] | NDArray[Any]) -> Grades:
    """The grades of one earlier grader; rows without a score are skipped.

    Args:
        scores: One per row: a `Score`, a number or None; or numbers as an array, NaN for none.
    """
    grades = Grades.empty(len(scores))
    if isinstance(scores, np.ndarray) and scores.dtype.kind in "iuf":
        numbers = scores.astype(np.float64)
        grades.put_scores(0, np.where(np.isfinite(numbers), numbers, np.nan), seconds=math.nan)
    else:
        for row, score in enumerate(scores):
            if not is_missing(score):
                grades.put(row, _grade_of(score if isinstance(score, Score) else Score(score)))
    for row in np.flatnonzero(grades.codes == MISSING).tolist():
        grades.put(row, Grade())
    return grades


def _grade_of(score: Score) -> Grade:
    number = number_of(score.value)
    reason = score.reason or None
    if number is None and score.error:
        return Grade(error=GradeError(ErrorKind.RUNTIME, score.error[:2_000]), reasoning=reason)
    passed = score.passed
    if passed is None and isinstance(score.value, bool | np.bool_ | str) and number is not None:
        passed = bool(number) if number in (0.0, 1.0) and not _is_digits(score.value) else None
    return Grade(score=number, passed=None if number is None else passed, reasoning=reason)


def _is_digits(value: Any) -> bool:
    return isinstance(value, str) and any(mark.isdigit() for mark in value)


def are_scores(name: str) -> bool:
    """Whether the name of a column is one for scores, or objects of them."""
    return name.casefold() in _OBJECTS | _VERDICTS or _NUMBERS.fullmatch(name) is not None


def are_truth_values(cells: Sequence[Any]) -> bool:
    """Whether all cells that are there are truth values, also as the texts that CSV has."""
    values = [cell for cell in cells if not is_missing(cell)]
    return bool(values) and all(
        isinstance(cell, bool | np.bool_)
        or (isinstance(cell, str) and cell.strip().casefold() in ("true", "false"))
        for cell in values
    )


def column_scores(columns: Mapping[str, pd.Series[Any]]) -> dict[str, Sequence[Any] | NDArray[Any]]:
    """The scores in columns of which `are_scores` is true, by grader.

    Args:
        columns: Name to cells.
    """
    found: dict[str, Sequence[Any] | NDArray[Any]] = {}
    for name, series in columns.items():
        own = name.removeprefix("scores.")
        if name.casefold() in _VERDICTS and not are_truth_values(series.tolist()):
            continue
        if series.dtype.kind in "iuf":
            found[free_name(own, found)] = series.to_numpy()
            continue
        cells = series.tolist()
        if name.casefold() in _OBJECTS and not are_numbers(cells):
            for grader, scores in _of_objects(cells).items():
                found[free_name(grader, found)] = scores
        elif are_numbers(cells):
            found[free_name(own, found)] = cells
    return {name: scores for name, scores in found.items() if is_scored(scores)}


def _of_objects(cells: Sequence[Any]) -> dict[str, list[Score | None]]:
    found: dict[str, list[Score | None]] = {}
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        for name, score in scores_in(cell, value_name="score|value|avg").items():
            found.setdefault(name, [None] * len(cells))[row] = score
    return found


def are_numbers(cells: Sequence[Any]) -> bool:
    """Whether all cells that are there are numbers, truth values, or texts of them."""
    values = [cell for cell in cells if not is_missing(cell)]
    return bool(values) and all(
        not isinstance(value, list | dict) and number_of(value) is not None for value in values
    )
