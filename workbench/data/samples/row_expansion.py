"""Expands rows with several completions to one row each: lists of completions and API choices; pairs have their own module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.display_text import counted
from workbench.data.samples.chats import chat_of
from workbench.data.samples.columns import frame_roles
from workbench.data.samples.envelopes import unpacked
from workbench.data.samples.numbered_columns import with_listed
from workbench.data.samples.old_grades import are_scores, number_of
from workbench.data.samples.plain import NotPlainError, is_missing, plain
from workbench.data.samples.preference_pairs import without_pairs
from workbench.data.samples.repeated_rows import cells_as_column, group_names, repeated
from workbench.data.samples.roles import CellError, answer_in, completions_of, messages_of
from workbench.data.samples.source_file import Loaded

Columns = Mapping[str, str | None] | None
"""Role to column name, as given by the user."""


def expanded(loaded: Loaded, columns: Columns) -> tuple[Loaded, Columns, tuple[str, ...]]:
    """Rows with one completion each, the roles of their columns, and notes for the user.

    Lazily read data stay unchanged: there a cell with several completions fails its row.

    Args:
        loaded: The result of a reader.
        columns: Role to column name, as given by the user.
    """
    frame = loaded.frame
    is_mapping = isinstance(columns, Mapping | None)  # otherwise the table constructor reports the error
    if not isinstance(frame, pd.DataFrame) or not is_mapping:
        return loaded, columns, ()
    if frame.columns.nlevels > 1 or frame.columns.has_duplicates:
        return loaded, columns, ()
    loaded, of_columns = with_listed(loaded, columns or {})
    loaded = _with_chosen(loaded, columns or {})
    assert isinstance(loaded.frame, pd.DataFrame)
    loaded, of_pairs = without_pairs(loaded, loaded.frame, columns or {})
    loaded, columns, of_lists = _without_lists(loaded, columns)
    return loaded, columns, (*of_columns, *of_pairs, *of_lists)


_REJECTED = ("rejected", "rejected_message", "rejected_response", "rejected_output", "rejected_completion")
"""Columns of a rejected completion next to the chosen one, which is the row's completion or its last turn."""


def _with_chosen(loaded: Loaded, columns: Mapping[str, str | None]) -> Loaded:
    """Rows with a rejected completion and no column of the chosen one, with both as a pair; unchanged otherwise."""
    frame = loaded.frame
    assert isinstance(frame, pd.DataFrame)
    found = [name for name in _REJECTED if name in frame.columns]
    others = {"chosen", *(name.replace("rejected", "chosen") for name in found)}
    if len(found) != 1 or columns or others & set(map(str, frame.columns)):
        return loaded
    roles = frame_roles(frame)
    name = roles.get("messages", roles.get("completion"))
    if name is None or name not in frame.columns:
        return loaded
    own = frame.rename(columns={found[0]: "rejected"})
    if "messages" not in roles:
        return replace(loaded, frame=own.rename(columns={name: "chosen"}))
    chats = [_turns_before_last(cell) for cell in own[name]]
    own[name] = cells_as_column([before for before, _ in chats], own.index)
    own["chosen"] = cells_as_column([last for _, last in chats], own.index)
    return replace(loaded, frame=own)


def _turns_before_last(cell: Any) -> tuple[Any, Any]:
    """A conversation without its last turn, and that turn, if it is the assistant's; else the cell, and None."""
    try:
        chat = messages_of(cell)
    except (CellError, NotPlainError):
        return cell, None
    if not chat or chat[-1].get("role") != "assistant":
        return cell, None
    return chat[:-1], chat[-1:]


def _without_lists(loaded: Loaded, columns: Columns) -> tuple[Loaded, Columns, tuple[str, ...]]:
    frame = loaded.frame
    assert isinstance(frame, pd.DataFrame)
    name, roles = _completions(frame, columns)
    if name is None:
        return loaded, columns, ()
    cells = [_answers(cell, unpack="custom_id" in frame.columns) for cell in frame[name]]
    several = sum(len(cell) > 1 for cell in cells)
    if not several:
        return loaded, columns, ()
    rows = np.repeat(np.arange(len(frame), dtype=np.intp), [len(cell) for cell in cells])
    result = repeated(loaded, frame, rows)
    own = result.frame
    assert isinstance(own, pd.DataFrame)
    answers = [one for cell in cells for one in cell]
    own[name] = cells_as_column(list(map(answer_in, answers)), own.index)
    if any(
        answer_in(one) is not one for one in answers
    ):  # metadata next to their texts, such as the model and its scores
        own["choice_details"] = cells_as_column([_details(one) for one in answers], own.index)
    own = _with_details(_with_lists(own, frame, rows, [len(cell) for cell in cells]))
    own = _with_flags(own, [answer_in(one) for one in answers])
    told = _without_own_turn(own, roles, [len(cell) > 1 for cell in cells for _ in cell])
    count = next(free for free in ("choice", "choice_index", "completion_index") if free not in frame.columns)
    own[count] = [at for cell in cells for at in range(len(cell))]
    if not roles.keys() & {"group", "messages", "instruction", "prompt"} and "group" not in own.columns:
        own["group"] = group_names(frame, roles.get("id"), rows)
    note = (
        f"{counted(several, 'row')} with several completions in {str(name)!r}: all rows are read as {len(own):,}, one per "
        f"completion; the column {count!r} numbers them{told}"
    )
    # Its cells are no longer marked as completions.
    return replace(result, frame=own), {**(columns or {}), "completion": str(name)}, (note,)


def _with_flags(own: pd.DataFrame, answers: Sequence[Any]) -> pd.DataFrame:
    """The rows with a truth value in `chosen`, if `chosen` and `rejected` repeat two of the completions of each row."""
    if not {"chosen", "rejected"} <= set(own.columns):
        return own
    sides = [
        (_text_of(cell), _text_of(other)) for cell, other in zip(own["chosen"], own["rejected"], strict=True)
    ]
    known = {(chosen, rejected) for chosen, rejected in sides}
    if not all(isinstance(one, str) for pair in known for one in pair):
        return own
    flags = [
        True if answer == chosen else False if answer == rejected else None
        for answer, (chosen, rejected) in zip(answers, sides, strict=True)
    ]
    if all(flag is None for flag in flags):
        return own
    own = own.drop(columns=["chosen", "rejected"])
    own["chosen"] = cells_as_column(flags, own.index)
    return own


def _text_of(cell: Any) -> Any:
    """The text of a side: itself, or the text of its last message."""
    try:
        chat = None if isinstance(cell, str) or is_missing(cell) else chat_of(plain(cell))
    except NotPlainError:
        return None
    return chat[-1].get("content") if chat else cell


def _without_own_turn(own: pd.DataFrame, roles: Mapping[str, str], is_several: Sequence[bool]) -> str:
    """Remove the assistant's turn at the end of conversations that have several completions: those are its alternatives.

    Returns:
        The end of a note on it; "" if there is no such turn.
    """
    name = next((column for column in own.columns if str(column) == roles.get("messages")), None)
    if name is None:
        return ""
    cells, removed = list(own[name]), 0
    for at, (cell, several) in enumerate(zip(cells, is_several, strict=True)):
        try:
            chat = messages_of(cell) if several else None
        except (CellError, NotPlainError):
            continue  # the row's own fault
        if chat and chat[-1].get("role") == "assistant":
            cells[at], removed = chat[:-1], removed + 1
    own[name] = cells_as_column(cells, own.index)
    return f"; the last turn of {str(name)!r} is replaced by them" if removed else ""


def _completions(frame: pd.DataFrame, columns: Columns) -> tuple[Any, dict[str, str]]:
    """The completion column that may contain lists or objects, and the roles; None for none."""
    names = {str(name): name for name in frame.columns}
    roles = frame_roles(frame, columns)
    name = names[roles["completion"]] if "completion" in roles else None
    if name is None or frame[name].dtype != object:
        return None, roles
    kinds = set(map(type, frame[name]))
    is_batch = {"custom_id", "response"} <= names.keys()
    found = is_batch or any(issubclass(kind, list | tuple | dict | np.ndarray) for kind in kinds)
    return (name if found else None), roles


def _answers(cell: Any, *, unpack: bool) -> list[Any]:
    """The completions of a cell; a list of the cell itself if it contains one."""
    value = unpacked(cell) if unpack else cell
    if isinstance(value, str) or is_missing(value):
        return [cell]
    try:
        several = completions_of(plain(value))
    except NotPlainError:
        return [cell]
    return several if len(several) > 1 else [cell]


def _details(answer: Any) -> dict[str, Any] | None:
    """An object with one completion, without its text."""
    text = answer_in(answer)
    return None if text is answer else {key: value for key, value in answer.items() if value is not text}


def _with_lists(
    own: pd.DataFrame, frame: pd.DataFrame, rows: NDArray[np.intp], lengths: Sequence[int]
) -> pd.DataFrame:
    """The rows with the own element of lists of numbers that have one for each completion."""
    place = np.concatenate([np.arange(length) for length in lengths]).tolist() if lengths else []
    for name in frame.columns:
        cells = list(frame[name]) if frame[name].dtype == object else []
        if cells and all(
            _has_a_number_each(cell, length) for cell, length in zip(cells, lengths, strict=True)
        ):
            own[name] = cells_as_column(
                [cells[row][at] for row, at in zip(rows.tolist(), place, strict=True)], own.index
            )
    return own


def _has_a_number_each(cell: Any, length: int) -> bool:
    is_list = isinstance(cell, list | tuple | np.ndarray) and len(cell) == length
    return is_list and all(not isinstance(one, str) and number_of(one) is not None for one in cell)


def _with_details(own: pd.DataFrame) -> pd.DataFrame:
    """The rows with a column for each number among the details whose name is one for scores."""
    details = [cell if isinstance(cell, dict) else {} for cell in own.get("choice_details", ())]
    for name in dict.fromkeys(name for cell in details for name in cell):
        if (
            are_scores(str(name))
            and name not in own.columns
            and any(number_of(cell.get(name)) is not None for cell in details)
        ):
            own[name] = cells_as_column([cell.get(name) for cell in details], own.index)
    return own
