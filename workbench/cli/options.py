"""Options and output of all commands: how a grader file is read, rows for validation, and help that ends with the exit codes.

Names of files and graders may contain control characters that move a terminal's cursor, so all text is printed by `say`.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

import workbench as wb
from workbench.core.display_text import visible
from workbench.core.files import STANDARD_INPUT, is_import_path

VERDICT, USAGE, COULD_NOT_RUN, INCONCLUSIVE = 1, 2, 3, 4

EXIT_CODES = """exit codes:
  0    success
  1    a verdict: a check, a gate or a test of `check` failed, a grader fails on
       every row, or a finding has a severity of --fail-on
  2    wrong usage
  3    could not run: a file cannot be read or written, a judge cannot be reached,
       or rows were left out
  4    inconclusive (`certify`, `check`): more rows are needed; see --inconclusive
       of `check`
  130  interrupted
  141  the output pipe is closed"""


class UsageError(wb.errors.WorkbenchError):
    """Options that do not fit together, or a value that an option does not take."""


_OPTIONS = (
    (re.compile(r'\bon_loss="report"'), "--on-loss report"),
    (re.compile(r"\breference='([\w.-]+)'"), r"--reference \1"),
    (re.compile(r'\bSet on_error to "raise" or a number'), "--on-error NUMBER chooses one"),
    (re.compile(r"\bpass allow_unvalidated=True"), "--allow-unvalidated"),
    (re.compile(r"\bjoin='([\w.-]+)'"), r"--join \1"),
    (re.compile(r"\bpass budget=([\d.]+), or confirm=True"), r"--budget \1, or --yes"),
)
"""Settings in Python to the command line's options."""


_COLUMNS = re.compile(r"columns=(\{[^{}]*\})")
"""A mapping of columns as Python takes it."""


def in_shell(text: object) -> str:
    """A message with its settings in Python replaced by the command line's options."""
    said = _COLUMNS.sub(_as_options, str(text))
    for setting, option in _OPTIONS:
        said = setting.sub(option, said)
    return said


def _as_options(mapping: re.Match[str]) -> str:
    """A mapping of columns as options; any other text is unchanged."""
    try:
        columns = ast.literal_eval(mapping[1])
    except (ValueError, SyntaxError):
        return mapping[0]
    if not isinstance(columns, dict):
        return mapping[0]
    words = {role: "COLUMN" if name is ... else str(name or "") for role, name in columns.items()}
    return " ".join(f"--columns {shlex.quote(f'{role}={name}')}" for role, name in words.items())


def say(text: object, *, error: bool = False) -> None:
    """Print a line, its hidden characters as code points; errors go to stderr."""
    print(visible(str(text)), file=sys.stderr if error else sys.stdout, flush=True)


class CommandParser(argparse.ArgumentParser):
    """A parser whose help ends with the exit codes, or a reference to them, and whose messages have no hidden characters."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("epilog", "exit codes: see workbench --help")
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(visible(message), file)


Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"  # noqa: SLF001 (add_subparsers returns it)
"""Where a command adds its parser."""


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
    add_columns(command)


def add_columns(command: argparse.ArgumentParser) -> None:
    """Add the options for the roles of the rows' columns, and for files whose columns are added."""
    command.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        help="column of a role, e.g. completion=out; repeat the option for several roles",
    )
    command.add_argument(
        "--join", action="append", type=Path, default=[], metavar="FILE",
        help="add the columns of the rows with the same id, such as the requests of a batch or the items of an eval",
    )  # fmt: skip


def same_rows(options: argparse.Namespace) -> str:
    """The options of `add_columns` as given, for a next command that reads the same rows; "" without."""
    words = [("--columns", pair) for pair in options.columns]
    words += [("--join", str(path)) for path in options.join]
    return "".join(f" {shlex.join(pair)}" for pair in words)


def columns_of(pairs: Sequence[str]) -> dict[str, str | None]:
    """ROLE=NAME words as a mapping; an empty name switches the role off."""
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise UsageError("--columns takes ROLE=NAME", found=wrong[0], expected="completion=model_out")
    split = [pair.partition("=") for pair in pairs]
    return {role: name or None for role, _, name in split}


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


def add_json(command: argparse.ArgumentParser) -> None:
    """Add the option for output that programs read."""
    command.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def read_suite(path: Path, options: argparse.Namespace) -> wb.Suite:
    """The suite of a platform's file, or of a module with grade functions; notes on it go to stderr."""
    if is_import_path(str(path)) and str(Path.cwd()) not in sys.path:
        # As with `python -m`, for the whole command: the function may import its neighbours when it is called. Not for a file: one
        # that is read must not run other code in its folder.
        sys.path.append(str(Path.cwd()))
    with messages_to_stderr():
        return wb.read_graders(path, options.format, trust=options.trust, release=options.release)


@contextmanager
def messages_to_stderr() -> Iterator[None]:
    """Redirect what is printed, such as notes on a file: stdout is for results."""
    with redirect_stdout(sys.stderr):
        yield


def check_one_input(*paths: Path | None) -> None:
    """Refuse standard input for two files: the second would be empty.

    Raises:
        UsageError: Two of the paths are `-`.
    """
    if [str(path) for path in paths].count(STANDARD_INPUT) > 1:
        raise UsageError(
            "standard input can be read once", found="- for two files", hint="name one of the files"
        )


def trial_rows(options: argparse.Namespace) -> wb.Samples | None:
    """The rows of --samples, with the columns of --join; None without --samples."""
    if options.samples is None:
        if options.join:
            raise UsageError("--join adds columns to rows, and there are none", hint="pass --samples FILE")
        return None
    return wb.read_samples(options.samples, columns=columns_of(options.columns), join=options.join)


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
