"""The graders of a session: which exist, are selected, validated, removed, and changed since the last run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.app.session.action import LastCode, grader_code, graders_code
from workbench.app.session.grader_text import (
    cell_of,
    copy_validation,
    grader_from_text,
    suite_of,
    validation_of,
)
from workbench.core.errors import WorkbenchError
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.base import defined
from workbench.graders.combine import Entry
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from workbench.app.session.action import ActionGuard
    from workbench.sandbox.host.validation import Validation


class RemovedGrader(NamedTuple):
    """A grader that a user removed or replaced.

    Attributes:
        name: Its name in the session.
        grader: The grader.
        from_cell: The grader that a cell defined last under this name; None if it was written in the app.
        chosen: Whether it was selected.
        order: The names of all graders, in their order before.
    """

    name: str
    grader: Grader
    from_cell: Grader | None
    chosen: bool
    order: tuple[str, ...]


def scored_alike(one: Entry, other: Entry) -> bool:
    """Whether two entries give the same scores: they may differ in what their probes allow."""
    return replace(one, allows=()) == replace(other, allows=())


class GraderList(HasTraits):
    """Graders by name, with their settings in the suite they were given in.

    Traits (observe them; set them through the methods):
        by_name: Graders by name, in order.
        chosen: Names of those that are run, tried and exported.
        validations: Name to the last `Validation` of exactly that text, None if there is none.
        unrun: Names that are new, redefined or have other suite settings since the last run.
        removed: What a user removed or replaced, most recent last.

    Args:
        guard: Its lock is held during changes.
        code: Gets the lines that repeat an action.

    Attributes:
        suite: The suite the graders were given in; None if they were given as a list, or defined in the notebook.
    """

    by_name = AnyTrait()
    chosen = AnyTrait(())
    validations = AnyTrait()
    unrun = AnyTrait(frozenset())
    removed: Any = AnyTrait(())

    def __init__(self, guard: ActionGuard, code: LastCode) -> None:
        super().__init__()
        self._guard, self._code = guard, code
        self.suite: Suite | None = None
        self._given: frozenset[str] = frozenset()
        self._from_cells: dict[str, Grader] = {}  # the last grader that a cell defined, by name
        self._unticked: set[str] = set()  # drafts that join the run once their validation passes
        self._allows: dict[str, tuple[str, ...]] = {}  # findings of a probe that are intended
        self._ran: dict[str, Entry] = {}  # what ran, for each grader whose grades are shown
        self.by_name, self.validations = {}, {}

    def set_given(self, graders: Any) -> None:
        """Replace the graders given before with these; None for all that this notebook has defined.

        Graders that were written in the app or defined since are retained; so is a grader that was edited in the
        app, unless its cell redefines it.
        """
        suite = suite_of(graders)
        given = dict(defined()) if suite is None else {entry.name: entry.grader for entry in suite.entries}
        with self._guard.lock:
            before = {name: self.entry(name) for name in self.by_name}
            self.suite = suite
            for name in self._given - set(given):
                self._delete(name)
            self._given = frozenset(given)
            for name, grader in given.items():
                if name not in self.by_name or self._from_cells.get(name) != grader:
                    self._add_from_cell(grader, name)
                else:
                    self.add(self.by_name[name], name=name)
            self.by_name = {**{name: self.by_name[name] for name in given}, **self.by_name}
            self.unrun |= {
                name for name, entry in before.items() if name in given and entry != self.entry(name)
            }

    def _add_from_cell(self, grader: Grader, name: str) -> None:
        self._from_cells[name] = grader
        self.add(grader, name=name)

    def continue_from(self, previous: GraderList) -> None:
        """Take over graders that were written in the app or defined in other cells, unless their cell redefines them.

        Args:
            previous: What the same cell showed before, for other rows or labels.
        """
        for name, grader in previous.by_name.items():
            cell_before, cell_grader = previous._from_cells.get(name), self._from_cells.get(name)
            edited = name in previous._given and grader != cell_before and cell_grader == cell_before
            if edited or (name not in previous._given and cell_grader in {None, cell_before}):
                self.add(grader, name=name)
                self._from_cells |= {} if cell_before is None else {name: cell_before}
        self._allows = {**previous._allows, **self._allows}
        self.removed = previous.removed
        self.choose(name for name in self.by_name if name in previous.chosen or name not in previous.by_name)

    def define(self, grader: Grader) -> None:
        """Add a grader that a cell has defined."""
        with self._guard.lock:
            self._add_from_cell(grader, grader.name)

    def add(self, grader: Grader, *, name: str = "") -> None:
        """Add a grader, or replace the one with its name.

        Args:
            grader: The grader.
            name: Its name in the session; by default the grader's.

        Raises:
            TypeError: It is not a grader.
        """
        if not isinstance(grader, Grader):
            raise TypeError(f"a Workbench takes graders, not {grader!r}"[:200])
        name = name or grader.name
        with self._guard.lock:
            old = self.by_name.get(name)
            if old is not None and old == grader:
                # A cell that ran again created an equal grader, whose validation remains valid.
                copy_validation(old, grader)
            # New dicts, never mutated: traitlets notifies observers only of a different value.
            self.by_name = {**self.by_name, name: grader}
            self.validations = {**self.validations, name: validation_of(grader)}
            if old != grader:
                as_it_ran = self._ran.get(name) == self.entry(name)
                self.unrun = self.unrun - {name} if as_it_ran else self.unrun | {name}
            if old is None:
                self.chosen = (*self.chosen, name)
            self._tick_by_validation(name)

    def _tick_by_validation(self, name: str) -> None:
        """Deselect a grader whose validation failed, and select it again once it passes."""
        validation = self.validations.get(name)
        if validation is None:
            return
        if not validation.ok and name in self.chosen:
            self._unticked.add(name)
            self.chosen = tuple(other for other in self.chosen if other != name)
        elif validation.ok and name in self._unticked:
            self._unticked.discard(name)
            self.chosen = tuple(other for other in self.by_name if other in {*self.chosen, name})

    @property
    def written_here(self) -> list[str]:
        """Names of the graders that were written or changed in the app: no cell has their text."""
        return [name for name, grader in self.by_name.items() if self._from_cells.get(name) != grader]

    @property
    def drafts(self) -> list[str]:
        """Names of the graders whose validation failed: they are not run or exported automatically."""
        return [
            name
            for name in self.by_name
            if (validation := self.validations.get(name)) is not None and not validation.ok
        ]

    def add_text(self, source: str, *, name: str = "") -> str:
        """Add a grader from a text: Python, JavaScript, or a spec as JSON. Nothing of it runs here.

        Args:
            source: The text.
            name: Its name in the session; by default its function's or its spec's.

        Returns:
            Its name.

        Raises:
            WorkbenchError: The text is not a grader.
        """
        grader = grader_from_text(source, name)
        with self._guard.lock:
            self.exchange(grader.name, grader)
            self._code.text = cell_of(source, grader.name)
        return grader.name

    def exchange(self, name: str, grader: Grader) -> None:
        """Add a grader; one that it replaces can be restored."""
        with self._guard.lock:
            if self.by_name.get(name, grader) != grader:
                self._remember(name)
            self.add(grader, name=name)

    def remove(self, name: str) -> None:
        """Remove a grader from the list; reports keep its grades. `restore` undoes it."""
        with self._guard.lock:
            self._remember(name)
            self._delete(name)

    def _remember(self, name: str) -> None:
        removed_grader = RemovedGrader(
            name, self.by_name[name], self._from_cells.get(name), name in self.chosen, tuple(self.by_name)
        )
        self.removed = (*self.removed, removed_grader)

    def _delete(self, name: str) -> None:
        self.chosen = tuple(kept_name for kept_name in self.chosen if kept_name != name)
        self.unrun -= {name}
        self._from_cells.pop(name, None)
        self.validations = {
            kept_name: validation for kept_name, validation in self.validations.items() if kept_name != name
        }
        self.by_name = {kept_name: grader for kept_name, grader in self.by_name.items() if kept_name != name}

    def restore(self) -> str:
        """Restore what was removed or replaced last; the grader that it replaces can be restored then.

        Returns:
            Its name.

        Raises:
            WorkbenchError: Nothing was removed.
        """
        with self._guard.lock:
            if not self.removed:
                raise WorkbenchError("no grader was removed")
            removed_grader: RemovedGrader = self.removed[-1]
            name, grader, from_cell, chosen, order = removed_grader
            self.removed = self.removed[:-1]
            self.exchange(name, grader)
            self._from_cells |= {} if from_cell is None else {name: from_cell}
            names = [other for other in dict.fromkeys([*order, *self.by_name]) if other in self.by_name]
            self.by_name = {other: self.by_name[other] for other in names}
            self.choose({*self.chosen, name} if chosen else {*self.chosen} - {name})
            return name

    def choose(self, names: Iterable[str]) -> None:
        """Select the graders to run, in the order of the list.

        Raises:
            WorkbenchError: No such grader.
        """
        chosen = set(names)
        self._require(chosen)
        with self._guard.lock:
            self.chosen = tuple(name for name in self.by_name if name in chosen)

    def _require(self, names: Iterable[str]) -> None:
        if missing := {*names} - set(self.by_name):
            raise WorkbenchError(
                f"unknown grader {min(missing)!r}", expected=", ".join(map(repr, self.by_name))
            )

    def note_run(self, entries: Mapping[str, Entry], shown: Collection[str]) -> None:
        """Record a run; a grader that was changed since must run again.

        Args:
            entries: What ran, by name.
            shown: Names of the graders whose grades are shown after it.
        """
        with self._guard.lock:
            ran = {**self._ran, **entries}
            self._ran = {name: entry for name, entry in ran.items() if name in shown}
            current = {
                name
                for name, entry in entries.items()
                if name in self.by_name and scored_alike(self.entry(name), entry)
            }
            self.unrun = (self.unrun | (entries.keys() & self.by_name.keys())) - current

    def entry(self, name: str) -> Entry:
        """A grader with its settings in the suite, such as weight and negation; a redefined one retains them."""
        in_suite = {entry.name: entry for entry in self.suite.entries} if self.suite else {}
        grader = self.by_name[name]
        entry = replace(in_suite[name], grader=grader) if name in in_suite else Entry(grader, name)
        return replace(entry, allows=self._allows[name]) if name in self._allows else entry

    def allow(self, name: str, kind: str, *, allowed: bool) -> None:
        """Mark a kind of finding of a grader's probe as intended, or no longer: exports and certificates have it.

        Raises:
            WorkbenchError: No such grader.
        """
        self._require([name])
        with self._guard.lock:
            others = [other for other in self.entry(name).allows if other != kind]
            self._allows[name] = tuple([*others, kind] if allowed else others)

    def chosen_entries(self, without: Collection[str] = ()) -> Mapping[str, Entry]:
        """The selected graders by name, except some names."""
        return {name: self.entry(name) for name in self.chosen if name not in without}

    def chosen_suite(self, without: Collection[str] = ()) -> Suite:
        """The selected graders, with the suite's rule and gate if all of its graders are selected.

        Args:
            without: Names to omit.

        Raises:
            WorkbenchError: No grader is selected.
        """
        if not self.chosen:
            raise WorkbenchError("no grader is selected", hint="select at least one in the list")
        return self.suite_of_entries(list(self.chosen_entries(without).values()))

    def suite_of_entries(self, entries: Sequence[Entry]) -> Suite:
        """These entries as a suite, with the given suite's rule and gate if all of its graders are included."""
        suite = self.suite
        if suite is None or {entry.name for entry in suite.entries} - {entry.name for entry in entries}:
            return Suite(entries)
        return Suite(entries, combine=suite.combine, gate=suite.gate, name=suite.name)

    @property
    def judges_together(self) -> bool:
        """Whether the graders were given in a suite whose rule or gate combines them."""
        return self.suite is not None and (self.suite.combine is not None or self.suite.gate is not None)

    @property
    def _missing(self) -> set[str]:
        return {entry.name for entry in self.suite.entries} - set(self.chosen) if self.suite else set()

    @property
    def left_out(self) -> str:
        """What a selection of some of the suite's graders omits, as a sentence; "" for nothing."""
        suite = self.suite
        if suite is None or not self._missing or (suite.combine is None and suite.gate is None):
            return ""
        parts = [word for word, part in (("rule", suite.combine), ("gate", suite.gate)) if part is not None]
        return (
            f"Without {', '.join(sorted(self._missing))} the suite's {' and '.join(parts)} cannot be applied."
        )

    def suite_code(self) -> str:
        """The selected graders in code; `app.suite` if a list would lose names, weights, rule or gate."""
        plain = self.chosen_suite().plain
        return f"wb.Suite({graders_code(self.chosen)})" if plain else "app.suite"

    def validate(self, name: str) -> Validation:
        """Validate a grader in the sandbox. Called without the lock, so that a run's progress is shown meanwhile.

        Raises:
            WorkbenchError: It has no source.
        """
        grader = self.by_name[name]
        if not isinstance(grader, SandboxedGrader):
            raise WorkbenchError(f"grader {name!r} is a built-in rule: it has no source to validate")
        validation = grader.validate()
        self.note_validation(name, grader)
        with self._guard.lock:
            self._code.text = f"{grader_code(name)}.validate()"
        return validation

    def note_validation(self, name: str, grader: Grader) -> None:
        """Record the validation of a grader, unless its name was redefined meanwhile."""
        with self._guard.lock:
            if self.by_name.get(name) == grader:
                copy_validation(grader, self.by_name[name])
                self.validations = {**self.validations, name: validation_of(grader)}
                self._tick_by_validation(name)
