"""A report as a Parquet file: its grades as columns, and its settings as metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workbench.analysis.labels import read_labels
from workbench.core.display_text import encodable, one_line
from workbench.core.errors import ReportError, SamplesError, WorkbenchError
from workbench.core.files import check_regular, replaced
from workbench.core.grades import Grades
from workbench.data.samples import Samples, as_samples, read_samples
from workbench.data.samples.parquet_bounds import Unpacked, check_metadata, step_rows
from workbench.graders.combine import GateResult
from workbench.report.digests import digest_of_ends
from workbench.report.grades_table import GRADE_COLUMNS, WORDS, fill, grade_columns
from workbench.report.settings import ReportLike

_FORMAT, _VERSION = "grader-workbench report", 1
_KEY = b"grader-workbench"
_ROWS = 65_536
"""Number of rows that are written, or read, at a time."""


def write_report(report: ReportLike, path: str | Path, *, marks: Mapping[str, Any] | None = None) -> Path:
    """See `Report.to_parquet`.

    Args:
        report: The report to write.
        path: The file.
        marks: Plain data that is stored with the settings, for `read_marks`.
    """
    import pyarrow.parquet as pq

    target, tables = Path(path), _tables(report.grades)
    require_own_file(target, report.samples)
    labels = None if report.labels is None else read_labels(report.labels, len(report))
    fields = [("sample", pa.string()), *([("label", pa.bool_())] if labels is not None else [])]
    fields += [(f"{name}.{part}", kind) for name in tables for part, kind in GRADE_COLUMNS.items()]
    schema = pa.schema(
        fields, metadata={_KEY: json.dumps({**_settings(report), "marks": dict(marks or {})}).encode()}
    )
    with replaced(target) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        for start in range(0, max(len(report), 1), _ROWS):
            rows = slice(start, min(start + _ROWS, len(report)))
            columns = _columns(report, rows, labels, tables)
            writer.write_table(pa.table(columns, schema=schema))
    return target


def require_own_file(path: Path, samples: Any) -> None:
    """Refuse a path at which grades would overwrite the data, or become part of them.

    Args:
        path: The path of the report to write.
        samples: The rows, with the file or folder that they were read from as `source`, if any.

    Raises:
        ReportError: It is the data's file, or a Parquet file in the folder that is read as the data.
    """
    source = Path(str(getattr(samples, "source", "") or "-"))
    same = source.is_file() and path.exists() and path.samefile(source)
    # Folders are read with all files in them.
    within = source.is_dir() and path.suffix == ".parquet" and source.resolve() in path.resolve().parents
    if same or within:
        raise ReportError(
            "the report would be written over or into its data", where=str(path), found="the file of the data" if same else f"a folder whose files are the data, {source}",
            expected="another path", hint=f"write it to {str(source.with_name(source.stem + '-report.parquet'))!r}",
        )  # fmt: skip


def _tables(grades: Mapping[str, Grades]) -> dict[str, Grades]:
    """Grades by the name under which they are written: each grader's, and those of its repeats."""
    names = _table_names([(encodable(name), len(own.repeats)) for name, own in grades.items()])
    written = ((own, *own.repeats) for own in grades.values())
    return {
        table: one
        for tables, each in zip(names.values(), written, strict=True)
        for table, one in zip(tables, each, strict=True)
    }


def _table_names(graders: Sequence[tuple[str, int]]) -> dict[str, list[str]]:
    """The names under which each grader's grades and those of its repeats are written, by grader.

    Args:
        graders: Each one's name and number of repeats, in the report's order.
    """
    names, taken = dict[str, list[str]](), {name for name, _ in graders}
    for name, repeats in graders:
        names[name] = [name]
        for number in range(repeats):
            table = f"{name}/{number}"
            while table in taken:  # another grader may have that name
                table += "'"
            taken.add(table)
            names[name].append(table)
    return names


def _columns(
    report: ReportLike, rows: slice, labels: NDArray[np.int8] | None, tables: Mapping[str, Grades]
) -> dict[str, pa.Array]:
    samples: Any = report.samples
    ids = samples.take(
        np.arange(rows.start, rows.stop, dtype=np.intp)
    ).ids  # a part, because all ids would take too much memory
    columns: dict[str, Any] = {"sample": pa.array([encodable(str(name)) for name in ids], pa.string())}
    if labels is not None:
        columns["label"] = pa.array(labels[rows] == 1, mask=labels[rows] < 0)
    for name, grades in tables.items():
        columns |= {f"{name}.{part}": column for part, column in grade_columns(grades, rows).items()}
    return columns


def _settings(report: Any) -> dict[str, Any]:
    samples = report.samples
    gate = report.gate
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "rows": len(report),
        "graders": [
            {"name": encodable(name), "repeats": len(own.repeats), **{word: getattr(own, word) for word in WORDS}}
            for name, own in report.grades.items()
        ],
        "preset": report.preset,
        "pass_threshold": report.pass_threshold,
        "scale": list(report.scale),
        "limits": dict(report.limits),
        "notes": [encodable(note) for note in report.notes],
        "sources": {encodable(name): encodable(text) for name, text in report.sources.items()},
        "fingerprints": {encodable(name): dict(own) for name, own in report.fingerprints.items()},
        "gate": None if gate is None else {"passed": gate.passed, "value": gate.value, "averages": {name: dict(own) for name, own in gate.averages.items()}, "message": gate.message, "warnings": list(gate.warnings)},
        "samples": {
            "source": str(getattr(samples, "source", "")),
            "columns": dict(samples.columns),
            "lazy": bool(getattr(samples, "is_lazy", False)),
            "ends": digest_of_ends(samples),
        },
    }  # fmt: skip


def read_settings(path: str | Path, samples: Any = None) -> dict[str, Any]:
    """The fields of the report in a file: the arguments of `Report(**fields)`.

    Args:
        path: A file of `Report.to_parquet`.
        samples: The rows that were graded, as `Suite.run` takes them; the file that they were read from by default.

    Raises:
        ReportError: The file is missing or of another kind, or the samples are missing or not the ones that were graded.
    """
    try:
        return _read_settings(path, samples)
    except WorkbenchError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, MemoryError) as error:
        # The file is untrusted: every field of it has to be checked.
        raise _unreadable(path, error) from error


def _read_settings(path: str | Path, samples: Any) -> dict[str, Any]:
    with _opened(path) as file:
        settings = _checked_settings(file, path)
        rows = _samples(settings["samples"], samples, path)
        if len(rows) != settings["rows"]:
            raise _other_samples(path, f"{len(rows):,} rows", f"{settings['rows']:,} rows")
        fields = _fields(file, settings, rows, path)
        # Ids show little: they are row numbers by default. Files of earlier releases have no digest.
        if (ends := settings["samples"].get("ends")) and ends != digest_of_ends(rows):
            raise _other_samples(
                path,
                "other contents among the first 1,000 or the last 100 rows",
                "the rows as they were graded",
            )
        return fields


def read_marks(path: str | Path) -> Mapping[str, Any]:
    """The marks that a report was written with; raises as `read_settings` does."""
    with _opened(path) as file:
        marks: Mapping[str, Any] = _checked_settings(file, path).get("marks", {})
    return marks


def _opened(path: str | Path) -> Any:
    import pyarrow.parquet as pq

    check_regular(path, ReportError)
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | Path, error: Exception) -> ReportError:
    missing = isinstance(error, FileNotFoundError)
    return ReportError(
        "cannot read the report", where=str(path), found="no such file" if missing else one_line(str(error))[:200], expected="a file of report.to_parquet(...) or run(..., resume=...)",
        hint="check its name" if missing else "the file is damaged or of another kind: use a copy of it, or grade the rows again",
    )  # fmt: skip


def _checked_settings(file: Any, path: str | Path) -> dict[str, Any]:
    try:
        settings = json.loads((file.schema_arrow.metadata or {})[_KEY])
        known = settings["format"] == _FORMAT
    except (KeyError, ValueError, TypeError, RecursionError):
        known = False
    if not known:
        raise ReportError(
            "the Parquet file contains no report", where=str(path), found=f"columns {', '.join(file.schema_arrow.names[:8])}",
            expected="a file of report.to_parquet(...)", hint="read rows to be graded with wb.read_samples(...)",
        )  # fmt: skip
    if settings["version"] > _VERSION:
        raise ReportError(
            "the report was written by a newer release", where=str(path), found=f"version {settings['version']}", expected=f"at most {_VERSION}"
        )  # fmt: skip
    return dict(settings)


def _samples(record: Mapping[str, Any], samples: Any, path: str | Path) -> Samples:
    if samples is not None:
        return as_samples(samples)
    source = record["source"]
    if not source or not Path(source).exists():
        raise ReportError(
            "the report does not contain the rows that were graded", where=str(path),
            found=f"they were read from {source!r}, which does not exist" if source else "they were not read from a file",
            expected="the samples", hint=f"wb.read_report({str(path)!r}, samples)",
        )  # fmt: skip
    try:
        return read_samples(source, columns=record["columns"], lazy=record["lazy"])
    except SamplesError as error:
        raise ReportError(
            "cannot read the rows that were graded", where=str(path), found=str(error), expected="the samples",
            hint=f"wb.read_report({str(path)!r}, samples)",
        ) from error  # fmt: skip


def _other_samples(path: str | Path, found: str, expected: str) -> ReportError:
    return ReportError(
        "these samples are not those that were graded", where=str(path), found=found, expected=expected,
        hint="pass the same rows in the same order",
    )  # fmt: skip


def _fields(file: Any, settings: Mapping[str, Any], samples: Samples, path: str | Path) -> dict[str, Any]:
    n = settings["rows"]
    names = _table_names([(own["name"], own["repeats"]) for own in settings["graders"]])
    tables = {table: Grades.empty(n) for each in names.values() for table in each}
    labels: list[bool | None] = []
    for start, part in _parts(file, path):
        _check_ids(samples, start, part["sample"].to_pylist(), path)
        labels += part["label"].to_pylist() if "label" in part else []
        for table, grades in tables.items():
            fill(grades, start, {name: part[f"{table}.{name}"] for name in GRADE_COLUMNS})
    for own in settings["graders"]:
        grades = tables[own["name"]]
        grades.repeats = tuple(tables[table] for table in names[own["name"]][1:])
        for word in WORDS:
            setattr(grades, word, own[word])
        for repeat in grades.repeats:
            repeat.isolation, repeat.code = grades.isolation, grades.code
    gate = settings["gate"]
    return {
        "samples": samples,
        "grades": {name: tables[name] for name in names},
        "labels": labels if "label" in file.schema_arrow.names else None,
        "preset": settings["preset"],
        "pass_threshold": settings["pass_threshold"],
        "scale": tuple(settings["scale"]),
        "limits": settings["limits"],
        "notes": tuple(settings["notes"]),
        "sources": settings["sources"],
        "fingerprints": settings["fingerprints"],
        "gate": None if gate is None else GateResult(gate["passed"], gate["value"], None, gate["averages"], gate["message"], tuple(gate["warnings"])),
    }  # fmt: skip


def _parts(file: Any, path: str | Path) -> Iterator[tuple[int, dict[str, pa.Array]]]:
    start, place, metadata = 0, str(path), file.metadata
    try:
        check_metadata(place, metadata)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        rows = min((step_rows(place, group, None, _ROWS) for group in groups), default=_ROWS)
        unpacked = Unpacked(place, Path(path).stat().st_size)
        for batch in file.iter_batches(batch_size=rows):
            unpacked.add(batch)
            yield start, dict(zip(batch.schema.names, batch.columns, strict=True))
            start += len(batch)
    except (OSError, pa.ArrowException, SamplesError) as error:
        raise _unreadable(path, error) from error


def _check_ids(samples: Samples, start: int, ids: Sequence[str], path: str | Path) -> None:
    own = samples[start : start + len(ids)].ids
    for at, (name, expected) in enumerate(zip(own, ids, strict=True)):
        if encodable(str(name)) != expected:
            raise _other_samples(path, f"row {start + at} is {str(name)[:60]!r}", f"{expected[:60]!r}")
