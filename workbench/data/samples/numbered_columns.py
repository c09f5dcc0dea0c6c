"""Columns of completions by number or letter, such as `response_1` to `response_4`: one list of completions for each row."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from workbench.data.samples.column_names import ROLES, plain_name
from workbench.data.samples.columns import COMPLETION_NAMES, RIGHT_OPTIONS
from workbench.data.samples.plain import is_missing
from workbench.data.samples.preference_pairs import BASES, PAIRS
from workbench.data.samples.proposals import PEEKED, is_made_by_model
from workbench.data.samples.repeated_rows import cells_as_column
from workbench.data.samples.source_file import Loaded

_SUFFIX = re.compile(r"(?P<stem>.+?)[_.\- ]?(?P<mark>\d{1,3}|(?<=[_.\- ])[A-Za-z])")

_STEMS = frozenset(
    {
        *map(plain_name, BASES),
        "candidate",
        "rollout",
        "sample",
        "attempt",
        "generatedtext",
        "prediction",
        "pred",
    }
)
"""Names before a number or a letter of which each column is a completion."""

_STARTS: Sequence[Sequence[str]] = (
    [str(n) for n in range(1_000)],
    [str(n) for n in range(1, 1_000)],
    string.ascii_lowercase,
)
"""Marks in order."""

_SIDES = frozenset(re.sub(r"[\s_-]", "", name) for pair in PAIRS for name in pair)


def with_listed(loaded: Loaded, columns: Mapping[str, str | None]) -> tuple[Loaded, tuple[str, ...]]:
    """The rows with completions of several columns as a list in one, and a note on it; unchanged if there are none.

    Two columns that may be a preference pair stay. So do the options of a multiple-choice question: columns next to one that
    names one of them.

    Args:
        loaded: The rows.
        columns: Role to column name, as given by the user.
    """
    frame = loaded.frame
    if not isinstance(frame, pd.DataFrame) or {"completion", "messages"} & set(columns):
        return loaded, ()
    names = [str(name) for name in frame.columns]
    if any(plain_name(name) in COMPLETION_NAMES for name in names) or "messages" in names:
        return loaded, ()
    found = _completions_of(names)
    if len(found) < 2 or set(found.values()) & set(filter(None, columns.values())):
        return loaded, ()
    if not all(_are_texts(frame[name]) for name in found.values()) or _is_one_named(frame, found):
        return loaded, ()
    cells = [[frame[name].iloc[row] for name in found.values()] for row in range(len(frame))]
    present = [[not is_missing(cell) for cell in row] for row in cells]
    own = frame.drop(columns=list(found.values()))
    own["completion"] = cells_as_column(
        [_kept(*both) for both in zip(cells, present, strict=True)], own.index
    )
    for stem, besides in _beside(names, found):
        others = [[frame[name].iloc[row] for name in besides] for row in range(len(frame))]
        own = own.drop(columns=list(besides))
        own[stem] = cells_as_column([_kept(*both) for both in zip(others, present, strict=True)], own.index)
    listed = f"{next(iter(found.values()))!r} to {list(found.values())[-1]!r}"
    return replace(loaded, frame=own), (
        f"columns {listed} are {len(found)} completions of each row's prompt",
    )


def _kept(cells: Sequence[Any], present: Sequence[bool]) -> list[Any] | None:
    return [cell for cell, is_there in zip(cells, present, strict=True) if is_there] or None


def _completions_of(names: Sequence[str]) -> dict[str, str]:
    """Mark to column, in order: the columns of one stem whose marks start at 0, 1 or a and have no gap."""
    for stem, marked in _by_stem(names).items():
        pair = {plain_name(name) for name in marked.values()}
        is_known = stem in _STEMS or (len(marked) > 1 and is_made_by_model(next(iter(marked.values()))))
        if is_known and _are_in_order(list(marked)) and not (len(marked) == 2 and pair <= _SIDES):
            return marked
    return {}


def _by_stem(names: Sequence[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name in names:
        if match := _SUFFIX.fullmatch(name):
            found.setdefault(plain_name(match["stem"]), {})[match["mark"].casefold()] = name
    return found


def _are_in_order(marks: Sequence[str]) -> bool:
    return any(list(marks) == list(start[: len(marks)]) for start in _STARTS)


def _beside(names: Sequence[str], found: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Further columns with the same marks, such as `score_1` to `score_4`."""
    for stem, marked in _by_stem(names).items():
        own = list(marked.values())
        if (
            list(marked) == list(found)
            and own != list(found.values())
            and stem not in _TAKEN
            and stem not in names
        ):
            yield stem, own


_TAKEN = frozenset(plain_name(name) for known in ROLES.values() for name in known)


def _are_texts(cells: pd.Series[Any]) -> bool:
    said = [cell for cell in cells.head(PEEKED) if not is_missing(cell)]
    return all(isinstance(cell, str | list | dict) for cell in said) and bool(said)


def _is_one_named(frame: pd.DataFrame, found: Mapping[str, str]) -> bool:
    """Whether a column names the right one, so that the columns are the options of a question."""
    marks = {*found, *(plain_name(name) for name in found.values())}
    for name in frame.columns:
        if plain_name(str(name)) in RIGHT_OPTIONS:
            said = [plain_name(str(cell)) for cell in frame[name].head(PEEKED) if not is_missing(cell)]
            if said and all(cell in marks or cell.removeprefix("option") in marks for cell in said):
                return True
    return False
