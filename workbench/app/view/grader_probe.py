"""The probe of the selected grader in Try mode: the texts that it misgrades, each of which can be tried and saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.finding import shape_of
from workbench.app.session.action import grader_code
from workbench.app.session.grader_text import waits_for
from workbench.app.view.cells import score_text
from workbench.app.view.texts import shown_name
from workbench.core.display_text import one_line, shown
from workbench.core.errors import WorkbenchError
from workbench.graders.combine import Entry
from workbench.probes import probe

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
        data: As the page shows it.
    """

    row: str
    text: str
    good: bool | None
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
            found = probe(entry, rows, progress=False)
            done = (entry, _lead(found), _holes(found))
        finally:
            with session.guard.lock:
                self._running, self._done = None, done or self._done
                session.code.text = f"probe = wb.probe({grader_code(name)}, app.samples)\nprobe"
                self._changed()

    def hole(self, number: int) -> Hole | None:
        """A text by its number; None for one that is not shown."""
        holes = [] if self._done is None else self._done[2]
        return holes[number] if 0 <= number < len(holes) else None

    def data(self, name: str) -> dict[str, Any]:
        """The state as `ProbeData`.

        Args:
            name: The selected grader; "" for none.
        """
        graders = self._session.graders
        entry = graders.entry(name) if name in graders.by_name else None
        done = self._done if self._done is not None and self._done[0] == entry else None
        return {
            "grader": shown_name(name),
            "busy": self._running is not None and self._running == entry,
            "why_not": "no grader is selected" if entry is None else waits_for(entry.grader),
            "lead": "" if done is None else done[1],
            "holes": [] if done is None else [hole.data for hole in done[2]],
        }


def _lead(found: Probe) -> str:
    tried = f"{found.tries:,} texts tried on {len(found.samples):,} rows"
    if not found.tries:
        return "Nothing to try: no row has a reference or a correct completion to start from."
    holes = len(found.findings)
    return f"{tried}: {'no hole found' if not holes else '1 hole found' if holes == 1 else f'{holes:,} holes found'}."


def _holes(found: Probe) -> list[Hole]:
    """The shortest text of each finding."""
    report = found.report
    labels: Any = report.labels
    holes: list[Hole] = []
    for finding in found.findings[:_MAX_HOLES]:
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
        }
        source = str(found.samples.ids[found.sources[row]])
        holes.append(Hole(source, texts[row], good, data))
    return holes
