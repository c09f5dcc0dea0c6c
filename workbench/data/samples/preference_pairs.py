"""Preference pairs: two completions of one prompt become two rows of one group, with a column that marks the chosen one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.display_text import counted
from workbench.core.errors import SamplesError
from workbench.data.samples.cell_contents import are_completions
from workbench.data.samples.chat_templates import turns_of_template
from workbench.data.samples.chats import chat_of
from workbench.data.samples.column_names import ROLES, is_name_of, plain_name
from workbench.data.samples.columns import COMPLETION_NAMES, recognise
from workbench.data.samples.pair_verdicts import CHOSEN_FIRST, underscored, verdicts_of
from workbench.data.samples.plain import NotPlainError, is_missing, plain
from workbench.data.samples.proposals import PEEKED, could_be_read
from workbench.data.samples.repeated_rows import cells_as_column, group_names, repeated
from workbench.data.samples.roles import answer_in_text, are_chat_texts, joined_prompts
from workbench.data.samples.source_file import Loaded
from workbench.data.samples.table import DECIDING_ROWS

BASES = (
    "conversation", "response", "output", "answer", "completion", "summary", "generation", "assistant", "human_ref",
    "model_response", "model_output", "reply",
)  # fmt: skip
"""Names of a completion before the mark of its side."""
_SIDES = (("_a", "_b"), ("_1", "_2"), ("_0", "_1"), ("1", "2"), ("a", "b"))
_SIDED = tuple((f"{base}{first}", f"{base}{second}") for base, (first, second) in product(BASES, _SIDES))
"""Columns of two completions of which another column may name the better one."""

PAIRS = (*CHOSEN_FIRST, *_SIDED)
"""Columns of two completions of one prompt."""

_HH_TURN = re.compile(r"\n\n(Human|Assistant): ?")
"""Prefixes of turns in Anthropic's hh-rlhf."""


def without_pairs(
    loaded: Loaded, frame: pd.DataFrame, columns: Mapping[str, str | None]
) -> tuple[Loaded, tuple[str, ...]]:
    """The rows with both sides of each pair as rows, and a note on it; unchanged without a pair.

    Args:
        loaded: The rows.
        frame: Their frame.
        columns: Role to column name, as given by the user.
    """
    pair = _pair_of(frame, columns)
    roles = {} if pair is None else _roles_beside(frame, pair, columns)
    if pair is None or roles is None:
        return loaded, ()
    prompts = _prompts(frame, roles)
    sides = _sides(frame, pair, prompts)
    verdicts = verdicts_of(frame, pair)
    rows = np.repeat(np.arange(len(frame), dtype=np.intp), 2)
    result = repeated(loaded, frame, rows)
    own = result.frame
    assert isinstance(own, pd.DataFrame)
    moved = ""
    own, renamed = _with_sides(own.drop(columns=list(pair)), pair)
    if (
        "chosen" in own.columns
        and "winner" not in own.columns
        and "chosen" not in columns.values()
        and any(first is not None for first, _ in verdicts)
    ):
        own, moved = (
            own.rename(columns={"chosen": "winner"}),
            "; the file's own column 'chosen' is renamed 'winner'",
        )
    if any(name in renamed for name in columns.values()):
        own = own.rename(columns={new: old for old, new in renamed.items()})
    flag = next(
        name for name in _FLAGS if name not in own.columns and name not in columns.values()
    )  # roles mapped to another column are not reassigned
    is_whole = any(_has_user(cell) for side in sides for cell in side[:PEEKED])
    own["messages" if is_whole else "completion"] = cells_as_column(_alternating(*sides), own.index)
    own[flag] = cells_as_column([verdict for row in verdicts for verdict in row], own.index)
    groups = None if "group" in roles else _pair_groups(frame, roles, prompts, sides)
    if groups is not None:
        own["group"] = np.repeat(np.array(groups, object), 2)
    known = sum(first is not None for first, _ in verdicts)
    return replace(result, frame=own), (_pair_note(pair, len(frame), known, flag) + moved,)


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
    folded = {underscored(name): name for name in reversed(list(frame.columns))}
    if any(
        _are_answers(frame[name], str(name))
        for name in folded.values()
        if plain_name(str(name)) in COMPLETION_NAMES
    ):
        return None
    for first, second in PAIRS:
        if first in folded and second in folded and not _has_third(first, second, folded):
            pair = folded[first], folded[second]
            is_mapped = not {str(name) for name in pair}.isdisjoint(filter(None, columns.values()))
            if not is_mapped and all(_hold_answers(frame[name]) for name in pair):
                return pair
    return None


def _has_third(first: str, second: str, names: Mapping[str, Any]) -> bool:
    """Whether the columns are two of three or more, such as options to choose from."""
    if (first, second) not in _SIDED:
        return False
    after, before = chr(ord(second[-1]) + 1), chr(ord(first[-1]) - 1)
    if second[:-1] + after in names or first[:-1] + before in names:
        return True
    sides = [name.removeprefix("assistant") for name in (first, second)]
    return first.startswith("assistant") and all(
        f"user{side}" in names for side in sides
    )  # turns of a conversation


def _are_answers(cells: pd.Series[Any], name: str) -> bool:
    """Whether a column contains model completions, by its name; for an ambiguous name, by its cells."""
    if is_name_of("completion", name):
        return True
    first = list(cells.head(PEEKED))
    return are_completions(first) or could_be_read(name, "completion", lambda _: first)


def _roles_beside(
    frame: pd.DataFrame, pair: Sequence[Any], columns: Mapping[str, str | None]
) -> dict[str, str] | None:
    """The roles of the columns next to a pair; None if the mapping is invalid, which the table constructor reports."""
    labels = () if _folded(pair) in CHOSEN_FIRST else ("label", "labels")
    names = {
        str(name): name for name in frame.columns if name not in pair and str(name).casefold() not in labels
    }
    peek = {name: list(frame[own].head(PEEKED)) for name, own in names.items()}
    try:
        return recognise([*names, "completion"], columns, peek=lambda name: peek.get(name, []))
    except SamplesError:
        return None


def _folded(pair: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(underscored, pair))


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
        else turns_of_template
        if said and all(map(turns_of_template, said))
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
    names = group_names(frame, roles.get("id"), np.arange(len(frame), dtype=np.intp))
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


def _with_sides(own: pd.DataFrame, pair: Sequence[Any]) -> tuple[pd.DataFrame, dict[str, str]]:
    """The rows of both sides with one column for each two columns about the sides, such as `score_a` and `score_b`.

    Returns:
        The rows, and the new names of columns whose own name would be taken for a reference.
    """
    names = _folded(pair)
    is_named = "chosen" in names[0] and names[1] == names[0].replace("chosen", "rejected")
    words = ("chosen", "rejected") if is_named else (names[0][-1], names[1][-1])
    folded = {underscored(name): name for name in own.columns}
    for first, second, stem in _twins(folded, words, whole=is_named):
        if stem not in own.columns and stem not in _ROLE_NAMES:
            cells = [list(own[folded[name]]) for name in (first, second)]
            own[stem] = cells_as_column([cells[at % 2][at] for at in range(len(own))], own.index)
            own = own.drop(columns=[folded[first], folded[second]])
    label = folded.get("label", folded.get("labels"))
    if label is None or names in CHOSEN_FIRST:
        return own, {}
    return own.rename(columns={label: "label_of_pair"}), {str(label): "label_of_pair"}


_ROLE_NAMES = frozenset(name for names in ROLES.values() for name in names)


def _twins(names: Mapping[str, Any], words: Sequence[str], *, whole: bool) -> Iterator[tuple[str, str, str]]:
    """Columns about the first and the second side, with what they have in common."""
    first, second = words
    pattern = re.compile(
        rf"(?:(?<=[_.\- ])|^){first}(?=[_.\- ]|$)" if whole else rf"(?<=[_a-z])[_.\- ]?{first}$"
    )
    for name in names:
        match = pattern.search(name)
        if match is None:
            continue
        other = name[: match.start()] + match[0].replace(first, second) + name[match.end() :]
        stem = (name[: match.start()] + name[match.end() :]).strip("_.- ")
        stem = re.sub(r"[_.\- ]{2,}", "_", stem)
        if other != name and other in names and stem:
            yield name, other, stem
