"""Conditions on rows as text: chips, the title of their combination, the values to choose from, and names as shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.finding import short_verdict
from workbench.core.display_text import capital, one_line
from workbench.core.errors import SamplesError
from workbench.data.samples.selection import written_column
from workbench.report.where import Condition, condition_text

_MAX_CHARACTERS = 200  # the longest name a store accepts


def shown_name(name: str) -> str:
    """A grader's name on the page and in its messages: on one line, hidden characters as code points."""
    return one_line(name, _MAX_CHARACTERS)


def find_name(shown: str, names: Iterable[str]) -> str | None:
    """The name with this text on the page; None if there is none."""
    known = list(names)
    if shown in known:
        return shown
    return next((name for name in known if shown_name(name) == shown), None)


def with_real_names(message: Mapping[str, Any], graders: Iterable[str]) -> Mapping[str, Any]:
    """A message with graders' real names, if the page has a name without its hidden characters."""
    names = {shown_name(name): name for name in graders if shown_name(name) != name}
    return _renamed(message, names) if names else message


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A message with names replaced wherever they are complete values."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value


_MAX_VALUES = 60
"""Number of listed values, the most frequent first; the others are found by search."""

_FEW = 12  # maximum distinct numbers to list as choices rather than as a range


def field_values(samples: Any, field: str) -> dict[str, Any]:
    """The values of a column as `FieldValues`: choices with their counts, or the ends of a range of numbers.

    Args:
        samples: The `Samples`.
        field: The column, by its name in the table.

    Raises:
        SamplesError: Unknown column.
    """
    frame = samples.frame
    by_name = {one_line(name, 80): name for name in frame.columns}  # by their names in the table
    if field not in by_name:
        raise SamplesError(f"the rows have no column {field!r}", expected=", ".join(map(repr, by_name))[:300])
    cells, field = frame[by_name[field]], str(by_name[field])
    column = written_column(samples, cells.name)
    numbered = np.bincount(column.codes + 1, minlength=len(column.texts) + 1).tolist()
    counts = sorted(zip([None, *column.texts], numbered, strict=True), key=lambda each: -each[1])
    counts = [(text, count) for text, count in counts if count]
    is_number = pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)
    numbers = cells.to_numpy(float, na_value=np.nan) if is_number else np.empty(0)
    finite = numbers[np.isfinite(numbers)]
    as_range = len(counts) > _FEW and len(finite) > 0
    return {
        "kind": "numbers" if as_range else "values",
        "column": field,
        "values": [] if as_range else [_value(field, text, count) for text, count in counts[:_MAX_VALUES]],
        "lo": float(finite.min()) if as_range else 0.0,
        "hi": float(finite.max()) if as_range else 0.0,
    }


def _value(field: str, text: str | None, count: int) -> dict[str, Any]:
    shown = "(empty)" if text is None else one_line(text, 80)
    return {"text": shown, "count": count, "where": [{"column": field, "is": text}]}


CHANGED = {
    "bad_refused": "known bad, rejected since the edit", "bad_accepted": "known bad, accepted since the edit",
    "good_refused": "known good, lost by the edit", "good_accepted": "known good, won by the edit",
    "refused": "rejected since the edit", "accepted": "accepted since the edit", "no_score": "without a score since the edit",
    "moved": "another score, same verdict", "": "changed by the edit",
}  # fmt: skip
"""Parts of rows that an edit changed, as text. `{"changed": part}` is a condition of the view only, because its rows
change with every keystroke."""

_LABELS = {True: "known good", False: "known bad", None: "unlabelled"}


def chip_text(condition: Condition, chosen: str = "") -> str:
    """The text of a condition's chip; without the grader's name if it is the selected one."""
    return one_line(_words(condition, chosen), 60)


def _words(condition: Condition, chosen: str) -> str:
    for key, words in _WORDS.items():
        if key in condition:
            grader = condition.get("grader", "")
            beside = f"{grader}: " if grader and grader != chosen else ""
            return beside + words(condition)
    return condition_text(condition)


_WORDS: dict[str, Callable[[Condition], str]] = {
    "label": lambda condition: _LABELS[condition["label"]],
    "passed": lambda condition: "accepted" if condition["passed"] else "rejected",
    "status": lambda condition: str(condition["status"]),
    "score": lambda condition: _range("score", condition["score"]),
    "finding": lambda condition: short_verdict(str(condition["finding"][1])),
    "text": lambda condition: f"“{condition['text']}”",
    "rows": lambda condition: f"{len(condition['rows']):,} rows",
    "changed": lambda condition: CHANGED[condition["changed"]],
    "is": lambda condition: (
        f"{condition['column']}: {'(empty)' if condition['is'] is None else condition['is']}"
    ),
    "between": lambda condition: _range(str(condition["column"]), condition["between"]),
}


def _range(name: str, ends: Sequence[float]) -> str:
    low, high = (f"{float(end):.4g}" for end in ends)
    return f"{name} {low}" if low == high else f"{name} {low} to {high}"


def chip_id(condition: Condition) -> str:
    """The id of a chip in messages."""
    return f"{hash(repr(dict(condition))) & 0xFFFFFFFF:x}"


def title_of(conditions: Sequence[Condition], chosen: str, everything: str) -> str:
    """The title of the rows that meet all of these conditions.

    Args:
        conditions: The conditions.
        chosen: The chosen grader.
        everything: The title if there are none.
    """
    words = [chip_text(condition, chosen) for condition in conditions]
    title = ", ".join(words)
    return capital(title) or everything
