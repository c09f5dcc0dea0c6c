"""What a Workbench knows: samples, graders, the run, what is looked at. No widget is imported here.

Panels observe the traits and call the methods; a method does one thing and leaves in `code` the lines that would do
the same. Runs tell their news on a thread of their own, so everything that changes the state holds its lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyTrait
from traitlets import Bool, HasTraits, Int, Unicode

from workbench.errors import ReportError, WorkbenchError
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.announce import defined, listen
from workbench.graders.combine import Entry
from workbench.samples import as_samples
from workbench.suite import Suite
from workbench.widgets.labelling import Labelling
from workbench.widgets.problem import Problem
from workbench.widgets.shelf import as_named, keep_proof, proof_of, suite_of
from workbench.widgets.snippets import call, grader_code, graders_code, label_code, undo_code
from workbench.widgets.written import code_of, written

if TYPE_CHECKING:
    from workbench.jobs import Job
    from workbench.progress import Progress
    from workbench.report import Report
    from workbench.sandbox.validate import Validation

__all__ = ["DEFAULTS", "State"]

Condition = Mapping[str, Any]

STORE = "sqlite:///workbench.db"
DEFAULTS: dict[str, Any] = {"labels": None, "store": STORE, "labeller": "", "dataset": ""}


class State(HasTraits):
    """One session of work on one dataset.

    Traits (observe them; set them through the methods):
        graders: Graders by name, in order.
        chosen: Names of those that run, are tried and exported.
        proofs: Name to the last `Validation` of that very text, None without.
        unrun: Names that are new or were redefined since the last run.
        progress: The last news of the run under way or over, None before the first.
        running: Whether a run is under way.
        report: The last report.
        where: Conditions on its rows (see `Report.where`), all of which hold.
        row: Number of the row that is read, None for none.
        problem: The last error of a callback.
        code: Lines that repeat the last action.
        labelled: Counts labels put and taken back.

    Args:
        samples: Whatever `Suite.run` takes.
        graders: A list of them, or a `Suite`; by default all that were defined in this notebook so far.
        labels: What is known of each row, as in `Suite.run`; a person's labels in the store go before it.
        store: A `Store`, or its address; labels, judges' answers and run summaries go there.
        labeller: Who labels here.
        dataset: Name under which the store keeps this dataset's labels; made from its source or content by default.
    """

    graders = AnyTrait()
    chosen = AnyTrait(())
    proofs = AnyTrait()
    unrun = AnyTrait(frozenset())
    progress = AnyTrait(None, allow_none=True)
    running = Bool(False)
    report: Any = AnyTrait(None, allow_none=True)
    where = AnyTrait(())
    row = AnyTrait(None, allow_none=True)
    problem = AnyTrait(None, allow_none=True)
    code = Unicode("")
    labelled = Int(0)

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
        self.lock, self._depth = threading.RLock(), 0
        self.samples = as_samples(samples)
        given = {"labels": labels, "store": store, "labeller": labeller, "dataset": dataset}
        self.settings = given
        self.suite: Suite | None = None
        self._given: frozenset[str] = frozenset()
        self.graders, self.proofs = {}, {}
        self.take(graders)
        self.labelling = Labelling(self.samples, labels, store, labeller=labeller, dataset=dataset)
        self.job: Job | None = None
        self.ran: Mapping[str, Grader] = {}
        self.before: tuple[Report, Mapping[str, Grader]] | None = None
        self._running: Mapping[str, Grader] = {}
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

    # ---- graders

    def take(self, graders: Any) -> None:
        """Take these graders in place of those there are; None for all that this notebook has defined."""
        suite = suite_of(graders)
        named = dict(defined()) if suite is None else {entry.name: entry.grader for entry in suite.entries}
        with self.lock:
            self.suite = suite
            for name in self._given - set(named):  # what was written in the app or defined since stays
                self.remove(name)
            self._given = frozenset(named)
            for name, grader in named.items():
                self.add(grader, name=name)
            self.graders = {**{name: self.graders[name] for name in named}, **self.graders}

    def add(self, grader: Grader, *, name: str = "") -> None:
        """Take a grader, new or in place of the one of its name.

        Args:
            grader: What to take.
            name: What it is called here; its own name by default.

        Raises:
            TypeError: It is no grader.
        """
        if not isinstance(grader, Grader):
            raise TypeError(f"a Workbench takes graders, not {grader!r}"[:200])
        name = name or grader.name
        with self.lock:
            old = self.graders.get(name)
            if old is not None and old == grader:
                keep_proof(old, grader)
            self.graders = {**self.graders, name: grader}
            self.proofs = {**self.proofs, name: proof_of(grader)}
            if old != grader:
                self.unrun |= {name}
            if old is None:
                self.chosen = (*self.chosen, name)

    def _announced(self, grader: Grader) -> None:
        with self.guard("a grader was defined"):
            self.add(grader)

    def remove(self, name: str) -> None:
        """Drop a grader from the list; reports keep what it said."""
        with self.lock:
            self.chosen = tuple(one for one in self.chosen if one != name)
            self.unrun -= {name}
            self.proofs = {key: one for key, one in self.proofs.items() if key != name}
            self.graders = {key: one for key, one in self.graders.items() if key != name}

    def choose(self, names: Iterable[str]) -> None:
        """Say which graders run, in the order of the list.

        Raises:
            WorkbenchError: No such grader.
        """
        wanted = set(names)
        if missing := wanted - set(self.graders):
            raise WorkbenchError(
                f"there is no grader {min(missing)!r}", expected=", ".join(map(repr, self.graders))
            )
        with self.lock:
            self.chosen = tuple(name for name in self.graders if name in wanted)

    def entries(self) -> list[Grader | Entry]:
        """What runs: the chosen graders, as the suite had them where one was given."""
        held = {entry.name: entry for entry in self.suite.entries} if self.suite else {}
        return [
            held[name]
            if name in held and held[name].grader == self.graders[name]
            else as_named(self.graders[name], name)
            for name in self.chosen
        ]

    def chosen_suite(self) -> Suite:
        """The chosen graders with the given suite's rule and gate, where all of its graders are chosen.

        Raises:
            WorkbenchError: Nothing is chosen.
        """
        if not self.chosen:
            raise WorkbenchError("no grader is chosen", hint="choose at least one in the list")
        given = self.suite
        whole = given is not None and {entry.name for entry in given.entries} <= set(self.chosen)
        if given is None or not whole:
            return Suite(self.entries())
        return Suite(self.entries(), combine=given.combine, gate=given.gate, name=given.name)

    def validate(self, name: str) -> Validation:
        """Prove a grader in the sandbox.

        Raises:
            WorkbenchError: It has no source that could be proved.
        """
        grader = self.graders[name]
        if not isinstance(grader, SandboxedGrader):
            raise WorkbenchError(
                f"grader {name!r} is a rule of the workbench: it has no source that needs a proof"
            )
        proof = grader.validate()
        with self.lock:
            self.proofs = {**self.proofs, name: proof}
            self.code = f"{grader_code(name)}.validate()"
        return proof

    def write(self, source: str, *, name: str = "") -> str:
        """Take a grader from a text: Python, JavaScript, or a spec as JSON. Nothing of it runs here.

        Args:
            source: The text.
            name: What it is called; its function's or its spec's name by default.

        Returns:
            Its name.

        Raises:
            WorkbenchError: The text is no grader.
        """
        grader = written(source, name)
        self.add(grader)
        with self.lock:
            self.code = code_of(source, grader.name)
        return grader.name

    # ---- the run

    def start(
        self, n: int = 0, *, seed: int | None = 0, by: str | None = None, budget: float | None = None
    ) -> Job:
        """Begin a run over a draw of the samples, in the background.

        Args:
            n: Rows to draw; 0 for all.
            seed: Of the draw.
            by: Column whose values are strata.
            budget: US dollars at most.

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
            self.progress, self.running = None, True
            self._running = {name: self.graders[name] for name in self.chosen}
            self.code = self._run_code(n, seed, by, budget)
            self.job = suite.start(
                rows, progress=self._tell, ended=self._ended, labels=labels, budget=budget or None, **given
            )
            return self.job

    def _run_code(self, n: int, seed: int | None, by: str | None, budget: float | None) -> str:
        draw = call("app.samples.draw", n, seed=seed, by=by) if n else "app.samples"
        settings = {
            "labels": self.labelling.code_for("rows"),
            "store": repr(self.labelling.store_url or None),
        }
        said = [f"{name}={text}" for name, text in settings.items() if text not in {"", "None"}]
        said += [f"budget={budget!r}"] if budget else []
        return f"rows = {draw}\nreport = {self.suite_code()}.run({', '.join(['rows', *said])})\nreport"

    def suite_code(self) -> str:
        """The chosen graders in code; as the app has them where a list would lose names, weights, rule or gate."""
        plain = self.chosen_suite().plain
        return f"wb.Suite({graders_code(self.chosen)})" if plain else "app.suite"

    def cancel(self) -> None:
        """Stop the run; what was graded is kept."""
        if self.job is not None:
            self.job.cancel()

    def _tell(self, moment: Progress) -> bool:
        with self.lock:
            self.progress = moment
        return True

    def _ended(self, job: Job) -> None:
        """The end of a run, on its thread; a run that was given up for another one says nothing."""
        with self.guard("Run"):
            if job is not self.job and self.job is not None:
                return
            self.running = False
            if job.error is not None:
                raise job.error
            self._show(job.report())

    def _show(self, report: Report) -> None:
        """Take a new report; the one there was stays for comparing."""
        self.unrun -= {name for name, one in self._running.items() if self.graders.get(name) is one}
        if self.report is not None:
            self.before = (self.report, self.ran)
        self.row, self.where, self.ran = None, (), self._running
        self.report = report

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
        """The last report, and beside each grader that was redefined what it said before, over the same rows."""
        now: Report | None = self.report
        if now is None or self.before is None:
            return now
        report, definitions = self.before
        changed = [
            name for name in report.graders if name in self.ran and self.ran[name] != definitions.get(name)
        ]
        if not changed:
            return now
        old = replace(report, grades={name: report.grades[name] for name in changed}, notes=())
        try:
            return now.merge(old, suffix=" (before)")
        except ReportError:  # other rows: nothing to compare
            return now

    def relabel(self) -> None:
        """Read the findings anew with the labels there are now."""
        if self.report is not None:
            self.labelling.reload()
            labels = self.labelling.known(self.report.samples)
            with self.lock:
                self.report = self.report.diagnose(labels=labels)
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
        now = " (before)" not in f"{a}{b}"
        self.code = f"app.report.compare({a!r}, {b!r})" if now else f"app.versions.compare({a!r}, {b!r})"

    # ---- the end

    def close(self) -> None:
        """Stop listening, cancel what runs, close the store."""
        self._end_listening()
        self.cancel()
        self.unobserve_all()
        self.labelling.close()
