"""The toolbar above everything: the dataset and the draw, what is running, what Run would do, and saved views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.app.session.grader_text import asks_models, waits_for
from workbench.app.session.runs import TimeLeft
from workbench.app.view import mode_titles
from workbench.core.display_text import counted, one_line, visible
from workbench.graders.repeats import is_deterministic

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
        "cost": _cost(session),
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
    dollars, unknown, n_read = _estimated(session)
    if unknown:
        sentences.append(f"Cost unknown: no price for {one_line(unknown, 60)} in wb.judges.PRICES")
    elif dollars:
        sentences.append(
            f"Up to {_dollars(dollars)} at list prices, estimated from the prompts of {counted(n_read, 'row')}"
        )
    others = [name for name, grader in chosen.items() if waits_for(grader) and name not in judges]
    return sentences + [f"{one_line(name, 60)} {waits_for(chosen[name])}, for every row" for name in others]


def _n_requests(session: Session) -> int:
    """How often each judge grades the drawn rows in the next run."""
    draw, chosen = session.rows.draw, session.graders.chosen
    repeated = any(not is_deterministic(session.graders.by_name[name]) for name in chosen)
    return len(session.rows.rows) * (draw.repeats if repeated else 1)


def _cost(session: Session) -> str:
    """The cost of the next run in short, "" for nothing to pay: "up to $1.20", within the budget if there is one."""
    dollars, unknown, _ = _estimated(session)
    if unknown:
        return "cost unknown"
    if not dollars:
        return ""
    budget = session.rows.draw.dollars
    return f"up to {_dollars(min(dollars, budget or dollars))}"


def _estimated(session: Session) -> tuple[float, str, int]:
    """The most that the next run costs, a model without a price, and how many rows' prompts were read."""
    asked, dollars, unknown, n_read = _n_requests(session), 0.0, "", 0
    for name in session.graders.chosen:
        estimate = session.costs.of(name, session.graders.by_name[name], session.rows.rows)
        if estimate is not None:
            dollars += asked * (estimate.dollars or 0.0)
            unknown, n_read = unknown or estimate.model, max(n_read, estimate.n)
    return dollars, unknown, n_read


def _dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def _n_asked(report: Report, name: str) -> int:
    """Rows that a grader graded, counting repeats."""
    return max(1, len(report) * max(1, len(report.grades[name].repeats)))


def _spending(session: Session, moment: Progress) -> list[str]:
    """What a run has spent and reserved, and what remains of its budget."""
    budget = session.runs.budget
    if not (moment.money or moment.reserved or budget):
        return []
    parts = [f"${moment.money:.4f} spent"]
    parts += [f"${moment.reserved:.4f} reserved"] if moment.reserved else []
    parts += [f"${max(0.0, budget - moment.money - moment.reserved):.4f} remaining"] if budget else []
    return parts


def progress_data(session: Session) -> dict[str, Any]:
    """The progress of a run, as `Progress`."""
    running = session.runs.running or session.live.progress is not None
    moment: Progress | None = session.runs.progress if session.runs.running else session.live.progress
    if moment is None:
        return {"running": running, "done": 0, "total": 0, "failed": 0, "text": "starting" if running else ""}
    return {
        "running": running, "done": moment.done, "total": moment.total, "failed": moment.failed,
        "text": _line(moment, session),
    }  # fmt: skip


def _line(moment: Progress, session: Session) -> str:
    """Counts, errors, cost and time left, in one line."""
    left = session.runs.time_left if session.runs.running else TimeLeft(None, 0)
    parts = [f"{moment.done:,} of {moment.total:,}"]
    parts += [f"{moment.failed:,} failed"] if moment.failed else []
    parts += _spending(session, moment) if session.runs.running else []
    parts += [f"{moment.kept:,} replies from the store"] if moment.kept else []
    parts += [f"{moment.waiting:,} waiting for the server"] if moment.waiting else []
    parts += [f"{moment.rate_limited:,} waiting for the rate limit"] if moment.rate_limited else []
    if left.seconds is not None and moment.done < moment.total:
        then = f", then {counted(left.unknown, 'grader')}" if left.unknown else ""
        parts.append(f"{_time(left.seconds)} left{then}")
    return " · ".join(parts)


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3_600 else f"{seconds / 3_600:.1f} h"


class Exchange(Protocol):
    """Shows another session instead of the current one."""

    def __call__(self, session: Session, *, suspend: bool = False) -> object:
        """Show a session; the other one is closed, or suspended if it may be continued later."""
        ...


class View(Protocol):
    """The state that actions change: see `app.AppView`."""

    session: Session
    chosen: str
    mode: str
    rows: ShownRows
    maps_columns: bool
    exchange: Exchange | None

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
