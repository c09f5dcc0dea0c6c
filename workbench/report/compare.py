"""Comparisons of two graders of one report, or of two versions of one grader over the same samples."""

from __future__ import annotations

from dataclasses import replace

from workbench.core.errors import ReportError
from workbench.report import Report
from workbench.report.comparison import Comparison


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
        return report.compare(a, b)
    merged = _both_versions(report, a, b)
    return merged.compare(*merged.graders)


def _both_versions(before: Report, now: Report, grader: str | None) -> Report:
    """One report with the grader's columns of both: "... (before)" and "... (now)"."""
    name = _grader_name(before, grader)
    if name not in now.grades:
        raise ReportError(
            f"unknown grader {name!r} in the later report",
            expected=" or ".join(map(repr, now.graders)) or "none: the report is empty",
        )
    return _one_version(before, name, "before").merge(_one_version(now, name, "now"))


def _grader_name(report: Report, grader: str | None) -> str:
    names = report.graders
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


def reuse(report: Report, other: Report) -> Report:
    """Copy cached values of shared graders from another report over exactly the same rows.

    Args:
        report: The report; it is returned.
        other: The source; if its rows differ, nothing is copied.
    """
    if other.samples is report.samples:
        report.analysis.claims = other.analysis.claims
        for name in ("columns", "prompt_codes"):
            report.__dict__.setdefault(name, getattr(other, name))
    return report
