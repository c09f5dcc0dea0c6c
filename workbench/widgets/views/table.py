"""A table of any number of rows with a thread reader: the page holds only what is in view."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from workbench.display_text import one_line
from workbench.session.row_source import Column, RowSource
from workbench.widgets.views.assets import static
from workbench.widgets.views.view import View

__all__ = ["Column", "RowSource", "ScoreTable"]

MOST_ROWS = 500
"""Rows that one answer holds at most: a page never needs more at once."""

CELL = 200
"""Characters of a cell's text."""

KINDS = ("good", "bad", "failed", "skipped", "note")
"""How a cell's words may look."""

Selected = Callable[[int], None]


class ScoreTable(View):
    """Rows in a grid, sorted by a click on a head, with a reader beside it for the row selected.

    The page asks for the rows in view and for nothing else, so messages do not grow with the data. Each
    carries the version of the order it speaks of; one of an older order is dropped.

    Args:
        source: The rows; None for none yet.
        label: What a screen reader says of it.
        height: Of the grid, in pixels.

    Attributes:
        selected: The selected row's place in the current order, -1 for none; set it to select by code
            (callbacks stay silent).
        order: The column sorted by and the direction: `{"key": "", "descending": False}` is natural.
    """

    _esm = static("dom.js", "reader.js", "grid.js", "table.js")
    _css = static("theme.css", "reader.css", "table.css")

    columns: traitlets.List[Any] = traitlets.List().tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    version = traitlets.Int(0).tag(sync=True)
    epoch = traitlets.Int(0).tag(sync=True)
    order = traitlets.Dict().tag(sync=True)
    selected = traitlets.Int(-1).tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(420, min=120).tag(sync=True)

    def __init__(self, source: RowSource | None = None, *, label: str = "", height: int = 420) -> None:
        self._source: RowSource | None = None
        self._callbacks: list[Selected] = []
        super().__init__(label=one_line(label), height=height)
        self.source = source

    @property
    def source(self) -> RowSource | None:
        """The rows. Setting them, even to the same, starts anew: top, natural order, nothing selected."""
        return self._source

    @source.setter
    def source(self, source: RowSource | None) -> None:
        if source is not None:
            source.sort("", False)
        self._source = source
        columns = [] if source is None else [_head(column) for column in source.columns]
        with self.hold_sync():
            self.columns, self.order, self.selected = columns, {"key": "", "descending": False}, -1
            self.epoch += 1
            self.refresh()

    def refresh(self) -> None:
        """Fetch the rows in view again, after the source has changed; place, order and selection stay."""
        with self.hold_sync():
            self.count = 0 if self._source is None else len(self._source)
            self.selected = min(self.selected, self.count - 1)
            self.version += 1

    def on_select(self, callback: Selected) -> None:
        """Call `callback` with the place of each row that is selected in a page."""
        self._callbacks.append(callback)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that is stale or makes no sense is ignored."""
        if self._source is None or message.get("version") != self.version:
            return
        request = message.get("ask", message.get("do"))
        actions = {"rows": self._rows, "sort": self._sort, "select": self._select}
        actions |= {"detail": self._detail, "more": self._more}
        if isinstance(request, str) and request in actions:
            actions[request](self._source, message)

    def _rows(self, source: RowSource, message: Mapping[str, Any]) -> None:
        start, stop = _place(message.get("start"), self.count), message.get("stop")
        if start is None or not isinstance(stop, int):
            return
        # A page asks for whole hundreds, whatever the count.
        rows = source.window(start, max(start, min(stop, start + MOST_ROWS, self.count)))
        cells = [[_cell(cell) for cell in row] for row in rows]
        self.send({"tell": "rows", "start": start, "version": self.version, "rows": cells})

    def _sort(self, source: RowSource, message: Mapping[str, Any]) -> None:
        key, descending = message.get("key"), message.get("descending") is True
        if not isinstance(key, str) or key not in ["", *(column["key"] for column in self.columns)]:
            return
        source.sort(key, descending)
        with self.hold_sync():
            self.order, self.selected = {"key": key, "descending": descending}, -1
            self.refresh()

    def _select(self, source: RowSource, message: Mapping[str, Any]) -> None:
        at = _place(message.get("at"), self.count)
        if at is None:
            return
        self.selected = at
        # The page first: a callback may take its time, or raise.
        if message.get("read") is False:
            self.send({"tell": "selected", "at": at, "version": self.version})
        else:
            self._detail(source, message)
        for callback in tuple(self._callbacks):
            callback(at)

    def _detail(self, source: RowSource, message: Mapping[str, Any]) -> None:
        at = _place(message.get("at"), self.count)
        if at is not None:
            reply = {"tell": "detail", "version": self.version, "at": at}
            self.answer(reply, lambda: source.detail(at))

    def _more(self, source: RowSource, message: Mapping[str, Any]) -> None:
        at, part = _place(message.get("at"), self.count), message.get("part")
        if at is not None and isinstance(part, str):
            reply = {"tell": "more", "version": self.version, "at": at, "part": part}
            self.answer(reply, lambda: source.more(at, part))

    def __repr__(self) -> str:
        return f"ScoreTable({self.count:,} rows)"


def _head(column: Column) -> dict[str, str]:
    return {"key": column.key, "title": one_line(column.title), "kind": column.kind}


def _place(value: Any, count: int) -> int | None:
    """A place that a page named, if there is one."""
    exists = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count
    return value if exists else None


def _cell(value: Any) -> Any:
    """A cell that is safe to show and to send, whatever the source left in it."""
    if isinstance(value, str):
        return one_line(value, CELL)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        kind = value.get("kind")
        return {"text": one_line(value.get("text"), CELL), "kind": kind if kind in KINDS else ""}
    return value
