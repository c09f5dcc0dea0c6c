"""`workbench formats` and `workbench sandbox`: the supported platforms, and the isolation level of this machine."""

from __future__ import annotations

import argparse

import workbench as wb
from workbench.cli.options import Commands, say


def add_formats(commands: Commands) -> None:
    """Add `formats` to the parser."""
    formats = commands.add_parser("formats", help="list the platforms that graders convert from and to")
    formats.set_defaults(command=_formats)


def _formats(_: argparse.Namespace) -> int:
    from workbench.formats import FORMATS

    rows = [("FORMAT", "FILES", "WHAT IT IS")]
    for format_ in FORMATS.values():
        endings = ", ".join([format_.suffix, *format_.variants])
        rows.append(
            (
                format_.name,
                endings,
                format_.title + ("; --release chooses the release" if format_.releases else ""),
            )
        )
    width = max(len(name) for name, _, _ in rows) + 2
    for name, endings, title in rows:
        say(f"{name:<{width}}{endings:<13}{title}")
    return 0


def add_sandbox(commands: Commands) -> None:
    """Add `sandbox` to the parser."""
    sandbox = commands.add_parser("sandbox", help="show the isolation level of this machine")
    sandbox.set_defaults(command=_sandbox)


def _sandbox(_: argparse.Namespace) -> int:
    say(wb.sandbox_info())
    return 0
