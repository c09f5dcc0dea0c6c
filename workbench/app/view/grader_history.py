"""The versions of a grader (saved in this session, in the store, and the current one), and how two of them differ."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.label_agreement import FALSE_ACCEPTS, FALSE_REJECTS
from workbench.analysis.finding import Finding, percent
from workbench.analysis.statistics import compact
from workbench.analysis.statistics.means import share
from workbench.app.session.grader_text import text_of
from workbench.app.session.versions import shared_rows
from workbench.app.view.rail import CHANGES, change_text
from workbench.core.display_text import counted
from workbench.core.errors import WorkbenchError
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.capture.source import Source
from workbench.report import Report
from workbench.report.selection import NO_PART, PARTS, parts_of
from workbench.report.where import case_of

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.session.versions import SavedVersion, SavedVersions
    from workbench.store.graders import GraderEvent
    from workbench.store.runs import StoredRun


MAX_VERSIONS = 50
"""Maximum number of versions and runs to read from the store."""

_COMPARED = 2_000  # maximum lines of a text to compare
_CONTEXT = 400  # maximum lines for which a difference shows the whole text
_AROUND = 3  # lines around a change in a longer one


@dataclass(frozen=True)
class Version:
    """One version of a grader.

    Attributes:
        id: Its id on the page.
        title: Its title, such as "v3".
        grader: The grader.
        text: Its text; see `grader_text.text_of`.
        at: When it was saved, in UTC; None for the current grader.
        report: A report with its grades; None if this session has none.
        run: The last run of exactly this source in the store; None for none.
        stored: Its version in the store; 0 for none.
    """

    id: str
    title: str
    grader: Grader
    text: str
    at: datetime | None = None
    report: Report | None = None
    run: StoredRun | None = None
    stored: int = 0


class GraderHistory:
    """The known versions of a session's graders. The store is read once.

    Args:
        session: Whose graders.
        kept: The versions of this session.
    """

    def __init__(self, session: Session, kept: SavedVersions) -> None:
        self._session, self._kept = session, kept
        self._stored: dict[tuple[int, str, int], Grader | None] = {}
        self._relabelled: dict[int, tuple[Report, Report]] = {}

    def versions(self, name: str, runs: Sequence[StoredRun]) -> list[Version]:
        """The versions of a grader, the oldest first.

        Args:
            name: The grader.
            runs: Runs over this dataset, the newest first.
        """
        stored = self._of_store(name, runs)
        kept = self._of_session(name, stored)
        own_texts = {version.text for version in kept}
        versions = [version for version in stored if version.text not in own_texts] + kept
        return [*versions, *self._as_it_is(name, versions)]

    def _of_session(self, name: str, stored: Sequence[Version]) -> list[Version]:
        in_store = {version.text: version for version in stored}
        return [
            _kept_version(kept, in_store.get(kept.text), self._as_labelled_now(kept.report))
            for kept in self._kept.of(name)
        ]

    def _as_labelled_now(self, report: Report | None) -> Report | None:
        """A version's report with the labels of the shown report, so that rates of versions are comparable."""
        shown: Report | None = self._session.results.report
        if (
            report is None
            or shown is None
            or report.samples is not shown.samples
            or report.labels == shown.labels
        ):
            return report
        known = self._relabelled.get(id(report))
        if known is None or known[0] is not report or known[1].labels != shown.labels:
            known = (report, replace(report, labels=shown.labels))
            self._relabelled[id(report)] = known
        return known[1]

    def _as_it_is(self, name: str, versions: Sequence[Version]) -> list[Version]:
        """The grader in the list, if it is not one of the versions."""
        grader = self._session.graders.by_name.get(name)
        if grader is None:
            return []
        text = text_of(grader).text
        if versions and versions[-1].text == text:
            return []
        return [Version("now", "now", grader, text, None, self._session.report_of(name))]

    def _of_store(self, name: str, runs: Sequence[StoredRun]) -> list[Version]:
        versions = []
        for event in self._events(name):
            grader = self._grader(name, event.version)
            if grader is not None:
                title = f"stored {event.version}"
                text = text_of(grader).text
                run = _run_of(grader, name, runs)
                versions.append(
                    Version(f"s{event.version}", title, grader, text, event.at, None, run, event.version)
                )
        return versions

    def _events(self, name: str) -> list[GraderEvent]:
        """The versions saved under this name, the oldest first; empty if the store does not have the name."""
        storage = self._session.storage
        if storage.in_memory:
            return []
        try:
            events = list(storage.store.graders.history(name))
        except WorkbenchError:
            return []
        return [event for event in events if event.action in {"create", "edit"}][-MAX_VERSIONS:]

    def _grader(self, name: str, version: int) -> Grader | None:
        """A version from the store, read once; None for one that cannot be read here."""
        store = self._session.storage.store
        key = (id(store), name, version)
        if key not in self._stored:
            try:
                self._stored[key] = store.graders.get(name, version)
            except WorkbenchError:
                self._stored[key] = None
        return self._stored[key]


def _kept_version(kept: SavedVersion, same: Version | None, report: Report | None) -> Version:
    """A version of this session; `same` is the store's version with its text."""
    run, stored = (None, 0) if same is None else (same.run, same.stored)
    number = f"v{kept.number}"
    return Version(number, number, kept.grader, kept.text, kept.at, report, run, stored)


def _run_of(grader: Grader, name: str, runs: Sequence[StoredRun]) -> StoredRun | None:
    """The last run of exactly this source under this name."""
    if not isinstance(grader, SandboxedGrader):
        return None
    digest = Source(grader.source.text).sha256
    return next((run for run in runs if run.sources.get(name) == digest), None)


def findings_of(version: Version, name: str) -> list[Finding]:
    """The findings about a version, most severe first; empty if it has not run."""
    source = version.report or version.run
    return [finding for finding in source.findings if finding.grader == name] if source is not None else []


def first_new_line(before: str, text: str) -> str:
    """The first line that an earlier text does not have; "" for none."""
    lines = changed_lines(before, text)
    return next((line.strip() for kind, line in lines if kind == "+" and line.strip()), "")


def changed_lines(before: str, text: str) -> list[tuple[str, str]]:
    """Two texts line by line: "-" for removed lines, "+" for added ones, "" for unchanged ones.

    For long texts only the lines around the changes.
    """
    old, new = (each.splitlines()[:_COMPARED] for each in (before, text))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > _COMPARED)
    around = max(len(old), len(new)) if len(old) + len(new) <= _CONTEXT else _AROUND
    lines: list[tuple[str, str]] = []
    for group in (
        matcher.get_grouped_opcodes(around) if old != new else [[("equal", 0, len(old), 0, len(new))]]
    ):
        lines += [("", "…")] if lines else []
        for kind, old_from, old_to, new_from, new_to in group:
            same = kind == "equal"
            lines += [("" if same else "-", line) for line in old[old_from:old_to]]
            lines += [("+", line) for line in ([] if same else new[new_from:new_to])]
    return lines


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
    turned = both & (_verdicts(was) != _verdicts(is_now))
    counts = {part: int((turned & (is_now == at)).sum()) for at, part in enumerate(PARTS[:6])}
    counts["no_score"] = int((turned & (is_now >= PARTS.index("failed"))).sum())
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
    words = [
        change_text(part, turned[part], "unlabelled " if part in {"refused", "accepted"} else "")
        for part in CHANGES
        if turned.get(part)
    ]
    if turned["bad_refused"] and not turned["good_refused"]:
        at = len(words) - bool(turned["no_score"])
        words.insert(at, "no known-good row is lost")
    return words


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
