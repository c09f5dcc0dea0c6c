"""The columns of a table and their roles, for a user who maps them by clicking."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from workbench.analysis.labels import is_label
from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError, SamplesWarning, WorkbenchError
from workbench.data.samples import Samples, as_samples, read_samples
from workbench.data.samples.column_errors import UnmappedError
from workbench.data.samples.plain import is_missing
from workbench.data.samples.proposals import PEEKED, proposed
from workbench.data.samples.row_drawing import written_column
from workbench.report.sample_columns import few_valued_columns

READ = ("prompt", "completion", "reference", "group")
"""Roles that `read_samples(columns=...)` takes and that are mapped here; labels are an argument of the app."""

LABELS = "labels"

_PREVIEWED = 3  # rows
_CELL = 90  # characters
_HAS_COMPLETIONS = ("completion", "messages")

NO_COMPLETION = "no column was recognised as the completion"
"""The only reason to map columns of rows that can be read: the user may keep them."""


def readable(data: Any, source: str = "") -> tuple[Samples, str]:
    """Samples, and why a user has to map their columns before anything is graded; "" if they need not.

    Args:
        data: As `Session` takes it, or the content of a file as `load_file` returns it.
        source: Name of that file.

    Raises:
        SamplesError: The data cannot be read for another reason.
    """
    try:
        samples = Samples(data, source=source) if source else as_samples(data)
    except UnmappedError as error:
        return _provisional(data, error, source), error.what
    missing = not set(_HAS_COMPLETIONS) & samples.columns.keys()
    return samples, NO_COMPLETION if missing and len(samples) else ""


def _provisional(data: Any, error: UnmappedError, source: str) -> Samples:
    """Rows to preview until their columns are mapped: any column that can be read is their completion."""
    for name in error.names:
        columns = {"completion": name}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SamplesWarning)  # about a mapping that no user chose
                return (
                    Samples(data, columns=columns, source=source)
                    if source
                    else read_samples(data, columns=columns)
                )
        except SamplesError:  # its cells are not texts
            continue
    raise error


def mapped(data: Any, roles: Mapping[str, Any], source: str = "") -> Samples:
    """Rows with these columns for the roles of `READ`; a role without a column is switched off.

    Raises:
        SamplesError: The columns do not exist or cannot be read as samples.
    """
    columns = {role: str(roles[role]) if roles.get(role) else None for role in READ}
    if columns["completion"] is None:
        raise WorkbenchError("no column is mapped as the completion", hint="choose the column that is graded")
    return Samples(data, columns=columns, source=source)


def columns_data(samples: Samples, labels: Any, reason: str) -> dict[str, Any]:
    """The columns, their first cells and their roles, as `Columns` of the page.

    Args:
        samples: The rows.
        labels: The `labels=` of the app.
        reason: Why the columns must be mapped; "" if the user opened them.
    """
    frame = samples.frame
    first = frame.head(_PREVIEWED)
    label = labels if isinstance(labels, str) else _label_column(samples)
    roles = {role: str(samples.columns.get(role, "")) for role in READ} if not reason else {}
    return {
        "reason": reason,
        "columns": [
            {
                "name": one_line(name, 120),
                "cells": ["" if is_missing(cell) else one_line(cell, _CELL) for cell in first[name]],
                "note": _note(samples, name),
            }
            for name in frame.columns
        ],
        "roles": {**(roles or _proposals(samples, label)), LABELS: label},
        "proposed": bool(reason),
        "required": reason not in ("", NO_COMPLETION),
    }


def _note(samples: Samples, name: Any) -> str:
    written = written_column(samples, name)
    filled, different = int((written.codes >= 0).sum()), len(written.texts)
    kind = "texts" if written.scale is None else f"{written.scale.kind}s"
    empty = len(samples) - filled
    return f"{different:,} different {kind}" + (f", {empty:,} empty" if empty else "")


def _proposals(samples: Samples, label: str) -> dict[str, str]:
    """Columns whose names and contents fit a role; a role without one is left to the user."""
    frame = samples.frame
    roles = ("prompt", "completion", "reference")
    found = proposed(
        list(map(str, frame.columns)),
        lambda name: frame[name].head(PEEKED).tolist(),
        roles=roles,
        taken=(label,),
    )
    return {role: str(found.get(role, "")) for role in READ}


def _label_column(samples: Samples) -> str:
    """The only column whose every cell means good, bad or unlabelled, if there is one; else ""."""
    fitting = [
        str(name)
        for name in few_valued_columns(samples)
        if (texts := written_column(samples, name).texts) and len(texts) > 1 and all(map(is_label, texts))
    ]
    return fitting[0] if len(fitting) == 1 else ""
