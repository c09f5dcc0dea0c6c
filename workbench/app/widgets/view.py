"""One session on a page: sends traits, receives messages. `session.view` defines their content, the front end their display."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import traitlets

from workbench.app.session.session import Session
from workbench.app.view.app import AppView
from workbench.app.widgets.cell_state import forget_view, remember_view, session_of_cell
from workbench.core.display_text import counted

if TYPE_CHECKING:
    from workbench.app.session.problem import Problem

__all__ = ["WorkbenchWidget"]


@cache
def _bundle(name: str) -> str:
    """A file of the front end's build."""
    return (resources.files("workbench.app.widgets") / "static" / name).read_text("utf-8")


class WorkbenchWidget(anywidget.AnyWidget):
    """The app, or one part of it.

    Args:
        samples: A `Workbench`, another view or a `Session` to share its session; else samples, as `Workbench` takes them.
        graders: As in `Workbench`.
        settings: Further arguments of `Workbench`.

    Attributes:
        session: State and actions; see `Session`.
    """

    only: ClassVar[str] = ""
    """The one part that is shown: a mode, "graders" or "rows"; "" for all."""

    _esm = _bundle("app.js")
    _css = _bundle("app.css")

    head = traitlets.Dict().tag(sync=True)
    progress = traitlets.Dict().tag(sync=True)
    rail = traitlets.Dict().tag(sync=True)
    chosen = traitlets.Dict().tag(sync=True)
    table = traitlets.Dict().tag(sync=True)
    reader = traitlets.Dict(None, allow_none=True).tag(sync=True)
    mode = traitlets.Unicode("grade").tag(sync=True)
    part = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    starters: Any = traitlets.List().tag(sync=True)
    try_out = traitlets.Dict(None, allow_none=True).tag(sync=True)
    label = traitlets.Dict(None, allow_none=True).tag(sync=True)
    compare = traitlets.Dict(None, allow_none=True).tag(sync=True)
    export = traitlets.Dict(None, allow_none=True).tag(sync=True)
    history = traitlets.Dict(None, allow_none=True).tag(sync=True)
    turn = traitlets.Int(0).tag(sync=True)

    def __init__(self, samples: Any, graders: Any = None, **settings: Any) -> None:
        self._is_closed = False
        self.session, self._shared = _session_of(samples, graders, kind=type(self).__name__, **settings)
        super().__init__(part=self.only)
        self.view = AppView(self.session, self._publish, mode=self.only)
        self.on_msg(_on_message)
        self.session.closing.append(self._session_closes)
        remember_view(type(self).__name__, self, owns=not self._shared)

    def _publish(self, changed: Mapping[str, Any]) -> None:
        """Send what changed in one message, so that a page updates in one step."""
        with self.hold_sync():
            for name, value in changed.items():
                setattr(self, name, value)

    def on_message(self, message: Mapping[str, Any]) -> None:
        """Handle a message of a page; an invalid one is ignored."""
        reply = self.view.on_message(message)
        if reply is not None:
            self.send(reply)

    @property
    def problem(self) -> Problem | None:
        """The last error, as the view shows it; None for none."""
        problem: Problem | None = self.session.guard.problem
        return problem

    def close(self) -> None:
        """Close the view, and its session unless it is shared."""
        # Python finalises objects whose samples could not be read, and at exit: then the threads are gone, possibly
        # without releasing the lock.
        if hasattr(self, "view") and not sys.is_finalizing():
            self.dispose(end_session=not self._shared)

    def dispose(self, *, end_session: bool) -> None:
        """Close the widget; with `end_session` the session too, and its run. Calling it again has no effect."""
        if self._is_closed:
            return
        self._is_closed = True
        forget_view(self)
        if self._session_closes in self.session.closing:
            self.session.closing.remove(self._session_closes)
        self.view.close()
        if end_session:
            self.session.close()
        self.layout.close()
        super().close()

    def _session_closes(self) -> None:
        self.dispose(end_session=False)

    def __repr__(self) -> str:
        rows, graders = len(self.session.samples), len(self.session.graders.by_name)
        return f"{type(self).__name__}({counted(rows, 'row')}, {counted(graders, 'grader')})"


def _session_of(
    samples: Any, graders: Any = None, *, kind: str = "", **settings: Any
) -> tuple[Session, bool]:
    """The session of an app, a view or a session, and whether it has another owner; else a new one."""
    session = samples if isinstance(samples, Session) else getattr(samples, "session", None)
    if isinstance(session, Session):
        return session, True
    return session_of_cell(kind, samples, graders, **settings), False


def _on_message(view: WorkbenchWidget, message: Any, _buffers: Any) -> None:
    if isinstance(message, Mapping):
        view.on_message(message)
