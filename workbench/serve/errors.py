"""Requests that are answered with an error: a status and JSON that says what was wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["NO_SCORE_STATUS", "RequestError", "no_score", "sandbox_lost", "stopping"]

NO_SCORE_STATUS = 422
"""Status of a row without a score, for forms that have no word for that: the request was understood, and it is no outage,
so that a proxy in between does not try again by itself."""


class RequestError(Exception):
    """A request that gets no result.

    Args:
        status: HTTP status.
        kind: One word for programs, such as "busy".
        message: A sentence for people.
        headers: More headers of the answer, such as `retry-after`.
        more: More fields of the answer's `error`.
    """

    def __init__(
        self, status: int, kind: str, message: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.headers, self.more = dict(headers or {}), more

    @property
    def body(self) -> dict[str, Any]:
        """The answer as JSON values."""
        return {"error": {"status": self.status, "type": self.kind, "message": self.message, **self.more}}


def no_score(name: str, kind: str, why: str) -> RequestError:
    """The answer for a row without a score.

    Args:
        name: Which row.
        kind: The kind of failure, or "skipped".
        why: In words.
    """
    message = f"{name} has no score: {why}; `workbench serve --on-error NUMBER` gives such rows a number of your choice"
    return RequestError(NO_SCORE_STATUS, "no_score", message, cause=kind, row=name)


def sandbox_lost(why: str) -> RequestError:
    """What requests are answered whose rows could not be graded for a reason that is the server's.

    Args:
        why: In words.
    """
    return RequestError(
        503, "sandbox", f"the sandbox cannot work: {why}; ask again", headers={"retry-after": "1"}
    )


def stopping() -> RequestError:
    """What requests are answered whose rows are not waited for, since the server ends."""
    return RequestError(
        503,
        "stopping",
        "the server ends and does not wait for these rows; ask again",
        headers={"retry-after": "5"},
    )
