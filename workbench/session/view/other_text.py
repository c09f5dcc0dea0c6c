"""That there is another text of a grader than the one in the editor: the last that was graded, or one in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.session.grader_text import text_of
from workbench.session.view.names import shown_name

if TYPE_CHECKING:
    from workbench.session.session import Session

__all__ = ["is_refused", "notice_data"]


def is_refused(session: Session, name: str) -> bool:
    """Whether what was typed for a grader is none, or fails its checks: what is shown is of the text before it."""
    edit = session.live.edits.get(name)
    return edit is not None and not edit.is_open


def notice_data(session: Session, name: str, *, has_grades: bool) -> dict[str, Any] | None:
    """What a person must know of the other text, and what leads to it, as `Notice`; None where there is none.

    Args:
        session: The session.
        name: The grader.
        has_grades: Whether grades of it are shown.
    """
    if is_refused(session, name):
        return _refused(session, name) if has_grades else None
    if name in session.live.edits or name in session.edited_names:
        return None  # somebody is at work on another one
    return _stored(session, name)


def _refused(session: Session, name: str) -> dict[str, Any]:
    kept = session.kept.last(name)
    is_kept = kept is not None and kept.grader == session.graders.by_name[name]
    which = (
        f"version {kept.number}" if kept is not None and is_kept else "the last text that passed its checks"
    )
    back = f"Back to version {kept.number}" if kept is not None else ""
    return {
        "text": f"This text is not graded: what stands here is of {which}.", "link": back, "act": {"do": "back", "name": shown_name(name)},
    }  # fmt: skip


def _stored(session: Session, name: str) -> dict[str, Any] | None:
    newest = session.stored.newest(name)
    if newest is None or newest.text == text_of(session.graders.by_name[name]).text:
        return None
    act = {"do": "bring_stored", "name": shown_name(name), "version": newest.version}
    return {
        "text": f"The store keeps version {newest.version} of it, with another text.", "link": "Take that one", "act": act,
    }  # fmt: skip
