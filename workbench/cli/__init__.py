"""The command line: `workbench demo | open | validate | probe | certify | run | check | serve | convert | formats | lab | sandbox | doctor`, a module per command or two."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

import workbench as wb
from workbench.cli import certify, check, convert, demo, file_facts, probe, run, serve, support, validate
from workbench.cli.options import COULD_NOT_RUN, EXIT_CODES, USAGE, CommandParser, UsageError, in_shell, say
from workbench.core.errors import SamplesError, SamplesWarning, WorkbenchError
from workbench.core.packages import needed_packages

_COMMANDS = (
    demo.add, file_facts.add, validate.add, probe.add, certify.add, run.add, check.add, serve.add, convert.add, support.add_formats, demo.add_lab, support.add_sandbox,
    support.add_doctor,
)  # fmt: skip


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


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="workbench", description="Write, validate, run, diagnose and export graders.", epilog=EXIT_CODES
    )
    parser.add_argument("--version", action="version", version=f"workbench {wb.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in _COMMANDS:
        add(commands)
    return parser
