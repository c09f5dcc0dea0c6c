"""One conversation, all graders, at once: rows by id or words, pasted messages, edited answers."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from workbench import background
from workbench.errors import SamplesError
from workbench.grade import Grade
from workbench.graders import Entry, Grader
from workbench.graders.base import as_sample
from workbench.graders.rules.threads import reference_of
from workbench.judges.asking.judge_run import JudgeRun, use_judge_run
from workbench.report.frames import row_texts
from workbench.samples import Sample, Samples
from workbench.samples.columns import ROLES
from workbench.thread import StringThread

__all__ = [
    "Trial",
    "find_rows",
    "next_row",
    "paste",
    "place_of",
    "random_row",
    "with_completion",
    "with_reference",
]

_SHAPE = '[{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}], or {"messages": [...], "reference": ..., "metadata": {...}}'


def find_rows(samples: Samples, query: str) -> list[int]:
    """The row with this id, else all rows whose texts hold these words, ascending.

    Raises:
        SamplesError: There is none.
    """
    ids = [str(name) for name in samples.ids]
    if query in ids:
        return [ids.index(query)]
    words = query.casefold()
    texts = row_texts(samples, np.arange(len(samples), dtype=np.intp))
    matches = [row for row, parts in enumerate(texts) if any(words in str(part).casefold() for part in parts)]
    if not words or not matches:
        raise SamplesError(
            "no row has this id or these words",
            found=repr(query)[:120],
            expected=f"an id such as {ids[0]!r}" if ids else "",
        )
    return matches


def next_row(matches: Sequence[int], after: int) -> int:
    """The next of these rows, of which there is one at least, after a row; it goes round."""
    return next((row for row in matches if row > after), matches[0])


def place_of(samples: Samples, row: int, matches: Sequence[int]) -> str:
    """Which row this is, and which match of a search, as a person reads it.

    Args:
        samples: All rows.
        row: Its number from 0; below 0 for messages that are no row.
        matches: The rows that a search found last, ascending; empty without a search.
    """
    if row < 0:
        return "pasted messages"
    place_text = f"row {row + 1:,} of {len(samples):,}"
    if row not in matches:
        return place_text
    if len(matches) == 1:
        return f"{place_text}: the only match"
    return f"{place_text}: match {matches.index(row) + 1:,} of {len(matches):,}"


def random_row(samples: Samples) -> int:
    """Any row.

    Raises:
        SamplesError: There are none.
    """
    if not len(samples):
        raise SamplesError("there are no samples to draw from")
    return random.randrange(len(samples))  # noqa: S311 (a row to look at, no secret)


def paste(text: str) -> Sample:
    """A conversation out of pasted JSON: a list of chat messages, or an object with `messages`.

    Raises:
        SamplesError: It is no such JSON; the place is named.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SamplesError(
            "the pasted text is no JSON", where="Try", found=str(error)[:200], expected=_SHAPE
        ) from None
    document = data if isinstance(data, dict) else {"messages": data}
    messages, metadata = document.get("messages"), document.get("metadata") or {}
    if not isinstance(messages, list) or not messages or not isinstance(metadata, dict):
        raise SamplesError(
            "the pasted JSON holds no messages", where="Try", found=repr(data)[:120], expected=_SHAPE
        )
    if "reference" in document:
        metadata = {**metadata, "reference": document["reference"]}
    try:
        thread = StringThread.from_messages(messages, metadata)
    except (TypeError, ValueError) as error:
        raise SamplesError(
            "the pasted messages cannot be read", where="Try", found=str(error)[:200], expected=_SHAPE
        ) from None
    reference = document.get("reference", reference_of(thread, ROLES["reference"]))
    return replace(as_sample(thread), id="pasted", reference=reference)


def with_completion(sample: Sample, text: str) -> Sample:
    """The sample with another last answer; one is added where the assistant has not spoken last."""
    wire_turns, *other_fields = sample.thread.to_wire()
    turns = [(role, content) for role, content in wire_turns]
    if turns and turns[-1][0] == "assistant":
        turns[-1] = ("assistant", text)
    else:
        turns.append(("assistant", text))
    return replace(sample, thread=StringThread.from_wire((turns, *other_fields)))


def with_reference(sample: Sample, text: str, column: Any = None) -> Sample:
    """The sample with another reference, also where its metadata has it under its column's name.

    Args:
        sample: The sample.
        text: The reference.
        column: The column of the data that holds references; None for none.
    """
    turns, metadata, *rest = sample.thread.to_wire()
    if isinstance(metadata, dict) and column in metadata:
        thread = StringThread.from_wire((turns, {**metadata, column: text}, *rest))
        return replace(sample, thread=thread, reference=text)
    return replace(sample, reference=text)


class Trial:
    """Graders at work on one conversation: results come one by one, those of an earlier question are dropped.

    Args:
        on_grade: Called with the name, the grader that was asked and its grade, on a thread of its own, with the lock held.
        lock: What `ask` and `stop` are called under, so that no result comes between; its own by default.
    """

    def __init__(
        self, on_grade: Callable[[str, Any, Grade], object], lock: AbstractContextManager[Any] | None = None
    ) -> None:
        self._on_grade = on_grade
        self._lock = threading.RLock() if lock is None else lock
        # Counts questions: by it a result that came too late to be cancelled is known to be an earlier one's.
        self._question = 0
        self._under_way: dict[str, tuple[Any, Future[Grade]]] = {}

    def ask(
        self,
        sample: Sample,
        graders: Mapping[str, Grader | Entry],
        judge_run: JudgeRun | None = None,
    ) -> None:
        """Ask graders; those at work go on, and are not asked twice. Another conversation begins with `stop`.

        Args:
            sample: What is graded.
            graders: By name; an entry of a suite is asked as the suite would.
            judge_run: How judges ask, so that answers out of a store cost nothing; each asks by itself without.
        """
        for name, grader in graders.items():
            if name not in self._under_way:
                self._begin(name, grader, background.submit(_graded(grader, sample, judge_run)))

    def _begin(self, name: str, grader: Any, future: Future[Grade]) -> None:
        self._under_way[name] = (grader, future)
        background.then(future, partial(self._end, self._question, name, grader))

    def keep(self, graders: Mapping[str, Grader | Entry], same: Callable[[Any, Any], bool]) -> None:
        """Give up what is under way of graders that are others now; the rest goes on.

        Args:
            graders: By name, as they are now.
            same: Whether two of them are the very same.
        """
        for name, (grader, future) in list(self._under_way.items()):
            if not same(grader, graders.get(name)):
                del self._under_way[name]
                future.cancel()

    def stop(self) -> None:
        """Give up what is under way."""
        self._question += 1
        for _, future in self._under_way.values():
            future.cancel()
        self._under_way = {}

    def _end(self, question: int, name: str, grader: Any, future: Future[Grade]) -> None:
        with self._lock:
            if question == self._question and self._under_way.get(name) == (grader, future):
                del self._under_way[name]
                self._on_grade(name, grader, future.result())


async def _graded(grader: Grader | Entry, sample: Sample, judge_run: JudgeRun | None) -> Grade:
    if judge_run is None:
        return await grader.grade(sample)
    with use_judge_run(judge_run):
        return await grader.grade(sample)
