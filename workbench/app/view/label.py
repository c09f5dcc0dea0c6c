"""The Label mode: cards, keys, and the agreement of the labels with a grader, updated with every label."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.statistics import Estimate
from workbench.analysis.statistics.means import Share
from workbench.app.session.label_queue import CHOSEN, GIVEN, ORDERS, RANDOM, LabelQueue
from workbench.app.view import Mode, mode
from workbench.app.view.reader import piece_of_text, sample_of, texts_of, thread_data
from workbench.app.view.texts import shown_name
from workbench.core.display_text import counted, one_line
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples
from workbench.report.sentences import strip_of_share
from workbench.store.graders import check_name

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.report import Report
    from workbench.report.agreement import Agreement


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
        self._note_times: set[datetime] = set()  # of labels that were saved only for their note

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
                given=labels.given_names,
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
            self._names, self._threads = {}, {}

    def cards(self) -> list[dict[str, Any]]:
        """The cards to decide next, as `Card`, at most `AHEAD`."""
        queue, labels = self.queue, self._session.labels.own_labels
        reopened = [self._rows[name] for name in reversed(self._reopened) if name in self._rows]
        following = [row for row in queue.next(labels, AHEAD) if row not in reopened]
        return [self._card(row) for row in [*reopened, *following][:AHEAD]]

    def _card(self, row: int) -> dict[str, Any]:
        name, labels = str(self._ids[row]), self._session.labels
        if name not in self._numbers:
            self._count += 1
            self._numbers[name], self._names[self._count] = self._count, name
            labels.note_drawn(name, self.queue.drawn(row))
            self._threads[name] = self._thread(self.sample(row))
        label = labels.own_labels.get(name)
        note = self._drafts.get(self._draft_key(name), "" if label is None else label.note)
        return {
            "seq": self._numbers[name], "row": row, "id": one_line(name, 120), "note": note, **self._threads[name],
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

    def decide(self, action: str, seq: int, note: str) -> None:
        """Label the row of a card: "good", "bad" or "skip". A decided one is unchanged.

        Raises:
            StoreError: The label could not be saved; the card remains.
        """
        name = self._names.get(seq)
        if name is None or (name in self._session.labels.own_labels and name not in self._reopened):
            return
        value = _VALUES[action]
        self._session.label(name, value, note or self._drafts.get(self._draft_key(name), ""))
        self._reopened = [other for other in self._reopened if other != name]
        self._drafts.pop(self._draft_key(name), None)
        self.past = [*(each for each in self.past if each[0] != seq), (seq, name, value)]

    def undo(self) -> None:
        """Reopen the last row, with its note.

        Raises:
            WorkbenchError: There is no label to undo, or the row was labelled again since.
        """
        labels = self._session.labels
        name = labels.last_labelled
        label = None if name is None else labels.own_labels.get(name)
        self._session.undo_label()
        if name is None or label is None:
            return
        self._drafts[self._draft_key(name)] = label.note
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
            self._session.label(name, label.value, note)
            self._note_times.add(labels.own_labels[name].at)
            self._drafts.pop(self._draft_key(name))

    @property
    def _drafts(self) -> dict[str, str]:
        """Text to the note that is saved with its label."""
        return self._session.drafts.notes

    def _draft_key(self, name: str) -> str:
        """What a note refers to: not other texts with the same id."""
        return f"{name} {self._session.labels.digest_of(name)}"


KEYS = {"good": "1", "bad": "0", "skip": "s", "undo": "u", "note": "n"}

_TIPS = {
    "random": "Rows drawn at random: only labels of these are used in findings.",
    "class-balanced": "As many accepted as rejected rows: finds errors with fewer labels; rates are weighted accordingly.",
    "disagreement first": "Rows with the largest disagreement: good for finding errors, not for estimating rates.",
    "nearest the pass threshold": "Rows whose score is closest to the threshold: to place it, not for estimating rates.",
    "as shown": "The rows of the table, as filtered: not for estimating rates.",
    "check the data's labels": "Rows with a label in the data, at random: your label takes precedence and is marked.",
}
_PAST = 60


@mode("label", "Label", position=2)
class LabelMode(Mode):
    """Labelling by keys. See `Mode` for the arguments."""

    def __init__(self, session: Session, on_change: Callable[[], object] = lambda: None) -> None:
        super().__init__(session, on_change)
        self.deck = LabelDeck(session)
        self._heard: dict[str, Any] = {"page": "", "seq": 0, "turn": 0}

    def opened(self) -> None:
        """Read the labels again: a cell may have labelled meanwhile."""
        self._session.labels.reload()

    def data(self) -> dict[str, Any]:
        """The mode as `LabelData`."""
        deck, labels = self.deck, self._session.labels
        cards = deck.cards()
        own = [label.value for label in labels.own_labels.values()]
        report: Report | None = self._session.results.report
        return {
            "order": deck.order,
            "orders": [
                {"name": name, "tip": _TIPS[name]} for name in ORDERS if name != GIVEN or labels.given_names
            ],
            "grader": shown_name(self._grader),
            "labeller": one_line(labels.labeller, 200),
            "cards": cards,
            "done": deck.done(),
            "total": len(deck.queue),
            "good": own.count(True),
            "bad": own.count(False),
            "skipped": own.count(None),
            "stats": self._stats(),
            "past": self._past(),
            "heard": self._heard,
            "message": self._message(any_card=bool(cards)),
            "new_labels": report is not None and labels.differ_from(report),
            "keys": KEYS,
        }

    @property
    def _grader(self) -> str:
        """The grader that labels are compared with."""
        report: Report | None = self._session.results.report
        names = [] if report is None else report.graders
        return self.deck.grader if self.deck.grader in names else next(iter(names), "")

    def _message(self, *, any_card: bool) -> str:
        """What the labeller should know: the end of the queue, and which labels do not count."""
        labels, report = self._session.labels, self._session.results.report
        sentences = [] if any_card else ["Every row of this queue is decided."]
        if given := len(labels.given_names):
            column = f"column {labels.column}" if labels.column else "labels="
            why = (
                "your label takes precedence and is marked"
                if self.deck.queue.asks_given
                else "not shown again"
            )
            sentences.append(f"{counted(given, 'row')} labelled by {one_line(column, 60)}: {why}.")
        if changed := labels.n_changed:
            sentences.append(f"Your labels differ from it in {counted(changed, 'row')}.")
        if n_chosen := 0 if report is None else labels.weighted(report.samples).n_chosen:
            sentences.append(
                f"{counted(n_chosen, 'label')} of rows selected by their grades: not used in these rates."
            )
        if n_mismatched := labels.n_mismatched:
            sentences.append(
                f"{counted(n_mismatched, 'row')} with labels of other texts under the same ids: these labels do not count."
            )
        if n_left_out := labels.n_left_out:
            sentences.append(
                f"{counted(n_left_out, 'label')} of rows not drawn at random: not used in the findings."
            )
        if labels.storage.in_memory:
            sentences.append("Labels are stored only in memory: pass store= to save them.")
        return " ".join(sentences)

    def _stats(self) -> list[dict[str, Any]]:
        report: Report | None = self._session.results.report
        agreement = None if report is None or not self._grader else self._agreement(report)
        people = [
            _estimate(
                f"kappa with {one_line(pair.other, 40)}",
                "Agreement of two labellers beyond chance.",
                pair.kappa,
                pair.n,
            )
            for pair in self._session.labels.agreements()[:2]
        ]
        if agreement is None:
            return people
        return [
            _share("same verdict", "Rows on which your label and the grader's verdict agree.", agreement.observed),
            _share("bad ones it rejects", "Of the rows you labelled bad, those that the grader rejects.", agreement.specificity),
            _share("good ones it accepts", "Of the rows you labelled good, those that the grader accepts.", agreement.sensitivity),
            _estimate("kappa", "Agreement beyond chance: 0 is chance level, 1 is perfect agreement.", agreement.kappa, agreement.n),
            *people,
        ]  # fmt: skip

    def _agreement(self, report: Report) -> Agreement | None:
        weighted = self._session.labels.weighted(report.samples)
        return (
            report.agreement(self._grader, weighted.labels, weights=weighted.weights) if weighted.n else None
        )

    def _past(self) -> list[dict[str, Any]]:
        """What was decided here, most recent first, and whether the grader agrees."""
        rows = self._session.labels.row_numbers(self.deck.samples)
        accepted = self._accepted()
        lines = []
        for seq, name, value in self.deck.past[: -_PAST - 1 : -1]:
            row = rows.get(name)
            verdict = None if row is None or accepted is None else accepted[row]
            same = None if verdict is None or value is None else bool(verdict) == value
            lines.append(
                {
                    "seq": seq,
                    "id": one_line(name, 60),
                    "text": self.deck.answer_of(name),
                    "value": value,
                    "same": same,
                }
            )
        return lines

    def _accepted(self) -> list[bool | None] | None:
        """The grader's verdict of each row, None for rows without one."""
        report: Report | None = self._session.results.report
        if report is None or not self._grader:
            return None
        verdicts: list[bool | None] = [None] * len(report)
        for passed in (True, False):
            for row in report.row_numbers({"grader": self._grader, "passed": passed}):
                verdicts[int(row)] = passed
        return verdicts

    def do_label(self, action: str, seq: int, note: str, page: str, turn: int) -> None:
        """Label a card, undo the last label, or store a note."""
        try:
            if action == "undo":
                self.deck.undo()
            elif action == "note":
                self.deck.note(seq, note)
            elif action in {"good", "bad", "skip"}:
                self.deck.decide(action, seq, note)
        finally:
            self._heard = {"page": page, "seq": seq, "turn": turn}

    def do_label_order(self, order: str) -> None:
        """Label in another order."""
        if order in ORDERS:
            self.deck.order = order
            self.deck.restart(keep=True)

    def do_label_grader(self, name: str) -> None:
        """Compare labels with another grader."""
        self.deck.grader = name

    def do_labeller(self, name: str) -> None:
        """Change the labeller."""
        check_name("a labeller", name.strip(), empty=True)
        self._session.labels.set_labeller(name.strip())
        self._session.drafts.notes.clear()
        self.deck.restart(keep=False)

    def ask_card_piece(self, row: int, part: str, start: int) -> dict[str, Any]:
        """A piece of a long text of a card."""
        return piece_of_text(self.deck.sample(row), {}, part, start)


def _share(name: str, tip: str, share: Share) -> dict[str, Any]:
    lo, hi = share.interval() if share.n else (math.nan, math.nan)
    known = share.n > 0 and not np.isnan(lo)
    return {
        "name": name, "tip": tip, "of": f"{share.k:,} of {share.n:,}",
        "strip": strip_of_share(share.value, lo, hi) if known else None,
        "why_none": "" if known else "no such row is labelled yet" if not share.n else "too few rows for an interval",
    }  # fmt: skip


def _estimate(name: str, tip: str, estimate: Estimate, n: int) -> dict[str, Any]:
    value = estimate.value
    lo, hi = estimate.interval() if not math.isnan(value) else (math.nan, math.nan)
    text = "" if math.isnan(value) else f"{value:.2f}"
    known = not (math.isnan(value) or math.isnan(lo))
    strip = {
        "value": value, "lo": lo, "hi": hi, "min": min(0.0, lo), "max": 1.0, "limit": None, "limit_text": "",
        "value_text": text, "interval_text": f"{lo:.2f} to {hi:.2f}",
    }  # fmt: skip
    why = "" if known else estimate.reason or f"{counted(n, 'label')}: too few for an interval"
    return {"name": name, "tip": tip, "of": text, "strip": strip if known else None, "why_none": why}
