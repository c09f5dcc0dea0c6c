"""Code that runs in a process of `ProcessPool`: it calls one function in its main thread, and sends back the results."""

from __future__ import annotations

import os
import pickle
import struct
import threading
import time
from collections.abc import Callable
from typing import IO, Any, TypeVar

T = TypeVar("T")

_LENGTH = struct.Struct("<Q")
_READ_BYTES = 1 << 20
"""Bytes per read from a pipe, which returns at most 64 KiB on Linux."""
_PARENT_SECONDS = 1.0
"""Time between two checks whether the parent is still there."""


def read_message(stream: IO[bytes]) -> bytes | None:
    """The next message; None at the end of the stream."""
    head = _read(stream, _LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = _read(stream, length)
    return data if len(data) == length else None


def _read(stream: IO[bytes], count: int) -> bytes:
    """This number of bytes, fewer at the end of the stream; a stream without a buffer returns what is available."""
    parts = []
    while count and (part := stream.read(min(count, _READ_BYTES))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Send a message."""
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[stream.write(rest) :]
    stream.flush()


def main() -> None:
    """Take the function, then one argument after the other, until the parent ends."""
    # What the function prints must not get between the messages.
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    _keep_from_forks(nothing, requests.fileno(), replies.fileno())
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    function: Any = None
    while (request := read_message(requests)) is not None:
        write_message(replies, b"")  # it was read: from here on the function may have been called
        function, reply = _replied(function, request)
        write_message(replies, reply)


def _keep_from_forks(nothing: int, *pipes: int) -> None:
    """A fork made by the function neither keeps the pipes open nor replies if it returns from the function."""

    def leave() -> None:
        for pipe in pipes:
            os.dup2(nothing, pipe, inheritable=False)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=leave)


def _replied(function: Any, request: bytes) -> tuple[Any, bytes]:
    """The function, which the first request has, and the reply."""

    def called() -> tuple[Any, bytes]:
        value = pickle.loads(request)  # noqa: S301 (of the parent, which this process serves)
        own, result = (value, None) if function is None else (function, function(value))
        return own, pickle.dumps(("returned", result))

    done, error = _attempted(called)
    return (function, _raised(error)) if done is None else done


def _raised(error: BaseException | None) -> bytes:
    if isinstance(error, SystemExit | KeyboardInterrupt | GeneratorExit):
        error = RuntimeError(f"the function raised {type(error).__name__}: {error}")

    def written() -> bytes:
        data = pickle.dumps(("raised", error))
        pickle.loads(data)  # noqa: S301 (some errors of users can be written and not read)
        return data

    data, _ = _attempted(written)
    return data or pickle.dumps(("raised", RuntimeError(f"{type(error).__name__}: {error}")))


def _attempted(call: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """The result of a user's code, or its exception of any kind: the parent decides what it means."""
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 (see above)
        return None, error


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    os._exit(1)
