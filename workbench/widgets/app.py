"""`Workbench`: all panels on one session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from workbench.display_text import counted
from workbench.graders import Grader
from workbench.samples import Sample, Samples
from workbench.widgets.panels.compare import ComparePanel
from workbench.widgets.panels.export import ExportPanel
from workbench.widgets.panels.label import LabelPanel
from workbench.widgets.panels.panel import Panel, text
from workbench.widgets.panels.results import ResultsPanel
from workbench.widgets.panels.run import RunPanel
from workbench.widgets.panels.try_out import TryPanel
from workbench.widgets.panels.write import WritePanel
from workbench.widgets.views.source_view import SourceView

if TYPE_CHECKING:
    import pandas as pd

    from workbench.report import Report
    from workbench.suite import Suite

__all__ = ["PANELS", "Workbench"]

PANELS: tuple[type[Panel], ...] = (
    WritePanel, TryPanel, RunPanel, ResultsPanel, LabelPanel, ComparePanel, ExportPanel,
)  # fmt: skip
"""The panels, in the order of their tabs."""


class Workbench(Panel):
    """Write, try, run, read, label, compare and export graders, with buttons.

    Everything is also an attribute that the next cell can read, and the line below the panels says what code would do
    the same. A grader that is defined in a later cell appears at once; a cell that is run again goes on where it was.

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

    title = "Workbench"
    css = "app"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        self._panels: dict[int, Panel] = {}  # those whose tab was opened, by place
        self.head = widgets.HTML()
        holders = [widgets.VBox() for _ in PANELS]
        self.tabs = widgets.Tab(children=holders, titles=[panel.title for panel in PANELS])
        self.code = SourceView(title="The same in code", height=180)
        self.code.add_class("wb-code")
        self.tabs.observe(self.callback(self._open), "selected_index")
        session = self.session
        self.watch(self._show_head, session.graders, "by_name", "chosen", "unrun")
        self.watch(self._show_head, session.results, "report")
        self.watch(self._show_head, session.runs, "running")
        self.watch(self._show_code, session.code, "text")
        self._open()
        return [self.head, self.tabs, self.code]

    def refresh(self) -> None:
        """See `Panel`."""
        self._show_head()
        self._show_code()

    def _show_problem(self) -> None:
        """The open panel shows it; where that could not be made, the app does."""
        if (self.tabs.selected_index or 0) in self._panels:
            self._alert.value = ""
        else:
            super()._show_problem()

    def _open(self) -> None:
        """Make a panel when its tab is first opened: a page loads faster, and pays only for what is looked at."""
        kind = PANELS[self.tabs.selected_index or 0]
        opened_before = PANELS.index(kind) in self._panels
        panel = self.panel(kind)
        if opened_before and isinstance(panel, LabelPanel):
            with panel.filling_controls():
                panel.refresh()  # labels put by code meanwhile

    def panel(self, kind: type[Panel]) -> Panel:
        """A panel of this app, made when it is first asked for."""
        place = PANELS.index(kind)
        if place not in self._panels:
            self._panels[place] = kind(self.session)
            self.tabs.children[place].children = [self._panels[place]]
        return self._panels[place]

    def show(self, kind: type[Panel]) -> None:
        """Open a panel's tab."""
        self.tabs.selected_index = PANELS.index(kind)

    def _show_head(self) -> None:
        session, report = self.session, self.report
        unrun = session.graders.unrun
        words = [counted(len(session.samples), "row"), counted(len(session.graders.by_name), "grader")]
        words += [f"{len(unrun):,} to run"] if report is not None and unrun else []
        words += ["running"] if session.runs.running else []
        words += [report.isolation] if report is not None else []
        self.head.value = f"<b>Grader workbench</b> {text(' · '.join(words))}"

    def _show_code(self) -> None:
        self.code.show(self.session.code.text, language="python")

    def dispose(self, *, end_session: bool) -> None:
        """See `Panel`."""
        for panel in self._panels.values():
            panel.dispose(end_session=False)
        self._panels = {}
        super().dispose(end_session=end_session)

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
        """The rows that are shown in Results, as `Report.rows` gives them; None before a run."""
        report = self.report
        return None if report is None else report.rows(where=report.row_numbers(*self.session.results.where))

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

    def add(self, grader: Grader | Iterable[Grader]) -> None:
        """Take a grader, or several; one of a known name takes its place, unvalidated and not yet run."""
        for each in [grader] if isinstance(grader, Grader) else grader:
            self.session.graders.add(each)
