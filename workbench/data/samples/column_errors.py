"""Errors about columns: no recognised role, no completion, no row with one. Each names the columns and the next step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workbench.core.errors import SamplesError
from workbench.data.samples.column_names import ROLES, USABLE
from workbench.data.samples.proposals import (
    Peek,
    mapping_text,
    nested_chat,
    nested_texts,
    proposed,
    several_for,
)

_NAMED = 8
"""Maximum names of a role that an error lists."""


class UnmappedError(SamplesError):
    """No column of the data has a role that rows can be made of.

    Attributes:
        names: The columns.
    """

    def __init__(self, what: str, names: Sequence[str], **details: str) -> None:
        super().__init__(what, **details)
        self.names = tuple(names)


def no_usable(names: Sequence[str], source: str, peek: Peek | None) -> UnmappedError:
    """The error for columns of which none has a prompt, a completion or messages."""
    return UnmappedError(
        "no column contains a prompt, a completion or messages",
        names,
        where=source,
        found=listing(names),
        expected=_one_of(*USABLE),
        hint=_hint_for_unmapped(names, peek),
    )


def _hint_for_unmapped(names: Sequence[str], peek: Peek | None) -> str:
    separator = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if separator:
        return f"the file seems to be separated by {separator!r}, not by commas"
    if peek is not None and (found := proposed(names, peek, roles=("prompt", "completion"), taken=())):
        return _hint_for_completion(found)
    if len(names) > 1 and all(re.fullmatch(r"Unnamed: \d+|\s*", name) for name in names[1:]):
        return "the header seems to be below a title: delete the lines above it"
    if peek is not None and (hint := _hint_for_chats(names, peek)):
        return hint
    if len(names) > 1 and any(map(_is_sentence, names)):
        return "the first line seems to be a row: add a line of names above it, such as prompt and completion"
    return "map the columns with the prompts and the completions: columns={'prompt': ..., 'completion': ...}"


def _is_sentence(name: str) -> bool:
    return len(name.split()) > 2 and name.rstrip().endswith((".", "?", "!"))


def _one_of(*roles: str) -> str:
    """The most frequent names of some roles."""
    return "one of " + ", ".join(name for role in roles for name in ROLES[role][:_NAMED]) + " and others"


def _hint_for_completion(found: Mapping[str, str]) -> str:
    """The hint if there is no column of completions: a proposal, or a request to map one."""
    if "completion" in found:
        return f"if their content matches, map them: {mapping_text(found)}"
    return "if the rows have no completions yet, generate them first; else map their column: columns={'completion': ...}"


def _hint_for_chats(names: Sequence[str], peek: Peek) -> str:
    """The hint if a column contains conversations inside its objects; "" if none does."""
    path = nested_chat(names, peek)
    return (
        path and f"conversations are at {path!r}: write a row for each, with its turns in a column 'messages'"
    )


def no_completion(names: Sequence[str], roles: Mapping[str, str], source: str, peek: Peek) -> SamplesError:
    """The error for samples of which neither messages nor a completion column was recognised or mapped."""
    taken = tuple(roles.values())
    found = proposed(names, peek, roles=("completion",), taken=taken)
    return SamplesError(
        "no column was recognised as the completion, which is what graders score",
        where=source,
        found=listing(names),
        expected=_one_of("completion", "messages"),
        hint=_hint_for_completion(found) if found else _hint_for_candidates(names, peek, taken),
    )


def _hint_for_candidates(names: Sequence[str], peek: Peek, taken: Sequence[str]) -> str:
    """The hint if several columns, or texts in their objects, may be the completion, or none."""
    found = several_for("completion", names, peek, taken=taken) or nested_texts(names, peek, taken=taken)
    if len(found) > 1:
        return f"map the completions, which may be in {' or '.join(map(repr, found[:4]))}: columns={{'completion': ...}}"
    if found:
        return _hint_for_completion({"completion": found[0]})
    return _hint_for_chats(names, peek) or _hint_for_completion({})


def no_answers(rows: int, names: Sequence[str], roles: Mapping[str, str], source: str) -> SamplesError:
    """The error for samples without any completion: prompts alone."""
    held = next(roles[role] for role in ("completion", "messages") if role in roles)
    return SamplesError(
        "no row has a completion by the assistant, which is what graders score",
        where=source,
        found=f"{rows:,} rows whose column {held!r} ends without one; {listing(names)}",
        expected="a last turn of the assistant's (roles assistant, ai, model, gpt, bot, chatbot), or a column of completions",
        hint="generate completions for the prompts first, or map the column with the completions: columns={'completion': ...}",
    )


def listing(names: Sequence[str]) -> str:
    """The first names, for an error."""
    listed = ", ".join(repr(name) for name in names[:30])
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    return f"columns {listed}{more}" if names else "no columns at all"
