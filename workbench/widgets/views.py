"""What our own anywidgets share: messages of a page reach `hear`, and nothing of them is left behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget

__all__ = ["View"]


class View(anywidget.AnyWidget):
    """A widget with a page's side of its own.

    Args:
        traits: What its traits begin with.
    """

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(_heard)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the page, with the layout model that came along."""
        self.layout.close()
        super().close()


def _heard(view: View, message: Any, _buffers: Any) -> None:
    if isinstance(message, Mapping):
        view.hear(message)
