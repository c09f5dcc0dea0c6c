"""Proposals for a role's column, by its name and content; never by its position."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.data.samples.chats import chat_of
from workbench.data.samples.envelopes import EnvelopeError, message_in
from workbench.data.samples.plain import NotPlainError, is_missing, plain
from workbench.data.samples.roles import completions_of

Peek = Callable[[str], Sequence[Any]]
"""The first cells of a column."""

PEEKED = 256
"""Cells of a column that are inspected."""

_MANY, _SHARE = 20, 0.1
"""Minimum number of texts, and maximum share of different ones, for texts to count as categories of rows."""

_MAX_ID = 200
"""Maximum characters of an id, an address or a number."""

VERDICTS = frozenset({
    "accept", "accepted", "bad", "correct", "fail", "failed", "false", "good", "incorrect", "pass", "passed", "reject",
    "rejected", "right", "true", "wrong",
})  # fmt: skip
"""Verdicts on a completion, in lower case."""

_WORDS = {
    "completion": frozenset({
        "answer", "answers", "assistant", "candidate", "completion", "generated", "generation", "hypothesis", "out", "output",
        "outputs", "pred", "prediction", "reply", "response", "responses", "sampled", "submission",
    }),
    "prompt": frozenset({
        "ask", "asked", "input", "inputs", "instruction", "problem", "prompt", "query", "question", "request",
    }),
    "reference": frozenset({
        "correct", "expected", "gold", "golden", "ideal", "label", "reference", "solution", "target", "truth",
    }),
}  # fmt: skip
"""Words in the name of a column to its possible role."""

_NEVER = frozenset({
    "annotator", "at", "author", "category", "context", "contexts", "cost", "count", "dataset", "date", "difficulty", "docs",
    "document", "documents", "domain", "error", "format", "generator", "hash", "id", "ids", "idx", "index", "key", "lang", "language", "len",
    "length", "name", "num", "number", "path", "rater", "score", "source", "sources", "split", "status", "subject", "tag", "tags",
    "time", "timestamp", "tokens", "topic", "ts", "tstamp", "type", "url", "uuid", "version", "worker", "writer",
})  # fmt: skip
"""Words in the name of a column with metadata about a row."""

_NO_PROSE = re.compile(
    r"[-+]?[\d.,]+(?:e[-+]?\d+)?%?|\d{4}-\d\d-\d\d.*|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|https?://\S+|true|false|(?:[^\W\d]|-)*\d[\w-]*",
    re.IGNORECASE,
)
"""Texts that are numbers, times, ids or addresses."""


def proposed(
    names: Sequence[str], peek: Peek, *, roles: Sequence[str], taken: Sequence[str]
) -> dict[str, str]:
    """Role to its proposed column, if name and content indicate exactly one.

    Args:
        names: The available columns.
        peek: Returns a column's first cells.
        roles: Those without a column, among prompt, completion and reference.
        taken: Columns that have a role already.
    """
    free = [name for name in names if name not in taken]
    found: dict[str, str] = {}
    for role in roles:
        fitting = [name for name in free if _is_named_for(name, role) and could_be_read(name, role, peek)]
        if len(fitting) == 1:
            found[role] = fitting[0]
    return found


def _is_named_for(name: str, role: str) -> bool:
    """Whether a column's name indicates this role, and no other one."""
    words = _words_of(name)
    speaks = {other for other, known in _WORDS.items() if words & known}
    if "reference" in speaks and role != "reference":
        return False
    return role in speaks and (speaks == {role} or role == "reference") and not words & _NEVER


def _words_of(name: str) -> frozenset[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return frozenset(re.findall(r"[a-z]+", spaced.casefold()))


def could_be_read(name: str, role: str, peek: Peek) -> bool:
    """Whether a column's cells fit that role: texts or messages; for references numbers, too; never ids, times, truth values."""
    if _words_of(name) & _NEVER:
        return False
    cells = [cell for cell in peek(name) if not is_missing(cell)]
    if not cells:
        return False
    if all(isinstance(cell, str) for cell in cells):
        is_prose = sum(map(_is_prose, cells))
        is_fitting = is_prose * 2 > len(cells) and (role == "prompt" or not _are_few(cells))
        return is_fitting or (role == "reference" and _is_named_for(name, role))
    if any(
        isinstance(cell, bool | dt.date | dt.time | dt.datetime) or type(cell).__name__ == "bool_"
        for cell in cells
    ):
        return False
    if role == "reference":
        return _is_named_for(name, role) and all(isinstance(cell, int | str) for cell in cells)
    return are_chats(cells) or (role == "completion" and are_completions(cells))


def _is_prose(cell: str) -> bool:
    text = cell.strip()
    # No id is longer.
    return len(text) > _MAX_ID or (bool(text) and _NO_PROSE.fullmatch(text) is None)


def _are_few(cells: Sequence[str]) -> bool:
    """Whether the texts of many rows have few different values, such as names of models or topics."""
    return len(cells) >= _MANY and len(set(cells)) <= _SHARE * len(cells)


def _plain(cells: Sequence[Any]) -> list[Any]:
    """The non-missing cells that have a plain form."""
    found = []
    for cell in cells:
        if not is_missing(cell):
            try:
                found.append(plain(cell))
            except NotPlainError:
                found.append(None)
    return found


def are_chats(cells: Sequence[Any]) -> bool:
    """Whether all cells are lists of messages."""
    values = _plain(cells)
    return bool(values) and all(isinstance(value, list) and chat_of(value) is not None for value in values)


def are_completions(cells: Sequence[Any]) -> bool:
    """Whether all cells are lists of completions, or API responses."""
    values = _plain(cells)
    return bool(values) and all(
        bool(completions_of(value)) if isinstance(value, list) else _is_api_answer(value) for value in values
    )


def _is_api_answer(value: Any) -> bool:
    try:
        return isinstance(value, Mapping) and message_in(value) is not None
    except EnvelopeError:
        return True  # of a request that failed


def are_requests(cells: Sequence[Any]) -> bool:
    """Whether all cells are API requests: objects with messages."""
    keys = ("messages", "contents", "input")
    values = _plain(cells)
    return bool(values) and all(
        isinstance(value, Mapping) and any(chat_of(value.get(key)) is not None for key in keys)
        for value in values
    )


def are_verdicts(cells: Sequence[Any], completions: Sequence[Any]) -> bool:
    """Whether the cells of a column `label` are verdicts on completions: truth values, or words such as pass and fail.

    Args:
        cells: The labels.
        completions: If completions are such words themselves, the column contains their expected values.
    """
    values = [cell for cell in cells if not is_missing(cell)]
    if not values:
        return False
    if all(isinstance(cell, bool) or type(cell).__name__ == "bool_" for cell in values):
        return True
    if not all(_is_verdict(cell) for cell in values):
        return False
    said = [cell for cell in completions if isinstance(cell, str) and cell.strip()]
    return not said or sum(map(_is_verdict, said)) * 2 < len(said)


def _is_verdict(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip().rstrip(".!").casefold() in VERDICTS


def mapping_text(columns: Mapping[str, str]) -> str:
    """A mapping as code to type."""
    return "columns={" + ", ".join(f"{role!r}: {name!r}" for role, name in columns.items()) + "}"
