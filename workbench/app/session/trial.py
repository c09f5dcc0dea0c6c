"""One conversation graded by all graders: rows by id or text, pasted messages, edited completions."""

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

from workbench.core import background
from workbench.core.errors import SamplesError
from workbench.core.grade import Grade
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples
from workbench.data.samples.column_names import ROLES
from workbench.graders import Entry, Grader
from workbench.graders.base import as_sample
from workbench.graders.rules.threads import reference_of
from workbench.judges.judge_run import JudgeRun, use_judge_run
from workbench.report.frames import row_texts

_SHAPE = '[{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}], or {"messages": [...], "reference": ..., "metadata": {...}}'


def find_rows(samples: Samples, query: str) -> list[int]:
    """The row with this id, else all rows whose texts contain these words, ascending.

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
            "no row has this id or contains these words",
            found=repr(query)[:120],
            expected=f"an id such as {ids[0]!r}" if ids else "",
        )
    return matches


def next_row(matches: Sequence[int], after: int) -> int:
    """The next of these rows (at least one) after a row; starts over after the last."""
    return next((row for row in matches if row > after), matches[0])


def place_of(samples: Samples, row: int, matches: Sequence[int]) -> str:
    """The position of a row, and of a match in a search, as text.

    Args:
        samples: All rows.
        row: Its number from 0; below 0 for messages that are not a row.
        matches: The rows that the last search found, ascending; empty without a search.
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
    """A random row.

    Raises:
        SamplesError: There are none.
    """
    if not len(samples):
        raise SamplesError("there are no samples to draw from")
    return random.randrange(len(samples))  # noqa: S311 (not a secret)


def paste(text: str) -> Sample:
    """A conversation from pasted JSON: a list of chat messages, or an object with `messages`.

    Raises:
        SamplesError: It is not such JSON; the error names the position.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SamplesError(
            "the pasted text is not valid JSON", where="Try", found=str(error)[:200], expected=_SHAPE
        ) from None
    document = data if isinstance(data, dict) else {"messages": data}
    messages, metadata = document.get("messages"), document.get("metadata") or {}
    if not isinstance(messages, list) or not messages or not isinstance(metadata, dict):
        raise SamplesError(
            "the pasted JSON contains no messages", where="Try", found=repr(data)[:120], expected=_SHAPE
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
    """The sample with another completion; one is added if the last turn is not the assistant's."""
    wire_turns, *other_fields = sample.thread.to_wire()
    turns = [(role, content) for role, content in wire_turns]
    if turns and turns[-1][0] == "assistant":
        turns[-1] = ("assistant", text)
    else:
        turns.append(("assistant", text))
    return replace(sample, thread=StringThread.from_wire((turns, *other_fields)))


def with_reference(sample: Sample, text: str, column: Any = None) -> Sample:
    """The sample with another reference, also in its metadata under its column's name.

    Args:
        sample: The sample.
        text: The reference.
        column: The column of the data with the references; None for none.
    """
    turns, metadata, *rest = sample.thread.to_wire()
    if isinstance(metadata, dict) and column in metadata:
        thread = StringThread.from_wire((turns, {**metadata, column: text}, *rest))
        return replace(sample, thread=thread, reference=text)
    return replace(sample, reference=text)


class Trial:
    """Graders at work on one conversation: results arrive one by one, those of an earlier request are dropped.

    Args:
        on_grade: Called with the name, the grader and its grade, on a background thread, with the lock held.
        lock: Protects `ask` and `stop`, so that no result arrives meanwhile; a new lock by default.
    """

    def __init__(
        self, on_grade: Callable[[str, Any, Grade], object], lock: AbstractContextManager[Any] | None = None
    ) -> None:
        self._on_grade = on_grade
        self._lock = threading.RLock() if lock is None else lock
        # Number of the request: a result that was too late to be cancelled is recognised as an earlier one's.
        self._question = 0
        self._under_way: dict[str, tuple[Any, Future[Grade]]] = {}

    def ask(
        self,
        sample: Sample,
        graders: Mapping[str, Grader | Entry],
        judge_run: JudgeRun | None = None,
    ) -> None:
        """Start graders; those at work continue and are not started twice. Call `stop` before another conversation.

        Args:
            sample: What is graded.
            graders: By name; an entry is graded as in its suite.
            judge_run: How judges send requests, so that cached replies cost nothing; by default each on its own.
        """
        for name, grader in graders.items():
            if name not in self._under_way:
                self._begin(name, grader, background.submit(_graded(grader, sample, judge_run)))

    def _begin(self, name: str, grader: Any, future: Future[Grade]) -> None:
        self._under_way[name] = (grader, future)
        background.then(future, partial(self._end, self._question, name, grader))

    def keep(self, graders: Mapping[str, Grader | Entry], same: Callable[[Any, Any], bool]) -> None:
        """Cancel the work of graders that have changed; the rest continues.

        Args:
            graders: By name, as currently defined.
            same: Whether two of them are identical.
        """
        for name, (grader, future) in list(self._under_way.items()):
            if not same(grader, graders.get(name)):
                del self._under_way[name]
                future.cancel()

    def stop(self) -> None:
        """Cancel all work in progress."""
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
