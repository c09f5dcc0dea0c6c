"""Conditions on rows as text: chips, and the title of their combination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.analysis.diagnostics.verdicts import short_verdict
from workbench.core.display_text import capital, one_line
from workbench.report.where import condition_text

__all__ = ["CHANGED", "Condition", "chip_id", "chip_text", "title_of"]

Condition = Mapping[str, Any]

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
