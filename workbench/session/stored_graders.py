"""Graders in a store: kept there under their names, and read as text to start from. No widget here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.serialization import spec_of
from workbench.session.grader_text import text_of

if TYPE_CHECKING:
    from workbench.graders import Grader
    from workbench.session.labels import Labelling
    from workbench.store import Store
    from workbench.store.graders import GraderEntry

__all__ = ["keep", "kept_names", "kept_text"]


def keep(store: Store, name: str, grader: Grader) -> tuple[GraderEntry, str]:
    """Keep a grader under a name, proved first; where the same is there already, nothing is done.

    Returns:
        Its line in the store, and what was done: "create", "edit" or "".

    Raises:
        ValidationError: A source of it fails the checks.
        CaptureError: It has no form that can be kept, such as a function of the notebook.
        StoreError: The name is none for a store, or it is locked there.
    """
    if name not in _names(store):
        return store.graders.create(name, grader), "create"
    if spec_of(store.graders.get(name)) == spec_of(grader):
        return store.graders.entry(name), ""
    return store.graders.edit(name, grader), "edit"


def kept_names(labelling: Labelling) -> list[str]:
    """Names of the graders in the store; none where it is in memory."""
    return [] if labelling.in_memory else _names(labelling.store)


def _names(store: Store) -> list[str]:
    return [entry.key for entry in store.graders.list()]


def kept_text(labelling: Labelling, name: str) -> str:
    """The text of a grader in the store, as the editor takes it. Nothing of it runs.

    Raises:
        StoreError: There is no such grader.
        FormatError: Of a kind that is not registered here.
    """
    return text_of(labelling.store.graders.get(name)).text
