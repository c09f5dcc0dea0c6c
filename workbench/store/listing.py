"""A list of small records that a notebook shows as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.core.display import DisplayBlock, Displayed, Paragraph, TableBlock
from workbench.core.display_text import one_line

if TYPE_CHECKING:
    import pandas as pd


Entry = TypeVar("Entry", covariant=True)  # noqa: PLC0105 (the word a reader knows)


class Listing(Displayed, tuple[Entry, ...]):
    """Records in order: a tuple that prints as a table."""

    _label = "Listing"
    _kind = ""

    __slots__ = ()

    @property
    def frame(self) -> pd.DataFrame:
        """One row per record."""
        from workbench.core.safe_frame import SafeFrame

        return SafeFrame(
            [{f: getattr(record, f) for f in _names(self)} for record in self], columns=_names(self)
        )

    __repr__ = Displayed.__str__

    def _blocks(self) -> list[DisplayBlock]:
        if not self:
            return [Paragraph("(none)")]
        return [TableBlock(_names(self), _cells(self), numbers=_numbers(self), indent=0)]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 (IPython's protocol)
        printer.text(repr(self))


def _names(records: Sequence[Any]) -> list[str]:
    return [f.name for f in fields(records[0]) if f.repr] if records else []


def _numbers(records: Sequence[Any]) -> set[int]:
    """Indices of the numeric columns."""
    first = [getattr(records[0], name) for name in _names(records)]
    return {at for at, value in enumerate(first) if isinstance(value, int) and not isinstance(value, bool)}


def _cells(records: Sequence[Any]) -> list[list[str]]:
    return [[_cell(getattr(record, name)) for name in _names(records)] for record in records]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, tuple):
        return one_line(", ".join(map(str, value)), 60)
    return one_line(f"{value:,}" if isinstance(value, int) else value, 60)
