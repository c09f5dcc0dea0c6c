"""`workbench convert`: export one platform's graders to another's format."""

from __future__ import annotations

import argparse
from pathlib import Path

import workbench as wb
from workbench.cli.options import (
    COULD_NOT_RUN,
    Commands,
    add_json,
    add_reading,
    add_samples,
    in_shell,
    say,
    trial_rows,
)
from workbench.cli.output import print_json
from workbench.core.errors import WorkbenchError


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    convert = commands.add_parser("convert", help="write one platform's graders as another's")
    convert.add_argument(
        "source",
        type=Path,
        metavar="IN",
        help="a grader file of any platform: JSON, YAML, TOML, JavaScript, or Python with grade functions",
    )
    convert.add_argument("--to", required=True, metavar="FORMAT", help="see `workbench formats`")
    add_samples(convert)
    add_reading(convert)
    convert.add_argument(
        "--out",
        type=Path,
        help="the file to write (default: IN with the format's name, such as graders.letta.yaml, graders_trl.py)",
    )
    _add_losses(convert)
    convert.add_argument(
        "--allow-unvalidated", action="store_true", help="write sources that fail their checks"
    )
    convert.add_argument(
        "--trust", action="store_true", help="run the sources even if they cannot be confined"
    )
    add_json(convert)
    convert.set_defaults(command=_convert)


def _add_losses(convert: argparse.ArgumentParser) -> None:
    """Options for settings that the other platform needs."""
    convert.add_argument(
        "--on-loss",
        choices=("refuse", "report"),
        default="refuse",
        help="settings that FORMAT does not support: refuse, or drop and report them",
    )
    convert.add_argument(
        "--on-error",
        type=_on_error,
        default="raise",
        metavar="NUMBER",
        help="value of a row without a score if FORMAT cannot represent it: a number (default: raise there)",
    )
    convert.add_argument(
        "--reference",
        default="",
        metavar="COLUMN",
        help="for trainers and evaluators: the column of the references, if it has an unusual name",
    )


def _on_error(text: str) -> str | float:
    try:
        return text if text == "raise" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number or raise") from None


def _convert(options: argparse.Namespace) -> int:
    from workbench.formats.shared import get_format, read_text

    if options.source.is_dir():
        read_text(options.source)  # refused, with its name
    suffix = get_format(options.to).suffix
    # Code is imported by its file name, which must not contain a dot.
    sign = "_" if suffix == ".py" else "."
    target = options.out or options.source.with_name(f"{options.source.stem}{sign}{options.to}{suffix}")
    rows = trial_rows(options)
    try:
        written = wb.convert(
            options.source, target, options.to, format=options.format, on_loss=options.on_loss,
            on_error=options.on_error, reference=options.reference, allow_unvalidated=options.allow_unvalidated,
            trust=options.trust, release=options.release, samples=rows,
        )  # fmt: skip
    except WorkbenchError as error:
        say(f"workbench: {in_shell(error)}", error=True)
        return COULD_NOT_RUN
    if options.json:
        print_json(
            {
                "written": [str(path) for path in written.paths],
                "losses": list(map(str, written.losses)),
                "notes": list(map(str, written.notes)),
            }
        )
    else:
        say(in_shell(written))
    return 0
