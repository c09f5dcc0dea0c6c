"""A grader that a person removed or replaced: what it takes to put it back."""

from __future__ import annotations

from typing import NamedTuple

from workbench.graders import Grader

__all__ = ["RemovedGrader"]


class RemovedGrader(NamedTuple):
    """A grader that a person removed, or wrote another one in place of.

    Attributes:
        name: What it was called here.
        grader: The grader.
        from_cell: The grader that a cell defined last under this name; None where it was written in the app.
        chosen: Whether it was chosen.
        order: The names of all graders, in their order before.
    """

    name: str
    grader: Grader
    from_cell: Grader | None
    chosen: bool
    order: tuple[str, ...]
