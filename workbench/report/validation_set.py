"""Validation sets of Inspect Scout: labels by row id, in CSV, JSON or YAML; read as labels, and written from labels.

Source: inspect_scout 0.6.1 (`ValidationCase`): `id` with `target`, or several `target_*` or `label_*` columns, and `split`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from workbench.core.display_text import one_line
from workbench.core.errors import FormatError, ReportError
from workbench.core.files import read_bytes, write_atomically

_SUFFIXES = (".csv", ".json", ".jsonl", ".yaml", ".yml")
_KEYS = ("uuid", "transcript_id", "sample_uuid", "sample_id")
"""Columns of rows, other than their ids, by which cases may name them."""
_MAX_BYTES = 64 * 2**20


def is_validation_set(labels: Any) -> bool:
    """Whether labels are the name of such a file, which may be followed by a colon and one of its columns."""
    return (
        isinstance(labels, str)
        and _split(labels)[0].is_file()
        and _split(labels)[0].suffix.lower() in _SUFFIXES
    )


def _split(text: str) -> tuple[Path, str]:
    path, _, column = text.rpartition(":")
    return (Path(path), column) if path and column.isidentifier() else (Path(text), "")


def read_validation_set(labels: str, samples: Any) -> list[Any]:
    """The target of each row's case, (n,), None without one.

    Args:
        labels: The file; with several targets followed by a colon and a column, such as "cases.csv:label_refusal".
        samples: The rows; a case is for the row with its id, or with that `uuid` or `transcript_id`; or for the only row of its group.

    Raises:
        FormatError: The file cannot be read, or has no ids or targets.
        ReportError: No case is for one of the rows.
    """
    path, column = _split(labels)
    cases = _cases(path)
    names = dict.fromkeys(name for case in cases for name in case)
    targets = [name for name in names if name == "target" or name.startswith(("target_", "label_"))]
    if "id" not in names or not targets:
        raise FormatError(
            "this is not a validation set",
            where=str(path),
            found=f"columns {', '.join(names)}",
            expected="id and target",
        )
    if column not in targets and (column or len(targets) > 1):
        raise FormatError(
            f"the validation set has no column {column!r}" if column else "the validation set has several targets",
            where=str(path), found=", ".join(targets), hint=f"name one: {path}:{targets[0]}",
        )  # fmt: skip
    by_id = {
        str(case["id"]).strip(): case.get(column or targets[0])
        for case in cases
        if case.get("id") is not None
    }
    found = [next((by_id[key] for key in keys if key in by_id), None) for keys in _row_keys(samples)]
    if all(target is None for target in found):
        raise ReportError(
            "no case of the validation set is for one of the rows", where=str(path),
            found=f"ids such as {one_line(next(iter(by_id), 'none'), 60)}",
            expected=f"ids of the rows, such as {one_line(samples.ids[0], 60)}" if len(samples) else "rows",
        )  # fmt: skip
    return [_target(value) for value in found]


def _row_keys(samples: Any) -> Iterable[list[str]]:
    columns = [samples.column(name).tolist() for name in _KEYS if name in samples.column_names]
    groups = samples.groups.tolist()
    if len(set(groups)) == len(groups):
        columns.append(groups)  # the sample of a log with one epoch
    for row, name in enumerate(samples.ids):
        yield [str(name), *(str(column[row]) for column in columns)]


def _target(value: Any) -> Any:
    """A target as a label: texts of CSV such as "1.0" are numbers there."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.removesuffix(".0") if isinstance(value, str) else value


def _cases(path: Path) -> list[Mapping[str, Any]]:
    data = read_bytes(path, FormatError, _MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise FormatError("the validation set is too large", where=str(path), expected="at most 64 MiB")
    try:
        text = data.decode("utf-8-sig")
        cases = _READERS[path.suffix.lower()](text)
    except (ValueError, yaml.YAMLError, csv.Error, RecursionError) as error:
        raise FormatError(
            "the validation set cannot be read", where=str(path), found=str(error)[:200]
        ) from error
    if not isinstance(cases, list) or not cases or not all(isinstance(case, Mapping) for case in cases):
        raise FormatError(
            "a validation set is a list of cases", where=str(path), expected="id and target of each"
        )
    return [_flat(case) for case in cases]


def _flat(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case with its `labels` as columns, as Scout has them."""
    labels = case.get("labels")
    inner = {f"label_{name}": value for name, value in labels.items()} if isinstance(labels, Mapping) else {}
    return {**{name: value for name, value in case.items() if name != "labels"}, **inner}


_READERS: dict[str, Any] = {
    ".csv": lambda text: list(csv.DictReader(io.StringIO(text))),
    ".json": json.loads,
    ".jsonl": lambda text: [json.loads(line) for line in text.splitlines() if line.strip()],
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
}


def write_validation_set(
    path: str | Path, samples: Any, labels: Iterable[bool | None], *, split: str = ""
) -> Path:
    """Write labels as a validation set in CSV: `id`, `target` (true or false) and, if given, `split`; unlabelled rows are omitted.

    Args:
        path: The file, which ends in .csv.
        samples: The rows; a column `uuid` or `transcript_id` names them, else their ids.
        labels: Label of each row, (n,).
        split: A split such as "dev" for all cases.

    Raises:
        FormatError: Another suffix, or the file cannot be written.
    """
    if Path(path).suffix.lower() != ".csv":
        raise FormatError(
            "a validation set is written as CSV", where=str(path), expected="a name that ends in .csv"
        )
    key = next((name for name in _KEYS[:2] if name in samples.column_names), None)
    ids = samples.ids if key is None else samples.column(key).tolist()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "target", *(["split"] if split else [])])
    for name, label in zip(ids, labels, strict=True):
        if label is not None:
            writer.writerow([name, "true" if label else "false", *([split] if split else [])])
    return write_atomically(path, text.getvalue())
