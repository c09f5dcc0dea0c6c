"""Notes on readings that the columns do not settle: two columns of one role, references and completions of another kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.data.samples.cell_contents import are_texts
from workbench.data.samples.column_names import is_name_of, plain_name
from workbench.data.samples.plain import is_missing
from workbench.data.samples.proposals import Peek, mapping_text, prompt_by_noun

_PATHS = re.compile(
    r"(?:[\w.-]+[\\/])+[\w.-]+\.\w{1,5}|(?:s3|gs|https?|file)://\S+|[\w-]+\.(?:txt|json|md|png|jpg|wav|mp3|mp4|html|pdf)"
)
"""Completions that are names of files, or addresses."""
_RATINGS = re.compile(r"\[\[[^\]\n]{1,20}\]\]")
"""Completions that are a judge's rating, such as `[[7]]`."""
_SOURCES = ("context", "history")
"""Names of prompts that may be what a prompt refers to."""
_CLASSES = ("label", "target")
"""Names of references that may be classes of the prompt or of the completion."""


def uncertain_readings(
    names: Sequence[str], roles: Mapping[str, str], given: frozenset[str], peek: Peek
) -> Iterator[str]:
    """A sentence for each reading for which another one is as likely.

    Args:
        names: The columns.
        roles: Role to column.
        given: The roles that the user mapped.
        peek: Returns a column's first cells.
    """
    for role in ("prompt", "completion"):
        if role in roles and role not in given:
            yield from _second_column(role, names, roles, peek)
    prompt = roles.get("prompt", "")
    is_known = is_name_of("prompt", prompt) or "prompt" in given
    if not is_known and (plain_name(prompt) in _SOURCES or prompt == prompt_by_noun([prompt], peek)):
        yield (
            f"column {prompt!r} is read as the prompt, because no other column is one; if it is none, switch it off: "
            "columns={'prompt': None}"
        )
    if "completion" in roles and "completion" not in given:
        yield from _no_text_of_model(roles["completion"], peek)
        if "reference" in roles and "reference" not in given:
            yield from _never_said(roles["reference"], roles["completion"], peek)


def _second_column(role: str, names: Sequence[str], roles: Mapping[str, str], peek: Peek) -> Iterator[str]:
    """A sentence for another column with a name of the role, whose texts the first one does not contain."""
    name, taken = roles[role], set(roles.values())
    cells = peek(name)
    others = [
        other
        for other in names
        if other not in taken
        and is_name_of(role, other)
        and not is_name_of("reference", other)
        and _is_another(cells, peek(other))
    ]
    if others:
        listed = " and ".join(map(repr, others))
        yield (
            f"column {name!r} is read as the {role}, and {listed} {'is' if len(others) == 1 else 'are'} not; to read another one, map it: "
            f"{mapping_text({role: others[0]})}"
        )


def _is_another(cells: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether most texts of a column neither contain those of another one nor are parts of them; texts of fewer than three characters do not count."""
    if not are_texts(cells) or not are_texts(others):
        return False
    pairs = [
        (cell.casefold(), other.casefold())
        for cell, other in zip(cells, others, strict=False)
        if isinstance(cell, str) and isinstance(other, str) and len(other.strip()) > _SHORT
    ]
    apart = sum(other.strip() not in cell and cell.strip() not in other for cell, other in pairs)
    return apart * 2 > len(pairs) and apart * 2 > len(cells)


_SHORT = 2


def _no_text_of_model(name: str, peek: Peek) -> Iterator[str]:
    """A sentence for completions that are names of files, or ratings of a judge."""
    texts = [cell.strip() for cell in peek(name) if isinstance(cell, str) and cell.strip()]
    for pattern, what, way in (
        (_PATHS, "names of files or addresses", "read their contents, and pass them as the completions"),
        (
            _RATINGS,
            "ratings of a judge",
            "map the column of the completions that it rated: columns={'completion': ...}",
        ),
    ):
        if texts and all(map(pattern.fullmatch, texts)):
            yield f"completions in {name!r} are {what}; {way}"


def _never_said(reference: str, completion: str, peek: Peek) -> Iterator[str]:
    """A sentence for references that may be classes of their rows: no completion contains its own one."""
    if plain_name(reference) not in _CLASSES:
        return
    pairs = [
        (str(cell).strip().casefold(), str(said).casefold())
        for cell, said in zip(peek(reference), peek(completion), strict=False)
        if isinstance(cell, str) and isinstance(said, str) and not is_missing(cell)
    ]
    if len(pairs) > 1 and not any(cell in said for cell, said in pairs):
        yield (
            f"column {reference!r} is read as the reference, and no completion contains its own one; if it is a class of the prompt or of "
            "the completion, switch it off: columns={'reference': None}"
        )
