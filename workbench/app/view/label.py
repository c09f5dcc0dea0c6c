"""The Label mode: cards, keys, and the agreement of the labels with a grader, updated with every label."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.statistics import Estimate
from workbench.analysis.statistics.means import Share
from workbench.app.session.label_queue import GIVEN, ORDERS
from workbench.app.view import Mode, mode
from workbench.app.view.label_deck import LabelDeck
from workbench.app.view.reader import piece_of_text
from workbench.app.view.texts import shown_name
from workbench.core.display_text import counted, one_line
from workbench.report.sentences import strip_of_share
from workbench.store.graders import check_name

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.report import Report
    from workbench.report.agreement import Agreement


KEYS = {"good": "1", "bad": "0", "skip": "s", "defer": "d", "undo": "u", "note": "n", "tag": "t"}

_TIPS = {
    "random": "Rows drawn at random: only labels of these are used in findings.",
    "unlabelled only": "Rows without a label in the data or by anyone, at random: used in findings as random ones are.",
    "class-balanced": "As many accepted as rejected rows: finds errors with fewer labels; rates are weighted accordingly.",
    "disagreement first": "Rows with the largest disagreement: good for finding errors, not for estimating rates.",
    "nearest the pass threshold": "Rows whose score is closest to the threshold: to place it, not for estimating rates.",
    "as shown": "The rows of the table, as filtered: not for estimating rates.",
    "check the data's labels": "Rows with a label in the data, at random: your label takes precedence and is marked.",
}
_PAST = 60
_MAX_TAGS = 60  # listed, the most frequent first


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
        accepted = self._accepted()
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
            "deferred": deck.n_deferred(),
            "tags": self._tags(accepted),
            "stats": self._stats(),
            "past": self._past(accepted),
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

    def _tags(self, accepted: list[bool | None] | None) -> list[dict[str, Any]]:
        """Each tag with the number of its samples by label, and of those on which the grader's verdict differs."""
        labels = self._session.labels
        counts: dict[str, dict[str, int]] = {}
        rows = labels.row_numbers(self.deck.samples)
        for name, label in labels.latest.items():
            verdict = accepted[rows[name]] if accepted is not None and name in rows else None
            differs = verdict is not None and label.value is not None and verdict != label.value
            for tag in label.tags:
                line = counts.setdefault(tag, {"good": 0, "bad": 0, "skipped": 0, "differ": 0})
                line["skipped" if label.value is None else "good" if label.value else "bad"] += 1
                line["differ"] += differs
        return [
            {"name": tag, "count": count, **counts[tag], "where": [{"tag": tag}]}
            for tag, count in list(labels.tags.items())[:_MAX_TAGS]
        ]

    def _past(self, accepted: list[bool | None] | None) -> list[dict[str, Any]]:
        """What was decided here, most recent first, and whether the grader agrees."""
        rows = self._session.labels.row_numbers(self.deck.samples)
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

    def do_label(  # one action of a card: its arguments are those of the message
        self, action: str, seq: int, note: str, page: str, turn: int, tags: list[str] | None = None
    ) -> None:
        """Label a card, defer it, undo the last decision, or store a note or tags."""
        try:
            if action == "undo":
                self.deck.undo()
            elif action == "note":
                self.deck.note(seq, note)
            elif action == "tag":
                self.deck.tag(seq, tags or ())
            elif action == "defer":
                self.deck.defer(seq)
            elif action in {"good", "bad", "skip"}:
                self.deck.decide(action, seq, note, tags or ())
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
        self._session.drafts.tags.clear()
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
        "value_text": text, "interval_name": "95 % interval", "interval_text": f"{lo:.2f} to {hi:.2f}",
    }  # fmt: skip
    why = "" if known else estimate.reason or f"{counted(n, 'label')}: too few for an interval"
    return {"name": name, "tip": tip, "of": text, "strip": strip if known else None, "why_none": why}
