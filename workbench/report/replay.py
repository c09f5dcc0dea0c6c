"""`Replay`: the graders of a past run, graded again on the same completions, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.display import DisplayBlock, Displayed, Folded, Items, Paragraph
from workbench.core.display_text import counted, number, one_line
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.report.frames import row_frame, rows_table
from workbench.report.past_graders import OLD, old_grades_of
from workbench.report.settings import SamplesLike

_SAME = 1e-6
"""Scores closer than this are equal: tools round the scores that they export."""
_SHOWN = 8
"""Maximum rows that are described in text."""


@dataclass(frozen=True, eq=False, repr=False)
class ReplayedGrader(Displayed):
    """One grader and its past scores on the same rows.

    Attributes:
        grader: Its name.
        compared: Rows that both scored.
        equal: Rows among them with the same score.
        differing: Numbers of the rows with another score, or with a score then and none now, (m,).
        only_now: Rows that have a score now and had none.
    """

    _label = "Replay of a grader"

    grader: str
    compared: int
    equal: int
    differing: NDArray[np.intp]
    only_now: int
    _samples: SamplesLike = field(repr=False)
    _now: Grades = field(repr=False)
    _then: Grades = field(repr=False)

    @property
    def sentence(self) -> str:
        """The counts in one sentence."""
        n_then = len(self.differing) + self.equal
        name = one_line(self.grader, 60)
        if not n_then:
            return f"{name}: no row has a score of the past run"
        new = f"; {counted(self.only_now, 'row')} had no score then" if self.only_now else ""
        if not len(self.differing):
            every = "the only row has" if n_then == 1 else f"all {n_then:,} rows have"
            return f"{name}: replayed, {every} the score of the past run{new}"
        return (
            f"{name}: replayed, {self.equal:,} of {n_then:,} rows have the score of the past run, "
            f"{len(self.differing):,} {'differs' if len(self.differing) == 1 else 'differ'}{new}"
        )

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The differing rows: sample, prompt, completion, reference, `then`, `now`, and `why` (reasons and errors)."""
        frame = row_frame(self._samples, {}, self.differing)
        frame["then"], frame["now"] = (grades.scores[self.differing] for grades in (self._then, self._now))
        frame["why"] = [self._why(int(row)) for row in self.differing]
        return frame

    def _why(self, row: int) -> str:
        now, then = self._now[row], self._then[row]
        parts = [f"then: {then.reasoning}" if then.reasoning else ""]
        if now.error is not None:
            parts.append(f"now: {now.error.kind}: {now.error.message}")
        elif now.score is None:
            parts.append(f"now: skipped{f': {now.reasoning}' if now.reasoning else ''}")
        elif now.reasoning:
            parts.append(f"now: {now.reasoning}")
        return "; ".join(filter(None, parts))

    def lines(self, limit: int = _SHOWN) -> Iterator[str]:
        """A line for each differing row, at most `limit`: id, both scores, completion, reference and reasons."""
        for _, row in self.frame.head(limit).iterrows():
            why = f"; {one_line(row['why'], 200)}" if row["why"] else ""
            reference = (
                f", reference {one_line(repr(row['reference']), 80)}" if row["reference"] is not None else ""
            )
            yield (
                f"row {one_line(row['sample'], 60)}: {number(row['then'])} then, {number(row['now'])} now; "
                f"completion {one_line(repr(row['completion']), 120)}{reference}{why}"
            )
        if len(self.differing) > limit:
            yield f"and {len(self.differing) - limit:,} more rows: report.replay()[{self.grader!r}].frame"

    def _blocks(self) -> Iterator[DisplayBlock]:
        yield Paragraph(f"{self.sentence}.", "lead")
        yield Items(list(self.lines()))
        if len(self.differing):
            yield Folded("all differing rows", [rows_table(self.frame, None)])


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Displayed, Mapping[str, ReplayedGrader]):
    """The graders of a past run graded again on the completions of that run; by name."""

    _label = "Replay"

    graders: Mapping[str, ReplayedGrader]

    def __getitem__(self, name: str) -> ReplayedGrader:
        return self.graders[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.graders)

    def __len__(self) -> int:
        return len(self.graders)

    @property
    def n_differing(self) -> int:
        """Number of scores that differ, over all graders."""
        return sum(len(one.differing) for one in self.graders.values())

    def __str__(self) -> str:
        return "\n".join(
            "\n".join([one.sentence, *(f"  {line}" for line in one.lines())]) for one in self.graders.values()
        )

    def _blocks(self) -> Iterator[DisplayBlock]:
        for one in self.graders.values():
            yield from one._blocks()  # noqa: SLF001 (the same module)


def replayed(grades: Mapping[str, Grades], old: Mapping[str, Grades], samples: SamplesLike) -> Replay:
    """The graders of a report that the rows have past scores of: by the same name, or the only one of both.

    Args:
        grades: The report's grades by name.
        old: The past grades, by names that end in " (old)".
        samples: The rows.
    """
    return Replay(
        {name: _compared(name, grades[name], old[past], samples) for name, past in pairs(grades, old)}
    )


def pairs(grades: Mapping[str, Grades], old: Mapping[str, Grades]) -> list[tuple[str, str]]:
    """The names of graders with those of their past grades."""
    by_name = {past.removesuffix(OLD).strip().casefold(): past for past in old}
    found = [
        (name, by_name[name.strip().casefold()])
        for name in grades
        if name not in old and name.strip().casefold() in by_name
    ]
    own = [name for name in grades if name not in old]
    return found or ([(own[0], next(iter(old)))] if len(own) == len(old) == 1 else [])


def _compared(name: str, now: Grades, then: Grades, samples: SamplesLike) -> ReplayedGrader:
    had, has = ~np.isnan(then.scores), ~np.isnan(now.scores)
    both = had & has
    with np.errstate(invalid="ignore"):
        same = both & (np.abs(now.scores - then.scores) <= _SAME)
    differing = np.flatnonzero(had & ~same)
    return ReplayedGrader(
        name, int(both.sum()), int(same.sum()), differing, int((has & ~had).sum()), samples, now, then
    )


def replay_of(report: Any, old: Mapping[str, Grades]) -> Replay:
    """The replay of a report.

    Raises:
        ReportError: The rows have no past scores, or none of a grader of the report.
    """
    if not old:
        raise ReportError(
            "the rows have no scores of a past run",
            hint="read the export of that run: grader.run(wb.read_samples('export.json')).replay()",
        )
    found = replayed(report.grades, old, report.samples)
    if not found:
        raise ReportError(
            "no grader of the report is one of the past run", found=", ".join(report.grades),
            expected=" or ".join(name.removesuffix(OLD) for name in old), hint="name the grader as it was called, or use report.compare(a, b)",
        )  # fmt: skip
    return found


def replay_lines(report: Any) -> Iterator[str]:
    """The sentences of a replay for a report's text, with the first differing rows; none without past scores."""
    old = old_grades_of(report.samples, report.grades)
    for one in replayed(report.grades, old, report.samples).values() if old else ():
        yield one.sentence
        yield from one.lines(_IN_REPORT)


_IN_REPORT = 3
"""Maximum rows that a report describes."""
