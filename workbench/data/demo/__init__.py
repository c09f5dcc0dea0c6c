"""Bundled demo data: four tasks, completions of scripted writers, known labels. `DATA_CARD.md` in this folder describes it.

Made by a program from a seed. No person labelled it and no language model wrote it. Three graders are typical first attempts,
each with a fault that the findings should name: one rejects every completion that shows its work, one accepts hedges and longer
numbers, one accepts the right words in any order. `workbench demo` captures and validates them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.thread import StringThread

if TYPE_CHECKING:
    import pandas as pd

    from workbench.data.samples import Samples

__all__ = ["GRADERS", "TASKS", "demo_frame", "demo_samples"]

TASKS = ("arithmetic", "extraction", "rag", "helpdesk")
"""The tasks, in the order of the file."""

_FILE = Path(__file__).with_name("samples.jsonl")


def demo_samples(task: str | None = None) -> Samples:
    """The demo data as samples; the same object each time, so that it is encoded once.

    The columns other than prompt, completion, expected, group and id are metadata of the threads: task, writer,
    truth (0 to 1), good, operator, claims and the scripted labels `sim_a` to `sim_c`, `sim_hard`.

    Args:
        task: One of `TASKS`; all rows without.

    Raises:
        ValueError: An unknown task.
    """
    if task is not None and task not in TASKS:
        raise ValueError(f"there is no demo task {task!r}; the tasks are {', '.join(TASKS)}")
    return _all() if task is None else _of_task(task)


def demo_frame(task: str | None = None) -> pd.DataFrame:
    """The demo data as a DataFrame with one row for each completion; a copy that may be changed.

    Args:
        task: One of `TASKS`; all rows without.

    Raises:
        ValueError: An unknown task.
    """
    return demo_samples(task).frame


@cache
def _all() -> Samples:
    from workbench.data.samples import Samples
    from workbench.data.samples.file_types import load_file

    return Samples(load_file(_FILE), source="demo data")


@cache
def _of_task(task: str) -> Samples:
    return _all().where(lambda frame: frame["task"] == task)


async def exact_match(thread: StringThread) -> float:
    """The completion equals the expected text exactly."""
    return (
        1.0
        if (thread.completion() or "").strip() == (thread.metadata or {}).get("expected", "").strip()
        else 0.0
    )


async def contains_expected(thread: StringThread) -> float:
    """The expected text is somewhere in the completion."""
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "") else 0.0


async def shares_words(thread: StringThread) -> float:
    """The share of the expected text's words that are in the completion."""
    expected = set(re.findall(r"\w+", (thread.metadata or {}).get("expected", "").lower()))
    completion_words = set(re.findall(r"\w+", (thread.completion() or "").lower()))
    return len(expected & completion_words) / len(expected) if expected else 0.0


GRADERS = (exact_match, contains_expected, shares_words)
