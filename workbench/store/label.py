"""One label as a store keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from workbench.store.texts import read

__all__ = ["NONE", "WORDS", "Label", "label_of"]

WORDS = {True: "good", False: "bad", None: "skip"}
NONE = "none"
"""What an undo of the first label leaves."""
_VALUES: dict[str, bool | None] = {word: value for value, word in WORDS.items()}


@dataclass(frozen=True)
class Label:
    """The label that one labeller gave one sample.

    Attributes:
        sample: The sample's id.
        labeller: Who.
        value: True good, False bad, None skipped.
        note: What they wrote beside it.
        at: When, in UTC.
        withdrawn: Whether this is an undo that left no label.
        drawn: How its row came to be labelled, such as "random"; "" where nobody says.
        digest: What the sample said when it was labelled: 16 hexadecimal digits of its turns and tool calls. "" where
            only its id was given, and for labels of stores before version 3: these hold for any text under the id.
        id: Its number in the store.
        before: Number of the label below it: the last one then of this labeller and digest. None for none.
    """

    sample: str
    labeller: str
    value: bool | None
    note: str
    at: datetime
    withdrawn: bool = False
    drawn: str = ""
    digest: str = ""
    id: int = field(default=0, repr=False)
    before: int | None = field(default=None, repr=False)


def label_of(row: Any) -> Label:
    """A row of the table as a label."""
    return Label(
        read(row.sample),
        row.labeller,
        _VALUES.get(row.value),
        read(row.note),
        datetime.fromisoformat(row.at),
        row.value == NONE,
        row.drawn,
        row.digest,
        row.id,
        row.before,
    )
