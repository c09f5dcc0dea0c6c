"""The Label panel: one card at a time, by keys; agreement moves with every label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from workbench.grade import Grade
from workbench.samples import Samples
from workbench.widgets.card import LabelCard
from workbench.widgets.labelling import ORDERS, Queue
from workbench.widgets.panel import Panel, options, quiet, replace_options, row, text
from workbench.widgets.reader import read_row, whole
from workbench.widgets.rows import sample_of

__all__ = ["LabelPanel"]

_VALUES = {"good": True, "bad": False, "skip": None}


class LabelPanel(Panel):
    """Read a row, press 1 for good, 0 for bad, s to skip, u to undo, n for a note.

    A label is in the store before the next card counts. The graders' scores are hidden, so that they do not lead; how
    well the chosen grader agrees with the labels is shown and moves. Before a run all samples are in the queue, after it
    the rows of the run. See `Panel` for the arguments.
    """

    title = "Label"
    css = "label"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        self.order = widgets.Dropdown(description="Order", options=options((name, name) for name in ORDERS))
        self.grader = widgets.Dropdown(description="Grader")
        self.labeller = widgets.Text(
            self.state.labelling.labeller,
            description="Labeller",
            placeholder="your name",
            continuous_update=False,
        )
        self.reveal = widgets.Checkbox(False, description="show the scores", indent=False)
        self.kept = widgets.HTML()
        self.card = LabelCard(label="Label rows")
        self._queue: Queue | None = None
        self._seq, self._rows = 0, dict[int, int]()
        self.order.observe(self.acts(self._requeue), "value")
        self.grader.observe(self.acts(self._requeue), "value")
        self.reveal.observe(self.acts(self._deal), "value")
        self.labeller.observe(self.acts(self._rename), "value")
        self.card.on_decide(lambda action, note, seq: self.acts(lambda: self._decide(action, note, seq))())
        self.card.on_more(self._more)
        self.watch(self.refresh, "report")
        self.watch(self._follow, "where")
        self.watch(self._deal, "labelled")
        return [row(self.order, self.grader, self.labeller, self.reveal), self.card, self.kept]

    def refresh(self) -> None:
        """See `Panel`."""
        report = self.state.report
        names = report.graders if report is not None else []
        self._rows = {}  # a decision on a card of other rows is for none of these
        replace_options(self.grader, [(name, name) for name in names] or [("run graders first", "")])
        self._requeue()

    @property
    def _samples(self) -> Samples:
        report = self.state.report
        return self.state.samples if report is None else report.samples

    def _requeue(self) -> None:
        report = self.state.report
        shown = report.where(*self.state.where) if report is not None and self.state.where else ()
        self._queue = Queue(
            self.order.value, self._samples, report=report, grader=self.grader.value, shown=shown
        )
        self._deal()

    def _follow(self) -> None:
        if self.order.value == "as shown":
            self._requeue()

    def _rename(self) -> None:
        self.state.labelling.by(self.labeller.value.strip())

    def _deal(self, first: int | None = None) -> None:
        """Show the next card, and have the one after it ready; `first` is a row that comes back."""
        queue, held = self._queue, self.state.labelling.held
        if queue is None:
            return
        rows = [row for row in queue.next(held, 3) if row != first]
        rows = [*([] if first is None else [first]), *rows][:2]
        cards = [self._card(row) for row in rows] + [{}, {}]
        with self.card.hold_sync():
            self.card.card, self.card.upcoming = cards[0], cards[1]
            self.card.done, self.card.total = queue.done(held), len(queue)
            self.card.status = [list(pair) for pair in self._agreement()]
            self.card.message = "" if rows else "Every row of this queue is labelled."
        self._tell_kept()

    def _card(self, at: int) -> dict[str, Any]:
        seq = next((seq for seq, known in self._rows.items() if known == at), None)
        if seq is None:
            self._seq += 1
            seq = self._seq
            self._rows[seq] = at
        sample = sample_of(self._samples, at)
        label = self.state.labelling.held.get(str(sample.id))
        return {**read_row(sample, self._grades(at)), "seq": seq, "note": label.note if label else ""}

    def _grades(self, at: int) -> dict[str, Grade]:
        report = self.state.report
        if report is None or not self.reveal.value:
            return {}
        return {name: report.grades[name][at] for name in report.graders}

    def _more(self, seq: int, part: str) -> str:
        at = self._rows.get(seq)
        return "" if at is None else whole(sample_of(self._samples, at), self._grades(at), part)

    def _decide(self, action: str, note: str, seq: int) -> None:
        if action == "undo":
            self._undo()
            return
        if action == "note" or seq != self.card.card.get("seq"):
            return  # a note goes with its label; a card that is gone was decided before
        name = str(self._samples.ids[self._rows[seq]])
        self.state.label(name, _VALUES[action], note)
        self._rows.pop(seq)

    def _undo(self) -> None:
        name = self.state.undo_label()
        places = [row for row, known in enumerate(self._samples.ids) if str(known) == name]
        self._deal(places[0] if places else None)

    def _agreement(self) -> list[tuple[str, str]]:
        """How the chosen grader stands to people's labels as they are now; a column's do not count here."""
        report, grader = self.state.report, self.grader.value
        labels = None if report is None else self.state.labelling.people(report.samples)
        if report is None or grader not in report.grades or labels is None:
            return []
        return list(report.agreement(grader, labels).lines)

    def _tell_kept(self) -> None:
        labelling = self.state.labelling
        counts = ", ".join(f"{count:,} {word}" for word, count in labelling.counts.items())
        where = labelling.store_url or "memory only: pass store= to keep them"
        self.kept.value = f"{text(counts)} {quiet(f'kept in {where}, dataset {labelling.dataset!r}')}"
