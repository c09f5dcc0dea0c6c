"""A grader that a user removed or replaced, with all that is needed to restore it."""

from __future__ import annotations

from typing import NamedTuple

from workbench.graders import Grader

__all__ = ["RemovedGrader"]


class RemovedGrader(NamedTuple):
    """A grader that a user removed or replaced.

    Attributes:
        name: Its name in the session.
        grader: The grader.
        from_cell: The grader that a cell defined last under this name; None if it was written in the app.
        chosen: Whether it was selected.
        order: The names of all graders, in their order before.
    """

    name: str
    grader: Grader
    from_cell: Grader | None
    chosen: bool
    order: tuple[str, ...]
