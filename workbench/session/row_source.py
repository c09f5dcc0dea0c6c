"""What a table shows: its columns, and where its rows come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

__all__ = ["Column", "RowSource"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a `ScoreTable`.

    Attributes:
        key: Its name for `RowSource.sort`.
        title: The text in its head.
        kind: How its cells look. A verdict is True, False or None; a score or number is a float or None; any
            cell may be `{"text": ..., "kind": ...}` with kind good, bad, failed, skipped or note.
    """

    key: str
    title: str
    kind: Literal["row", "text", "score", "verdict", "status", "number"] = "text"


class RowSource(Protocol):
    """Where a table's rows come from, a window at a time."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, in order."""
        ...

    def __len__(self) -> int: ...

    def window(self, start: int, stop: int) -> list[list[Any]]:
        """Cells of the rows from `start` to `stop` in the current order, plain JSON."""
        ...

    def sort(self, key: str, descending: bool) -> None:
        """Change the order; "" is the natural one."""
        ...

    def detail(self, at: int) -> dict[str, Any]:
        """What the reader shows of a row: see `row_reader.read_row`."""
        ...

    def more(self, at: int, part: str) -> str:
        """The whole text of a part that was cut: see `row_reader.whole_text`."""
        ...
