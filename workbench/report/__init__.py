"""A report: columns of grades over samples, with summary, findings and their evidence rows."""

from __future__ import annotations

from workbench.report.agreement import Agreement as Agreement
from workbench.report.comparison import Comparison as Comparison
from workbench.report.report import Report as Report
from workbench.report.report import read_report as read_report
from workbench.report.settings import SamplesLike as SamplesLike
from workbench.report.settings import check_settings as check_settings

__all__ = ["Agreement", "Comparison", "Report", "SamplesLike", "check_settings", "read_report"]
