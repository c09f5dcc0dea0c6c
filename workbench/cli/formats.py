"""`workbench formats`: the supported platforms."""

from __future__ import annotations

import argparse

from workbench.cli.options import Commands, say


def add(commands: Commands) -> None:
    """Add the command to the parser."""
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
