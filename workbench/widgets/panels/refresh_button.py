"""A button that appears where labels were given since the findings were read."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from workbench.widgets.panels.panel import Panel

__all__ = ["relabel_button"]


def relabel_button(panel: Panel) -> Any:
    """A button of this panel that reads the report anew with the labels there are now; hidden while it has them all."""
    button = widgets.Button(
        description="Use the labels", tooltip="Read the findings anew with the labels there are now"
    )
    button.add_class("wb-relabel")

    def offer() -> None:
        report = panel.state.report
        fresh = report is not None and panel.state.labelling.fresh(report)
        button.layout.display = "" if fresh else "none"

    button.on_click(panel.acts(panel.state.relabel, slow=True))
    panel.watch(offer, "labelled", "report")
    offer()
    return button
