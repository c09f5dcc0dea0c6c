"""Unsaved input in an app: it outlives the widgets it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Drafts"]


@dataclass
class Drafts:
    """A user's text that is not saved yet.

    Attributes:
        notes: Sample id and digest of its text to the note that is saved with the label.
    """

    notes: dict[str, str] = field(default_factory=dict)
