"""What is being written in an app: it outlives the widgets it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Drafts"]


@dataclass
class Drafts:
    """Texts of a person that are no label yet.

    Attributes:
        notes: Sample and digest of its text to the note that waits for a label.
    """

    notes: dict[str, str] = field(default_factory=dict)
