"""Two versions of one grader: its columns out of two reports over the same samples, side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import ReportError

if TYPE_CHECKING:
    from workbench.report.report import Report

__all__ = ["side_by_side"]


def side_by_side(before: Report, now: Report, grader: str | None = None) -> Report:
    """One report with the grader of the one as "... (before)" and of the other as "... (now)".

    Args:
        before: The earlier report; pass mark, scale and (where it has any) labels are taken from it.
        now: The later one, over the same samples.
        grader: Its name; may be left out where `before` has one grader only.

    Raises:
        ReportError: A report without the grader, no name where one is needed, or other samples.
    """
    name = _named(before, grader)
    if name not in now.grades:
        raise ReportError(
            f"there is no grader {name!r} in the later report",
            expected=" or ".join(map(repr, now.graders)) or "none: the report is empty",
        )
    return _alone(before, name, "before").merge(_alone(now, name, "now"))


def _named(report: Report, grader: str | None) -> str:
    names = report.graders
    if grader is None and len(names) == 1:
        return names[0]
    if grader in names and grader is not None:
        return grader
    raise ReportError(
        "name the grader to compare"
        if grader is None
        else f"there is no grader {grader!r} in the earlier report",
        expected=" or ".join(map(repr, names)) or "none: the report is empty",
        hint="wb.compare(before, now, 'name')" if grader is None else "",
    )


def _alone(report: Report, name: str, when: str) -> Report:
    new = f"{name} ({when})"
    sources = {new: report.sources[name]} if name in report.sources else {}
    return replace(report, grades={new: report.grades[name]}, sources=sources, gate=None)
