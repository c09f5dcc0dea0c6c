"""Settings of `wb.export` that only some formats have a use for: checked before anything is written."""

from __future__ import annotations

from workbench.formats.shared.base import Format
from workbench.formats.targets.base import Target
from workbench.formats.targets.module import decompose
from workbench.graders.base import is_number

__all__ = ["named_reference", "number_for", "reference_for"]


def number_for(on_error: str | float, chosen: Format) -> float | None:
    """The number for rows without a score; None to raise.

    Raises:
        ValueError: Neither "raise" nor a finite number, or the format has a word of its own.
    """
    if on_error == "raise":
        return None
    if not is_number(on_error):
        raise ValueError(f"on_error must be 'raise' or a finite number, not {on_error!r}")
    if chosen.words:
        raise ValueError(
            f"on_error means nothing to {chosen.name}: it has a word of its own for a row without a score"
        )
    return float(on_error)


def reference_for(column: str, chosen: Format) -> str:
    """The column of the references, where the format has a use for it.

    Raises:
        TypeError: No text.
        ValueError: The format takes no file of code.
    """
    if not isinstance(column, str):
        raise TypeError(f"reference is the name of a column, not {type(column).__name__}")
    if column and not isinstance(chosen, Target):
        raise ValueError(
            f"reference means nothing to {chosen.name}: it is for trainers and evaluators that take a file of code"
        )
    return column


def named_reference(text: str) -> str:
    """The column of references that a file of ours was written with; "" for none, and for any other file."""
    found = decompose(text)
    column = "" if found is None else found[0].get("reference", "")
    return column if isinstance(column, str) else ""
