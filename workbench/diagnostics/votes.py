"""Labels of several people for the same rows: what most of them say is the label, and what each says is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from workbench.statistics import compact

if TYPE_CHECKING:
    from workbench.diagnostics.case import Case

__all__ = ["Raters", "Votes", "raters_of"]

_MOST_ROWS = 20_000  # kappa is known to 0.02 by then; reading the texts of more would take seconds
_MOST_RATERS = 6  # those with the most labels: 15 pairs


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Sequence[bool | None]):
    """One label a row, as most of several people give it: True, False, or None where they are even or silent.

    Attributes:
        names: Who labelled, (m,).
        codes: 1 good, 0 bad, -1 no label, int8 (n, m).
    """

    names: tuple[str, ...]
    codes: NDArray[np.int8]

    @cached_property
    def majority(self) -> NDArray[np.int8]:
        """1 where more say good than bad, 0 where more say bad, -1 elsewhere, (n,)."""
        balance = (self.codes == 1).sum(1) - (self.codes == 0).sum(1)
        return np.where(balance > 0, 1, np.where(balance < 0, 0, -1)).astype(np.int8)

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> bool | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[bool | None]: ...
    def __getitem__(self, row: int | slice) -> bool | list[bool | None] | None:
        if isinstance(row, slice):
            return [_label(code) for code in self.majority[row].tolist()]
        return _label(int(self.majority[row]))

    def __repr__(self) -> str:
        return f"Votes({', '.join(self.names)}: {len(self):,} rows)"


def _label(code: int) -> bool | None:
    return None if code < 0 else bool(code)


@dataclass(frozen=True, eq=False)
class Raters:
    """Rows that several people labelled, beside the grader's verdicts.

    Attributes:
        names: Who labelled, (m,).
        votes: 1 good, 0 bad, -1 no label, int8 (n, m).
        verdicts: The grader's, 1 accepted, 0 refused, int8 (n,).
        groups: Prompt of each row, integer codes (n,).
        rows: Number of each row in the report, (n,).
    """

    names: tuple[str, ...]
    votes: NDArray[np.int8]
    verdicts: NDArray[np.int8]
    groups: NDArray[np.intp]
    rows: NDArray[np.intp]


def raters_of(case: Case) -> Raters | None:
    """The scored rows that two people or more labelled; None where there are none.

    Labels come as a column a person, or as rows that repeat an answer with another label and, in a column such as
    `annotator`, another name.
    """
    raters = _by_columns(case) if case.votes is not None else _by_repeated_rows(case)
    if raters is None:
        return None
    several = (raters.votes >= 0).sum(1) > 1
    kept = np.flatnonzero(several)[:_MOST_ROWS]
    if not len(kept):
        return None
    busiest = np.sort(np.argsort(-(raters.votes[kept] >= 0).sum(0), kind="stable")[:_MOST_RATERS])
    names = tuple(raters.names[rater] for rater in busiest)
    return Raters(
        names, raters.votes[kept][:, busiest], raters.verdicts[kept], compact(raters.groups[kept]), raters.rows[kept]
    )  # fmt: skip


def _by_columns(case: Case) -> Raters:
    assert case.votes is not None
    rows = case.rows
    return Raters(
        case.votes.names, case.votes.codes[rows], case.accepted.astype(np.int8), case.scored_groups, rows
    )


def _by_repeated_rows(case: Case) -> Raters | None:
    """Rows with the same prompt and answer are one row; the first of a person's labels of it counts."""
    names = None if case.context is None else case.context.annotators
    labelled = np.flatnonzero(case.labels[case.rows] >= 0)[:_MOST_ROWS]
    if names is None or case.context is None or not len(labelled):
        return None
    rows = case.rows[labelled]
    known = [at for at, row in enumerate(rows) if names[row] is not None]
    people = list(dict.fromkeys(names[row] for row in rows[known]))
    if len(people) < 2 or len(np.unique(case.groups[rows])) == len(rows):
        return None
    answers = np.column_stack([case.groups[rows], case.context.hashes_of(rows)])
    _, first, item = np.unique(answers, axis=0, return_index=True, return_inverse=True)
    votes = np.full((len(first), len(people)), -1, np.int8)
    place = {name: at for at, name in enumerate(people)}
    for at in reversed(known):
        votes[item.ravel()[at], place[names[rows[at]]]] = case.labels[rows[at]]
    accepted = case.accepted[labelled][first].astype(np.int8)
    return Raters(tuple(map(str, people)), votes, accepted, compact(case.groups[rows[first]]), rows[first])
