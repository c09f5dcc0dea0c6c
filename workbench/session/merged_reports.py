"""Graders that did not run again keep what they said. No widget here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import ReportError
from workbench.report.same import require_same_rows

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.report.protocols import SamplesLike

__all__ = ["beside", "others"]


def others(
    before: Report | None, rows: SamplesLike, *, running: Collection[str], standing: Collection[str]
) -> list[str]:
    """Graders of the report before that do not run and whose scores of these rows stand.

    Args:
        before: The report that is shown; None for none. One with a gate judges a suite as a whole, and has none.
        rows: What the others run on, of the same dataset.
        running: Graders that run.
        standing: Graders whose definition is the one that ran before.
    """
    if before is None or before.gate is not None or not np.array_equal(before.samples.ids, rows.ids):
        return []
    return [name for name in before.graders if name in standing and name not in running]


def beside(report: Report, before: Report, names: Sequence[str], order: Sequence[str]) -> Report:
    """A run's report with what others said of the same rows.

    Args:
        report: The run's.
        before: The others'.
        names: The others.
        order: All graders as they are listed; a suite's own score stands at the end.

    Returns:
        The run's own report where the rows say something else under the same ids.
    """
    try:
        require_same_rows(before.samples, report.samples)
    except ReportError:
        return report
    grades = {**{name: before.grades[name] for name in names}, **report.grades}
    place = {name: at for at, name in enumerate(order)}
    listed = sorted(grades, key=lambda name: place.get(name, len(place)))
    sources = {name: before.sources[name] for name in names if name in before.sources}
    cut = any(before.grades[name].cut_off for name in names)  # the notes of their run say why
    return replace(
        report,
        grades={name: grades[name] for name in listed},
        sources={**sources, **report.sources},
        notes=tuple(dict.fromkeys((*report.notes, *(before.notes if cut else ())))),
    )
