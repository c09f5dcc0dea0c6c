"""`workbench probe`: search for texts that a reward misgrades, and end with what to change."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
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
    trial_rows,
)
from workbench.cli.output import finding_json, print_json
from workbench.core.display_text import capital, counted, number, one_line
from workbench.core.files import check_writable, write_atomically

if TYPE_CHECKING:
    from workbench.analysis.finding import Finding
    from workbench.probes import Probe

_FAIL_ON = {"error": ("error",), "question": ("error", "question"), "never": ()}
"""Severities of findings with which the command exits with 1, by the value of --fail-on."""

_TEXT = 160
"""Maximum characters of a text in a verdict."""


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    probe = commands.add_parser(
        "probe", help="search for wrong completions that get reward; needs no label", epilog=EXIT_CODES
    )
    probe.add_argument(
        "graders", type=Path, metavar="GRADERS",
        help="a file with rewards or graders, one of them (reward.py:near), or the import path of a function "
        "(trl.rewards:think_format_reward)",
    )  # fmt: skip
    probe.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help="your rows; by default rows of the file itself, or made ones",
    )
    add_columns(probe)
    probe.add_argument("--labels", metavar="COLUMN", help="column of labels: known-good rows are examples")
    probe.add_argument("--rows", type=at_least_one, metavar="N", help="rows drawn (default 40; 6 for judges)")
    probe.add_argument(
        "--tries", type=int, metavar="N", help="texts of the search (default 400; 12 for judges)"
    )
    probe.add_argument("--seed", type=int, default=0, help="of the rows and texts (default 0)")
    probe.add_argument(
        "--pass-threshold", type=float, metavar="SCORE", help="lowest score that accepts a text"
    )
    probe.add_argument("--budget", type=float, metavar="DOLLARS", help="maximum that judges may spend")
    probe.add_argument("--store", metavar="URL", help="save judge replies there, and send no request twice")
    probe.add_argument(
        "--save", type=Path, metavar="JSONL",
        help="write the misgraded texts as regression rows, for: workbench check GRADERS JSONL",
    )  # fmt: skip
    probe.add_argument(
        "--fail-on",
        choices=tuple(_FAIL_ON),
        default="error",
        help="findings that end with exit code 1 (default error)",
    )
    probe.add_argument("--trust", action="store_true", help="run the source even if it cannot be confined")
    add_reading(probe)
    add_json(probe)
    probe.set_defaults(command=_probe)


def _probe(options: argparse.Namespace) -> int:
    from workbench.probes.probe_rows import MADE_ROWS

    check_one_input(options.graders, options.samples)
    if options.save:
        check_writable(options.save)
    suite = read_suite(options.graders, options)
    samples, origin = _rows(suite, options)
    say(origin, error=True)
    probes: list[tuple[str, Probe]] = []
    for target in _targets(suite):
        settings = {"labels": options.labels, "budget": options.budget, "store": options.store}
        with messages_to_stderr():
            found = wb.probe(
                target, samples, rows=options.rows, tries=options.tries, seed=options.seed,
                pass_threshold=options.pass_threshold, **settings,
            )  # fmt: skip
        probes.append((found.grader, found))
        if not options.json:
            say(f"{found}\n")
    severities = _FAIL_ON[options.fail_on]
    unscored = [name for name, probe in probes if not _scored(probe)]
    # A grader without a score was not probed: its finding, that it fails, is not one about what it accepts.
    failing = [name for name, probe in probes if name not in unscored and _has(probe, severities)]
    code = VERDICT if failing else COULD_NOT_RUN if unscored else 0
    made = samples.source == MADE_ROWS
    if options.json:
        print_json({
            "graders": [_as_json(name, probe) for name, probe in probes], "rows": len(samples), "rows_from": origin,
            "rows_were_made": made, "exit_code": code,
        })  # fmt: skip
    else:
        for line in _verdicts(probes, made=made):
            say(line)
    if options.save:
        say(f"wrote {_save(options.save, [probe for _, probe in probes])}", error=options.json)
    elif failing and not options.json:
        say(f"to test a fix with these texts:  {_again(options)}")
    return code


def _rows(suite: wb.Suite, options: argparse.Namespace) -> tuple[wb.Samples, str]:
    """The rows to probe on: those given, those in the graders' file, or made ones; and a line on what they are."""
    if (given := trial_rows(options)) is not None:
        return given, in_shell(given.reading)
    from workbench.probes.probe_rows import MADE_ROWS, rows_for

    try:
        samples, origin = rows_for(suite, options.graders, columns_of(options.columns))
    except wb.errors.SamplesError as error:
        raise UsageError(
            error.what, where=error.where, found=error.found, hint=f"{error.hint}: --samples FILE"
        ) from error
    more = ": --samples FILE" if samples.source == MADE_ROWS else ""
    return samples, f"{in_shell(origin)}{more}"


def _targets(suite: wb.Suite) -> list[Any]:
    """What is probed: each grader by itself, and the suite if its graders are parts of one score."""
    if len(suite.entries) == 1 or suite.combine is None:
        return [wb.Suite([entry]) for entry in suite.entries]
    return [suite]


def _has(probe: Probe, severities: Sequence[str]) -> bool:
    return any(finding.severity in severities for finding in probe.findings)


def _scored(probe: Probe) -> bool:
    """Whether any text got a score."""
    return any(grades.n_scored for grades in probe.report.grades.values())


def _verdicts(probes: list[tuple[str, Probe]], *, made: bool) -> Iterator[str]:
    """The end of the output: for each grader what gets reward that should not, the shortest text, and what to change."""
    for name, probe in probes:
        errors = [finding for finding in probe.findings if finding.severity == "error"]
        others = len(probe.findings) - len(errors)
        if not _scored(probe):
            yield f"verdict: {one_line(name)}: not probed: {_why_unscored(probe)}"
            continue
        if not errors:
            more = f"; {counted(others, 'question')} to decide" if others else ""
            yield f"verdict: {one_line(name)}: no error found with {probe.tries:,} texts{more}{_caveat(probe, made)}"
            continue
        yield f"verdict: {one_line(name)}: {counted(len(errors), 'error')} found with {probe.tries:,} texts"
        for finding in errors[:_SHOWN]:
            yield from _finding_lines(probe, finding)
        if len(errors) > _SHOWN:
            yield f"  and {len(errors) - _SHOWN} more errors, listed above"


_SHOWN = 3
"""Maximum errors of a grader whose text is repeated at the end."""


def _finding_lines(probe: Probe, finding: Finding) -> Iterator[str]:
    example, claim = _shortest(probe, finding), one_line(finding.message.partition(":")[0], 200)
    if example is None:
        yield f"  problem: {claim}"
    else:
        title = "gets reward" if example["expects"] == "reject" else "is rejected although correct"
        yield f"  {title}: {claim}"
        yield f"    shortest text: {_quoted(example['text'])} {_context(example)}"
    yield f"    change: {capital(one_line(finding.advice, 300))}."


def _context(example: dict[str, Any]) -> str:
    reference = f", reference {_quoted(example['reference'], 60)}" if example["reference"] else ""
    return f"(score {number(example['score'])}; prompt {_quoted(example['prompt'], 60)}{reference})"


def _quoted(text: Any, limit: int = _TEXT) -> str:
    if text is None:
        return "no completion"
    return '"" (empty)' if text == "" else f'"{one_line(text, limit)}"'


def _shortest(probe: Probe, finding: Finding) -> dict[str, Any] | None:
    """The shortest text that shows a finding, and whether it should have been rejected; None if it has no text."""
    try:
        texts = probe.texts(finding.kind)
    except wb.errors.ReportError:
        return None
    if not len(texts):
        return None
    rows: list[dict[Any, Any]] = texts.to_dict("records")
    shortest = min(rows, key=lambda row: len(row["text"] or ""))
    expects = dict(zip(probe.table["transformation"], probe.table["expects"], strict=True))
    return {**shortest, "expects": expects.get(shortest["transformation"], "reject")}


def _why_unscored(probe: Probe) -> str:
    """Why no text got a score: the most frequent error, and what to do."""
    errors = probe.report.errors
    if not len(errors):
        return "every text was skipped; give rows that it scores: --samples FILE"
    first = errors["error"].value_counts().index[0]
    return f"every text failed: {one_line(first, 200)}; give rows that it scores: --samples FILE"


def _caveat(probe: Probe, made: bool) -> str:
    """A warning that little was learnt, if the grader accepts no correct completion."""
    rows = probe.rows.frame
    if len(rows) and (rows["probe"] == "right answer").any():
        return ""
    where = "made rows" if made else "rows"
    return (
        f". No reference of the {where} was accepted in any form, so only texts without content were tested; "
        f"{'give your rows: --samples FILE' if made else 'check which column is the reference: --columns reference=COLUMN'}"
    )


def _as_json(name: str, probe: Probe) -> dict[str, Any]:
    def with_text(finding: Finding) -> dict[str, Any]:
        return {**finding_json(finding), "shortest_text": _shortest(probe, finding)}

    return {
        "name": name, "texts": probe.tries, "scored": _scored(probe), "rows": len(probe.samples),
        "findings": list(map(with_text, probe.findings)), "consequences": list(map(finding_json, probe.consequences)),
        "notes": list(map(finding_json, probe.notes)), "run_notes": list(probe.run_notes),
    }  # fmt: skip


def _save(path: Path, probes: list[Probe]) -> Path:
    """Write the regression rows of all probes; the column `grader` names whose they are."""
    import pandas as pd

    frames = [probe.rows.frame.assign(grader=probe.grader) for probe in probes]
    text: str = pd.concat(frames, ignore_index=True).to_json(orient="records", lines=True, force_ascii=True)
    return write_atomically(path, text if text.endswith("\n") else f"{text}\n")


def _again(options: argparse.Namespace) -> str:
    """The command that writes the regression rows, and the one that grades them."""
    words = ["workbench", "probe", str(options.graders)]
    words += ["--samples", str(options.samples)] if options.samples else []
    return f"{shlex.join(words)}{same_rows(options)} --save holes.jsonl && workbench check {shlex.quote(str(options.graders))} holes.jsonl"
