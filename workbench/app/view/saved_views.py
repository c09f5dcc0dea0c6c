"""Saved views: what is open in a view as plain JSON, which can be saved under a name, copied and opened again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from workbench.app.view.mode import GRADE, mode_titles
from workbench.core.display_text import one_line
from workbench.core.errors import WorkbenchError
from workbench.report.where import Condition

if TYPE_CHECKING:
    from workbench.app.session.session import Session
    from workbench.app.view.compare import CompareMode
    from workbench.app.view.graded import GradedRows
    from workbench.app.view.table import ShownRows
    from workbench.app.view.try_out import TryMode


class View(Protocol):
    """The state that actions change: see `app.AppView`."""

    session: Session
    chosen: str
    mode: str
    rows: ShownRows

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


_KNOWN = frozenset({"mode", "grader", "where", "search", "sort", "columns", "row", "compare"})
_MAX_LISTED = 200
_WHAT = "app.view_state, or the name of a saved view"


_COMPARISON = frozenset({"a", "b", "key", "only", "search"})


def _are_columns(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(each, Sequence) and len(each) == 2 and isinstance(each[1], int | float)
        for each in value.values()
    )


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "where": lambda value: isinstance(value, Sequence) and all(isinstance(each, Mapping) for each in value),
    "search": lambda value: isinstance(value, str),
    "row": lambda value: isinstance(value, str),
    "sort": lambda value: isinstance(value, Sequence) and len(value) in {0, 2},
    "columns": _are_columns,
    "compare": lambda value: (
        isinstance(value, Mapping)
        and (not value or set(value) == _COMPARISON)
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

    # ---- the state

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
        if rows is None:
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

    # ---- the page's actions

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
    if not isinstance(state, Mapping) or not set(state) <= _KNOWN:
        found = sorted(map(str, set(state) - _KNOWN)) if isinstance(state, Mapping) else state
        raise WorkbenchError("not a view state", found=one_line(repr(found), 120), expected=_WHAT)
    if state.get("mode", GRADE) not in (titles := mode_titles()):
        raise WorkbenchError(
            "unknown mode", found=one_line(repr(state["mode"]), 60), expected=", ".join(titles)
        )
    for name, has_shape in _SHAPES.items():
        if name in state and not has_shape(state[name]):
            raise WorkbenchError(
                f"cannot read {name} of this view", found=one_line(repr(state[name]), 120), expected=_WHAT
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
