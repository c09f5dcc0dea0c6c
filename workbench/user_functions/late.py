"""The errors of a function that did not end in time, or could not be started."""

from __future__ import annotations

__all__ = ["LateError", "as_held", "refuse_beyond"]


class LateError(TimeoutError):
    """What one waited for did not end in time.

    Attributes:
        blocked: Whether its loop was blocked, by it or by what ran beside it.
    """

    def __init__(self, *, blocked: bool) -> None:
        super().__init__("the event loop was blocked" if blocked else "not ended in time")
        self.blocked = blocked


def refuse_beyond(most: int, left: int) -> None:
    """Refuse to begin another function where too many that were late still run.

    Raises:
        TimeoutError: There are as many as there may be.
    """
    if left >= most:
        raise TimeoutError(
            f"not begun: {left} functions that were late still run, and nothing can stop them; "
            "give what they wait for a limit of its own, then restart the process (the kernel, in a notebook)"
        )


def as_held(error: BaseException) -> BaseException:
    """An error as a `Future` can hold it, and a coroutine raise it without meaning its own end."""
    if isinstance(error, StopIteration | GeneratorExit):
        return RuntimeError(f"the function raised {type(error).__name__}")
    return error
