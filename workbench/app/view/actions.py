"""A page's actions and requests by name: `do_choose` handles `{"do": "choose", ...}`, `ask_rows` returns a result."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench.app.view.head import shown_column
from workbench.app.view.reader import find_in_text, piece_of_text, sample_of
from workbench.app.view.texts import chip_id, field_values
from workbench.core import background
from workbench.core.display_text import one_line
from workbench.core.system_limits import undo_on_error
from workbench.graders import SandboxedGrader
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.view.head import View
    from workbench.report import Report


Handler = Callable[..., Any]

_SLOW = frozenset(
    {
        "open_files",
        "use_rows",
        "undo_opening",
        "bring_stored",
        "validate",
        "keep",
        "use_labels",
        "map_columns",
        "try_probe",
        "pass_threshold",
        "limit",
        "write",
        "validate_all",
    }
)
"""Actions that take long, and acquire the lock themselves."""

_FOLLOWED = 20_000
"""Maximum rows for which the findings follow every label: they take up to half a second."""

_FOLLOWS = 3  # times in a row, at most


def free_name(session: Session, name: str) -> str:
    """A grader's name that replaces nothing; "" remains, for the name in the text."""
    taken = session.graders.by_name
    numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def handlers_of(part: object, prefix: str) -> dict[str, Handler]:
    """The methods of a part of the view that handle messages, by the name in the message."""
    names = [name for name in dir(type(part)) if name.startswith(prefix)]
    return {name.removeprefix(prefix): getattr(part, name) for name in names}


class Actions:
    """Handlers of a page's messages for the graders, the rows and the view as a whole; modes add their own."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._under_way = 0  # long actions that are running
        self._follows = False  # whether the findings are being computed for changed labels
        self._do = handlers_of(self, "do_")
        self._ask = handlers_of(self, "ask_")

    def add(self, part: object) -> None:
        """Add the handlers of another part of the view."""
        self._do |= handlers_of(part, "do_")
        self._ask |= handlers_of(part, "ask_")

    def act(self, message: Mapping[str, Any]) -> None:
        """Handle an action; an error becomes the session's problem, and an invalid message is ignored."""
        name = str(message.get("do"))
        handler, guard = self._do.get(name), self._session.guard
        arguments = None if handler is None else _arguments(handler, message)
        if handler is None or arguments is None:
            return
        title = name.replace("_", " ").capitalize()
        if name in _SLOW:
            self._start_slowly(title, handler, arguments)
            return
        with guard.lock:  # locked once, so that the whole change is shown in one step
            with guard.locked(title, by_person=True):
                handler(**arguments)
            self._view.mark_mode()

    def _start_slowly(
        self, title: str, handler: Handler, arguments: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        self._under_way += 1
        background.submit(asyncio.to_thread(self._act_slowly, title, handler, arguments))

    def _act_slowly(self, title: str, handler: Handler, arguments: Mapping[str, Any]) -> None:
        """Run a long action on a background thread, so that the kernel is not blocked."""
        try:
            with self._session.guard.unlocked(title):
                handler(**arguments)
        finally:
            with self._session.guard.lock:
                self._under_way -= 1
                self._view.mark_mode()

    @property
    def idle(self) -> bool:
        """Whether no long action is running."""
        return not self._under_way

    def answer(self, message: Mapping[str, Any]) -> Any:
        """The result of a request.

        Raises:
            KeyError: The request is unknown, or lacks an argument.
        """
        handler = self._ask[str(message["ask"])]
        arguments = _arguments(handler, message)
        if arguments is None:
            raise KeyError(str(message["ask"]))
        return handler(**arguments)

    @property
    def _session(self) -> Session:
        return self._view.session

    def do_open(self) -> None:
        """A page shows the view."""
        self._view.open()

    def do_mode(self, mode: str) -> None:
        """Open a mode."""
        self._view.set_mode(mode)
        if mode == "grade":
            self.follow_labels()

    def do_show_columns(self, on: bool) -> None:
        """Show the columns and their roles, or keep them."""
        session = self._session
        self._view.maps_columns = on and self._view.exchange is not None
        if not on and session.unmapped:
            session.unmapped = ""
            self._view.open()
        self._view.mark("columns", "head")

    def do_map_columns(self, roles: Mapping[str, Any]) -> None:
        """Continue with other columns for the roles of the samples."""
        names = {one_line(name, 120): str(name) for name in self._session.samples.frame.columns}
        chosen = {str(role): names[name] for role, name in roles.items() if name in names}
        if self._view.exchange is not None:
            self._view.exchange(self._session.with_columns(chosen))

    def do_forget(self) -> None:
        """Dismiss the last problem."""
        self._session.guard.problem = None

    def do_choose(self, name: str) -> None:
        """Select a grader."""
        if name in self._session.graders.by_name and name != self._view.chosen:
            self._view.choose(name)

    def do_tick(self, name: str, on: bool) -> None:
        """Add a grader to the run, or remove it."""
        graders = self._session.graders
        names = {*graders.chosen, name} if on else {*graders.chosen} - {name}
        graders.choose(names - set(graders.drafts))

    def do_edit(self, name: str, text: str, seq: int) -> None:
        """Accept what a user typed."""
        self._view.typed(name, text)
        self._session.live.edit(name, text, seq)

    def do_keep(self, name: str) -> None:
        """Save a grader's current definition as a version, also in the store if there is one."""
        session = self._session
        with session.guard.lock:
            session.kept.note(name, session.graders.by_name[name], report=session.report_of(name))
        if not session.storage.in_memory:
            session.stored.keep(name)
        with session.guard.lock:
            self._view.mark("head", "rail", "chosen", "table")

    def do_back(self, name: str) -> None:
        """Restore the version that was saved last."""
        last = self._session.kept.last(name)
        if last is not None:
            self._session.live.forget(name)
            self._session.graders.add(last.grader, name=name)

    def do_bring_stored(self, name: str, version: int) -> None:
        """Replace a grader with a version from the store.

        Raises:
            StoreError: There is no such version.
            FormatError: Of a kind that is not registered here.
        """
        session = self._session
        with session.guard.lock:  # one step: typed text remains if loading fails
            if name in session.graders.by_name:
                session.stored.take(name, version)
                session.live.forget(name)

    def do_validate(self, name: str) -> None:
        """Validate a grader again."""
        if isinstance(self._session.graders.by_name[name], SandboxedGrader):
            self._session.graders.validate(name)

    def do_add(self, text: str, name: str) -> None:
        """Add a new grader, and select it."""
        self._view.choose(self._session.graders.add_text(text, name=free_name(self._session, name.strip())))

    def do_remove(self, name: str) -> None:
        """Remove a grader; it can be restored."""
        if name in self._session.graders.by_name:
            self._session.live.forget(name)
            self._session.graders.remove(name)

    def do_restore(self) -> None:
        """Restore what was removed last."""
        self._view.choose(self._session.graders.restore())

    def do_run(self) -> None:
        """Run the selected graders over the drawn rows, with the texts shown on the page."""
        session, draw = self._session, self._session.rows.draw
        if session.graders.written_here:
            self._start_slowly("Save", session.store_written)
        edited = session.live.resume() if not session.graders.judges_together else frozenset()
        if edited and not set(session.graders.chosen) - edited:
            return
        session.runs.start(
            draw.n,
            seed=draw.seed,
            by=draw.by or None,
            budget=draw.dollars,
            repeats=draw.repeats,
            rows=session.rows.rows,
            without=edited,
        )

    def do_stop(self) -> None:
        """Stop the run, whose grades so far are shown, and grading while the user types."""
        self._session.runs.cancel()
        self._session.live.stop()

    def do_draw(self, draw: Mapping[str, Any]) -> None:
        """Change which rows are graded."""
        names = ("n", "seed", "by", "repeats", "budget")
        settings = {name: draw[name] for name in names if name in draw}
        if "by" in settings:
            columns = {shown_column(column): column for column in self._session.rows.strata}
            settings["by"] = columns.get(str(settings["by"]), settings["by"])
        self._session.rows.change(**settings)

    def do_pass_threshold(self, value: float) -> None:
        """Apply another pass threshold."""
        self._session.results.set_pass_threshold(float(value))

    def do_limit(self, kind: str, value: float) -> None:
        """Compare findings with another limit."""
        self._session.results.set_limit(
            {"lenient": "too-lenient", "strict": "too-strict"}[kind], float(value)
        )

    def do_use_labels(self) -> None:
        """Diagnose the report again with the current labels."""
        self._session.use_labels()

    def follow_labels(self) -> None:
        """Diagnose again after labels changed, in the background; of many rows only on request."""
        report, labels = self._session.results.report, self._session.labels
        if report is None or len(report) > _FOLLOWED or self._follows or not labels.differ_from(report):
            return
        self._follows = True
        self._start_slowly("Labels", self._follow_labels)

    def _follow_labels(self) -> None:
        session = self._session

        def follow_no_more() -> None:
            self._follows = False

        with undo_on_error(follow_no_more):
            for _ in range(_FOLLOWS):  # labels that come meanwhile are used as well
                report: Report | None = session.results.report
                if report is None or not session.labels.differ_from(report):
                    break
                # The shown line is still the label's, or that of a click meanwhile.
                session.use_labels(shows_code=False)
        with session.guard.lock:
            self._follows = False
            self.follow_labels()  # a label that came after the last look

    def do_look(self, where: list[Condition]) -> None:
        """Show the rows that meet these conditions."""
        self._look(where)

    def do_filter(self, where: list[Condition]) -> None:
        """Narrow the rows to those that meet these conditions too."""
        self._look([*self._view.rows.table.where, *where])

    def do_unfilter(self, chip: str) -> None:
        """Remove a condition."""
        self._look([each for each in self._view.rows.table.where if chip_id(each) != chip])

    def _look(self, where: list[Condition]) -> None:
        conditions = tuple({repr(dict(each)): dict(each) for each in where}.values())
        self._view.rows.look(self._view.graded, conditions)

    def do_search(self, text: str) -> None:
        """Narrow the rows to those that contain these words."""
        self._view.rows.find(text[:1_000])

    def do_sort(self, key: str, descending: bool) -> None:
        """Sort the rows by a column; "" for the original order."""
        self._view.rows.table.sort = (key, descending)
        self._view.mark("table", "reader")

    def do_columns(self, columns: list[Mapping[str, Any]]) -> None:
        """Show and size columns."""
        self._view.rows.table.layout(columns)
        self._view.mark("table")

    def do_select(self, row: int | None) -> None:
        """Open a row in the reader."""
        if row is None or 0 <= row < len(self._view.graded.report):
            self._session.results.row = row

    def do_label_row(self, row: int, value: bool | None) -> None:
        """Label a row that is being read."""
        ids = self._view.graded.report.samples.ids
        if not 0 <= row < len(ids):
            return
        name, labels = str(ids[row]), self._session.labels
        labels.note_drawn(name, "as shown")
        own = labels.own_labels.get(name)
        self._session.label(name, value, *(() if own is None else (own.note, own.tags)))
        self._view.labels_changed()
        self.follow_labels()

    def do_tag_row(self, row: int, tags: list[str]) -> None:
        """Change the tags of a row that is being read; its label and note remain.

        Raises:
            StoreError: A tag that is not a short text, or too many.
        """
        ids = self._view.graded.report.samples.ids
        if not 0 <= row < len(ids):
            return
        name, labels = str(ids[row]), self._session.labels
        labels.note_drawn(name, "as shown")
        own = labels.own_labels.get(name)
        value, note = (None, "") if own is None else (own.value, own.note)
        self._session.label(name, value, note, labels.tags_as_known(tags))
        self._view.labels_changed()

    def ask_rows(self, start: int, stop: int, revision: int) -> list[dict[str, Any]]:
        """A window of the table; nothing for an outdated one."""
        return self._view.rows.table.window(start, stop) if revision == self._view.rows.table.revision else []

    def ask_place(self, row: int) -> int:
        """The position of a row in the table."""
        return self._view.rows.table.place_of(row)

    def ask_values(self, field: str) -> dict[str, Any]:
        """The values of a column of the data, to filter by."""
        return field_values(self._view.graded.report.samples, field)

    def ask_tags(self) -> list[dict[str, Any]]:
        """The tags of the shown rows' labels, to filter by."""
        samples, labels = self._view.graded.report.samples, self._session.labels
        counts = {tag: len(labels.rows_with_tag(samples, tag)) for tag in labels.tags}
        return [
            {"text": tag, "count": count, "where": [{"tag": tag}]} for tag, count in counts.items() if count
        ]

    def ask_csv(self) -> str:
        """The rows that are shown, as CSV."""
        return self._view.rows.as_csv(self._view.graded)

    def ask_piece(self, row: int, part: str, start: int) -> dict[str, Any]:
        """A piece of a long text; of the tried conversation if the row is -1."""
        if row < 0 or self._view.mode == "try":
            return self._view.try_out.piece(part, start)
        report = self._view.graded.report
        grades = {name: each[row] for name, each in report.grades.items()}
        return piece_of_text(sample_of(report.samples, row), grades, part, start)

    def ask_find(self, row: int, part: str, text: str, nth: int) -> dict[str, Any]:
        """The position of words in a long text."""
        report = self._view.graded.report
        grades = {name: each[row] for name, each in report.grades.items()}
        return find_in_text(sample_of(report.samples, row), grades, part, text, nth)


def _arguments(handler: Handler, message: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message's arguments for a handler; None if something is missing or has another type."""
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(handler, eval_str=False).parameters.items():
        key = name.rstrip("_")  # a Python keyword, as in `from_`
        if key not in message:
            if parameter.default is inspect.Parameter.empty:
                return None
            continue
        if not _fits(message[key], str(parameter.annotation)):
            return None
        arguments[name] = message[key]
    return arguments


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "Mapping": (Mapping,),
}


def _fits(value: Any, annotation: str) -> bool:
    """Whether a value has a handler's type: messages come from an untrusted program."""
    options = [option.strip().partition("[")[0] for option in annotation.split("|")]
    if value is None:
        return "None" in options or "Any" in options
    if isinstance(value, bool):
        return "bool" in options or "Any" in options
    return any(option == "Any" or isinstance(value, _TYPES.get(option, ())) for option in options)
