"""The interfaces that a report needs of samples, and that functions selecting rows need of a report."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics.finding import Finding
from workbench.analysis.diagnostics.suite_case import SuiteParts
from workbench.core.grades import Grades
from workbench.core.thread import StringThread

__all__ = ["ReportLike", "SampleLike", "SamplesLike"]


class SampleLike(Protocol):
    """One row."""

    @property
    def id(self) -> str:
        """Its name, unique in the dataset."""

    @property
    def thread(self) -> StringThread:
        """The conversation."""

    @property
    def reference(self) -> Any:
        """What a correct completion looks like; None without a reference."""


class SamplesLike(Protocol):
    """Rows in a fixed order."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> SampleLike: ...

    def take(self, rows: NDArray[np.intp], /) -> Iterable[SampleLike]:
        """The rows with these numbers, in this order."""

    @property
    def ids(self) -> Sequence[str] | NDArray[Any]:
        """Names, (n,)."""

    @property
    def groups(self) -> Sequence[Hashable] | NDArray[Any]:
        """The prompt of each row, (n,)."""

    @property
    def group_codes(self) -> NDArray[np.intp]:
        """`groups` as whole numbers from 0, (n,)."""

    def completions(self, rows: NDArray[np.intp] | None = None, /) -> Sequence[str | None]:
        """The texts of the completions of these rows, (m,), None if there is none."""

    def completion_lengths(self, rows: NDArray[np.intp] | None = None, /) -> NDArray[np.float64]:
        """Their number of characters, (m,), 0 if there is none."""

    def references_at(self, rows: NDArray[np.intp], /) -> NDArray[np.object_]:
        """The references of these rows, (m,), None if there is none."""

    @property
    def column_names(self) -> Sequence[Any]:
        """The names of the columns of `frame`."""

    def column(self, name: Any, /) -> pd.Series[Any]:
        """One column of `frame`."""

    @property
    def frame(self) -> pd.DataFrame:
        """The rows with all their columns, in the same order."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Role to column name."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences about the rows that a user should read."""


class ReportLike(Protocol):
    """Grades over samples, with labels, a pass threshold and findings: the interface of `Report` for modules that it imports."""

    def __len__(self) -> int: ...

    @property
    def samples(self) -> SamplesLike:
        """The rows, n of them."""

    @property
    def grades(self) -> Mapping[str, Grades]:
        """Grades by grader name, n rows each."""

    @property
    def labels(self) -> Sequence[bool | None] | str | None:
        """Label of each row, (n,): True known good, False known bad, None unknown. None without labels."""

    @property
    def groups(self) -> Sequence[Hashable] | NDArray[Any]:
        """The prompt of each row, (n,)."""

    @property
    def prompt_codes(self) -> NDArray[np.intp]:
        """`groups` as whole numbers from 0, (n,)."""

    @property
    def fingerprints(self) -> Mapping[str, Mapping[str, str]]:
        """Digests of the settings that each grader ran with, by its name."""

    @property
    def pass_threshold(self) -> float | None:
        """Pass threshold, on the scale; None for the middle of the scale."""

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score of the graders' scale."""

    @property
    def suite(self) -> SuiteParts | None:
        """The suite that combines the graders; None if unknown."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The findings, most severe first."""
