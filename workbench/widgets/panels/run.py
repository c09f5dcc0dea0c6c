"""The Run panel: a draw, the graders, a bar, a way to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from workbench.display_text import counted
from workbench.errors import WorkbenchError
from workbench.graders.repeats import is_deterministic
from workbench.session.proofs import asks_models, waits_for
from workbench.widgets.panels.panel import Panel, add_classes, options, remark, row, text

if TYPE_CHECKING:
    from workbench.progress import Progress
    from workbench.report import Report

__all__ = ["RunPanel"]

_FIRST = 500
"""Rows drawn at first: enough for a verdict, and a matter of seconds for code."""
_MOST_STRATA = 50
_MOST_REPEATS = 20


class RunPanel(Panel):
    """Draw rows, run the chosen graders in the background, see how far they are, stop them.

    The kernel stays free: another cell runs meanwhile. What is graded when a run is stopped is in the report. See
    `Panel` for the arguments.
    """

    title = "Run"
    css = "run"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        total = len(self.session.samples)
        wide = widgets.Layout(width="100%", max_width="640px")
        self.graders = widgets.SelectMultiple(
            description="Graders", rows=4, layout=wide, tooltip="Ctrl-click or Shift-arrow for several"
        )
        self.rows = widgets.BoundedIntText(min(_FIRST, total), min=0, max=total, description="Rows")
        self.seed = widgets.BoundedIntText(0, min=0, max=2**31 - 1, description="Seed")
        self.by = widgets.Dropdown(description="Stratify by", options=options(self._strata()))
        self.budget = widgets.Text(description="Budget, $", placeholder="no limit", continuous_update=False)
        self.repeats = widgets.BoundedIntText(
            1, min=1, max=_MOST_REPEATS, description="Repeats", tooltip="How often each row is graded"
        )
        self.start = widgets.Button(
            description="Run", button_style="primary", icon="play", tooltip="Grade the rows"
        )
        self.stop = widgets.Button(
            description="Stop", icon="stop", disabled=True, tooltip="What is graded is kept"
        )
        self.bar = widgets.IntProgress(0, 0, 1, layout=widgets.Layout(width="100%", max_width="640px"))
        self.plan, self.status = widgets.HTML(), widgets.HTML()
        add_classes(start=self.start, stop=self.stop, status=self.status, bar=self.bar)
        self.start.on_click(self.callback(self._start))
        self.stop.on_click(self.callback(self.session.runs.cancel))
        self.graders.observe(self.callback(self._choose), "value")
        for setting in (self.rows, self.repeats):
            setting.observe(self.callback(self._show_plan), "value")
        self.watch(self._show_graders, self.session.graders, "by_name", "chosen", "unrun", "proofs")
        self.watch(self._show_progress, self.session.runs, "progress", "running")
        self.watch(self._show_progress, self.session.results, "report")
        settings = row(self.rows, self.seed, self.by, self.repeats, self.budget)
        return [self.graders, settings, self.plan, row(self.start, self.stop), self.bar, self.status]

    def refresh(self) -> None:
        """See `Panel`."""
        self._show_graders()
        self._show_progress()

    def _strata(self) -> list[tuple[str, str]]:
        """Columns with few values: what one would stratify by."""
        frame = self.session.samples.frame
        texts = {name for role, name in self.session.samples.columns.items() if role != "group"}
        strata = [str(name) for name in frame.columns if 1 < _distinct(frame[name]) <= _MOST_STRATA]
        return [("nothing", ""), *((name, name) for name in strata if name not in texts)]

    def _show_graders(self) -> None:
        graders = self.session.graders
        new = options((self._title_of(name), name) for name in graders.by_name)
        if self.graders.options != new:
            self.graders.options = new
        self.graders.value = tuple(name for name in graders.chosen if name in graders.by_name)
        self.graders.rows = min(max(len(new), 2), 8)
        self.budget.layout.display = "" if self._n_judges() else "none"
        # The workbench's own rules give the same grade always.
        self.repeats.layout.display = "" if self._n_repeated() else "none"
        self._show_plan()

    def _title_of(self, name: str) -> str:
        """A grader's name, and what is still to be done with it."""
        graders, report = self.session.graders, self.session.results.report
        proof, marks = graders.proofs.get(name), []
        if name in graders.unrun:
            marks.append("not run yet" if report is None or name not in report.graders else "changed")
        if proof is None and hasattr(graders.by_name[name], "validate"):
            marks.append("not validated")
        if proof is not None and not proof.ok:
            marks.append("checks failed")
        return " · ".join([name, *marks])

    def _n_judges(self) -> int:
        return sum(asks_models(self.session.graders.by_name[name]) for name in self.session.graders.chosen)

    def _n_repeated(self) -> int:
        graders = self.session.graders
        return sum(not is_deterministic(graders.by_name[name]) for name in graders.chosen)

    @property
    def _repeats(self) -> int:
        return self.repeats.value if self._n_repeated() else 1

    def _choose(self) -> None:
        if set(self.graders.value) != set(self.session.graders.chosen):
            self.session.graders.choose(self.graders.value)

    def _show_plan(self) -> None:
        graders, total = self.session.graders, len(self.session.samples)
        n_rows, n_graders = self.rows.value or total, len(graders.chosen)
        drawn = "all" if not self.rows.value else f"{n_rows:,}"
        n_again = (self._repeats - 1) * self._n_repeated()
        again = f" + {n_again:,} repeats" if n_again else ""
        sentences = [
            f"{drawn} of {total:,} rows x {n_graders:,} graders{again} = {n_rows * (n_graders + n_again):,} grades",
            *self._questions(n_rows),
        ]
        if graders.left_out:
            sentences.append(graders.left_out)
        if len(graders.by_name) > 1:
            sentences.append("Rows 0 means all; Ctrl-click chooses several graders")
        self.plan.value = remark(". ".join(sentences))

    def _questions(self, rows: int) -> list[str]:
        """What the run asks of models and services, and about what that costs by the last run."""
        chosen = {name: self.session.graders.by_name[name] for name in self.session.graders.chosen}
        judges = [name for name, grader in chosen.items() if asks_models(grader)]
        asked = rows * self._repeats
        sentences = (
            [f"At least {asked * len(judges):,} questions to a model, fewer where the store has answers"]
            if judges
            else []
        )
        report = self.session.results.report
        spent = {} if report is None else report.summary["cost"].to_dict()
        costs = [spent[name] / _n_asked(report, name) * asked for name in judges if spent.get(name, 0) > 0]
        if costs and len(costs) == len(judges):
            sentences.append(f"about ${sum(costs):.4f} by the last run")
        others = [name for name, grader in chosen.items() if waits_for(grader) and name not in judges]
        return sentences + [f"{name}: {waits_for(chosen[name])}, for every row" for name in others]

    def _start(self) -> None:
        self.session.runs.start(
            self.rows.value, seed=self.seed.value, by=self.by.value or None, budget=self._budget(),
            repeats=self._repeats,
        )  # fmt: skip

    def _budget(self) -> float | None:
        """US dollars; None for no limit.

        Raises:
            WorkbenchError: No number.
        """
        typed = self.budget.value.strip().removeprefix("$")
        try:
            return float(typed) if typed and self._n_judges() else None
        except ValueError:
            raise WorkbenchError(
                "the budget is no number",
                found=typed[:60],
                expected="US dollars such as 0.50, or nothing for no limit",
            ) from None

    def _show_progress(self) -> None:
        runs = self.session.runs
        running, progress = runs.running, runs.progress
        self.start.disabled, self.stop.disabled = running, not running
        self.graders.disabled = running
        cut_off = 0 if running or runs.last_report is None else _cut_off(runs.last_report)
        self.bar.bar_style = "warning" if cut_off else ""
        if progress is not None:
            self.bar.max, self.bar.value = max(progress.total, 1), max(progress.done - cut_off, 0)
        elif running:
            self.bar.value = 0
        self.status.value = self._status(progress)

    def _status(self, progress: Progress | None) -> str:
        runs = self.session.runs
        if runs.running:
            return text(progress_line(progress), 400) if progress else "starting"
        failed = "<b>The last run failed; see above.</b>" if runs.failed else ""
        if runs.last_report is None:
            return failed or remark("Nothing has run yet.")
        older = remark("What follows is of the run before.") if failed else ""
        return f"{failed} {older}{_ended(runs.last_report)}"


def _ended(report: Report) -> str:
    """A run that is over, in words: what it graded, what it cost, and why it ended early."""
    stopped = any(note.startswith("Interrupted") for note in report.notes)
    spent = f", {report.spending}" if report.spending else ""
    word = "stopped" if stopped else "done"
    what = f"{counted(len(report), 'row')}, {counted(len(report.graders), 'grader')}"
    summary = f"{word}: {what}{spent}; {report.isolation}"
    notes = (*report.samples.notes, *report.notes)
    lines = [text(summary, 600), *(f"<b>{text(note, 600)}</b>" for note in notes)]
    return "<br>".join([*lines, remark("Results says what that means.")])


def _n_asked(report: Report, name: str) -> int:
    """Rows that a grader graded, each as often as it did."""
    return len(report) * max(1, len(report.grades[name].repeats))


def _cut_off(report: Report) -> int:
    """Rows, over all graders, that a run never came to: they count as done, and as failed."""
    passes = (grades.repeats or (grades,) for grades in report.grades.values())
    return sum(len(grades.cut_off) for repeats in passes for grades in repeats)


def progress_line(progress: Progress) -> str:
    """How far a run is, in one line: counts, rate, errors, cost, time left."""
    seconds_left = progress.seconds_left
    parts = [f"{progress.done:,} of {progress.total:,}", f"{progress.rate:,.0f} rows/s"]
    parts += [f"{progress.failed:,} errors"] if progress.failed else ["no errors"]
    parts += [f"${progress.money:.4f}"] if progress.money else []
    parts += [f"{progress.kept:,} answers from the store"] if progress.kept else []
    parts += [f"{progress.waiting:,} waiting for the server"] if progress.waiting else []
    parts += (
        [f"{_time(seconds_left)} left"] if seconds_left is not None and progress.done < progress.total else []
    )
    return " · ".join([*parts, progress.grader])


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
