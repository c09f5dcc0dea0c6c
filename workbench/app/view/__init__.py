"""A session as the page shows it: plain JSON, named as in the front end's `protocol.ts`. It does not depend on widgets.

Every module here is loaded; those that define a mode register it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from workbench.core.discovery import load_modules, refuse_taken

if TYPE_CHECKING:
    from workbench.app.session.session import Session

M = TypeVar("M", bound="type[Mode]")

GRADE = "grade"
"""The initial mode, which shows the selected grader and the rows; the view itself computes it."""


class Mode:
    """What one mode shows. Its methods `do_...` and `ask_...` handle the page's messages; see `Actions`.

    All methods are called with the session's lock.

    Args:
        session: The session.
        on_change: Called with the lock when `data` has changed without a message of the page.
    """

    def __init__(self, session: Session, on_change: Callable[[], object] = lambda: None) -> None:
        self._session, self._on_change = session, on_change

    def data(self) -> dict[str, Any] | None:
        """The mode's part of the state, as JSON; None if there is nothing to show."""
        raise NotImplementedError

    def opened(self) -> None:
        """Prepare for being shown."""

    def show_code(self) -> None:
        """Set the line of code for what is shown, if there is one."""

    def choose(self, name: str) -> None:
        """Follow the selection of a grader."""

    def close(self) -> None:
        """Stop work in progress: the view is closed."""


class ModeKind(NamedTuple):
    """A registered mode.

    Attributes:
        title: On its button.
        state: The part of the state that it shows, which is also the name of the widget's trait.
        position: Its position among the buttons.
        make: Its class.
    """

    title: str
    state: str
    position: int
    make: type[Mode]


_KINDS: dict[str, ModeKind] = {}


def mode(name: str, title: str, *, position: int, state: str = "") -> Callable[[M], M]:
    """Register a subclass of `Mode`.

    Args:
        name: In messages and saved views.
        title: On its button.
        position: Its position among the buttons, from 1; `GRADE` is before all.
        state: See `ModeKind`; the name by default.

    Raises:
        ValueError: Another class has the name.
    """

    def register(cls: M) -> M:
        taken = _KINDS.get(name)
        refuse_taken("mode", name, taken and taken.make, cls)
        _KINDS[name] = ModeKind(title, state or name, position, cls)
        return cls

    return register


def mode_kinds() -> dict[str, ModeKind]:
    """Every registered mode by its name, by position."""
    return dict(sorted(_KINDS.items(), key=lambda item: item[1].position))


def mode_titles() -> dict[str, str]:
    """The title of every mode by its name, in the order of the buttons."""
    return {GRADE: "Grade", **{name: kind.title for name, kind in mode_kinds().items()}}


load_modules(sys.modules[__name__])
