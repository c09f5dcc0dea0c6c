"""Limit on the memory for details that graders return with their scores, for one run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from workbench.core.grade import GradeError
from workbench.sandbox.host.answers import noted, read_errors, read_notes

__all__ = ["MAX_KEPT", "NoteMemory"]

MAX_KEPT = 256 * 1024 * 1024
"""Bytes of memory for the notes and error texts of one run: a hundred thousand rows could return 128 KiB each.
Later ones are shortened or omitted, with a remark."""
_SHORT = 100
_ATOM = 32  # bytes of a number


class NoteMemory:
    """The memory budget for the notes and error texts of one run.

    Args:
        total: Bytes.
    """

    def __init__(self, total: int = MAX_KEPT) -> None:
        self._total = self._left = total

    def errors(self, reply: Mapping[str, Any]) -> dict[int, GradeError]:
        """The error table of a reply; if no memory remains, the texts are cut to 100 characters."""
        errors = read_errors(reply) if self._left > 0 else read_errors(reply, _SHORT)
        # As a set: rows that fail for the same reason share its text.
        self._left -= sum(map(sys.getsizeof, {error.message for error in errors.values()}))
        return errors

    def notes(self, reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
        """The notes of a reply; if no memory remains, each is replaced by a remark."""
        if self._left <= 0:  # not even parsed: that takes time
            return {offset: self._mark() for offset in noted(reply, count)}
        notes = read_notes(reply, count)
        self._left -= sum(map(weight, notes.values()))
        return notes

    def _mark(self) -> dict[str, Any]:
        return {"metadata": {"_error": {"code": "run_notes_too_large", "max_size_bytes": self._total}}}


def weight(value: Any) -> int:
    """Approximate bytes that plain JSON takes in memory: up to thirty times its text."""
    if isinstance(value, str):
        return sys.getsizeof(value)
    if isinstance(value, dict):
        return sys.getsizeof(value) + sum(sys.getsizeof(key) + weight(item) for key, item in value.items())
    return sys.getsizeof(value) + sum(map(weight, value)) if isinstance(value, list) else _ATOM
