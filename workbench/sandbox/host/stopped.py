"""Processes that were stopped from outside, as by SIGSTOP."""

from __future__ import annotations

from pathlib import Path

__all__ = ["is_stopped"]


def is_stopped(number: int) -> bool:
    """Whether a process does not run since it was stopped, as by SIGSTOP; False where the system does not say."""
    try:
        text = Path(f"/proc/{number}/stat").read_bytes()
    except OSError:
        return False
    return text.rpartition(b")")[2].split()[:1] == [b"T"]
