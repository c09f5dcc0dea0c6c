"""Whether a trainer's reward scores a row by the other rows of its batch: then it cannot be graded row by row.

Trainers call such functions with whole batches; here, and in files for other platforms, a row is graded by itself. The
function is called with some rows one by one and with all of them together; what differs for another reason, chance or
state, differs from call to call, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.errors import SandboxError
from workbench.packed import pack
from workbench.samples import Sample, Samples
from workbench.sandbox.host.limits import Limits, Program
from workbench.sandbox.host.pool import pool

__all__ = ["BATCHED", "BATCH_RELATIVE", "chosen_rows", "is_batch_relative", "mock_rows"]

BATCHED = frozenset({"openrlhf", "trl"})
"""Signatures of functions that take whole batches."""

BATCH_RELATIVE = (
    "a row's score depends on the other rows of its batch: together with them it gets another score than alone, and rows "
    "are graded one by one here; use it in its trainer only, or write one that scores each row by itself"
)

_ROWS = 6
"""Rows that are tried: three prompts with two answers each, where there are so many."""
_LOOKED_AT = 64
"""Rows among which they are chosen."""
_MAX_SECONDS = 60.0
"""Time the check may take, in seconds."""
_CALLS = 4
"""Calls for each row: alone and together, and both once more where they differ."""

_MOCK_ANSWERS = ("4", "The answer is 4, since two and two make four.", "5", "I do not know.")


def is_batch_relative(program: Program, rows: Sequence[Sequence[Any]]) -> bool:
    """Call a reward with rows one by one and together, in one worker; False where that shows nothing.

    Args:
        program: The reward.
        rows: Wire tuples with reference and id, see `row_columns.row_wire`.
    """
    if program.signature not in BATCHED or len(rows) < 2:
        return False
    seconds = min(_MAX_SECONDS, program.limits.row_seconds * _CALLS * 2)
    limits: Limits = replace(program.limits, row_seconds=seconds)
    check = replace(program, limits=limits, options={**program.options, "batch": [list(row) for row in rows]})
    try:
        outcome = pool().run(check, pack([rows[0]], extras=True), workers=1)
    except SandboxError:
        return False  # the run itself says so
    return bool(np.nan_to_num(outcome.grades.scores)[0] == 1.0)


def chosen_rows(samples: Samples) -> list[Sample]:
    """Rows of a dataset to try: with different answers, and several to a prompt where there are such."""
    found = samples[:_LOOKED_AT].read()
    groups: dict[str, dict[str | None, Sample]] = {}
    for sample in found:
        if isinstance(sample, Sample):
            groups.setdefault(sample.group, {}).setdefault(sample.thread.completion(), sample)
    pairs = [list(group.values())[:2] for group in groups.values()]
    fullest = sorted(pairs, key=len, reverse=True)
    return [sample for pair in fullest for sample in pair][:_ROWS]


def mock_rows(row: Sequence[Any]) -> list[tuple[Any, ...]]:
    """A row with several answers: where there are no rows yet."""
    turns = row[0]
    return [([*turns[:-1], ("assistant", answer)], *row[1:]) for answer in _MOCK_ANSWERS]
