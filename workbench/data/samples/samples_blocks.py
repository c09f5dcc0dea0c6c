"""A dataset as one line and as a table, and notes that users should read before they use it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.display import DisplayBlock, Paragraph, Parts, Span, TableBlock
from workbench.core.display_text import counted, one_line
from workbench.data.samples.column_names import ROLES, find_prediction, is_name_of
from workbench.data.samples.frame_columns import Rows
from workbench.data.samples.old_grades import are_scores, are_truth_values
from workbench.data.samples.plain import NotPlainError, plain
from workbench.data.samples.preference_pairs import PAIRS
from workbench.data.samples.proposals import could_be_read, mapping_text, may_be_answers, proposed
from workbench.data.samples.roles import is_own_object, looks_like_chat
from workbench.data.samples.row_texts import RowTexts
from workbench.data.samples.table import Table
from workbench.data.samples.uncertain_readings import uncertain_readings

MAX_TEXT = 200
"""Maximum characters of a cell: enough to recognise a row, few enough for a notebook page."""

_MAX_COLUMNS = 14


def as_line(rows: int, roles: Mapping[str, str], metadata: int, source: str) -> str:
    """One line that is the same for the same data in every session."""
    mapped = [f"{role}={name!r}" for role, name in roles.items()]
    extra = [counted(metadata, "metadata column")]
    origin = [f"from {source!r}"] if source else []
    return f"Samples({', '.join([counted(rows, 'row'), *mapped, *extra, *origin])})"


def samples_blocks(line: str, columns: Mapping[str, Sequence[Any]], *, total: int) -> Iterator[DisplayBlock]:
    """A table of the first rows.

    Args:
        line: The one-line form, for the caption.
        columns: Heading to cells.
        total: Total number of rows.
    """
    names = list(columns)[:_MAX_COLUMNS]
    rows = _rows(columns, names)
    yield Paragraph(Parts(Span(counted(total, "row")), " ", Span(line, "quiet")), "lead", limit=600)
    yield TableBlock(names, rows, numbers=_numbers(columns, names), limit=MAX_TEXT + 1)
    hidden_rows = total - len(rows)
    yield Paragraph(counted(hidden_rows, "more row") if hidden_rows else "", "quiet")


def _rows(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[list[str]]:
    lines = zip(*(columns[name] for name in names), strict=True)
    return [[_cell_text(cell) for cell in line] for line in lines]


def _numbers(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> set[int]:
    """Indices of the numeric columns, which are aligned to the right."""
    return {at for at, name in enumerate(names) if len(columns[name]) and all(map(_is_number, columns[name]))}


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool)


def _cell_text(value: Any) -> str:
    try:
        value = plain(value)
    except NotPlainError as error:
        return f"({error})"
    if value is None:
        return ""
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=repr)
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


_COUNTED = 100_000
"""Maximum rows in memory whose threads are built to count unreadable ones."""


def reading_line(samples: Any, table: Table) -> str:
    """What was taken for what, which columns became metadata, and how many prompts are empty, repeated or unreadable.

    Args:
        samples: A view of the table's rows.
        table: The table.
    """
    is_whole = len(samples) == len(table)
    shape = next((note for note in table.reading_notes if is_whole and note.startswith("read as ")), "")
    source = f"{one_line(table.source, 80)}: " if table.source else ""
    taken = ", ".join(f"{role} from {name!r}" for role, name in table.roles.items())
    used = set(table.roles.values())
    left = _as_metadata([str(name) for name in table.metadata if name not in used])
    old = [one_line(name, 40) for name in samples.old_grades]
    scores = f"old scores of {_few(old)}" if old else ""
    parts = [source + (shape or "; ".join(filter(None, (counted(len(samples), "row"), taken)))), left, scores]
    return "; ".join(filter(None, [*parts, *_prompt_counts(samples, table)]))


def _as_metadata(names: Sequence[str]) -> str:
    return f"metadata from {_few([repr(name) for name in names])}" if names else ""


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _prompt_counts(samples: Any, table: Table) -> Iterator[str]:
    """How many prompts there are, how many are empty, and how many rows cannot be read; not of lazily read data."""
    if table.data.is_lazy:
        yield "prompts are not counted, because rows are read on demand"
        return
    n = len(samples)
    if "group" in table.roles:
        yield counted(len(np.unique(samples.group_codes)), "group")
    elif table.roles.keys() & {"messages", "instruction", "prompt"}:
        distinct = len(np.unique(samples.group_codes))
        yield f"{counted(distinct, 'different prompt')}{f', {n - distinct:,} repeated' if distinct < n else ''}"
    if empty := RowTexts(table).blank_prompts(table.readable(samples.row_numbers)):
        yield f"{counted(empty, 'empty prompt')}"
    if n <= _COUNTED and (problems := len(samples.problems)):
        yield f"{counted(problems, 'unreadable row')}"


_MIN_ROWS = 10
"""Minimum rows for the note that all share one prompt: fewer are probably rollouts of one prompt."""
_LOOKED_AT = 50
"""Maximum columns without a role to inspect: each must be read from the file."""
_LISTED = 8
"""Maximum columns named in a note."""
_FIRST = 10_000
"""Maximum rows to inspect if all of them would have to be read for it."""
_MAX_ROWS = 2_000
"""Maximum rows whose prompts are compared: if these evenly spaced rows share one, comparing the others adds nothing."""


def dataset_notes(table: Table, rows: Rows) -> tuple[str, ...]:
    """Notes about some rows of a dataset, one sentence each; unreadable rows are excluded."""
    texts = RowTexts(table)
    readable = table.readable(rows[:_FIRST] if table.data.is_lazy else rows)
    reference = table.roles.get("reference", "")
    keys = () if "group" in table.roles else texts.prompt_keys(readable[_evenly(len(readable))])
    prompt_notes = _prompt_notes(texts.blank_prompts(readable), table.prompt_column, keys, len(readable))
    return (
        *table.reading_notes,
        *_role_notes(table),
        *_own_objects(table),
        *_chats_left_as_text(table),
        *prompt_notes,
        *_float_note(reference, is_float=table.reference_is_float),
    )


def _role_notes(table: Table) -> Iterator[str]:
    """Sentences for roles without a column, with the unassigned columns."""
    roles = table.roles
    if "completion" not in roles and "messages" not in roles:
        return  # a run refuses these rows with an error
    taken = set(roles.values())
    free = [name for name in table.column_names if name not in taken][:_LOOKED_AT]
    if (answer := roles.get("completion", "")).casefold() == "answer" and "completion" not in table.given:
        yield (
            f"column {answer!r} is read as the completion, because column {roles.get('reference', '')!r} is the reference; if it is "
            f"a reference, too, map the completions: columns={{'completion': ...}}"
        )
    yield from _other_prediction(table)
    if table.shape is None:
        yield from uncertain_readings(
            table.column_names[:_LOOKED_AT], roles, frozenset(table.given), table.first_cells
        )
    yield from _missing_prompt(table, free)
    yield from _ungraded_sides(table.column_names, roles)
    if label := table.verdict_column:
        yield (
            f"column {label!r} contains verdicts, such as pass and fail, so it is read as a label and not as the "
            f"reference: pass labels={label!r} to compare graders with it, or map it, if it is the reference: "
            f"columns={{'reference': {label!r}}}"
        )
    yield from _truth_values(table)
    yield from _missing_reference(table, [name for name in free if name != label])
    if "instruction" in roles and "prompt" not in roles and "context" in free:
        mapping = mapping_text({"instruction": roles["instruction"], "prompt": "context"})
        yield f"column 'context' is not in the prompt, which is the instruction alone; to add it, map it: {mapping}"


def _other_prediction(table: Table) -> Iterator[str]:
    """A sentence for lazily read predictions next to an `output`: in memory they would be the completions, if it does not contain them."""
    name = table.roles.get("completion", "")
    found = find_prediction(name, table.column_names)
    is_open = "completion" not in table.given and "reference" not in table.roles
    if found and table.data.is_lazy and is_open:
        yield (
            f"column {name!r} is read as the completion, and may be the reference of {found!r}; to grade that column, map it: "
            f"{mapping_text({'completion': found})}"
        )


def _missing_prompt(table: Table, free: Sequence[str]) -> Iterator[str]:
    is_found = bool(table.roles.keys() & {"prompt", "instruction", "messages"})
    if (free or table.is_batch) and not is_found and "prompt" not in table.given:
        requests = "; to add the requests of the batch: join='batch_input.jsonl'" if table.is_batch else ""
        yield f"no prompt was found, so judges that use one cannot grade these rows{_left_over(free, table, 'prompt')}{requests}"


def _truth_values(table: Table) -> Iterator[str]:
    """A sentence for references that are truth values, if completions are not: they may be verdicts on the completions."""
    name = table.roles.get("reference")
    if name is None or "reference" in table.given or not are_truth_values(table.first_cells(name)):
        return
    said = table.first_cells(table.roles["completion"]) if "completion" in table.roles else ()
    if not any(
        isinstance(cell, str) and cell.strip().casefold() in ("true", "false", "yes", "no") for cell in said
    ):
        yield (
            f"column {name!r}, which is read as the reference, contains truth values; if they are verdicts on the completions, "
            "switch it off: columns={'reference': None}"
        )


def _missing_reference(table: Table, free: Sequence[str]) -> Iterator[str]:
    if "reference" in table.roles or "reference" in table.given:
        return
    known = ROLES.keys() - {"reference"}
    others = [
        name for name in free if not any(is_name_of(role, name) for role in known) and not are_scores(name)
    ]
    could = [
        name
        for name in others
        if could_be_read(name, "reference", table.first_cells) or may_be_answers(name, table.first_cells)
    ]
    if could:
        yield f"no reference was found{_left_over(could, table, 'reference')}"


def _ungraded_sides(names: Sequence[str], roles: Mapping[str, str]) -> Iterator[str]:
    """A sentence for pair completions that stay columns: next to other completions, mapped by hand, or read lazily."""
    folded = {name.casefold(): name for name in reversed(names)}
    for pair in PAIRS:
        sides = [folded[side] for side in pair if side in folded]
        left = [name for name in sides if name not in roles.values()]
        if len(sides) == len(pair) and left:
            yield f"completions in {' and '.join(map(repr, left))} are not graded: they are columns of their rows"


def _left_over(names: Sequence[str], table: Table, role: str) -> str:
    """The columns that may be the right ones, and how to map one."""
    if not names:
        return ""
    listed = ", ".join(map(repr, names[:_LISTED])) + (
        f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    )
    found = proposed(names, table.first_cells, roles=(role,), taken=())
    mapping = mapping_text(found) if found else f"columns={{{role!r}: ...}}"
    return f"; unassigned: {listed}; to map one: {mapping}"


def _own_objects(table: Table) -> Iterator[str]:
    """Sentences for prompts and completions that are objects of an unknown shape: they are read as their JSON text."""
    for role in ("prompt", "completion"):
        name = table.roles.get(role)
        if name is None or table.data.is_text(name):
            continue
        cells = table.first_cells(name)
        own = next((cell for cell in cells if is_own_object(cell, role)), None)
        if own is not None:
            keys = f" with keys {', '.join(map(str, list(own)[:5]))}" if isinstance(own, Mapping) else ""
            yield f"column {name!r} contains {type(own).__name__}s{keys}: each is read as its JSON text, as the {role}"


def _chats_left_as_text(table: Table) -> Iterator[str]:
    """Sentences for texts that look like messages but are read literally, because not all texts of their column do."""
    for role, turns in (("prompt", "a prompt"), ("completion", "a completion")):
        cells = () if role in table.text_chats else table.deciding_cells(role)
        count = sum(map(looks_like_chat, cells))
        if count:
            name = table.prompt_column if role == "prompt" else table.roles[role]
            yield (
                f"{count:,} of the first {len(cells):,} cells of column {name!r} look like chat messages written as text, "
                f"but not every one is {turns} in messages: the column's texts are read literally"
            )


def _evenly(rows: int) -> NDArray[np.intp]:
    """At most 2,000 evenly spaced indices below the given number, including the first."""
    return np.unique(np.linspace(0, max(rows - 1, 0), min(rows, _MAX_ROWS)).astype(np.intp))


def _prompt_notes(empty: int | None, column: str, keys: Iterable[str | None], rows: int) -> tuple[str, ...]:
    """One sentence for prompts that are empty, and one for a prompt that all rows share.

    Args:
        empty: Number of cells of the prompt column that are missing or blank; None if turns are from other columns.
        column: That column's name.
        keys: What the rollouts of one prompt share, at the rows of `_evenly`, computed lazily; None for no
            prompt.
        rows: Number of rows.
    """
    return (*_empty_note(empty or 0, rows, column), *_shared_note(_shared(keys), rows))


def _float_note(column: str, *, is_float: bool) -> Iterator[str]:
    """A sentence for references that are whole numbers in a column of floats: 3 was read as 3.0."""
    if is_float:
        yield (
            f"all references (column {column!r}) are whole numbers stored as floats, so 3 is compared as '3.0'. If they "
            f"were written as integers, cast them: df[{column!r}] = df[{column!r}].astype('Int64')"
        )


def _empty_note(empty: int, rows: int, column: str) -> Iterator[str]:
    if empty:
        subject = f"all {rows:,} prompts are" if empty == rows else f"{empty:,} of {rows:,} prompts are"
        yield (
            f"{subject} empty (column {column!r}): graders and judges see no prompt there. "
            "If it is in another column, map it: columns={'prompt': ...}"
        )


def _shared(keys: Iterable[str | None]) -> tuple[str, int] | None:
    """The key of all rows and their number; None if two differ or there are few. Stops at the first that differs."""
    remaining_keys = iter(keys)
    shared_key = next(remaining_keys, None)
    if shared_key is None:
        return None
    count = 1
    for key in remaining_keys:
        if key != shared_key:
            return None
        count += 1
    return (shared_key, count) if count >= _MIN_ROWS else None


def _shared_note(shared: tuple[str, int] | None, rows: int) -> Iterator[str]:
    if shared is not None:
        prompt, count = shared
        subject = (
            f"all {counted(count, 'row')} have"
            if count == rows
            else f"{count:,} rows spread over all {rows:,} have"
        )
        yield (
            f"{subject} the same prompt, {one_line(prompt, 60)!r}: they count as completions of one "
            "prompt, so no interval can be computed. If there are several prompts, map the column that distinguishes them: "
            "columns={'prompt': ...} or columns={'group': ...}"
        )
