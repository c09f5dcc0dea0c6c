"""One conversation to read: roles, tool calls, documents, metadata, all of it as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from workbench.grade import Grade
from workbench.samples import Sample
from workbench.session.row_reader import read_row, whole_text
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
            grades: Grades of it, by grader's name.
            last: Whether the assistant's last turn is shown too.
        """
        sample = Sample("", sample, None, "") if isinstance(sample, StringThread) else sample
        self._sample, self._grades = sample, grades or {}
        row = {} if sample is None else read_row(sample, self._grades)
        turns = row.get("turns")
        if not last and turns and turns[-1]["role"] == "assistant":
            turns[-1]["text"] = ""
            row["turns"] = turns if turns[-1]["calls"] else turns[:-1]  # its tool calls stay
        self.row = row

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored."""
        part = message.get("part")
        if message.get("ask") == "more" and isinstance(part, str) and self._sample is not None:
            self.send({"tell": "more", "part": part, "value": whole_text(self._sample, self._grades, part)})

    def __repr__(self) -> str:
        return f"ThreadView({self.row.get('id', '')!r})"
