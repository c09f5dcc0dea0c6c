"""The rows themselves: a grader that reads the labels or a column that reveals them, and duplicate completions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, share_claim
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, Severity, percent
from workbench.analysis.labels import read_labels
from workbench.analysis.statistics import compact
from workbench.analysis.statistics.means import share
from workbench.core.display_text import one_line
from workbench.core.errors import ReportError

_NAMED = re.compile(
    r"""\[\s*(?P<q>["'])(?P<key>[^"'\\\n]{1,60})(?P=q)\s*\]      # row["name"]
    |\.get\(\s*(?P<p>["'])(?P<got>[^"'\\\n]{1,60})(?P=p)       # metadata.get("name")
    |\.(?P<attribute>[A-Za-z_]\w*)\b(?!\s*\()                  # row.name, but not a call""",
    re.VERBOSE,
)
"""Where code reads a column, in Python and in JavaScript."""
_GIVEN_AWAY = 0.9  # maximum share of labels that a column may predict; this project's limit
_SHOWN = ("too-lenient", "too-strict")
"""Kinds whose good results are void for a grader that reads the labels."""
_FEW_VALUES = 8  # numbers with at most this many values are levels, not quantities
_LEAK_ADVICE = "grade by the completion and the reference only; in training this column will not exist"
_COPIES = 0.2  # share of rows; this project's limit
_MAX_TEXTS = 5_000  # maximum rows whose texts are compared: reading more would take seconds
_MIN_ROWS = (
    8  # labelled rows from which a column that equals the labels is not a coincidence; this project's choice
)


@diagnostic("reads-the-label", explains=_SHOWN, order=3)
def reads_the_label(case: Case) -> Iterable[Finding]:
    """The grader's code reads a column of labels, so agreement with them shows nothing (a fact).

    Label leakage: Kaufman 2012, "Leakage in data mining". Found if its source reads, by a key or an attribute,
    a column whose cells equal the labels of all labelled rows, or their opposites, with both kinds among
    them. The column of references is meant to be read and does not count.
    """
    for name in _columns_read(case):
        if _equals_labels(case, name):
            labelled = np.flatnonzero(case.labels >= 0)
            message = f"reads the label column {one_line(name, 60)!r}, so agreement with the labels does not show quality"
            finding = case.finding("reads-the-label", Severity.ERROR, "rows", message, _LEAK_ADVICE, labelled)
            yield replace(finding, value=len(labelled), n=len(labelled))
            return


def _columns_read(case: Case) -> list[str]:
    """Columns that the grader's source names, if enough rows are labelled to examine them."""
    if case.context is None or not case.source:
        return []
    labels = case.labels[case.labels >= 0]
    if len(labels) < _MIN_ROWS or len(np.unique(labels)) < 2:
        return []
    read = {match["key"] or match["got"] or match["attribute"] for match in _NAMED.finditer(case.source)}
    return [name for name in case.context.names if name in read]


def _equals_labels(case: Case, name: str) -> bool:
    cells = None if case.context is None else case.context.column(name)
    if cells is None:
        return False
    try:
        codes = read_labels(cells, len(cells))
    except ReportError:
        return False
    known = case.labels >= 0
    codes, labels = codes[known], case.labels[known]
    return bool((codes == labels).all() or (codes == 1 - labels).all())


@diagnostic("reads-a-giveaway", unless="reads-the-label", explains=_SHOWN, order=3)
def reads_a_giveaway(case: Case) -> Iterator[Claim]:
    """The grader's code reads a column that by itself separates over 90 % of good rows from bad ones (lower bound).

    A number separates by its side of the midpoint between the means of good and bad rows; any other value by the label that
    most other rows with the same cell have, among rows of other prompts. Only if the grader's verdict equals the column's
    prediction for over 90 % of the rows too.
    """
    labelled = case.labels[case.rows] >= 0
    rows = case.rows[labelled]
    for name in _columns_read(case):
        cells = None if case.context is None else case.context.column(name)
        guesses = (
            None
            if cells is None
            else _guesses([cells[row] for row in rows], case.labels[rows], case.groups[rows])
        )
        if guesses is None or not guesses.any() or guesses.all():
            continue
        right = share(guesses == (case.labels[rows] == 1), compact(case.groups[rows]))
        follows = share(guesses == case.accepted[labelled], compact(case.groups[rows]))
        message = (
            f"reads the column {one_line(name, 60)!r}, which by itself predicts the labels of {right.k:,} of {right.n:,} "
            f"rows, {percent(right.value)}: agreement with the labels may not show quality"
        )
        if follows.interval().lo > _GIVEN_AWAY:
            finding = case.finding(
                "reads-a-giveaway",
                Severity.WARNING,
                "share predicted by the column",
                message,
                _LEAK_ADVICE,
                rows,
            )
            yield replace(share_claim(finding, right, _GIVEN_AWAY), plans=False)
            return


def _guesses(
    cells: list[Any], labels: NDArray[np.int8], groups: NDArray[np.intp]
) -> NDArray[np.bool_] | None:
    """Prediction of each row by a column: good or bad; None for no prediction."""
    try:
        numbers = np.array(cells, dtype=float)
    except (TypeError, ValueError):
        return _by_cell(list(map(str, cells)), labels, groups)
    if np.isnan(numbers).any() or len(np.unique(numbers)) <= _FEW_VALUES:
        return _by_cell(list(map(str, cells)), labels, groups)
    return _by_number(numbers, labels == 1)


def _by_number(numbers: NDArray[np.float64], good: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Above the midpoint between the means of good and bad rows, in the direction of the higher mean."""
    means = numbers[good].mean(), numbers[~good].mean()
    high: NDArray[np.bool_] = numbers > sum(means) / 2
    return high if means[0] > means[1] else ~high


def _by_cell(
    cells: list[str], labels: NDArray[np.int8], groups: NDArray[np.intp]
) -> NDArray[np.bool_] | None:
    """The majority label of rows of other prompts with the same cell; None if cells hardly repeat over prompts."""
    codes = pd.factorize(np.array(cells, dtype=object))[0]
    both = pd.factorize(pd.MultiIndex.from_arrays([codes, groups]))[0]
    signs = 2.0 * labels - 1
    of_others = np.bincount(codes, weights=signs)[codes] - np.bincount(both, weights=signs)[both]
    if (of_others == 0).mean() > 1 - _GIVEN_AWAY:
        return None
    return of_others > 0


@diagnostic("copied-completions")
def copied_completions(case: Case) -> Iterator[Finding]:
    """A note if over 20 % of the scored rows repeat another completion of their prompt exactly (a fact).

    Duplicates add no information: intervals count a prompt once, and group-relative training sees one completion several
    times. Examined in up to 5,000 rows.
    """
    if case.context is None or case.is_tiny or len(case.rows) > _MAX_TEXTS:
        return
    pairs = np.column_stack([case.scored_groups, case.context.hashes_of(case.rows)])
    first = np.unique(pairs, axis=0, return_index=True)[1]
    copies = np.delete(np.arange(len(case.rows)), first)
    share = len(copies) / len(case.rows)
    if (
        share <= _COPIES or not case.scored_groups.any()
    ):  # with one prompt for all, the task may be in another column
        return
    message = f"{len(copies):,} of {len(case.rows):,} rows repeat another completion of the same prompt exactly, {percent(share)}"
    finding = case.finding(
        "copied-completions", Severity.NOTE, "share of copies", message,
        "draw completions at a higher temperature, or remove the duplicates", case.rows[copies],
    )  # fmt: skip
    yield replace(finding, value=share, n=len(case.rows))
