"""What a wire form is: one file with a class for each path, found by being there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from workbench.discovery import refuse_taken
from workbench.rewards.rows import Row
from workbench.serve.outcomes import Outcomes

__all__ = ["WIRE_FORMS", "WireForm", "wire_form"]

T = TypeVar("T", bound="type[WireForm]")

WIRE_FORMS: dict[str, type[WireForm]] = {}
"""Every wire form by its path."""


def wire_form(cls: T) -> T:
    """Register a wire form under its path.

    Raises:
        ValueError: Two classes want one path.
    """
    refuse_taken("path", cls.path, WIRE_FORMS.get(cls.path), cls)
    WIRE_FORMS[cls.path] = cls
    return cls


class WireForm(ABC):
    """One request of a trainer or platform: `POST` of JSON, answered with JSON. It keeps nothing between requests.

    Attributes:
        path: Where it is asked, such as "/score".
        title: Whose it is.
        about: What is read of a request, in a sentence or two.
        recipe: How the trainer is told to ask here; HOST stands for the server's address.
        no_score: What a row without a score becomes.
        source: Where the form was read.
        request: JSON Schema of the request.
        response: JSON Schema of the answer.
        example: A request.
        answer: The answer to it, where the score is 1.0 and there is nothing else to say. Pages show what the server's own
            graders answer.
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
    def read(self, body: Any) -> list[Row]:
        """The rows of a request.

        Args:
            body: Its JSON.

        Raises:
            RequestError: It has another shape.
        """

    @abstractmethod
    def write(self, body: Any, rows: Sequence[Row], outcomes: Outcomes) -> Any:
        """The answer as JSON values.

        Args:
            body: The request's JSON.
            rows: As `read`.
            outcomes: One a row.

        Raises:
            RequestError: A row has no score, and the form has no word for that.
        """
