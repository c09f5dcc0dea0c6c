"""Saved views of the app, and saved selections of its rows, by dataset and name in the session's store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.app.view import GRADE, mode_titles
from workbench.core.display_text import one_line
from workbench.core.errors import WorkbenchError
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.view.head import View


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
    """The state of a view, or only its rows (a selection), saved in the session's store by dataset and name.

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
            **self.selection(),
            "sort": [key, descending] if key else [],
            "columns": table.chosen_columns(),
            "row": self._id_of_open_row(),
            "compare": view.compare.choice() if view.mode == "compare" else {},
        }
        return {name: value for name, value in state.items() if value}

    def selection(self) -> dict[str, Any]:
        """The conditions and the search of the shown rows, as in a state."""
        table = self._view.rows.table
        return {"where": [self._lasting(condition) for condition in table.where], "search": table.search}

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
        where = self._where(state, rows)
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

    def _where(self, state: Mapping[str, Any], rows: Mapping[str, int]) -> tuple[Condition, ...]:
        """The conditions of a state over the shown rows.

        Raises:
            ReportError: A condition that these rows do not support.
        """
        view = self._view
        where = tuple(_among(condition, rows) for condition in state.get("where", ()))
        view.graded.report.row_numbers(*map(view.rows.resolved, where))  # raises before anything changes
        return where

    def select(self, *which: str | Mapping[str, Any]) -> None:
        """Show the rows of a saved selection, or those that meet all of these conditions; all rows without any.

        Raises:
            StoreError: No selection of this name is saved.
            WorkbenchError: Neither a name nor conditions.
            ReportError: A condition that these rows do not support. Nothing is changed then.
        """
        state: Mapping[str, Any] = {"where": list(which)}
        if len(which) == 1 and isinstance(which[0], str):
            state = self._views.get(which[0], dataset=self._dataset).state
        _check_shapes(state)
        rows = {str(name): row for row, name in enumerate(self._view.graded.report.samples.ids)}
        where = self._where(state, rows)
        self._view.rows.table.search = str(state.get("search", ""))
        self._view.rows.look(self._view.graded, where)

    def do_save_selection(self, name: str) -> None:
        """Save which rows are shown, by their conditions and search; a selection of the same name is replaced.

        Raises:
            StoreError: It cannot be saved under this name.
            WorkbenchError: All rows are shown, or a saved view has this name.
        """
        state = {key: value for key, value in self.selection().items() if value}
        if not state:
            raise WorkbenchError(
                "all rows are shown", hint="click a bar, or add a filter, then save the rows"
            )
        self._save(name, state)
        self._view.session.code.text = f"app.select({name!r})"

    def do_open_selection(self, name: str) -> None:
        """Show the rows of a saved selection.

        Raises:
            StoreError: There is none of this name.
        """
        self.select(name)
        self._view.set_mode(GRADE)
        self._view.session.code.text = f"app.select({name!r})"

    def do_delete_selection(self, name: str) -> None:
        """Remove a saved selection.

        Raises:
            StoreError: There is none of this name.
        """
        self.do_delete_view(name)

    def ask_selections(self) -> list[dict[str, Any]]:
        """The saved selections of this dataset: name, and the number of shown rows each has now, -1 if it cannot be opened."""
        rows = {str(name): row for row, name in enumerate(self._view.graded.report.samples.ids)}
        saved = [view for view in self._views.list(dataset=self._dataset) if _is_selection(view.state)]
        return [{"name": view.name, "count": self._count(view.state, rows)} for view in saved[:_MAX_LISTED]]

    def _count(self, state: Mapping[str, Any], rows: Mapping[str, int]) -> int:
        words = [{"text": state["search"]}] if state.get("search") else []
        try:
            conditions = [*map(self._view.rows.resolved, self._where(state, rows)), *words]
            return len(self._view.graded.report.row_numbers(*conditions))
        except WorkbenchError:
            return -1

    def ask_selection_code(self) -> str:
        """Set the line that shows these rows again; the page shows it at the bottom."""
        state = self.selection()
        words = [{"text": state["search"]}] if state["search"] else []
        self._view.session.code.text = f"app.select({', '.join(map(repr, [*state['where'], *words]))})"
        return str(self._view.session.code.text)

    def _save(self, name: str, state: Mapping[str, Any]) -> None:
        """Save a state; a view does not replace a selection, nor a selection a view."""
        saved = {view.name: view.state for view in self._views.list(dataset=self._dataset)}
        if name in saved and _is_selection(saved[name]) != _is_selection(state):
            kind = "selection" if _is_selection(saved[name]) else "view"
            raise WorkbenchError(f"a saved {kind} has this name", found=repr(name), hint="use another name")
        self._views.save(name, state, dataset=self._dataset)

    def do_save_view(self, name: str) -> None:
        """Save the state under a name; a view of the same name is replaced.

        Raises:
            StoreError: It cannot be saved under this name.
            WorkbenchError: A saved selection has this name.
        """
        self._save(name, self.state())
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
        saved = [
            view.name for view in self._views.list(dataset=self._dataset) if not _is_selection(view.state)
        ]
        return saved[:_MAX_LISTED]

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


def _is_selection(state: Mapping[str, Any]) -> bool:
    """Whether a saved state names only rows: that of a view has its mode."""
    return "mode" not in state


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
    _check_shapes(state)
    grader = str(state.get("grader", ""))
    if grader and grader not in graders:
        raise WorkbenchError(
            "the view shows a grader that is not in the session",
            found=one_line(grader, 120),
            hint="add the grader under this name, then open the view again",
        )
    return grader


def _check_shapes(state: Mapping[str, Any]) -> None:
    """Refuse a state with a part of another type.

    Raises:
        WorkbenchError: The part, what was found, and what is expected.
    """
    for name, has_shape in _STATE_SHAPES.items():
        if name in state and not has_shape(state[name]):
            raise WorkbenchError(
                f"cannot read {name} of this view",
                found=one_line(repr(state[name]), 120),
                expected=_STATE_SOURCE,
            )


def _among(condition: Mapping[str, Any], rows: Mapping[str, int]) -> dict[str, Any]:
    """A condition over these rows: those that a state names by id, if they are among them."""
    if "ids" not in condition:
        return dict(condition)
    return {"rows": [rows[name] for name in map(str, condition["ids"]) if name in rows]}


def _sort(value: Any) -> tuple[str, bool]:
    key, descending = value or ("", False)
    return str(key), bool(descending)
