"""The rows of a dataset with those of another one below: each role in one column, each row read as before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.data.samples import Samples
from workbench.data.samples.column_names import ROLES
from workbench.data.samples.shapes import Score
from workbench.data.samples.source_file import Loaded

_REPLACE = "replace the rows instead"


def extended(first: Samples, added: Samples) -> Samples:
    """The rows of both, under the column names of the first.

    Args:
        first: The present rows.
        added: The rows to add. The column of a role gets the name that it has in the first; columns that only one of
            them has are empty in the other's rows.

    Raises:
        SamplesError: The columns do not fit, or a row would be read in another way than before.
    """
    for samples in (first, added):
        if samples.is_lazy:
            raise SamplesError(
                "rows that are read on demand cannot be joined", where=samples.source, hint=_REPLACE
            )
    roles = {**added.columns, **first.columns}
    if roles.get("messages") and roles.get("prompt"):
        both = ["messages" if "messages" in samples.columns else "a prompt" for samples in (first, added)]
        raise SamplesError(
            "the rows cannot be added to the app's rows", where=added.source, found=f"{both[1]} per row",
            expected=f"{both[0]}, as in the app's rows", hint=_REPLACE,
        )  # fmt: skip
    columns = {role: roles.get(role) for role in ROLES}
    frame = _joined(first.frame, added.frame.rename(columns=renamed_columns(first, added)))
    old = _old_scores(first, added)
    joined = Samples(Loaded(frame, old=old), columns=columns, source=first.source)
    _check_same_turns(joined, first, added)
    return joined


def renamed_columns(first: Samples, added: Samples) -> dict[Any, str]:
    """The columns of the added rows that get another name.

    Raises:
        SamplesError: Another column has that name.
    """
    present = {str(name): name for name in added.column_names}
    new: dict[Any, str] = {}
    for role, name in added.columns.items():
        wanted = first.columns.get(role, name)
        if wanted == name:
            continue
        if wanted in present:
            raise SamplesError(
                f"two columns would be {one_line(wanted, 60)!r}", where=added.source,
                found=f"{role} from {one_line(name, 60)!r}, and another column {one_line(wanted, 60)!r}",
                expected=f"one: {role} is {one_line(wanted, 60)!r} in the app's rows", hint=_REPLACE,
            )  # fmt: skip
        new[present.get(name, name)] = wanted
    return new


def _joined(first: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Both frames; the cells of a column of two types are unchanged."""
    mixed = [
        name for name in first.columns if name in added.columns and first[name].dtype != added[name].dtype
    ]
    lone = {*first.columns} ^ {*added.columns}
    parts = [
        part.astype({name: object for name in part.columns if name in lone or name in mixed})
        for part in (first, added)
    ]
    return pd.concat(parts, ignore_index=True)


def _old_scores(first: Samples, added: Samples) -> dict[str, list[Score | None]]:
    """The grades that the rows came with, by grader; None for rows that it did not grade."""
    before, after = first.old_grades, added.old_grades
    return {
        name: [*_scores(before, name, len(first)), *_scores(after, name, len(added))]
        for name in {**before, **after}
    }


def _scores(old: Mapping[str, Grades], name: str, n: int) -> Iterable[Score | None]:
    return map(_score, old[name]) if name in old else [None] * n


def _score(grade: Grade) -> Score | None:
    if grade.score is None and grade.passed is None and grade.error is None:
        return None
    error = "" if grade.error is None else grade.error.message
    return Score(grade.score, grade.passed, grade.reasoning or "", error)


def _check_same_turns(joined: Samples, *parts: Samples) -> None:
    """Check that every row has the turns that it had before: columns are recognised by their contents, too.

    Raises:
        SamplesError: One has others.
    """
    turns = [wire[0] for wire in joined._build().wires]  # noqa: SLF001 (threads would take twice as long)
    start = 0
    for samples in parts:
        before = [wire[0] for wire in samples._build().wires]  # noqa: SLF001
        row = next((row for row, turn in enumerate(before) if turns[start + row] != turn), None)
        if row is not None:
            raise SamplesError(
                "the rows cannot be added to the app's rows: together they would be read differently",
                where=f"{samples.source or 'the app'}, row {row}", expected="the same columns in both", hint=_REPLACE,
            )  # fmt: skip
        start += len(samples)
