"""The rows themselves: a grader that reads the labels, and answers that are copies of each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from workbench.diagnostics.case import Case
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.labels import read_labels
from workbench.diagnostics.registry import diagnostic
from workbench.display_text import one_line
from workbench.errors import ReportError

__all__ = ["copied_answers", "reads_the_label"]

_QUOTED = re.compile(r"""(["'])([^"'\\\n]{1,60})\1""")
_COPIES = 0.2  # share of rows; this project's limit
_MOST_TEXTS = 5_000  # rows whose texts are compared: reading more would take seconds
_FEWEST = 8  # labelled rows of which a column that equals the labels is no coincidence; chosen here


@diagnostic("reads-the-label")
def reads_the_label(case: Case) -> Iterable[Finding]:
    """The grader's code names a column that holds the labels: that it agrees with them shows nothing (a fact).

    Label leakage: Kaufman 2012, "Leakage in data mining". Found where a text in quotes in its source is the name of a
    column whose cells equal the labels of all labelled rows, both kinds among them.
    """
    if case.context is None or not case.source:
        return
    labelled = np.flatnonzero(case.labels >= 0)
    if len(labelled) < _FEWEST or len(np.unique(case.labels[labelled])) < 2:
        return
    for name in sorted({match[2] for match in _QUOTED.finditer(case.source)}):
        if _equals_labels(case, name):
            message = f"its code reads the column {one_line(name, 60)!r}, which holds the labels: that it agrees with them shows nothing"
            advice = "grade by the answer and the reference alone; in training there will be no such column"
            finding = case.finding("reads-the-label", Severity.ERROR, "rows", message, advice, labelled)
            yield replace(finding, value=len(labelled), n=len(labelled))
            return


def _equals_labels(case: Case, name: str) -> bool:
    cells = None if case.context is None else case.context.column(name)
    if cells is None:
        return False
    try:
        codes = read_labels(cells, len(cells))
    except ReportError:
        return False
    known = case.labels >= 0
    return bool((codes[known] == case.labels[known]).all())


@diagnostic("copied-answers")
def copied_answers(case: Case) -> Iterator[Finding]:
    """A note where over 20 % of the scored rows repeat another answer to their prompt word for word (a fact).

    Copies teach nothing new: intervals count a prompt once, and group-relative training sees one answer several times.
    Looked at in up to 5,000 rows.
    """
    if case.context is None or case.is_tiny or len(case.rows) > _MOST_TEXTS:
        return
    pairs = np.column_stack([case.scored_groups, case.context.hashes_of(case.rows)])
    first = np.unique(pairs, axis=0, return_index=True)[1]
    copies = np.delete(np.arange(len(case.rows)), first)
    share = len(copies) / len(case.rows)
    if share <= _COPIES:
        return
    message = f"{len(copies):,} of {len(case.rows):,} rows repeat another answer to the same prompt word for word, {percent(share)}"
    finding = case.finding(
        "copied-answers", Severity.NOTE, "share of copies", message,
        "draw answers at a higher temperature, or leave the copies out", case.rows[copies],
    )  # fmt: skip
    yield replace(finding, value=share, n=len(case.rows))
