"""Findings as cards: one sentence, one advice, and the rows behind them a click away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets

from workbench.diagnostics import Finding
from workbench.display_text import one_line
from workbench.widgets.views.assets import static
from workbench.widgets.views.view import View

__all__ = ["MOST", "FindingCards"]

MOST = 24
"""Cards shown; what is left is in `report.findings`."""


class FindingCards(View):
    """The findings of a report. Whatever a diagnostic says appears here: a card knows no kind.

    Attributes:
        active: Place of the card whose rows are shown, -1 for none.
    """

    _esm = static("dom.js", "findings.js")
    _css = static("theme.css", "findings.css")

    items: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    active = traitlets.Int(-1).tag(sync=True)
    empty = traitlets.Unicode().tag(sync=True)
    more = traitlets.Unicode().tag(sync=True)

    def __init__(self, findings: Sequence[Finding] = (), *, empty: str = "") -> None:
        self._callbacks: list[Callable[[Finding], None]] = []
        self._findings: Sequence[Finding] = ()
        super().__init__(empty=empty)
        self.show(findings)

    def show(self, findings: Sequence[Finding], *, empty: str | None = None) -> None:
        """Show other findings."""
        self._findings = tuple(findings)[:MOST]
        n_hidden = len(findings) - MOST
        with self.hold_sync():
            self.items = [_item(finding) for finding in self._findings]
            self.active = -1
            self.more = f"and {n_hidden:,} more in report.findings" if n_hidden > 0 else ""
            self.empty = self.empty if empty is None else empty

    def mark(self, kinds: Sequence[tuple[str, str]]) -> None:
        """Mark the card of one of these (grader, kind) pairs as the one that is shown."""
        places = [
            place for place, finding in enumerate(self._findings) if (finding.grader, finding.kind) in kinds
        ]
        self.active = places[0] if places else -1

    def on_pick(self, callback: Callable[[Finding], None]) -> None:
        """Call `callback` with the finding whose card is clicked."""
        self._callbacks.append(callback)

    def pick(self, at: int) -> None:
        """Do what a click on a card does."""
        for callback in tuple(self._callbacks):
            callback(self._findings[at])

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored."""
        at = message.get("at")
        if message.get("do") == "pick" and isinstance(at, int) and 0 <= at < len(self._findings):
            self.pick(at)

    def __repr__(self) -> str:
        return f"FindingCards({len(self._findings):,} findings)"


def _item(finding: Finding) -> dict[str, Any]:
    sentence = str(finding).removeprefix(f"{finding.grader}: ")
    return {
        "severity": str(finding.severity),
        "follows": finding.cause.replace("-", " "),
        "grader": one_line(finding.grader, 80),
        "title": finding.kind.replace("-", " "),
        "text": one_line(sentence, 600),
        "advice": one_line(finding.advice, 400),
        "rows": len(finding.rows),
    }
