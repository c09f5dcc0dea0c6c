"""What a Workbench knows: samples, graders, the run, what is looked at. No widget is imported here.

Panels observe the traits and call the methods; a method does one thing and leaves in `code` the lines that would do
the same. Runs tell their news on a thread of their own, so everything that changes the state holds its lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import Int

from workbench.errors import ReportError
from workbench.graders import Grader
from workbench.graders.announce import listen
from workbench.samples import as_samples
from workbench.session.code_lines import keep_code, label_code, undo_code
from workbench.session.drafts import Drafts
from workbench.session.graders import Graders
from workbench.session.labels import STORE, Labelling
from workbench.session.proofs import proof_of
from workbench.session.runs import Runs
from workbench.session.stored_graders import keep

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["DEFAULTS", "State"]

Condition = Mapping[str, Any]

DEFAULTS: dict[str, Any] = {"labels": None, "store": STORE, "labeller": "", "dataset": ""}


class State(Runs):
    """One session of work on one dataset.

    Traits beside those of `Runs` (observe them; set them through the methods):
        labelled: Counts labels put and taken back.
        kept: Name to the grader of that name that was kept in the store, and its version there.

    Args:
        samples: Whatever `Suite.run` takes.
        graders: A list of them, or a `Suite`; by default all that were defined in this notebook so far.
        labels: What is known of each row, as in `Suite.run`; a person's labels in the store go before it.
        store: A `Store`, or its address; labels, judges' answers and run summaries go there.
        labeller: Who labels here.
        dataset: Name under which the store keeps this dataset's labels; made from its source or content by default.

    Attributes:
        drafts: What is being written.
    """

    labelled = Int(0)
    kept: Any = AnyTrait()

    def __init__(
        self,
        samples: Any,
        graders: Any = None,
        *,
        labels: Any = None,
        store: Any = STORE,
        labeller: str = "",
        dataset: str = "",
    ) -> None:
        rows = as_samples(samples)
        super().__init__(rows, Labelling(rows, labels, store, labeller=labeller, dataset=dataset))
        self.settings = {"labels": labels, "store": store, "labeller": labeller, "dataset": dataset}
        self.kept, self.drafts = {}, Drafts()
        self.take(graders)
        self._end_listening = listen(self._announced)

    def inherit(self, before: Graders) -> None:
        """See `Graders`; what was being written goes on, too."""
        super().inherit(before)
        if isinstance(before, State):
            self.drafts = before.drafts

    def _announced(self, grader: Grader) -> None:
        with self.guard("a grader was defined"):
            self.announced(grader)

    # ---- looking

    def look(self, *conditions: Condition, add: bool = False) -> None:
        """Show the rows that meet these conditions; with `add` those of before hold too.

        Raises:
            ReportError: A condition that the report cannot answer.
        """
        if self.report is None:
            return
        wanted = (*self.where, *conditions) if add else conditions
        wanted = tuple({repr(one): one for one in wanted}.values())
        self.report.row_numbers(*wanted)  # raises what is wrong before anything changes
        with self.lock:
            self.where = wanted
            if conditions:
                self.code = f"app.report.rows(where=app.report.row_numbers({', '.join(map(repr, map(dict, wanted)))}))"

    def relabel(self) -> None:
        """Read the findings anew with the labels there are now. Called without the lock: it may take seconds."""
        before: Report | None = self.report
        if before is None:
            return
        self.labelling.reload()
        labels = self.labelling.known(before.samples)
        report = replace(before, labels=None) if labels is None else before.diagnose(labels=labels)
        with self.lock:
            if self.report is not before:
                return  # another run has ended meanwhile
            self.where = tuple(one for one in self.where if _answers(report, one))
            self.report = report
            known = self.labelling.code_for("app.report.samples") or "[None] * len(app.report)"
            self.code = f"report = app.report.diagnose(labels={known})\nreport"

    # ---- labels and comparisons

    def label(self, name: str, value: bool | None, note: str = "") -> None:
        """Keep a label of a sample: True good, False bad, None skipped.

        Raises:
            StoreError: It could not be kept.
        """
        self.labelling.put(name, value, note)
        self.labelled += 1
        self.code = label_code(self.labelling, name, value, note)

    def undo_label(self) -> str:
        """Take the last label back; the sample it was for.

        Raises:
            WorkbenchError: There is none of this session.
        """
        name = self.labelling.undo()
        self.labelled += 1
        self.code = undo_code(self.labelling, name)
        return name

    def compared(self, a: str, b: str) -> None:
        """Note that these two are compared."""
        now = self.report_of(a, b) is self.report
        self.code = f"app.report.compare({a!r}, {b!r})" if now else f"app.versions.compare({a!r}, {b!r})"

    # ---- graders in the store

    def keep(self, name: str) -> None:
        """Keep a grader in the store under its name. Called without the lock: it is proved first.

        Raises:
            WorkbenchError: It fails the checks, has no form that can be kept, or is locked there.
        """
        grader = self.graders[name]
        try:
            entry, done = keep(self.labelling.store, name, grader)
        finally:
            with self.lock:
                if self.graders.get(name) == grader:  # else it was redefined meanwhile
                    self.proofs = {**self.proofs, name: proof_of(grader)}
        with self.lock:
            self.kept = {**self.kept, name: (grader, entry.version)}
            if done:
                self.code = keep_code(self.labelling, name, done)

    def kept_version(self, name: str) -> int:
        """The version under which this very grader was kept here; 0 for not kept."""
        grader, version = self.kept.get(name, (None, 0))
        return version if grader == self.graders.get(name) else 0

    # ---- the end

    def close(self) -> None:
        """Stop listening, cancel what runs, close the store."""
        with self.lock:
            self._closing = True
            self._end_listening()
            self.cancel()
            self.unobserve_all()
            if not self.running:  # else the run closes it: answers under way are paid for
                self.labelling.close()


def _answers(report: Report, condition: Condition) -> bool:
    """Whether a report can answer a condition."""
    try:
        report.row_numbers(condition)
    except ReportError:
        return False
    return True
