"""`Workbench`: the app, and each of its parts alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.graders import Grader
from workbench.samples import Sample, Samples
from workbench.widgets.view import View

if TYPE_CHECKING:
    import pandas as pd

    from workbench.report import Report
    from workbench.suite import Suite

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


class Workbench(View):
    """Write graders and see what they do to your rows: graders, the chosen one, and the rows behind whatever is clicked.

    While you type, or run a cell again, graders of code are proved and graded on the drawn rows; judges wait for Run. Try,
    Label, Compare, Export and History are modes of the same view. Everything is also an attribute that the next cell can
    read, and the line at the foot says what code would do the same. A grader that is defined in a later cell appears at
    once; a cell that is run again goes on where it was.

    It is an anywidget: JupyterLab, Notebook 7, Voila, VS Code and Colab show it as it is, marimo by `mo.ui.anywidget(app)`.

    Args:
        samples: `Samples`, a DataFrame, a list of dicts, or a path.
        graders: A list of graders, or a `Suite`; by default all that this notebook has defined.
        labels: What is known of each row, as in `Suite.run`; what a person labels goes before it.
        store: Where labels, judges' answers and run summaries are kept: a `Store`, its address, or None for nowhere.
            "sqlite:///workbench.db" by default.
        labeller: Who labels.
        dataset: Name of the dataset in the store; its file's name, or made from its content, by default.

    Raises:
        SamplesError: The samples cannot be read.
        ReportError: The labels cannot be read.
        TypeError: Something that is no grader.

    Example:
        >>> import workbench as wb
        >>> app = wb.Workbench(wb.demo_samples("arithmetic"), [wb.Contains(), wb.ExactMatch()], store=None)
        >>> app
        Workbench(960 rows, 2 graders)
        >>> app.close()
    """

    # ---- what the next cell can read

    @property
    def samples(self) -> Samples:
        """The samples."""
        return self.session.samples

    def beside(self, report: Report) -> Report:
        """A run's report with the grades of the same rows by graders that did not run again, as Results shows it."""
        return self.session.runs.merged(report)

    @property
    def graders(self) -> Mapping[str, Grader]:
        """The graders by name, as they are now."""
        return dict(self.session.graders.by_name)

    @property
    def suite(self) -> Suite:
        """The chosen graders as a suite."""
        return self.session.graders.chosen_suite()

    @property
    def report(self) -> Report | None:
        """The last report; None before a run."""
        report: Report | None = self.session.results.report
        return report

    @property
    def versions(self) -> Report | None:
        """The last report with what redefined graders scored before, as "name (before)"; None before a run."""
        return self.session.runs.versions()

    @property
    def selected(self) -> pd.DataFrame | None:
        """The rows that are shown, as `Report.rows` gives them; None before a run."""
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
        """All that is known of each sample: True good, False bad, None unknown; a person's word before the column's.

        For a run or its findings `labels_of` has those that rates may rest on.
        """
        self.session.labels.reload()  # a cell may have labelled meanwhile
        return self.session.labels.for_display(self.samples) or [None] * len(self.samples)

    def labels_of(self, samples: Samples) -> list[bool | None] | None:
        """What findings and rates may rest on, for each of these rows; None where nothing is known of any.

        That leaves out labels of rows that were chosen by their grades; see the Label panel.
        """
        self.session.labels.reload()
        return self.session.labels.for_rates(samples)

    @property
    def view_state(self) -> dict[str, Any]:
        """What is open in the view, as plain JSON: mode, grader, filters, search, order, columns, row. See `open_view`."""
        with self.session.guard.lock:
            return self.view.saved.state()

    def open_view(self, view: str | Mapping[str, Any]) -> None:
        """Show what somebody else looked at, or oneself before.

        Args:
            view: The name of a view that was saved in the store for this dataset, or what `view_state` gave.

        Raises:
            StoreError: No view of this name is saved.
            WorkbenchError: This is no view, or it shows a grader that is not here. Nothing is changed then.
        """
        with self.session.guard.lock:
            if isinstance(view, str):
                self.view.saved.open_saved(view)
            else:
                self.view.saved.open(view)

    def add(self, grader: Grader | Iterable[Grader]) -> None:
        """Take a grader, or several; one of a known name takes its place, unvalidated and not yet run."""
        for each in [grader] if isinstance(grader, Grader) else grader:
            self.session.graders.add(each)


class WritePanel(View):
    """The app opened on the chosen grader alone: its text, checks, findings and scores. See `View` for the arguments."""

    only = "grade"


class TryPanel(View):
    """The app opened on Try: one conversation, all graders. See `View` for the arguments."""

    only = "try"


class RunPanel(View):
    """The app opened on the graders: what is ticked runs, with progress and Stop. See `View` for the arguments."""

    only = "graders"


class ResultsPanel(View):
    """The app opened on the rows: filter, search, sort and read. See `View` for the arguments."""

    only = "rows"


class LabelPanel(View):
    """The app opened on Label: 1 for good, 0 for bad, s to skip, u to undo, n for a note. See `View` for the arguments."""

    only = "label"


class ComparePanel(View):
    """The app opened on Compare: what two graders say of the same rows. See `View` for the arguments."""

    only = "compare"


class ExportPanel(View):
    """The app opened on Export: which platform takes which grader, and its file. See `View` for the arguments."""

    only = "export"


class HistoryPanel(View):
    """The app opened on History: versions of a grader and runs of this dataset. See `View` for the arguments."""

    only = "history"
