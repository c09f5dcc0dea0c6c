"""`workbench formats`: the platforms there are."""

from __future__ import annotations

import argparse

from workbench.cli.output import Commands, say

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    formats = commands.add_parser("formats", help="list the platforms that graders convert from and to")
    formats.set_defaults(command=_formats)


def _formats(_: argparse.Namespace) -> int:
    from workbench.formats import FORMATS

    rows = [("FORMAT", "FILES", "WHAT IT IS")]
    for one in FORMATS.values():
        endings = ", ".join([one.suffix, *one.variants])
        rows.append(
            (one.name, endings, one.title + ("; --release chooses the release" if one.releases else ""))
        )
    for name, endings, title in rows:
        say(f"{name:<12}{endings:<13}{title}")
    return 0
