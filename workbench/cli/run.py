"""`workbench run`: grade samples, print summary and findings, write scores and certificate, and set the exit code."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import workbench as wb
from workbench.cli.options import (
    COULD_NOT_RUN,
    EXIT_CODES,
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
    same_rows,
    say,
)
from workbench.cli.output import (
    add_telemetry,
    check_scores_file,
    check_telemetry,
    print_json,
    report_json,
    send_events,
    write_scores,
)
from workbench.core.display_text import counted, one_line
from workbench.core.files import STANDARD_INPUT, check_writable

if TYPE_CHECKING:
    from workbench.graders.combine.gates import GateResult
    from workbench.report import Report
    from workbench.run.overview import Overview


_ENDINGS = (".html", ".md", ".json")


def check_place(path: Path) -> None:
    """Refuse a file that cannot be written, before hours of grading.

    Raises:
        FormatError: Another ending, or a path that cannot be written.
    """
    from workbench.formats.shared import get_format
    from workbench.formats.shared.writing import check_target

    if path.suffix not in _ENDINGS:
        raise wb.errors.FormatError(
            "a certificate is written as a page, as Markdown, or with its graders", where=str(path), expected=" or ".join(_ENDINGS)
        )  # fmt: skip
    check_writable(path)
    if path.suffix == ".json":
        check_target(path, get_format("native"))


def validate_all(graders: wb.Suite, samples: wb.Samples) -> None:
    """Validate the graders: on the mock row, and if that lacks a column that they read, on the first rows.

    Raises:
        NotValidatedError: A grader does not pass its checks.
    """
    from workbench.formats.files import prove
    from workbench.formats.shared import require_all_validated

    prove(graders)
    try:
        require_all_validated(graders)
    except wb.errors.NotValidatedError:
        prove(graders, samples)
        require_all_validated(graders)


def write_certificate(path: Path, graders: wb.Suite, report: Report) -> Path:
    """Write the certificate of a run: a page, Markdown, or the graders with it as native JSON."""
    certificate = wb.certificate(graders, report)
    if path.suffix == ".json":
        return wb.save(graders, path, certificate=certificate)
    return certificate.to_html(path) if path.suffix == ".html" else certificate.to_markdown(path)


REDUCERS = ("first", "mean", "median", "majority")
"""The names of `workbench.graders.repeats.REDUCERS`, whose import would take a second."""

_FAIL_ON = {"gate": (), "error": ("error",), "warning": ("error", "warning")}
"""Severities of findings that fail a run in addition to its gate, by the value of --fail-on."""


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    run = commands.add_parser("run", help="grade samples and print summary and findings", epilog=EXIT_CODES)
    run.add_argument(
        "graders", type=Path, help="a .py module with grade functions, or a grader file of any platform"
    )
    run.add_argument(
        "samples",
        type=Path,
        help=".jsonl, .json, .csv, .parquet or a folder of Parquet files",
    )
    _add_rows(run)
    _add_grading(run)
    _add_files(run)
    run.add_argument(
        "--fail-on",
        choices=(*_FAIL_ON, "never"),
        default="error",
        help="exit with code 1 on: gate = a failed gate only; error (default) = also findings of severity error; "
        "warning = also warnings; never = none of these",
    )
    run.add_argument("--trust", action="store_true", help="run the source even if it cannot be confined")
    add_reading(run)
    add_json(run)
    run.set_defaults(command=_run)


def _add_rows(run: argparse.ArgumentParser) -> None:
    """Options for which rows are graded, and the roles of their columns."""
    run.add_argument("--draw", type=at_least_one, metavar="N", help="grade a random sample of N rows")
    run.add_argument("--seed", type=int, default=0, help="of the random sample (default 0)")
    add_columns(run)
    run.add_argument(
        "--labels", metavar="COLUMN", action="append",
        help="column of labels (known good or bad), or a validation set of Inspect Scout; repeat the option for several annotators",
    )  # fmt: skip


def _add_grading(run: argparse.ArgumentParser) -> None:
    """Options for how they are graded."""
    run.add_argument("--workers", type=at_least_one, help="sandbox processes (default: cores - 1)")
    run.add_argument("--store", metavar="URL", help="save judge replies there, and send no request twice")
    run.add_argument(
        "--batch", action="store_true",
        help="send judges' requests through their server's batch API (cheaper, up to 24 hours); rerun the same command to collect; needs --store",
    )  # fmt: skip
    run.add_argument(
        "--prices",
        type=Path,
        metavar="JSON",
        help="prices of models, as an edited copy of workbench/judges/prices.json",
    )
    run.add_argument("--budget", type=float, metavar="DOLLARS", help="maximum that judges may spend")
    run.add_argument(
        "--repeats",
        type=at_least_one,
        default=1,
        metavar="R",
        help="grade every row R times, in another order each time",
    )
    run.add_argument(
        "--reduce", choices=REDUCERS, default="first", help="how a row's repeats are reduced to one grade"
    )
    run.add_argument(
        "--resume", type=Path, metavar="PARQUET",
        help="save grades during the run next to this file, and write the report there; rerun the same command to "
        "continue after a stop or a kill",
    )  # fmt: skip


def _add_files(run: argparse.ArgumentParser) -> None:
    """Options for what is written."""
    run.add_argument(
        "--overview", type=Path, metavar="FOLDER",
        help="for more rows than fit in memory: grade them part by part, write the grades of each part there, and print "
        "aggregates, with findings from a sample of whole prompts; rerun the same command after a stop or a kill",
    )  # fmt: skip
    run.add_argument("--report", type=Path, metavar="HTML", help="write a self-contained report")
    run.add_argument(
        "--scores", type=Path, metavar="FILE", help="write one row per grade: .csv, .jsonl, .parquet or .xlsx"
    )
    add_telemetry(run)
    run.add_argument(
        "--validation",
        type=Path,
        metavar="CSV",
        help="write the labels as a validation set of Inspect Scout: id and target",
    )
    run.add_argument(
        "--certificate", type=Path, metavar="FILE",
        help="write a certificate of the validation and findings: .html, .md, or .json with the graders",
    )  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    if options.prices:
        wb.judges.set_prices(options.prices)
    if options.overview and options.batch:
        raise UsageError("--batch and --overview cannot be combined: a batch is collected into one report")
    if options.overview:
        return _run_overview(options)
    # Everything that could prevent the output is checked first: grading may take hours before it is written.
    for path in filter(None, (options.report, options.scores, options.validation)):
        check_writable(path)
    if options.scores:
        check_scores_file(options.scores)
    if options.certificate:
        check_place(options.certificate)
    check_telemetry(options)
    check_one_input(options.graders, options.samples)
    columns = columns_of(options.columns)
    graders = read_suite(options.graders, options)
    samples = wb.read_samples(options.samples, columns=columns, join=options.join)
    if options.draw is not None:
        samples = samples.draw(options.draw, seed=options.seed)
    if options.certificate:
        validate_all(graders, samples)
    say(in_shell(samples.reading), error=True)
    with messages_to_stderr():
        report = graders.run(
            samples, workers=options.workers, labels=_labels(options.labels), budget=options.budget, store=options.store,
            repeats=options.repeats, reduce=options.reduce, resume=options.resume, batch=options.batch,
        )  # fmt: skip
    _print(report, options)
    for path in _written(report, graders, options):
        say(f"wrote {path}", error=options.json)
    send_events(options, [report])
    _say_missing_columns(graders, samples, report)
    _say_not_probed(graders, options)
    return _exit_code(report, report.gate, options.fail_on)


def _say_missing_columns(graders: wb.Suite, samples: wb.Samples, report: Report) -> None:
    """The columns that graders name and the rows lack, for graders without a score."""
    from workbench.probes.probe_rows import named_columns

    for entry in graders.entries:
        lacking = sorted(named_columns(entry.grader) - {*map(str, samples.column_names), "reference"})
        if lacking and not report.grades[entry.name].n_scored:
            names = ", ".join(repr(one_line(name, 40)) for name in lacking[:5])
            say(
                f"{one_line(entry.name, 60)} reads {names}, which the rows do not have; add the file that has "
                f"{'it' if len(lacking) == 1 else 'them'}, with the same ids: --join FILE", error=True,
            )  # fmt: skip


def _written(report: Report, graders: wb.Suite, options: argparse.Namespace) -> Iterator[Path]:
    """Write the files of the options; each when the one before is announced."""
    if options.report:
        yield report.to_html(options.report)
    if options.scores:
        yield write_scores(options.scores, report.frame)
    if options.certificate:
        yield write_certificate(options.certificate, graders, report)
    if options.validation:
        yield _write_validation(options.validation, report)


def _write_validation(path: Path, report: Report) -> Path:
    """Write the labels of a report.

    Raises:
        ReportError: There are none.
    """
    from workbench.report.cases import label_codes
    from workbench.report.validation_set import write_validation_set

    codes = label_codes(report).tolist()
    if all(code < 0 for code in codes):
        raise wb.errors.ReportError(
            "a validation set is written from labels, and the rows have none",
            hint="name their column: --labels COLUMN",
        )
    return write_validation_set(path, report.samples, [None if code < 0 else code == 1 for code in codes])


def _print(report: Report | Overview, options: argparse.Namespace) -> None:
    print_json(report_json(report)) if options.json else say(report)


def _say_not_probed(graders: wb.Suite, options: argparse.Namespace) -> None:
    """A line on stderr if the suite contains code: a run shows how it scores these rows, and not what it can be made to accept."""
    from workbench.graders.code.custom import CustomGrader
    from workbench.graders.serialization import parts

    certified = (
        {one.name for one in graders.certificate.graders if one.probe} if graders.certificate else set()
    )
    code = [
        entry.name
        for entry in graders.entries
        if entry.name not in certified
        and any(
            hasattr(part, "require_validated") or isinstance(part, CustomGrader)
            for part in parts(entry.grader)
        )
    ]
    if code and str(options.graders) != STANDARD_INPUT:
        rows = (
            ""
            if str(options.samples) == STANDARD_INPUT
            else f" --samples {shlex.quote(str(options.samples))}{same_rows(options)}"
        )
        names = f"{', '.join(map(one_line, code[:_NAMED]))}{f' and {len(code) - _NAMED} more' if len(code) > _NAMED else ''}"
        say(
            f"not probed: {names}. To search for wrong completions that get reward:  "
            f"workbench probe {shlex.quote(str(options.graders))}{rows}",
            error=True,
        )


_NAMED = 4
"""Maximum graders that a line names."""


_OF_REPORTS = {
    "draw": "--draw",
    "resume": "--resume",
    "report": "--report",
    "scores": "--scores",
    "certificate": "--certificate",
    "telemetry": "--telemetry",
    "validation": "--validation",
}


def _run_overview(options: argparse.Namespace) -> int:
    """Grade part by part; see `Suite.overview`.

    Raises:
        UsageError: An option that needs all rows in memory.
        ReportError: Labels of several annotators.
    """
    for name, option in _OF_REPORTS.items():
        if getattr(options, name) not in (None, False):
            raise UsageError(
                "an overview cannot be combined with an option for a report", found=option,
                hint='workbench.read_report("FOLDER/part-00000.parquet", rows) reads the report on one part, with the rows of that part',
            )  # fmt: skip
    graders = read_suite(options.graders, options)
    path: Path = options.samples
    samples = wb.read_samples(
        path, columns=columns_of(options.columns), join=options.join,
        lazy=not options.join and (path.is_dir() or path.suffix.lower() == ".parquet"),
    )  # fmt: skip
    labels: Any = _labels(options.labels)
    with messages_to_stderr():
        overview = graders.overview(
            samples, options.overview, workers=options.workers, labels=labels, budget=options.budget, store=options.store,
            repeats=options.repeats, reduce=options.reduce,
        )  # fmt: skip
    _print(overview, options)
    say(
        f"wrote {counted(overview.parts['part'].nunique(), 'part')} in {options.overview}", error=options.json
    )
    return _exit_code(overview, overview.report.gate, options.fail_on, missing=overview.missing)


def _exit_code(report: Report | Overview, gate: GateResult | None, fail_on: str, *, missing: int = 0) -> int:
    """The exit code of a run, and on stderr why it is not 0."""
    from workbench.deploy.guard.decisions import INFRASTRUCTURE

    unscored = [str(name) for name, row in report.summary.iterrows() if len(report) and not row["scored"]]
    errors = report.errors
    # A grader that fails on every row by itself is a verdict; rows that no grader could grade are not.
    own = set(errors["grader"][~errors["error_kind"].isin([str(kind) for kind in INFRASTRUCTURE])])
    missed = [f"{name} scored nothing" for name in unscored if name not in own]
    missed += [] if len(report) else ["there are no rows"]
    if missing or report.errors["error_kind"].isin(["budget", "cancelled", "pending"]).any():
        missed.append("rows were left out")
    failing = [finding for finding in report.findings if finding.severity in _FAIL_ON.get(fail_on, ())]
    verdicts = [f"{name} scored nothing" for name in unscored if name in own]
    verdicts += ["the gate failed"] if fail_on != "never" and gate is not None and not gate.passed else []
    if failing:
        verdicts.append(f"{counted(len(failing), 'finding')} of severity {' or '.join(_FAIL_ON[fail_on])}")
    code = COULD_NOT_RUN if missed else VERDICT if verdicts else 0
    if code:
        say(f"workbench: exit code {code}: {'; '.join([*missed, *verdicts])}", error=True)
    return code


def _labels(names: list[str] | None) -> str | list[str] | None:
    """The column of labels, or those of several annotators."""
    return names[0] if names is not None and len(names) == 1 else names
