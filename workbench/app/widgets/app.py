"""`Workbench`: the app as a notebook widget, and the widgets that open one part of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import traitlets

from workbench.app.session.session import Session
from workbench.app.view import mode_kinds
from workbench.app.view.app import AppView
from workbench.app.widgets.notebook import exchange_session, forget_view, remember_view, session_of_cell
from workbench.core.display_text import counted
from workbench.data.samples import Sample, Samples
from workbench.graders import Grader

if TYPE_CHECKING:
    import pandas as pd

    from workbench.app.session.action import Problem
    from workbench.report import Report
    from workbench.run.suite import Suite


@cache
def _bundle(name: str) -> str:
    """A file of the front end's build."""
    return (resources.files("workbench.app.widgets") / "static" / name).read_text("utf-8")


class WorkbenchWidget(anywidget.AnyWidget):
    """The app, or one part of it.

    Args:
        samples: A `Workbench`, another view or a `Session` to share its session; else samples, as `Workbench` takes them.
        graders: As in `Workbench`.
        settings: Further arguments of `Workbench`.

    Attributes:
        session: State and actions; see `Session`.
    """

    only: ClassVar[str] = ""
    """The one part that is shown: a mode, "graders" or "rows"; "" for all."""

    _esm = _bundle("app.js")
    _css = _bundle("app.css")

    head = traitlets.Dict().tag(sync=True)
    progress = traitlets.Dict().tag(sync=True)
    rail = traitlets.Dict().tag(sync=True)
    chosen = traitlets.Dict().tag(sync=True)
    table = traitlets.Dict().tag(sync=True)
    reader = traitlets.Dict(None, allow_none=True).tag(sync=True)
    mode = traitlets.Unicode("grade").tag(sync=True)
    columns = traitlets.Dict(None, allow_none=True).tag(sync=True)
    files = traitlets.Dict(None, allow_none=True).tag(sync=True)
    part = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    starters: Any = traitlets.List().tag(sync=True)
    # One trait per mode, under the name of its part of the state.
    for _kind in mode_kinds().values():
        vars()[_kind.state] = traitlets.Dict(None, allow_none=True).tag(sync=True)
    del _kind
    turn = traitlets.Int(0).tag(sync=True)

    def __init__(self, samples: Any, graders: Any = None, **settings: Any) -> None:
        self._is_closed = False
        self.session, self._shared = _session_of(samples, graders, kind=type(self).__name__, **settings)
        super().__init__(part=self.only)
        self.view = self._new_view()
        self.on_msg(_on_message)
        self.session.closing.append(self._session_closes)
        remember_view(type(self).__name__, self, owns=not self._shared)

    def _new_view(self) -> AppView:
        exchange = None if self._shared else self._exchange_session
        return AppView(self.session, self._publish, mode=self.only, exchange=exchange)

    def _exchange_session(self, session: Session, *, suspend: bool = False) -> None:
        """Show a session that continues this one with other columns or rows; this one is closed, or suspended, with the views that share it."""
        view, before = self.view, self.session
        before.closing.remove(self._session_closes)
        view.close()
        if suspend:
            before.suspend()
        else:
            before.close()
        self.session = session
        session.closing.append(self._session_closes)
        self.view = self._new_view()
        exchange_session(self)
        self.view.open()

    def _publish(self, changed: Mapping[str, Any]) -> None:
        """Send what changed in one message, so that a page updates in one step."""
        with self.hold_sync():
            for name, value in changed.items():
                setattr(self, name, value)

    def on_message(self, message: Mapping[str, Any]) -> None:
        """Handle a message of a page; an invalid one is ignored."""
        reply = self.view.on_message(message)
        if reply is not None:
            self.send(reply)

    @property
    def problem(self) -> Problem | None:
        """The last error, as the view shows it; None for none."""
        problem: Problem | None = self.session.guard.problem
        return problem

    def close(self) -> None:
        """Close the view, and its session unless it is shared."""
        # Python finalises objects whose samples could not be read, and at exit: then the threads are gone, possibly
        # without releasing the lock.
        if hasattr(self, "view") and not sys.is_finalizing():
            self.dispose(end_session=not self._shared)

    def dispose(self, *, end_session: bool) -> None:
        """Close the widget; with `end_session` the session too, and its run. Calling it again has no effect."""
        if self._is_closed:
            return
        self._is_closed = True
        forget_view(self)
        if self._session_closes in self.session.closing:
            self.session.closing.remove(self._session_closes)
        self.view.close()
        if end_session:
            self.session.close()
        self.layout.close()
        super().close()

    def _session_closes(self) -> None:
        self.dispose(end_session=False)

    def __repr__(self) -> str:
        rows, graders = len(self.session.samples), len(self.session.graders.by_name)
        return f"{type(self).__name__}({counted(rows, 'row')}, {counted(graders, 'grader')})"


def _session_of(
    samples: Any, graders: Any = None, *, kind: str = "", **settings: Any
) -> tuple[Session, bool]:
    """The session of an app, a view or a session, and whether it has another owner; else a new one."""
    session = samples if isinstance(samples, Session) else getattr(samples, "session", None)
    if isinstance(session, Session):
        return session, True
    return session_of_cell(kind, samples, graders, **settings), False


def _on_message(view: WorkbenchWidget, message: Any, _buffers: Any) -> None:
    if isinstance(message, Mapping):
        view.on_message(message)


class Workbench(WorkbenchWidget):
    """Write graders and see their effect on your rows: the grader list, the selected grader, and the rows for each click.

    While you type, or run a cell again, code graders are validated and grade the drawn rows; judges wait for Run. Try,
    Label, Compare, Export and History are modes of the same view. Everything is also an attribute for the next
    cell, and the line at the bottom shows equivalent code. A grader defined in a later cell appears immediately; a
    cell that is run again continues its session.

    It is an anywidget: JupyterLab, Notebook 7, Voila, VS Code and Colab show it directly, marimo through `mo.ui.anywidget(app)`.

    Args:
        samples: `Samples`, a DataFrame, a list of dicts, or a path.
        graders: A list of graders, or a `Suite`; by default all that this notebook has defined.
        labels: Labels of the rows, as in `Suite.run`; labels that a user adds take precedence.
        store: Stores labels, judges' replies and run summaries: a `Store`, its address, or None for no store.
            "sqlite:///workbench.db" by default.
        labeller: Who labels.
        dataset: Name of the dataset in the store; by default its file's name, or derived from its content.

    Raises:
        SamplesError: The samples cannot be read.
        ReportError: The labels cannot be read.
        TypeError: Something that is not a grader.

    Example:
        >>> import workbench as wb
        >>> app = wb.Workbench(wb.demo_samples("arithmetic"), [wb.Contains(), wb.ExactMatch()], store=None)
        >>> app
        Workbench(960 rows, 2 graders)
        >>> app.close()
    """

    @property
    def samples(self) -> Samples:
        """The samples."""
        return self.session.samples

    def beside(self, report: Report) -> Report:
        """The last report, merged with the grades of the same rows by graders that did not run again."""
        return self.session.runs.merged(report)

    @property
    def graders(self) -> Mapping[str, Grader]:
        """The current graders by name."""
        return dict(self.session.graders.by_name)

    @property
    def suite(self) -> Suite:
        """The selected graders as a suite."""
        return self.session.graders.chosen_suite()

    @property
    def report(self) -> Report | None:
        """The last report; None before a run."""
        report: Report | None = self.session.results.report
        return report

    @property
    def versions(self) -> Report | None:
        """The last report with the previous scores of redefined graders, as "name (before)"; None before a run."""
        return self.session.runs.versions()

    @property
    def selected(self) -> pd.DataFrame | None:
        """The rows that are shown, as from `Report.rows`; None before a run."""
        with self.session.guard.lock:
            report, conditions = self.report, (*self.session.results.where, *self.view.rows.words)
        return None if report is None else report.rows(where=report.row_numbers(*conditions))

    @property
    def sample(self) -> Sample | None:
        """The row that is open in the reader; None for none."""
        report, row = self.report, self.session.results.row
        return None if report is None or row is None else report.samples[row]  # type: ignore[return-value]

    @property
    def labels(self) -> list[bool | None]:
        """The label of each sample: True good, False bad, None unknown; a user's label takes precedence over the column's.

        For a run or its findings use `labels_of`, which returns the labels that rates may use.
        """
        self.session.labels.reload()  # a cell may have labelled meanwhile
        return self.session.labels.for_display(self.samples) or [None] * len(self.samples)

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """The tags of each sample's last label, such as kinds of failure; () for none."""
        self.session.labels.reload()
        read = self.session.labels.latest
        return [read[name].tags if name in read else () for name in map(str, self.samples.ids)]

    def labels_of(self, samples: Samples) -> list[bool | None] | None:
        """The labels that findings and rates may use, for each of these rows; None if no row has one.

        Labels of rows that were selected by their grades are excluded; see Label mode.
        """
        self.session.labels.reload()
        return self.session.labels.for_rates(samples)

    @property
    def view_state(self) -> dict[str, Any]:
        """The state of the view, as plain JSON: mode, grader, filters, search, order, columns, row. See `open_view`."""
        with self.session.guard.lock:
            return self.view.saved.state()

    def open_view(self, view: str | Mapping[str, Any]) -> None:
        """Open a saved or shared view.

        Args:
            view: The name of a view that was saved in the store for this dataset, or a value of `view_state`.

        Raises:
            StoreError: No view of this name is saved.
            WorkbenchError: It is not a view state, or its grader is not in the session. Nothing is changed then.
        """
        with self.session.guard.lock:
            if isinstance(view, str):
                self.view.saved.open_saved(view)
            else:
                self.view.saved.open(view)

    def select(self, *which: str | Mapping[str, Any]) -> pd.DataFrame | None:
        """Select rows, as a click does: all views follow, and `selected` has them.

        Args:
            which: The name of a selection saved for this dataset, or conditions as `Report.row_numbers` takes them, all
                of which apply; all rows without any.

        Returns:
            `selected`: the rows as from `Report.rows`; None before a run.

        Raises:
            StoreError: No selection of this name is saved.
            WorkbenchError: Neither a name nor conditions.
            ReportError: A condition that these rows do not support. Nothing is changed then.

        Example:
            >>> import workbench as wb
            >>> app = wb.Workbench(wb.demo_samples("arithmetic"), [wb.Contains()], labels="good", store=None)
            >>> app.select({"label": False})
            >>> app.close()
        """
        with self.session.guard.lock:
            self.view.saved.select(*which)
        return self.selected

    def save_selection(self, name: str) -> None:
        """Save which rows are selected under a name, in the store; one of the same name is replaced.

        Raises:
            StoreError: It cannot be saved under this name.
            WorkbenchError: All rows are shown, or a saved view has this name.
        """
        with self.session.guard.lock:
            self.view.saved.do_save_selection(name)

    @property
    def selections(self) -> list[str]:
        """Names of the saved selections of this dataset, sorted."""
        with self.session.guard.lock:
            return [saved["name"] for saved in self.view.saved.ask_selections()]

    def add(self, grader: Grader | Iterable[Grader]) -> None:
        """Add a grader, or several; one with a known name replaces that grader, unvalidated and not yet run."""
        for each in [grader] if isinstance(grader, Grader) else grader:
            self.session.graders.add(each)


class WritePanel(WorkbenchWidget):
    """The app opened on the selected grader: its text, checks, findings and scores. See `WorkbenchWidget` for the arguments."""

    only = "grade"


class TryPanel(WorkbenchWidget):
    """The app opened on Try: one conversation, all graders. See `WorkbenchWidget` for the arguments."""

    only = "try"


class RunPanel(WorkbenchWidget):
    """The app opened on the grader list: select graders and run them, with progress and Stop. See `WorkbenchWidget` for the arguments."""

    only = "graders"


class ResultsPanel(WorkbenchWidget):
    """The app opened on the rows: filter, search, sort and read. See `WorkbenchWidget` for the arguments."""

    only = "rows"


class LabelPanel(WorkbenchWidget):
    """The app opened on Label: 1 for good, 0 for bad, s to skip, d to defer, u to undo, n for a note, t for a tag. See `WorkbenchWidget` for the arguments."""

    only = "label"


class ComparePanel(WorkbenchWidget):
    """The app opened on Compare: two graders on the same rows. See `WorkbenchWidget` for the arguments."""

    only = "compare"


class ExportPanel(WorkbenchWidget):
    """The app opened on Export: which platform supports which grader, and its file. See `WorkbenchWidget` for the arguments."""

    only = "export"


class HistoryPanel(WorkbenchWidget):
    """The app opened on History: versions of a grader and runs of this dataset. See `WorkbenchWidget` for the arguments."""

    only = "history"
