"""Reports as plotly figures. Their size does not depend on the number of rows: only counts are drawn.

Each file in `figures/` contains figures of one subject, each registered by `@figure(name, title)`; the app offers all
of them. Every clickable mark has in `customdata` a list of conditions for
`report.row_numbers(*conditions)`.
"""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.report.plots import figures as _figures
from workbench.report.plots.figures.comparison import plot_comparison, plot_differences
from workbench.report.plots.figures.labels import plot_labels
from workbench.report.plots.figures.scores import plot_overview, plot_scores
from workbench.report.plots.register import FIGURES, FigureKind, draw, figure, figures_for

# Every module in `figures` registers its figure when it is loaded.
load_modules(_figures)

__all__ = [
    "FIGURES",
    "FigureKind",
    "draw",
    "figure",
    "figures_for",
    "plot_comparison",
    "plot_differences",
    "plot_labels",
    "plot_overview",
    "plot_scores",
]
