"""The probe of the selected grader in Try mode: the texts that it misgrades, each of which can be tried and saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.finding import Severity, shape_of
from workbench.app.session.action import grader_code
from workbench.app.session.grader_text import waits_for
from workbench.app.session.graders import scored_alike
from workbench.app.view.cells import score_text
from workbench.app.view.texts import shown_name
from workbench.core.display_text import counted, one_line, shown
from workbench.core.errors import WorkbenchError
from workbench.graders.combine import Entry

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.probes.result import Probe


_MAX_HOLES = 12
_TEXT, _SENTENCE = 300, 900  # characters


@dataclass(frozen=True)
class Hole:
    """A text that a grader misgrades.

    Attributes:
        row: Id of the row that it is a completion of.
        text: The completion.
        good: Whether it must be accepted; None if unknown.
        kind: The finding that it is a text of.
        data: As the page shows it.
    """

    row: str
    text: str
    good: bool | None
    kind: str
    data: dict[str, Any]


class GraderProbe:
    """The last probe of a session, and its texts.

    Args:
        session: The session.
        changed: Called with the lock held when it begins and when it has ended.
    """

    def __init__(self, session: Session, changed: Callable[[], object]) -> None:
        self._session, self._changed = session, changed
        self._running: Entry | None = None
        self._done: tuple[Entry, str, list[Hole]] | None = None

    def run(self, name: str) -> None:
        """Probe a grader on the drawn rows. Called without the lock: it takes seconds.

        Raises:
            WorkbenchError: The grader calls a model or a service, which costs money, or the rows cannot be probed.
        """
        session = self._session
        with session.guard.lock:
            entry, rows = session.graders.entry(name), session.rows.rows
            if why := waits_for(entry.grader):
                raise WorkbenchError(
                    f"grader {name!r} is not probed here: it {why}",
                    hint=f"wb.probe({grader_code(name)}, app.samples)",
                )
            if self._running is not None:
                return
            self._running = entry
            self._changed()
        done = None
        try:
            from workbench.probes import probe  # 0.1 s, which no other part of the app needs

            found = probe(entry, rows, progress=False)
            done = (entry, _tried(found), _holes(found))
        finally:
            with session.guard.lock:
                self._running, self._done = None, done or self._done
                session.code.text = f"probe = wb.probe({grader_code(name)}, app.samples)\nprobe"
                self._changed()

    def hole(self, number: int) -> Hole | None:
        """A text by its number; None for one that is not shown."""
        holes = [] if self._done is None else self._done[2]
        return holes[number] if 0 <= number < len(holes) else None

    def allow(self, number: int, allowed: bool) -> None:
        """Mark a question as intended, or no longer; the lock is held."""
        hole = self.hole(number)
        if hole is None or self._done is None:
            return
        name = self._done[0].name
        self._session.graders.allow(name, hole.kind, allowed=allowed)
        hole.data["allowed"] = allowed
        lines = [f"probe = wb.probe({grader_code(name)}, app.samples)"]
        kinds = [each.kind for each in self._done[2] if each.data["allowed"]]
        self._session.code.text = "\n".join(
            [*lines, f"suite = probe.allow({', '.join(map(repr, kinds))})" if kinds else "probe"]
        )
        self._changed()

    def data(self, name: str) -> dict[str, Any]:
        """The state as `ProbeData`.

        Args:
            name: The selected grader; "" for none.
        """
        graders = self._session.graders
        entry = graders.entry(name) if name in graders.by_name else None
        done = self._done
        if done is not None and (entry is None or not scored_alike(done[0], entry)):
            done = None
        return {
            "grader": shown_name(name),
            "busy": self._running is not None and entry is not None and scored_alike(self._running, entry),
            "why_not": "no grader is selected" if entry is None else waits_for(entry.grader),
            "lead": "" if done is None else _lead(done[1], done[2]),
            "holes": [] if done is None else [hole.data for hole in done[2]],
        }


def _tried(found: Probe) -> str:
    return f"{found.tries:,} texts tried on {len(found.samples):,} rows" if found.tries else ""


def _lead(tried: str, holes: list[Hole]) -> str:
    """What was tried, the number of holes, and of those that are for the author to decide."""
    if not tried:
        return "Nothing to try: no row has a reference or a correct completion to start from."
    n_holes = sum(not hole.data["question"] for hole in holes)
    n_open = sum(hole.data["question"] and not hole.data["allowed"] for hole in holes)
    told = f"{tried}: {counted(n_holes, 'hole') if n_holes else 'no hole'} found"
    return f"{told}, {counted(n_open, 'question')} open." if n_open else f"{told}."


def _holes(found: Probe) -> list[Hole]:
    """The shortest text of each finding."""
    report = found.report
    labels: Any = report.labels
    holes: list[Hole] = []
    for finding in (*found.findings, *found.allowed)[:_MAX_HOLES]:
        rows = np.array(finding.rows, dtype=int)
        if not len(rows):
            continue
        texts = {int(row): report.samples[int(row)].thread.completion() or "" for row in rows[:200]}
        row = min(texts, key=lambda each: len(texts[each]))
        good = None if labels is None else labels[row]
        data = {
            "number": len(holes),
            "shape": shape_of(finding),
            "sentence": shown(finding.sentence, _SENTENCE),
            "text": one_line(texts[row], _TEXT),
            "score": score_text(report.grades[found.grader], row),
            "good": good,
            "question": finding.severity is Severity.QUESTION,
            "allowed": finding in found.allowed,
        }
        source = str(found.samples.ids[found.sources[row]])
        data["question"] = data["question"] or data["allowed"]
        holes.append(Hole(source, texts[row], good, finding.kind, data))
    return holes
