"""Rows without a score: failures, rows never tried, skips, and too few rows to say anything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, about_share
from workbench.diagnostics.finding import Finding, Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.diagnostics.row_numbers import RowNumbers
from workbench.display_text import counted
from workbench.grade import Status
from workbench.statistics import effective_n, share

__all__ = ["broken", "few_rows", "nothing_scored", "skipped", "unfinished"]

_BROKEN_ABOVE = 0.02
_BROKEN_ROWS = 20
_MESSAGE = 120  # characters of an error in a sentence
_PART = re.compile(r"  (where|found|expected|next step): ")
_STEP = "  next step: "  # as errors write it, see `WorkbenchError`
_ENOUGH = 35  # the fewest rows with which a verdict on saturation can fire


@diagnostic("broken")
def broken(case: Case) -> Iterable[Claim]:
    """More than 2 % of the rows tried failed (lower bound), from 20 rows on.

    Rows that a stop or a spent budget left ungraded were never tried and do not count. Rows of one
    prompt count singly here: a failure is a fault of the run, and each one cost a row.
    """
    tried, failed = _tried(case), _failed(case)
    rows = np.flatnonzero(failed)
    if not len(rows):
        return
    found = share(failed[tried])
    what = f"{_kinds(case, rows)}, {_message(case, rows)}"
    finding = Finding(
        case.grader,
        "broken",
        Severity.ERROR,
        "share failed",
        nan,
        None,
        0,
        0,
        f"broken, {found.k:,} of {found.n:,} rows failed, {percent(found.value)}: {what}",
        _next_step(case, rows)
        or "read the errors of these rows; a failed row has no score and is in no mean",
        RowNumbers(rows),
    )
    yield about_share(finding, found, _BROKEN_ABOVE, short=_BROKEN_ROWS - found.n)


@diagnostic("nothing-scored", presets=("workbench", "seed", "vllora"), unless="broken")
def nothing_scored(case: Case) -> Iterable[Finding]:
    """No row has a score, so no statement about scores is possible; silent where *broken* says so."""
    if len(case.rows):
        return
    total, failed, skips = len(case.grades), case.grades.n_failed, case.grades.n_skipped
    said = (
        f"none of {total:,} rows has a score ({failed:,} failed, {skips:,} skipped)"
        if total
        else "there are no rows"
    )
    advice = "read the errors, or why rows were skipped" if total else "draw some samples first"
    fact = _fact(case, "nothing-scored", said, advice, np.arange(total))
    yield replace(fact, severity=Severity.WARNING)


@diagnostic("unfinished", presets=("workbench", "seed", "vllora"))
def unfinished(case: Case) -> Iterable[Finding]:
    """Some rows were never graded: the run was stopped, or its budget spent."""
    rows = np.flatnonzero(~_tried(case))
    if len(rows):
        said = f"{len(rows):,} of {len(case.grades):,} rows were not graded"
        yield _fact(case, "unfinished", said, "run these rows before you compare graders", rows)


@diagnostic("ungraded", presets=("workbench", "seed", "vllora"))
def ungraded(case: Case) -> Iterable[Finding]:
    """Rows have a score by a platform's rule although nothing was graded: a failure that counts as a number."""
    rows = np.array(sorted(case.grades.ungraded), dtype=np.intp)
    if len(rows):
        most, _ = Counter(case.grades.ungraded.values()).most_common(1)[0]
        said = f"{len(rows):,} of {len(case.grades):,} rows have a score by rule, not by grading: {most}"
        advice = "mend the cause; on_error='fail', on_no_reference='fail' or on_bad_pattern='fail' leave such rows unscored"
        yield replace(_fact(case, "ungraded", said, advice, rows), severity=Severity.WARNING)


@diagnostic("skipped", presets=("workbench", "seed", "vllora"))
def skipped(case: Case) -> Iterable[Finding]:
    """The grader declined rows; everything else is about the rest."""
    rows = np.flatnonzero(case.status == Status.SKIPPED)
    if len(rows):
        part = percent(len(rows) / len(case.grades))
        said = f"{len(rows):,} of {len(case.grades):,} rows were skipped, {part}; all else is about the rest"
        yield _fact(case, "skipped", said, "check that these rows are not the hard ones", rows)


@diagnostic("few-rows")
def few_rows(case: Case) -> Iterable[Finding]:
    """Fewer than 35 scored rows (in worth as independent rows): no verdict on saturation can fire."""
    n = len(case.rows)
    worth = effective_n(case.scores, case.scored_groups)
    if not n or worth >= _ENOUGH - 1e-9:
        return
    needed = int(np.ceil((_ENOUGH - worth) * n / worth))
    alike = "" if worth > n - 1 else f", worth {worth:.0f} independent ones since prompts repeat"
    said = f"{counted(n, 'scored row')}{alike}: too few to judge how the scores are spread"
    yield Finding(
        case.grader, "few-rows", Severity.NOTE, "rows", n, None, n, needed, said, "draw more samples"
    )


def _tried(case: Case) -> NDArray[np.bool_]:
    tried: NDArray[np.bool_] = case.status != "missing"
    tried[case.grades.cut_off] = False
    return tried


def _failed(case: Case) -> NDArray[np.bool_]:
    failed: NDArray[np.bool_] = (case.status == Status.FAILED) & _tried(case)
    return failed


def _kinds(case: Case, rows: NDArray[np.intp]) -> str:
    errors = case.grades.errors
    counts = Counter(str(errors[int(row)].kind) if int(row) in errors else "unknown" for row in rows)
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common())


def _message(case: Case, rows: NDArray[np.intp]) -> str:
    """The message most of the rows failed with, cut to fit a sentence."""
    counts = Counter(_gist(message) for message in _messages(case, rows))
    if not counts:
        return "without a message"
    line, count = counts.most_common(1)[0]
    said = line if len(line) <= _MESSAGE else f"{line[:_MESSAGE]}…"
    often = "such as" if count == 1 < len(rows) else "all" if count == len(rows) else "most often"
    return f"{often} {said.rstrip('.') or 'an empty message'}"


def _messages(case: Case, rows: NDArray[np.intp]) -> list[str]:
    errors = case.grades.errors
    return [errors[int(row)].message for row in rows if int(row) in errors]


def _gist(message: str) -> str:
    """A message in one line; of one of ours with its parts, what went wrong and what was found."""
    head, *parts = message[: 10 * _MESSAGE].split("\n")
    if not any(_PART.match(part) for part in parts):
        return " ".join(message[: 10 * _MESSAGE].split())
    found = [part.strip().removeprefix("found: ") for part in parts if part.startswith("  found: ")]
    return ", ".join([head, *found])


def _next_step(case: Case, rows: NDArray[np.intp]) -> str:
    """What the errors themselves say to do, where most of them say one thing."""
    steps = Counter(
        line.removeprefix(_STEP) for message in _messages(case, rows) for line in message.split("\n")
        if line.startswith(_STEP)
    )  # fmt: skip
    step, count = steps.most_common(1)[0] if steps else ("", 0)
    return step if 2 * count > len(rows) else ""


def _fact(case: Case, kind: str, said: str, advice: str, rows: NDArray[np.intp]) -> Finding:
    n, proof = len(case.grades), RowNumbers(rows)
    return Finding(case.grader, kind, Severity.NOTE, "rows", len(rows), None, n, 0, said, advice, proof)
