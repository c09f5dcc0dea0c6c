"""Files that a page sends: what they were taken for, their graders added, their rows offered, and undo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.app.session.opened_files import OpenedChange, Opening, names_of
from workbench.app.view.actions import free_name
from workbench.core.display_text import counted, one_line, visible
from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.app.session.opened_files import OpenedFiles
    from workbench.app.session.session import Session
    from workbench.app.view.head import View

_MAX_LISTED = 12
"""Maximum number of files that are listed."""


class FileOpening:
    """Handlers of a page's messages about files that are dropped into it or chosen."""

    def __init__(self, view: View) -> None:
        self._view = view

    @property
    def _session(self) -> Session:
        return self._view.session

    @property
    def _files(self) -> OpenedFiles:
        return self._session.files

    def data(self) -> dict[str, Any] | None:
        """What became of the files, as `Opened`; None if there is nothing to show or to undo."""
        files, opening = self._files, self._files.opening
        if opening is None and not files.reading and not files.changes:
            return None
        opening = opening or Opening(())
        hidden = len(opening.files) - _MAX_LISTED
        return {
            "reading": one_line(files.reading, 200),
            "files": [
                {
                    "name": one_line(file.name, 120),
                    "text": visible(file.sentence),
                    "notes": [visible(note) for note in file.notes],
                    "problem": visible(file.problem[:2_000]),
                }
                for file in opening.files[:_MAX_LISTED]
            ],
            "hidden": f"{counted(hidden, 'more file')}" if hidden > 0 else "",
            "offer": self._offer(opening),
            "used": opening.used,
            "undo": self._undo(opening),
        }

    def _offer(self, opening: Opening) -> dict[str, Any] | None:
        """The rows that wait to be used, as `Offer`; None without."""
        if opening.rows is None or opening.used:
            return None
        if self._view.exchange is None:
            return {"rows": 0, "now": 0, "extends": False, "why": _SHARED}
        cannot = self._session.unmapped or opening.unmapped
        return {
            "rows": len(opening.rows), "now": len(self._session.samples), "extends": not cannot,
            "why": "Rows can be added once the columns are chosen." if cannot else "",
        }  # fmt: skip

    def _undo(self, opening: Opening) -> str:
        """What an undo would do; "" if there is nothing to undo, or rows wait and nothing else was opened with them."""
        waits = opening.rows is not None and not opening.used
        if not self._files.changes or (waits and not opening.entries):
            return ""
        change: OpenedChange = self._files.changes[-1]
        parts = [] if change.before is None else [f"restore the {len(change.before.samples):,} rows before"]
        here = [name for name in change.graders if name in self._session.graders.by_name]
        parts += [f"remove {counted(len(here), 'grader')} of the file"] if here else []
        return " and ".join(parts)

    def ask_file_piece(self, upload: str, name: str, start: int, data: str) -> int:
        """Take a piece of a file in base64; the bytes of it that are here."""
        return self._files.receive(upload, name, start, data)

    def do_cancel_files(self, upload: str) -> None:
        """Drop what was received: the user cancelled."""
        self._files.cancel(upload)

    def do_open_files(self, upload: str, files: list[Mapping[str, Any]]) -> None:
        """Read the files that were received: graders are added, rows wait for `do_use_rows` unless the app has none."""
        session = self._session
        try:
            with session.guard.lock:
                self._files.reading = ", ".join(names_of(files))
            opening = self._files.read(upload, files)
        finally:
            with session.guard.lock:
                self._files.reading = ""
        with session.guard.lock:
            added = self._add_graders(opening)
            self._files.opening = opening
            if added:
                self._files.changes = (*self._files.changes, OpenedChange(added))
        if opening.rows is not None and not len(session.samples) and self._view.exchange is not None:
            self.do_use_rows("replace")

    def _add_graders(self, opening: Opening) -> tuple[str, ...]:
        """Add the graders of the files under free names, and select the first; the names."""
        session = self._session
        before = set(session.graders.by_name)
        for entry in opening.entries:
            session.graders.add(entry.grader, name=free_name(session, entry.name))
        added = tuple(name for name in session.graders.by_name if name not in before)
        if added:
            self._view.choose(added[0])
            session.code.text = "\n".join(f"app.add(wb.load({name!r}).graders)" for name in opening.readable)
        return added

    def do_use_rows(self, how: str) -> None:
        """Show the rows of the opened files: "replace" or "extend" the present ones.

        Raises:
            WorkbenchError: They cannot be joined. Nothing is changed then.
        """
        before, files = self._session, self._files
        opening: Opening | None = files.opening
        if self._view.exchange is None or opening is None or opening.rows is None or opening.used:
            return
        session = before.with_rows(opening.rows, extends=how == "extend", unmapped=opening.unmapped)
        session.files, before.files = files, type(files)()
        files.opening = replace(opening, used=how)
        *earlier, last = files.changes or (OpenedChange(),)
        if not files.changes or last.before is not None or not opening.entries:
            earlier, last = [*files.changes], OpenedChange()
        files.changes = (*earlier, replace(last, before=before))
        self._view.exchange(session, suspend=True)

    def do_undo_opening(self) -> None:
        """Restore the rows before the last opening, and remove its graders; edits since then remain."""
        files, session = self._files, self._session
        if not files.changes:
            return
        *earlier, change = files.changes
        if change.before is not None and self._view.exchange is None:
            raise WorkbenchError(_SHARED)
        files.changes, files.opening = tuple(earlier), None
        if change.before is not None:
            back = change.before
            _take_over(back, session)
            back.files, session.files = files, type(files)()
            self._remove(back, change.graders)
            assert self._view.exchange is not None
            self._view.exchange(back)
            return
        with session.guard.lock:
            self._remove(session, change.graders)

    def _remove(self, session: Session, names: tuple[str, ...]) -> None:
        for name in names:
            if name in session.graders.by_name:
                session.live.forget(name)
                session.graders.remove(name)  # it can be restored

    def do_close_opening(self) -> None:
        """Dismiss what is shown of the files; rows that were not used are dropped."""
        self._files.opening = None


_SHARED = "Rows are opened in the app itself: this view shares the session of another one."


def _take_over(back: Session, session: Session) -> None:
    """Take over the graders that were written, changed or removed since a session was suspended."""
    back.continue_from(session)
    for name in [name for name in back.graders.by_name if name not in session.graders.by_name]:
        back.graders.remove(name)
