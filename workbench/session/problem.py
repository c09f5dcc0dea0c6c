"""What went wrong in a callback: a notebook shows nothing of it by itself, so the panels do."""

from __future__ import annotations

import html
import traceback
from dataclasses import dataclass

from workbench.display_text import visible
from workbench.errors import WorkbenchError

__all__ = ["Problem", "as_html"]


@dataclass(frozen=True)
class Problem:
    """An error, for people.

    Attributes:
        what: What happened, in words.
        trace: The traceback; "" for an interrupt.
        where: The panel it happened in.
    """

    what: str
    trace: str = ""
    where: str = ""

    @classmethod
    def of(cls, error: BaseException, where: str = "") -> Problem:
        """The problem behind an exception."""
        if isinstance(error, KeyboardInterrupt):
            return cls("Interrupted.", "", where)
        trace = "".join(traceback.format_exception(error))
        is_own_error = isinstance(error, WorkbenchError)
        return cls(str(error) if is_own_error else f"{type(error).__name__}: {error}", trace, where)


def as_html(problem: Problem | None) -> str:
    """The message, and its traceback behind a fold; "" for none."""
    if problem is None:
        return ""
    where = f"{_text(problem.where)}: " if problem.where else ""
    fold = (
        f"<details><summary>traceback</summary><pre>{_text(problem.trace)}</pre></details>"
        if problem.trace
        else ""
    )
    return f"<div class='wb-problem' role='alert'><b>{where}</b><pre>{_text(problem.what)}</pre>{fold}</div>"


def _text(text: str) -> str:
    return html.escape(visible(text))
