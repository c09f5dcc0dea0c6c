"""Wire forms: one file per form with a class for each path, found by import."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from workbench.core.discovery import refuse_taken
from workbench.deploy.reward.rows import RewardRow
from workbench.deploy.serve.outcomes import Outcomes

__all__ = ["WIRE_FORMS", "WireForm", "wire_form"]

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
