"""This server's responses to the example request of each form, computed by its graders when it starts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.core.errors import SandboxError
from workbench.core.grades import Grades
from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.rows import RewardRow
from workbench.deploy.serve.errors import RequestError
from workbench.deploy.serve.outcomes import Outcomes
from workbench.deploy.serve.scoring import Scoring
from workbench.deploy.serve.wire_form import WireForm
from workbench.graders.code.sandboxed import SandboxedGrader
from workbench.graders.combine import Entry
from workbench.graders.combine.combined import combine
from workbench.graders.rule_grader import RuleGrader

__all__ = ["ASKED", "MADE_UP", "Example", "Examples"]

_SECONDS = 5.0
"""Maximum seconds that the start of a server waits for examples."""
ASKED = "This server's response to the example."
MADE_UP = (
    "The shape of the response: the graders were not called for it, because that may be slow or cost money."
)
_REASONING = "The grader's reasoning."


@dataclass(frozen=True)
class Example:
    """The response to the example request of a form.

    Attributes:
        status: HTTP status.
        body: JSON values.
        graded: Whether this server's graders computed it; otherwise it has the response's shape, and a score of 1.0.
    """

    status: int
    body: Any
    graded: bool


class Examples:
    """The responses to the example requests, for the whole suite and for each grader.

    Code and rules are called once, by `ask`. Judges, endpoints and users' functions are not: they cost time or money;
    their responses are made up in the same shape.

    Args:
        forms: The wire forms.
        scoring: What grades.
        on_error: See `Outcomes`.
    """

    def __init__(
        self, forms: Sequence[type[WireForm]], scoring: Scoring, *, on_error: float | None = None
    ) -> None:
        self._forms, self._scoring, self._on_error = tuple(forms), scoring, on_error
        self._asked: dict[tuple[str, str], Example] = {}

    @property
    def of_suite(self) -> bool:
        """Whether the suite has one score and is called as a whole; otherwise only its graders are."""
        return self._scoring.reward.single

    def of(self, form: type[WireForm], only: str) -> Example:
        """The response to a form's example.

        Args:
            form: A wire form.
            only: The grader to call; "" for the suite.
        """
        if (form.path, only) in self._asked:
            return self._asked[form.path, only]
        try:
            rows = form().read(form.example)
            return _answer(form, rows, self._made_up(rows, only), graded=False)
        except Exception:  # noqa: BLE001 (a user's form with an invalid example)
            return Example(200, form.answer, graded=False)

    async def ask(self) -> None:
        """Call code and rules, for at most a few seconds; rows graded here are not counted."""
        whole = [""] if self.of_suite else []
        try:
            async with asyncio.timeout(_SECONDS):
                for only in [*whole, *(entry.name for entry in self._entries(""))]:
                    if all(_is_free(entry) for entry in self._entries(only)):
                        await self._ask(only)
        except (TimeoutError, SandboxError):
            pass  # slow graders: the pages then show made-up responses, marked as such
        finally:
            self._scoring.reward.reset()

    async def _ask(self, only: str) -> None:
        """Grade the examples of all forms in one call."""
        read = [(form, rows) for form in self._forms if (rows := _rows(form)) is not None]
        outcomes = await self._scoring.score([row for _, rows in read for row in rows], only=only)
        first = 0
        for form, rows in read:
            part = outcomes.part(first, len(rows))
            with contextlib.suppress(Exception):  # a user's form that cannot write it uses its own example
                self._asked[form.path, only] = _answer(form, rows, part, graded=True)
            first += len(rows)

    def _entries(self, only: str) -> list[Entry]:
        return [entry for entry in self._scoring.reward.suite.entries if not only or entry.name == only]

    def _made_up(self, rows: Sequence[RewardRow], only: str) -> Outcomes:
        """A score of 1.0 from every grader, and reasoning from those that give any."""
        reward, entries = self._scoring.reward, self._entries(only)
        parts = {entry.name: entry.apply(_ones(entry, len(rows))) for entry in entries}
        rule = None if only else reward.suite.combine
        graded = RewardGrades(rows, parts, combine(entries, parts, rule) if rule else None, 0.0)
        return Outcomes(graded, reward.column(graded)[2], reward.scores(graded), on_error=self._on_error)


def _is_free(entry: Entry) -> bool:
    return isinstance(entry.grader, SandboxedGrader | RuleGrader)


def _ones(entry: Entry, count: int) -> Grades:
    grades = Grades.empty(count)
    grades.put_scores(0, np.ones(count), seconds=0.0)
    grades.passed[:] = 1
    if entry.grader.family == "judges":
        grades.reasoning.update(dict.fromkeys(range(count), _REASONING))
    return grades


def _rows(form: type[WireForm]) -> list[RewardRow] | None:
    """The rows of a form's example; None if it cannot be parsed, which its author has to find."""
    try:
        return form().read(form.example)
    except Exception:  # noqa: BLE001 (a user's form)
        return None


def _answer(form: type[WireForm], rows: Sequence[RewardRow], outcomes: Outcomes, *, graded: bool) -> Example:
    try:
        return Example(200, form().write(form.example, rows, outcomes), graded)
    except RequestError as error:
        return Example(error.status, error.body, graded)
