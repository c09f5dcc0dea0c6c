"""The limits of a server."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.errors import WorkbenchError
from workbench.graders.base import is_number

__all__ = ["RequestLimits"]


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """Request limits; excess requests are rejected immediately.

    Attributes:
        max_rows: Rows in one request.
        max_bytes: Bytes of one request's body; all bodies in memory together may have four times as many.
        timeout: Seconds a request may take, from its first byte to its response. slime waits 120 s, OpenRLHF 180 s.
        queue: Rows of all requests that wait or are being graded.
        max_row_bytes: Bytes of one row: the letters of its texts, and 128 for each value, which is what it takes as an object.
        max_values: JSON values in one request: lists, objects, texts, numbers. 4,096 rows have 60 each.
        max_connections: Concurrent connections.
        max_connections_per_address: Those of one address, such as a machine with many clients.

    Raises:
        WorkbenchError: A number is not positive, or a whole request does not fit into the queue.
    """

    max_rows: int = 4096
    max_bytes: int = 32 * 2**20
    timeout: float = 100.0
    queue: int = 16_384
    max_row_bytes: int = 8 * 2**20
    max_values: int = 250_000
    max_connections: int = 2048
    max_connections_per_address: int = 1024

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "timeout":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise WorkbenchError(f"{name} must be a whole number of at least 1", found=repr(value))
        if not is_number(self.timeout) or self.timeout <= 0:
            raise WorkbenchError("timeout must be a number of seconds above 0", found=repr(self.timeout))
        if self.queue < self.max_rows:
            raise WorkbenchError(
                "the queue must have room for the rows of at least one request",
                found=f"queue={self.queue}, max_rows={self.max_rows}",
                hint="raise queue, or lower max_rows",
            )
