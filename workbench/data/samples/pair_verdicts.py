"""Which side of a preference pair was chosen: by the names of its columns, or by a column that names the better side."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.data.samples.plain import is_missing

CHOSEN_FIRST = (
    ("chosen", "rejected"),
    ("preferred_output", "non_preferred_output"),
    ("chosen_response", "rejected_response"),
    ("response_chosen", "response_rejected"),
    ("chosen_output", "rejected_output"),
    ("chosen_answer", "rejected_answer"),
    ("accepted", "rejected"),
    ("text_chosen", "text_rejected"),
    ("response_j", "response_k"),
    ("right_answer", "hallucinated_answer"),
)
"""Columns of two completions of which the first one is the better one."""

_ALPACA_TIE = 1.5
"""AlpacaEval's `preference`: below this value the first output was chosen, above it the second."""

_ALPACA = ("output_1", "output_2")

_WINNERS = (
    "chosen",
    "winner",
    "better_response_id",
    "better_response",
    "preferred_response",
    "preferred",
    "preference",
    "choice",
    "verdict",
    "label",
)
"""Columns that may name the better side, the first one counts."""

_ASKS_FOR_WINNER = re.compile(r"(?:^|_)(?:better|best|prefer(?:red)?|winner|winning)(?:_|\?|$)")
"""Words in the name of another column that may name the better side, such as a question of a form."""

_STRENGTHS = ("preference_strength", "overall_preference")
"""Columns with a number below 0 if the first side is better, and above 0 if the second is."""


def underscored(name: Any) -> str:
    """A name in lower case, with an underscore for each blank or hyphen: "Response A" and "response_a" are one."""
    return re.sub(r"[ -]", "_", str(name).casefold())


Verdict = tuple[bool | None, bool | None]
"""Whether each side of a pair was chosen; None if unknown, or if neither was."""


def verdicts_of(frame: pd.DataFrame, pair: Sequence[Any]) -> list[Verdict]:
    """Which side of each pair was chosen, by the names of its columns, or by a column that names one."""
    names = (underscored(pair[0]), underscored(pair[1]))
    if names in CHOSEN_FIRST:
        return [(True, False)] * len(frame)
    folded = {underscored(name): list(frame[name]) for name in reversed(list(frame.columns))}
    flags = [folded.get(f"winner_model_{side}") for side in "ab"]
    if flags[0] is not None and flags[1] is not None and names[0].endswith("_a"):
        return [_by_flags(*map(_is_set, both)) for both in zip(flags[0], flags[1], strict=True)]
    for sides, column, verdict in _OF_DATA_SETS:
        if names == sides and _are_numbers(folded.get(column, ())):
            return [verdict(cell) for cell in folded[column]]
    if (named := _by_named(folded, names)) is not None:
        return named
    strength = next((folded[name] for name in _STRENGTHS if name in folded), None)
    if strength is not None and names[0].endswith("1"):
        return [_by_strength(cell) for cell in strength]
    return [(None, None)] * len(frame)


def _by_named(folded: Mapping[str, Sequence[Any]], names: tuple[str, str]) -> list[Verdict] | None:
    """By a column that names the better side; several questions for it decide only if they agree."""
    for name in _WINNERS:
        cells = folded.get(name, ())
        if _may_be_places(cells, names):
            continue
        found = [_by_winner(cell, names) for cell in cells]
        if any(first is not None for first, _ in found):
            return found
        found = _by_models(cells, folded, names)
        if any(first is not None for first, _ in found):
            return found
    asked = [
        name
        for name, cells in folded.items()
        if _ASKS_FOR_WINNER.search(name) and not _may_be_places(cells, names)
    ]
    every = [[_by_winner(cell, names) for cell in folded[name]] for name in asked]
    told = [found for found in every if any(first is not None for first, _ in found)]
    return told[0] if told and all(found == told[0] for found in told) else None


def _may_be_places(cells: Sequence[Any], names: tuple[str, str]) -> bool:
    """Whether numbers for sides 1 and 2 may be another scale: places from 0, or a sign for each side."""
    if [_side_of(name) for name in names] != ["1", "2"]:
        return False
    numbers = {_number(cell) for cell in cells} - {None}
    return any(number < 0 for number in numbers if number is not None) or (0 in numbers and 2 not in numbers)


def _by_models(
    cells: Sequence[Any], folded: Mapping[str, Sequence[Any]], names: tuple[str, str]
) -> list[Verdict]:
    """By cells that are the name of a side's model, which other columns have."""
    sides = [_side_of(name) for name in names]
    left, right = (
        next((folded[f"{word}_{side}"] for word in _MAKERS if f"{word}_{side}" in folded), ())
        for side in sides
    )
    return [
        (None, None) if is_missing(cell) else _by_flags(cell == first, cell == second)
        for cell, first, second in zip(cells, left, right, strict=False)
    ]


_MAKERS = ("model", "model_name", "generator", "policy")
"""Names of the columns of a side's model before the side."""


def _by_winner(cell: Any, names: tuple[str, str]) -> Verdict:
    """By a cell that names a side: "model_a", "response_a", "a", "1", or compares both: "A>B"."""
    if is_missing(cell) or isinstance(cell, bool | np.bool_):
        return None, None
    winner = underscored(str(cell).strip()).removesuffix(".0")
    sides = [_side_of(name) for name in names]
    if match := _COMPARED.fullmatch(winner):
        left, sign, right = match.groups()
        if [left, right] == sides and sign[0] != "=":
            return _by_flags(sign[0] == ">", sign[0] == "<")
        return None, None
    wins = [
        winner in (name, side, *(f"{word}{mark}{side}" for word in _WORDS for mark in ("_", " ", "")))
        for name, side in zip(names, sides, strict=True)
    ]
    return _by_flags(*wins)


_COMPARED = re.compile(r"\[?\[?(\w)\s*([<>=]{1,2})\s*(\w)\]?\]?")
_WORDS = ("model", "response", "output", "answer", "completion", "assistant", "option")
"""Words before the side in the name of a winner."""


def _side_of(name: str) -> str:
    return name[-1]


def _by_flags(first: bool, second: bool) -> Verdict:
    return (first, second) if first != second else (None, None)


def _is_set(cell: Any) -> bool:
    """Whether a cell is affirmative: True, 1, or one of these as text."""
    return not is_missing(cell) and str(cell).strip().casefold() in {"1", "1.0", "true"}


def _are_numbers(cells: Sequence[Any]) -> bool:
    return any(_number(cell) is not None for cell in cells)


def _number(cell: Any) -> float | None:
    try:
        value = float("nan") if is_missing(cell) else float(cell)
    except (TypeError, ValueError):
        return None
    return None if value != value else value  # noqa: PLR0124 (NaN)


def _by_preference(cell: Any) -> Verdict:
    """AlpacaEval's scale, from 1 for the first output to 2 for the second."""
    value = _number(cell)
    if value is None:
        return None, None
    return _by_flags(1 <= value < _ALPACA_TIE, _ALPACA_TIE < value <= 2)


def _by_label(cell: Any) -> Verdict:
    """SHP's label: 1 if the first completion has more votes, else 0."""
    return (None, None) if is_missing(cell) else _by_flags(_is_set(cell), not _is_set(cell))


_OF_DATA_SETS: Sequence[tuple[tuple[str, str], str, Callable[[Any], Verdict]]] = (
    (_ALPACA, "preference", _by_preference), (("human_ref_a", "human_ref_b"), "labels", _by_label),
)  # fmt: skip
"""Columns of two completions of a known data set, the column of its verdict, and how that is read."""


def _by_strength(cell: Any) -> Verdict:
    value = _number(cell)
    return (None, None) if value is None else _by_flags(value < 0, value > 0)
