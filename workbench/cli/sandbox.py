"""`workbench sandbox`: the isolation level of this machine."""

from __future__ import annotations

import argparse

import workbench as wb
from workbench.cli.options import Commands, say


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    sandbox = commands.add_parser("sandbox", help="show the isolation level of this machine")
    sandbox.set_defaults(command=_sandbox)


def _sandbox(_: argparse.Namespace) -> int:
    say(wb.sandbox_info())
    return 0
