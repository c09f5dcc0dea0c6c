"""A report in which one grader changed takes over what was computed of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.report.report import Report

__all__ = ["reuse"]


def reuse(report: Report, other: Report) -> Report:
    """A report, with what another one read of the very same rows and computed of the graders that both have.

    Args:
        report: The report; it is returned.
        other: One over the same rows; of other rows nothing is taken.
    """
    if other.samples is report.samples:
        other.__dict__.setdefault("known_claims", {})
        for name in ("columns", "prompt_codes", "known_claims"):
            report.__dict__.setdefault(name, getattr(other, name))
    return report
