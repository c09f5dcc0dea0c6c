"""The register of figures: name, title, what it needs, how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["FIGURES", "FigureKind", "figure", "figures_for"]

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
        place: Where it is offered: 0 first.
    """

    name: str
    title: str
    draw: Draw
    fits: Callable[[Report], bool]
    pair: bool = False
    whole: bool = False
    place: int = 100


FIGURES: dict[str, FigureKind] = {}
"""Every figure by its name."""


def figure(
    name: str,
    title: str,
    *,
    fits: Callable[[Report], bool] = lambda _: True,
    pair: bool = False,
    whole: bool = False,
    place: int = 100,
) -> Callable[[Draw], Draw]:
    """Register a function from a report to a figure; panels offer it from then on.

    Args:
        name: Short and hyphenated.
        title: For people.
        fits: Whether a report has what it shows.
        pair: Whether it compares two graders, and is given their names.
        whole: Whether it says something of all graders together only: a choice of one does not matter to it.
        place: Where it is offered: 0 first; behind ours by default.
    """

    def register(draw: Draw) -> Draw:
        FIGURES[name] = FigureKind(name, title, draw, fits, pair, whole, place)
        return draw

    return register


def figures_for(report: Report, *, pair: bool = False) -> list[FigureKind]:
    """The figures that fit a report, of all graders or of two, in the order they are offered in."""
    shown = [kind for kind in FIGURES.values() if kind.pair is pair and kind.fits(report)]
    return sorted(shown, key=lambda kind: (kind.place, kind.name))
