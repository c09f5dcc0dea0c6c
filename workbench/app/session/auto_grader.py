"""Grade while the user types: a text is validated and graded on the drawn rows, and only the newest text's result counts.

Graders that call a model or a service, or run a function of unknown cost, wait for Run. Everything here happens
on background threads: the kernel is never blocked.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.analysis.suite_case import SuiteParts
from workbench.app.session.grader_text import (
    Edit,
    fails,
    grader_from_text,
    like,
    needs_checks,
    waits_for,
    without,
)
from workbench.core import background
from workbench.core.errors import WorkbenchError
from workbench.graders import Entry, Grader, SandboxedGrader
from workbench.report.settings import reuse

if TYPE_CHECKING:
    from workbench.app.session.action import ActionGuard
    from workbench.app.session.graders import GraderList
    from workbench.app.session.results import DrawnResults, Results
    from workbench.app.session.runs import SessionRuns
    from workbench.app.session.session_labels import DatasetLabels
    from workbench.app.session.versions import SavedVersions
    from workbench.core.progress import Progress
    from workbench.report import Report
    from workbench.run.suite import Job


_MAX_AT_ONCE = 5_000
"""Maximum rows whose scores are shown together with their findings, which take less than 0.1 s."""


@dataclass(frozen=True)
class _Grading:
    """A grading in progress, and the event that is set when it has ended."""

    job: Job[Report]
    ended: threading.Event


class AutoGrader(HasTraits):
    """Validates code graders and grades the drawn rows with them whenever one of them changes.

    Nothing happens before `begin`: a session without a page grades only on request.

    Traits (observe them; set them through the methods):
        edits: Name to the `Edit` in progress, or with a failed validation: the grader in the list is an older one.
        working: Names of graders that are being validated or run.
        progress: Of the current grading; None for none.

    Args:
        graders: The graders of the session.
        runs: Takes the reports of edited graders.
        results: The report that is shown.
        labels: The labels of the rows.
        rows: The rows that are graded.
        kept: Versions that an edit is compared with.
        guard: Its lock is held while the session changes.

    Attributes:
        active: Whether graders are graded when they change.
        answered: Name to the number of the last edit whose outcome is shown.
    """

    edits: Any = AnyTrait()
    working: Any = AnyTrait(())
    progress: Any = AnyTrait(None, allow_none=True)

    def __init__(
        self,
        graders: GraderList,
        runs: SessionRuns,
        results: Results,
        labels: DatasetLabels,
        *,
        rows: DrawnResults,
        kept: SavedVersions,
        guard: ActionGuard,
    ) -> None:
        super().__init__()
        self._graders, self._runs, self._results, self._labels = graders, runs, results, labels
        self._rows, self._kept, self._guard = rows, kept, guard
        self.edits = {}
        self.active = False
        self.answered: dict[str, int] = {}
        self._newest = 0  # number of the last request: work for an older one stops
        self._under_way: set[int] = set()
        self._typed: dict[str, tuple[Grader, str]] = {}  # graders made from a text typed here, and the text
        self._job: Job[Report] | None = None
        graders.observe(self._graders_changed, ["by_name", "chosen"])
        rows.observe(self._graders_changed, "draw")

    def begin(self) -> None:
        """Grade what can be graded without Run, now and whenever a grader changes."""
        with self._guard.lock:
            if not self.active:
                self.active = True
                self._request()

    def edit(self, name: str, text: str, seq: int) -> None:
        """Replace a grader's text; work in progress for an older text is cancelled."""
        with self._guard.lock:
            if name in self._graders.by_name:
                self.edits = {**self.edits, name: Edit(text, seq)}
                self._runs.leave_line(self._rows.draw, self._graded_with(name))
                self._request()

    def _graded_with(self, name: str) -> set[str]:
        """Graders whose grades are shown once an edit is graded; editing a grader that waits for Run does not add it."""
        report: Report | None = self._results.report
        shown = set() if report is None else set(report.graders)
        return shown if waits_for(self._graders.by_name[name]) else {*shown, name}

    def text_of(self, name: str) -> str | None:
        """The text of a grader as typed, which may be laid out differently; None if it was not typed here."""
        edit: Edit | None = self.edits.get(name)
        if edit is not None:
            return edit.text
        grader, text = self._typed.get(name, (None, ""))
        return text if grader is not None and grader is self._graders.by_name.get(name) else None

    def forget(self, name: str) -> None:
        """Drop a text that was typed for a grader and is not a valid grader."""
        with self._guard.lock:
            self.edits = without(self.edits, name)

    def continue_from(self, previous: AutoGrader) -> None:
        """Take over texts that are not valid graders yet, for graders that are the same here.

        Args:
            previous: What the same cell showed before, for other rows or labels.
        """
        before = previous._graders.by_name
        self.edits = {
            name: edit
            for name, edit in previous.edits.items()
            if name in before and before[name] == self._graders.by_name.get(name)
        }

    @property
    def idle(self) -> bool:
        """Whether no work is in progress."""
        return not self._under_way

    def stop(self) -> None:
        """Cancel the work in progress; the next change is graded again."""
        with self._guard.lock:
            self._newest += 1
            if self._job is not None:
                self._job.cancel()
            self.working, self.progress = (), None

    def resume(self) -> frozenset[str]:
        """Resume texts whose grading was stopped; names of their graders."""
        with self._guard.lock:
            stopped = {name for name, edit in self.edits.items() if edit.is_open} - set(self.working)
            if stopped and not self._under_way:
                self._request()
            return frozenset(stopped)

    def close(self) -> None:
        """Cancel the work in progress, and stop grading."""
        self.active = False
        self.stop()

    def _graders_changed(self, change: Any) -> None:
        if self.active and change["old"] != change["new"]:
            self._request()

    def _request(self) -> None:
        """Check for work on a background thread."""
        self._newest += 1
        self._under_way.add(self._newest)
        if self._job is not None:
            self._job.cancel()
        background.submit(asyncio.to_thread(self._work, self._newest))

    def _work(self, request: int) -> None:
        """Validate and grade; several of these may run concurrently, and only the newest one's outcome is used."""
        try:
            with self._guard.recorded("Grading while you type"):
                self._validate_and_grade(request)
        finally:
            with self._guard.lock:
                self._under_way.discard(request)
                if request == self._newest:
                    self.working, self.progress = (), None

    def _validate_and_grade(self, request: int) -> None:
        with self._guard.lock:
            if request != self._newest:
                return
            edits: dict[str, Edit] = {name: edit for name, edit in self.edits.items() if edit.is_open}
            not_validated = {
                name: grader
                for name, grader in self._graders.by_name.items()
                if name not in edits and needs_checks(grader)
            }
            self.working = tuple({**edits, **not_validated})
        self._run_checks(not_validated, request)
        typed = {
            name: grader
            for name, edit in edits.items()
            if (grader := self._read(name, edit, request)) is not None
        }
        entries, grading = self._start(typed, request)
        # A text is validated while it grades: if a check fails, its grades are dropped.
        edited = {
            name: grader
            for name, grader in typed.items()
            if self._is_valid(name, edits[name], grader, request)
        }
        if grading is not None and edited.keys() != typed.keys():
            grading.job.cancel()
            entries, grading = self._start(edited, request)
        with self._guard.lock:
            if request != self._newest:
                return
            for name in edited.keys() - entries.keys():
                self._accept(name, edited[name])  # it waits for Run
        if grading is not None:
            grading.ended.wait()
            if request == self._newest:
                self._publish(grading.job.report(), entries, request)

    def _start(self, edited: Mapping[str, Grader], request: int) -> tuple[dict[str, Entry], _Grading | None]:
        """Start grading now; return its entries by name, and the grading, None if there is nothing to grade."""
        with self._guard.lock:
            if request != self._newest:
                return {}, None
            entries, rows = self._to_grade(edited), self._rows.rows
            self.working = tuple({**entries, **edited})
        if not entries:
            return entries, None
        ended = threading.Event()
        job = self._graders.suite_of_entries(list(entries.values())).start(
            rows,
            progress=lambda moment: self._show_progress(moment, request),
            ended=lambda _: ended.set(),
            labels=self._labels.for_rates(rows),
        )
        self._job = job
        return entries, _Grading(job, ended)

    def _run_checks(self, graders: Mapping[str, Grader], request: int) -> None:
        """Validate graders that were added without validation."""
        for name, grader in graders.items():
            if request != self._newest:
                return
            assert isinstance(grader, SandboxedGrader)
            grader.validate()
            self._graders.note_validation(name, grader)

    def _read(self, name: str, edit: Edit, request: int) -> Grader | None:
        """The grader of an edit, not validated yet; None if the text is not one, which is recorded in the edit."""
        with self._guard.lock:
            before = self._graders.by_name.get(name)
        try:
            return like(before, grader_from_text(edit.text, name))
        except (WorkbenchError, ValueError, TypeError) as problem:
            self._refuse(name, replace(edit, error=str(problem)), request)
            return None

    def _is_valid(self, name: str, edit: Edit, grader: Grader, request: int) -> bool:
        """Whether the grader of an edit is valid; if it is not, that is recorded in the edit."""
        if not isinstance(grader, SandboxedGrader):
            return True
        try:
            validation = grader.validate()
        except (WorkbenchError, ValueError, TypeError) as problem:
            self._refuse(name, replace(edit, error=str(problem)), request)
            return False
        if not validation.ok:
            self._refuse(name, replace(edit, validation=validation), request)
        return validation.ok

    def _refuse(self, name: str, refused: Edit, request: int) -> None:
        """Record why an edit is not a grader, unless the user has typed on."""
        with self._guard.lock:
            edit: Edit | None = self.edits.get(name)
            if edit is not None and edit.seq == refused.seq and edit.is_open and request == self._newest:
                self.answered[name] = edit.seq
                self.edits = {**self.edits, name: refused}

    def _to_grade(self, edited: Mapping[str, Grader]) -> dict[str, Entry]:
        """What is graded now: edits, and graders in the run that are free, validated and have no grades of these rows.

        A suite with a rule or a gate is graded as a whole, or waits for Run.
        """
        graders = self._graders
        chosen = {**graders.chosen_entries(), **{name: graders.entry(name) for name in edited}}
        entries = {
            name: replace(entry, grader=edited[name]) if name in edited else entry
            for name, entry in chosen.items()
        }
        new = {name for name in entries if name in edited or self._needs_grades(name)}
        if graders.judges_together:
            waits = any(waits_for(entry.grader) for entry in entries.values())
            return entries if new and not waits else {}
        return {name: entry for name, entry in entries.items() if name in new and not waits_for(entry.grader)}

    def _needs_grades(self, name: str) -> bool:
        report: Report | None = self._results.report
        stale = report is None or report.samples is not self._rows.rows
        return (stale or name in self._graders.unrun) and not fails(self._graders.by_name[name])

    def _show_progress(self, moment: Progress, request: int) -> bool:
        if request != self._newest:
            return False
        with self._guard.lock:
            self.progress = moment
        return True

    def _publish(self, report: Report, entries: Mapping[str, Entry], request: int) -> None:
        """Accept the graders and show their grades, in one step.

        Diagnosis is done before; of many rows, whose findings take longer than their scores, after: the page shows the
        earlier findings as outdated until then.
        """
        while request == self._newest:
            before: Report | None = self._results.report
            shown = self._joined(report, before, entries)
            follows = len(shown) > _MAX_AT_ONCE and self._results.can_follow(shown)
            if not follows:
                _ = shown.findings
            with self._guard.lock:
                if request != self._newest:
                    return
                if self._results.report is not before:
                    continue  # a run has ended meanwhile: merge with its report
                self._take(shown, entries)
                if follows:
                    self._results.undiagnosed = frozenset(entries)
                self.working, self.progress = (), None
            if follows:
                self._results.diagnose(shown)
            return

    def _joined(self, report: Report, before: Report | None, entries: Mapping[str, Entry]) -> Report:
        """The report that is shown, merged with these grades."""
        report = self._results.with_settings(report)
        if before is None or before.gate is not None or before.samples is not report.samples:
            return report
        names = [name for name in self._graders.by_name if name in entries or name in before.grades]
        parts = [entries.get(name) or self._graders.entry(name) for name in names]
        joined = replace(
            report,
            grades={name: {**before.grades, **report.grades}[name] for name in names},
            sources={**before.sources, **report.sources},
            fingerprints={**before.fingerprints, **report.fingerprints},
            notes=before.notes,
            suite=SuiteParts(tuple(parts), None, "", None),
        )
        return reuse(joined, before)

    def _take(self, report: Report, entries: Mapping[str, Entry]) -> None:
        if not self._runs.has_left_lines:
            self._runs.leave_line(self._rows.draw, report.graders)
        for name, entry in entries.items():
            self._accept(name, entry.grader)
            kept = self._kept.last(name)
            if kept is None or kept.grader == entry.grader:
                kept = self._kept.note(name, entry.grader, report=report)
            has_grades = kept.report is not None and name in kept.report.graders
            before = (
                (replace(entry, grader=kept.grader), kept.report)
                if has_grades and kept.report is not None
                else None
            )
            self._runs.take_edit(report, entry, before)

    def _accept(self, name: str, grader: Grader) -> None:
        """Replace the edited grader in the list; the typed text now belongs to the new one."""
        if grader is self._graders.by_name.get(name):
            return  # graded again for other rows: a text that fails validation is still not a grader
        self._graders.add(grader, name=name)
        edit: Edit | None = self.edits.get(name)
        if edit is not None:
            self.answered[name], self._typed[name] = edit.seq, (grader, edit.text)
        self.edits = without(self.edits, name)
