"""Wire forms: the base class and the register (one file per form, found by import), and the outcomes of a request's rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from workbench.core.discovery import refuse_taken
from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades
from workbench.deploy.reward.grading import RewardGrades
from workbench.deploy.reward.trainer_rows import RewardRow
from workbench.deploy.serve.http import no_score


@dataclass(frozen=True)
class Outcomes:
    """The rows of one request among those that were graded together with them.

    Attributes:
        graded: The grades of all of them.
        column: The grades of each row's single score.
        scores: The scores of this request's rows; None if there is no single score.
        first: Index in the graded rows of this request's first row.
        on_error: Score of a row without one, for forms that cannot represent a missing score; None for an error.
    """

    graded: RewardGrades
    column: Grades
    scores: list[float | None]
    first: int = 0
    on_error: float | None = None

    def part(self, first: int, count: int) -> Outcomes:
        """Those of some of the rows.

        Args:
            first: The first of them.
            count: How many.
        """
        return replace(self, scores=self.scores[first : first + count], first=self.first + first)

    @property
    def cut_off(self) -> bool:
        """Whether a row of the request was not graded because the workers were stopped, as at the server's end."""
        return self._first_error(ErrorKind.CANCELLED) is not None

    @property
    def lost(self) -> str | None:
        """Why a row of the request was not graded for a reason outside the row, such as a killed worker; None if all were."""
        error = self._first_error(ErrorKind.SANDBOX)
        return None if error is None else error.message

    def _first_error(self, kind: ErrorKind) -> GradeError | None:
        rows = range(self.first, self.first + len(self.scores))
        return next(
            (
                error
                for grades in self.graded.parts.values()
                for row, error in grades.errors.items()
                if row in rows and error.kind is kind
            ),
            None,
        )

    def number(self, row: int) -> float:
        """A row's score, or the score of rows without one.

        Raises:
            RequestError: It has none, and `on_error` is None.
        """
        score = self.scores[row]
        if score is not None:
            return score
        if self.on_error is not None:
            return self.on_error
        kind, why = self.why(row)
        raise no_score(self.graded.rows[self.first + row].name, kind, why)

    def numbers(self) -> list[float]:
        """Those of all rows."""
        return [self.number(row) for row in range(len(self.scores))]

    def why(self, row: int) -> tuple[str, str]:
        """Why a row has no score: the kind of failure or "skipped", and a sentence."""
        grade = self.column[self.first + row]
        if grade.error is not None:
            return str(grade.error.kind), _sentence(grade.error)
        return "skipped", f"skipped: {grade.reasoning or 'no reason given'}"

    def reasoning(self, row: int) -> str | None:
        """The grader's reasoning for a row."""
        return self.column.reasoning.get(self.first + row)

    def parts(self, row: int) -> dict[str, float | None]:
        """The scores of each grader, if there are several."""
        if len(self.graded.parts) < 2:
            return {}
        found = {name: grades.scores[self.first + row] for name, grades in self.graded.parts.items()}
        return {name: None if np.isnan(score) else float(score) for name, score in found.items()}

    def without_score(self, row: int) -> dict[str, float]:
        """For each grader, 1.0 in `<name>_failed` or `<name>_skipped` if it gave the row no score, else 0.0."""
        found = {}
        for name, grades in self.graded.parts.items():
            failed = self.first + row in grades.errors
            found[f"{name}_failed"] = float(failed)
            found[f"{name}_skipped"] = float(bool(np.isnan(grades.scores[self.first + row])) and not failed)
        return found


def _sentence(error: GradeError) -> str:
    """Kind and message, with the kind only once: a rule names it with each failed part, and a timeout in its message."""
    told = error.message if f"({error.kind}: " in error.message else str(error)
    return told.replace("timeout: timed out: ", "timeout: ")


NOTHING = Outcomes(RewardGrades((), {}, None, 0.0), Grades.empty(0), [])
"""Of a request without rows."""


T = TypeVar("T", bound="type[WireForm]")

WIRE_FORMS: dict[str, type[WireForm]] = {}
"""Every wire form by its path."""


def wire_form(cls: T) -> T:
    """Register a wire form under its path.

    Raises:
        ValueError: Two classes have the same path.
    """
    refuse_taken("path", cls.path, WIRE_FORMS.get(cls.path), cls)
    WIRE_FORMS[cls.path] = cls
    return cls


class WireForm(ABC):
    """One request of a trainer or platform: `POST` of JSON with a JSON response. It stores nothing between requests.

    Attributes:
        path: Its path, such as "/score".
        title: The trainer or platform.
        about: How a request is parsed, in a sentence or two.
        recipe: How to configure the trainer; HOST is replaced by the server's address.
        no_score: What the response has for a row without a score.
        source: Where the form is documented.
        request: JSON Schema of the request.
        response: JSON Schema of the response.
        example: A request.
        answer: The response to it if the score is 1.0 and there is no more to report. Pages show the response of the
            server's graders.
    """

    path: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    recipe: ClassVar[str]
    no_score: ClassVar[str]
    source: ClassVar[str]
    request: ClassVar[dict[str, Any]]
    response: ClassVar[dict[str, Any]]
    example: ClassVar[Any]
    answer: ClassVar[Any]

    @abstractmethod
    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request.

        Args:
            body: Its JSON.

        Raises:
            RequestError: It has another shape.
        """

    @abstractmethod
    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:
        """The response as JSON values.

        Args:
            body: The request's JSON.
            rows: As returned by `read`.
            outcomes: One per row.

        Raises:
            RequestError: A row has no score, and the form cannot represent that.
        """
