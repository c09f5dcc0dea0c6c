"""Error responses: a status and JSON with the reason and a hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["NO_SCORE_STATUS", "RequestError", "no_score", "sandbox_lost", "stopping"]

NO_SCORE_STATUS = 422
"""Status of a row without a score, for forms that cannot represent a missing score: the request is valid, and it is not an
outage, so that an intermediate proxy does not retry it."""


class RequestError(Exception):
    """A request that gets no result.

    Args:
        status: HTTP status.
        kind: Machine-readable kind, such as "busy".
        message: A sentence for users.
        headers: Further headers of the response, such as `retry-after`.
        more: Further fields of the response's `error`.
    """

    def __init__(
        self, status: int, kind: str, message: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.headers, self.more = dict(headers or {}), more

    @property
    def body(self) -> dict[str, Any]:
        """The response as JSON values."""
        return {"error": {"status": self.status, "type": self.kind, "message": self.message, **self.more}}


def no_score(name: str, kind: str, why: str) -> RequestError:
    """The response for a row without a score.

    Args:
        name: The row.
        kind: The kind of failure, or "skipped".
        why: The reason, as text.
    """
    message = f"{name} has no score: {why}; `workbench serve --on-error NUMBER` gives such rows a fixed score"
    return RequestError(NO_SCORE_STATUS, "no_score", message, cause=kind, row=name)


def sandbox_lost(why: str) -> RequestError:
    """The response to requests whose rows could not be graded because of the server.

    Args:
        why: The reason, as text.
    """
    return RequestError(
        503, "sandbox", f"the sandbox does not work: {why}; retry", headers={"retry-after": "1"}
    )


def stopping() -> RequestError:
    """The response to requests whose rows are cancelled because the server stops."""
    return RequestError(
        503,
        "stopping",
        "the server stops and does not wait for these rows; retry",
        headers={"retry-after": "5"},
    )
