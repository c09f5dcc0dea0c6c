"""Which rows are graded, and how often: the settings of a run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.core.errors import WorkbenchError
from workbench.report.settings import few_valued_columns

if TYPE_CHECKING:
    from workbench.app.session.guard import ActionGuard
    from workbench.data.samples import Samples


FIRST = 500
"""Rows drawn by default: enough for a verdict, and graded by code in about a second."""

_MAX_REPEATS = 20


@dataclass(frozen=True)
class Draw:
    """The settings of a run.

    Attributes:
        n: Rows to draw; 0 for all.
        seed: Of the draw.
        by: Column whose values are strata; "" for none.
        repeats: How often non-deterministic graders grade each row, 1 to 20.
        budget: Maximum US dollars, as typed; "" for no limit.
    """

    n: int = 0
    seed: int = 0
    by: str = ""
    repeats: int = 1
    budget: str = ""

    @property
    def dollars(self) -> float | None:
        """The budget as a number; None for no limit.

        Raises:
            WorkbenchError: It is not a number above 0.
        """
        typed = self.budget.strip().removeprefix("$")
        try:
            dollars = float(typed) if typed else None
        except ValueError:
            dollars = math.nan
        if dollars is not None and not 0 < dollars < math.inf:
            raise WorkbenchError(
                "the budget must be a number above 0",
                found=typed[:60],
                expected="US dollars such as 0.50, or empty for no limit",
            )
        return dollars


class DrawnRows(HasTraits):
    """The rows of a dataset that are graded.

    Traits (observe it; set it through `change`):
        draw: The settings.

    Args:
        samples: The dataset.
        guard: Its lock is held during changes.
    """

    draw: Any = AnyTrait()

    def __init__(self, samples: Samples, guard: ActionGuard) -> None:
        super().__init__()
        self._samples, self._guard = samples, guard
        self._rows: tuple[tuple[int, int, str], Samples] | None = None
        self.draw = Draw(FIRST if len(samples) > FIRST else 0)

    @property
    def rows(self) -> Samples:
        """The drawn rows: the same object until the next draw, so that cached results remain valid."""
        draw: Draw = self.draw
        key = (draw.n, draw.seed, draw.by)
        if self._rows is None or self._rows[0] != key:
            drawn = (
                self._samples.draw(draw.n, seed=draw.seed, by=draw.by or None) if draw.n else self._samples
            )
            self._rows = (key, drawn)
        return self._rows[1]

    def change(self, **settings: Any) -> None:
        """Change some of the settings.

        Raises:
            WorkbenchError: A number outside its range, or an unknown column.
        """
        draw = replace(self.draw, **settings)
        _check(draw, len(self._samples))
        with self._guard.lock:
            before, self.draw = self.draw, draw
            try:
                _ = self.rows
            except ValueError:
                self.draw = before
                raise

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain JSON."""
        return asdict(self.draw)

    @cached_property
    def strata(self) -> list[str]:
        """Columns with few distinct values: candidates for strata."""
        return few_valued_columns(self._samples)


def _check(draw: Draw, total: int) -> None:
    for name, value, least, most in (
        ("rows", draw.n, 0, total),
        ("seed", draw.seed, 0, 2**31 - 1),
        ("repeats", draw.repeats, 1, _MAX_REPEATS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise WorkbenchError(
                f"{name} must be a whole number", found=repr(value)[:60], expected=f"{least:,} to {most:,}"
            )
    _ = draw.dollars
