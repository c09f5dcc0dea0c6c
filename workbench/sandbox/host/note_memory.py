"""How much of what graders say beside their numbers one run keeps in this process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from workbench.grade import GradeError
from workbench.sandbox.host.answers import noted, read_errors, read_notes

__all__ = ["MAX_KEPT", "NoteMemory"]

MAX_KEPT = 256 * 1024 * 1024
"""Bytes of memory that the notes and error texts of one run may take: a hundred thousand rows could bring
128 KiB each. What comes later is cut short or left out, and says so."""
_SHORT = 100
_ATOM = 32  # bytes of a number


class NoteMemory:
    """The memory that the notes and error texts of one run may take.

    Args:
        total: Bytes.
    """

    def __init__(self, total: int = MAX_KEPT) -> None:
        self._total = self._left = total

    def errors(self, reply: Mapping[str, Any]) -> dict[int, GradeError]:
        """The error table of an answer; where no memory is left, the texts are cut to 100 characters."""
        errors = read_errors(reply) if self._left > 0 else read_errors(reply, _SHORT)
        # As a set: rows that fail for one reason share its text.
        self._left -= sum(map(sys.getsizeof, {error.message for error in errors.values()}))
        return errors

    def notes(self, reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
        """The notes of an answer; where no memory is left, a mark stands in the place of each."""
        if self._left <= 0:  # not even looked at: that takes time
            return {offset: self._mark() for offset in noted(reply, count)}
        notes = read_notes(reply, count)
        self._left -= sum(map(weight, notes.values()))
        return notes

    def _mark(self) -> dict[str, Any]:
        return {"metadata": {"_error": {"code": "run_notes_too_large", "max_size_bytes": self._total}}}


def weight(value: Any) -> int:
    """About how many bytes plain JSON takes in memory, which may be thirty times what its text does."""
    if isinstance(value, str):
        return sys.getsizeof(value)
    if isinstance(value, dict):
        return sys.getsizeof(value) + sum(sys.getsizeof(key) + weight(item) for key, item in value.items())
    return sys.getsizeof(value) + sum(map(weight, value)) if isinstance(value, list) else _ATOM
