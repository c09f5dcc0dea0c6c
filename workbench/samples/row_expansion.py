"""Rows that hold several answers, as a row an answer: chosen and rejected sides, lists of completions, an API's choices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.display_text import counted
from workbench.errors import SamplesError
from workbench.samples.chats import chat_in_text, chat_of
from workbench.samples.columns import recognise
from workbench.samples.envelopes import unpacked
from workbench.samples.plain import NotPlainError, is_missing, plain
from workbench.samples.proposals import PEEKED
from workbench.samples.roles import answer_in, completions_of
from workbench.samples.table import Loaded

__all__ = ["PAIRS", "expanded"]

PAIRS = (
    ("chosen", "rejected"),
    ("preferred_output", "non_preferred_output"),
    ("conversation_a", "conversation_b"),
    ("response_a", "response_b"),
    ("output_1", "output_2"),
)
"""Columns of two answers to one prompt; of the first two pairs the first answer is the better one."""

_ALPACA_TIE = 1.5
"""AlpacaEval's `preference`: below it the first output was chosen, above it the second."""

_HH_TURN = re.compile(r"\n\n(Human|Assistant): ?")
"""What turns begin with in Anthropic's hh-rlhf."""


Columns = Mapping[str, str | None] | None
"""Role to column name, as the user gave it."""


def expanded(loaded: Loaded, columns: Columns) -> tuple[Loaded, Columns, tuple[str, ...]]:
    """Rows of which each has one answer, the roles of their columns, and what a person should know of that.

    Data that are read as they are asked for stay as they are: a cell of several answers fails its row there.

    Args:
        loaded: What a reader handed over.
        columns: Role to column name, as the user gave it.
    """
    frame = loaded.frame
    if not isinstance(frame, pd.DataFrame) or frame.columns.nlevels > 1 or frame.columns.has_duplicates:
        return loaded, columns, ()
    loaded, of_pairs = _without_pairs(loaded, frame, columns or {})
    loaded, columns, of_lists = _without_lists(loaded, columns)
    return loaded, columns, (*of_pairs, *of_lists)


def _without_pairs(
    loaded: Loaded, frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[Loaded, tuple[str, ...]]:
    pair = _pair_of(frame, columns)
    if pair is None:
        return loaded, ()
    sides = [[_side(cell) for cell in frame[name]] for name in pair]
    is_whole = any(_has_user(cell) for side in sides for cell in side[:PEEKED])
    rows = np.repeat(np.arange(len(frame), dtype=np.intp), 2)
    result = _repeated(loaded, frame, rows)
    own = result.frame
    assert isinstance(own, pd.DataFrame)
    chosen = [verdict for row in range(len(frame)) for verdict in _verdicts(frame, pair, row)]
    own = own.drop(columns=list(pair))
    answers = [side[row] for row in range(len(frame)) for side in sides]
    name = "messages" if is_whole else "completion"
    own[name] = _column(answers, own.index)
    own["chosen"] = _column(chosen, own.index)
    note = (
        f"{counted(len(frame), 'pair')} of {pair[0]!r} and {pair[1]!r} read as {len(own):,} rows; "
        "the column 'chosen' says which side a row is"
    )
    return replace(result, frame=own), (note,)


def _pair_of(frame: pd.DataFrame, columns: Mapping[str, str | None]) -> tuple[Any, Any] | None:
    """The columns of two answers, where no column of one answer is meant."""
    if "completion" in columns or "messages" in columns:
        return None
    folded = {str(name).casefold(): name for name in reversed(list(frame.columns))}
    if any(name in folded for name in ("completion", "output", "response")):
        return None
    for first, second in PAIRS:
        if first in folded and second in folded:
            pair = folded[first], folded[second]
            if all(_hold_answers(frame[name]) for name in pair):
                return pair
    return None


def _hold_answers(cells: pd.Series[Any]) -> bool:
    kinds = {type(cell) for cell in cells.head(PEEKED) if not is_missing(cell)}
    return bool(kinds) and all(issubclass(kind, str | list | tuple | dict | np.ndarray) for kind in kinds)


def _side(cell: Any) -> Any:
    """An answer of a pair: hh-rlhf's text as messages, messages as a list, anything else as it is."""
    if isinstance(cell, str):
        turns = _HH_TURN.split(cell)
        if len(turns) > 1 and not turns[0].strip():
            pairs = zip(turns[1::2], turns[2::2], strict=True)
            return [
                {"role": "user" if who == "Human" else "assistant", "content": said.strip()}
                for who, said in pairs
            ]
        try:
            chat = chat_in_text(cell)
        except ValueError:
            return cell
        return cell if chat is None else chat
    try:
        return cell if is_missing(cell) else chat_of(plain(cell)) or cell
    except NotPlainError:
        return cell


def _has_user(cell: Any) -> bool:
    return isinstance(cell, list) and any(isinstance(one, dict) and one.get("role") == "user" for one in cell)


def _verdicts(frame: pd.DataFrame, pair: Sequence[Any], row: int) -> tuple[bool | None, bool | None]:
    """Whether each side of a pair was chosen; None where nothing says, or neither was."""
    first, second = (str(name).casefold() for name in pair)
    if (first, second) in PAIRS[:2]:
        return True, False
    if "winner" in frame.columns:
        winner = str(frame["winner"].iloc[row]).casefold()
        wins = [winner in (side, f"model{side[-2:]}", side[-1]) for side in (first, second)]
        return (wins[0], wins[1]) if any(wins) else (None, None)
    preference = frame["preference"].iloc[row] if "preference" in frame.columns else None
    if isinstance(preference, int | float) and not is_missing(preference) and preference != _ALPACA_TIE:
        return preference < _ALPACA_TIE, preference > _ALPACA_TIE
    return None, None


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
    result = _repeated(loaded, frame, rows)
    own = result.frame
    assert isinstance(own, pd.DataFrame)
    answers = [one for cell in cells for one in cell]
    own[name] = _column(list(map(answer_in, answers)), own.index)
    if any(
        answer_in(one) is not one for one in answers
    ):  # what stands beside their texts, such as the model and its scores
        own["choice_details"] = _column([_details(one) for one in answers], own.index)
    count = next(free for free in ("choice", "choice_index", "completion_index") if free not in frame.columns)
    own[count] = [at for cell in cells for at in range(len(cell))]
    if not roles.keys() & {"group", "messages", "instruction", "prompt"} and "group" not in own.columns:
        own["group"] = _groups(frame, roles.get("id"), rows)
    note = (
        f"{counted(several, 'row')} with several completions in {str(name)!r}: all rows are read as {len(own):,}, one a "
        f"completion; the column {count!r} numbers them"
    )
    # Its cells no longer say that they are completions.
    return replace(result, frame=own), {**(columns or {}), "completion": str(name)}, (note,)


def _completions(frame: pd.DataFrame, columns: Columns) -> tuple[Any, dict[str, str]]:
    """The column of completions, where one of its cells may be a list or an object, and the roles; None for none."""
    names = {str(name): name for name in frame.columns}
    try:
        roles = recognise(list(names), columns, peek=lambda name: list(frame[names[name]].head(PEEKED)))
    except SamplesError:
        return None, {}  # whoever makes the table of it says why
    name = names.get(roles.get("completion", ""))
    if name is None or frame[name].dtype != object:
        return None, roles
    kinds = set(map(type, frame[name]))
    is_batch = {"custom_id", "response"} <= names.keys()
    found = is_batch or any(issubclass(kind, list | tuple | dict | np.ndarray) for kind in kinds)
    return (name if found else None), roles


def _answers(cell: Any, *, unpack: bool) -> list[Any]:
    """The completions of a cell, a list of itself where it holds one."""
    value = unpacked(cell) if unpack else cell
    if isinstance(value, str) or is_missing(value):
        return [cell]
    try:
        several = completions_of(plain(value))
    except NotPlainError:
        return [cell]
    return several if len(several) > 1 else [cell]


def _details(answer: Any) -> dict[str, Any] | None:
    """An object round an answer without the answer."""
    text = answer_in(answer)
    return None if text is answer else {key: value for key, value in answer.items() if value is not text}


def _groups(frame: pd.DataFrame, column: str | None, rows: NDArray[np.intp]) -> list[str]:
    """What the answers of one row share: its id, or its number."""
    names = (
        [str(row) for row in range(len(frame))] if column is None else [str(cell) for cell in frame[column]]
    )
    return [names[row] for row in rows.tolist()]


def _repeated(loaded: Loaded, frame: pd.DataFrame, rows: NDArray[np.intp]) -> Loaded:
    """The rows at these positions, with their lines and faults; numbered anew where the index said nothing."""
    own = frame.iloc[rows]
    if frame.index.nlevels == 1 and frame.index.name is None:
        own = own.reset_index(drop=True)
    lines = None if loaded.lines is None else [loaded.lines[row] for row in rows.tolist()]
    faults = {at: loaded.faults[row] for at, row in enumerate(rows.tolist()) if row in loaded.faults}
    return Loaded(own.copy(), lines, faults)


def _column(cells: Sequence[Any], index: pd.Index[Any]) -> pd.Series[Any]:
    """Cells as objects, one by one: pandas would make a table of equally long lists."""
    values = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        values[at] = cell
    return pd.Series(values, index=index, dtype=object)
