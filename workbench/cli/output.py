"""Output of commands for other programs: JSON on stdout, and files of scores in the format of their suffix."""

from __future__ import annotations

import argparse
import importlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.options import UsageError, say
from workbench.core.display_text import counted, encodable, without_controls
from workbench.core.errors import FormatError
from workbench.core.files import replaced

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.finding import Finding


def print_json(value: Any) -> None:
    """Print one JSON document; numbers that JSON lacks are null, and text is ASCII, so that no terminal interprets it."""
    print(json.dumps(as_json(value), indent=2, allow_nan=False), flush=True)


def as_json(value: Any) -> Any:
    """A value as JSON has it: NaN and infinity are null, numpy's numbers are Python's, other objects are text."""
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if hasattr(value, "dtype") and hasattr(value, "item") and not getattr(value, "ndim", 0):
        value = value.item()  # a number of numpy
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Iterable):
        return [as_json(item) for item in value]
    return str(value)


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding's fields, without its rows."""
    names = ("grader", "kind", "severity", "statistic", "value", "n", "limit", "needed", "unit", "advice")
    fields: dict[str, Any] = {name: getattr(finding, name) for name in names}
    interval = None if finding.interval is None else list(finding.interval)
    return {**fields, "severity": str(finding.severity), "interval": interval, "sentence": finding.sentence}


def report_json(report: Any) -> dict[str, Any]:
    """A report, or an overview, as JSON: the summary of each grader, findings, the gate and notes."""
    summary = report.summary.reset_index(names="grader").to_dict("records")
    gate = getattr(report, "gate", None) or getattr(getattr(report, "report", None), "gate", None)
    notes = [*getattr(report, "notes", ()), *getattr(report, "facts", ())]
    return {
        "rows": len(report),
        "graders": summary,
        "findings": [finding_json(finding) for finding in report.findings],
        "gate": None if gate is None else {"passed": gate.passed, "verdict": str(gate)},
        "notes": notes,
    }


def _csv(frame: pd.DataFrame, path: Path) -> None:
    # Such files are read in terminals.
    frame.map(lambda cell: without_controls(cell) if isinstance(cell, str) else cell).to_csv(
        path, index=False, lineterminator="\n", encoding="utf-8"
    )


def _json_lines(frame: pd.DataFrame, path: Path) -> None:
    lines = (
        json.dumps(as_json(row)) for row in frame.astype(object).where(frame.notna(), None).to_dict("records")
    )
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path, index=False)


def _excel(frame: pd.DataFrame, path: Path) -> None:
    import pandas as pd

    with pd.ExcelWriter(path, engine="openpyxl") as file:
        # Excel refuses control characters, and reads a text that starts with "=" as a formula.
        frame.map(_excel_cell).to_excel(file, index=False, sheet_name="scores")
        for cells in file.sheets["scores"].iter_rows():
            for cell in cells:
                cell.data_type = "s" if cell.data_type == "f" else cell.data_type


def _excel_cell(cell: Any) -> Any:
    return without_controls(cell)[:_EXCEL_TEXT] if isinstance(cell, str) else cell


_EXCEL_TEXT = 32_767
"""Maximum characters of a cell in Excel."""
_EXCEL_ROWS = 1_048_575
"""Maximum rows of a sheet in Excel below its heading."""

_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": _csv, ".txt": _csv, "": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet, ".xlsx": _excel,
}  # fmt: skip
"""How scores are written, by the suffix of their file."""


def check_scores_file(path: Path) -> None:
    """Refuse a file for scores that cannot be written, before rows are graded.

    Raises:
        UsageError: Another suffix.
        FormatError: Excel without the package that writes it.
    """
    suffix = path.suffix.lower()
    if str(path) == "-":
        raise UsageError(
            "scores cannot be written to standard output, which has the report", where="--scores", found="'-'",
            expected=f"a file: {', '.join(filter(None, _WRITERS))}", hint="--scores scores.csv",
        )  # fmt: skip
    if suffix not in _WRITERS:
        raise UsageError(
            "the format of scores is chosen by the suffix of their file", where=str(path), found=suffix,
            expected=", ".join(filter(None, _WRITERS)), hint=f"--scores {path.with_suffix('.csv')}",
        )  # fmt: skip
    if suffix == ".xlsx":
        try:
            importlib.import_module("openpyxl")
        except ImportError as error:
            raise FormatError(
                "Excel files need the package openpyxl",
                where=str(path),
                hint="pip install 'grader-workbench[excel]'",
            ) from error


def write_scores(path: Path, frame: pd.DataFrame) -> Path:
    """Write one row per grade in the format of the suffix; the old file remains until the new one is complete.

    Raises:
        FormatError: The file cannot be written, or Excel has fewer rows.
    """
    suffix = path.suffix.lower()
    if suffix == ".xlsx" and len(frame) > _EXCEL_ROWS:
        raise FormatError(
            "an Excel sheet is too small for these grades", where=str(path), found=f"{len(frame):,} rows",
            expected=f"at most {_EXCEL_ROWS:,}", hint=f"--scores {path.with_suffix('.parquet')}",
        )  # fmt: skip
    with replaced(path) as temporary:
        # pandas chooses the writer by the suffix, which the temporary name does not have.
        named = temporary.with_name(f"{temporary.name}{suffix}")
        try:
            _WRITERS[suffix](frame, named)
            named.replace(temporary)
        finally:
            named.unlink(missing_ok=True)
    return path


def add_telemetry(command: argparse.ArgumentParser) -> None:
    """Add the option for events of OpenTelemetry."""
    command.add_argument(
        "--telemetry", action="store_true",
        help="send each grade as an evaluation event of OpenTelemetry; run the command with opentelemetry-instrument",
    )  # fmt: skip


def check_telemetry(options: argparse.Namespace) -> None:
    """Refuse events that would be lost, before rows are graded.

    Raises:
        ReportError: The package is missing, or no exporter is configured.
    """
    if options.telemetry:
        from workbench.deploy.telemetry import event_logger

        event_logger()


def send_events(options: argparse.Namespace, reports: Iterable[Any]) -> None:
    """Send the grades of some reports, if that is chosen."""
    if options.telemetry:
        from workbench.deploy.telemetry import emit_evaluations

        count = sum(map(emit_evaluations, reports))
        say(f"sent {counted(count, 'evaluation event')} to OpenTelemetry", error=True)
