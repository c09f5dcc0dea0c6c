"""The toolbar above everything: the dataset and the draw, what is running, what Run would do, and saved views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.app.session.grader_text import asks_models, waits_for
from workbench.app.session.runs import TimeLeft
from workbench.app.view import GRADE, mode_titles
from workbench.core.display_text import counted, one_line, visible
from workbench.core.errors import WorkbenchError
from workbench.graders.repeats import is_deterministic
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.view.compare import CompareMode
    from workbench.app.view.rail import GradedRows
    from workbench.app.view.table import ShownRows
    from workbench.app.view.try_out import TryMode
    from workbench.core.progress import Progress
    from workbench.report import Report


def head_data(session: Session) -> dict[str, Any]:
    """The toolbar as `Head`."""
    graders, problem = session.graders, session.guard.problem
    report: Report | None = session.runs.last_report
    trace = "" if problem is None else visible(problem.trace[-8_000:])
    return {
        "dataset": _dataset(session),
        "total": len(session.samples),
        "drawn": len(session.rows.rows),
        "draw": session.rows.as_dict() | {"by": shown_column(session.rows.draw.by)},
        "strata": list(map(shown_column, session.rows.strata)),
        "modes": [list(mode) for mode in mode_titles().items()],
        "state": _state(session),
        "can_run": not session.unmapped and bool(graders.chosen) and not session.runs.running,
        "judges": sum(asks_models(graders.by_name[name]) for name in graders.chosen),
        "plan": _plan(session),
        "problem": problem and {"what": visible(problem.what[:4_000]), "where": problem.where, "trace": trace},
        "warning": visible(session.storage.warning),
        "notes": [one_line(note, 600) for note in (() if report is None else (*report.samples.notes, *report.notes))],
    }  # fmt: skip


def shown_column(name: str) -> str:
    """The name of a column on a page, and in its messages."""
    return one_line(name, 120)


def _dataset(session: Session) -> str:
    return one_line(Path(session.samples.source).stem or "samples", 60)


def _state(session: Session) -> dict[str, str]:
    shape, text = _activity(session) or _standing(session)
    return {"shape": shape, "text": text}


def _activity(session: Session) -> tuple[str, str] | None:
    """What is running; None for nothing."""
    if session.runs.running:
        return "busy", "grading"
    if session.live.working:
        return "busy", "grading as you type" if session.live.edits else "grading"
    return None


def _standing(session: Session) -> tuple[str, str]:
    """Whether the shown grades belong to the current graders."""
    graders = session.graders
    unrun = [name for name in graders.chosen if name in graders.unrun]
    if session.unmapped or not graders.by_name:
        return ("old", "columns to choose") if session.unmapped else ("none", "no grader yet")
    if session.runs.failed:
        return "failed", "the last run failed"
    if session.results.report is None:
        return "none", "not run yet"
    if unrun:
        return "old", f"{counted(len(unrun), 'grader')} to run"
    if session.live.edits:
        stopped = any(edit.is_open for edit in session.live.edits.values())
        return ("old", "stopped: this text is not graded") if stopped else ("failed", _refused(session))
    return "ok", "graded as you type" if session.edited_names else "up to date"


def _refused(session: Session) -> str:
    names = list(session.live.edits)
    return (
        f"{one_line(names[0], 40)} fails its checks"
        if len(names) == 1
        else f"{len(names)} graders fail their checks"
    )


def _plan(session: Session) -> str:
    """What Run would do, in sentences: rows, graders, requests to models and their estimated cost."""
    graders, draw = session.graders, session.rows.draw
    n_rows, total, n_graders = len(session.rows.rows), len(session.samples), len(graders.chosen)
    n_repeated = sum(not is_deterministic(graders.by_name[name]) for name in graders.chosen)
    n_again = (draw.repeats - 1) * n_repeated
    drawn = "All" if n_rows == total else f"{n_rows:,} of"
    again = f" and {n_again:,} repeats" if n_again else ""
    grades = n_rows * (n_graders + n_again)
    sentences = [
        f"{drawn} {total:,} rows by {counted(n_graders, 'grader')}{again}: {grades:,} grades",
        *_questions(session, n_rows * (draw.repeats if n_repeated else 1)),
    ]
    if graders.left_out:
        sentences.append(graders.left_out.rstrip("."))
    return ". ".join(sentences) + "."


def _questions(session: Session, asked: int) -> list[str]:
    """A run's requests to models and services, and their estimated cost from the last run."""
    chosen = {name: session.graders.by_name[name] for name in session.graders.chosen}
    judges = [name for name, grader in chosen.items() if asks_models(grader)]
    sentences = []
    if judges:
        sentences.append(
            f"At least {asked * len(judges):,} requests to a model, fewer if the store has the replies"
        )
    report: Report | None = session.results.report
    spent = {} if report is None else report.summary["cost"].to_dict()
    costs = [
        spent[name] / _n_asked(report, name) * asked
        for name in judges
        if report is not None and spent.get(name, 0) > 0
    ]
    if costs and len(costs) == len(judges):
        sentences.append(f"About ${sum(costs):.4f}, estimated from the last run")
    others = [name for name, grader in chosen.items() if waits_for(grader) and name not in judges]
    return sentences + [f"{one_line(name, 60)} {waits_for(chosen[name])}, for every row" for name in others]


def _n_asked(report: Report, name: str) -> int:
    """Rows that a grader graded, counting repeats."""
    return max(1, len(report) * max(1, len(report.grades[name].repeats)))


def progress_data(session: Session) -> dict[str, Any]:
    """The progress of a run, as `Progress`."""
    running = session.runs.running or session.live.progress is not None
    moment: Progress | None = session.runs.progress if session.runs.running else session.live.progress
    if moment is None:
        return {"running": running, "done": 0, "total": 0, "failed": 0, "text": "starting" if running else ""}
    return {
        "running": running, "done": moment.done, "total": moment.total, "failed": moment.failed,
        "text": _line(moment, session.runs.time_left if session.runs.running else TimeLeft(None, 0)),
    }  # fmt: skip


def _line(moment: Progress, left: TimeLeft) -> str:
    """Counts, errors, cost and time left, in one line."""
    parts = [f"{moment.done:,} of {moment.total:,}"]
    parts += [f"{moment.failed:,} failed"] if moment.failed else []
    parts += [f"${moment.money:.4f}"] if moment.money else []
    parts += [f"{moment.kept:,} replies from the store"] if moment.kept else []
    parts += [f"{moment.waiting:,} waiting for the server"] if moment.waiting else []
    if left.seconds is not None and moment.done < moment.total:
        then = f", then {counted(left.unknown, 'grader')}" if left.unknown else ""
        parts.append(f"{_time(left.seconds)} left{then}")
    return " · ".join(parts)


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3_600 else f"{seconds / 3_600:.1f} h"


class View(Protocol):
    """The state that actions change: see `app.AppView`."""

    session: Session
    chosen: str
    mode: str
    rows: ShownRows
    maps_columns: bool
    exchange: Callable[[Session], object] | None

    @property
    def try_out(self) -> TryMode:
        """The Try mode."""
        ...

    @property
    def compare(self) -> CompareMode:
        """The Compare mode."""
        ...

    @property
    def graded(self) -> GradedRows:
        """The report that is shown."""
        ...

    def mark(self, *parts: str) -> None:
        """Mark parts of the state as out of date."""
        ...

    def mark_mode(self) -> None:
        """Mark the content of the open mode as changed."""
        ...

    def open(self) -> None:
        """A page shows the view."""
        ...

    def set_mode(self, mode: str) -> None:
        """Open a mode."""
        ...

    def show_code(self) -> None:
        """Set the line for the content of the open mode."""
        ...

    def choose(self, name: str) -> None:
        """Select a grader."""
        ...

    def typed(self, name: str, text: str) -> None:
        """Record that a page already has this text of a grader."""
        ...

    def labels_changed(self) -> None:
        """Mark the labels of the rows as changed."""
        ...


_STATE_KEYS = frozenset({"mode", "grader", "where", "search", "sort", "columns", "row", "compare"})
_MAX_LISTED = 200
_STATE_SOURCE = "app.view_state, or the name of a saved view"


_COMPARISON_KEYS = frozenset({"a", "b", "key", "only", "search"})


def _are_columns(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(each, Sequence) and len(each) == 2 and isinstance(each[1], int | float)
        for each in value.values()
    )


_STATE_SHAPES: dict[str, Callable[[Any], bool]] = {
    "where": lambda value: isinstance(value, Sequence) and all(isinstance(each, Mapping) for each in value),
    "search": lambda value: isinstance(value, str),
    "row": lambda value: isinstance(value, str),
    "sort": lambda value: isinstance(value, Sequence) and len(value) in {0, 2},
    "columns": _are_columns,
    "compare": lambda value: (
        isinstance(value, Mapping)
        and (not value or set(value) == _COMPARISON_KEYS)
        and all(isinstance(each, str) for each in value.values())
    ),
}
"""Whether a part of a state is valid: the state may be handwritten."""


class SavedViews:
    """The state of a view, saved in the session's store by dataset and name.

    A state names graders by name, rows by id and other rows by their conditions, so that it can be opened over
    another run: it then shows the rows that meet the same conditions there.

    Args:
        view: Whose state is saved and opened.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    def state(self) -> dict[str, Any]:
        """The state: mode, grader, conditions, search, order, columns, row, comparison; default values are omitted."""
        view, table = self._view, self._view.rows.table
        key, descending = table.sort
        state = {
            "mode": view.mode,
            "grader": view.chosen,
            "where": [self._lasting(condition) for condition in table.where],
            "search": table.search,
            "sort": [key, descending] if key else [],
            "columns": table.chosen_columns(),
            "row": self._id_of_open_row(),
            "compare": view.compare.choice() if view.mode == "compare" else {},
        }
        return {name: value for name, value in state.items() if value}

    def _lasting(self, condition: Condition) -> dict[str, Any]:
        """A condition for the same rows in another run: rows are named by their ids."""
        rows = self._view.rows.resolved(condition).get("rows")
        if rows is None or "tag" in condition:
            return dict(condition)
        ids = self._view.graded.report.samples.ids
        return {"ids": [str(ids[row]) for row in rows]}

    def _id_of_open_row(self) -> str:
        row, samples = self._view.session.results.row, self._view.graded.report.samples
        return "" if row is None or row >= len(samples) else str(samples.ids[row])

    def open(self, state: Mapping[str, Any]) -> None:
        """Show a state, and nothing of what was open before. Called with the session's lock.

        Raises:
            WorkbenchError: It is not a state, or its grader is not in the session.
            ReportError: A condition that these rows do not support. Nothing is changed then.
        """
        view, graders = self._view, self._view.session.graders.by_name
        grader = _checked(state, graders)
        rows = {str(name): row for row, name in enumerate(view.graded.report.samples.ids)}
        where = tuple(_among(condition, rows) for condition in state.get("where", ()))
        view.graded.report.row_numbers(*map(view.rows.resolved, where))  # raises before anything changes
        if compare := state.get("compare"):
            view.compare.select(compare)
        view.rows.table.search = str(state.get("search", ""))
        view.rows.look(view.graded, where)
        if grader and grader != view.chosen:
            view.choose(grader)
        view.set_mode(str(state.get("mode", "grade")))
        table = view.rows.table
        table.sort = _sort(state.get("sort"))
        table.choose_columns(state.get("columns", {}))
        view.session.results.row = rows.get(str(state.get("row", "")))
        view.show_code()
        view.mark("chosen", "table", "reader", "compare")

    def do_save_view(self, name: str) -> None:
        """Save the state under a name; a view of the same name is replaced.

        Raises:
            StoreError: It cannot be saved under this name.
        """
        self._views.save(name, self.state(), dataset=self._dataset)
        self._view.session.code.text = f"app.open_view({name!r})"

    def do_open_view(self, name: str) -> None:
        """Open a saved view.

        Raises:
            StoreError: There is none of this name.
        """
        self.open_saved(name)
        self._view.session.code.text = f"app.open_view({name!r})"

    def open_saved(self, name: str) -> None:
        """Open a saved view by its name.

        Raises:
            StoreError: There is none.
        """
        self.open(self._views.get(name, dataset=self._dataset).state)

    def do_delete_view(self, name: str) -> None:
        """Remove a saved view.

        Raises:
            StoreError: There is none of this name.
        """
        self._views.delete(name, dataset=self._dataset)

    def ask_views(self) -> list[str]:
        """Names of the saved views of this dataset."""
        return [saved.name for saved in self._views.list(dataset=self._dataset)[:_MAX_LISTED]]

    def ask_view_code(self) -> str:
        """Set the line that opens the current state, in this notebook or another over the same rows; the page shows it at the bottom."""
        self._view.session.code.text = f"app.open_view({self.state()!r})"
        return str(self._view.session.code.text)

    @property
    def _views(self) -> Any:
        return self._view.session.storage.store.views

    @property
    def _dataset(self) -> str:
        return self._view.session.labels.dataset


def _checked(state: Any, graders: Iterable[str]) -> str:
    """The grader of a state; "" for any.

    Raises:
        WorkbenchError: It is not a state, or its grader is not in the session.
    """
    if not isinstance(state, Mapping) or not set(state) <= _STATE_KEYS:
        found = sorted(map(str, set(state) - _STATE_KEYS)) if isinstance(state, Mapping) else state
        raise WorkbenchError("not a view state", found=one_line(repr(found), 120), expected=_STATE_SOURCE)
    if state.get("mode", GRADE) not in (titles := mode_titles()):
        raise WorkbenchError(
            "unknown mode", found=one_line(repr(state["mode"]), 60), expected=", ".join(titles)
        )
    for name, has_shape in _STATE_SHAPES.items():
        if name in state and not has_shape(state[name]):
            raise WorkbenchError(
                f"cannot read {name} of this view",
                found=one_line(repr(state[name]), 120),
                expected=_STATE_SOURCE,
            )
    grader = str(state.get("grader", ""))
    if grader and grader not in graders:
        raise WorkbenchError(
            "the view shows a grader that is not in the session",
            found=one_line(grader, 120),
            hint="add the grader under this name, then open the view again",
        )
    return grader


def _among(condition: Mapping[str, Any], rows: Mapping[str, int]) -> dict[str, Any]:
    """A condition over these rows: those that a state names by id, if they are among them."""
    if "ids" not in condition:
        return dict(condition)
    return {"rows": [rows[name] for name in map(str, condition["ids"]) if name in rows]}


def _sort(value: Any) -> tuple[str, bool]:
    key, descending = value or ("", False)
    return str(key), bool(descending)
