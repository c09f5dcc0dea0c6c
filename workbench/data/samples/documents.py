"""Rows in one JSON document: under a key, as columns, or as a table of pandas, Hugging Face or Weights & Biases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from workbench.core.errors import SamplesError
from workbench.data.samples.cell_contents import is_api_reply
from workbench.data.samples.chats import chat_of, is_dialogue
from workbench.data.samples.column_names import ROLES, USABLE, is_name_of
from workbench.data.samples.columns import recognise
from workbench.data.samples.shapes import LOOKED_AT, document_rows, shape_of

_DEPTH = 4
"""Levels of keys in which lists are looked for."""
_SHOWN = 8
"""Maximum lists or keys that an error names."""

Rows = list[Any]


def rows_of(document: Mapping[str, Any], source: str) -> Rows:
    """The rows of a document: of a known tool's, one row, a table, or the only list of objects in it.

    Raises:
        SamplesError: No list of objects, or several; they are named.
    """
    keys = {str(key): value for key, value in document.items()}
    _refuse_without_rows(keys, source)
    if (known := document_rows(keys)) is not None:
        return known
    if _is_row(keys) or shape_of(list(keys), [keys]) is not None:
        return [keys]
    table = _of_split(keys) or _of_viewer(keys) or _of_columns(keys) or _of_index(keys)
    if table is not None:
        return table
    return _only_list(keys, source)


def _only_list(keys: Mapping[str, Any], source: str) -> Rows:
    """The only list of conversations or objects in a document, or the only one with completions; one row for one conversation."""
    if len(chats := [value for value in keys.values() if _are_chats(value)]) == 1:
        return [{"messages": chat} for chat in chats[0]]
    lists = list(_lists(keys, "", _DEPTH))
    graded = [rows for _, rows in lists if _has_completions(rows)]
    if len(lists) == 1 and is_dialogue(lists[0][1]):
        about = {key: value for key, value in keys.items() if isinstance(value, str | int | float)}
        return [{"messages": lists[0][1], **about}]
    if len(lists) == 1 or len(graded) == 1:
        return graded[0] if graded else lists[0][1]
    if not lists and sum(isinstance(value, str) for value in keys.values()) > 1:
        return [keys]  # a file of one row, whose columns are then named
    raise _no_list(keys, lists, source)


_WITHOUT_ROWS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "a Jupyter notebook": (("cells", "nbformat"), "save the rows that it makes, frame.to_json('rows.jsonl', orient='records', lines=True), or load its rewards: wb.read_graders(path)"),
    "an SWE-bench report": (("resolved_ids", "total_instances"), "read the predictions: preds.json, with instance_id and model_patch"),
    "an SWE-bench leaderboard": (("resolved", "no_generation"), "read the predictions: all_preds.jsonl"),
    "a batch of OpenAI": (("input_file_id", "request_counts"), "download the file of its output_file_id, and read it"),
    "a fine-tuning job of OpenAI": (("fine_tuned_model", "training_file"), "read the training file, or load its grader: wb.read_graders(path)"),
    "results of lighteval": (("config_general", "results"), "run lighteval with --save-details, and read details_....parquet"),
    "results of OpenCompass without samples": (("accuracy", "type"), "read the predictions of the run: predictions/MODEL/....json"),
    "the state of a trainer": (("log_history", "global_step"), "read the completions that it logged: completions/*.parquet"),
    "the description of a data set": (("features", "splits"), "read its .parquet or .arrow files"),
    "an OpenAPI document": (("openapi", "paths"), "read a file of requests and responses"),
    "a run of HELM without samples": (("adapter_spec", "scenario_spec"), "read scenario_state.json of the run"),
    "a configuration of promptfoo": (("providers", "prompts"), "load its graders, wb.read_graders(path), and read the results: promptfoo eval --output results.json"),
}  # fmt: skip
"""Documents of tools that contain no rows: keys that they have, and what to read instead."""


def _refuse_without_rows(keys: Mapping[str, Any], source: str) -> None:
    """Raise an error for a known document that contains no rows, or an API's error."""
    error = keys.get("error")
    if isinstance(error, Mapping) and len(keys) <= _ERROR_KEYS and "message" in error:
        raise SamplesError(
            "the file contains an API's error, and no rows", where=source, found=str(error["message"])[:300], expected="a response with rows",
            hint="repeat the request, and save its response",
        )  # fmt: skip
    for name, (needs, hint) in _WITHOUT_ROWS.items():
        if set(needs) <= keys.keys() and "samples" not in keys:
            raise SamplesError(
                f"the file is {name}, which contains no rows", where=source, found=f"an object with keys {', '.join(list(keys)[:_SHOWN])}",
                expected="rows with completions", hint=hint,
            )  # fmt: skip


_ERROR_KEYS = 3
"""Maximum keys of a response that is an error."""


def _no_list(keys: Mapping[str, Any], lists: Sequence[tuple[str, Rows]], source: str) -> SamplesError:
    if lists:
        found = ", ".join(f"{name!r} ({len(rows):,})" for name, rows in lists[:_SHOWN])
        longest = max(lists, key=lambda one: max(len(str(row)) for row in one[1][:LOOKED_AT]))
        first = "".join(f"[{part!r}]" for part in longest[0].split("."))
        return SamplesError(
            f"the file contains {len(lists)} lists of objects, and it is unclear which one contains the rows",
            where=source, found=found, expected="one list of objects",
            hint=f"pass the one with the rows: wb.read_samples(json.load(open(path)){first})",
        )  # fmt: skip
    return SamplesError(
        "the file contains no list of objects", where=source, found=f"an object with keys {', '.join(list(keys)[:_SHOWN]) or '(none)'}",
        expected="a JSON list of objects, one object per line, or an object with one list of objects",
        hint="write one JSON object per row, with its prompt and its completion",
    )  # fmt: skip


def _is_row(keys: Mapping[str, Any]) -> bool:
    """Whether a document is one row: a column has a role, by its name and its content."""
    try:
        roles = recognise(list(keys), peek=lambda name: [keys[name]])
    except SamplesError:
        return False
    cells = [keys[name] for role, name in roles.items() if role in USABLE]
    if any(isinstance(cell, str) for cell in cells):
        return True
    if any(isinstance(cell, Mapping) and set(cell) == set(map(str, range(len(cell)))) for cell in cells):
        return False  # a column by its index
    has_prompt = bool(roles.keys() & {"prompt", "instruction"})
    return any(
        is_api_reply(cell) or (has_prompt and isinstance(cell, Mapping)) or chat_of(cell) is not None
        for cell in cells
    )


def _of_split(keys: Mapping[str, Any]) -> Rows | None:
    """Names and lists of cells, as pandas' `split` and W&B's tables have them; or pandas' `table`."""
    names, data = keys.get("columns"), keys.get("data", keys.get("rows"))
    if _are(names, str) and _are(data, list) and all(len(row) == len(names) for row in data):
        return [dict(zip(names, row, strict=True)) for row in data]
    fields = keys.get("schema")
    return data if isinstance(fields, Mapping) and "fields" in fields and _are(data, dict) else None


def _of_viewer(keys: Mapping[str, Any]) -> Rows | None:
    """A response of Hugging Face's viewer: each row with its number."""
    rows = keys.get("rows")
    if not _are(rows, dict) or not all(isinstance(row.get("row"), dict) for row in rows):
        return None
    return [row["row"] for row in rows]


def _of_columns(keys: Mapping[str, Any]) -> Rows | None:
    """One list, or one object by index, for each column."""
    keys = {_singular(name) if _are(column, str) else name: column for name, column in keys.items()}
    columns = list(keys.values())
    if not columns or not _are_columns(keys):
        return None
    lists = {name: column for name, column in keys.items() if isinstance(column, list)}
    same = {name: value for name, value in keys.items() if isinstance(value, str | int | float | None)}
    if len(lists) + len(same) == len(keys) and len(lists) > len(same) and _are_columns(lists):
        lengths = {len(column) for column in lists.values()}
        return (
            [{**same, **dict(zip(lists, row, strict=True))} for row in zip(*lists.values(), strict=True)]
            if len(lengths) == 1
            else None
        )
    if not all(isinstance(column, Mapping) for column in columns):
        return None
    index = list(columns[0])
    if any(list(column) != index for column in columns) or not all(_is_number(name) for name in index):
        return None
    return [{name: column[at] for name, column in keys.items()} for at in index]


def _singular(name: str) -> str:
    """The name of a column whose cells are the elements of a list: `prompt` of `prompts`."""
    one = name.removesuffix("s")
    return one if any(is_name_of(role, one) and not is_name_of(role, name) for role in ROLES) else name


def _are_columns(keys: Mapping[str, Any]) -> bool:
    """Whether the keys have roles by their names."""
    try:
        recognise(list(keys))
    except SamplesError:
        return False
    return True


def _of_index(keys: Mapping[str, Any]) -> Rows | None:
    """One object for each row, under its id or number."""
    rows = list(keys.values())
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    names = {str(name) for row in rows for name in row}
    known = shape_of(list(names), rows[:LOOKED_AT]) is not None or _are_columns(dict.fromkeys(names))
    return [dict(row) for row in rows] if known and not _are_columns(keys) else None


def _has_completions(rows: Rows) -> bool:
    """Whether rows have completions or conversations, by their names and their content, or a tool's shape that has."""
    first = rows[:LOOKED_AT]
    names = list(dict.fromkeys(str(name) for row in first for name in row))
    if (known := shape_of(names, first)) is not None:
        return not known.no_completions
    try:
        return bool(
            {"completion", "messages"}
            & recognise(names, peek=lambda name: [row.get(name) for row in first]).keys()
        )
    except SamplesError:
        return False


def _lists(value: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, Rows]]:
    """The lists of objects in a document, with their places."""
    for key, inner in value.items():
        place = f"{path}.{key}" if path else str(key)
        if _are(inner, dict):
            yield place, inner
        elif isinstance(inner, Mapping) and depth > 1:
            yield from _lists(inner, place, depth - 1)


def _are(value: Any, kind: type) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, kind) for one in value)


def _are_chats(value: Any) -> bool:
    """Whether a value is a list of conversations."""
    return _are(value, list) and all(chat_of(one) is not None for one in value)


def _is_number(name: Any) -> bool:
    return str(name).isdecimal()
