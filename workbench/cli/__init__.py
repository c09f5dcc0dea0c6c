"""The command line: `workbench demo | open | validate | probe | certify | run | check | serve | convert | formats | lab | sandbox | doctor`.

A module has one command or two; those that list what is supported and installed are here.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import warnings
from collections.abc import Sequence

import workbench as wb
from workbench.cli import certify, check, convert, demo, file_facts, probe, run, serve, validate
from workbench.cli.options import (
    COULD_NOT_RUN,
    EXIT_CODES,
    USAGE,
    CommandParser,
    Commands,
    UsageError,
    add_json,
    in_shell,
    say,
)
from workbench.cli.output import print_json
from workbench.core.discovery import OPTIONAL, is_installed, needed_packages
from workbench.core.errors import SamplesError, SamplesWarning, WorkbenchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Words after `workbench`; the process's own by default.

    Returns:
        0 for success, 1 for a verdict (a check, a gate or a test failed), 2 for wrong usage, 3 if the command could not
        run, 4 for an inconclusive check, 130 if interrupted, 141 if the output pipe is closed.
    """
    options = _parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("always", SamplesWarning)
        warnings.showwarning = lambda message, *_, **__: _warn(str(message))
        return _run(options)


def _warn(message: str) -> None:
    if not message.startswith("read as "):  # the line on how rows were read has it
        say(in_shell(f"workbench: {message}"), error=True)


def _run(options: argparse.Namespace) -> int:
    try:
        with needed_packages():
            code = int(options.command(options))
        sys.stdout.flush()
        return code  # noqa: TRY300 (a flush may fail, too)
    except UsageError as error:
        say(f"workbench: {error}", error=True)
        return USAGE
    except SamplesError as error:
        say(in_shell(f"workbench: {error}"), error=True)
        return COULD_NOT_RUN
    except (WorkbenchError, ValueError) as error:
        say(in_shell(f"workbench: {error}"), error=True)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        say("workbench: interrupted", error=True)
        return 130
    except BrokenPipeError:  # the reader, such as head, has enough
        # Python flushes stdout again when it ends, and would complain about the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


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


_COMMANDS = (
    demo.add, file_facts.add, validate.add, probe.add, certify.add, run.add, check.add, serve.add, convert.add, add_formats, demo.add_lab, add_sandbox,
    add_doctor,
)  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="workbench", description="Write, validate, run, diagnose and export graders.", epilog=EXIT_CODES
    )
    parser.add_argument("--version", action="version", version=f"workbench {wb.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in _COMMANDS:
        add(commands)
    return parser
