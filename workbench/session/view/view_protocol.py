"""What a page's actions change, as a type: `app.AppView` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from workbench.session.session import Session
    from workbench.session.view.compare import CompareMode
    from workbench.session.view.graded import Graded
    from workbench.session.view.shown_rows import ShownRows
    from workbench.session.view.try_out import TryMode

__all__ = ["View"]


class View(Protocol):
    """What actions change: see `app.AppView`."""

    session: Session
    chosen: str
    mode: str
    rows: ShownRows
    try_out: TryMode
    compare: CompareMode

    @property
    def graded(self) -> Graded:
        """The report that is shown."""
        ...

    def mark(self, *parts: str) -> None:
        """Note that parts of the state are no longer true."""
        ...

    def mark_mode(self) -> None:
        """Note that what the open mode shows may have changed."""
        ...

    def open(self) -> None:
        """A page shows the view."""
        ...

    def set_mode(self, mode: str) -> None:
        """Open a mode."""
        ...

    def leave_code(self) -> None:
        """Leave the line that has what the open mode shows."""
        ...

    def choose(self, name: str) -> None:
        """Show a grader in the middle."""
        ...

    def typed(self, name: str, text: str) -> None:
        """Note that a page has this text of a grader."""
        ...

    def labels_changed(self) -> None:
        """Note that what is known of the rows changed."""
        ...
