"""The notebook views: `Workbench`, and each of its panels alone in a cell. Everything loads on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.widgets.app import Workbench as Workbench
    from workbench.widgets.card import LabelCard as LabelCard
    from workbench.widgets.chart import Chart as Chart
    from workbench.widgets.compare import ComparePanel as ComparePanel
    from workbench.widgets.export import ExportPanel as ExportPanel
    from workbench.widgets.label import LabelPanel as LabelPanel
    from workbench.widgets.results import ResultsPanel as ResultsPanel
    from workbench.widgets.run import RunPanel as RunPanel
    from workbench.widgets.source import SourceView as SourceView
    from workbench.widgets.table import ScoreTable as ScoreTable
    from workbench.widgets.thread_view import ThreadView as ThreadView
    from workbench.widgets.try_ import TryPanel as TryPanel
    from workbench.widgets.write import WritePanel as WritePanel

_HOMES = {
    "Chart": "chart",
    "ComparePanel": "compare",
    "ExportPanel": "export",
    "LabelCard": "card",
    "LabelPanel": "label",
    "ResultsPanel": "results",
    "RunPanel": "run",
    "ScoreTable": "table",
    "SourceView": "source",
    "ThreadView": "thread_view",
    "TryPanel": "try_",
    "Workbench": "app",
    "WritePanel": "write",
}

__all__ = [
    "Chart",
    "ComparePanel",
    "ExportPanel",
    "LabelCard",
    "LabelPanel",
    "ResultsPanel",
    "RunPanel",
    "ScoreTable",
    "SourceView",
    "ThreadView",
    "TryPanel",
    "Workbench",
    "WritePanel",
]


def __getattr__(name: str) -> Any:
    """Load a view when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench.widgets' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"workbench.widgets.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The views, for tab completion."""
    return sorted({*globals(), *__all__})
