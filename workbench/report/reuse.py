"""Reuse the values computed for unchanged graders in a report in which one grader changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.report.report import Report

__all__ = ["reuse"]


def reuse(report: Report, other: Report) -> Report:
    """Copy cached values of shared graders from another report over exactly the same rows.

    Args:
        report: The report; it is returned.
        other: The source; if its rows differ, nothing is copied.
    """
    if other.samples is report.samples:
        other.__dict__.setdefault("known_claims", {})
        for name in ("columns", "prompt_codes", "known_claims"):
            report.__dict__.setdefault(name, getattr(other, name))
    return report
