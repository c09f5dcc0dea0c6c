"""What our own anywidgets share: messages of a page reach `hear`, and nothing of them is left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anywidget

from workbench.display_text import one_line

__all__ = ["View"]


class View(anywidget.AnyWidget):
    """A widget with a page's side of its own.

    Args:
        traits: What its traits begin with.
    """

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(_on_message)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored."""
        raise NotImplementedError

    def answer(self, reply: Mapping[str, Any], find: Callable[[], Any]) -> None:
        """Send the page what it asked for, or why it cannot be had: an error is never only in a log.

        Args:
            reply: The message; the value is added as "value", or the reason why there is none as "problem".
            find: What looks it up.
        """
        try:
            value = find()
        except Exception as error:
            self.send({**reply, "problem": one_line(f"{type(error).__name__}: {error}", 400)})
            raise
        self.send({**reply, "value": value})

    def close(self) -> None:
        """Leave the page, with the layout model that came along."""
        self.layout.close()
        super().close()


def _on_message(view: View, message: Any, _buffers: Any) -> None:
    if isinstance(message, Mapping):
        view.hear(message)
