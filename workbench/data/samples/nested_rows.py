"""Rows whose prompts and completions are inside the objects of a column, or under names with a prefix: mapped by a path, or found by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from workbench.core.display_text import counted
from workbench.core.errors import SamplesError
from workbench.data.samples.column_errors import UnmappedError
from workbench.data.samples.column_names import USABLE, is_name_of
from workbench.data.samples.columns import recognise
from workbench.data.samples.foreign_names import with_english_names
from workbench.data.samples.memory_rows import frame_of
from workbench.data.samples.old_grades import column_scores
from workbench.data.samples.plain import is_missing
from workbench.data.samples.shaped_rows import Columns, as_column, records, unique_names
from workbench.data.samples.shapes import LOOKED_AT, at, from_json, objects, shape_of
from workbench.data.samples.source_file import Loaded

_SHOWN = 8
"""Maximum keys that a note names."""


def unnested(loaded: Loaded, columns: Columns) -> tuple[Loaded, tuple[str, ...]]:
    """Rows with their prompts and completions as columns of known names, and a note on each change.

    A column for each key of the objects of a column, a row for each object in the lists of a column, plain names instead of a
    platform's prefixes or of those in another language. Unchanged if a column has such a role itself, if the rows have a tool's
    shape, or if the user maps columns; and if several columns have objects with the same role.

    Args:
        loaded: The result of a reader.
        columns: Role to column name, as given by the user.
    """
    frame = loaded.frame
    if columns or not isinstance(frame, pd.DataFrame) or frame.columns.nlevels > 1:
        return loaded, ()
    names = unique_names(frame.columns)
    if len(set(map(str, frame.columns))) < len(names) or not len(frame):
        return loaded, ()
    if (renamed := _without_prefixes(loaded, frame)) is not None:
        return renamed
    own, of_names = with_english_names(frame, names, lambda name: list(frame[name].head(LOOKED_AT)))
    return (replace(loaded, frame=own), of_names) if of_names else _lifted(loaded, frame, names)


def _lifted(loaded: Loaded, frame: pd.DataFrame, names: Sequence[str]) -> tuple[Loaded, tuple[str, ...]]:
    """Rows with a column for each key of the objects with the roles that no column has, or a row for each object in lists."""
    first = list(records(frame.head(LOOKED_AT), names))
    lacking, used = _lacking(names, first)
    if not lacking or shape_of(names, first) is not None:
        return loaded, ()
    found: dict[str, list[str]] = {}
    roles: list[str] = []
    for name in (name for name in names if name not in used):
        cells = _objects(name, first)
        keys = list(dict.fromkeys(str(key) for cell in cells for key in cell))
        is_judged = lacking != USABLE and _JUDGED.search(name) is not None
        if not is_judged and (spoken := [role for role in _roles(keys, cells) if role in lacking]):
            found[name] = keys
            roles += spoken
    if not found and lacking == USABLE:
        return _exploded(loaded, frame, names, first)
    if not found or len(set(roles)) < len(roles):
        return loaded, ()
    own = _with_keys(frame, names, found)
    notes = [
        f"the rows are in column {name!r}, whose keys are read as columns: {_listed(keys)}"
        for name, keys in found.items()
    ]
    return replace(loaded, frame=own), tuple(notes)


def _with_keys(frame: pd.DataFrame, names: Sequence[str], found: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The rows with a column for each key of some columns' objects, instead of these columns."""
    own, taken = frame, set(names) - found.keys()
    for name, keys in found.items():
        column = frame.columns[names.index(name)]
        cells = [from_json(cell) for cell in frame[column]]
        lifted = {
            key if key not in taken else f"{name}.{key}": as_column(
                [_untyped(cell.get(key)) if isinstance(cell, Mapping) else None for cell in cells]
            ).set_axis(frame.index)
            for key in keys
        }
        taken |= lifted.keys()
        own = own.drop(columns=[column]).assign(**lifted)
    return own


def _exploded(
    loaded: Loaded, frame: pd.DataFrame, names: Sequence[str], first: Sequence[Mapping[str, Any]]
) -> tuple[Loaded, tuple[str, ...]]:
    """A row for each object in the lists of the only column whose objects have a prompt and a completion, and a note."""
    found = []
    for name in names:
        lists = [from_json(row[name]) for row in first if not is_missing(row.get(name))]
        inner = [one for cell in lists if isinstance(cell, list) for one in cell]
        if (
            inner
            and all(isinstance(one, Mapping) for one in inner)
            and all(isinstance(cell, list) for cell in lists)
        ):
            keys = list(dict.fromkeys(str(key) for one in inner[:LOOKED_AT] for key in one))
            if {"prompt", "completion"} <= set(_roles(keys, inner[:LOOKED_AT])):
                found.append(name)
    if len(found) != 1:
        return loaded, ()
    (name,) = found
    rows = list(records(frame, names))
    each = [
        {**{f"outer.{key}" if key in one else key: cell for key, cell in row.items() if key != name}, **one}
        for row in rows
        for one in objects(row.get(name))
    ]
    note = f"the rows are in the lists of column {name!r}: {counted(len(frame), 'row')} read as {len(each):,}, one per element"
    return replace(loaded, frame=frame_of(each), lines=None, faults={}), (note,)


_PREFIXES: Mapping[str, tuple[str, str, str]] = {
    "Toloka": ("INPUT:", "OUTPUT:", "ASSIGNMENT:"), "Mechanical Turk": ("Input.", "Answer.", "HITId"),
}  # fmt: skip
"""Platforms of annotators, with the prefixes of what the annotators got and of what they returned, and the start of another column."""
_SIDES = {"left": "response_a", "right": "response_b"}
"""Names of two completions of which an annotator chooses one."""


def _without_prefixes(loaded: Loaded, frame: pd.DataFrame) -> tuple[Loaded, tuple[str, ...]] | None:
    """The rows of a platform of annotators with plain names of what they got, and what they returned as old scores; None for others."""
    names = list(map(str, frame.columns))
    for platform, (given, returned, other) in _PREFIXES.items():
        inputs = {name: name.removeprefix(given) for name in names if name.startswith(given)}
        outputs = {name: name.removeprefix(returned) for name in names if name.startswith(returned)}
        if inputs and outputs and any(name.startswith(other) for name in names):
            return _of_annotators(loaded, frame, inputs, outputs, platform)
    return None


def _of_annotators(
    loaded: Loaded, frame: pd.DataFrame, inputs: Mapping[str, str], outputs: Mapping[str, str], platform: str
) -> tuple[Loaded, tuple[str, ...]]:
    is_pair = set(_SIDES) <= set(inputs.values())
    renamed = {name: _SIDES.get(own, own) if is_pair else own for name, own in inputs.items()}
    has_completion = is_pair or any(is_name_of("completion", own) for own in renamed.values())
    shown = {own: name for name, own in renamed.items()}
    is_written = any(is_name_of("completion", returned) for returned in outputs.values())
    if (
        not has_completion
        and not is_written
        and "answer" in shown
        and any(is_name_of("prompt", own) for own in shown)
    ):
        renamed[shown["answer"]], has_completion = (
            "response",
            True,
        )  # what annotators are shown and judge
    own, scores, winners = frame, dict(loaded.old), list[str]()
    for name, returned in outputs.items():
        cells = frame[name]
        verdicts = {str(cell).strip().casefold() for cell in cells if not is_missing(cell)}
        is_written = not has_completion and is_name_of("completion", returned)
        renamed[name] = returned if is_written else f"annotator.{returned}"
        if is_pair and verdicts <= {*_SIDES, "tie", "both", "equal", "same", "none", ""}:
            own = own.assign(**{name: [_SIDES.get(str(cell).strip().casefold(), cell) for cell in cells]})
            renamed[name] = "winner" if not winners else renamed[name]
            winners.append(name)
        elif not is_written:
            scores |= column_scores({returned: cells})
    taken = [name for name in map(str, frame.columns) if name not in renamed]
    renamed = {name: new for name, new in renamed.items() if new not in taken}
    note = f"rows of {platform}: read {_listed(list(renamed))} as {_listed(list(renamed.values()))}; a row per annotator"
    return replace(loaded, frame=own.rename(columns=renamed), old=scores), (note,)


_TYPES = frozenset({"S", "N", "BOOL", "NULL"})
"""Names of types around values in exports of DynamoDB."""


def _untyped(cell: Any) -> Any:
    """The value of a cell of an export of DynamoDB; any other cell unchanged."""
    return (
        next(iter(cell.values()))
        if isinstance(cell, Mapping) and len(cell) == 1 and cell.keys() <= _TYPES
        else cell
    )


_JUDGED = re.compile(
    r"judg|grad|eval|score|usage|meta|config|setting|reference|expected|error|feedback", re.IGNORECASE
)
"""Names of objects whose texts are not the model's completion."""


def _lacking(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The roles that no column has, and the columns of the others.

    All roles of a conversation, the prompt next to a completion, or the completion next to a prompt.
    """
    try:
        roles = recognise(names, peek=lambda name: [row.get(name) for row in rows])
    except UnmappedError:
        return USABLE, ()
    except SamplesError:
        return (), ()
    is_asked = bool({"instruction", "prompt"} & roles.keys())
    if "messages" in roles or (is_asked and "completion" in roles):
        return (), ()
    return ("completion",) if is_asked else ("instruction", "prompt"), tuple(roles.values())


def _objects(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The objects of a column; none if it has any other cell."""
    cells = [from_json(row[name]) for row in rows if not is_missing(row.get(name))]
    return cells if all(isinstance(cell, Mapping) for cell in cells) else []


def _roles(keys: Sequence[str], objects: Sequence[Mapping[str, Any]]) -> list[str]:
    """The roles of a prompt or a completion that keys of objects have."""
    try:
        found = recognise(keys, peek=lambda key: [cell.get(key) for cell in objects])
    except SamplesError:
        return []
    return [role for role in USABLE if role in found]


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return ", ".join(repr(key) for key in keys[:_SHOWN]) + more


def with_nested(loaded: Loaded, columns: Columns) -> Loaded:
    """The rows with a column for each mapped path into nested cells, such as "input.text" or "turns.0.text"."""
    frame = loaded.frame
    if not isinstance(frame, pd.DataFrame) or not isinstance(columns, Mapping) or frame.columns.nlevels > 1:
        return loaded
    names = unique_names(frame.columns)
    paths = dict.fromkeys(
        path for path in columns.values() if isinstance(path, str) and path not in names and "." in path
    )
    if not paths:
        return loaded
    rows = list(records(frame, names))
    found = {path: [at(row, path) for row in rows] for path in paths}
    new = {path: cells for path, cells in found.items() if any(cell is not None for cell in cells)}
    if not new:
        return loaded
    return replace(
        loaded,
        frame=frame.assign(**{path: as_column(cells).set_axis(frame.index) for path, cells in new.items()}),
    )
