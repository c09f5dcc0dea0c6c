"""`workbench certify`: whether a judge may be used, with its cost printed before the first request."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.cli.options import (
    EXIT_CODES,
    INCONCLUSIVE,
    VERDICT,
    Commands,
    UsageError,
    add_columns,
    add_json,
    add_reading,
    check_one_input,
    columns_of,
    in_shell,
    messages_to_stderr,
    read_suite,
    say,
)
from workbench.cli.output import print_json
from workbench.core.files import check_writable

_COLUMN = "column:"
"""Start of the argument that names a column with stored verdicts instead of a file."""
_CODES = {"certified": 0, "not certified": VERDICT, "cannot be said yet": INCONCLUSIVE}
"""Exit code of each verdict."""


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "certify", help="certify a judge on labelled rows; prints its cost first", epilog=EXIT_CODES
    )
    command.add_argument(
        "judge", metavar="JUDGE",
        help="a file with judges or other graders; or column:NAME for verdicts that the rows have already",
    )  # fmt: skip
    command.add_argument("samples", type=Path, metavar="ROWS", help="your rows, some of them labelled")
    add_columns(command)
    command.add_argument(
        "--labels", metavar="COLUMN", action="append", default=[],
        help="column of labels; repeat it for several annotators; without it the label plan is printed",
    )  # fmt: skip
    command.add_argument(
        "--limit", type=float, default=0.80, metavar="RATE", help="lowest TPR and TNR (default 0.80)"
    )
    command.add_argument("--limit-tnr", type=float, metavar="RATE", help="lowest TNR, if it differs")
    command.add_argument("--budget", type=float, metavar="DOLLARS", help="maximum that the judge may spend")
    command.add_argument("--yes", action="store_true", help="send the requests without a budget")
    command.add_argument("--split", metavar="COLUMN", help="column with examples, dev or test for each row")
    command.add_argument("--dev", action="store_true", help="show the table on dev rows; no verdict")
    command.add_argument("--compare", metavar="COLUMN", action="append", default=[], help="column over whose values the judge has to be equally good")  # fmt: skip
    command.add_argument("--against", metavar="COLUMN", help="column with verdicts of the judge it replaces")
    command.add_argument("--skip", metavar="CHECK", action="append", default=[], help="omit a check, such as length")  # fmt: skip
    command.add_argument(
        "--pass-threshold", type=float, metavar="SCORE", help="lowest score that accepts a row"
    )
    command.add_argument("--store", metavar="URL", help="save replies and looks at test rows there")
    command.add_argument("--looks", type=Path, metavar="FILE", help="record looks at test rows in this file")
    command.add_argument("--out", type=Path, metavar="FILE", help="write the result: .html, .md or .json")
    command.add_argument("--trust", action="store_true", help="run the source even if it cannot be confined")
    add_reading(command)
    add_json(command)
    command.set_defaults(command=_certify)


def _certify(options: argparse.Namespace) -> int:
    if options.out is not None:
        if options.out.suffix.lower() not in _WRITERS:
            raise UsageError("the format of the result is chosen by its suffix", found=str(options.out), expected=", ".join(_WRITERS))  # fmt: skip
        check_writable(options.out)
    judges = _judges(options)
    if len(judges) > 1 and options.out is not None:
        raise UsageError("--out writes the result of one judge", found=f"{len(judges)} graders in {options.judge}")  # fmt: skip
    samples = wb.read_samples(options.samples, columns=columns_of(options.columns), join=options.join)
    say(in_shell(samples.reading), error=True)
    found = []
    for judge in judges:
        with messages_to_stderr():
            found.append(wb.certify(judge, samples, **_settings(options)))
        if not options.json:
            say(f"{found[-1]}\n" if len(judges) > 1 else found[-1])
    if options.json:
        print_json([one.spec() for one in found] if len(found) > 1 else found[0].spec())
    if options.out is not None:
        _WRITERS[options.out.suffix.lower()](found[0], options.out)
        say(f"wrote {options.out}", error=options.json)
    codes = [_CODES[one.verdict] for one in found]
    return VERDICT if VERDICT in codes else max(codes)


_WRITERS: dict[str, Any] = {
    ".html": lambda found, path: found.to_html(path),
    ".md": lambda found, path: found.to_markdown(path),
    ".json": lambda found, path: found.to_json(path),
}


def _judges(options: argparse.Namespace) -> list[Any]:
    """The judges of a file, each by itself unless a rule combines them, or the name of a column."""
    if options.judge.startswith(_COLUMN):
        return [options.judge.removeprefix(_COLUMN)]
    path = Path(options.judge)
    check_one_input(path, options.samples)
    suite = read_suite(path, options)
    if suite.combine is not None or len(suite.entries) == 1:
        return [suite]
    return [wb.Suite([entry]) for entry in suite.entries]


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    labels = options.labels[0] if len(options.labels) == 1 else options.labels or None
    limits = (options.limit, options.limit if options.limit_tnr is None else options.limit_tnr)
    return {
        "labels": labels, "limit": limits, "budget": options.budget, "confirm": True if options.yes else None, "split": options.split,
        "use": "dev" if options.dev else "test", "compare": options.compare, "against": options.against, "skip": options.skip,
        "pass_threshold": options.pass_threshold, "store": options.store, "looks": options.looks,
    }  # fmt: skip
