"""A notice about another text of a grader than the one in the editor: the last graded one, or one in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.app.session.grader_text import text_of
from workbench.app.view.names import shown_name

if TYPE_CHECKING:
    from workbench.app.session.session import Session

__all__ = ["is_refused", "notice_data"]


def is_refused(session: Session, name: str) -> bool:
    """Whether the text typed for a grader is invalid or fails validation: the shown grades belong to the text before it."""
    edit = session.live.edits.get(name)
    return edit is not None and not edit.is_open


def notice_data(session: Session, name: str, *, has_grades: bool) -> dict[str, Any] | None:
    """A notice about the other text, and the action that opens it, as `Notice`; None if there is none.

    Args:
        session: The session.
        name: The grader.
        has_grades: Whether grades of it are shown.
    """
    if is_refused(session, name):
        return _refused(session, name) if has_grades else None
    if name in session.live.edits or name in session.edited_names:
        return None  # another grader is being edited
    return _stored(session, name)


def _refused(session: Session, name: str) -> dict[str, Any]:
    kept = session.kept.last(name)
    is_kept = kept is not None and kept.grader == session.graders.by_name[name]
    which = (
        f"version {kept.number}" if kept is not None and is_kept else "the last text that passed its checks"
    )
    back = f"Restore version {kept.number}" if kept is not None else ""
    return {
        "text": f"This text is not graded: the results shown are of {which}.", "link": back, "act": {"do": "back", "name": shown_name(name)},
    }  # fmt: skip


def _stored(session: Session, name: str) -> dict[str, Any] | None:
    newest = session.stored.newest(name)
    if newest is None or newest.text == text_of(session.graders.by_name[name]).text:
        return None
    act = {"do": "bring_stored", "name": shown_name(name), "version": newest.version}
    return {
        "text": f"The store has version {newest.version} of it, with another text.", "link": "Use that version", "act": act,
    }  # fmt: skip
