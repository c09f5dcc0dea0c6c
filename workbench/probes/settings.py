"""The settings of a probe that are those of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Self

from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.core.progress import OnProgress
from workbench.graders.base import is_number
from workbench.judges.asking.budget import Budget

__all__ = ["ProbeRunSettings"]


@dataclass(frozen=True, kw_only=True)
class ProbeRunSettings:
    """Settings of `wb.probe` with the meaning they have in `Suite.run`.

    Attributes:
        labels: Known-good rows: their completions are the preferred examples of a correct one.
        pass_threshold: Lowest score that accepts a text; None for the grader's own verdict, else the higher of two
            scores, else a score as high as that of the row's correct completion.
        budget: The maximum that judges may spend in the whole probe.
        store: Where judges' replies are stored.
        progress: Whether to show a bar, or the function to call with the progress.
    """

    labels: Any = None
    pass_threshold: float | None = None
    budget: Budget | float | None = None
    store: Any = None
    progress: bool | OnProgress = True

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Self:
        """The settings by name.

        Raises:
            TypeError: An unknown setting; the message lists the known ones.
            ReportError: A pass threshold that is not a finite number.
        """
        names = [field.name for field in fields(cls)]
        if unknown := set(settings) - {*names}:
            near = did_you_mean(min(unknown), names)
            listed = f"its further settings are {', '.join(names)}"
            raise TypeError(f"probe has no setting {min(unknown)!r}; {near or listed}")
        made = cls(**settings)
        mark = made.pass_threshold
        if mark is not None and not (is_number(mark) and math.isfinite(mark)):
            raise ReportError(
                "pass_threshold must be a finite number", found=repr(mark), expected="such as 0.5"
            )
        return made
