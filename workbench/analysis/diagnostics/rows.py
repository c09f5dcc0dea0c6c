"""The rows themselves: those without a score, a grader that reads the labels or a column that reveals them, and copies."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.case import Case, Claim, share_claim
from workbench.analysis.diagnostics import diagnostic
from workbench.analysis.finding import Finding, RowNumbers, Severity, percent
from workbench.analysis.labels import read_labels
from workbench.analysis.statistics import compact, effective_n
from workbench.analysis.statistics.means import share
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError
from workbench.core.grade import ErrorKind, Status
from workbench.core.grades import FAILED, MISSING

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


_BROKEN_ABOVE = 0.02  # share of the attempted rows; this project's limit
_MESSAGE = 120  # characters of an error in a sentence
_PART = re.compile(r"  (where|found|expected|next step): ")
_STEP = "  next step: "  # as formatted by `WorkbenchError`
_WITHOUT_COMPLETION = (
    0.1  # share of the rows above which missing completions are a warning; this project's choice
)
_ENOUGH = 36  # independent rows: with fewer, no verdict on saturation is possible, see `distribution`


@diagnostic("broken")
def broken(case: Case) -> Iterable[Claim]:
    """More than 2 % of the attempted rows failed (lower bound, which allows for rows that share a prompt).

    Rows that were not graded because the run was stopped or its budget exhausted do not count, nor do rows without a
    completion: their fault is in the data.
    """
    missing = _without_completion(case)
    tried, failed = _tried(case) & ~missing, _failed(case) & ~missing
    rows = np.flatnonzero(failed)
    if not len(rows):
        return
    failed_share = share(failed[tried], compact(case.groups[tried]))
    details = _details(case, rows)
    k, n = failed_share.k, failed_share.n
    part = "" if k == n else f", {percent(failed_share.value)}"
    finding = case.finding(
        "broken",
        Severity.ERROR,
        "share failed",
        f"broken: {_rows(k, n)} failed{part}: {details}",
        _next_step(case, rows)
        or "read the errors of these rows; a failed row has no score and is excluded from every mean",
        rows,
    )
    yield share_claim(finding, failed_share, _BROKEN_ABOVE)


@diagnostic("no-completion")
def no_completion(case: Case) -> Iterable[Finding]:
    """Rows have no completion, and so no score: a fact about the data, the same for every grader; a warning above 10 %."""
    rows = np.flatnonzero(_without_completion(case))
    if len(rows):
        n = len(case.grades)
        verb = "has" if len(rows) == 1 else "have"
        message = f"{_rows(len(rows), n)} {verb} no completion, so no score"
        advice = (
            "check the column of completions, or remove these rows: a model's empty completion is not graded"
        )
        fact = _fact(case, "no-completion", message, _next_step(case, rows) or advice, rows)
        yield replace(fact, severity=Severity.WARNING) if len(rows) > _WITHOUT_COMPLETION * n else fact


@diagnostic("nothing-scored", presets=("workbench", "seed", "vllora"), unless="broken")
def nothing_scored(case: Case) -> Iterable[Finding]:
    """No row has a score, so no statement about scores is possible; omitted if *broken* is found."""
    if len(case.rows):
        return
    total, failed, skips = len(case.grades), case.grades.n_failed, case.grades.n_skipped
    message = f"none of {total:,} rows has a score ({failed:,} failed, {skips:,} skipped{_why_skipped(case)})"
    if total <= 1:
        why = "failed" if failed else "was skipped" if skips else "was not graded"
        message = f"the only row {why}: there is no score" if total else "there are no rows"
    advice = "read the errors, or why rows were skipped" if total else "draw some samples first"
    fact = _fact(case, "nothing-scored", message, advice, np.arange(total))
    yield replace(fact, severity=Severity.WARNING)


def _why_skipped(case: Case) -> str:
    """The reason of skipped rows, if all of those looked at have the same one."""
    first = itertools.islice(case.grades.reasoning.values(), _LOOKED_AT) if not case.grades.n_failed else ()
    reasons = {str(reason) for reason in first}
    return f": {one_line(reasons.pop(), _REASON)}" if len(reasons) == 1 else ""


_LOOKED_AT = 1_000
"""Rows whose reasons are compared."""
_REASON = 120
"""Maximum characters of a reason."""


@diagnostic("unfinished", presets=("workbench", "seed", "vllora"))
def unfinished(case: Case) -> Iterable[Finding]:
    """Some rows were not graded: the run was stopped, or its budget exhausted."""
    rows = np.flatnonzero(~_tried(case))
    if len(rows):
        message = f"{_rows(len(rows), len(case.grades))} {_were(len(rows))} not graded"
        yield _fact(case, "unfinished", message, "run these rows before you compare graders", rows)


@diagnostic("ungraded", presets=("workbench", "seed", "vllora"))
def ungraded(case: Case) -> Iterable[Finding]:
    """Rows have a score by a platform's rule without being graded: a failure that counts as a number."""
    rows = np.array(sorted(case.grades.ungraded), dtype=np.intp)
    if len(rows):
        main_cause, _ = Counter(case.grades.ungraded.values()).most_common(1)[0]
        message = (
            f"{_rows(len(rows), len(case.grades))} {'has' if len(rows) == 1 else 'have'} a score by rule, not by grading: "
            f"{main_cause}"
        )
        advice = "fix the cause; 'fail' in on_error, on_empty, on_no_reference or on_bad_pattern leaves such rows unscored"
        yield replace(_fact(case, "ungraded", message, advice, rows), severity=Severity.WARNING)


@diagnostic("skipped", presets=("workbench", "seed", "vllora"))
def skipped(case: Case) -> Iterable[Finding]:
    """The grader skipped some rows; all other findings are about the remaining rows."""
    rows = np.flatnonzero(case.status == Status.SKIPPED)
    if len(rows):
        message = f"{_rows(len(rows), len(case.grades))} {_were(len(rows))} skipped"
        if len(rows) < len(case.grades):
            message += (
                f", {percent(len(rows) / len(case.grades))}; all other findings are about the remaining rows"
            )
        yield _fact(case, "skipped", message, "check that these rows are not the difficult ones", rows)


@diagnostic("few-rows")
def few_rows(case: Case) -> Iterable[Finding]:
    """Fewer than 36 independent scored rows (effective number): no verdict on saturation is possible."""
    n = len(case.rows)
    independent = effective_n(case.scores, case.scored_groups)
    if not n or independent >= _ENOUGH - 1e-9:  # effective_n may miss a whole number by rounding
        return
    message = (
        f"{counted(n, 'scored row')}{_worth(case, independent)}: too few to judge the spread of the scores, "
        f"which takes at least {_ENOUGH} independent rows"
    )
    finding = case.finding("few-rows", Severity.NOTE, "rows", message, "draw more samples")
    yield replace(finding, value=n, n=n)


@diagnostic("one-prompt")
def one_prompt(case: Case) -> Iterable[Finding]:
    """All scored rows belong to one prompt: there is no evidence for other prompts."""
    n = len(case.rows)
    if n > 1 and not case.scored_groups.any():
        whole = "both" if n == 2 else f"all {n:,}"
        message = (
            f"{whole} scored rows are completions of one prompt: there is no evidence about other prompts"
        )
        finding = case.finding(
            "one-prompt", Severity.NOTE, "rows", message, "draw rows of many prompts", case.rows
        )
        yield replace(finding, value=n, n=n)


def _worth(case: Case, independent: float) -> str:
    """The effective number of independent rows, if that is lower."""
    n = len(case.rows)
    if independent > n - 1:
        return ""
    count = max(round(independent), 1)
    worth = "one independent row" if count == 1 else f"{count:,} independent ones"
    reason = "" if case.scored_groups.any() else ", all of one prompt"
    return f"{reason}, which count as {worth}{'' if reason else ' since prompts repeat'}"


def _rows(k: int, n: int) -> str:
    """Some of all rows as text: "3 of 40 rows", "all 40 rows", "both rows", "the only row"."""
    if k < n:
        return f"{k:,} of {counted(n, 'row')}"
    return {1: "the only row", 2: "both rows"}.get(n, f"all {n:,} rows")


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _tried(case: Case) -> NDArray[np.bool_]:
    tried: NDArray[np.bool_] = case.grades.codes != MISSING
    tried[case.grades.cut_off] = False
    return tried


def _failed(case: Case) -> NDArray[np.bool_]:
    failed: NDArray[np.bool_] = (case.grades.codes == FAILED) & _tried(case)
    return failed


def _without_completion(case: Case) -> NDArray[np.bool_]:
    """The rows that failed because they have nothing to grade, (n,)."""
    missing: NDArray[np.bool_] = np.zeros(len(case.grades), bool)
    missing[[row for row, error in case.grades.errors.items() if error.kind == ErrorKind.NO_COMPLETION]] = (
        True
    )
    return missing & _failed(case)


def _details(case: Case, rows: NDArray[np.intp]) -> str:
    """The error kinds and the main message; one kind that the message begins with is not repeated."""
    errors = case.grades.errors
    counts = Counter(str(errors[int(row)].kind) if int(row) in errors else "unknown" for row in rows)
    message, how_often = _message(case, rows)
    kinds = _in_words(next(iter(counts)))
    if len(counts) > 1:
        kinds = ", ".join(f"{_in_words(kind)} on {count:,}" for kind, count in counts.most_common())
    elif message.lower().startswith(kinds):
        return f"{how_often} {message}".strip()
    return f"{kinds}, {how_often} {message}" if how_often else f"{kinds}: {message}"


def _in_words(kind: str) -> str:
    return kind.replace("_", " ")


def _message(case: Case, rows: NDArray[np.intp]) -> tuple[str, str]:
    """The message with which most of the rows failed, cut to fit a sentence; "most often", or "" if all did."""
    counts: Counter[str] = Counter()
    for message, n in Counter(_messages(case, rows)).items():  # many rows have the same one
        counts[_main_part(message)] += n
    if not counts:
        return "without a message", ""
    message_text, count = counts.most_common(1)[0]
    excerpt = message_text if len(message_text) <= _MESSAGE else f"{message_text[:_MESSAGE]}…"
    often = "" if count == len(rows) else "such as" if count == 1 else "most often"
    return excerpt.rstrip(".") or "an empty message", often


def _messages(case: Case, rows: NDArray[np.intp]) -> list[str]:
    errors = case.grades.errors
    return [errors[int(row)].message for row in rows if int(row) in errors]


def _main_part(message: str) -> str:
    """A message in one line; of a `WorkbenchError`, which has labelled parts, the problem and what was found."""
    head, *parts = message[: 10 * _MESSAGE].split("\n")
    if not any(_PART.match(part) for part in parts):
        return " ".join(message[: 10 * _MESSAGE].split())
    facts = [part.strip().removeprefix("found: ") for part in parts if part.startswith("  found: ")]
    return ", ".join([head, *facts])


def _next_step(case: Case, rows: NDArray[np.intp]) -> str:
    """The next step in the errors' messages, if more than half of the rows have the same."""
    steps: Counter[str] = Counter()
    for message, n in Counter(_messages(case, rows)).items():
        for text_line in message.split("\n") if _STEP in message else ():
            if text_line.startswith(_STEP):
                steps[text_line.removeprefix(_STEP)] += n
    step, count = steps.most_common(1)[0] if steps else ("", 0)
    return step if 2 * count > len(rows) else ""


def _fact(case: Case, kind: str, message: str, advice: str, rows: NDArray[np.intp]) -> Finding:
    n, evidence = len(case.grades), RowNumbers(rows)
    return Finding(case.grader, kind, Severity.NOTE, "rows", len(rows), None, n, 0, message, advice, evidence)
