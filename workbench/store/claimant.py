"""The claimant of a request: a name that shows whether its process is still alive, as far as this machine can check."""

from __future__ import annotations

import os
import uuid
from functools import cache
from pathlib import Path

__all__ = ["is_gone", "new_claimant", "retire"]

_OPEN: set[str] = set()
"""Names of this process that are in use."""


def new_claimant() -> str:
    """A new name of this process: its machine, its number there, its start time, and 12 random digits."""
    name = f"{_machine()}:{os.getpid()}:{_started(os.getpid())}:{uuid.uuid4().hex[:12]}"
    _OPEN.add(name)
    return name


def retire(claimant: str) -> None:
    """Release a name: its store is closed."""
    _OPEN.discard(claimant)


def is_gone(claimant: str) -> bool:
    """Whether its process is known to have ended; False also if that cannot be checked, as for another machine's."""
    machine, number, started, _ = (*claimant.split(":"), "", "", "", "")[:4]
    if not machine or machine != _machine() or not number.isdecimal():
        return False
    if int(number) == os.getpid() and started == _started(os.getpid()):
        return claimant not in _OPEN
    # Process numbers are reused, so the start time has to agree, too.
    return _started(int(number)) != started


@cache
def _machine() -> str:
    """The boot of this machine, and the container of the process numbers; "" if the system does not provide them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except (OSError, ValueError):
        return ""


def _started(number: int) -> str:
    """When a process started, in the machine's ticks; "" if it ended, or if the system does not provide it."""
    try:
        status = Path(f"/proc/{number}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    # The name in parentheses may contain anything. After it: the state, and as the 20th field the start.
    fields = status.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]
