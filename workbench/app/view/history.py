"""The History mode: versions of a grader with their error rates, the effect of an edit, and runs over this dataset."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from workbench.analysis.finding import verdict_of
from workbench.app.session.action import history_code, stored_version_code
from workbench.app.session.grader_text import cell_of, with_client_of
from workbench.app.view import Mode, mode
from workbench.app.view.grader_history import (
    LIMITS,
    MAX_VERSIONS,
    ErrorShare,
    GraderHistory,
    Version,
    change_words,
    changed_lines,
    error_share,
    findings_of,
    first_new_line,
)
from workbench.app.view.texts import find_name, shown_name
from workbench.core.display_text import counted, one_line, shown
from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.app.session.session import Session
    from workbench.app.session.versions import SavedVersions
    from workbench.report import Report
    from workbench.store.runs import StoredRun


_ABOUT_LABELS = {"too-lenient", "too-strict"}
_LINE = 400  # maximum characters of a line of source
_MAX_LINES = 3_000
_MAX_GRADERS = 20  # maximum graders of a run to list
_WORDS = 1_000


@mode("history", "History", position=5)
class HistoryMode(Mode):
    """History as the page shows it. See `Mode` for the arguments.

    Args:
        versions: The graders' versions of this session; the session's own by default.
    """

    def __init__(
        self,
        session: Session,
        on_change: Callable[[], object] = lambda: None,
        *,
        versions: SavedVersions | None = None,
    ) -> None:
        super().__init__(session, on_change)
        self._history = GraderHistory(session, session.kept if versions is None else versions)
        self._name, self._from, self._to = "", "", ""
        self._runs: tuple[Report | None, Sequence[StoredRun]] | None = None  # as read under this report

    def choose(self, name: str) -> None:
        """Show another grader's versions."""
        if name != self._name:
            self._name, self._from, self._to = name, "", ""

    def refresh(self) -> None:
        """Read the store's runs again: another notebook may have run meanwhile."""
        self._runs = None

    def opened(self) -> None:
        """Read the store again."""
        self.refresh()

    def show_code(self) -> None:
        """Set the line that lists this grader's versions in the store."""
        if any(version.stored for version in self._versions()):
            self._session.code.text = history_code(self._session.storage, self._chosen)

    def do_version(self, from_: str, to: str) -> None:
        """Select the two versions to compare.

        Raises:
            WorkbenchError: Unknown version.
        """
        for version in (from_, to):
            self._version_of(version)
        self._from, self._to = from_, to
        self.show_code()

    def do_bring(self, version: str) -> None:
        """Replace the current grader with a version; `restore` undoes it.

        Raises:
            WorkbenchError: Unknown version.
        """
        brought, name = self._version_of(version), self._chosen
        self._session.live.forget(name)  # the typed text belongs to the grader before
        self._session.graders.exchange(
            name, with_client_of(self._session.graders.by_name.get(name), brought.grader)
        )
        self._session.code.text = self._code_of(brought, name)

    def _version_of(self, id: str) -> Version:  # noqa: A002 (the page's name)
        version = next((one for one in self._versions() if one.id == id), None)
        if version is None:
            raise WorkbenchError("unknown version", found=one_line(repr(id), 80))
        return version

    def _code_of(self, version: Version, name: str) -> str:
        if version.id.startswith("s"):
            return stored_version_code(self._session.storage, name, version.stored)
        try:
            return cell_of(version.text, name)
        except ValueError:  # a function of the notebook has no text
            return self._session.code.text

    def data(self) -> dict[str, Any]:
        """`HistoryData`."""
        name, versions = self._chosen, self._versions()
        before, now = self._pair(versions)
        lead, rest = self._words(versions, before, now)
        return {
            "name": shown_name(name),
            "note": _note(versions),
            "sparks": [
                _spark(versions, name, label)
                for label in (0, 1)
                if any(error_share(version, name, label) for version in versions)
            ],
            "lead": shown(lead, _WORDS),
            "rest": shown(rest, _WORDS),
            "versions": [self._version(versions, at) for at in reversed(range(len(versions)))],
            "from": before.id if before else "",
            "to": now.id if now else "",
            "diff": _diff(before, now),
            "stored": bool(self._session.storage.url),
            "runs": [_run(run) for run in self._dataset_runs()],
        }

    @property
    def _chosen(self) -> str:
        """The grader whose versions are shown; the first one if none that exists was selected."""
        names = list(self._session.graders.by_name)
        return find_name(self._name, names) or (names[0] if names else "")

    def _versions(self) -> list[Version]:
        name = self._chosen
        return self._history.versions(name, self._dataset_runs()) if name else []

    def _pair(self, versions: Sequence[Version]) -> tuple[Version | None, Version | None]:
        """The two that are compared: the selected ones, else the last and the one before it."""
        by_id = {version.id: version for version in versions}
        now = by_id.get(self._to) or (versions[-1] if versions else None)
        before = by_id.get(self._from) or (versions[-2] if len(versions) > 1 else None)
        return before, now

    def _words(
        self, versions: Sequence[Version], before: Version | None, now: Version | None
    ) -> tuple[str, str]:
        if not versions:
            return "There is no grader yet.", " Write one: each version that you save is listed here."
        if before is None or now is None:
            return "One version so far.", " Change the text and save it to see the effect here."
        if before is now:
            return "This is one version.", " Select two to see what changed."
        return change_words(self._chosen, before, now)

    def _version(self, versions: Sequence[Version], at: int) -> dict[str, Any]:
        version, name = versions[at], self._chosen
        bad, good = (error_share(version, name, label) for label in (0, 1))
        current = self._session.graders.by_name.get(name)
        line = first_new_line(versions[at - 1].text, version.text) if at else ""
        return {
            "id": version.id, "text": one_line(version.title, 40), "at": _time(version.at), "line": one_line(line, _LINE),
            "bad": bad.text if bad else "", "bad_interval": bad.interval if bad else "",
            "good": good.text if good else "", "good_interval": good.interval if good else "",
            "mean": _mean(version.report or version.run, name), "verdict": _verdict(version, name, has_labels=bool(bad or good)),
            "can_bring": version.grader != current,
        }  # fmt: skip

    def _dataset_runs(self) -> Sequence[StoredRun]:
        """This dataset's last runs in the store, the newest first; read again when another report is shown."""
        report, storage = self._session.results.report, self._session.storage
        if self._runs is None or self._runs[0] is not report:
            self._runs = (report, self._read_runs() if storage.url else ())
        return self._runs[1]

    def _read_runs(self) -> Sequence[StoredRun]:
        try:
            return self._session.storage.store.runs.list(
                dataset=self._session.labels.dataset, limit=MAX_VERSIONS
            )
        except WorkbenchError:
            return ()  # the toolbar shows the error of the store


def _note(versions: Sequence[Version]) -> str:
    """How many versions there are, and whether they ran on the same rows."""
    reports = [version.report for version in versions if version.report is not None]
    count = counted(len(versions), "version")
    if len(versions) < 2 or len(reports) < len(versions):
        return (
            count
            if not versions or len(reports) == len(versions)
            else f"{count}, {len(reports):,} of them run here"
        )
    ids = {tuple(map(str, report.samples.ids)) for report in reports}
    return (
        f"{count}, each run on the same {counted(len(reports[0]), 'row')}"
        if len(ids) == 1
        else f"{count}, run on different rows"
    )


def _spark(versions: Sequence[Version], name: str, label: int) -> dict[str, Any]:
    """The error rate of each version on rows of one label, against the limit."""
    shares = [(version.title, error_share(version, name, label)) for version in versions]
    points = [_point(title, share) for title, share in shares if share is not None]
    title = ("known bad, accepted", "known good, rejected")[label]
    return {"title": title, "limit": LIMITS[label], "good": label == 1, "points": points}


def _point(title: str, share: ErrorShare) -> dict[str, Any]:
    lo, hi = (None if math.isnan(end) else float(end) for end in (share.lo, share.hi))
    return {"text": one_line(title.partition(",")[0], 40), "value": float(share.value), "lo": lo, "hi": hi}


def _verdict(version: Version, name: str, *, has_labels: bool) -> dict[str, Any] | None:
    """A version's verdict; None if it has not run."""
    if version.report is None and version.run is None:
        return None
    return _verdict_of(findings_of(version, name), has_labels=has_labels)


def _verdict_of(findings: Sequence[Any], *, has_labels: bool = False) -> dict[str, Any]:
    """The verdict of a grader.

    Args:
        findings: All about it.
        has_labels: Whether its rows are known to have labels; findings about labels show it as well.
    """
    has_labels = has_labels or any(finding.kind in _ABOUT_LABELS for finding in findings)
    verdict = verdict_of(findings, has_labels=has_labels)
    return {key: shown(text, _WORDS) for key, text in verdict.items()}


def _mean(source: Report | StoredRun | None, name: str) -> str:
    """The mean of a grader's scores; "" if there is none."""
    if source is None or name not in source.summary.index:
        return ""
    mean = float(source.summary.loc[name, "mean"])  # type: ignore[arg-type]
    return f"{mean:.2f}" if math.isfinite(mean) else ""


def _diff(before: Version | None, now: Version | None) -> list[dict[str, str]]:
    if before is None or now is None:
        return []
    lines = changed_lines(before.text, now.text)[:_MAX_LINES]
    return [{"kind": kind, "text": shown(line, _LINE)} for kind, line in lines]


def _run(run: StoredRun) -> dict[str, Any]:
    graders = [
        {
            "name": shown_name(name),
            # A stored run does not contain which rows had labels, so "no labels" would be a guess.
            "verdict": _verdict_of(
                [finding for finding in run.findings if finding.grader == name], has_labels=True
            ),
            "mean": _mean(run, name),
        }
        for name in run.graders[:_MAX_GRADERS]
    ]
    return {"id": run.id, "at": _time(run.at), "rows": run.rows, "graders": graders}


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"
