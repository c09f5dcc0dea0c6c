"""`workbench validate`: the five checks on a grader file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.cli.options import (
    VERDICT,
    Commands,
    add_json,
    add_reading,
    add_samples,
    read_suite,
    say,
    trial_rows,
)
from workbench.cli.output import print_json
from workbench.core.display_text import one_line
from workbench.core.files import check_writable


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    validate = commands.add_parser("validate", help="run the five checks on a grader file")
    validate.add_argument(
        "file",
        type=Path,
        metavar="GRADERS",
        help="a .py module with grade functions, or a grader file of any platform",
    )
    validate.add_argument("--out", type=Path, help="write the validated graders to this .json file")
    validate.add_argument("--trust", action="store_true", help="run the source even if it cannot be confined")
    add_samples(validate)
    add_reading(validate)
    add_json(validate)
    validate.set_defaults(command=_validate)


def _validate(options: argparse.Namespace) -> int:
    from workbench.formats.files import first_rows
    from workbench.formats.shared import get_format
    from workbench.formats.shared.writing import check_target
    from workbench.graders.serialization import parts

    if options.out:
        check_writable(options.out)
        check_target(options.out, get_format("native"))
    graders, rows = read_suite(options.file, options), trial_rows(options)
    trial_samples = None if rows is None else first_rows(rows)
    functions: list[Any] = []
    found: list[dict[str, Any]] = []
    for entry in graders.entries:
        code_graders: list[Any] = [part for part in parts(entry.grader) if hasattr(part, "require_validated")]
        for grader in code_graders:
            validation = grader.validate(trial_samples)
            found.append(_as_json(entry.name, validation))
            if not options.json:
                say(f"{one_line(entry.name)}\n{validation}\n")
        if not code_graders:
            found.append({"grader": entry.name, "kind": entry.grader.kind, "ok": True, "checks": []})
        if not code_graders and not options.json:
            say(f"{one_line(entry.name)}\n  a {entry.grader.kind} grader: loaded, no source to validate\n")
        functions += code_graders
    failed = [grader for grader in functions if grader.validation is None or not grader.validation.ok]
    if options.json:
        print_json({"graders": found, "ok": not failed})
    if options.out and not failed:
        say(f"wrote {wb.save(graders, options.out)}", error=options.json)
    return VERDICT if failed else 0


def _as_json(name: str, validation: Any) -> dict[str, Any]:
    checks = [
        {"name": check.name, "passed": check.passed, "message": check.message} for check in validation.checks
    ]
    return {"grader": name, "ok": validation.ok, "checks": checks, "warnings": list(validation.warnings)}
