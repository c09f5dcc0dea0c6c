"""Columns that graders read and targets may not pass: a row without one has no score, which a mean hides."""

from __future__ import annotations

from workbench.data.samples.columns import LABEL_NAMES
from workbench.formats.shared.base import Losses
from workbench.formats.targets.base import Target
from workbench.graders.capture.columns_read import columns_read
from workbench.graders.combine import Entry

__all__ = ["tell_columns"]


def tell_columns(target: Target, entry: Entry, text: str, losses: Losses) -> None:
    """Report which columns a grader's text reads by name, and where the target's rows have them.

    The usual names of a reference are available for every row with a reference, and so is the column in `reference=`.

    Raises:
        FormatError: Losses are refused, and the grader reads a column that the target never passes.
    """
    read = columns_read(text, getattr(entry.grader, "signature", "thread"))
    always = {
        *LABEL_NAMES,
        losses.reference,
        *(("data_source",) if target.signature == "verl" else ()),
    }
    for column in sorted(read.both - always):
        if target.columns:
            losses.note(
                entry.name,
                f"column {column!r}",
                f"the grader reads it: each row needs it as {target.columns}",
            )
            continue
        losses.add(
            entry.name, f"column {column!r}", "the grader reads it, but a row has only its label",
            hint=f"reference={column!r} if the label contains it; else a target that passes columns, such as trl",
            instead="the unchanged grader, which finds no such column",
        )  # fmt: skip
