"""Reports as plotly figures. Payload independent of the number of rows: only counts are drawn.

One figure a file, registered by `@figure(name, title)`: what is registered appears in the Workbench's panels. Every
mark that can be clicked carries in `customdata` a list of conditions, which `report.row_numbers(*conditions)` understands.
"""

from __future__ import annotations

from workbench.plots.register import FIGURES, FigureKind, figure, figures

# Imported for their registrations, in the order they are offered in.
from workbench.plots.scores import plot_scores  # isort: skip
from workbench.plots.overview import plot_overview  # isort: skip
from workbench.plots.labels import plot_labels  # isort: skip
from workbench.plots.differences import plot_differences  # isort: skip
from workbench.plots.comparison import plot_comparison  # isort: skip

__all__ = [
    "FIGURES",
    "FigureKind",
    "figure",
    "figures",
    "plot_comparison",
    "plot_differences",
    "plot_labels",
    "plot_overview",
    "plot_scores",
]
