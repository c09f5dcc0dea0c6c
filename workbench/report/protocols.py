"""What a report asks of samples: rows it can count, name, group and read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.thread import StringThread

__all__ = ["SampleLike", "SamplesLike"]


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
        """What a right answer looks like; None where there is none."""


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
        """The prompt each row answers, (n,)."""

    @property
    def frame(self) -> pd.DataFrame:
        """The rows with all their columns, in the same order."""

    @property
    def notes(self) -> Sequence[str]:
        """What a person should know of the rows, a sentence each."""
