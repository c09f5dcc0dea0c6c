"""`workbench check`: a grader's own tests for a pipeline, with three outcomes."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import workbench as wb
from workbench.cli.options import (
    COULD_NOT_RUN,
    EXIT_CODES,
    INCONCLUSIVE,
    VERDICT,
    Commands,
    UsageError,
    add_columns,
    add_json,
    add_reading,
    at_least_one,
    check_one_input,
    columns_of,
    in_shell,
    messages_to_stderr,
    read_suite,
    say,
)
from workbench.cli.output import (
    add_telemetry,
    check_scores_file,
    check_telemetry,
    print_json,
    send_events,
    write_scores,
)
from workbench.core.display_text import one_line
from workbench.core.files import STANDARD_INPUT, check_writable, write_atomically

if TYPE_CHECKING:
    from workbench.deploy.guard import CheckResult

_ON_INCONCLUSIVE = {"4": INCONCLUSIVE, "pass": 0, "fail": VERDICT}
"""Exit code of an inconclusive check, by the value of --inconclusive."""


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    check = commands.add_parser(
        "check",
        help="test graders on labelled rows, regression rows and an earlier run, for a pipeline",
        epilog=EXIT_CODES,
    )
    check.add_argument("graders", type=Path, metavar="GRADERS", help="as in `workbench run`")
    check.add_argument(
        "rows", type=Path, nargs="*", metavar="ROWS",
        help="files of rows; regression rows of `workbench probe --save` are tested as such (default: rows in GRADERS' file)",
    )  # fmt: skip
    add_columns(check)
    check.add_argument(
        "--labels", metavar="COLUMN", action="append",
        help="column of labels (known good or bad), or a validation set of Inspect Scout: golden rows; repeat the option for several annotators (default: label)",
    )  # fmt: skip
    _add_limits(check)
    _add_grading(check)
    _add_files(check)
    check.add_argument("--trust", action="store_true", help="run the source even if it cannot be confined")
    add_reading(check)
    add_json(check)
    check.set_defaults(command=_check)


def _add_limits(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--baseline", type=Path, metavar="FILE", help="compare with this file, row by row; --save writes it"
    )
    check.add_argument(
        "--max-error-rate", type=_share, metavar="RATE",
        help="maximum share of labelled rows graded against their label, such as 0.05 (default: each labelled row is a test)",
    )  # fmt: skip
    check.add_argument(
        "--max-drop", type=_number, metavar="SCORE",
        help="maximum drop of the mean score against the baseline (default 5 %% of the scale)",
    )  # fmt: skip
    check.add_argument(
        "--fail-on", choices=("gate", "error", "warning", "never"), default="error",
        help="also fail on: gate = the suite's gate only; error (default) = also findings of severity error; warning = also "
        "warnings; never = none of these",
    )  # fmt: skip
    check.add_argument(
        "--inconclusive",
        choices=tuple(_ON_INCONCLUSIVE),
        default="4",
        help="exit code of an inconclusive check (default 4)",
    )


def _add_grading(check: argparse.ArgumentParser) -> None:
    check.add_argument("--workers", type=at_least_one, help="sandbox processes (default: cores - 1)")
    check.add_argument("--store", metavar="URL", help="save judge replies there, and send no request twice")
    check.add_argument("--budget", type=float, metavar="DOLLARS", help="maximum that judges may spend")
    check.add_argument("--repeats", type=at_least_one, default=1, metavar="R", help="grade every row R times")


def _add_files(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the scores as a baseline, unless the check failed or could not run",
    )
    check.add_argument(
        "--scores", type=Path, metavar="FILE", help="write one row per grade: .csv, .jsonl, .parquet or .xlsx"
    )
    check.add_argument(
        "--junit", type=Path, metavar="XML", help="write JUnit XML: inconclusive tests are skipped ones"
    )
    add_telemetry(check)
    check.add_argument(
        "--summary", type=Path, metavar="MARKDOWN",
        help="write a summary as Markdown (default in GitHub Actions: the summary of the job)",
    )  # fmt: skip
    check.add_argument(
        "--annotations", choices=("auto", "github", "none"), default="auto",
        help="annotations of GitHub for failed and inconclusive tests (default: in GitHub Actions only)",
    )  # fmt: skip


def _share(text: str) -> float:
    number = _number(text)
    if number >= 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a share below 1, such as 0.05 for 5 %")
    return number


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of 0 or more")
    return number


def _check(options: argparse.Namespace) -> int:
    for path in filter(None, (options.save, options.scores, options.junit, options.summary)):
        check_writable(path)
    if options.scores:
        check_scores_file(options.scores)
    check_one_input(options.graders, *options.rows)
    check_telemetry(options)
    files = options.rows or _own_rows(options.graders)
    columns = columns_of(options.columns)
    suite = read_suite(options.graders, options)
    data = [wb.read_samples(path, columns=columns, join=options.join) for path in files]
    for samples in data:
        say(in_shell(samples.reading), error=True)
    result = _result(options, suite, data, files)
    code = _exit_code(result, options)
    if options.json:
        from workbench.deploy.guard.result import check_json

        print_json({**check_json(result), "exit_code": code})
    else:
        say(result)
    _write(result, options)
    send_events(options, result.reports)
    return code


def _own_rows(graders: Path) -> list[Path]:
    """The graders' file as the file of rows.

    Raises:
        UsageError: It contains code, or is standard input, so it has no rows.
    """
    if graders.suffix.lower() == ".py" or str(graders) == STANDARD_INPUT or not graders.is_file():
        raise UsageError(
            "name the files of rows",
            found=f"{one_line(graders)} alone",
            expected="workbench check GRADERS ROWS",
        )
    return [graders]


def _result(
    options: argparse.Namespace, suite: wb.Suite, data: list[wb.Samples], files: list[Path]
) -> CheckResult:
    from workbench.deploy.guard import check

    labels = options.labels[0] if options.labels and len(options.labels) == 1 else options.labels
    with messages_to_stderr():
        return check(
            suite, data, baseline=options.baseline, labels=labels, max_error_rate=options.max_error_rate,
            max_drop=options.max_drop, fail_on=options.fail_on, sources=(str(options.graders), *map(str, files)),
            workers=options.workers, store=options.store, budget=options.budget, repeats=options.repeats,
        )  # fmt: skip


def _exit_code(result: CheckResult, options: argparse.Namespace) -> int:
    """1 if a test failed; else 3 if one could not run; else that of an inconclusive check, or 0."""
    if result.outcome.value == "fail":
        return VERDICT
    if result.missed:
        return COULD_NOT_RUN
    return _ON_INCONCLUSIVE[options.inconclusive] if result.outcome.value == "inconclusive" else 0


def _write(result: CheckResult, options: argparse.Namespace) -> None:
    """Write the files of the options, each announced by a line."""
    from workbench.deploy.guard.result import github_annotations, junit_xml, markdown

    for line in _written(result, options, junit_xml(result), markdown(result)):
        say(line, error=options.json)
    is_github = os.environ.get("GITHUB_ACTIONS") == "true"
    if options.annotations == "github" or (options.annotations == "auto" and is_github):
        for line in github_annotations(
            result, file=str(options.graders) if options.graders.is_file() else ""
        ):
            say(line, error=options.json)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if is_github and summary and options.summary is None:
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(markdown(result))
        except OSError as error:
            say(f"workbench: the job's summary cannot be written: {error.strerror}", error=True)


def _written(result: CheckResult, options: argparse.Namespace, junit: str, summary: str) -> Iterator[str]:
    if options.junit:
        yield f"wrote {write_atomically(options.junit, junit)}"
    if options.summary:
        yield f"wrote {write_atomically(options.summary, summary)}"
    if options.scores:
        yield f"wrote {write_scores(options.scores, _scores(result))}"
    if options.save is None:
        return
    if result.outcome.value == "fail" or result.missed:
        yield f"not saved: {options.save}, because the check {'failed' if result.outcome.value == 'fail' else 'could not run'}"
    elif result.baseline is None:
        yield f"not saved: {options.save}, because only regression rows were graded"
    else:
        again = [
            "workbench",
            "check",
            str(options.graders),
            *map(str, options.rows),
            "--baseline",
            str(options.save),
        ]
        yield f"wrote {result.save(options.save)}; compare the next run:  {shlex.join(again)}"


def _scores(result: CheckResult) -> Any:
    """One row per grade of all files of rows."""
    import pandas as pd

    frames = [report.frame for report in result.reports]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
