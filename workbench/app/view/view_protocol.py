"""The interface of a view for the page's actions: `app.AppView` implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.view.compare import CompareMode
    from workbench.app.view.graded import GradedRows
    from workbench.app.view.shown_rows import ShownRows
    from workbench.app.view.try_out import TryMode

__all__ = ["View"]


class View(Protocol):
    """The state that actions change: see `app.AppView`."""

    session: Session
    chosen: str
    mode: str
    rows: ShownRows
    try_out: TryMode
    compare: CompareMode

    @property
    def graded(self) -> GradedRows:
        """The report that is shown."""
        ...

    def mark(self, *parts: str) -> None:
        """Mark parts of the state as out of date."""
        ...

    def mark_mode(self) -> None:
        """Mark the content of the open mode as changed."""
        ...

    def open(self) -> None:
        """A page shows the view."""
        ...

    def set_mode(self, mode: str) -> None:
        """Open a mode."""
        ...

    def show_code(self) -> None:
        """Set the line for the content of the open mode."""
        ...

    def choose(self, name: str) -> None:
        """Select a grader."""
        ...

    def typed(self, name: str, text: str) -> None:
        """Record that a page already has this text of a grader."""
        ...

    def labels_changed(self) -> None:
        """Mark the labels of the rows as changed."""
        ...
