"""The changes on the rows from one version of a grader to another, as text, and the error rate of each version."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.families.agreement import FALSE_ACCEPTS, FALSE_REJECTS
from workbench.analysis.diagnostics.finding import percent
from workbench.analysis.statistics import compact, share
from workbench.app.session.grader_versions import shared_rows
from workbench.app.view.grader_history import Version, findings_of
from workbench.core.display_text import counted
from workbench.report import Report
from workbench.report.cases import label_codes
from workbench.report.counts import NO_PART, PARTS, parts_of
from workbench.report.where import case_of

__all__ = ["LIMITS", "ErrorShare", "change_words", "error_share"]

_KINDS = {0: "too-lenient", 1: "too-strict"}
"""A label to the kind of finding about wrong verdicts on such rows."""

LIMITS = {0: FALSE_ACCEPTS, 1: FALSE_REJECTS}
"""A label to the limit for the share of wrong verdicts on such rows."""

_ERRORS = {0: "known-bad rows it accepts", 1: "known-good rows it rejects"}


class ErrorShare(NamedTuple):
    """The number of wrong verdicts of a version on rows of one label.

    Attributes:
        k: Known-bad rows that it accepts, or known-good ones that it rejects.
        n: Rows of that label that it scored.
        value: k of n.
        lo: Lower end of the 95 % interval.
        hi: Upper end.
    """

    k: int
    n: int
    value: float
    lo: float
    hi: float

    @property
    def text(self) -> str:
        """Such as "20 of 290"."""
        return f"{self.k:,} of {self.n:,}"

    @property
    def interval(self) -> str:
        """Such as "4.5 to 10.5 %"."""
        return f"{percent(self.lo).removesuffix(' %')} to {percent(self.hi)}"


def error_share(version: Version, name: str, label: int) -> ErrorShare | None:
    """The error rate of a version on rows of one label; None if it has not run on any.

    Args:
        version: The version.
        name: The grader.
        label: 0 for known-bad rows that it accepts, 1 for known-good ones that it rejects.
    """
    if version.report is not None:
        return _counted(version.report, name, label)
    found = [
        one for one in findings_of(version, name) if one.kind == _KINDS[label] and one.interval is not None
    ]
    if not found or not found[0].n or found[0].interval is None:
        return None
    finding, (lo, hi) = found[0], found[0].interval
    return ErrorShare(round(finding.value * finding.n), finding.n, finding.value, lo, hi)


def _counted(report: Report, name: str, label: int) -> ErrorShare | None:
    case = case_of(report, name)
    judged = case.labels[case.rows] == label
    if not judged.any():
        return None
    wrong = case.accepted[judged] == (label == 0)
    prompts = report.prompt_codes[case.rows[judged]]
    found = share(wrong, compact(prompts))
    lo, hi = found.interval()
    return ErrorShare(found.k, found.n, found.value, lo, hi)


# ---- from one version to another


def change_words(name: str, before: Version, now: Version) -> tuple[str, str]:
    """The changes on the rows that both versions ran on: the lead, and the rest.

    Args:
        name: The grader.
        before: One version.
        now: Another.
    """
    for version in (before, now):
        if version.report is None or name not in version.report.grades:
            return f"The rows of {_title(version)} are not available.", " Run it to see which rows changed."
    assert before.report is not None
    assert now.report is not None
    turned, n = _turned(before.report, now.report, name)
    if not n:
        return "The two versions share no row.", " Run both on the same rows to see which changed."
    count = sum(turned.values())
    rows = counted(count, "row") if count else "no row"
    lead = f"From {_title(before)} to {_title(now)}, {rows} changed" + (":" if count else ".")
    words = ", ".join(_words(turned)) + "." if count else ""
    return lead, "".join(f" {part}" for part in (words, *_not_settled(now, name)) if part)


def _title(version: Version) -> str:
    return version.title.replace("v", "version ", 1) if version.title.startswith("v") else version.title


def _turned(before: Report, now: Report, name: str) -> tuple[dict[str, int], int]:
    """How many rows changed to each part, by the later report's labels, and how many rows both have."""
    rows_before, rows_now = shared_rows([before, now])
    was, is_now = (
        parts_of(case_of(report, name))[rows] for report, rows in ((before, rows_before), (now, rows_now))
    )
    both = (was != NO_PART) & (is_now != NO_PART)
    verdicts = _verdicts(was), _verdicts(is_now)
    turned = both & (verdicts[0] != verdicts[1])
    labels = label_codes(now)[rows_now]
    counts = {
        f"{kind} {verdict}": int((turned & (labels == label) & (verdicts[1] == at)).sum())
        for label, kind in ((0, "known-bad"), (1, "known-good"), (-1, "unlabelled"))
        for at, verdict in enumerate(("accepted", "refused", "without a score"))
    }
    return counts, int(both.sum())


def _verdicts(parts: NDArray[np.int8]) -> NDArray[np.int8]:
    """0 accepted, 1 rejected, 2 without a score, for each row."""
    codes = np.array(
        [2 if part in {"failed", "skipped"} else int("refused" in part) for part in PARTS], np.int8
    )
    verdicts: NDArray[np.int8] = codes[parts]
    return verdicts


def _words(turned: dict[str, int]) -> list[str]:
    """What changed, in phrases; with a gain, zero losses are reported as well."""
    said = {
        "known-bad refused": "{n} known-bad {are} now rejected",
        "known-bad accepted": "{n} known-bad {are} now accepted",
        "known-good refused": "{n} known-good {are} lost",
        "known-good accepted": "{n} known-good {are} won",
        "unlabelled refused": "{n} unlabelled {are} now rejected",
        "unlabelled accepted": "{n} unlabelled {are} now accepted",
    }
    words = [
        text.format(n=f"{turned[key]:,}", are="is" if turned[key] == 1 else "are")
        for key, text in said.items()
        if turned[key]
    ]
    if turned["known-bad refused"] and not turned["known-good refused"]:
        words.append("no known-good row is lost")
    n_lost = sum(count for key, count in turned.items() if key.endswith("without a score"))
    return [*words, *([f"{n_lost:,} {'has' if n_lost == 1 else 'have'} no score now"] if n_lost else [])]


def _not_settled(version: Version, name: str) -> list[str]:
    """Inconclusive error rates of a version: those whose interval contains the limit."""
    found = {finding.kind: finding for finding in findings_of(version, name)}
    sentences = []
    for label, limit in LIMITS.items():
        errors, finding = error_share(version, name, label), found.get(_KINDS[label])
        if errors is None or not errors.lo <= limit <= errors.hi or (finding and not finding.undecided):
            continue
        more = f" {finding.outlook[:1].upper()}{finding.outlook[1:]}." if finding and finding.needed else ""
        sentences.append(
            f"Inconclusive: the share of {_ERRORS[label]} is between {errors.interval.replace(' to ', ' and ')}, "
            f"which includes the limit of {percent(limit)}.{more}"
        )
    return sentences
