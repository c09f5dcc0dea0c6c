"""What a grader may use, and the words for how well it is kept in."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import IsolationError

__all__ = ["CHECKS", "ISOLATION", "Limits", "Program", "weakest"]

CHECKS = ("syntax", "structure", "signature", "execution", "test_run")
"""The five checks, in order."""

ISOLATION = {
    "kernel": "Isolated (kernel-enforced): no file, network, process or environment; tested in every worker",
    "partial": "Partly isolated (kernel limits): cannot open files or sockets; could rename or delete files "
    "or signal your processes",
    "process": "Process only: stops accidents, not an attacker",
    "none": "Not isolated: runs with your rights",
}
"""Isolation labels, strongest first, and what each promises."""


_NAMES = {"row_seconds": "timeout"}  # what the author of a grader wrote


@dataclass(frozen=True)
class Limits:
    """Limits of one run in the sandbox.

    Attributes:
        row_seconds: Time for one row; the watchdog ends a worker that ignores it at 1.8 times that.
        load_seconds: Time for compiling and executing the module.
        memory_mb: Address space beyond what a worker starts with, in MiB.
        lost_workers: Workers lost with no row graded in between before a run stops.
    """

    row_seconds: float = 1.0
    load_seconds: float = 5.0
    memory_mb: int = 512
    lost_workers: int = 3

    def __post_init__(self) -> None:
        for name in ("row_seconds", "load_seconds", "memory_mb", "lost_workers"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ValueError(f"{_NAMES.get(name, name)} must be above 0, a finite number, not {value!r}")

    @property
    def hard_row_seconds(self) -> float:
        """When the watchdog kills: soft limits can be swallowed, and C code never sees them."""
        return max(1.8 * self.row_seconds, self.row_seconds + 0.5)


@dataclass(frozen=True)
class Program:
    """What a worker loads: source text whose top-level `grade` scores a thread.

    Attributes:
        text: The module.
        limits: What it may use.
        kernel_only: Refuse workers that are not confined by the kernel: for imported source.
    """

    text: str
    limits: Limits = Limits()
    kernel_only: bool = False

    def require(self, level: str) -> None:
        """Refuse a worker that does not confine this program well enough.

        Raises:
            IsolationError: The program must be confined by the kernel and the worker is not.
        """
        if self.kernel_only and level != "kernel":
            raise IsolationError("imported source met a worker that is not confined", found=level)


def weakest(*levels: str) -> str:
    """The weakest of some isolation labels; "" counts for nothing."""
    order = list(ISOLATION)
    return max((level for level in levels if level), key=order.index, default="")
