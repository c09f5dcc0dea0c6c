"""Merge reports, so that graders that did not run again retain their grades."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.errors import ReportError
from workbench.report.same import require_same_rows

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.report.protocols import SamplesLike

__all__ = ["merge", "reusable_graders"]


def reusable_graders(
    before: Report | None, rows: SamplesLike, *, running: Collection[str], unchanged: Collection[str]
) -> list[str]:
    """Graders of the previous report that do not run and whose grades of these rows remain valid.

    Args:
        before: The report that is shown; None for none. A report with a gate applies to a whole suite, and has none.
        rows: The rows of the new run, of the same dataset.
        running: Graders that run.
        unchanged: Graders with the same definition as in the previous report.
    """
    if before is None or before.gate is not None or not np.array_equal(before.samples.ids, rows.ids):
        return []
    return [name for name in before.graders if name in unchanged and name not in running]


def merge(report: Report, before: Report, names: Sequence[str], order: Sequence[str]) -> Report:
    """A run's report with the grades of other graders on the same rows.

    Args:
        report: The run's.
        before: The report with the others' grades.
        names: The others; if the run has grades of them too, these are older.
        order: All graders in list order; a suite's score comes last.

    Returns:
        The run's unchanged report if the rows have other texts under the same ids.
    """
    try:
        require_same_rows(before.samples, report.samples)
    except ReportError:
        return report
    grades = {**report.grades, **{name: before.grades[name] for name in names}}
    rank = {name: position for position, name in enumerate(order)}
    ordered = sorted(grades, key=lambda name: rank.get(name, len(rank)))
    sources = {name: before.sources[name] for name in names if name in before.sources}
    kept = {name: before.fingerprints[name] for name in names if name in before.fingerprints}
    cut_off = any(before.grades[name].cut_off for name in names)  # the notes of their run give the reason
    return replace(
        report,
        grades={name: grades[name] for name in ordered},
        sources={**report.sources, **sources},
        fingerprints={**report.fingerprints, **kept},
        notes=tuple(dict.fromkeys((*report.notes, *(before.notes if cut_off else ())))),
    )
