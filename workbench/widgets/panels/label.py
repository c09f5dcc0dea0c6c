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
from workbench.session.label_queue import ORDERS, LabelQueue
from workbench.session.label_weights import CHOSEN
from workbench.session.report_rows import sample_of
from workbench.session.row_reader import read_row, whole_text
from workbench.store.graders import check_name
from workbench.thread import StringThread
from workbench.widgets.panels.panel import Panel, options, remark, replace_options, row, text
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
            self.session.labels.labeller,
            description="Labeller",
            placeholder="your name",
            continuous_update=False,
        )
        self.reveal = widgets.Checkbox(False, description="show the scores", indent=False)
        self.summary = widgets.HTML()
        self.card = LabelCard(label="Label rows")
        self._queue: LabelQueue | None = None
        self._rows: Mapping[str, int] = {}  # sample id to row
        self._seq, self._ids = 0, dict[int, str]()  # the last card's number; cards' numbers to sample ids
        self._current: str | None = None  # id of the sample that is shown
        self._relabelled: set[str] = set()  # samples that are shown although they have a label
        self._note_times: set[datetime] = set()  # of labels that were put for their note alone
        self._listen()
        return [row(self.order, self.grader, self.labeller, self.reveal), self.card, self.summary]

    def _listen(self) -> None:
        self.order.observe(self.callback(self._start_queue), "value")
        self.grader.observe(self.callback(self._start_queue), "value")
        self.reveal.observe(self.callback(self._show_card), "value")
        self.labeller.observe(self.callback(self._rename), "value")
        self.card.on_decide(self._on_decide)
        self.card.on_more(self._more)
        self.watch(self.refresh, self.session.results, "report")
        self.watch(self._follow, self.session.results, "where")
        self.watch(self._show_card, self.session.labels, "changes")

    def refresh(self) -> None:
        """See `Panel`. Labels put elsewhere meanwhile are read."""
        report = self.session.results.report
        names = report.graders if report is not None else []
        replace_options(self.grader, [(name, name) for name in names] or [("run graders first", "")])
        self._requeue()

    @property
    def _samples(self) -> Samples:
        report = self.session.results.report
        return self.session.samples if report is None else report.samples

    def _requeue(self) -> None:
        """Queue the rows anew; who reads a card keeps it while its row is there."""
        report, where, labels = self.session.results.report, self.session.results.where, self.session.labels
        labels.reload()
        shown = report.row_numbers(*where) if report is not None and where else ()
        self._queue = LabelQueue(
            self.order.value, self._samples, report=report, grader=self.grader.value, shown=shown,
            decided=labels.own_labels,
        )  # fmt: skip
        self._rows = labels.row_numbers(self._samples)
        self._ids = {seq: name for seq, name in self._ids.items() if name == self._current}
        self._show_card()

    def _start_queue(self) -> None:
        """Begin with another queue: somebody chose other rows, or another labels."""
        self._current, self._relabelled = None, set()
        self._requeue()

    def _follow(self) -> None:
        if self.order.value == CHOSEN:
            self._requeue()

    def _rename(self) -> None:
        name = self.labeller.value.strip()
        check_name("a labeller", name, empty=True)
        self.session.labels.set_labeller(name)
        self.card.recent = []
        self._drafts.clear()
        self._start_queue()

    # ---- the card that is shown

    def _show_card(self) -> None:
        """Show a card, and have the one after it ready."""
        queue, labels = self._queue, self.session.labels.own_labels
        if queue is None:
            return
        current = self._current_row(queue)
        open_rows = [row for row in queue.next(labels, 3) if row != current]
        rows = [*([] if current is None else [current]), *open_rows][:2]
        cards = [self._card(row, queue) for row in rows] + [{}, {}]
        self._current = cards[0].get("id")
        with self.card.hold_sync():
            self.card.card, self.card.upcoming = cards[0], cards[1]
            self.card.done, self.card.total = queue.done(labels), len(queue)
            self.card.status = [list(pair) for pair in self._agreement()]
            self.card.message = "" if rows else "Every row of this queue is labelled."
        self._show_summary()

    def _current_row(self, queue: LabelQueue) -> int | None:
        """The row that is read now, while it is still to be labelled."""
        name = self._current
        row = None if name is None else self._rows.get(name)
        if name is None or row is None or name in self._relabelled:
            return row
        return row if name not in self.session.labels.own_labels and row in queue else None

    def _card(self, row: int, queue: LabelQueue) -> dict[str, Any]:
        sample, labels = self._sample(row), self.session.labels
        name = str(sample.id)
        seq = next((seq for seq, shown in self._ids.items() if shown == name), None)
        if seq is None:
            self._seq += 1
            seq = self._seq
            self._ids[seq] = name
            if name not in self._relabelled:
                labels.note_drawn(name, queue.drawn(row))
        label = labels.own_labels.get(name)
        return {
            **read_row(sample, self._grades(row)),
            "seq": seq,
            "note": self._drafts.get(self._draft_key(name), "" if label is None else label.note),
        }

    def _grades(self, row: int) -> dict[str, Grade]:
        report = self.session.results.report
        if report is None or not self.reveal.value:
            return {}
        return {name: report.grades[name][row] for name in report.graders}

    def _more(self, seq: int, part: str) -> str:
        row = self._rows.get(self._ids.get(seq, ""))
        return "" if row is None else whole_text(self._sample(row), self._grades(row), part)

    def _sample(self, row: int) -> Sample:
        """A row without its label in the given column, which would lead the labeller."""
        sample, column = sample_of(self._samples, row), self.session.labels.column
        turns, metadata, *rest = sample.thread.to_wire()
        if self.reveal.value or not isinstance(metadata, dict) or column not in metadata:
            return sample
        without_column = {key: value for key, value in metadata.items() if key != column}
        return replace(sample, thread=StringThread.from_wire((turns, without_column, *rest)))

    @property
    def _drafts(self) -> dict[str, str]:
        """Text to the note that waits for its label."""
        return self.session.drafts.notes

    # ---- decisions

    def _draft_key(self, name: str) -> str:
        """What a note is about: other texts under the same id are not meant."""
        return f"{name} {self.session.labels.digest_of(name)}"

    def _on_decide(self, action: str, note: str, seq: int) -> bool:
        """Whether it was done: what goes wrong is shown in the panel, and goes no further.

        A quick key may speak of a card that is not here, as the one before it went wrong: that error stays to be read.
        """
        if action not in {"undo", "note"} and seq != self.card.card.get("seq"):
            return False
        answers: list[bool] = []  # stays empty where an error ends the callback
        self.callback(lambda: answers.append(self._decide(action, note, seq)))()
        return bool(answers and answers[0])

    def _decide(self, action: str, note: str, seq: int) -> bool:
        if action == "undo":
            return self._undo()
        name = self._ids.get(seq)
        if name is None:
            return False  # the card was decided before
        if action == "note":
            return self._note(name, note)
        relabelled = name in self._relabelled
        self._relabelled.discard(name)
        try:
            self.session.label(name, _VALUES[action], note or self._drafts.get(self._draft_key(name), ""))
        except BaseException:
            self._relabelled |= {name} if relabelled else set()
            raise
        self._drafts.pop(self._draft_key(name), None)
        self._ids.pop(seq)
        return True

    def _note(self, name: str, note: str) -> bool:
        """Keep what is written until the row has a label; with the label where it has one."""
        labels = self.session.labels
        label = labels.own_labels.get(name)
        self._drafts[self._draft_key(name)] = note
        if label is not None and label.note != note:
            self.session.label(name, label.value, note)
            self._note_times.add(labels.own_labels[name].at)
            self._drafts.pop(self._draft_key(name))
        if self.card.card.get("id") == name:
            self.card.card = {**self.card.card, "note": note}
        return True

    def _undo(self) -> bool:
        """Bring the last row back, with its note; whether a decision was undone, and not a note alone."""
        labels, before = self.session.labels, (self._current, set(self._relabelled), dict(self._drafts))
        name = labels.last_labelled
        label = None if name is None else labels.own_labels.get(name)
        if name is not None and label is not None:
            self._current, self._drafts[self._draft_key(name)] = name, label.note
            self._relabelled.add(name)
        try:
            self.session.undo_label()
        except BaseException:
            self._current, self._relabelled, self.session.drafts.notes = before
            self._show_card()  # a label that somebody else gave the row may have been read
            raise
        return label is None or label.at not in self._note_times

    # ---- agreement and counts

    def _agreement(self) -> list[tuple[str, str]]:
        """How the chosen grader stands to people's labels as they are now, and people to each other.

        A column's labels do not count here.
        """
        report, grader, labels = self.session.results.report, self.grader.value, self.session.labels
        lines = [
            (f"kappa with {pair.other}", f"{pair.kappa} on {pair.n:,}") for pair in labels.agreements()[:2]
        ]
        if report is None or grader not in report.grades:
            return lines
        weighted = labels.weighted(report.samples)
        if not weighted.n:
            return lines
        return [*report.agreement(grader, weighted.labels, weights=weighted.weights).lines, *lines]

    def _show_summary(self) -> None:
        """What is labelled, where it is kept, and which labels do not count for what."""
        labels, report = self.session.labels, self.session.results.report
        counts = ", ".join(f"{count:,} {word}" for word, count in labels.counts.items())
        where = labels.storage.url or "memory only: pass store= to keep them"
        remarks = [f"kept in {where}, dataset {labels.dataset!r}"]
        if n_chosen := 0 if report is None else labels.weighted(report.samples).n_chosen:
            remarks.append(
                f"{counted(n_chosen, 'label')} of rows chosen for what graders say: not in the agreement"
            )
        if n_mismatched := labels.n_mismatched:
            remarks.append(
                f"{counted(n_mismatched, 'row')} with labels of other texts under the same ids: these do not count"
            )
        if n_left_out := labels.n_left_out:
            remarks.append(f"{counted(n_left_out, 'label')} of rows not drawn at random: not in the findings")
        self.summary.value = f"{text(counts)} {remark('; '.join(remarks))}"
