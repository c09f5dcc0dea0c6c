"""`Workbench`: the app, and views of its single parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.app.widgets.view import WorkbenchWidget
from workbench.data.samples import Sample, Samples
from workbench.graders import Grader

if TYPE_CHECKING:
    import pandas as pd

    from workbench.report import Report
    from workbench.run.suite import Suite

__all__ = [
    "ComparePanel",
    "ExportPanel",
    "HistoryPanel",
    "LabelPanel",
    "ResultsPanel",
    "RunPanel",
    "TryPanel",
    "Workbench",
    "WritePanel",
]


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

    # ---- attributes for the next cell

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
    """The app opened on Label: 1 for good, 0 for bad, s to skip, u to undo, n for a note. See `WorkbenchWidget` for the arguments."""

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
