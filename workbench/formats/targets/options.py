"""Settings of `wb.export` that only some formats support: checked before anything is written."""

from __future__ import annotations

from workbench.formats.shared.base import Format
from workbench.formats.targets.base import Target
from workbench.formats.targets.module import decompose
from workbench.graders.base import is_number

__all__ = ["named_reference", "number_for", "reference_for"]


def number_for(on_error: str | float, chosen: Format) -> float | None:
    """The number for unscored rows; None to raise.

    Raises:
        ValueError: Neither "raise" nor a finite number, or the format can represent a missing score.
    """
    if on_error == "raise":
        return None
    if not is_number(on_error):
        raise ValueError(f"on_error must be 'raise' or a finite number, not {on_error!r}")
    if chosen.words:
        raise ValueError(f"on_error does not apply to {chosen.name}, which can represent a missing score")
    return float(on_error)


def reference_for(column: str, chosen: Format) -> str:
    """The column of the references, if the format uses it.

    Raises:
        TypeError: Not text.
        ValueError: The format's files contain no code.
    """
    if not isinstance(column, str):
        raise TypeError(f"reference is the name of a column, not {type(column).__name__}")
    if column and not isinstance(chosen, Target):
        raise ValueError(
            f"reference does not apply to {chosen.name}, only to trainers and evaluators that take a file of code"
        )
    return column


def named_reference(text: str) -> str:
    """The reference column that an exported file was written with; "" for none, and for any other file."""
    found = decompose(text)
    column = "" if found is None else found[0].get("reference", "")
    return column if isinstance(column, str) else ""
