"""A button that appears where labels were given since the report was diagnosed."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from workbench.widgets.panels.panel import Panel

__all__ = ["relabel_button"]


def relabel_button(panel: Panel) -> Any:
    """A button of this panel that diagnoses the report again with new labels; hidden while there are none."""
    session = panel.session
    button = widgets.Button(
        description="Use the labels", tooltip="Read the findings anew with the labels there are now"
    )
    button.add_class("wb-relabel")

    def show_or_hide() -> None:
        report = session.results.report
        has_new = report is not None and session.labels.differ_from(report)
        button.layout.display = "" if has_new else "none"

    button.on_click(panel.callback(session.use_labels, slow=True))
    panel.watch(show_or_hide, session.labels, "changes")
    panel.watch(show_or_hide, session.results, "report")
    show_or_hide()
    return button
