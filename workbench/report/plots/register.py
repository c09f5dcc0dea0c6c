"""The registry of figures: name, title, required data, drawing function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.core.discovery import refuse_taken
from workbench.core.errors import ReportError

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["FIGURES", "FigureKind", "draw", "figure", "figures_for"]

Draw = Callable[["Report", Sequence[str] | None], Any]


@dataclass(frozen=True)
class FigureKind:
    """A figure of a report.

    Attributes:
        name: Its name in code.
        title: Its title.
        draw: Function from a report and names of graders (None for all) to a `plotly.graph_objects.Figure`.
        fits: Whether a report has the data it needs.
        pair: Whether it compares two graders, whose names it is called with.
        all_graders: Whether it makes sense only for all graders together, independent of the selection.
        position: Position among the offered figures: 0 first.
    """

    name: str
    title: str
    draw: Draw
    fits: Callable[[Report], bool]
    pair: bool = False
    all_graders: bool = False
    position: int = 100


FIGURES: dict[str, FigureKind] = {}
"""Every figure by its name."""


def figure(
    name: str,
    title: str,
    *,
    fits: Callable[[Report], bool] = lambda _: True,
    pair: bool = False,
    all_graders: bool = False,
    position: int = 100,
) -> Callable[[Draw], Draw]:
    """Register a function from a report to a figure; the app then offers it.

    Args:
        name: Short and hyphenated.
        title: As shown to users.
        fits: Whether a report has the data it needs.
        pair: Whether it compares two graders, whose names it is called with.
        all_graders: Whether it makes sense only for all graders together, independent of the selection.
        position: Position among the offered figures: 0 first; after the bundled ones by default.

    Raises:
        ValueError: Another function has the name.
    """

    def register(draw: Draw) -> Draw:
        taken = FIGURES.get(name)
        refuse_taken("figure", name, taken and taken.draw, draw)
        FIGURES[name] = FigureKind(name, title, draw, fits, pair, all_graders, position)
        return draw

    return register


def draw(report: Report, graders: Sequence[str] | None = None, name: str = "scores") -> Any:
    """Draw a report's figure by name.

    Args:
        report: What is drawn.
        graders: Names of graders, None for all; two for a figure that compares two.
        name: Of the figure.

    Raises:
        ReportError: Unknown figure, or the report lacks the data it needs.
    """
    kind = FIGURES.get(name)
    if kind is None or not kind.fits(report):
        fitting = [other for other, known in FIGURES.items() if known.fits(report)]
        raise ReportError(
            "unknown figure" if kind is None else "the report lacks the data for this figure",
            found=repr(name), expected=", ".join(fitting),
        )  # fmt: skip
    return kind.draw(report, graders)


def figures_for(report: Report, *, pair: bool = False) -> list[FigureKind]:
    """The figures that fit a report, either those that compare two graders or the others, in order of position."""
    fitting = [kind for kind in FIGURES.values() if kind.pair is pair and kind.fits(report)]
    return sorted(fitting, key=lambda kind: (kind.position, kind.name))
