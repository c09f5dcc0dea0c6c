"""What a Workbench knows: samples, graders, the run, what is looked at. No widget is imported here.

Panels observe the traits and call the methods; a method does one thing and leaves in `code` the lines that would do
the same. Runs tell their news on a thread of their own, so everything that changes the state holds its lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import Bool, Int

from workbench.errors import ReportError, WorkbenchError
from workbench.graders import Grader
from workbench.graders.announce import listen
from workbench.graders.combine import Entry
from workbench.samples import as_samples
from workbench.widgets.graders import Graders
from workbench.widgets.kept import keep, kept_names, kept_text
from workbench.widgets.labelling import STORE, Labelling
from workbench.widgets.problem import Problem
from workbench.widgets.shelf import proof_of
from workbench.widgets.snippets import call, keep_code, label_code, undo_code
from workbench.widgets.versions import BEFORE, Versions

if TYPE_CHECKING:
    from workbench.jobs import Job
    from workbench.progress import Progress
    from workbench.report import Report

__all__ = ["DEFAULTS", "State"]

Condition = Mapping[str, Any]

DEFAULTS: dict[str, Any] = {"labels": None, "store": STORE, "labeller": "", "dataset": ""}


class State(Graders):
    """One session of work on one dataset.

    Traits beside those of `Graders` (observe them; set them through the methods):
        progress: The last news of the run under way or over, None before the first.
        running: Whether a run is under way.
        report: The last report.
        where: Conditions on its rows (see `Report.where`), all of which hold.
        row: Number of the row that is read, None for none.
        problem: The last error of a callback.
        labelled: Counts labels put and taken back.
        kept: Name to the grader of that name that was kept in the store, and its version there.

    Args:
        samples: Whatever `Suite.run` takes.
        graders: A list of them, or a `Suite`; by default all that were defined in this notebook so far.
        labels: What is known of each row, as in `Suite.run`; a person's labels in the store go before it.
        store: A `Store`, or its address; labels, judges' answers and run summaries go there.
        labeller: Who labels here.
        dataset: Name under which the store keeps this dataset's labels; made from its source or content by default.
    """

    progress = AnyTrait(None, allow_none=True)
    running = Bool(False)
    report: Any = AnyTrait(None, allow_none=True)
    where = AnyTrait(())
    row = AnyTrait(None, allow_none=True)
    problem = AnyTrait(None, allow_none=True)
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
        super().__init__()
        self._depth, self.kept = 0, {}
        self.samples = as_samples(samples)
        given = {"labels": labels, "store": store, "labeller": labeller, "dataset": dataset}
        self.settings = given
        self.take(graders)
        self.labelling = Labelling(self.samples, labels, store, labeller=labeller, dataset=dataset)
        self.job: Job | None = None
        self._versions, self._closing = Versions(), False
        self._running: Mapping[str, Entry] = {}
        self._end_listening = listen(self._announced)

    # ---- errors

    @contextmanager
    def guard(self, where: str = "", *, act: bool = False) -> Iterator[None]:
        """Hold the lock; what goes wrong inside becomes the `problem` and goes no further.

        Args:
            where: Said of the problem.
            act: A person does something, so what went wrong before was read. News of a run leave it there.
        """
        with self.lock:
            self._depth += 1
            try:
                if act and self._depth == 1:
                    self.problem = None
                yield
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
                self.problem = Problem.of(error, where)
            finally:
                self._depth -= 1

    @contextmanager
    def watched(self, where: str = "") -> Iterator[None]:
        """As `guard` for something a person does that takes its time: the lock is not held."""
        with self.lock:
            self.problem = None
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
            with self.lock:
                self.problem = Problem.of(error, where)

    def _announced(self, grader: Grader) -> None:
        with self.guard("a grader was defined"):
            self.announced(grader)

    # ---- the run

    def start(
        self, n: int = 0, *, seed: int | None = 0, by: str | None = None, budget: float | None = None
    ) -> Job:
        """Begin a run over a draw of the samples, in the background.

        Args:
            n: Rows to draw; 0 for all.
            seed: Of the draw.
            by: Column whose values are strata.
            budget: US dollars at most; None for no limit.

        Raises:
            WorkbenchError: A run is under way, no grader is chosen, or the draw cannot be made.
        """
        with self.lock:
            if self.running:
                raise WorkbenchError("a run is under way", hint="cancel it, or wait for its end")
            suite = self.chosen_suite()
            rows = self.samples.draw(n, seed=seed, by=by) if n else self.samples
            self.labelling.reload()  # another notebook may have labelled meanwhile
            labels = self.labelling.known(rows)
            given = {} if not self.labelling.store_url else {"store": self.labelling.store}
            self._running = self.chosen_entries()
            self.job = suite.start(
                rows, progress=self._tell, ended=self._ended, labels=labels, budget=budget, **given
            )
            self.progress, self.running = None, True
            self.code = self._run_code(n, seed, by, budget)
            return self.job

    def _run_code(self, n: int, seed: int | None, by: str | None, budget: float | None) -> str:
        draw = call("app.samples.draw", n, seed=seed, by=by) if n else "app.samples"
        settings = {
            "labels": self.labelling.code_for("rows"),
            "store": repr(self.labelling.store_url or None),
        }
        said = [f"{name}={text}" for name, text in settings.items() if text not in {"", "None"}]
        said += [] if budget is None else [f"budget={budget!r}"]
        return f"rows = {draw}\nreport = {self.suite_code()}.run({', '.join(['rows', *said])})\nreport"

    def cancel(self) -> None:
        """Stop the run; what was graded is kept."""
        if self.job is not None:
            self.job.cancel()

    def _tell(self, moment: Progress) -> bool:
        with self.lock:
            self.progress = moment
        return True

    def _ended(self, job: Job) -> None:
        """The end of a run, on its thread."""
        report = None if job.error is not None else job.report()
        if report is not None and not self._closing:
            with suppress(Exception):  # what a diagnostic raises is raised again where it is shown
                _ = report.findings  # takes seconds for many rows: before the lock
        with self.guard("Run"):
            self.running = False
            if self._closing:
                self.labelling.close()
            elif report is None:
                assert job.error is not None
                raise job.error
            else:
                self._show(report)

    @property
    def failed(self) -> bool:
        """Whether the last run ended without a report."""
        return self.job is not None and self.job.error is not None

    def _show(self, report: Report) -> None:
        """Take a new report; what the graders said before a change stays for comparing."""
        now = {name: self.entry(name) for name in self._running if name in self.graders}
        self._versions.note(report, self._running)
        self.row, self.where = None, ()
        self.report = report
        self.unrun -= {name for name, entry in self._running.items() if now.get(name) == entry}

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
        self.report.where(*wanted)  # raises what is wrong before anything changes
        with self.lock:
            self.where = wanted
            if conditions:
                self.code = (
                    f"app.report.rows(where=app.report.where({', '.join(map(repr, map(dict, wanted)))}))"
                )

    def versions(self) -> Report | None:
        """The last report, and beside each changed grader what it said before, on the rows that both runs have."""
        return None if self.report is None else self._versions.beside(self.report)

    @property
    def no_version(self) -> str:
        """Why a changed grader cannot be compared with itself; "" where it can, or none was changed."""
        return self._versions.why_not

    def relabel(self) -> None:
        """Read the findings anew with the labels there are now. Called without the lock: it may take seconds."""
        before: Report | None = self.report
        if before is None:
            return
        self.labelling.reload()
        report = before.diagnose(labels=self.labelling.known(before.samples))
        with self.lock:
            if self.report is not before:
                return  # another run has ended meanwhile
            self.where = tuple(one for one in self.where if _answers(report, one))
            self.report = report
            known = self.labelling.code_for("app.report.samples") or None
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
        now = BEFORE not in f"{a}{b}"
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

    def kept_names(self) -> list[str]:
        """Names of the graders in the store."""
        return [] if self.labelling.in_memory else kept_names(self.labelling.store)

    def kept_text(self, name: str) -> str:
        """The text of a grader in the store.

        Raises:
            WorkbenchError: It is not there any more, or its kind is unknown here.
        """
        return kept_text(self.labelling.store, name)

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
        report.where(condition)
    except ReportError:
        return False
    return True
