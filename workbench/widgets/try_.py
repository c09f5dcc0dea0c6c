"""The Try panel: one conversation, all chosen graders side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ipywidgets as widgets

from workbench.grade import Grade
from workbench.samples import Sample
from workbench.widgets.panel import Panel, quiet, row, text
from workbench.widgets.rows import sample_of
from workbench.widgets.shelf import asks_models
from workbench.widgets.snippets import grader_code
from workbench.widgets.thread_view import ThreadView
from workbench.widgets.trying import Trial, find_row, paste, random_row, with_completion

__all__ = ["TryPanel"]


class TryPanel(Panel):
    """Choose a row, by its id, by words or at random, or paste a conversation; edit the answer and see the scores.

    Graders that cost nothing answer at every change; those that ask a model wait for the button. See `Panel` for the
    arguments.
    """

    title = "Try"
    css = "try"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        wide = widgets.Layout(width="calc(100% - 6px)")
        self.wanted = widgets.Text(description="Row", placeholder="id or words", continuous_update=False)
        self.random = widgets.Button(description="Random row", icon="random")
        self.pasted = widgets.Textarea(
            placeholder='[{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]',
            rows=3,
            layout=wide,
        )
        self.use = widgets.Button(description="Use pasted messages")
        self.thread = ThreadView()
        self.answer = widgets.Textarea(
            description="Answer",
            rows=6,
            layout=wide,
            continuous_update=False,
            placeholder="what the model wrote",
        )
        self.score = widgets.Button(
            description="Score", button_style="primary", tooltip="Ask all chosen graders"
        )
        self.results = widgets.HTML()
        for control, name in (
            (self.thread, "thread"),
            (self.answer, "answer"),
            (self.results, "tried"),
            (self.score, "score"),
        ):
            control.add_class(f"wb-{name}")
        fold = widgets.Accordion(children=[widgets.VBox([self.pasted, self.use])], titles=["Paste messages"])
        self._sample: Sample | None = None
        self._found: dict[str, Grade] = {}
        self._row = -1
        self._trial = Trial(self._told, self.state.lock)
        self._listen()
        return [row(self.wanted, self.random), fold, self.thread, self.answer, row(self.score), self.results]

    def _listen(self) -> None:
        self.wanted.observe(self.acts(self._find), "value")
        self.random.on_click(self.acts(lambda: self._take_row(random_row(self.state.samples))))
        self.use.on_click(self.acts(self._take_pasted))
        self.answer.observe(self.acts(lambda: self._ask(free=True)), "value")
        self.score.on_click(self.acts(lambda: self._ask(free=False)))
        self.watch(self.refresh, "chosen", "graders")

    def refresh(self) -> None:
        """See `Panel`."""
        if self._sample is None and len(self.state.samples):
            self._take_row(0)
        else:
            self._ask(free=True)

    def _find(self) -> None:
        if self.wanted.value.strip():
            self._take_row(find_row(self.state.samples, self.wanted.value.strip(), after=self._row))

    def _take_pasted(self) -> None:
        said = self.pasted.value
        self._take(paste(said), f"wb.widgets.trying.paste({said!r})")

    def _take_row(self, at: int) -> None:
        self._row = at
        self._take(sample_of(self.state.samples, at), f"app.samples[{at}]")

    def _take(self, sample: Sample, code: str) -> None:
        self._sample, self._code = sample, code
        self.thread.show(sample, last=False)
        with self.filling():
            self.answer.value = sample.thread.completion() or ""
        self._ask(free=True)

    @property
    def sample(self) -> Sample | None:
        """What is graded: the row or the pasted messages, with the answer as edited."""
        sample = self._sample
        if sample is None or self.answer.value == (sample.thread.completion() or ""):
            return sample
        return with_completion(sample, self.answer.value)

    def _ask(self, *, free: bool) -> None:
        sample = self.sample
        if sample is None:
            return
        chosen = {name: self.state.graders[name] for name in self.state.chosen}
        asked = {name: one for name, one in chosen.items() if not (free and asks_models(one))}
        self._found = {}
        self._show()
        self._trial.ask(sample, asked)
        if asked and not self._filled:
            self.state.code = self._repeat(sample, asked)

    def _repeat(self, sample: Sample, asked: Iterable[str]) -> str:
        names = "\n".join(f"{grader_code(name)}(sample)" for name in asked)
        changed = f"wb.widgets.trying.with_completion({self._code}, {self.answer.value!r})"
        return f"sample = {self._code if sample is self._sample else changed}\n{names}"

    def _told(self, name: str, grade: Grade) -> None:
        with self.state.guard(self.title):
            self._found[name] = grade
            self._show()

    def _show(self) -> None:
        lines = [self._line(name) for name in self.state.chosen]
        head = "<tr><th>grader</th><th>score</th><th>passed</th><th>reasoning, or what went wrong</th><th>time</th></tr>"
        table = f"<table class='wb-plain'><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
        self.results.value = table if lines else quiet("No grader is chosen: choose some in Run.")

    def _line(self, name: str) -> str:
        grade = self._found.get(name)
        if grade is None:
            waits = asks_models(self.state.graders[name])
            said = "asks a model, which costs: press Score" if waits else "at work"
            return f"<tr><td>{text(name)}</td><td colspan='4'>{quiet(said)}</td></tr>"
        cells = "".join(f"<td>{cell}</td>" for cell in _cells(grade))
        return f"<tr><td>{text(name)}</td>{cells}</tr>"

    def let_go(self, *, end: bool) -> None:
        """See `Panel`."""
        self._trial.stop()
        super().let_go(end=end)


def _cells(grade: Grade) -> tuple[str, ...]:
    score = (
        f"<b>{grade.score:.4g}</b>"
        if grade.score is not None
        else f"<b class='wb-no'>{text(grade.status)}</b>"
    )
    marks = {True: "<span class='wb-ok'>✓ yes</span>", False: "<span class='wb-no'>✗ no</span>", None: ""}
    passed = marks[grade.passed]
    said = (
        f"<pre class='wb-no'>{text(grade.error, 2_000)}</pre>"
        if grade.error
        else text(grade.reasoning, 2_000)
    )
    time = "" if grade.seconds is None else f"{1_000 * grade.seconds:,.1f} ms"
    cost = "" if grade.cost is None else f"<br>${grade.cost:.6f}"
    return score, passed, said, f"{time}{cost}"
