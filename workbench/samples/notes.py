"""What a person should know of the prompts of a dataset before its rows are counted as independent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.visible import counted, one_line

__all__ = ["prompt_notes"]

_FEWEST = 10
"""Rows from which one prompt for all is told: fewer are likely the rollouts of one prompt, tried out."""


def prompt_notes(prompts: Sequence[Any] | None, column: str, keys: Iterable[str | None]) -> tuple[str, ...]:
    """One sentence for prompts that are empty, and one for a prompt that all rows share.

    Args:
        prompts: The cells of the prompt column, (n,); None where turns come from elsewhere.
        column: That column's name.
        keys: What the rollouts of one prompt share, row by row, made as they are asked for; None for no prompt.
    """
    empty = sum(isinstance(prompt, str) and not prompt.strip() for prompt in prompts or ())
    shared = _shared(keys)
    return (*_empty_note(empty, len(prompts or ()), column), *_shared_note(shared))


def _empty_note(empty: int, rows: int, column: str) -> Iterable[str]:
    if empty:
        which = f"all {rows:,} prompts are" if empty == rows else f"{empty:,} of {rows:,} prompts are"
        yield (
            f"{which} empty (column {column!r}): graders and judges see no question there. "
            "If it stands in another column, map it: columns={'prompt': ...}"
        )


def _shared(keys: Iterable[str | None]) -> tuple[str, int] | None:
    """The key of all rows and their number; None where two differ or there are few. Stops at the first that differs."""
    rest = iter(keys)
    first = next(rest, None)
    if first is None:
        return None
    count = 1
    for key in rest:
        if key != first:
            return None
        count += 1
    return (first, count) if count >= _FEWEST else None


def _shared_note(shared: tuple[str, int] | None) -> Iterable[str]:
    if shared is not None:
        prompt, count = shared
        yield (
            f"all {counted(count, 'row')} have the same prompt, {one_line(prompt, 60)!r}: they count as answers to one "
            "prompt, so that no interval rests on more than one. If they answer several, map what tells them apart: "
            "columns={'prompt': ...} or columns={'group': ...}"
        )
