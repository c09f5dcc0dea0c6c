"""The scripts and styles of our own widgets, read from `static/`: plain files, joined as they are."""

from __future__ import annotations

from functools import cache
from importlib import resources

__all__ = ["static"]


@cache
def static(*names: str) -> str:
    """Files of `static/` one after the other, as one text.

    anywidget loads one module a widget, so what widgets share is put before their own part.

    Args:
        names: File names, in this order.
    """
    folder = resources.files("workbench.widgets.views") / "static"
    return "\n".join((folder / name).read_text("utf-8") for name in names)
