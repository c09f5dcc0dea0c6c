"""Statistics of one report for the view: each is computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics import Case, Finding
from workbench.report import Report
from workbench.report.cases import label_codes
from workbench.report.counts import Counts, counts_of, parts_of
from workbench.report.where import case_of

__all__ = ["GradedRows"]


class GradedRows:
    """A report, read for the view.

    Args:
        report: The report; one without graders before a run.
        labels: Label of each row for display, (n,); None if there are none.
    """

    def __init__(self, report: Report, labels: list[bool | None] | None) -> None:
        self.report, self.labels = report, labels
        self._parts: dict[str, NDArray[np.int8]] = {}
        self._made: dict[tuple[str, str], Any] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.report.grades

    def case(self, name: str) -> Case:
        """One grader's grades with the labels that rates use."""
        return case_of(self.report, name)

    def parts(self, name: str) -> NDArray[np.int8]:
        """The part of each row, (n,); see `counts.parts_of`."""
        if name not in self._parts:
            self._parts[name] = parts_of(self.case(name))
        return self._parts[name]

    @property
    def all_parts(self) -> dict[str, NDArray[np.int8]]:
        """`parts` of every grader."""
        return {name: self.parts(name) for name in self.report.grades}

    def counts(self, name: str) -> Counts:
        """Rows of each part."""
        return counts_of(self.parts(name))

    def findings(self, name: str) -> list[Finding]:
        """The findings about one grader, most severe first."""
        return self._findings.get(name, [])

    @cached_property
    def _findings(self) -> dict[str, list[Finding]]:
        by_name: dict[str, list[Finding]] = {}
        for finding in self.report.findings if self.report.grades else ():
            by_name.setdefault(finding.grader, []).append(finding)
        return by_name

    def once(self, part: str, name: str, make: Callable[[], Any]) -> Any:
        """A part of the state that depends only on the report, computed once per grader."""
        if (part, name) not in self._made:
            self._made[part, name] = make()
        return self._made[part, name]

    @cached_property
    def has_labels(self) -> bool:
        """Whether rates have any row that is labelled good or bad."""
        labels: Any = self.report.labels
        return labels is not None and any(label is not None for label in labels)

    def repeats_labels(self, cells: NDArray[Any]) -> bool:
        """Whether a column equals the labels, (n,): it would be constant among rows of one label."""
        codes, labels = pd.factorize(cells)[0], self._label_codes
        known = labels >= 0
        pairs = np.unique(codes[known] * 2 + labels[known])
        return len(pairs) <= 2 and len(np.unique(pairs // 2)) == len(pairs)

    @cached_property
    def _label_codes(self) -> NDArray[np.int8]:
        return label_codes(self.report)
