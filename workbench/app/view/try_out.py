"""The Try mode: edit a row's completion, or paste a conversation, and see which grades change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.diagnostics import threshold_on_scale
from workbench.app.session.action import grader_code
from workbench.app.session.grader_text import asks_models, waits_for
from workbench.app.session.trial import (
    Trial,
    find_rows,
    next_row,
    paste,
    place_of,
    random_row,
    with_completion,
    with_reference,
)
from workbench.app.view import Mode, mode
from workbench.app.view.grader_probe import GraderProbe
from workbench.app.view.reader import piece_of_text, sample_of, texts_of, thread_data
from workbench.app.view.saved_completions import (
    SavedCompletion,
    SavedCompletions,
    accepts,
    is_same,
    moved,
    outcome,
    verdict_of_answer,
)
from workbench.app.view.texts import shown_name
from workbench.core.display_text import one_line, visible
from workbench.core.grade import Grade
from workbench.data.samples import Sample
from workbench.graders.combine import Entry
from workbench.judges.judge_run import JudgeRun
from workbench.judges.spending import Spending

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.app.session.session import Session
    from workbench.report import Report


_MAX_CHARACTERS = 200_000  # of a completion in a text field; longer ones are read in the rows


@mode("try", "Try", position=1, state="try_out")
class TryMode(Mode):
    """One conversation and its grades by the selected graders, before and after a change of its completion.

    Rules and sandboxed code grade every change; graders that call a model or a service wait for a request. See `Mode` for the
    arguments.
    """

    def __init__(self, session: Session, on_change: Callable[[], object] = lambda: None) -> None:
        super().__init__(session, on_change)
        self._row: int | None = None
        self._pasted: Sample | None = None
        self._text: str | None = None  # the edited completion; None if unchanged
        self._expected: str | None = None
        self._good: bool | None = None
        self._matches: list[int] = []
        self._query = ""
        self._revision = 0
        self._code = ""
        self._drawn: Any = None  # the rows that contain the row
        self._before: dict[str, tuple[Entry, Grade]] = {}
        self._after: dict[str, tuple[Entry, Grade]] = {}
        self._first = Trial(self._take_before, session.guard.lock)
        self._trial = Trial(self._take_after, session.guard.lock)
        self.kept = SavedCompletions(session, on_change)
        self._probe, self._chosen = GraderProbe(session, on_change), ""

    def choose(self, name: str) -> None:
        """Follow the selection of a grader: it is the one that is probed."""
        self._chosen = name

    def do_try_probe(self) -> None:
        """Search for texts that the selected grader misgrades."""
        self._probe.run(self._chosen)

    def do_try_hole(self, number: int, keep: bool = False) -> None:
        """Try a text that the probe found; with `keep` it is saved, and graded again after every edit."""
        hole = self._probe.hole(number)
        rows: Any = [] if hole is None else np.flatnonzero(self._samples.ids.astype(str) == hole.row)
        if hole is None or not len(rows):
            return
        self._take_row(int(rows[0]))
        self._text, self._good = hole.text, hole.good
        self._ask_after()
        if keep:
            self.do_try_keep()
        self.show_code()

    def do_try_allow(self, number: int, allowed: bool) -> None:
        """Mark a question of the probe as intended, or no longer."""
        self._probe.allow(number, allowed)

    def opened(self) -> None:
        """Start with the row in the reader."""
        self.open(self._session.results.row)

    def open(self, row: int | None) -> None:
        """Start with a row, unless another conversation is being edited.

        Args:
            row: A row of the drawn rows, for example the one in the reader; None for the first.
        """
        self.refresh()
        busy = self._pasted is not None or self._text is not None or (self._row is not None and row is None)
        if not busy and (self._row is None or row != self._row) and len(self._samples):
            self._take_row(row or 0)

    @property
    def _samples(self) -> Any:
        return self._session.rows.rows

    @property
    def _original(self) -> Sample:
        return self._pasted or sample_of(self._samples, self._row or 0)

    @property
    def sample(self) -> Sample:
        """The conversation with the completion and the reference as edited."""
        sample = self._original
        if self._text is not None and self._text != (sample.thread.completion() or ""):
            sample = with_completion(sample, self._text)
        return (
            sample
            if self._expected is None
            else with_reference(sample, self._expected, self._reference_column)
        )

    @property
    def _reference_column(self) -> Any:
        return self._session.samples.columns.get("reference")

    def _take_row(self, row: int) -> None:
        self._row, self._pasted, self._drawn = row, None, self._samples
        self._begin("")

    def _begin(self, code: str) -> None:
        """Grade another conversation; `code` gives it in code if it is not a drawn row."""
        self._text, self._expected, self._good, self._code = None, None, None, code
        self._before, self._after = {}, {}
        self._revision += 1
        self._first.stop()
        self._trial.stop()
        self._ask_before()
        self.show_code()

    def show_code(self) -> None:
        """Set the lines that grade this conversation, if there is one."""
        if self._row is not None or self._pasted is not None:
            self._session.code.text = self._repeating_code()

    def refresh(self) -> None:
        """Start graders that are new or have changed; others at work continue."""
        self._follow_draw()
        entries = self._session.graders.chosen_entries()
        for answers in (self._before, self._after):
            for name in [
                name for name, (entry, _) in answers.items() if not is_same(entry, entries.get(name))
            ]:
                del answers[name]
        for trial in (self._first, self._trial):
            trial.keep(entries, is_same)
        self.kept.refresh()
        if self._row is not None or self._pasted is not None:
            self._ask_before()
            self._ask_after()

    def _free(self, answers: Mapping[str, Any]) -> dict[str, Entry]:
        entries = self._session.graders.chosen_entries()
        return {
            name: entry
            for name, entry in entries.items()
            if name not in answers and not waits_for(entry.grader)
        }

    def _ask_before(self) -> None:
        """Grades of the unchanged conversation: those of the run if it has them."""
        report: Report | None = self._session.results.report
        unrun = self._session.graders.unrun
        if report is not None and self._row is not None and report.samples is self._samples:
            for name, entry in self._session.graders.chosen_entries().items():
                if name in report.grades and name not in unrun:
                    self._before[name] = (entry, report.grades[name][self._row])
        self._first.ask(self._original, self._free(self._before))

    def _ask_after(self) -> None:
        if self._is_edited:
            self._trial.ask(self.sample, self._free(self._after))

    @property
    def _is_edited(self) -> bool:
        sample = self.sample
        return (
            sample.thread.to_wire() != self._original.thread.to_wire()
            or sample.reference != self._original.reference
        )

    def _take_before(self, name: str, entry: Entry, grade: Grade) -> None:
        self._take(self._before, name, entry, grade)

    def _take_after(self, name: str, entry: Entry, grade: Grade) -> None:
        self._take(self._after, name, entry, grade)

    def _take(self, answers: dict[str, tuple[Entry, Grade]], name: str, entry: Entry, grade: Grade) -> None:
        with self._session.guard.locked("Try"):
            answers[name] = (entry, grade)  # `refresh` removes it if the grader has changed meanwhile
            self._on_change()

    def do_try(self, text: str | None = None, expected: str | None = None, label: bool | None = None) -> None:
        """Accept the completion, the reference or the label as edited."""
        self._text = self._text if text is None else text
        self._expected = self._expected if expected is None else expected
        self._good = label if label is not None or text is None else self._good
        self._after = {}
        self._trial.stop()
        self._ask_after()
        self.show_code()

    def do_try_row(self, query: str, next: bool = False) -> None:  # noqa: A002 (the message's key)
        """Try the row with this id or these words, or the next of them.

        Raises:
            SamplesError: There is none.
        """
        words = query.strip()
        if words and (not next or words != self._query):
            self._query, self._matches = words, find_rows(self._samples, words)
        if self._matches:
            self._take_row(next_row(self._matches, -1 if self._row is None else self._row))

    def piece(self, part: str, start: int) -> dict[str, Any]:
        """A piece of a long text of the conversation, as `PieceOfText`."""
        return piece_of_text(self._original, {}, part, start)

    def do_try_random(self) -> None:
        """Try a random row."""
        self._matches = []
        self._take_row(random_row(self._samples))

    def do_try_paste(self, text: str) -> None:
        """Try a conversation from pasted JSON.

        Raises:
            SamplesError: It is not such JSON.
        """
        self._pasted = paste(text)
        self._row, self._matches = None, []
        self._begin(f"wb.session.trial.paste({text!r})")

    def do_try_ask(self, grader: str) -> None:
        """Run a grader that waits for a request, such as one that calls a model."""
        entries = self._session.graders.chosen_entries()
        if grader not in entries:
            return
        entry = {grader: entries[grader]}
        trial = self._trial if self._is_edited else self._first
        trial.ask(self.sample, entry, self._judge_run(entry[grader]))

    def do_try_keep(self) -> None:
        """Save the completion: it is graded again after every edit."""
        good = self._good if self._good is not None or self._is_edited else self._label()
        answer = SavedCompletion(
            self.sample,
            good,
            self._original,
            self._text,
            self._expected,
            self._row,
            self._conversation_code(),
        )
        self.kept.keep(answer)

    def do_try_saved(self, number: int) -> None:
        """Try a saved completion."""
        answer = self.kept.get(number)
        if answer is None:
            return
        ids, row = self._samples.ids, answer.row
        if row is not None and row < len(ids) and ids[row] == answer.original.id:
            self._take_row(row)
        else:  # the draw has changed
            self._pasted, self._row = answer.original, None
            self._begin(answer.code)
        self._text, self._expected, self._good = answer.text, answer.expected, answer.good
        self._ask_after()
        self.show_code()

    def do_try_drop(self, number: int) -> None:
        """Remove a saved completion."""
        self.kept.drop(number)

    def _judge_run(self, entry: Entry) -> JudgeRun | None:
        """How judges send requests: a reply in the store is not paid for again."""
        storage = self._session.storage
        if not storage.url or not asks_models(entry.grader):
            return None
        return JudgeRun(Spending(None), storage.store.replies)

    def _follow_draw(self) -> None:
        """Keep the conversation after a new draw: it may have another number there, or none."""
        drawn, samples = self._drawn, self._samples
        if self._row is None or drawn is samples:
            return
        name, numbers = str(drawn.ids[self._row]), self._session.labels.row_numbers(samples)
        if name in numbers:
            self._row = numbers[name]
        else:
            self._code = self._row_code(name)
            self._pasted, self._row = sample_of(drawn, self._row), None
        self._drawn, self._matches = samples, []
        self.show_code()

    def _row_code(self, name: str) -> str:
        return f"app.samples[{self._session.labels.row_numbers(self._session.samples)[name]}]"

    def _conversation_code(self) -> str:
        if self._pasted is not None:
            return self._code
        return self._row_code(str(self._samples.ids[self._row or 0]))

    def _repeating_code(self) -> str:
        changed = self._conversation_code()
        if self._text is not None and self._text != (self._original.thread.completion() or ""):
            changed = f"wb.session.trial.with_completion({changed}, {self._text!r})"
        if self._expected is not None:
            changed = (
                f"wb.session.trial.with_reference({changed}, {self._expected!r}, {self._reference_column!r})"
            )
        calls = [f"{grader_code(name)}(sample)" for name in self._session.graders.chosen]
        return "\n".join([f"sample = {changed}", *calls])

    def data(self) -> dict[str, Any] | None:
        """The mode as `TryData`; None if there is no row."""
        if self._row is None and self._pasted is None:
            return None
        original, sample = self._original, self.sample
        thread = thread_data(original, texts_of(original, {}), lambda _text, _expected: ())
        turns = thread["turns"]
        has_answer = bool(turns) and turns[-1]["role"] == "completion" and not turns[-1]["calls"]
        lines = [self._line(name) for name in self._session.graders.chosen]
        return {
            "row": -1 if self._row is None else self._row,
            "id": "" if self._pasted else one_line(original.id, 80),
            "place": place_of(self._samples, -1 if self._row is None else self._row, self._matches),
            "pasted": self._pasted is not None,
            "turns": turns[:-1] if has_answer else turns,
            "answer": visible((original.thread.completion() or "")[:_MAX_CHARACTERS]),
            "label": self._label(),
            "expected": "" if sample.reference is None else visible(str(sample.reference)[:20_000]),
            "yours": (sample.thread.completion() or "")[:_MAX_CHARACTERS],
            "revision": self._revision,
            "yours_label": self._good,
            "lines": lines,
            "verdict": self._verdict(),
            "kept": self.kept.data(self._mark),
            "probe": self._probe.data(self._chosen),
        }

    def _label(self) -> bool | None:
        labels = self._session.labels.for_display(self._samples)
        return None if labels is None or self._row is None else labels[self._row]

    def _line(self, name: str) -> dict[str, Any]:
        before, after = self._before.get(name), self._after.get(name)
        if not self._is_edited:
            after = before
        latest = after or before
        grade = None if latest is None else latest[1]
        reason = "" if grade is None else str(grade.error or grade.reasoning or "")
        known, mark = self._label(), self._mark
        return {
            "grader": shown_name(name),
            "before": outcome(before and before[1], known, mark),
            "after": outcome(after and after[1], known if self._good is None else self._good, mark),
            "moved": moved(before and before[1], after and after[1], mark),
            "why": one_line(reason, 400),
            "waits": waits_for(self._session.graders.by_name[name]) if after is None else "",
            "printed": "" if grade is None or not grade.printed else visible(grade.printed[:4_000]),
        }

    @property
    def _mark(self) -> float:
        """The pass threshold."""
        report: Report | None = self._session.results.report
        return 0.5 if report is None else threshold_on_scale(report.pass_threshold, report.scale)

    def _verdict(self) -> dict[str, str] | None:
        answers = self._after if self._is_edited else self._before
        verdicts = {name: accepts(grade, self._mark) for name, (_, grade) in answers.items()}
        return verdict_of_answer(verdicts, self._good if self._is_edited else self._label())

    def close(self) -> None:
        """Cancel the work in progress."""
        self._first.stop()
        self._trial.stop()
        self.kept.close()
