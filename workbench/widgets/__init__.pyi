# The views, each with the module it comes from: `__init__.py` loads them from this list on first use.

from .app import Workbench as Workbench
from .panels.compare import ComparePanel as ComparePanel
from .panels.export import ExportPanel as ExportPanel
from .panels.label import LabelPanel as LabelPanel
from .panels.results import ResultsPanel as ResultsPanel
from .panels.run import RunPanel as RunPanel
from .panels.try_out import TryPanel as TryPanel
from .panels.write import WritePanel as WritePanel
from .views.chart import Chart as Chart
from .views.label_card import LabelCard as LabelCard
from .views.source_view import SourceView as SourceView
from .views.table import ScoreTable as ScoreTable
from .views.thread_view import ThreadView as ThreadView
