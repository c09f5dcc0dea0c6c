"""Reports as plotly figures. Payload independent of the number of rows: only counts are drawn.

One figure a file in `figures/`, registered by `@figure(name, title)`: what is registered appears in the Workbench's
panels. Every mark that can be clicked carries in `customdata` a list of conditions, which
`report.row_numbers(*conditions)` understands.
"""

from __future__ import annotations

from workbench.discovery import load_modules
from workbench.plots import figures as _figures
from workbench.plots.figures.comparison import plot_comparison
from workbench.plots.figures.differences import plot_differences
from workbench.plots.figures.labels import plot_labels
from workbench.plots.figures.overview import plot_overview
from workbench.plots.figures.scores import plot_scores
from workbench.plots.register import FIGURES, FigureKind, figure, figures_for

# A figure is found by being there: every module of `figures` registers its own.
load_modules(_figures)

__all__ = [
    "FIGURES",
    "FigureKind",
    "figure",
    "figures_for",
    "plot_comparison",
    "plot_differences",
    "plot_labels",
    "plot_overview",
    "plot_scores",
]
