"""An error of a callback, for display: a notebook shows nothing of it by itself, so the panels do."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from workbench.core.errors import WorkbenchError

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """An error, for display.

    Attributes:
        what: What happened.
        trace: The traceback; "" for an interrupt.
        where: The panel it happened in.
    """

    what: str
    trace: str = ""
    where: str = ""

    @classmethod
    def of(cls, error: BaseException, where: str = "") -> Problem:
        """The problem for an exception."""
        if isinstance(error, KeyboardInterrupt):
            return cls("Interrupted.", "", where)
        trace = "".join(traceback.format_exception(error))
        is_own_error = isinstance(error, WorkbenchError)
        return cls(str(error) if is_own_error else f"{type(error).__name__}: {error}", trace, where)
