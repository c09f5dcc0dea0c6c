"""One conversation to read: roles, tool calls, documents, metadata, all of it as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from workbench.grade import Grade
from workbench.samples import Sample
from workbench.session.row_reader import read_row, whole
from workbench.thread import StringThread
from workbench.widgets.views.assets import static
from workbench.widgets.views.view import View

__all__ = ["ThreadView"]


class ThreadView(View):
    """The reader of a `ScoreTable`, by itself.

    Args:
        sample: What is shown; None for nothing yet.
    """

    _esm = static("dom.js", "reader.js", "thread.js")
    _css = static("theme.css", "reader.css")

    row: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, sample: Sample | None = None) -> None:
        super().__init__()
        self._sample: Sample | None = None
        self._grades: Mapping[str, Grade] = {}
        self.show(sample)

    def show(
        self,
        sample: Sample | StringThread | None,
        grades: Mapping[str, Grade] | None = None,
        *,
        last: bool = True,
    ) -> None:
        """Show a row.

        Args:
            sample: The row.
            grades: What graders said of it, by name.
            last: Whether the assistant's last turn is shown too.
        """
        held = Sample("", sample, None, "") if isinstance(sample, StringThread) else sample
        self._sample, self._grades = held, grades or {}
        told = {} if held is None else read_row(held, self._grades)
        if not last and told and told["turns"] and told["turns"][-1]["role"] == "assistant":
            told["turns"][-1]["text"] = ""
            told["turns"] = told["turns"] if told["turns"][-1]["calls"] else told["turns"][:-1]
        self.row = told

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored."""
        part = message.get("part")
        if message.get("ask") == "more" and isinstance(part, str) and self._sample is not None:
            self.send({"tell": "more", "part": part, "value": whole(self._sample, self._grades, part)})

    def __repr__(self) -> str:
        return f"ThreadView({self.row.get('id', '')!r})"
