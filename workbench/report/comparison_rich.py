"""A comparison for a notebook: which grader is stricter, which rows each accepts, the numbers, and the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from workbench.core.display import (
    bar,
    escaped,
    folded,
    html_block,
    html_table,
    markdown_lines,
    markdown_table,
    markdown_text,
    paragraph,
    sign,
)
from workbench.core.display_text import counted, one_line
from workbench.report.comparison_text import TITLES, labels_data, quadrant_counts, sentence
from workbench.report.counts import Counts
from workbench.report.rows_table import rows_table

__all__ = ["as_html", "as_markdown"]

_MAX_ROWS = 8


def as_html(compared: Any, read: Callable[[Any], pd.DataFrame]) -> str:
    """The notebook view.

    Args:
        compared: The comparison.
        read: Function from row numbers to these rows with both scores.
    """
    if not compared.n:
        return html_block(paragraph(compared.verdict, "lead"), "wb-report")
    lead, rest = sentence(compared)
    parts = [
        _names(compared),
        f"<p class='lead'><strong>{escaped(lead, 600)}</strong>{escaped(rest, 600)}</p>",
        _grid(compared),
        _labels(compared),
        folded("all numbers", paragraph(compared)),
        _rows(read(compared.rows[:_MAX_ROWS])),
    ]
    return html_block("".join(parts), "wb-report", label="Comparison")


def _names(compared: Any) -> str:
    a, b = (f"<span class='mono'>{escaped(one_line(name))}</span>" for name in (compared.a, compared.b))
    return f"<p><strong>A</strong> {a} &#160; <strong>B</strong> {b} &#160; <span class='quiet'>{counted(compared.n, 'row')}</span></p>"


def _grid(compared: Any) -> str:
    counts = quadrant_counts(compared)
    cells = "".join(_quadrant(TITLES[key], counts[key]) for key in TITLES)
    return f"<div class='grid'>{cells}</div>"


def _quadrant(title: str, counts: Counts) -> str:
    total = sum(counts.values())
    drawn = bar(counts) if total else ""
    labels = f"<p class='quiet'>{_by_label(counts)}</p>"
    return f"<div><strong>{title}</strong><p class='big'>{total:,}</p>{labels}{drawn}</div>"


def _by_label(counts: Counts) -> str:
    """Such as "166 good, 20 bad"; unlabelled rows are omitted if any row is labelled."""
    if not sum(counts.values()):
        return "no row"
    good, bad = (counts[f"{kind}_accepted"] + counts[f"{kind}_refused"] for kind in ("good", "bad"))
    return f"{good:,} good, {bad:,} bad" if good + bad else "unlabelled"


def _labels(compared: Any) -> str:
    told = labels_data(compared)
    lines = [(line["name"], line["text"], line["interval"]) for line in told["lines"]]
    table = html_table(["", "", "95 % interval"], lines, numbers={1}) if lines else ""
    # Without labels the agreement of the two is all there is to show.
    note = told["note"] if compared.labels is not None else ""
    lead = f"<p class='lead'>{sign(told['shape'])}<strong>{escaped(told['lead'])}</strong></p>"
    return f"<div class='finding'>{lead}{table}{paragraph(note, 'quiet')}</div>"


def _rows(top: pd.DataFrame) -> str:
    scores = [
        "A",
        "B",
        "B minus A",
    ]  # full names are above: as headers they would take the space of the texts
    top = top.set_axis([_head(at, str(name), scores) for at, name in enumerate(top)], axis=1)
    return f"<p><strong>Rows, largest difference first</strong></p>{rows_table(top, scores)}"


def _head(at: int, name: str, scores: list[str]) -> str:
    """Name of a column; those after the four texts are the two scores and their difference."""
    return scores[at - 4] if 4 <= at < 7 else name


def as_markdown(compared: Any) -> str:
    """The same as Markdown, without the rows."""
    if not compared.n:
        return markdown_lines([markdown_text(compared.verdict, 900)])
    lead, rest = sentence(compared)
    told = labels_data(compared)
    names = [f"{letter} is {markdown_text(name)}" for letter, name in (("A", compared.a), ("B", compared.b))]
    counts = quadrant_counts(compared)
    rows = [(TITLES[key], f"{sum(counts[key].values()):,}", _by_label(counts[key])) for key in TITLES]
    return markdown_lines(
        [
            f"**{markdown_text(lead, 600)}**{_after(rest)}",
            f"{', '.join(names)}; {counted(compared.n, 'row')}.",
            markdown_table(["verdicts", "rows", "labels"], rows, numbers={1}),
            f"{markdown_text(told['lead'])} {markdown_text(told['note'], 900) if compared.labels else ''}".strip(),
            markdown_text(compared, 1_600),
        ]
    )


def _after(rest: str) -> str:
    return f" {markdown_text(rest, 600)}" if rest else ""
