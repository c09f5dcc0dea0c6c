"""The state and actions of an app: samples, graders, runs, results, labels.

Panels observe the traits of the parts and call their methods; an action sets in `code` the lines that do the
same. Runs report from a background thread, so every change of a part holds the lock that all parts share.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.analysis.labels import read_labels
from workbench.app.session.action import (
    ActionGuard,
    LastCode,
    compare_code,
    label_code,
    mapping_code,
    opened_code,
    undo_code,
)
from workbench.app.session.auto_grader import AutoGrader
from workbench.app.session.columns import LABELS, mapped, readable
from workbench.app.session.cost import CostEstimates
from workbench.app.session.extended_rows import extended, renamed_columns
from workbench.app.session.grader_text import Drafts
from workbench.app.session.graders import GraderList
from workbench.app.session.opened_files import OpenedFiles
from workbench.app.session.results import DrawnResults, Results
from workbench.app.session.runs import SessionRuns
from workbench.app.session.session_labels import DatasetLabels
from workbench.app.session.storage import DEFAULT_STORE, Storage
from workbench.app.session.versions import GraderStorage, SavedVersions
from workbench.core.errors import ReportError, WorkbenchError
from workbench.graders import Grader
from workbench.graders.base import listen
from workbench.report.settings import label_column

if TYPE_CHECKING:
    from workbench.data.samples import Samples
    from workbench.report import Report


DEFAULTS: dict[str, Any] = {"labels": None, "store": DEFAULT_STORE, "labeller": "", "dataset": ""}
"""The default settings of a session."""


class Session:
    """One session of work on one dataset.

    Args:
        samples: As in `Suite.run`.
        graders: A list of them, or a `Suite`; by default all that were defined in this notebook so far.
        labels: Labels of the rows, as in `Suite.run`; a user's labels in the store take precedence.
        store: A `Store`, or its address, for labels, judges' replies and run summaries.
        labeller: Who labels here.
        dataset: Name under which the store saves this dataset's labels; derived from its source or content by default.
        unmapped: Why the samples' columns must be mapped first, if the caller knows it.

    Attributes:
        unmapped: Why nothing is graded until a user has mapped the columns; "" if they are.
        mapping: The columns by role as a user mapped them in the app; empty if they were recognised or given.
        samples: The dataset.
        settings: The arguments, except samples and graders.
        guard: The lock of all parts, and the last error.
        code: The lines that repeat the last action.
        storage: Stores labels and replies.
        graders: The graders, and which of them are selected.
        labels: The labels of the samples.
        results: The report that is shown.
        kept: Versions of the graders.
        costs: What judges' requests are expected to cost.
        rows: Which rows are graded.
        runs: Runs of the selected graders.
        live: Grading while the user types.
        stored: Graders that were saved in the store.
        drafts: Unsaved input.
        files: The files that were opened in the app.
        closing: Called when the session is closed, for example by the views that share it.
    """

    def __init__(
        self,
        samples: Any,
        graders: Any = None,
        *,
        labels: Any = None,
        store: Any = DEFAULT_STORE,
        labeller: str = "",
        dataset: str = "",
        unmapped: str = "",
    ) -> None:
        self.closing: list[Callable[[], object]] = []
        self.samples, reason = readable(samples)
        self.unmapped = unmapped or reason
        self.mapping: dict[str, str] = {}
        self.settings = {"labels": labels, "store": store, "labeller": labeller, "dataset": dataset}
        self.guard, self.code, self.drafts = ActionGuard(), LastCode(), Drafts()
        self.storage, self.files = Storage(store), OpenedFiles()
        self.labels = DatasetLabels(self.samples, labels, self.storage, labeller=labeller, dataset=dataset)
        self.graders = GraderList(self.guard, self.code)
        self.results = Results(self.guard, self.code)
        self.costs = CostEstimates()
        self.kept, self.rows = SavedVersions(), DrawnResults(self.samples, self.guard)
        self.runs = SessionRuns(
            self.graders, self.labels, self.results, kept=self.kept, guard=self.guard, code=self.code
        )
        self.live = AutoGrader(
            self.graders,
            self.runs,
            self.results,
            self.labels,
            rows=self.rows,
            kept=self.kept,
            guard=self.guard,
        )
        self.stored = GraderStorage(self.graders, self.storage, guard=self.guard, code=self.code)
        self.graders.set_given(graders)
        self._end_listening = listen(self._grader_defined)

    def continue_from(self, previous: Session) -> None:
        """Continue the session that a cell showed before, for other rows or labels."""
        self.graders.continue_from(previous.graders)
        self.live.continue_from(previous.live)
        self.drafts = previous.drafts

    def with_columns(self, roles: dict[str, str]) -> Session:
        """A session that continues this one with other columns; this one is to be closed then.

        Args:
            roles: Role to column: the roles of `columns.READ`, and "labels".

        Raises:
            SamplesError: The columns cannot be read as samples.
            ReportError: The labels cannot be read.
        """
        samples = mapped(self.samples.frame, roles, self.samples.source)
        given = self.settings["labels"]
        labels = roles.get(LABELS) or (given if not isinstance(given, str) else None)
        graders = self.graders.suite or list(self.graders.by_name.values())
        session = Session(samples, graders, **{**self.settings, "labels": labels})
        session.mapping = dict(roles)
        session.continue_from(self)
        session.files, self.files = self.files, OpenedFiles()
        session.code.text = mapping_code(roles, self.samples.source, labels)
        return session

    def with_rows(self, samples: Samples, *, extends: bool, unmapped: str = "") -> Session:
        """A session that continues this one with the rows of a file; this one is to be suspended then.

        Args:
            samples: The rows of the file.
            extends: Whether the rows of this session come first; else they are replaced.
            unmapped: Why the columns of the rows must be mapped first.

        Raises:
            WorkbenchError: The rows cannot be joined.
        """
        if extends and (self.unmapped or unmapped):
            raise WorkbenchError(
                "the columns are not chosen yet", hint="choose them first, or replace the rows"
            )
        rows = extended(self.samples, samples) if extends else samples
        labels = self._labels_with(samples, extends=extends)
        settings = {**self.settings, "labels": labels, "dataset": self.labels.dataset if extends else ""}
        if self.storage.in_memory:
            settings["store"] = self.storage.store  # its labels and versions would be lost with this session
        graders = self.graders.suite or list(self.graders.by_name.values())
        session = Session(rows, graders, unmapped=unmapped, **settings)
        session.continue_from(self)
        renamed = renamed_columns(self.samples, samples) if extends else None
        session.code.text = opened_code(samples.source, labels, renamed)
        return session

    def _labels_with(self, added: Samples, *, extends: bool) -> Any:
        """The `labels=` for rows of a file: the same column if it has labels there, too; others belong to this session's rows."""
        labels = self.settings["labels"]
        if extends and (labels is None or isinstance(labels, str)):
            return labels
        if extends:
            given = self.labels.given_to(self.samples) or [None] * len(self.samples)
            return [*given, *[None] * len(added)]
        if not isinstance(labels, str):
            return None
        try:
            read_labels(label_column(added, labels), len(added))
        except ReportError:  # no such column, or other cells
            return None
        return labels

    def suspend(self) -> None:
        """Stop what is running and close the views, until an undo continues this session."""
        for close in list(self.closing):
            close()
        self.runs.cancel()
        self.live.stop()
        self.live.active = False

    def _grader_defined(self, grader: Grader) -> None:
        with self.guard.locked("a grader was defined"):
            self.graders.define(grader)

    @property
    def edited_names(self) -> list[str]:
        """Graders that differ from their last saved version."""
        kept = {name: self.kept.last(name) for name in self.graders.by_name}
        return [
            name
            for name, last in kept.items()
            if last is not None and last.grader != self.graders.by_name[name]
        ]

    def report_of(self, name: str) -> Report | None:
        """The report that is shown, if it has grades of the grader's current definition; else None."""
        report: Report | None = self.results.report
        has_grades = report is not None and name in report.grades and name not in self.graders.unrun
        return report if has_grades else None

    def label(self, name: str, value: bool | None, note: str = "", tags: tuple[str, ...] = ()) -> None:
        """Save a label of a sample: True good, False bad, None skipped.

        Raises:
            StoreError: It could not be saved.
        """
        self.labels.put(name, value, note, tags)
        self.code.text = label_code(self.labels, name, value, note, tags)

    def undo_label(self) -> str:
        """Undo the last label; the sample it was for.

        Raises:
            WorkbenchError: This session has none.
        """
        name = self.labels.undo()
        self.code.text = undo_code(self.labels, name)
        return name

    def use_labels(self, *, shows_code: bool = True) -> None:
        """Diagnose the report again with the current labels. Called without the lock: it may take seconds.

        Args:
            shows_code: Whether to set the lines that repeat it.
        """
        self.results.use_labels(self.labels, shows_code=shows_code)

    def note_comparison(self, first: str, second: str) -> None:
        """Set the line that compares these two graders."""
        in_report = self.runs.report_with(first, second) is self.results.report
        self.code.text = compare_code(first, second, versions=not in_report)

    def store_written(self) -> None:
        """Save the selected graders that were written or changed in the app in the store, if it outlives the kernel.

        Called without the lock after they ran or were exported: their text would be lost with the kernel. A grader that
        cannot be saved is omitted; saving it by hand shows the reason.
        """
        if self.storage.in_memory:
            return
        drafts = set(self.graders.drafts)
        for name in self.graders.written_here:
            if name in self.graders.chosen and name not in drafts and not self.stored.version_of(name):
                code = self.code.text
                with suppress(WorkbenchError, ValueError):
                    self.stored.keep(name)
                with self.guard.lock:
                    self.code.text = code  # the line is that of the run or the export

    def reopen_storage(self) -> None:
        """Open a store again whose file was deleted or replaced; its content is gone."""
        self.stored.reload()
        if self.storage.reopen():
            self.labels.forget()
            self.stored.forget()

    def close(self) -> None:
        """Close the views on it, stop listening, cancel work in progress, close the store."""
        for close in list(self.closing):
            close()
        with self.guard.lock:
            self._end_listening()
            self.files.close()
            self.live.close()
            self.runs.close()
            parts = (
                self.guard, self.code, self.graders, self.labels, self.results, self.rows, self.runs, self.live, self.stored,
                self.files,
            )  # fmt: skip
            for part in parts:
                part.unobserve_all()
