"""Options of several commands: how a grader file is read, and rows for validating sources."""

from __future__ import annotations

import argparse
from pathlib import Path

import workbench as wb

__all__ = ["add_reading", "add_samples", "at_least_one", "make_folder", "read_suite", "trial_rows"]


def at_least_one(text: str) -> int:
    """A whole number from 1 on.

    Raises:
        ArgumentTypeError: Any other text, which is wrong usage.
    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, 1 or more")
    return number


def add_samples(command: argparse.ArgumentParser) -> None:
    """Add the option for rows with which sources are validated."""
    command.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help="your rows: sources are validated on the first five of them",
    )


def add_reading(command: argparse.ArgumentParser) -> None:
    """Add the options for how a file of a platform is read."""
    command.add_argument(
        "--from", dest="format", metavar="FORMAT", help="the file's platform (default: detected)"
    )
    command.add_argument(
        "--release",
        default="",
        metavar="RELEASE",
        help="release of that platform whose rules apply, such as 0.17",
    )


def read_suite(path: Path, options: argparse.Namespace) -> wb.Suite:
    """The suite of a platform's file, or of a module with grade functions."""
    return wb.load(path, options.format, trust=options.trust, release=options.release)


def trial_rows(options: argparse.Namespace) -> wb.Samples | None:
    """The rows of --samples; None without that option."""
    return None if options.samples is None else wb.read_samples(options.samples)


def make_folder(folder: Path) -> None:
    """Create an output folder and its parents.

    Raises:
        FormatError: It cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise wb.errors.FormatError(
            "the folder cannot be created",
            where=str(folder),
            found=error.strerror or str(error),
            hint="choose another: --out",
        ) from error
