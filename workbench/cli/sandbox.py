"""`workbench sandbox`: how well this machine confines graders."""

from __future__ import annotations

import argparse

import workbench as wb
from workbench.cli.output import Commands, say

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    sandbox = commands.add_parser("sandbox", help="say how well this machine confines graders")
    sandbox.set_defaults(command=_sandbox)


def _sandbox(_: argparse.Namespace) -> int:
    say(wb.sandbox_info())
    return 0
