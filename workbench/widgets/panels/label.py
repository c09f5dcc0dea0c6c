"""The Label panel: one card at a time, by keys; agreement moves with every label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import ipywidgets as widgets

from workbench.display_text import counted
from workbench.grade import Grade
from workbench.samples import Sample, Samples
from workbench.session.label_queue import ORDERS, Queue
from workbench.session.label_weights import CHOSEN
from workbench.session.report_rows import sample_of
from workbench.session.row_reader import read_row, whole
from workbench.thread import StringThread
from workbench.widgets.panels.panel import Panel, options, quiet, replace_options, row, text
from workbench.widgets.views.label_card import LabelCard

__all__ = ["LabelPanel"]

_VALUES = {"good": True, "bad": False, "skip": None}


class LabelPanel(Panel):
    """Read a row, press 1 for good, 0 for bad, s to skip, u to undo, n for a note.

    A label is in the store before the next card counts. The graders' scores are hidden, so that they do not lead; how
    well the chosen grader agrees with the labels is shown and moves, and how far two labellers agree. Each labeller has
    the queue for themselves. Before a run all samples are in it, after it the rows of the run. See `Panel` for the
    arguments.

    Rows come at random by default: only of such rows do labels make findings. "class-balanced" finds mistakes with fewer
    labels; the agreement allows for it, findings leave these labels out. Rows chosen for the graders' disagreement, or
    in Results, teach what is wrong and make no rate.
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
        self._places: Mapping[str, int] = {}
        self._seq, self._seqs = 0, dict[int, str]()
        self._showing: str | None = None
        self._again: set[str] = set()
        self._noted: set[datetime] = set()  # when a note alone was kept
        self.order.observe(self.acts(self._anew), "value")
        self.grader.observe(self.acts(self._anew), "value")
        self.reveal.observe(self.acts(self._deal), "value")
        self.labeller.observe(self.acts(self._rename), "value")
        self.card.on_decide(self._decided)
        self.card.on_more(self._more)
        self.watch(self.refresh, "report")
        self.watch(self._follow, "where")
        self.watch(self._deal, "labelled")
        return [row(self.order, self.grader, self.labeller, self.reveal), self.card, self.kept]

    def refresh(self) -> None:
        """See `Panel`. Labels put elsewhere meanwhile are read."""
        report = self.state.report
        names = report.graders if report is not None else []
        replace_options(self.grader, [(name, name) for name in names] or [("run graders first", "")])
        self._requeue()

    def show_row(self, row: int) -> None:
        """Show this row of the report (of the samples before a run) first, also where it has a label."""
        name = str(self._samples.ids[row])
        self._showing = name
        self._again.add(name)
        self.state.labelling.deal(name, CHOSEN)
        self._deal()

    @property
    def _samples(self) -> Samples:
        report = self.state.report
        return self.state.samples if report is None else report.samples

    def _requeue(self) -> None:
        """Queue the rows anew; who reads a card keeps it while its row is there."""
        report, labelling = self.state.report, self.state.labelling
        labelling.reload()
        shown = report.row_numbers(*self.state.where) if report is not None and self.state.where else ()
        self._queue = Queue(
            self.order.value, self._samples, report=report, grader=self.grader.value, shown=shown,
            decided=labelling.own,
        )  # fmt: skip
        self._places = self.state.labelling.places(self._samples)
        self._seqs = {seq: name for seq, name in self._seqs.items() if name == self._showing}
        self._deal()

    def _anew(self) -> None:
        """Somebody chose other rows."""
        self._showing, self._again = None, set()
        self._requeue()

    def _follow(self) -> None:
        if self.order.value == CHOSEN:
            self._requeue()

    def _rename(self) -> None:
        from workbench.store.graders import check_name  # brings SQLAlchemy along

        name = self.labeller.value.strip()
        check_name("a labeller", name, empty=True)
        self.state.labelling.by(name)
        self.card.recent = []
        self._drafts.clear()
        self._anew()

    def _deal(self) -> None:
        """Show a card, and have the one after it ready."""
        queue, own = self._queue, self.state.labelling.own
        if queue is None:
            return
        first = self._kept(queue)
        rows = [*([] if first is None else [first]), *(at for at in queue.next(own, 3) if at != first)][:2]
        cards = [self._card(at, queue) for at in rows] + [{}, {}]
        self._showing = cards[0].get("id")
        with self.card.hold_sync():
            self.card.card, self.card.upcoming = cards[0], cards[1]
            self.card.done, self.card.total = queue.done(own), len(queue)
            self.card.status = [list(pair) for pair in self._agreement()]
            self.card.message = "" if rows else "Every row of this queue is labelled."
        self._tell_kept()

    def _kept(self, queue: Queue) -> int | None:
        """The row that is read now, while it is there to be labelled."""
        name = self._showing
        at = None if name is None else self._places.get(name)
        if name is None or at is None or name in self._again:
            return at
        return at if name not in self.state.labelling.own and at in queue else None

    def _card(self, at: int, queue: Queue) -> dict[str, Any]:
        sample, labelling = self._sample(at), self.state.labelling
        name = str(sample.id)
        seq = next((seq for seq, known in self._seqs.items() if known == name), None)
        if seq is None:
            self._seq += 1
            seq = self._seq
            self._seqs[seq] = name
            if name not in self._again:
                labelling.deal(name, queue.drawn(at))
        said = labelling.own[name].note if name in labelling.own else ""
        return {
            **read_row(sample, self._grades(at)),
            "seq": seq,
            "note": self._drafts.get(self._text(name), said),
        }

    def _grades(self, at: int) -> dict[str, Grade]:
        report = self.state.report
        if report is None or not self.reveal.value:
            return {}
        return {name: report.grades[name][at] for name in report.graders}

    def _more(self, seq: int, part: str) -> str:
        at = self._places.get(self._seqs.get(seq, ""))
        return "" if at is None else whole(self._sample(at), self._grades(at), part)

    def _sample(self, at: int) -> Sample:
        """A row without what the given column says of it: who labels is not to be led."""
        sample, column = sample_of(self._samples, at), self.state.labelling.column
        turns, metadata, *rest = sample.thread.to_wire()
        if self.reveal.value or not isinstance(metadata, dict) or column not in metadata:
            return sample
        told = {key: value for key, value in metadata.items() if key != column}
        return replace(sample, thread=StringThread.from_wire((turns, told, *rest)))

    @property
    def _drafts(self) -> dict[str, str]:
        """Text to the note that waits for its label."""
        return self.state.drafts.notes

    def _text(self, name: str) -> str:
        """What a note is about: other texts under the same id are not meant."""
        return f"{name} {self.state.labelling.digest_of(name)}"

    def _decided(self, action: str, note: str, seq: int) -> bool:
        """Whether it was done: what goes wrong is shown in the panel, and goes no further.

        A quick key may speak of a card that is not here, as the one before it went wrong: that error stays to be read.
        """
        if action not in {"undo", "note"} and seq != self.card.card.get("seq"):
            return False
        done: list[bool] = []
        self.acts(lambda: done.append(self._decide(action, note, seq)))()
        return bool(done and done[0])

    def _decide(self, action: str, note: str, seq: int) -> bool:
        if action == "undo":
            return self._undo()
        name = self._seqs.get(seq)
        if name is None:
            return False  # a card that is gone was decided before
        if action == "note":
            return self._note(name, note)
        again = name in self._again
        self._again.discard(name)
        try:
            self.state.label(name, _VALUES[action], note or self._drafts.get(self._text(name), ""))
        except BaseException:
            self._again |= {name} if again else set()
            raise
        self._drafts.pop(self._text(name), None)
        self._seqs.pop(seq)
        return True

    def _note(self, name: str, note: str) -> bool:
        """Keep what is written until the row has a label; with the label where it has one."""
        labelling = self.state.labelling
        label = labelling.own.get(name)
        self._drafts[self._text(name)] = note
        if label is not None and label.note != note:
            self.state.label(name, label.value, note)
            self._noted.add(labelling.own[name].at)
            self._drafts.pop(self._text(name))
        if self.card.card.get("id") == name:
            self.card.card = {**self.card.card, "note": note}
        return True

    def _undo(self) -> bool:
        """Bring the last row back, with its note; whether a decision was undone, and not a note alone."""
        labelling, before = self.state.labelling, (self._showing, set(self._again), dict(self._drafts))
        name = labelling.last
        label = None if name is None else labelling.own.get(name)
        if name is not None and label is not None:
            self._showing, self._drafts[self._text(name)] = name, label.note
            self._again.add(name)
        try:
            self.state.undo_label()
        except BaseException:
            self._showing, self._again, self.state.drafts.notes = before
            self._deal()  # what somebody else said of the row may have been read
            raise
        return label is None or label.at not in self._noted

    def _agreement(self) -> list[tuple[str, str]]:
        """How the chosen grader stands to people's labels as they are now, and people to each other.

        A column's labels do not count here.
        """
        report, grader, labelling = self.state.report, self.grader.value, self.state.labelling
        lines = [(f"kappa with {one.other}", f"{one.kappa} on {one.n:,}") for one in labelling.others()[:2]]
        if report is None or grader not in report.grades:
            return lines
        counted = labelling.counted(report.samples)
        if not counted.n:
            return lines
        return [*report.agreement(grader, counted.labels, weights=counted.weights).lines, *lines]

    def _tell_kept(self) -> None:
        labelling, report = self.state.labelling, self.state.report
        counts = ", ".join(f"{count:,} {word}" for word, count in labelling.counts.items())
        where = labelling.store_url or "memory only: pass store= to keep them"
        said = [f"kept in {where}, dataset {labelling.dataset!r}"]
        chosen = 0 if report is None else labelling.counted(report.samples).chosen
        if chosen:
            said.append(
                f"{counted(chosen, 'label')} of rows chosen for what graders say: not in the agreement"
            )
        if other := labelling.of_other_texts:
            said.append(
                f"{counted(other, 'row')} with labels of other texts under the same ids: these do not count"
            )
        if left := labelling.left_out:
            said.append(f"{counted(left, 'label')} of rows not drawn at random: not in the findings")
        self.kept.value = f"{text(counts)} {quiet('; '.join(said))}"
