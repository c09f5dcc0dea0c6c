# The views, each with the module it comes from: `__init__.py` loads them from this list on first use.

from .app import ComparePanel as ComparePanel
from .app import ExportPanel as ExportPanel
from .app import HistoryPanel as HistoryPanel
from .app import LabelPanel as LabelPanel
from .app import ResultsPanel as ResultsPanel
from .app import RunPanel as RunPanel
from .app import TryPanel as TryPanel
from .app import Workbench as Workbench
from .app import WritePanel as WritePanel
