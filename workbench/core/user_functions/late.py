"""The errors of a function that did not end in time, or could not be started."""

from __future__ import annotations

__all__ = ["LateError", "as_held", "refuse_beyond"]


class LateError(TimeoutError):
    """A call did not end in time.

    Attributes:
        blocked: Whether its loop was blocked, by it or by another call on it.
    """

    def __init__(self, *, blocked: bool) -> None:
        super().__init__("the event loop was blocked" if blocked else "not ended in time")
        self.blocked = blocked


def refuse_beyond(most: int, left: int) -> None:
    """Refuse to start another function if too many timed-out ones still run.

    Raises:
        TimeoutError: The maximum number still run.
    """
    if left >= most:
        raise TimeoutError(
            f"not started: {left} timed-out calls are still running and cannot be stopped; "
            "set a time limit on the operation they wait for, then restart the process (the kernel, in a notebook)"
        )


def as_held(error: BaseException) -> BaseException:
    """An error in a form that a `Future` accepts, and that a coroutine can raise without ending itself."""
    if isinstance(error, StopIteration | GeneratorExit):
        return RuntimeError(f"the function raised {type(error).__name__}")
    return error
