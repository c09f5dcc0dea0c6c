"""The view of a session: its state as plain JSON, and a page's actions and requests. Without widgets, so that tests can act as the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from workbench.app.session.action import Problem
from workbench.app.session.columns import columns_data
from workbench.app.session.grader_text import TEMPLATES
from workbench.app.view import GRADE, mode_kinds, mode_titles
from workbench.app.view.actions import Actions
from workbench.app.view.chosen import chosen_data, nothing_chosen, shown_text
from workbench.app.view.head import Exchange, head_data, progress_data
from workbench.app.view.opening import FileOpening
from workbench.app.view.rail import Change, GradedRows, find_change, rail_data
from workbench.app.view.row_places import RowPlaces
from workbench.app.view.saved_views import SavedViews
from workbench.app.view.selection import picked_data
from workbench.app.view.table import ShownRows
from workbench.app.view.texts import with_real_names
from workbench.core import background
from workbench.core.display_text import one_line
from workbench.core.user_functions import attempt
from workbench.report import Report
from workbench.sandbox.host import SandboxInfo, sandbox_info
from workbench.store import StoreError

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.view.compare import CompareMode
    from workbench.app.view.try_out import TryMode


Publish = Callable[[dict[str, Any]], object]

_HIDDEN = frozenset({"chosen", "table", "reader"})
"""Parts that only one mode shows: they are computed again when the mode is opened again."""

_PARTS = (
    "head", "progress", "rail", "chosen", "table", "reader", "mode", "columns", "files", "code", "starters",
)  # fmt: skip
"""Parts of the state; each mode has another one."""


class AppView:
    """The state that the page shows of a session, and its actions.

    Every change marks the parts of the state that are out of date; when the session's lock is released, they are
    computed again and published together, so that a page never sees one part of a change without the others.

    Args:
        session: The session.
        publish: Called with the parts of the state that changed, by name, with the session's lock held.
        mode: The initial mode; "grade" by default.
        exchange: Called with the session that continues this one with other columns or rows, and whether this one
            may be continued later; None if they cannot be exchanged.

    Attributes:
        maps_columns: Whether the user opened the columns to map them.
        state: The last published state.
        chosen: The selected grader; "" for none.
        mode: The open mode.
        table: The rows.
    """

    def __init__(
        self,
        session: Session,
        publish: Publish,
        *,
        mode: str = "",
        exchange: Exchange | None = None,
    ) -> None:
        self.session, self._publish, self.exchange = session, publish, exchange
        self.maps_columns = False
        self.state: dict[str, Any] = {}
        self.chosen, self.mode = "", mode if mode in mode_titles() else GRADE
        self.rows = ShownRows(session, self.mark)
        kinds = mode_kinds()
        self._states = {name: kind.state for name, kind in kinds.items()}
        self.modes = {
            name: kind.make(session, partial(self.mark, kind.state)) for name, kind in kinds.items()
        }
        self._graded: GradedRows | None = None
        self._changes: dict[str, Change | None] = {}
        self._revision = 0
        self._page_text: dict[str, str] = {}
        self._isolation: dict[str, str] = {}
        self._turn = 0
        self._stale: set[str] = {*_PARTS, *self._states.values()}
        self._is_flushing = False
        self.actions = Actions(self)
        self.saved = SavedViews(self)
        self.opening = FileOpening(self)
        for part in (*self.modes.values(), self.saved, RowPlaces(self), self.opening):
            self.actions.add(part)
        self._observed: list[tuple[Any, Callable[[Any], None], list[str]]] = []
        self._observe()
        with session.guard.lock:
            session.guard.lock.on_release.append(self.flush)
            self._open_mode()
            if self.mode != GRADE:
                self.show_code()

    @property
    def try_out(self) -> TryMode:
        """The Try mode."""
        return cast("TryMode", self.modes["try"])

    @property
    def compare(self) -> CompareMode:
        """The Compare mode."""
        return cast("CompareMode", self.modes["compare"])

    def _observe(self) -> None:
        session, modes = self.session, tuple(self._states.values())
        everything = (*_PARTS, *modes)
        for part, names, parts in (
            (
                session.graders,
                ["by_name", "chosen", "validations", "unrun", "removed"],
                ("head", "rail", "chosen", "table", "reader", *modes),
            ),
            (session.results, ["report"], everything),
            (session.results, ["undiagnosed"], ("rail", "chosen")),
            (session.results, ["where"], ("chosen", "table", "reader", "label")),
            (session.results, ["row"], ("reader",)),
            (session.runs, ["running"], ("head", "progress", "rail", "chosen")),
            (session.runs, ["progress"], ("progress",)),
            (session.live, ["edits", "working"], ("head", "rail", "chosen", "progress")),
            (session.live, ["progress"], ("progress",)),
            (session.rows, ["draw"], everything),
            (session.labels, ["changes"], ("head", "labels", "table", "reader", "label")),
            (session.stored, ["versions"], ("chosen", "starters")),
            (session.guard, ["problem"], ("head",)),
            (session.code, ["text"], ("code",)),
            (session.files, ["opening", "reading", "changes"], ("files",)),
        ):
            marker = self._marker(parts)
            part.observe(marker, names)
            self._observed.append((part, marker, names))

        for part, names, follow in (
            (session.results, ["report"], self._report_came),
            (session.graders, ["chosen"], self._follow_in_try),
        ):
            part.observe(follow, names)
            self._observed.append((part, follow, names))

    def _report_came(self, change: Any) -> None:
        """With the first report the code line includes the rows that the user searched for before."""
        if change["old"] is None and self.mode == GRADE and (self.rows.table.search or self.rows.table.where):
            self.rows.show_code()

    def _follow_in_try(self, _: Any) -> None:
        if self.mode == "try":
            self.try_out.show_code()  # the results follow when the state is computed

    def _marker(self, parts: tuple[str, ...]) -> Callable[[Any], None]:
        return lambda _: self.mark(*parts)

    def mark(self, *parts: str) -> None:
        """Mark parts of the state as out of date."""
        if not self._is_flushing:
            self._stale.update(parts)

    def flush(self) -> None:
        """Compute the parts that are out of date, and publish them. Called with the session's lock, when it is released."""
        stale = self._stale if self.mode == GRADE else self._stale - _HIDDEN
        if stale:
            self._stale, self._is_flushing = self._stale - stale, True
            try:
                self._make(stale)
            finally:
                self._is_flushing = False
        if self._graded is not None:
            self.rows.read_words(self._graded)

    def _make(self, stale: set[str]) -> None:
        makers: dict[str, Callable[[], Any]] = {
            "progress": lambda: progress_data(self.session),
            "rail": self._rail,
            "chosen": self._chosen,
            "table": self._table,
            "reader": lambda: self.rows.reader_data(self.graded, self.chosen),
            "mode": lambda: self.mode,
            "columns": self._columns,
            "files": self.opening.data,
            **self._mode_makers(),
            "code": lambda: self.session.code.text,
            "starters": self._starters,
        }
        parts = {name: make for name, make in makers.items() if name in stale}
        done = self._done({"session": lambda: self._read_session(stale), **parts})
        made = {name: done[name] for name in parts if name in done}
        if "head" in stale or len(done) <= len(parts):  # the toolbar shows which part failed
            made["head"] = {**head_data(self.session), "can_map": self.exchange is not None}
        changed = {
            name: value for name, value in made.items() if name not in self.state or self.state[name] != value
        }
        if changed:
            self._turn += 1
            self.state |= {**changed, "turn": self._turn}
            self._publish({**changed, "turn": self._turn})

    def _done(self, steps: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """The result of each step; if one fails, the error is the session's problem and its part remains unchanged."""
        done: dict[str, Any] = {}
        failures: list[Exception] = []
        for name, step in steps.items():
            result = attempt(step)  # an error is not one of the action that released the lock: it is shown
            if isinstance(result, Exception):
                failures.append(result)
            else:
                done[name] = result
        if failures:  # the others may follow from the first
            self.session.guard.problem = Problem.of(failures[0], "View")
        return done

    def _mode_makers(self) -> dict[str, Callable[[], Any]]:
        """How the parts of the modes are computed: only the open mode's are."""
        return {
            self._states[name]: part.data if name == self.mode else (lambda: None)
            for name, part in self.modes.items()
        }

    def _read_session(self, stale: set[str]) -> None:
        """Take the current report, the selected grader and the edits."""
        session = self.session
        if "labels" in stale:
            self._graded = None
        if self.chosen not in session.graders.by_name:
            self.chosen = self._first_grader()
        report = session.results.report or self._without_grades
        if self._graded is None or self._graded.report is not report:
            earlier = self._graded.shown_findings if self._graded and session.results.undiagnosed else None
            labels = self._labels(session.labels.for_display, report.samples)
            self._graded, self._changes = GradedRows(report, labels, earlier), {}
        elif not session.results.undiagnosed:
            self._graded.diagnosed()
        self._changes = {name: find_change(session, self._graded, name) for name in session.edited_names}
        if self.mode == "try" and "rail" in stale:
            self.try_out.refresh()
        self._follow_choice()

    def _follow_choice(self) -> None:
        for part in self.modes.values():
            part.choose(self.chosen)

    def _first_grader(self) -> str:
        names = list(self.session.graders.by_name)
        ticked = [name for name in names if name in self.session.graders.chosen]
        return next(iter([*ticked, *names]), "")

    @property
    def _without_grades(self) -> Report:
        """The drawn rows as a report without graders, shown before the first run."""
        rows = self.session.rows.rows
        if (
            self._graded is not None
            and not self._graded.report.grades
            and self._graded.report.samples is rows
        ):
            return self._graded.report
        return Report(rows, {}, labels=self._labels(self.session.labels.for_rates, rows))

    def _labels(self, read: Callable[[Any], list[bool | None] | None], rows: Any) -> list[bool | None] | None:
        """The labels of rows; if the store cannot be read, which is reported, the given column's."""
        try:
            return read(rows)
        except StoreError as error:
            self.session.guard.problem = Problem.of(error, "Labels")
            return self.session.labels.given_to(rows)

    @property
    def graded(self) -> GradedRows:
        """The report that is shown."""
        assert self._graded is not None
        return self._graded

    def _rail(self) -> dict[str, Any]:
        changes = {name: change for name, change in self._changes.items() if change}
        return rail_data(self.session, self.graded, self.chosen, changes)

    def _chosen(self) -> dict[str, Any]:
        if not self.chosen:
            return nothing_chosen()
        text = shown_text(self.session, self.chosen)
        if text != self._page_text.get(self.chosen):
            self._revision += 1  # a cell, an undo or a restart changed it, and the page has to update
            self._page_text[self.chosen] = text
        return chosen_data(
            self.session, self.graded, self.chosen,
            change=self._changes.get(self.chosen), where=self.rows.table.where, revision=self._revision, isolation=self._isolation,
        )  # fmt: skip

    def _table(self) -> dict[str, Any]:
        table = self.rows.table_data(self.graded, self.chosen, self._changes.get(self.chosen))
        origin = self.state.get("chosen", {}).get("from")
        return {**table, "picked": picked_data(self.graded, self.chosen, self.rows.table, origin)}

    def _starters(self) -> list[dict[str, str]]:
        templates = [
            {"id": f"template {at}", "title": each.title, "text": each.text, "name": each.name, "note": each.note}
            for at, each in enumerate(TEMPLATES)
        ]  # fmt: skip
        stored = [
            {"id": f"stored {name}", "title": one_line(name, 80), "text": "", "name": name, "note": "saved in the store"}
            for name in self._stored_names()
        ]  # fmt: skip
        return templates + stored

    def _stored_names(self) -> list[str]:
        try:
            return self.session.stored.names()
        except StoreError:  # reported when the labels are read
            return []

    def _columns(self) -> dict[str, Any] | None:
        """The columns to map, as `Columns`; None unless they must be mapped or the user opened them."""
        session = self.session
        if not session.unmapped and not self.maps_columns:
            return None
        return columns_data(session.samples, session.settings["labels"], session.unmapped)

    def open(self) -> None:
        """A page shows the view: start grading what can be graded without Run."""
        if not self.session.unmapped:
            self.session.live.begin()
        if not self._isolation:
            background.then(background.submit(asyncio.to_thread(sandbox_info)), self._isolation_found)

    def _isolation_found(self, future: Future[SandboxInfo]) -> None:
        with self.session.guard.locked("Sandbox"):
            info = future.result()
            leaks = f" Probes that got through: {', '.join(info.leaks)}." if info.leaks else ""
            self._isolation = {"level": info.level, "label": f"{info.label}.{leaks}"}
            self.mark("chosen")

    def labels_changed(self) -> None:
        """Mark the labels of the rows as changed."""
        self.mark("labels", "head", "rail", "table", "reader", "label")

    def typed(self, name: str, text: str) -> None:
        """Record that a page already has this text of a grader, as typed there."""
        self._page_text[name] = text

    def choose(self, name: str) -> None:
        """Select a grader."""
        self.chosen = name
        self.session.stored.reload()
        self.mark("rail", "chosen", "table", "reader", *self._states.values())

    def on_message(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Handle a message of a page; the reply to send, None for an invalid message.

        Args:
            message: An `Action` or a `Question`, with its number and the page it comes from.
        """
        number, page = message.get("id"), message.get("page")
        if not isinstance(number, int) or not isinstance(page, str):
            return None
        if "ask" in message:
            return {"page": page, **self._answer(number, message)}
        self.actions.act(with_real_names(message, self.session.graders.by_name))
        return {"page": page, "heard": number}

    def _answer(self, number: int, message: Mapping[str, Any]) -> dict[str, Any]:
        with self.session.guard.lock:
            value = attempt(lambda: self.actions.answer(message))
        if isinstance(value, Exception):  # a request always gets a reply
            return {"reply": number, "problem": one_line(f"{type(value).__name__}: {value}", 400)}
        return {"reply": number, "value": value}

    def mark_mode(self) -> None:
        """Mark the content of the open mode as changed."""
        self.mark(*(state for mode, state in self._states.items() if mode == self.mode))

    def set_mode(self, mode: str) -> None:
        """Open a mode."""
        if mode in mode_titles() and mode != self.mode:
            self.mode = mode
            self.session.stored.reload()
            self._open_mode()
            self.show_code()
            self.mark("mode", *self._states.values())

    def show_code(self) -> None:
        """Set the line for the content of the open mode, if it has one."""
        if self.mode == GRADE:
            self.rows.show_code()
        else:
            self.modes[self.mode].show_code()

    def _open_mode(self) -> None:
        self._follow_choice()
        if self.mode != GRADE:
            self.modes[self.mode].opened()

    def close(self) -> None:
        """Stop publishing."""
        self._publish = lambda _: None
        for part in self.modes.values():
            part.close()
        with self.session.guard.lock:
            if self.flush in self.session.guard.lock.on_release:
                self.session.guard.lock.on_release.remove(self.flush)
        for observed, marker, names in self._observed:
            observed.unobserve(marker, names)
        self._observed = []
