"""Expands rows with several completions to one row each: chosen and rejected sides, lists of completions, API choices."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.display_text import counted
from workbench.core.errors import SamplesError
from workbench.data.samples.chats import chat_of
from workbench.data.samples.columns import COMPLETION_NAMES, ROLES, recognise
from workbench.data.samples.envelopes import unpacked
from workbench.data.samples.plain import NotPlainError, is_missing, plain
from workbench.data.samples.proposals import PEEKED, are_completions, could_be_read
from workbench.data.samples.roles import (
    answer_in,
    answer_in_text,
    are_chat_texts,
    completions_of,
    joined_prompts,
)
from workbench.data.samples.source_file import Loaded
from workbench.data.samples.table import DECIDING_ROWS

PAIRS = (
    ("chosen", "rejected"),
    ("preferred_output", "non_preferred_output"),
    ("conversation_a", "conversation_b"),
    ("response_a", "response_b"),
    ("output_1", "output_2"),
)
"""Columns of two completions of one prompt; in the first two pairs the first completion is the better one."""

_ALPACA_TIE = 1.5
"""AlpacaEval's `preference`: below this value the first output was chosen, above it the second."""

_ALPACA = PAIRS[4]

_HH_TURN = re.compile(r"\n\n(Human|Assistant): ?")
"""Prefixes of turns in Anthropic's hh-rlhf."""


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
    loaded, of_pairs = _without_pairs(loaded, frame, columns or {})
    loaded, columns, of_lists = _without_lists(loaded, columns)
    return loaded, columns, (*of_pairs, *of_lists)


def _without_pairs(
    loaded: Loaded, frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[Loaded, tuple[str, ...]]:
    pair = _pair_of(frame, columns)
    roles = {} if pair is None else _roles_beside(frame, pair, columns)
    if pair is None or roles is None:
        return loaded, ()
    prompts = _prompts(frame, roles)
    sides = _sides(frame, pair, prompts)
    verdicts = _verdicts(frame, pair)
    rows = np.repeat(np.arange(len(frame), dtype=np.intp), 2)
    result = _repeated(loaded, frame, rows)
    own = result.frame
    assert isinstance(own, pd.DataFrame)
    own = own.drop(columns=list(pair))
    flag = next(
        name for name in _FLAGS if name not in own.columns and name not in columns.values()
    )  # roles mapped to another column are not reassigned
    is_whole = any(_has_user(cell) for side in sides for cell in side[:PEEKED])
    own["messages" if is_whole else "completion"] = _column(_alternating(*sides), own.index)
    own[flag] = _column([verdict for row in verdicts for verdict in row], own.index)
    groups = None if "group" in roles else _pair_groups(frame, roles, prompts, sides)
    if groups is not None:
        own["group"] = np.repeat(np.array(groups, object), 2)
    known = sum(first is not None for first, _ in verdicts)
    return replace(result, frame=own), (_pair_note(pair, len(frame), known, flag),)


_FLAGS = ("chosen", "is_chosen", "side_is_chosen", "this_side_is_chosen", "this_side_of_the_pair_is_chosen")
"""Candidate names for the column with the chosen side: the first unused one is taken."""


def _pair_note(pair: Sequence[Any], pairs: int, known: int, flag: str) -> str:
    """The note on expanded pairs, with the number of pairs whose chosen side is known."""
    read = f"{counted(pairs, 'pair')} of {str(pair[0])!r} and {str(pair[1])!r} read as {2 * pairs:,} rows"
    if not known:
        return f"{read}; the chosen side of none is known, so the column {flag!r} is empty"
    if known == pairs:
        return f"{read}; the column {flag!r} marks the chosen side"
    return f"{read}; the column {flag!r} marks the chosen side for {known:,} of the pairs, and is empty for the others"


def _pair_of(frame: pd.DataFrame, columns: Mapping[str, str | None]) -> tuple[Any, Any] | None:
    """The columns of two completions, if no single completion column is intended and neither has another role."""
    if "completion" in columns or "messages" in columns:
        return None
    folded = {str(name).casefold(): name for name in reversed(list(frame.columns))}
    if any(_are_answers(frame[name], str(name)) for key, name in folded.items() if key in COMPLETION_NAMES):
        return None
    for first, second in PAIRS:
        if first in folded and second in folded:
            pair = folded[first], folded[second]
            is_mapped = not {str(name) for name in pair}.isdisjoint(filter(None, columns.values()))
            if not is_mapped and all(_hold_answers(frame[name]) for name in pair):
                return pair
    return None


def _are_answers(cells: pd.Series[Any], name: str) -> bool:
    """Whether a column contains model completions, by its name; for an ambiguous name, by its cells."""
    if name.casefold() in ROLES["completion"]:
        return True
    first = list(cells.head(PEEKED))
    return are_completions(first) or could_be_read(name, "completion", lambda _: first)


def _roles_beside(
    frame: pd.DataFrame, pair: Sequence[Any], columns: Mapping[str, str | None]
) -> dict[str, str] | None:
    """The roles of the columns next to a pair; None if the mapping is invalid, which the table constructor reports."""
    names = {str(name): name for name in frame.columns if name not in pair}
    peek = {name: list(frame[own].head(PEEKED)) for name, own in names.items()}
    try:
        return recognise([*names, "completion"], columns, peek=lambda name: peek.get(name, []))
    except SamplesError:
        return None


def _prompts(frame: pd.DataFrame, roles: Mapping[str, str]) -> list[Any] | None:
    """The prompts next to a pair, None for those inside messages; None if there are none."""
    names = {str(name): name for name in frame.columns}
    found = {role: list(frame[names[roles[role]]]) for role in ("instruction", "prompt") if role in roles}
    if "instruction" in found:
        return joined_prompts(found["instruction"], found.get("prompt"))
    return found.get("prompt", [None] * len(frame) if "messages" in roles else None)


def _hold_answers(cells: pd.Series[Any]) -> bool:
    kinds = {type(cell) for cell in cells.head(PEEKED) if not is_missing(cell)}
    return bool(kinds) and all(issubclass(kind, str | list | tuple | dict | np.ndarray) for kind in kinds)


def _sides(frame: pd.DataFrame, pair: Sequence[Any], prompts: Sequence[Any] | None) -> list[list[Any]]:
    """The completions of both sides: texts with messages are parsed if the first rows of both columns contain messages."""
    cells = [list(frame[name]) for name in pair]
    first = [cell for side in cells for cell in side[:DECIDING_ROWS]]
    said = [cell for cell in first if isinstance(cell, str) and cell.strip()]
    read = (
        _hh_turns
        if said and all(map(_hh_turns, said))
        else partial(answer_in_text, has_prompt=False)
        if are_chat_texts(first, "completion")
        else None
    )
    asked = [None] * len(frame) if prompts is None else prompts
    return [
        [
            _text_side(cell, read, question, has_prompt=prompts is not None)
            if isinstance(cell, str)
            else _side(cell)
            for cell, question in zip(side, asked, strict=True)
        ]
        for side in cells
    ]


def _hh_turns(cell: str) -> list[Any] | None:
    """The turns of an hh-rlhf text; None for any other text."""
    turns = _HH_TURN.split(cell)
    if len(turns) < 2 or turns[0].strip():
        return None
    pairs = zip(turns[1::2], turns[2::2], strict=True)
    return [
        {"role": "user" if who == "Human" else "assistant", "content": said.strip()} for who, said in pairs
    ]


def _text_side(
    cell: str, read: Callable[[str], list[Any] | None] | None, question: Any, *, has_prompt: bool
) -> Any:
    """A text side; next to a prompt, messages may repeat it, and contain only turns of the assistant and tools otherwise."""
    chat = None if read is None else read(cell)
    if chat is None or not has_prompt:
        return chat or cell
    first = chat[0]
    is_repeated = (
        isinstance(question, str) and first["role"] == "user" and first["content"] == question.strip()
    )
    own = chat[1:] if is_repeated else chat
    return own if own and {turn["role"] for turn in own} <= {"assistant", "tool"} else cell


def _side(cell: Any) -> Any:
    """A completion of a pair that is not text: messages as a list, any other value unchanged."""
    try:
        return cell if is_missing(cell) else chat_of(plain(cell)) or cell
    except NotPlainError:
        return cell


def _has_user(cell: Any) -> bool:
    return isinstance(cell, list) and any(isinstance(one, dict) and one.get("role") == "user" for one in cell)


def _alternating(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [cell for both in zip(first, second, strict=True) for cell in both]


def _pair_groups(
    frame: pd.DataFrame, roles: Mapping[str, str], prompts: Sequence[Any] | None, sides: Sequence[list[Any]]
) -> list[str] | None:
    """What both sides of each pair share; None if the turns before their completions contain it."""
    before = [[_before(cell) for cell in side] for side in sides]
    is_said = prompts is not None or all(before[0])
    if is_said and before[0] == before[1]:
        return None
    names = _groups(frame, roles.get("id"), np.arange(len(frame), dtype=np.intp))
    asked = [None] * len(frame) if prompts is None else prompts
    return [
        question
        if isinstance(question, str) and question.strip()
        else json.dumps(turns, default=repr)
        if turns
        else name
        for question, turns, name in zip(asked, before[0], names, strict=True)
    ]


def _before(cell: Any) -> list[Any]:
    """The turns before a completion."""
    return cell[:-1] if isinstance(cell, list) and all(isinstance(one, Mapping) for one in cell) else []


Verdict = tuple[bool | None, bool | None]
"""Whether each side of a pair was chosen; None if unknown, or if neither was."""


def _verdicts(frame: pd.DataFrame, pair: Sequence[Any]) -> list[Verdict]:
    names = tuple(str(name).casefold() for name in pair)
    if names in PAIRS[:2]:
        return [(True, False)] * len(frame)
    folded = {str(name).casefold(): list(frame[name]) for name in reversed(list(frame.columns))}
    if "winner" in folded:
        return [_by_winner(cell, names) for cell in folded["winner"]]
    flags = [folded.get(f"winner_model_{side}") for side in "ab"]
    if flags[0] is not None and flags[1] is not None and names[0].endswith("_a"):
        return [_by_flags(*map(_is_set, both)) for both in zip(flags[0], flags[1], strict=True)]
    if names == _ALPACA and "preference" in folded:
        return [_by_preference(cell) for cell in folded["preference"]]
    return [(None, None)] * len(frame)


def _by_winner(cell: Any, names: Sequence[str]) -> Verdict:
    winner = str(cell).strip().casefold()
    wins = [winner in (name, f"model{name[-2:]}", name[-1]) for name in names]
    return _by_flags(*wins)


def _by_flags(first: bool, second: bool) -> Verdict:
    return (first, second) if first != second else (None, None)


def _is_set(cell: Any) -> bool:
    """Whether a cell is affirmative: True, 1, or one of these as text."""
    return not is_missing(cell) and str(cell).strip().casefold() in {"1", "1.0", "true"}


def _by_preference(cell: Any) -> Verdict:
    """AlpacaEval's scale, from 1 for the first output to 2 for the second."""
    try:
        value = float("nan") if is_missing(cell) else float(cell)
    except (TypeError, ValueError):
        return None, None
    return _by_flags(1 <= value < _ALPACA_TIE, _ALPACA_TIE < value <= 2)


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
    ):  # metadata next to their texts, such as the model and its scores
        own["choice_details"] = _column([_details(one) for one in answers], own.index)
    count = next(free for free in ("choice", "choice_index", "completion_index") if free not in frame.columns)
    own[count] = [at for cell in cells for at in range(len(cell))]
    if not roles.keys() & {"group", "messages", "instruction", "prompt"} and "group" not in own.columns:
        own["group"] = _groups(frame, roles.get("id"), rows)
    note = (
        f"{counted(several, 'row')} with several completions in {str(name)!r}: all rows are read as {len(own):,}, one per "
        f"completion; the column {count!r} numbers them"
    )
    # Its cells are no longer marked as completions.
    return replace(result, frame=own), {**(columns or {}), "completion": str(name)}, (note,)


def _completions(frame: pd.DataFrame, columns: Columns) -> tuple[Any, dict[str, str]]:
    """The completion column that may contain lists or objects, and the roles; None for none."""
    names = {str(name): name for name in frame.columns}
    try:
        roles = recognise(list(names), columns, peek=lambda name: list(frame[names[name]].head(PEEKED)))
    except SamplesError:
        return None, {}  # the table constructor reports the error
    name = names.get(roles.get("completion", ""))
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


def _groups(frame: pd.DataFrame, column: str | None, rows: NDArray[np.intp]) -> list[str]:
    """The group of one row's completions: its id, or its number."""
    names = (
        [str(row) for row in range(len(frame))] if column is None else [str(cell) for cell in frame[column]]
    )
    return [names[row] for row in rows.tolist()]


def _repeated(loaded: Loaded, frame: pd.DataFrame, rows: NDArray[np.intp]) -> Loaded:
    """The rows at these positions, with their lines and faults; renumbered if the index carries no information."""
    own = frame.iloc[rows]
    if frame.index.nlevels == 1 and frame.index.name is None:
        own = own.reset_index(drop=True)
    lines = None if loaded.lines is None else [loaded.lines[row] for row in rows.tolist()]
    faults = {at: loaded.faults[row] for at, row in enumerate(rows.tolist()) if row in loaded.faults}
    old = {name: [scores[row] for row in rows.tolist()] for name, scores in loaded.old.items()}
    return Loaded(own.copy(), lines, faults, old, loaded.shape)


def _column(cells: Sequence[Any], index: pd.Index[Any]) -> pd.Series[Any]:
    """Cells as separate objects: pandas would make a table of equally long lists."""
    values = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        values[at] = cell
    return pd.Series(values, index=index, dtype=object)
