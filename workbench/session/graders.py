"""The graders of a Workbench: what there is, what is chosen, what is proved and what has changed. No widget here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from traitlets import Any as AnyTrait
from traitlets import Unicode

from workbench.errors import WorkbenchError
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.announce import defined
from workbench.graders.combine import Entry
from workbench.session.code_lines import grader_code, graders_code
from workbench.session.grader_text import code_of, written
from workbench.session.guard import Guarded
from workbench.session.proofs import keep_proof, proof_of, suite_of
from workbench.suite import Suite

if TYPE_CHECKING:
    from workbench.sandbox.host.validation import Validation

__all__ = ["Graders"]


class Gone(NamedTuple):
    """A grader that a person took away or wrote another in place of, and where it stood.

    Attributes:
        name: What it is called here.
        grader: What it was.
        said: What its cell said of it; None where it was written in the app.
        chosen: Whether it was chosen.
        order: All names, in the order of then.
    """

    name: str
    grader: Grader
    said: Grader | None
    chosen: bool
    order: tuple[str, ...]


class Graders(Guarded):
    """Graders by name, with the part each plays in the suite they came in.

    Traits beside those of `Guarded` (observe them; set them through the methods):
        graders: Graders by name, in order.
        chosen: Names of those that run, are tried and exported.
        proofs: Name to the last `Validation` of that very text, None without.
        unrun: Names that are new, were redefined, or play another part, since the last run.
        gone: What was taken away or replaced in the app, the last one last.
        code: Lines that repeat the last action.

    Attributes:
        suite: The suite the graders came in; None where they came as a list, or were defined in the notebook.
    """

    graders = AnyTrait()
    chosen = AnyTrait(())
    proofs = AnyTrait()
    unrun = AnyTrait(frozenset())
    gone: Any = AnyTrait(())
    code = Unicode("")

    def __init__(self) -> None:
        super().__init__()
        self.suite: Suite | None = None
        self._given: frozenset[str] = frozenset()
        self._outside: dict[str, Grader] = {}  # what a cell said last of each name
        self._ran: dict[str, Entry] = {}  # as what each ran whose results are shown
        self.graders, self.proofs = {}, {}

    def take(self, graders: Any) -> None:
        """Take these graders in place of those there are; None for all that this notebook has defined.

        What was written in the app, or defined since, stays; so does a grader that was edited in the app, unless its
        cell says something new.
        """
        suite = suite_of(graders)
        named = dict(defined()) if suite is None else {entry.name: entry.grader for entry in suite.entries}
        with self.lock:
            before = {name: self.entry(name) for name in self.graders}
            self.suite = suite
            for name in self._given - set(named):
                self.remove(name)
            self._given = frozenset(named)
            for name, grader in named.items():
                if name not in self.graders or self._outside.get(name) != grader:
                    self._take_one(grader, name)
                else:
                    self.add(self.graders[name], name=name)
            self.graders = {**{name: self.graders[name] for name in named}, **self.graders}
            self.unrun |= {
                name for name, entry in before.items() if name in named and entry != self.entry(name)
            }

    def _take_one(self, grader: Grader, name: str) -> None:
        self._outside[name] = grader
        self.add(grader, name=name)

    def inherit(self, before: Graders) -> None:
        """Take over what was written in an app or defined in other cells, unless its cell says something new of it.

        Args:
            before: What the same cell showed before, for other rows or labels.
        """
        for name, grader in before.graders.items():
            said, now = before._outside.get(name), self._outside.get(name)
            edited = name in before._given and grader != said and now == said
            if edited or (name not in before._given and now in {None, said}):
                self.add(grader, name=name)
                self._outside |= {} if said is None else {name: said}
        self.gone = before.gone
        self.choose(name for name in self.graders if name in before.chosen or name not in before.graders)

    def announced(self, grader: Grader) -> None:
        """A cell has defined a grader."""
        with self.lock:
            self._take_one(grader, grader.name)

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
                known = self._ran.get(name) == self.entry(name)
                self.unrun = self.unrun - {name} if known else self.unrun | {name}
            if old is None:
                self.chosen = (*self.chosen, name)

    def remove(self, name: str) -> None:
        """Drop a grader from the list; reports keep what it said."""
        with self.lock:
            self.chosen = tuple(one for one in self.chosen if one != name)
            self.unrun -= {name}
            self._outside.pop(name, None)
            self.proofs = {key: one for key, one in self.proofs.items() if key != name}
            self.graders = {key: one for key, one in self.graders.items() if key != name}

    def take_away(self, name: str) -> None:
        """Remove a grader so that it can be put back."""
        with self.lock:
            self._part_with(name)
            self.remove(name)

    def _part_with(self, name: str) -> None:
        chosen, order = name in self.chosen, tuple(self.graders)
        self.gone = (*self.gone, Gone(name, self.graders[name], self._outside.get(name), chosen, order))

    def put_back(self) -> str:
        """Put back what was taken away or replaced last, as it was; what stands in its place can be put back then.

        Returns:
            Its name.

        Raises:
            WorkbenchError: Nothing was.
        """
        with self.lock:
            if not self.gone:
                raise WorkbenchError("no grader was taken away here")
            back: Gone = self.gone[-1]
            self.gone = self.gone[:-1]
            if self.graders.get(back.name, back.grader) != back.grader:
                self._part_with(back.name)
            self.add(back.grader, name=back.name)
            self._outside |= {} if back.said is None else {back.name: back.said}
            names = [name for name in dict.fromkeys([*back.order, *self.graders]) if name in self.graders]
            self.graders = {name: self.graders[name] for name in names}
            self.choose({*self.chosen, back.name} if back.chosen else {*self.chosen} - {back.name})
            return back.name

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

    # ---- the suite

    def entry(self, name: str) -> Entry:
        """A grader with the weight, negation and so on that it has in the suite; a redefined one keeps them."""
        held = {entry.name: entry for entry in self.suite.entries} if self.suite else {}
        grader = self.graders[name]
        return replace(held[name], grader=grader) if name in held else Entry(grader, name)

    def chosen_entries(self) -> Mapping[str, Entry]:
        """What runs, by name."""
        return {name: self.entry(name) for name in self.chosen}

    def chosen_suite(self) -> Suite:
        """The chosen graders, with the suite's rule and gate where all of its graders are chosen.

        Raises:
            WorkbenchError: Nothing is chosen.
        """
        if not self.chosen:
            raise WorkbenchError("no grader is chosen", hint="choose at least one in the list")
        entries = list(self.chosen_entries().values())
        given = self.suite
        if given is None or self._missing:
            return Suite(entries)
        return Suite(entries, combine=given.combine, gate=given.gate, name=given.name)

    @property
    def _missing(self) -> set[str]:
        return {entry.name for entry in self.suite.entries} - set(self.chosen) if self.suite else set()

    @property
    def left_out(self) -> str:
        """What a choice of some of the suite's graders leaves out, as a sentence; "" for nothing."""
        given = self.suite
        if given is None or not self._missing or (given.combine is None and given.gate is None):
            return ""
        parts = [word for word, part in (("rule", given.combine), ("gate", given.gate)) if part is not None]
        return (
            f"Without {', '.join(sorted(self._missing))} the suite's {' and '.join(parts)} cannot be applied."
        )

    def suite_code(self) -> str:
        """The chosen graders in code; as the app has them where a list would lose names, weights, rule or gate."""
        plain = self.chosen_suite().plain
        return f"wb.Suite({graders_code(self.chosen)})" if plain else "app.suite"

    # ---- proofs and texts

    def validate(self, name: str) -> Validation:
        """Prove a grader in the sandbox. Called without the lock, so that a run's news go on.

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
            if self.graders.get(name) == grader:  # else it was redefined meanwhile
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
        with self.lock:
            if self.graders.get(grader.name, grader) != grader:
                self._part_with(grader.name)
            self.add(grader)
            self.code = code_of(source, grader.name)
        return grader.name
