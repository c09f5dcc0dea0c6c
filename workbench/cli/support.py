"""`workbench formats` and `workbench sandbox`: the supported platforms, and the isolation level of this machine."""

from __future__ import annotations

import argparse

import workbench as wb
from workbench.cli.options import Commands, add_json, say
from workbench.cli.output import print_json


def add_formats(commands: Commands) -> None:
    """Add `formats` to the parser."""
    formats = commands.add_parser("formats", help="list the platforms that graders convert from and to")
    add_json(formats)
    formats.set_defaults(command=_formats)


def _formats(options: argparse.Namespace) -> int:
    from workbench.formats import FORMATS

    if options.json:
        print_json([
            {"name": one.name, "title": one.title, "suffixes": [one.suffix, *one.variants], "releases": one.releases}
            for one in FORMATS.values()
        ])  # fmt: skip
        return 0
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
    add_json(sandbox)
    sandbox.set_defaults(command=_sandbox)


def _sandbox(options: argparse.Namespace) -> int:
    found = wb.sandbox_info()
    print_json({"level": found.level, "text": str(found)}) if options.json else say(found)
    return 0
