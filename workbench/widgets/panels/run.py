"""The Run panel: a draw, the graders, a bar, a way to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from workbench.display_text import counted
from workbench.errors import WorkbenchError
from workbench.session.proofs import asks_models, waits_for
from workbench.widgets.panels.panel import Panel, classed, options, quiet, row, text

if TYPE_CHECKING:
    from workbench.progress import Progress
    from workbench.report import Report

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
        self.graders = widgets.SelectMultiple(
            description="Graders", rows=4, layout=wide, tooltip="Ctrl-click or Shift-arrow for several"
        )
        self.rows = widgets.BoundedIntText(min(_FIRST, total), min=0, max=total, description="Rows")
        self.seed = widgets.BoundedIntText(0, min=0, max=2**31 - 1, description="Seed")
        self.by = widgets.Dropdown(description="Stratify by", options=options(self._strata()))
        self.budget = widgets.Text(description="Budget, $", placeholder="no limit", continuous_update=False)
        self.start = widgets.Button(
            description="Run", button_style="primary", icon="play", tooltip="Grade the rows"
        )
        self.stop = widgets.Button(
            description="Stop", icon="stop", disabled=True, tooltip="What is graded is kept"
        )
        self.bar = widgets.IntProgress(0, 0, 1, layout=widgets.Layout(width="100%", max_width="640px"))
        self.plan, self.status = widgets.HTML(), widgets.HTML()
        classed(start=self.start, stop=self.stop, status=self.status, bar=self.bar)
        self.start.on_click(self.acts(self._start))
        self.stop.on_click(self.acts(self.state.cancel))
        self.graders.observe(self.acts(self._chosen), "value")
        self.rows.observe(self.acts(self._plan), "value")
        self.watch(self._graders, "graders", "chosen", "unrun", "proofs")
        self.watch(self._news, "progress", "running", "report")
        settings = row(self.rows, self.seed, self.by, self.budget)
        return [self.graders, settings, self.plan, row(self.start, self.stop), self.bar, self.status]

    def refresh(self) -> None:
        """See `Panel`."""
        self._graders()
        self._news()

    def _strata(self) -> list[tuple[str, str]]:
        """Columns with few values: what one would stratify by."""
        frame = self.state.samples.frame
        texts = {name for role, name in self.state.samples.columns.items() if role != "group"}
        few = [str(name) for name in frame.columns if 1 < _distinct(frame[name]) <= _MOST_STRATA]
        few = [name for name in few if name not in texts]
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
        every = "all" if not self.rows.value else f"{rows:,}"
        said = [
            f"{every} of {len(self.state.samples):,} rows x {graders:,} graders = {rows * graders:,} grades"
        ]
        said += self._asked(rows)
        said += [self.state.left_out] if self.state.left_out else []
        said += (
            ["Rows 0 means all; Ctrl-click chooses several graders"] if len(self.state.graders) > 1 else []
        )
        self.plan.value = quiet(". ".join(said))

    def _asked(self, rows: int) -> list[str]:
        """What the run asks of others, and about what that costs by the last run."""
        chosen = {name: self.state.graders[name] for name in self.state.chosen}
        judges = [name for name, one in chosen.items() if asks_models(one)]
        said = (
            [f"At least {rows * len(judges):,} questions to a model, fewer where the store has answers"]
            if judges
            else []
        )
        report = self.state.report
        spent = {} if report is None else report.summary["cost"].to_dict()
        known = [spent[name] / len(report) * rows for name in judges if spent.get(name, 0) > 0]
        said += [f"about ${sum(known):.4f} by the last run"] if known and len(known) == len(judges) else []
        others = [name for name, one in chosen.items() if waits_for(one) and name not in judges]
        return said + [f"{name}: {waits_for(chosen[name])}, for every row" for name in others]

    def _start(self) -> None:
        self.state.start(
            self.rows.value, seed=self.seed.value, by=self.by.value or None, budget=self._budget()
        )

    def _budget(self) -> float | None:
        """US dollars; None for no limit.

        Raises:
            WorkbenchError: No number.
        """
        said = self.budget.value.strip().removeprefix("$")
        try:
            return float(said) if said and self._judges() else None
        except ValueError:
            raise WorkbenchError(
                "the budget is no number",
                found=said[:60],
                expected="US dollars such as 0.50, or nothing for no limit",
            ) from None

    def _news(self) -> None:
        state, moment = self.state, self.state.progress
        self.start.disabled, self.stop.disabled = state.running, not state.running
        self.graders.disabled = state.running
        cut = 0 if state.running or state.ran is None else _cut_off(state.ran)
        self.bar.bar_style = "warning" if cut else ""
        if moment is not None:
            self.bar.max, self.bar.value = max(moment.total, 1), max(moment.done - cut, 0)
        elif state.running:
            self.bar.value = 0
        self.status.value = self._status(moment)

    def _status(self, moment: Progress | None) -> str:
        state = self.state
        if state.running:
            return text(news(moment), 400) if moment else "starting"
        failed = "<b>The last run failed; see above.</b>" if state.failed else ""
        if state.ran is None:
            return failed or quiet("Nothing has run yet.")
        return f"{failed} {quiet('What follows is of the run before.') if failed else ''}{_done(state.ran)}"


def _done(report: Report) -> str:
    """A run that is over, in words: what it graded, what it cost, and why it ended early."""
    stopped = any(note.startswith("Interrupted") for note in report.notes)
    spent = f", {report.spending}" if report.spending else ""
    word = "stopped" if stopped else "done"
    what = f"{counted(len(report), 'row')}, {counted(len(report.graders), 'grader')}"
    said = f"{word}: {what}{spent}; {report.isolation}"
    notes = (*report.samples.notes, *report.notes)
    lines = [text(said, 600), *(f"<b>{text(note, 600)}</b>" for note in notes)]
    return "<br>".join([*lines, quiet("Results says what that means.")])


def _cut_off(report: Report) -> int:
    """Rows, over all graders, that a run never came to: they count as done, and as failed."""
    return sum(len(grades.cut_off) for grades in report.grades.values())


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
