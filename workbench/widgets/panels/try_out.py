"""The Try panel: one conversation, all chosen graders side by side."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets

from workbench.grade import Grade
from workbench.graders.combine import Entry
from workbench.judges.asking.judge_run import JudgeRun
from workbench.judges.asking.spending import Spending
from workbench.samples import Sample
from workbench.session.code_lines import grader_code
from workbench.session.proofs import asks_models, waits_for
from workbench.session.report_rows import sample_of
from workbench.session.trial import (
    Trial,
    find_rows,
    next_row,
    paste,
    place_of,
    random_row,
    with_completion,
)
from workbench.widgets.panels.panel import Panel, add_classes, remark, row, text
from workbench.widgets.views.thread_view import ThreadView

__all__ = ["TryPanel"]


_PAUSE = 0.3
"""Seconds without a key until an edited answer is graded."""


class TryPanel(Panel):
    """Choose a row, by its id, by words or at random, or paste a conversation; edit the answer and see the scores.

    Rules and sandboxed code answer at every change; what asks a model or a service waits for the button. See `Panel` for the
    arguments.
    """

    title = "Try"
    css = "try"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        self._make_controls()
        self._sample: Sample | None = None
        self._answers: dict[str, tuple[Entry, Grade]] = {}  # by grader: as what it was asked, and its grade
        self._graded: Any = None  # the conversation that these grades are of
        self._last_entries: dict[str, Entry] = {}  # as what each grader was asked last
        self._timer: threading.Timer | None = None
        self._row = -1
        self._matches: list[int] = []
        self._trial = Trial(self._on_grade, self.session.guard.lock)
        self._listen()
        choice = row(self.query, self.next, self.random, self.paste, self.place)
        return [choice, self.fold, self.thread, self.answer, row(self.score), self.results]

    def _make_controls(self) -> None:
        wide = widgets.Layout(width="calc(100% - 6px)")
        self.query = widgets.Text(description="Row", placeholder="id or words", continuous_update=False)
        self.next = widgets.Button(
            description="Next match", tooltip="Next row with these words", disabled=True
        )
        self.place = widgets.HTML()
        self.random = widgets.Button(description="Random row", icon="random")
        self.paste = widgets.ToggleButton(description="Paste messages", tooltip="Try messages of your own")
        self.pasted = widgets.Textarea(
            description="Messages", rows=3, layout=wide,
            placeholder='[{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]',
        )  # fmt: skip
        self.use = widgets.Button(description="Use pasted messages")
        self.fold = widgets.VBox([self.pasted, row(self.use)], layout=widgets.Layout(display="none"))
        self.thread = ThreadView()
        self.answer = widgets.Textarea(
            description="Answer", rows=6, layout=wide, placeholder="what the model wrote"
        )
        self.score = widgets.Button(
            description="Score", button_style="primary", tooltip="Ask all chosen graders"
        )
        self.results = widgets.HTML()
        add_classes(thread=self.thread, answer=self.answer, tried=self.results, score=self.score)
        add_classes(next_match=self.next, place=self.place)

    def _listen(self) -> None:
        self.query.observe(self.callback(self._find), "value")
        self.next.on_click(self.callback(self._show_next))
        self.random.on_click(self.callback(lambda: self._take_row(random_row(self.session.samples))))
        self.use.on_click(self.callback(self._take_pasted))
        self.paste.observe(self.callback(self._show_fold), "value")
        self.answer.observe(self.callback(self._edit_answer), "value")
        self.score.on_click(self.callback(lambda: self._ask(free=False)))
        self.watch(self.refresh, self.session.graders, "chosen", "by_name")

    def refresh(self) -> None:
        """See `Panel`."""
        if self._sample is None and len(self.session.samples):
            self._take_row(0)
        else:
            self._ask(free=True)

    def _find(self) -> None:
        words = self.query.value.strip()
        self.next.disabled = not words
        self._matches = []
        self._show_place()
        if words:
            self._matches = find_rows(self.session.samples, words)
            self._take_row(next_row(self._matches, self._row))

    def _show_next(self) -> None:
        """Show the next match. Where there is no other the row stays, with the answer as edited."""
        if not self._matches:
            self._find()  # shows again that there is none
        elif (next_match := next_row(self._matches, self._row)) != self._row:
            self._take_row(next_match)

    def _take_pasted(self) -> None:
        messages = self.pasted.value
        sample = paste(messages)
        self._row = -1
        self._take(sample, f"wb.session.trial.paste({messages!r})")

    def _take_row(self, row: int) -> None:
        self._row = row
        self._take(sample_of(self.session.samples, row), f"app.samples[{row}]")

    def _show_place(self) -> None:
        if self._sample is not None:
            self.place.value = remark(place_of(self.session.samples, self._row, self._matches))

    def _take(self, sample: Sample, code: str) -> None:
        self._sample, self._code = sample, code
        self.thread.show(sample, last=False)
        self._show_place()
        with self.filling_controls():
            self.answer.value = sample.thread.completion() or ""
        self._ask(free=True)

    @property
    def sample(self) -> Sample | None:
        """What is graded: the row or the pasted messages, with the answer as edited."""
        sample = self._sample
        if sample is None or self.answer.value == (sample.thread.completion() or ""):
            return sample
        return with_completion(sample, self.answer.value)

    def _show_fold(self) -> None:
        self.fold.layout.display = "" if self.paste.value else "none"

    def _edit_answer(self) -> None:
        """The scores are of another answer from now on; ask again when the typing pauses."""
        self._forget_others()
        self._show()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(_PAUSE, self.callback(lambda: self._ask(free=True)))
        self._timer.daemon = True
        self._timer.start()

    def _forget_others(self) -> None:
        """Drop grades of another conversation, or of graders that have changed: what was paid for stays."""
        entries, conversation = self.session.graders.chosen_entries(), self._conversation
        valid = {
            name: answer for name, answer in self._answers.items() if _same(answer[0], entries.get(name))
        }
        self._answers = valid if conversation == self._graded else {}
        if conversation != self._graded:
            self._trial.stop()  # else who is at work on the other conversation would not be asked about this one
        self._graded = conversation

    @property
    def _conversation(self) -> Any:
        """What distinguishes one conversation from another: the row or the pasted messages, and the answer as edited."""
        return id(self._sample), self.answer.value

    @property
    def grades(self) -> dict[str, Grade]:
        """The grade of `sample` by each grader, by name; those still at work are missing."""
        return {name: grade for name, (_, grade) in self._answers.items()}

    def _ask(self, *, free: bool) -> None:
        sample = self.sample
        if sample is None:
            return
        same = self._graded == self._conversation
        self._forget_others()
        if not free:
            self._answers = {}
        entries = self.session.graders.chosen_entries()
        asked = {name: entry for name, entry in entries.items() if not (free and waits_for(entry.grader))}
        new = {name: entry for name, entry in asked.items() if name not in self._answers}
        self._show()
        same_question = same and free and not self._changed(entries)
        self._trial.ask(sample, new, self._judge_run(new), same_question=same_question)
        if asked and not self._is_filling:
            self.session.code.text = self._repeating_code(sample, asked)

    def _changed(self, entries: Mapping[str, Entry]) -> bool:
        """Whether a grader is another than when it was last asked: then what it is at work on does not count."""
        before, self._last_entries = self._last_entries, dict(entries)
        return any(name in before and not _same(before[name], entry) for name, entry in entries.items())

    def _judge_run(self, entries: Mapping[str, Entry]) -> JudgeRun | None:
        """How judges ask: an answer that the store has is not paid for again."""
        storage = self.session.storage
        if not storage.url or not any(asks_models(entry.grader) for entry in entries.values()):
            return None
        return JudgeRun(Spending(None), storage.store.replies)

    def _repeating_code(self, sample: Sample, asked: Mapping[str, Entry]) -> str:
        plain = {name: Entry(entry.grader, name) == entry for name, entry in asked.items()}
        lines = [
            f"{grader_code(name)}(sample)"
            if plain[name]
            else f"app.session.graders.entry({name!r}).outcome({grader_code(name)}(sample))"
            for name in asked
        ]
        changed = f"wb.session.trial.with_completion({self._code}, {self.answer.value!r})"
        return "\n".join([f"sample = {self._code if sample is self._sample else changed}", *lines])

    def _on_grade(self, name: str, grade: Grade) -> None:
        with self.session.guard.locked(self.title):
            if name in self.session.graders.chosen:
                self._answers[name] = (self.session.graders.entry(name), grade)
            self._show()

    def _show(self) -> None:
        lines = [self._result(name) for name in self.session.graders.chosen]
        head = "<tr><th>grader</th><th>score</th><th>passed</th><th>reasoning, or what went wrong</th><th>time</th></tr>"
        table = f"<table class='wb-plain'><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
        self.results.value = table if lines else remark("No grader is chosen: choose some in Run.")

    def _result(self, name: str) -> str:
        answer = self._answers.get(name)
        if answer is None:
            why = waits_for(self.session.graders.by_name[name])
            return f"<tr>{_name(name)}<td colspan='4'>{remark(f'{why}: press Score' if why else 'at work')}</td></tr>"
        cells = "".join(f"<td>{cell}</td>" for cell in _cells(answer[1]))
        printed = f"<tr><td></td><td colspan='4'>{_printed(answer[1])}</td></tr>" if answer[1].printed else ""
        return f"<tr>{_name(name)}{cells}</tr>{printed}"

    def dispose(self, *, end_session: bool) -> None:
        """See `Panel`."""
        self._trial.stop()
        if self._timer is not None:
            self._timer.cancel()
        super().dispose(end_session=end_session)


def _printed(grade: Grade) -> str:
    """What the grader printed, as it stands there."""
    return f"<pre class='wb-printed'>{text(grade.printed, 4000)}</pre>"


def _same(a: Entry, b: Entry | None) -> bool:
    """Whether these are the very same grader in the same part: an equal judge may ask another client."""
    return b is not None and a == b and a.grader is b.grader


def _name(name: str) -> str:
    """A grader's name, which keeps to one line while there is room: see the panels' style."""
    return f"<td><div class='wb-name'>{text(name)}</div></td>"


def _cells(grade: Grade) -> tuple[str, ...]:
    score = (
        f"<b>{grade.score:.4g}</b>"
        if grade.score is not None
        else f"<b class='wb-no'>{text(grade.status)}</b>"
    )
    marks = {True: "<span class='wb-ok'>✓ yes</span>", False: "<span class='wb-no'>✗ no</span>", None: ""}
    passed = marks[grade.passed]
    reason = (
        f"<pre class='wb-no'>{text(grade.error, 2_000)}</pre>"
        if grade.error
        else text(grade.reasoning, 2_000)
    )
    time = "" if grade.seconds is None else f"{1_000 * grade.seconds:,.1f} ms"
    cost = "" if grade.cost is None else f"<br>${grade.cost:.6f}"
    return score, passed, reason, f"{time}{cost}"
