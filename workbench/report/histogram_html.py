"""A grader's scores as a small drawing: 20 bars, with the app's colours for known-good and known-bad rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.report.bins import Histogram, bin_counts
from workbench.report.cases import label_codes

__all__ = ["bars_html", "histogram_html"]

_KINDS = {1: ("good", "known good"), 0: ("bad", "known bad"), -1: ("", "unlabelled")}
"""Code of a label to the class of its colour, and its text."""


def histogram_html(report: Any, name: str, *, width: int = 120, height: int = 24) -> str:
    """The scores of one grader of a report as inline SVG; the counts of each bar are its tooltip.

    Args:
        report: The report.
        name: The grader.
        width: In pixels.
        height: Of the tallest bar, in pixels.
    """
    histogram = report.histograms[name]
    return bars_html(histogram, _by_label(report, name, histogram), width=width, height=height)


def bars_html(
    histogram: Histogram, kinds: Mapping[int, NDArray[np.int64]], *, width: int = 120, height: int = 24
) -> str:
    """A histogram as inline SVG.

    Args:
        histogram: Of one grader's scores.
        kinds: Rows of each bar by label: 1 good, 0 bad, -1 none, (20,) each.
        width: In pixels.
        height: Of the tallest bar, in pixels.
    """
    most, step = max(int(histogram.counts.max()), 1), width / len(histogram.counts)
    drawn = "".join(
        _bar(at, histogram, kinds, (step, height / most, height))
        for at, count in enumerate(histogram.counts)
        if count
    )
    label = f"{histogram.scored:,} scores from {histogram.edges[0]:g} to {histogram.edges[-1]:g}"
    return (
        f"<svg class='histogram' role='img' aria-label='{label}' width='{width}' height='{height + 1}' "
        f"viewBox='0 0 {width} {height + 1}'><line x1='0' x2='{width}' y1='{height + 0.5}' y2='{height + 0.5}' "
        f"stroke='currentColor' stroke-opacity='.4'/>{drawn}</svg>"
    )


def _by_label(report: Any, name: str, histogram: Histogram) -> dict[int, NDArray[np.int64]]:
    """Rows of each bar by label, without labels that no row has."""
    grades, labels = report.grades[name], label_codes(report)
    scored = grades.codes == 1
    if not (labels >= 0).any():
        return {-1: histogram.counts}
    counts = {code: bin_counts(grades.scores[scored & (labels == code)], histogram.edges) for code in _KINDS}
    return {code: numbers for code, numbers in counts.items() if numbers.any()}


def _bar(
    at: int,
    histogram: Histogram,
    kinds: Mapping[int, NDArray[np.int64]],
    size: tuple[float, float, int],
) -> str:
    step, scale, height = size
    words = ", ".join(
        f"{int(counts[at]):,} {_KINDS[code][1]}" for code, counts in kinds.items() if counts[at]
    )
    is_labelled = set(kinds) != {-1}
    said = words if is_labelled else f"{int(histogram.counts[at]):,}"
    title = f"{histogram.edges[at]:.3g} to {histogram.edges[at + 1]:.3g}: {said}"
    drawn, bottom = [], float(height)
    for code, counts in kinds.items():
        if counts[at]:
            # One row in a million is still visible as a line.
            tall = max(int(counts[at]) * scale, 1.0)
            bottom -= tall
            drawn.append(
                f"<rect class='{_KINDS[code][0]}' x='{at * step + 0.5:.1f}' y='{bottom:.1f}' width='{step - 1:.1f}' "
                f"height='{tall:.1f}' fill='currentColor'><title>{title}</title></rect>"
            )
    return "".join(drawn)
