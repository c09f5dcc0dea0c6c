"""Graders next to those of a report: of a past run, whose grades the rows came with, and of an earlier report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from workbench.core.display_text import counted, number, one_line
from workbench.core.errors import ReportError
from workbench.core.grades import Grades
from workbench.report.comparison import Comparison

Report = TypeVar("Report", bound=Any)
"""A `Report`, whose module imports this one."""

OLD = " (old)"
"""The end of a past grader's name in a report."""
_SHOWN = 6
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
    shown = ", ".join(_described(name, grades) for name, grades in list(old.items())[:_SHOWN])
    more = f" and {len(old) - _SHOWN} more" if len(old) > _SHOWN else ""
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
