"""The register of figures: name, title, what it needs, how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["FIGURES", "FigureKind", "figure", "figures"]

Draw = Callable[["Report", Sequence[str] | None], Any]


@dataclass(frozen=True)
class FigureKind:
    """A figure of a report.

    Attributes:
        name: As code calls it.
        title: As people read it.
        draw: From a report and names of graders (None for all) to a `plotly.graph_objects.Figure`.
        fits: Whether a report has what it shows.
        pair: Whether it compares two graders, and is given their names.
        whole: Whether it says something of all graders together only.
    """

    name: str
    title: str
    draw: Draw
    fits: Callable[[Report], bool]
    pair: bool = False
    whole: bool = False


FIGURES: dict[str, FigureKind] = {}
"""Every figure by its name, in the order they are offered in."""


def figure(
    name: str,
    title: str,
    *,
    fits: Callable[[Report], bool] = lambda _: True,
    pair: bool = False,
    whole: bool = False,
) -> Callable[[Draw], Draw]:
    """Register a function from a report to a figure; panels offer it from then on.

    Args:
        name: Short and hyphenated.
        title: For people.
        fits: Whether a report has what it shows.
        pair: Whether it compares two graders, and is given their names.
        whole: Whether it says something of all graders together only: a choice of one does not matter to it.
    """

    def register(draw: Draw) -> Draw:
        FIGURES[name] = FigureKind(name, title, draw, fits, pair, whole)
        return draw

    return register


def figures(report: Report, *, pair: bool = False) -> list[FigureKind]:
    """The figures that fit a report: of all graders, or of two."""
    return [one for one in FIGURES.values() if one.pair is pair and one.fits(report)]
