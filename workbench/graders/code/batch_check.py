"""Check whether a trainer's reward scores a row by the other rows of its batch: then rows cannot be graded individually.

Trainers call such functions with whole batches; the workbench, and its files for other platforms, grade rows individually.
The function is called with some rows one by one and with all of them together; differences for another reason, chance or
state, also occur from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.core.errors import SandboxError
from workbench.data.packed import pack
from workbench.data.samples import Sample, Samples
from workbench.sandbox.host.limits import Limits, Program
from workbench.sandbox.host.pool import pool

__all__ = ["BATCHED", "BATCH_RELATIVE", "chosen_rows", "is_batch_relative", "mock_rows"]

BATCHED = frozenset({"openrlhf", "trl"})
"""Signatures of functions that receive whole batches."""

BATCH_RELATIVE = (
    "a row's score depends on the other rows of its batch, but rows are graded one by one here; use the function in its "
    "trainer only, or write one that scores each row independently"
)

_ROWS = 6
"""Rows for the check: three prompts with two completions each, if available."""
_LOOKED_AT = 64
"""Rows among which they are selected."""
_MAX_SECONDS = 60.0
"""Time limit of the check, in seconds."""
_CALLS = 4
"""Calls per row: alone and together, and both again if they differ."""

_MOCK_ANSWERS = ("4", "The result is 4, since two and two make four.", "5", "I do not know.")


def is_batch_relative(program: Program, rows: Sequence[Sequence[Any]]) -> bool:
    """Call a reward with rows one by one and together, in one worker; False if that is inconclusive.

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
        return False  # the run itself reports the error
    return bool(np.nan_to_num(outcome.grades.scores)[0] == 1.0)


def chosen_rows(samples: Samples) -> list[Sample]:
    """Rows of a dataset for the check: with different completions, and several per prompt if available."""
    found = samples[:_LOOKED_AT].read()
    groups: dict[str, dict[str | None, Sample]] = {}
    for sample in found:
        if isinstance(sample, Sample):
            groups.setdefault(sample.group, {}).setdefault(sample.thread.completion(), sample)
    pairs = [list(group.values())[:2] for group in groups.values()]
    fullest = sorted(pairs, key=len, reverse=True)
    return [sample for pair in fullest for sample in pair][:_ROWS]


def mock_rows(row: Sequence[Any]) -> list[tuple[Any, ...]]:
    """A row with several completions: used if there are no rows yet."""
    turns = row[0]
    return [([*turns[:-1], ("assistant", answer)], *row[1:]) for answer in _MOCK_ANSWERS]
