"""`workbench formats`, `sandbox` and `doctor`: supported platforms, the isolation level of this machine, and what is installed."""

from __future__ import annotations

import argparse
import platform

import workbench as wb
from workbench.cli.options import Commands, add_json, say
from workbench.cli.output import print_json
from workbench.core.packages import OPTIONAL, is_installed


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


def add_doctor(commands: Commands) -> None:
    """Add `doctor` to the parser."""
    doctor = commands.add_parser(
        "doctor", help="show what is installed, what is missing, and what confines graders here"
    )
    add_json(doctor)
    doctor.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    """Print versions, the isolation level and optional packages; what is missing is not an error."""
    level = wb.sandbox_info()
    facts = {
        "workbench": wb.__version__, "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}", "isolation": level.level,
    }  # fmt: skip
    if options.json:
        packages = [{**package._asdict(), "installed": is_installed(package)} for package in OPTIONAL]
        print_json({**facts, "packages": packages})
        return 0
    for name, value in facts.items():
        say(f"{name:<11}{value}")
    if level.level != "kernel":
        say("           `workbench sandbox` lists what is not enforced")
    for package in OPTIONAL:
        state = "installed" if is_installed(package) else f"missing: pip install {package.install}"
        say(f"{package.module:<14}{state:<48}{package.feature}")
    return 0
