"""The Run panel: a draw, the graders, a bar, a way to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from workbench.widgets.panel import Panel, options, quiet, row, text
from workbench.widgets.shelf import asks_models

if TYPE_CHECKING:
    from workbench.progress import Progress

__all__ = ["RunPanel"]

_FIRST = 500
"""Rows drawn at first: enough for a verdict, and a matter of seconds for code."""
_MOST_STRATA = 50


class RunPanel(Panel):
    """Draw rows, run the chosen graders in the background, see how far they are, stop them.

    The kernel stays free: another cell runs meanwhile. What is graded when a run is stopped is in the report. See
    `Panel` for the arguments.
    """

    title = "Run"
    css = "run"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        total = len(self.state.samples)
        wide = widgets.Layout(width="100%", max_width="640px")
        self.graders = widgets.SelectMultiple(description="Graders", rows=4, layout=wide)
        self.rows = widgets.BoundedIntText(min(_FIRST, total), min=0, max=total, description="Rows")
        self.seed = widgets.IntText(0, description="Seed")
        self.by = widgets.Dropdown(description="Stratify by", options=options(self._strata()))
        self.budget = widgets.BoundedFloatText(0.0, min=0.0, max=1e6, step=0.1, description="Budget, $")
        self.start = widgets.Button(
            description="Run", button_style="primary", icon="play", tooltip="Grade the rows"
        )
        self.stop = widgets.Button(
            description="Stop", icon="stop", disabled=True, tooltip="What is graded is kept"
        )
        self.bar = widgets.IntProgress(0, 0, 1, layout=widgets.Layout(width="100%", max_width="640px"))
        self.plan, self.status = widgets.HTML(), widgets.HTML()
        for control, name in (
            (self.start, "start"),
            (self.stop, "stop"),
            (self.status, "status"),
            (self.bar, "bar"),
        ):
            control.add_class(f"wb-{name}")
        self.start.on_click(self.acts(self._start))
        self.stop.on_click(self.acts(self.state.cancel))
        self.graders.observe(self.acts(self._chosen), "value")
        self.rows.observe(self.acts(self._plan), "value")
        self.watch(self._graders, "graders", "chosen", "unrun", "proofs")
        self.watch(self._news, "progress", "running")
        self.watch(self._news, "report")
        settings = row(self.rows, self.seed, self.by, self.budget)
        return [self.graders, settings, self.plan, row(self.start, self.stop), self.bar, self.status]

    def refresh(self) -> None:
        """See `Panel`."""
        self._graders()
        self._news()

    def _strata(self) -> list[tuple[str, str]]:
        """Columns with few values: what one would stratify by."""
        frame = self.state.samples.frame
        few = [str(name) for name in frame.columns if 1 < _distinct(frame[name]) <= _MOST_STRATA]
        return [("nothing", ""), *((name, name) for name in few)]

    def _graders(self) -> None:
        state = self.state
        named = [(self._named(name), name) for name in state.graders]
        made = options(named)
        if self.graders.options != made:
            self.graders.options = made
        self.graders.value = tuple(name for name in state.chosen if name in state.graders)
        self.graders.rows = min(max(len(named), 2), 8)
        self.budget.layout.display = "" if self._judges() else "none"
        self._plan()

    def _named(self, name: str) -> str:
        state = self.state
        proof = state.proofs.get(name)
        marks = ["not run yet" if state.report is None or name not in state.report.graders else "changed"] * (
            name in state.unrun
        )
        marks += ["not validated"] * (proof is None and hasattr(state.graders[name], "validate"))
        marks += ["checks failed"] * (proof is not None and not proof.ok)
        return " · ".join([name, *marks])

    def _judges(self) -> int:
        return sum(asks_models(self.state.graders[name]) for name in self.state.chosen)

    def _chosen(self) -> None:
        if set(self.graders.value) != set(self.state.chosen):
            self.state.choose(self.graders.value)

    def _plan(self) -> None:
        rows, graders = self.rows.value or len(self.state.samples), len(self.state.chosen)
        said = (
            f"{rows:,} of {len(self.state.samples):,} rows x {graders:,} graders = {rows * graders:,} grades"
        )
        judges = self._judges()
        asks = (
            f"; at least {rows * judges:,} questions to a model, fewer where answers are in the store"
            if judges
            else ""
        )
        self.plan.value = quiet(said + asks)

    def _start(self) -> None:
        self.state.start(
            self.rows.value, seed=self.seed.value, by=self.by.value or None, budget=self.budget.value or None
        )

    def _news(self) -> None:
        state, moment = self.state, self.state.progress
        self.start.disabled, self.stop.disabled = state.running, not state.running
        self.graders.disabled = state.running
        if moment is not None:
            self.bar.max, self.bar.value = max(moment.total, 1), moment.done
        elif state.running:
            self.bar.value = 0
        self.status.value = self._status(moment)

    def _status(self, moment: Progress | None) -> str:
        state = self.state
        if state.running:
            return text(news(moment), 400) if moment else "starting"
        if state.report is None:
            return quiet("Nothing has run yet.")
        spent = f", {state.report.spending}" if state.report.spending else ""
        said = f"done: {len(state.report):,} rows, {len(state.report.graders):,} graders{spent}; {state.report.isolation}"
        return "<br>".join([text(said, 600), *(f"<b>{text(note, 600)}</b>" for note in state.report.notes)])


def news(moment: Progress) -> str:
    """How far a run is, in one line: counts, rate, errors, cost, time left."""
    left = moment.seconds_left
    parts = [f"{moment.done:,} of {moment.total:,}", f"{moment.rate:,.0f} rows/s"]
    parts += [f"{moment.failed:,} errors"] if moment.failed else ["no errors"]
    parts += [f"${moment.money:.4f}"] if moment.money else []
    parts += [f"{moment.kept:,} answers from the store"] if moment.kept else []
    parts += [f"{moment.waiting:,} waiting for the server"] if moment.waiting else []
    parts += [f"{_time(left)} left"] if left is not None and moment.done < moment.total else []
    return " · ".join([*parts, moment.grader])


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3_600 else f"{seconds / 3_600:.1f} h"


def _distinct(column: Any) -> int:
    """Distinct values of a column; 0 for one of lists and dicts."""
    try:
        return int(column.nunique())
    except TypeError:
        return 0
