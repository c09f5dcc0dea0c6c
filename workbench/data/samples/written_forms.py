"""Forms that rows have only because of how they were written: lists as text, objects around one text, one role in two columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.display_text import counted
from workbench.core.errors import SamplesError
from workbench.data.samples.chats import data_in_text
from workbench.data.samples.column_names import find_prediction, is_name_of, plain_name
from workbench.data.samples.columns import LISTED_NAMES, frame_roles
from workbench.data.samples.envelopes import message_in, text_in
from workbench.data.samples.plain import is_missing
from workbench.data.samples.proposals import PEEKED, mapping_text
from workbench.data.samples.repeated_rows import cells_as_column, repeated
from workbench.data.samples.roles import COMPLETION_KEYS, PROMPT_KEYS
from workbench.data.samples.source_file import Loaded

Columns = Mapping[str, str | None] | None
"""Role to column name, as given by the user."""

_KEYS = {"prompt": PROMPT_KEYS, "completion": COMPLETION_KEYS, "reference": COMPLETION_KEYS}
"""Names of the text in an object of one text, by role."""
_UNITED = ("prompt", "completion")
"""Roles whose columns are united if no row has two of them."""
_EXPECTED = "expected_output"
"""New name of a column `output` that is the reference."""
_MAX_PIECE = 12
"""Maximum mean characters of the pieces of a streamed text."""


def without_written_forms(loaded: Loaded, columns: Columns, source: str) -> tuple[Loaded, tuple[str, ...]]:
    """Plain rows in memory without these forms, and a note on each; unchanged otherwise.

    A column that the user maps keeps its cells.

    Args:
        loaded: The rows, after tools' shapes were read.
        columns: Role to column name, as given by the user.
        source: Origin of the data, for errors.
    """
    frame = loaded.frame
    is_mapping = isinstance(columns, Mapping | None)  # otherwise the table constructor reports the error
    if not isinstance(frame, pd.DataFrame) or not is_mapping or loaded.shape is not None:
        return loaded, ()
    if frame.columns.nlevels > 1 or frame.columns.has_duplicates:
        return loaded, ()
    loaded, notes = _with_row_per_element(loaded, frame, columns or {}, source)
    frame = loaded.frame
    assert isinstance(frame, pd.DataFrame)
    for change in (
        _with_api_replies,
        _without_copy_of_chosen,
        _with_whole_outputs,
        _with_predictions,
        _with_joined_pieces,
        _with_responses,
        _with_lists,
        _with_united_columns,
        _with_texts_of_objects,
    ):
        frame, found = change(frame, columns or {})
        notes += found
    return replace(loaded, frame=frame), tuple(notes)


def _with_row_per_element(
    loaded: Loaded, frame: pd.DataFrame, columns: Mapping[str, str | None], source: str
) -> tuple[Loaded, list[str]]:
    """A row for each element if prompts and completions are lists of one length: a batch of a trainer in one line.

    Raises:
        SamplesError: The lists may also be the turns of one conversation each.
    """
    roles = {} if "messages" in columns else _roles(frame, {})
    names = [roles.get("prompt", ""), roles.get("completion", "")]
    if not all(names) or set(names) & set(columns.values()) or not len(frame):
        return loaded, []
    if not all(_listed(cell) for name in names for cell in frame[name].head(PEEKED)):
        return loaded, []
    asked, said = (list(map(_listed, frame[name])) for name in names)
    lengths = [len(one) if len(one) == len(other) else 0 for one, other in zip(asked, said, strict=True)]
    if not all(lengths) or max(lengths) == 1:
        return loaded, []
    every = {name: list(map(_listed, frame[name])) for name in frame.columns}
    lists = {name: column for name, column in every.items() if list(map(len, column)) == lengths}
    has_numbers = any(_are_numbers(lists[name]) for name in lists if name not in names)
    is_batch = has_numbers or all(len(set(map(repr, one))) < len(one) for one in asked)
    if not is_batch and all(isinstance(one, str) for cell in asked for one in cell):
        raise SamplesError(
            f"columns {names[0]!r} and {names[1]!r} contain lists of one length, which may be turns of one conversation or separate rows",
            where=source, found=f"{lengths[0]} texts in each list of the first row", expected="one prompt and one completion per row",
            hint="write a row for each prompt with its completion, or a column 'messages' with all turns of each conversation",
        )  # fmt: skip
    rows = np.repeat(np.arange(len(frame), dtype=np.intp), lengths)
    result = repeated(loaded, frame, rows)
    own = result.frame
    assert isinstance(own, pd.DataFrame)
    for name, column in lists.items():
        own[name] = cells_as_column([one for cell in column for one in cell], own.index)
    listed = ", ".join(repr(str(name)) for name in lists)
    note = (
        f"read {counted(len(frame), 'row')} with lists of one length in {listed} as {counted(len(rows), 'row')}, one per element of "
        "the lists"
    )
    return result, [note]


def _list_in(cell: Any) -> list[Any]:
    """The elements of a list or an array; none of any other cell."""
    value = cell.tolist() if isinstance(cell, np.ndarray) else cell
    return value if isinstance(value, list) else []


def _listed(cell: Any) -> list[Any]:
    """The elements of a list of texts, numbers or conversations; none of any other cell."""
    value = _list_in(cell)
    return [] if any(isinstance(one, dict) for one in value) else value


def _are_numbers(column: Sequence[Sequence[Any]]) -> bool:
    return all(isinstance(one, int | float) for cell in column for one in cell)


def _with_api_replies(
    frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the choices, or the parts, of an API's response next to its request as a column of completions."""
    if "completion" in columns or "response" in frame.columns or "messages" not in frame.columns:
        return frame, []
    for name, beside, wrap in _REPLIES:
        if not {name, *beside} <= set(frame.columns):
            continue
        cells = [wrap(objects) if objects else None for objects in map(_objects_in, frame[name])]
        if any(cell is not None for cell in cells) and "completion" not in _roles(frame, columns):
            found = cells_as_column(cells, frame.index)
            return frame.drop(columns=[name]).assign(response=found), [
                f"column {name!r} is read as the completion: responses of an API"
            ]
    return frame, []


_REPLIES: Sequence[tuple[str, tuple[str, ...], Callable[[list[Any]], dict[str, Any]]]] = (
    ("choices", (), lambda cell: {"object": "chat.completion", "choices": cell}),
    ("content", ("stop_reason",), lambda cell: {"role": "assistant", "content": cell}),
)
"""Parts of an API's response, the columns next to them, and the object that they are of."""


def _objects_in(cell: Any) -> list[Any]:
    """The choices, or the parts, in a list of only these; none of any other cell."""
    value = _list_in(cell)
    is_reply = all(isinstance(one, Mapping) and {"message", "type"} & one.keys() for one in value)
    return value if is_reply else []


def _without_copy_of_chosen(
    frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a pair without a column that repeats the chosen completion, which would be the only one that is graded."""
    if not {"chosen", "rejected"} <= set(frame.columns):
        return frame, []
    name = _roles(frame, columns).get("completion")
    if name not in ("response", "output") or not frame[name].map(repr).equals(frame["chosen"].map(repr)):
        return frame, []
    return frame.drop(columns=[name]), [f"column {name!r} is left out, because it repeats 'chosen'"]


def _with_predictions(
    frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows with an `output` next to a prediction as the reference.

    Unchanged if the prediction was extracted from it, or if the rows have a reference.
    """
    roles = _roles(frame, columns)
    name = roles.get("completion", "")
    found = find_prediction(name, list(map(str, frame.columns)))
    if not found or "reference" in roles or "reference" in columns or _EXPECTED in frame.columns:
        return frame, []
    both = [
        (cell, said)
        for cell, said in zip(frame[name].head(PEEKED), frame[found].head(PEEKED), strict=True)
        if isinstance(said, str)
    ]
    extracted = sum(isinstance(cell, str) and said.strip() in cell for cell, said in both)
    if not both or extracted * 2 > len(both):
        return frame, []
    note = (
        f"column {found!r} is read as the completion, and {name!r} as the reference, {_EXPECTED!r}; to grade {name!r}, map it: "
        f"{mapping_text({'completion': name})}"
    )
    return frame.rename(columns={name: _EXPECTED}), [note]


def _with_whole_outputs(
    frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows without a prediction that is much shorter than the model's output next to it, from which it was extracted."""
    name = _roles(frame, columns).get("completion", "")
    if plain_name(name) not in _EXTRACTED or "completion" in columns:
        return frame, []
    folded = {plain_name(str(other)): str(other) for other in reversed(list(frame.columns))}
    whole = next((folded[other] for other in _WHOLE if other in folded and folded[other] != name), "")
    texts = [cell for cell in frame[whole].head(PEEKED) if not is_missing(cell)] if whole else []
    if not texts or not all(isinstance(cell, str) for cell in texts):
        return frame, []
    short = [len(str(cell)) for cell in frame[name].head(PEEKED) if not is_missing(cell)]
    if not short or sum(map(len, texts)) * len(short) < _MUCH * sum(short) * len(texts):
        return frame, []
    note = (
        f"column {whole!r} is read as the completion, and {name!r} as what was extracted from it; to grade {name!r}, map it: "
        f"{mapping_text({'completion': name})}"
    )
    return frame.rename(columns={name: f"extracted.{name}"}), [note]


_EXTRACTED = ("prediction", "pred", "predict", "modelprediction", "generatedanswer", "modelanswer")
"""Names of completions that may be extracted from the model's output."""
_WHOLE = (
    "modeloutput",
    "modelresponse",
    "rawoutput",
    "rawresponse",
    "response",
    "output",
    "completion",
    "generation",
)
"""Names of the output that they are extracted from."""
_MUCH = 2
"""How many times longer the whole output is."""


def _with_joined_pieces(
    frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the pieces of a streamed text joined: short texts of which only some begin with a blank, or of which most end with one."""
    name = _roles(frame, columns).get("completion")
    if name is None or not all(map(_listed, frame[name].head(PEEKED))):
        return frame, []
    cells = list(map(_listed, frame[name]))
    later = [piece for cell in cells for piece in cell[1:]]
    if not later or not all(cells) or not all(isinstance(piece, str) for cell in cells for piece in cell):
        return frame, []
    starts = {piece[:1].isspace() for piece in later}
    is_open = all(map(_has_open_pieces, cells))
    if (
        (len(starts) < 2 and not is_open)
        or sum(map(len, later)) > _MAX_PIECE * len(later)
        or any(cell[0][:1].isspace() for cell in cells)
    ):
        return frame, []
    joined = cells_as_column(["".join(cell) for cell in cells], frame.index)
    note = (
        f"lists in {name!r} are read as the pieces of one text each; to read each piece as a completion, map it: "
        f"{mapping_text({'completion': name})}"
    )
    return frame.assign(**{name: joined}), [note]


def _has_open_pieces(cell: Sequence[str]) -> bool:
    """Whether most pieces before the last one end with a blank, and none repeats, as samples of a short text do."""
    ends = sum(piece.endswith(" ") for piece in cell[:-1])
    return len(cell) == len(set(cell)) and (len(cell) == 1 or ends * 2 > len(cell) - 1)


def _with_responses(frame: pd.DataFrame, columns: Mapping[str, str | None]) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the API's responses that are JSON texts of the completions as objects."""
    name = _roles(frame, columns).get("completion")
    found = None if name is None else _all_of(frame[name], _response_in)
    if name is None or found is None:
        return frame, []
    note = (
        f"texts in {name!r} are responses of an API, whose messages are read; to read each text unchanged, map it: "
        f"{mapping_text({'completion': name})}"
    )
    return frame.assign(**{name: cells_as_column(found, frame.index)}), [note]


def _response_in(cell: str) -> dict[str, Any] | None:
    """The object of a JSON text that is the response of an API."""
    if not cell.lstrip().startswith("{") or not any(f'"{key}"' in cell for key in ("choices", "candidates")):
        return None
    try:
        value = data_in_text(cell)
        return value if isinstance(value, dict) and message_in(value) is not None else None
    except ValueError:  # an EnvelopeError, too
        return None


def _with_lists(frame: pd.DataFrame, columns: Mapping[str, str | None]) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the lists of completions that CSV stores as text: JSON, or the repr of Python or numpy."""
    notes = []
    for name in frame.columns:
        if plain_name(str(name)) not in LISTED_NAMES or str(name) in columns.values():
            continue
        found = _all_of(frame[name], _texts_in)
        if found is not None:
            frame = frame.assign(**{str(name): cells_as_column(found, frame.index)})
            notes.append(
                f"texts in {str(name)!r} are lists of completions, which are read; to read each text as one completion, map it: "
                f"{mapping_text({'completion': str(name)})}"
            )
    return frame, notes


def _texts_in(cell: str) -> list[str] | None:
    """The texts of a list in a text; None for any other text."""
    if not cell.lstrip().startswith("["):
        return None
    try:
        value = data_in_text(cell)
    except ValueError:
        return None
    return value if isinstance(value, list) and value and all(isinstance(one, str) for one in value) else None


def _all_of(column: pd.Series[Any], convert: Callable[[str], Any]) -> list[Any] | None:
    """The cells of a column of texts after a conversion, which all of those that are there must allow; else None."""
    if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
        return None
    said = [cell for cell in column.head(PEEKED) if not is_missing(cell)]
    if not said or not all(isinstance(cell, str) and convert(cell) is not None for cell in said):
        return None
    cells = [convert(cell) if isinstance(cell, str) else cell for cell in column]
    lost = any(new is None and not is_missing(old) for new, old in zip(cells, column, strict=True))
    return None if lost else cells


def _roles(frame: pd.DataFrame, columns: Mapping[str, str | None]) -> dict[str, str]:
    """The roles of columns that the user did not map."""
    return {role: name for role, name in frame_roles(frame, columns).items() if role not in columns}


def _with_united_columns(
    frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows with a role's column completed by another one of that role, if no row has both: files that were put together."""
    notes = []
    roles = _roles(frame, columns) if len(frame.columns) > 1 else {}
    for role in _UNITED:
        name = roles.get(role)
        if name is None or "messages" in roles or "instruction" in roles:
            continue
        others = _others_of_role(frame, role, name, columns)
        if not others:  # a column is read for every row only if there is another one
            continue
        has = frame[name].map(lambda cell: not is_missing(cell)).to_numpy(bool)
        for other in others:
            also = frame[other].map(lambda cell: not is_missing(cell)).to_numpy(bool)
            if not also.any() or (has & also).any():
                continue
            notes.append(
                f"no row has both {name!r} ({counted(int(has.sum()), 'row')}) and {other!r} ({counted(int(also.sum()), 'row')}): both are "
                f"read as the {role}; to read one of them, map it: {mapping_text({role: name})}"
            )
            cells = [
                new if is_there else old
                for old, new, is_there in zip(frame[name], frame[other], also, strict=True)
            ]
            frame = frame.drop(columns=[other]).assign(**{name: cells_as_column(cells, frame.index)})
            has = has | also
    return frame, notes


def _others_of_role(
    frame: pd.DataFrame, role: str, name: str, columns: Mapping[str, str | None]
) -> list[str]:
    """The columns with a name of the role next to its own one, except those that the user maps."""
    taken = {name, *columns.values()}
    return [other for other in map(str, frame.columns) if other not in taken and is_name_of(role, other)]


def _with_texts_of_objects(
    frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows with the texts in objects that are JSON texts, if all prompts are: completions alone may be JSON that a model wrote."""
    roles = _roles(frame, columns)
    parsed = {
        role: _all_of(frame[roles[role]], partial(_text_in, keys=keys))
        for role, keys in _KEYS.items()
        if role in roles
    }
    found = {role: cells for role, cells in parsed.items() if cells is not None}
    if "prompt" not in found:
        return frame, []
    texts = {roles[role]: cells_as_column(cells, frame.index) for role, cells in found.items()}
    note = (
        f"cells of {', '.join(map(repr, texts))} are JSON texts of objects with one text each, which is read; to read the cells "
        f"unchanged, map them: {mapping_text({role: roles[role] for role in found})}"
    )
    return frame.assign(**texts), [note]


def _text_in(cell: str, keys: Sequence[str]) -> str | None:
    """The only text of an object that is a JSON text."""
    if not cell.lstrip().startswith("{"):
        return None
    try:
        value = data_in_text(cell)
    except ValueError:
        return None
    return text_in(value, keys) if isinstance(value, Mapping) else None
