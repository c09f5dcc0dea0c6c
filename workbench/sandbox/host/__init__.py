"""Isolation level of the sandbox on this machine, with a description."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from workbench.core.errors import SandboxError
from workbench.sandbox.host.pool import pool as process_pool  # the name "pool" is that of the module here
from workbench.sandbox.host.program import ISOLATION
from workbench.sandbox.host.zygote import StartError


@dataclass(frozen=True)
class SandboxInfo:
    """The isolation level measured on this machine by attempting forbidden operations.

    Attributes:
        level: "kernel", "partial", "process" or "none".
        layers: Active isolation layers of a worker.
        leaks: Probes that succeeded although the sandbox should have blocked them.
        system: Operating system and machine.
        problem: Why no sandbox is available; "" if there is one.
    """

    level: str
    layers: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    system: str = ""
    problem: str = ""

    @property
    def label(self) -> str:
        """The isolation level as one sentence."""
        return ISOLATION[self.level]

    def __str__(self) -> str:
        lines = [
            f"{self.level}: {self.label}",
            f"  active layers: {', '.join(self.layers) or 'none'}",
            f"  probes not blocked: {', '.join(self.leaks) or 'none'}",
            f"  system: {self.system}",
        ]
        return "\n".join([*lines, *([f"  problem: {self.problem}"] if self.problem else [])])


def sandbox_info() -> SandboxInfo:
    """Start a worker, run its isolation probes and return the result."""
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    try:
        probed = process_pool().probe()
    except SandboxError as error:
        return SandboxInfo(
            "none", system=system, problem=error.message if isinstance(error, StartError) else error.what
        )
    return SandboxInfo(probed["level"], tuple(probed["layers"]), tuple(probed["leaks"]), system)
