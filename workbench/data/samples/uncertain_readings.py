"""Notes on readings that the columns do not settle: two columns of one role, references and completions of another kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.data.samples.cell_contents import (
    are_chats,
    are_identifiers,
    are_models,
    are_numbers,
    are_records,
    are_texts,
)
from workbench.data.samples.column_names import ROLES, is_name_of, match_name, plain_name
from workbench.data.samples.plain import is_missing
from workbench.data.samples.proposals import Peek, column_by_terms, mapping_text, prompt_by_noun

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


def drop_other_things(
    matched: dict[str, str | None], mapping: Mapping[str, str | None], free: Sequence[str], peek: Peek
) -> None:
    """Take the next column of a role instead of one whose cells are something else, if there is one.

    `user` may be an account or its name, `assistant` the name of a model, `generation` a number. An account as an object is never a
    prompt, and a name of a model never the system prompt.

    Args:
        matched: Role to column, changed in place.
        mapping: Role to column name, as given by the user.
        free: The columns that the user did not map.
        peek: Returns a column's first cells.
    """
    for role in ("system", "prompt", "completion"):
        name = matched[role]
        if role in mapping or name is None or not _may_be_other(name, matched, peek):
            continue
        others = [one for one in free if one not in matched.values()]
        known = match_name(ROLES[role], others)
        if role == "system" or are_records(peek(name)):
            matched[role] = known
            continue
        by_terms = None if known else column_by_terms(role, others, peek)
        if (found := known or by_terms) and not _is_short(peek(found)):
            matched[role] = found
        elif role == "prompt" and any(are_chats(peek(one)) for one in others):
            matched[role] = None
    if "prompt" not in mapping and (name := matched["prompt"]) and are_identifiers(peek(name)):
        # The name of a prompt's version, next to what it was filled with.
        filled = match_name(ROLES["prompt"], [one for one in free if one != name])
        is_prose = filled is not None and are_texts(peek(filled)) and not are_identifiers(peek(filled))
        matched["prompt"] = filled if is_prose else name


def _may_be_other(name: str, matched: Mapping[str, str | None], peek: Peek) -> bool:
    """Whether cells of a role may be something else, by the name of their column."""
    cells, plain = peek(name), plain_name(name)
    if plain == "system":
        return are_models(cells)
    if plain == "generation":
        return are_numbers(cells)
    if plain == "user" and are_records(cells):
        return True
    both = {plain_name(matched["prompt"] or ""), plain_name(matched["completion"] or "")}
    return plain in ("user", "assistant") and not both >= {"user", "assistant"} and are_identifiers(cells)


def _is_short(cells: Sequence[Any]) -> bool:
    """Whether cells are names or numbers themselves, or all missing."""
    return are_identifiers(cells) or are_numbers(cells) or all(map(is_missing, cells))


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
    yield from _names_in_roles(names, roles, given, peek)
    for role in ("prompt", "completion"):
        # A column with exactly the role's name is meant, unless it has one text in all rows, such as an instruction.
        if role in roles and role not in given and not _is_certain(role, roles[role], peek):
            yield from _second_column(role, names, roles, peek)
    prompt = roles.get("prompt", "")
    is_known = is_name_of("prompt", prompt) or "prompt" in given
    if not is_known and (plain_name(prompt) in _SOURCES or prompt == prompt_by_noun([prompt], peek)):
        yield (
            f"column {prompt!r} is read as the prompt, because no other column is one; if it is not the prompt, switch it off: "
            "columns={'prompt': None}"
        )
    if "completion" in roles and "completion" not in given:
        references = peek(roles["reference"]) if "reference" in roles else ()
        yield from _no_text_of_model(roles["completion"], references, peek)
        if "reference" in roles and "reference" not in given:
            yield from _never_said(roles["reference"], roles["completion"], peek)


def _is_certain(role: str, name: str, peek: Peek) -> bool:
    cells = list(map(str, peek(name)))
    return plain_name(name) == role and (len(cells) < 2 or len(set(cells)) > 1)


def _names_in_roles(
    names: Sequence[str], roles: Mapping[str, str], given: frozenset[str], peek: Peek
) -> Iterator[str]:
    """A sentence for each column whose cells look like names, whether it has the role of its name or not."""
    for name in names:
        is_system = plain_name(name) == "system" and name not in roles.values() and "system" not in given
        if is_system and are_models(peek(name)):
            yield (
                f"column {name!r} is not read as the system prompt, because its cells look like names of models; to read it, map it: "
                f"{mapping_text({'system': name})}"
            )
    prompt, completion = roles.get("prompt", ""), roles.get("completion", "")
    is_single = plain_name(completion) != "assistant" and are_identifiers(peek(prompt) if prompt else ())
    if plain_name(prompt) == "user" and "prompt" not in given and is_single:
        yield (
            f"column {prompt!r} is read as the prompt, and its cells are single words; if they are names of accounts, switch it off: "
            "columns={'prompt': None}"
        )
    if plain_name(completion) not in ("assistant", "generation") or "completion" in given:
        return
    cells = peek(completion)
    free = [name for name in names if name not in roles.values()]
    has_texts = any(are_texts(peek(name)) and not are_identifiers(peek(name)) for name in free)
    if are_models(cells) or (are_numbers(cells) and has_texts):
        what = "numbers" if are_numbers(cells) else "names of models"
        yield f"completions in {completion!r} look like {what}; if they are none, map the completions: columns={{'completion': ...}}"


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
        and not are_identifiers(peek(other))
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


def _no_text_of_model(name: str, references: Sequence[Any], peek: Peek) -> Iterator[str]:
    """A sentence for completions that are names of files, or ratings of a judge, unless the references are such ones."""
    expected = [str(cell).strip() for cell in references if not is_missing(cell)]
    texts = [cell.strip() for cell in peek(name) if isinstance(cell, str) and cell.strip()]
    for pattern, what, way in (
        (_PATHS, "names of files or addresses", "read their contents, and pass them as the completions"),
        (
            _RATINGS,
            "ratings of a judge",
            "map the column of the completions that it rated: columns={'completion': ...}",
        ),
    ):
        are_expected = bool(expected) and all(map(pattern.fullmatch, expected))
        if texts and all(map(pattern.fullmatch, texts)) and not are_expected:
            yield f"completions in {name!r} are {what}; {way}"


def _never_said(reference: str, completion: str, peek: Peek) -> Iterator[str]:
    """A sentence for references that may be classes of their rows: they repeat, and no completion contains its row's one."""
    if plain_name(reference) not in _CLASSES:
        return
    pairs = [
        (str(cell).strip().casefold(), str(said).casefold())
        for cell, said in zip(peek(reference), peek(completion), strict=False)
        if isinstance(cell, str) and isinstance(said, str) and not is_missing(cell)
    ]
    repeat = len({cell for cell, _ in pairs}) < len(pairs)
    if repeat and not any(cell in said for cell, said in pairs):
        yield (
            f"column {reference!r} is read as the reference, and no completion contains its row's reference; if it is a class of the prompt or of "
            "the completion, switch it off: columns={'reference': None}"
        )
