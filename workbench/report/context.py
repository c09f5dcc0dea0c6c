"""Columns of the rows that a diagnostic may read beside the scores; each is read at first use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.report.frames import row_texts
from workbench.report.protocols import SamplesLike
from workbench.samples.plain import is_missing

__all__ = ["TOPIC_COLUMN", "SampleColumns"]

TOPIC_COLUMN = "topic"
"""The column that names each row's topic, as vLLora's datasets have it."""


@dataclass(frozen=True)
class SampleColumns:
    """Columns of the samples of a report, for `diagnostics.case.RowContext`.

    Attributes:
        samples: The rows.
    """

    samples: SamplesLike

    @cached_property
    def topics(self) -> list[Any] | None:
        """Topic of each row, (n,), None for a row without; None where there is no column `topic`."""
        frame = self.samples.frame
        if TOPIC_COLUMN not in frame:
            return None
        return [None if is_missing(topic) else str(topic) for topic in frame[TOPIC_COLUMN]]

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Characters of each completion, (n,); 0 where there is none."""
        rows = np.arange(len(self.samples), dtype=np.intp)
        # Nothing reads the prompts here, so that joining their turns would be work for nothing.
        completions = (texts[2] for texts in row_texts(self.samples, rows, lambda _: ""))
        return np.fromiter((len(text or "") for text in completions), np.float64, len(rows))
