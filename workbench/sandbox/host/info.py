"""How well the sandbox of this machine confines graders, in words."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from workbench.errors import SandboxError
from workbench.sandbox.host.interpreter import StartError
from workbench.sandbox.host.limits import ISOLATION
from workbench.sandbox.host.pool import pool

__all__ = ["SandboxInfo", "sandbox_info"]


@dataclass(frozen=True)
class SandboxInfo:
    """The isolation found on this machine by trying it.

    Attributes:
        level: "kernel", "partial", "process" or "none".
        layers: Locks that are on in a worker.
        leaks: Probes that succeeded although they should have failed.
        system: Operating system and machine.
        problem: Why there is no sandbox at all; "" where there is one.
    """

    level: str
    layers: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    system: str = ""
    problem: str = ""

    @property
    def label(self) -> str:
        """The level in a sentence."""
        return ISOLATION[self.level]

    def __str__(self) -> str:
        lines = [
            f"{self.level}: {self.label}",
            f"  layers on: {', '.join(self.layers) or 'none'}",
            f"  probes that got through: {', '.join(self.leaks) or 'none'}",
            f"  system: {self.system}",
        ]
        return "\n".join([*lines, *([f"  problem: {self.problem}"] if self.problem else [])])


def sandbox_info() -> SandboxInfo:
    """Start a worker, let it try its locks, and say what was found."""
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    try:
        probed = pool().probe()
    except SandboxError as error:
        return SandboxInfo(
            "none", system=system, problem=error.message if isinstance(error, StartError) else error.what
        )
    return SandboxInfo(probed["level"], tuple(probed["layers"]), tuple(probed["leaks"]), system)
