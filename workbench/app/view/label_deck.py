"""The deck of the Label mode: the rows to decide, one card each, with undo over several steps, rows put off, and tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from workbench.app.session.label_queue import CHOSEN, RANDOM, UNLABELLED, LabelQueue
from workbench.app.view.reader import sample_of, texts_of, thread_data
from workbench.core.display_text import one_line
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.report import Report


AHEAD = 24
"""Cards that a page gets in advance: at 20 ms per key there is always a next one."""

_LINE = 90

_VALUES = {"good": True, "bad": False, "skip": None}


class LabelDeck:
    """Rows to label, one card each, in the order of a queue.

    Card numbers are never reused, so that a decision always applies to the row of the card that was shown, even if
    another queue is current when it arrives.

    Attributes:
        order: Out of `label_queue.ORDERS`.
        grader: Whose verdicts balance the classes, and whose verdicts labels are compared with; "" for the first.
        past: What was decided here, the last one last: number of the card, sample, value.
        deferred: Samples that were put off, which come at the end of the queue, in this order.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.order, self.grader = RANDOM, ""
        self.past: list[tuple[int, str, bool | None]] = []
        self._queue: LabelQueue | None = None
        self._source: tuple[Any, ...] = ()
        self._rows: Mapping[str, int] = {}
        self._ids: Any = ()
        self._threads: dict[str, dict[str, Any]] = {}  # the content of cards: a row is read once
        self._numbers: dict[str, int] = {}  # sample to the number of its card in this queue
        self._names: dict[int, str] = {}  # card number to its sample, also of earlier queues
        self._count = 0
        self._reopened: list[str] = []  # samples to decide again after an undo; the next one last
        self._note_times: set[datetime] = set()  # of labels that were saved only for their note or tags
        self.deferred: list[str] = []
        self._deferrals: list[
            tuple[str, int]
        ] = []  # sample, and the number of labels that could be undone then

    @property
    def samples(self) -> Samples:
        """The rows that are labelled: those of the run, before it all."""
        report = self._session.results.report
        return self._session.samples if report is None else report.samples

    @property
    def queue(self) -> LabelQueue:
        """The rows in order; rebuilt if the run, the order or the shown rows have changed."""
        report: Report | None = self._session.results.report
        where = self._session.results.where if self.order == CHOSEN else ()
        source = (
            id(self.samples),
            report if self.order != RANDOM else None,
            repr(where),
            self.order,
            self.grader,
        )
        if self._queue is None or source != self._source:
            labels = self._session.labels
            shown = report.row_numbers(*where) if report is not None and where else ()
            self._queue = LabelQueue(
                self.order,
                self.samples,
                report=report,
                grader=self.grader or None,
                shown=shown,
                decided=labels.own_labels,
                given=labels.given_names | (labels.by_others if self.order == UNLABELLED else frozenset()),
            )
            self._rows, self._source, self._ids = labels.row_numbers(self.samples), source, self.samples.ids
        return self._queue

    def restart(self, *, keep: bool) -> None:
        """Start another queue.

        Args:
            keep: Whether decisions on this queue's cards still count: not after a change of labeller.
        """
        self._queue, self._reopened, self._numbers, self.past = None, [], {}, []
        if not keep:
            self._names, self._threads, self.deferred, self._deferrals = {}, {}, [], []

    def cards(self) -> list[dict[str, Any]]:
        """The cards to decide next, as `Card`, at most `AHEAD`."""
        queue, labels = self.queue, self._session.labels.own_labels
        reopened = [self._rows[name] for name in reversed(self._reopened) if name in self._rows]
        put_off = {
            name: self._rows[name] for name in self.deferred if name not in labels and name in self._rows
        }
        following = queue.next({**labels, **put_off}, AHEAD)
        last = [row for row in put_off.values() if row in queue]
        rows = dict.fromkeys([*reopened, *following, *last])
        return [self._card(row) for row in list(rows)[:AHEAD]]

    def n_deferred(self) -> int:
        """Rows of the queue that were put off and are not decided."""
        labels, queue = self._session.labels.own_labels, self.queue
        return sum(
            name not in labels and name in self._rows and self._rows[name] in queue for name in self.deferred
        )

    def _card(self, row: int) -> dict[str, Any]:
        name, labels = str(self._ids[row]), self._session.labels
        if name not in self._numbers:
            self._count += 1
            self._numbers[name], self._names[self._count] = self._count, name
            labels.note_drawn(name, self.queue.drawn(row))
            self._threads[name] = self._thread(self.sample(row))
        label = labels.own_labels.get(name)
        note = self._drafts.get(self._draft_key(name), "" if label is None else label.note)
        tags = self._tag_drafts.get(self._draft_key(name), () if label is None else label.tags)
        return {
            "seq": self._numbers[name], "row": row, "id": one_line(name, 120), "note": note, "tags": list(tags),
            **self._threads[name],
        }  # fmt: skip

    @staticmethod
    def _thread(sample: Sample) -> dict[str, Any]:
        thread = thread_data(sample, texts_of(sample, {}), lambda _text, _expected: ())
        return {part: thread[part] for part in ("turns", "documents", "expected")}

    def answer_of(self, name: str) -> str:
        """The completion of a card's row, as one line."""
        turns = self._threads[name]["turns"]
        text = (
            "".join(piece for piece, _ in turns[-1]["text"])
            if turns and turns[-1]["role"] == "completion"
            else ""
        )
        return one_line(text.strip() or "(empty)", _LINE)

    def sample(self, row: int) -> Sample:
        """A row without its label in the given column, which would bias the labeller."""
        sample, column = sample_of(self.samples, row), self._session.labels.column
        turns, metadata, *rest = sample.thread.to_wire()
        if not isinstance(metadata, dict) or column not in metadata:
            return sample
        without_column = {key: value for key, value in metadata.items() if key != column}
        return replace(sample, thread=StringThread.from_wire((turns, without_column, *rest)))

    def done(self) -> int:
        """Rows of the queue that are decided."""
        return self.queue.done(self._session.labels.own_labels)

    def decide(self, action: str, seq: int, note: str, tags: Sequence[str] = ()) -> None:
        """Label the row of a card: "good", "bad" or "skip". A decided one is unchanged.

        Raises:
            StoreError: The label could not be saved; the card remains.
        """
        name = self._names.get(seq)
        if name is None or (name in self._session.labels.own_labels and name not in self._reopened):
            return
        value, key = _VALUES[action], self._draft_key(name)
        given = self._session.labels.tags_as_known(tags) or self._tag_drafts.get(key, ())
        self._session.label(name, value, note or self._drafts.get(key, ""), given)
        self._reopened = [other for other in self._reopened if other != name]
        self._drafts.pop(key, None)
        self._tag_drafts.pop(key, None)
        self.past = [*(each for each in self.past if each[0] != seq), (seq, name, value)]

    def defer(self, seq: int) -> None:
        """Put off the row of a card: it comes again at the end of the queue. A decided one is unchanged."""
        name, labels = self._names.get(seq), self._session.labels
        if name is None:
            return
        self._reopened = [other for other in self._reopened if other != name]
        if name in labels.own_labels:  # a reopened row keeps its earlier label
            return
        self.deferred = [*(other for other in self.deferred if other != name), name]
        self._deferrals.append((name, labels.n_undoable))

    def _undo_deferral(self) -> bool:
        """Take the last deferred row back, if nothing was labelled since; whether this happened."""
        if not self._deferrals or self._deferrals[-1][1] < self._session.labels.n_undoable:
            return False
        name, _ = self._deferrals.pop()
        self.deferred = [other for other in self.deferred if other != name]
        self._reopened = [*(other for other in self._reopened if other != name), name]
        return True

    def undo(self) -> None:
        """Reopen the last row, decided or deferred, with its note and tags.

        Raises:
            WorkbenchError: There is no label to undo, or the row was labelled again since.
        """
        if self._undo_deferral():
            return
        labels = self._session.labels
        name = labels.last_labelled
        label = None if name is None else labels.own_labels.get(name)
        self._session.undo_label()
        if name is None or label is None:
            return
        self._drafts[self._draft_key(name)] = label.note
        self._tag_drafts[self._draft_key(name)] = label.tags
        if label.at not in self._note_times:
            self._reopened = [*(other for other in self._reopened if other != name), name]
            self.past = [each for each in self.past if each[1] != name]

    def note(self, seq: int, note: str) -> None:
        """Store a note until the row has a label; with the label if it has one."""
        name, labels = self._names.get(seq), self._session.labels
        if name is None:
            return
        label = labels.own_labels.get(name)
        self._drafts[self._draft_key(name)] = note
        if label is not None and label.note != note:
            self._session.label(name, label.value, note, label.tags)
            self._note_times.add(labels.own_labels[name].at)
            self._drafts.pop(self._draft_key(name))

    def tag(self, seq: int, tags: Sequence[str]) -> None:
        """Keep tags until the row has a label; store them with the label if it has one.

        Raises:
            StoreError: A tag that is not a short printable text, or too many.
        """
        name, labels = self._names.get(seq), self._session.labels
        if name is None:
            return
        label, given = labels.own_labels.get(name), labels.tags_as_known(tags)
        if label is None or name in self._reopened:
            self._tag_drafts[self._draft_key(name)] = given
        elif label.tags != given:
            self._session.label(name, label.value, label.note, given)
            self._note_times.add(labels.own_labels[name].at)

    @property
    def _drafts(self) -> dict[str, str]:
        """Text to the note that is saved with its label."""
        return self._session.drafts.notes

    @property
    def _tag_drafts(self) -> dict[str, tuple[str, ...]]:
        """Text to the tags that are saved with its label."""
        return self._session.drafts.tags

    def _draft_key(self, name: str) -> str:
        """What a note refers to: not other texts with the same id."""
        return f"{name} {self._session.labels.digest_of(name)}"
