"""More than two graders on the same rows: how often each two agree, and the rows by who differs from the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.view.texts import shown_name
from workbench.core.display_text import one_line
from workbench.report import Report
from workbench.report.cases import label_codes
from workbench.report.selection import Rows
from workbench.report.where import Condition, case_of

MAX_GRADERS = 16
"""Graders of one matrix: more do not fit next to their names."""

MAX_GROUPS = 12
"""Groups that are listed: those in which the fewest differ from the others first."""


@dataclass(frozen=True)
class AgreementGroup:
    """The rows with one pattern of verdicts.

    Attributes:
        differing: The minority: whose verdict differs from the others'. Of two halves, those who accept.
        accepts: Whether these accept.
        rows: The rows, ascending.
    """

    differing: tuple[int, ...]
    accepts: bool
    rows: Rows


class Verdicts:
    """The verdicts of several graders on the same rows.

    Args:
        report: The report with all of them.
        names: The graders, at most `MAX_GRADERS`.
    """

    def __init__(self, report: Report, names: list[str]) -> None:
        self.report, self.names = report, names[:MAX_GRADERS]

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """1 accepted, 0 rejected, -1 no score, of each grader and row, (m, n)."""
        codes = np.full((len(self.names), len(self.report)), -1, np.int8)
        for line, name in zip(codes, self.names, strict=True):
            case = case_of(self.report, name)
            line[case.rows] = case.accepted
        return codes

    @cached_property
    def pairs(self) -> list[list[tuple[float, float, int] | None]]:
        """Of each grader with each one before it: share of equal verdicts, kappa, rows that both scored; None without any."""
        return [
            [_agreement(self.codes[first], self.codes[second]) for second in range(first)]
            for first in range(len(self.names))
        ]

    @cached_property
    def groups(self) -> list[AgreementGroup]:
        """Rows that all scored and on which not all agree; first those on which the fewest differ from the others."""
        scored = np.flatnonzero((self.codes >= 0).all(0))
        bits = (1 << np.arange(len(self.names), dtype=np.int64)) @ self.codes[:, scored].astype(np.int64)
        groups = [self._group(int(pattern), scored[bits == pattern]) for pattern in np.unique(bits)]
        split = [group for group in groups if group.differing]
        return sorted(split, key=lambda group: (len(group.differing), -len(group.rows)))

    def _group(self, pattern: int, rows: Rows) -> AgreementGroup:
        accepting = tuple(at for at in range(len(self.names)) if pattern >> at & 1)
        rejecting = tuple(at for at in range(len(self.names)) if not pattern >> at & 1)
        accepts = len(accepting) <= len(rejecting)
        return AgreementGroup(accepting if accepts else rejecting, accepts, rows)

    def where(self, group: AgreementGroup) -> list[Condition]:
        """A group's rows as one condition over the report."""
        accepted = {at for at in range(len(self.names)) if (at in group.differing) == group.accepts}
        return [{"any": [[{"grader": name, "passed": at in accepted} for at, name in enumerate(self.names)]]}]

    def data(self) -> dict[str, Any]:
        """Matrix and groups as `AgreementData`."""
        labels = label_codes(self.report)
        return {
            "names": [shown_name(name) for name in self.names],
            "pairs": [[_pair(pair) for pair in line] for line in self.pairs],
            "groups": [self._group_data(group, labels) for group in self.groups[:MAX_GROUPS]],
            "n_groups": len(self.groups),
        }

    def _group_data(self, group: AgreementGroup, labels: NDArray[np.int8]) -> dict[str, Any]:
        found = labels[group.rows]
        return {
            "text": self._text(group), "count": len(group.rows),
            "good": int((found == 1).sum()), "bad": int((found == 0).sum()),
        }  # fmt: skip

    def _text(self, group: AgreementGroup) -> str:
        names = [one_line(self.names[at], 80) for at in group.differing]
        if len(names) == 1:
            return f"only {names[0]} {'accepts' if group.accepts else 'rejects'}"
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"only {listed} {'accept' if group.accepts else 'reject'}"


def _pair(pair: tuple[float, float, int] | None) -> dict[str, Any] | None:
    if pair is None:
        return None
    same, kappa, n = pair
    return {"same": same, "kappa": None if np.isnan(kappa) else kappa, "n": n}


def _agreement(a: NDArray[np.int8], b: NDArray[np.int8]) -> tuple[float, float, int] | None:
    """Share of equal verdicts, Cohen's kappa (NaN if both are constant), and rows that both scored; None without any."""
    both = (a >= 0) & (b >= 0)
    n = int(both.sum())
    if not n:
        return None
    first, second = a[both] == 1, b[both] == 1
    same = float((first == second).mean())
    by_chance = float(first.mean() * second.mean() + (1 - first.mean()) * (1 - second.mean()))
    return same, (same - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan"), n
