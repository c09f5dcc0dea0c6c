"""Detection of processes that were stopped from outside, for example by SIGSTOP."""

from __future__ import annotations

from pathlib import Path

__all__ = ["is_stopped"]


def is_stopped(number: int) -> bool:
    """Whether a process is stopped, for example by SIGSTOP; False if the system does not report it."""
    try:
        text = Path(f"/proc/{number}/stat").read_bytes()
    except OSError:
        return False
    return text.rpartition(b")")[2].split()[:1] == [b"T"]
