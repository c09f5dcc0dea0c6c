"""Graders of the past next to those of a report, and `Replay`: a past run graded again on the same completions, row by row.

The past graders are those whose grades the rows came with, and those of an earlier report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.display import DisplayBlock, Displayed, Folded, Items, Paragraph
from workbench.core.display_text import counted, number, one_line
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.report.comparison import Comparison
from workbench.report.frames import row_frame, rows_table
from workbench.report.settings import SamplesLike

Report = TypeVar("Report", bound=Any)
"""A `Report`, whose module imports this one."""

OLD = " (old)"
"""The end of a past grader's name in a report."""
_SHOWN_OLD = 6
"""Maximum old graders that a sentence names."""


def old_grades_of(samples: Any, taken: Mapping[str, Any]) -> dict[str, Grades]:
    """The grades that rows came with, by the name in a report: "match (old)".

    Args:
        samples: The rows.
        taken: Graders of the report, whose names are not reused.
    """
    came = getattr(samples, "old_grades", None) or {}
    # A report of the old grades themselves has them already, under their own names.
    found = {f"{name}{OLD}": grades for name, grades in came.items() if taken.get(name) is not grades}
    return {name: grades for name, grades in found.items() if name not in taken}


def with_old(report: Report) -> Report:
    """The same report with the graders of the past run next to its graders, and the same gate."""
    old = old_grades_of(report.samples, report.grades)
    return replace(report, grades={**report.grades, **old}) if old else report


def resolved(report: Report, a: str, b: str) -> tuple[Report, str, str]:
    """A report that has all these graders, and their names in it.

    A name that no grader of the report has is looked for among those of the past run, with or without " (old)"; "old" is the
    only one of them.
    """
    whole = report
    if a not in report.grades or b not in report.grades:
        old = list(old_grades_of(report.samples, report.grades))
        whole, a, b = with_old(report), _resolved(a, report.grades, old), _resolved(b, report.grades, old)
    return whole, a, b


def _resolved(name: str, own: Mapping[str, Grades], old: Sequence[str]) -> str:
    if name in own or name in old:
        return name
    if f"{name}{OLD}" in old:
        return f"{name}{OLD}"
    return old[0] if name == "old" and len(old) == 1 else name


def old_lines(report: Report) -> Iterator[str]:
    """A sentence on the graders of the past run, and how to compare one; none if the rows came without grades."""
    old = old_grades_of(report.samples, report.grades)
    if not old:
        return
    shown = ", ".join(_described(name, grades) for name, grades in list(old.items())[:_SHOWN_OLD])
    more = f" and {len(old) - _SHOWN_OLD} more" if len(old) > _SHOWN_OLD else ""
    own = next((name for name in report.grades if not name.endswith(OLD)), "")
    first = next((name for name in old if name == f"{own}{OLD}"), next(iter(old)))
    use = f"; compare: report.compare({first!r}, {own!r})" if own else ""
    yield f"the rows came with {counted(len(old), 'old grader')}: {shown}{more}{use}"


def _described(name: str, grades: Grades) -> str:
    scores = grades.scores[~np.isnan(grades.scores)]
    mean = f", mean {number(float(scores.mean()))}" if len(scores) else ""
    return f"{one_line(name, 60)} ({len(scores):,} scored{mean})"


def both_versions(before: Report, now: Report, grader: str | None) -> Report:
    """One report with the grader's columns of both: "... (before)" and "... (now)"."""
    name = _grader_name(before, grader)
    if name not in now.grades:
        raise ReportError(
            f"unknown grader {name!r} in the later report",
            expected=" or ".join(map(repr, now.graders)) or "none: the report is empty",
        )
    merged: Report = _one_version(before, name, "before").merge(_one_version(now, name, "now"))
    return merged


def _grader_name(report: Report, grader: str | None) -> str:
    names: list[str] = report.graders
    if grader is None and len(names) == 1:
        return names[0]
    if grader in names and grader is not None:
        return grader
    raise ReportError(
        "name the grader to compare"
        if grader is None
        else f"unknown grader {grader!r} in the earlier report",
        expected=" or ".join(map(repr, names)) or "none: the report is empty",
        hint="wb.compare(before, now, 'name')" if grader is None else "",
    )


def _one_version(report: Report, name: str, when: str) -> Report:
    new = f"{name} ({when})"
    sources = {new: report.sources[name]} if name in report.sources else {}
    # Without the gate, whose verdict is for the whole run and not this grader.
    return replace(report, grades={new: report.grades[name]}, sources=sources, gate=None)


def compare(report: Report, a: str | Report, b: str | None = None) -> Comparison:
    """Two graders of one report, or one grader in two reports over the same samples.

    Args:
        report: The report with both graders, or the earlier one.
        a: Name of one grader; or the later report.
        b: Name of the other grader. With two reports: name of the grader in both, which may be omitted if the
            first report has only one.

    Returns:
        Second minus first; the graders of two reports are named "... (before)" and "... (now)", and pass threshold,
        scale and labels (if any) are those of the first.

    Raises:
        ReportError: An unknown grader, the same one twice, no name although one is needed, or reports over different samples.
    """
    if not hasattr(report, "grades") or not (isinstance(a, str) or hasattr(a, "grades")):
        argument = a if hasattr(report, "grades") else report
        raise ReportError(
            "compare takes reports, not graders",
            found=type(argument).__name__,
            hint="run both: wb.compare(wb.Suite([one, other]).run(samples), 'one', 'other')",
        )
    if isinstance(a, str):
        if b is None:
            raise ReportError(
                "a comparison needs two graders", found=repr(a), hint="wb.compare(report, 'one', 'other')"
            )
        compared: Comparison = report.compare(a, b)
        return compared
    merged = both_versions(report, a, b)
    result: Comparison = merged.compare(*merged.graders)
    return result


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
