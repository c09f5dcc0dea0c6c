"""Protocol between host and worker. Standard library only; the worker loads it by its path.

Commands are sent to the worker as a length and `marshal` (from the host, which is trusted there). Replies
consist of a fixed header and a JSON text of bounded size, and every length is checked before it is read.
"""

from __future__ import annotations

import json
import marshal
import os
import struct
from typing import Any

READ_FD, WRITE_FD = 3, 4
"""The worker's only descriptors."""
HEADER = struct.Struct("<IQI")
"""Magic, sequence number, bytes of text."""
MAGIC = 0x57424631
MAX_TEXT = 256 * 1024
NOT_SCORED = 0x7FF8DEAD00000001
"""Initial value of a score: a NaN that no arithmetic produces."""
FAILED = 0x7FF8DEAD00000002
"""Score of a failed row; the reply contains the reason."""
SKIPPED = 0x7FF8DEAD00000003
"""Score of a row to which the grader does not apply; its note may contain the reason."""
_READ_BYTES = 1 << 20
CAPACITY = 8192
"""Numbers in one half of a worker's page; the last one of each half is the row at which the range in it ends."""
MAX_ROWS = CAPACITY - 1
"""Maximum rows of one command."""
NOTED_ROWS = 1024
"""Maximum rows of a command for a grader that returns notes: their failures must leave room for the notes."""
MAX_NOTE = 128 * 1024
"""Maximum bytes of one row's note: 64 KiB of artifacts and the same for the remaining content."""
ENOUGH = 64 * 1024
"""Bytes of notes and failures after which a range ends early: with one more note they still fit a reply."""


def receive() -> dict[str, Any] | None:
    """The next command, or None if the host closed the connection."""
    head = _read(4)
    body = None if head is None else _read(struct.unpack("<I", head)[0])
    return None if body is None else marshal.loads(body)


def _read(size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        # In parts: for each read Python allocates a buffer of the requested size, and a pipe returns a fraction.
        part = os.read(READ_FD, min(size - len(data), _READ_BYTES))
        if not part:
            return None
        data += part
    return bytes(data)


def answer(seq: int, reply: dict[str, Any]) -> None:
    """Send a header and a JSON text of at most `MAX_TEXT` bytes."""
    errors = reply.pop("errors", {})
    # The host stores no more of it; a longer text would take the room of errors and notes.
    reply["output"] = reply.get("output", "")[:4000]
    text = b""
    for limit in (2000, 400, 100, 20, 0):  # a large number of failures must not lose the batch
        text = compact({**reply, **_error_table(errors, limit)})
        if len(text) <= MAX_TEXT:
            break
    else:
        text = json.dumps({"too_large": len(text)}).encode()
    data = memoryview(HEADER.pack(MAGIC, seq, len(text)) + text)
    while data:
        data = data[os.write(WRITE_FD, data) :]


def compact(value: object) -> bytes:
    """JSON without padding, as UTF-8; lone surrogates are encoded, too.

    Raises:
        TypeError: A value that JSON cannot represent.
        ValueError: NaN, an infinity, or a structure that contains itself.
        RecursionError: Nesting too deep.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _error_table(errors: dict[int, tuple[str, str]], limit: int) -> dict[str, Any]:
    """Errors with each text once: a thousand rows often fail for the same reason."""
    texts: dict[str, int] = {}
    rows = [(row, kind, texts.setdefault(text[:limit], len(texts))) for row, (kind, text) in errors.items()]
    return {"texts": list(texts), "errors": rows}
