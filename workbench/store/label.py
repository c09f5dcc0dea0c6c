"""One label of a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from workbench.store.texts import read

__all__ = ["NONE", "WORDS", "Label", "label_of"]

WORDS = {True: "good", False: "bad", None: "skip"}
NONE = "none"
"""The label after the first one is undone."""
_VALUES: dict[str, bool | None] = {word: value for value, word in WORDS.items()}


@dataclass(frozen=True)
class Label:
    """The label that one labeller gave one sample.

    Attributes:
        sample: The sample's id.
        labeller: The person or program that labelled.
        value: True good, False bad, None skipped.
        note: The labeller's remark.
        at: When, in UTC.
        withdrawn: Whether this is an undo after which no label remains.
        drawn: How its row was chosen for labelling, such as "random"; "" if unknown.
        digest: The text of the sample when it was labelled: 16 hexadecimal digits of its turns and tool calls. "" if
            only its id was given, and for labels of stores before version 3: these count for any text under the id.
        id: Its number in the store.
        before: Number of the label below it: the previous one of this labeller and digest. None for none.
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
