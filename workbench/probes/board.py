"""Texts that replace rows' completions, and their grades: every pair of row and text once, many in one run."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.grade import ErrorKind
from workbench.core.grades import SCORED, Grades
from workbench.core.progress import OnProgress, Progress
from workbench.data.samples import Samples
from workbench.data.samples.roles import CellError, messages_of
from workbench.data.samples.row_view import ANY_ROW
from workbench.graders import CustomGrader, Grader
from workbench.graders.serialization import parts
from workbench.judges.budget import Budget
from workbench.report import Report
from workbench.run.part_run import RunSettings
from workbench.run.suite import Suite
from workbench.run.whole_run import run_suite

Pair = tuple[int, str | None]
"""A row's position among those drawn, and a text that replaces its completion; None for no completion."""

_MAX_OWN = 12
"""Maximum completions of the data that are graded in one row. Workbench limit."""

NOT_TRIED = frozenset(
    {
        ErrorKind.BUDGET, ErrorKind.CANCELLED, ErrorKind.PENDING, ErrorKind.SAMPLE, ErrorKind.SANDBOX, ErrorKind.STORE, ErrorKind.JUDGE_SERVER,
        ErrorKind.JUDGE_KEY, ErrorKind.JUDGE_LIMIT, ErrorKind.JUDGE_UNREACHABLE, ErrorKind.ENDPOINT,
    }
)  # fmt: skip
"""Errors that do not depend on the grader's judgement: the text counts as not graded."""


_ENDS = re.compile(r"\b_exit\(|\bos\.(?:abort|kill)\b")
"""Calls that no handler can catch: a grader that runs completions in this process would end it."""
_NOT_ENDED = (
    "Programs that end their process were not graded, since the grader's code runs in this process: "
    "CustomGrader(function, own_process=True) calls a function in another one."
)


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """A grader's result for one text.

    Attributes:
        score: NaN without one.
        passed: The grader's own verdict, None without one.
        error: Why it failed; "" if it did not.
        tried: Whether it was graded at all.
    """

    score: float
    passed: bool | None = None
    error: str = ""
    tried: bool = True


@dataclass
class Board:
    """One grader, rows, and every outcome so far.

    Attributes:
        suite: The grader as a suite of one, or a suite with a rule.
        samples: The rows drawn.
        budget: Remaining budget for judges; None for no limit.
        store: Where judges' replies are stored; None for no store.
        listen: Called with the number of graded texts.
        deadline: The time of `time.monotonic()` at which the last texts are graded; None for no limit.
        own: The completions that the data has for each row; () for only the row's own one.
        outcomes: By row and text.
    """

    suite: Suite
    samples: Samples
    budget: Budget | None = None
    store: Any = None
    listen: OnProgress | None = None
    own: tuple[tuple[str, ...], ...] = ()
    deadline: float | None = None
    outcomes: dict[Pair, ProbeOutcome] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stopped: bool = False
    is_late: bool = False
    _texts: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The grader's name in a report."""
        return self.suite.score_name

    def samples_text(self, row: int) -> str:
        """A row's own completion; "" if there is none."""
        if not self._texts:
            self._texts = [thread.completion() or "" for thread in self.samples.threads]
        return self._texts[row]

    def own_texts(self, row: int) -> tuple[str, ...]:
        """The completions that the data has for a row, its own first, at most `_MAX_OWN`."""
        own, text = self.own[row] if row < len(self.own) else (), self.samples_text(row)
        return tuple(dict.fromkeys(filter(None, (text, *own))))[:_MAX_OWN]

    @cached_property
    def _runs_here(self) -> bool:
        """Whether a function of the user is called in this process, which a program in a completion could end."""
        return any(part.runs_in_process for entry in self.suite.entries for part in parts(entry.grader))

    def grade(self, pairs: Iterable[Pair]) -> None:
        """Grade the pairs that have no grade yet, in one run."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.outcomes]
        if self._runs_here:
            new = self._without_ending(new)
        if not new or self.stopped:
            return
        report = self._run(new, self._heard)
        self.outcomes.update(zip(new, self._outcomes(report), strict=True))
        self._spend(report.grades.values(), sum(self.outcomes[pair].tried for pair in new))
        notes = [note for note in report.notes if not (self.is_late and note.startswith("Interrupted"))]
        self.notes += [note for note in notes if note not in self.notes]
        if self.is_late:
            self.stopped = True
            self.notes.append(
                "The time limit of the probe was reached: the findings are those of the texts graded so far."
            )
        self.stopped = self.stopped or any(
            note.startswith(("Interrupted", "Budget exhausted")) for note in report.notes
        )

    def _without_ending(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs whose text cannot end the process; the others count as not tried."""
        ending = [pair for pair in pairs if _ENDS.search(pair[1] or "")]
        self.outcomes |= dict.fromkeys(ending, ProbeOutcome(math.nan, tried=False))
        if ending and _NOT_ENDED not in self.notes:
            self.notes.append(_NOT_ENDED)
        return [pair for pair in pairs if pair not in self.outcomes]

    def changed(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Those of some graded pairs that get another score when they are graded again, in the opposite order."""
        backwards = [pair for pair in reversed(pairs) if pair in self.outcomes and self.outcomes[pair].tried]
        if not backwards or self.stopped:
            return []
        again = zip(backwards, self._outcomes(self._run(backwards, progress=False)), strict=True)
        return [pair for pair, outcome in again if repr(outcome.score) != repr(self.outcomes[pair].score)]

    def _run(self, pairs: Sequence[Pair], progress: bool | OnProgress) -> Report:
        texts = with_texts(self.samples, [row for row, _ in pairs], [text for _, text in pairs])
        # Rows without a completion are graded as well. `Suite.run` would print its notes: those of a probe are its own.
        settings = RunSettings(budget=self.budget, store=self.store)
        return run_suite(self.suite, texts.needing(ANY_ROW), progress, settings)

    def _outcomes(self, report: Report) -> list[ProbeOutcome]:
        grades = report.grades[self.name]
        return [_outcome(row, grades) for row in range(len(grades))]

    def _heard(self, progress: Progress) -> object:
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.is_late = True
            return False
        if self.listen is None:
            return True
        return self.listen(replace(progress, done=len(self.outcomes) + progress.done))

    def _spend(self, columns: Iterable[Grades], calls: int) -> None:
        if self.budget is None:
            return
        grades = list(columns)
        spent = {
            "money": float(np.nansum([np.nansum(one.cost) for one in grades])),
            "tokens": int(np.nansum([np.nansum(one.tokens) for one in grades])),
            "calls": calls,
        }
        left = {
            name: limit - spent[name] for name in spent if (limit := getattr(self.budget, name)) is not None
        }
        if any(value <= 0 for value in left.values()):
            self.stopped = True
            return
        self.budget = Budget(**left)


def _outcome(row: int, grades: Grades) -> ProbeOutcome:
    error = grades.errors.get(row)
    if error is not None:
        return ProbeOutcome(np.nan, None, f"{error.kind}: {error.message}"[:300], error.kind not in NOT_TRIED)
    if grades.codes[row] != SCORED:
        return ProbeOutcome(np.nan, None, "", tried=False)
    verdict = int(grades.passed[row])
    return ProbeOutcome(float(grades.scores[row]), None if verdict < 0 else bool(verdict))


def with_texts(
    samples: Samples, rows: Sequence[int], texts: Sequence[str | None], **columns: Sequence[Any]
) -> Samples:
    """Rows of samples with other completions, all else unchanged.

    Args:
        samples: The rows.
        rows: Positions, (m,); may repeat.
        texts: The completion of each, (m,); None for none.
        columns: Further columns, (m,) each, by name; a column of that name is replaced.
    """
    roles = samples.columns
    frame = samples.take(list(rows)).frame.reset_index(drop=True)
    if "messages" in roles:
        cells = frame[roles["messages"]].tolist()
        frame[roles["messages"]] = pd.Series(list(map(_answered, cells, texts)), dtype=object)
        if "completion" in roles:
            frame[roles["completion"]] = pd.Series([None] * len(frame), dtype=object)
    else:
        name = roles.get("completion", "completion")
        frame[name] = pd.Series(list(texts), dtype=object)
        roles = {**roles, "completion": name}
    for name, values in columns.items():
        frame[name] = pd.Series(list(values), dtype=object)
    missing = {role: None for role in ("reference", "group", "id") if role not in roles}
    return Samples(frame, columns={**missing, **roles}, source=samples.source)


def _answered(cell: Any, text: str | None) -> Any:
    """Chat messages with another completion at their end."""
    try:
        messages = list(messages_of(cell) or [])
    except CellError:
        return cell
    if messages and messages[-1].get("role") == "assistant":
        messages = messages[:-1]
    return messages if text is None else [*messages, {"role": "assistant", "content": text}]


_NEUTRAL = "Please reply."


def without_prompts(samples: Samples) -> Samples:
    """Rows whose every turn before the completion has the same text, all else unchanged."""
    roles = samples.columns
    frame = samples.frame.reset_index(drop=True)
    for role in ("messages", "prompt"):
        if role in roles:
            cells = frame[roles[role]].tolist()
            frame[roles[role]] = pd.Series(list(map(_neutral, cells)), dtype=object)
    return Samples(frame, columns=roles, source=samples.source)


def _neutral(cell: Any) -> Any:
    """A prompt, or chat messages, with another text in every turn."""
    if isinstance(cell, str):
        return _NEUTRAL
    try:
        messages = list(messages_of(cell) or [])
    except CellError:
        return cell
    return [{"role": message.get("role"), "content": _NEUTRAL} for message in messages]


def as_suite(grader: Any) -> Suite:
    """A grader, entry, suite or live function as a suite that gives one score per row.

    Raises:
        TypeError: Any other object.
        ValueError: A suite of several graders without a rule that combines their scores.
    """
    if isinstance(grader, Suite):
        if len(grader.entries) > 1 and grader.combine is None:
            names = ", ".join(entry.name for entry in grader.entries)
            raise ValueError(
                f"a suite of several graders has no single score to probe; probe each of {names}, or give the suite combine="
            )
        return grader
    if isinstance(grader, Grader) or hasattr(grader, "grader"):
        return Suite(grader)
    if callable(grader) and not isinstance(grader, type):
        return Suite(CustomGrader(grader))
    raise TypeError(
        f"wb.probe takes a grader or a suite, not {type(grader).__name__}; @wb.grader turns a function into one"
    )
