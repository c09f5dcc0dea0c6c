"""`workbench open`: what a file is, what it contains, and the next command."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import workbench as wb
from workbench.cli.options import (
    COULD_NOT_RUN,
    Commands,
    UsageError,
    add_columns,
    add_json,
    add_reading,
    columns_of,
    in_shell,
    read_suite,
    same_rows,
    say,
)
from workbench.cli.output import print_json
from workbench.core.display_text import counted, number, one_line
from workbench.core.files import STANDARD_INPUT

_SHOWN = 8
"""Maximum graders, and old scores, that are listed."""
_CONFIGS = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("open", help="show what a file is, what it contains, and the next command")
    command.add_argument(
        "path", type=Path, metavar="ANYTHING",
        help="graders, rewards, rows, results or traces of any known tool, a saved report or baseline, or module:function",
    )  # fmt: skip
    add_columns(command)
    command.add_argument(
        "--trust", action="store_true", help="accept source that this machine cannot confine"
    )
    add_reading(command)
    add_json(command)
    command.set_defaults(command=_open)


@dataclass
class FileFacts:
    """What a file contains.

    Attributes:
        path: The file.
        kind: What it is, in a few terms.
        suite: Its graders; None without.
        samples: Its rows; None without.
        lines: Further facts, a line each.
        problems: Why there are no graders, or no rows.
        next: The next command; "" if there is none.
    """

    path: Path
    kind: str = ""
    suite: wb.Suite | None = None
    samples: wb.Samples | None = None
    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    next: str = ""


def _open(options: argparse.Namespace) -> int:
    if str(options.path) == STANDARD_INPUT:
        raise UsageError(
            "standard input cannot be opened, because it is read more than once",
            hint="write it to a file first",
        )
    facts = facts_of(options)
    if options.json:
        print_json(_as_json(facts))
    else:
        for line in _lines(facts):
            say(in_shell(line))
    return 0 if facts.kind else COULD_NOT_RUN


def facts_of(options: argparse.Namespace) -> FileFacts:
    """What the file of the options contains."""
    path: Path = options.path
    if not path.exists() and ":" not in str(path):
        raise wb.errors.FormatError(
            "there is no such file or folder", where=str(path), hint="check its name and folder"
        )
    _contents().check_not_empty(path)
    if path.is_dir():
        path = next((path / name for name in _CONFIGS if (path / name).is_file()), path)
    facts = FileFacts(path)
    if _is_saved(facts):
        return facts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _add_contents(facts, options)
    if facts.suite is not None or facts.samples is not None:
        facts.next = _next(facts, options)
    return facts


def _contents() -> ModuleType:
    """The module that reads files: loaded late, because `workbench --help` needs none of it."""
    from workbench.formats import file_contents

    return file_contents


def _is_saved(facts: FileFacts) -> bool:
    """Whether the file is one that the workbench wrote: a report or a store; its facts are added."""
    path, name, known = facts.path, repr(str(facts.path)), _contents()
    facts.kind = known.saved_kind(path)
    if facts.kind == known.SAVED_REPORT:
        facts.lines = str(wb.read_report(path)).splitlines()
        facts.next = _python(f"wb.read_report({name}).to_html('report.html')")
    if facts.kind == known.BASELINE:
        _add_baseline(facts)
    if facts.kind == known.DATABASE:
        facts.next = _python(f"print(wb.open_store({name}))")
    return bool(facts.kind)


def _add_baseline(facts: FileFacts) -> None:
    from workbench.deploy.guard.baseline import Baseline, version_of

    stored = Baseline.load(facts.path)
    facts.lines = [f"made {stored.made}, {counted(len(stored.rows), 'row')}"]
    facts.lines += [
        f"{one_line(name, 60)}: version {version_of(one.fingerprint) or 'unknown'}, mean {number(_mean_of(one.scores))}"
        for name, one in stored.graders.items()
    ]
    graders, rows = stored.sources.get("graders"), stored.sources.get("rows")
    if (
        isinstance(graders, str)
        and graders
        and isinstance(rows, list)
        and all(isinstance(one, str) and one for one in rows)
    ):
        facts.next = shlex.join(["workbench", "check", graders, *rows, "--baseline", str(facts.path)])


def _python(code: str) -> str:
    return f"python -c {shlex.quote(f'import workbench as wb; {code}')}"


def _add_contents(facts: FileFacts, options: argparse.Namespace) -> None:
    path, known = facts.path, _contents()
    is_large = path.suffix.lower() == ".parquet" and path.is_file() and path.stat().st_size > known.LARGE
    contents = known.read_contents(
        path,
        lambda path: read_suite(path, options),
        lambda path: wb.read_samples(
            path,
            columns=columns_of(options.columns),
            join=options.join,
            lazy=not options.join and (path.is_dir() or is_large),
        ),
        format=options.format,
    )
    facts.kind, facts.problems = contents.kind, contents.problems
    facts.suite, facts.samples = contents.suite, contents.samples


def _lines(facts: FileFacts) -> Iterator[str]:
    if not facts.kind:
        yield f"{facts.path}: neither graders nor rows can be read"
        yield from (f"- {one}" for one in dict.fromkeys(facts.problems))
        return
    yield f"{facts.path}: {facts.kind}"
    yield from (f"  {line}" for line in facts.lines)
    if facts.suite is not None:
        yield from _grader_lines(facts.suite)
    if facts.samples is not None:
        yield from _row_lines(facts.samples)
    if facts.next:
        yield f"next:\n{facts.next}"


def _grader_lines(suite: wb.Suite) -> Iterator[str]:
    combined = f", combined by {suite.combine!r}" if suite.combine is not None else ""
    gate = ", with a gate" if suite.gate is not None else ""
    yield f"  {counted(len(suite.entries), 'grader')}{one_line(combined, 120)}{gate}:"
    for entry in suite.entries[:_SHOWN]:
        about = f": {one_line(entry.grader.description, 100)}" if entry.grader.description else ""
        yield f"    {one_line(entry.name, 60)} ({entry.grader.kind}){about}"
    if len(suite.entries) > _SHOWN:
        yield f"    and {len(suite.entries) - _SHOWN} more"
    if names := _columns_read(suite):
        yield f"  columns that they read: {', '.join(repr(one_line(name, 40)) for name in names[:_SHOWN])}"


def _columns_read(suite: wb.Suite) -> list[str]:
    from workbench.probes.probe_rows import named_columns

    return sorted({name for entry in suite.entries for name in named_columns(entry.grader)})


def _row_lines(samples: wb.Samples) -> Iterator[str]:
    yield f"  {samples.reading}"
    if (lacking := _contents().no_completions(samples)) is not None:
        yield f"  not gradable: {lacking.what}; {lacking.hint or lacking.expected}"
    if _contents().rows_kind(samples) == _contents().REGRESSION:
        yield "  to grade them with the graders of that probe: workbench check GRADERS and this file"
    for note in samples.notes:
        if not note.startswith("read as "):
            yield f"  note: {note}"
    old = samples.old_grades
    if old:
        yield f"  past scores of {counted(len(old), 'grader')}:"
    for name, grades in list(old.items())[:_SHOWN]:
        yield f"    {one_line(name, 60)}: {grades.n_scored:,} scored, mean {number(_mean(grades.scores))}"
    if len(old) > _SHOWN:
        yield f"    and {len(old) - _SHOWN} more"


def _next(facts: FileFacts, options: argparse.Namespace) -> str:
    """The next command, with the file's name."""
    path = shlex.quote(str(facts.path))
    columns = same_rows(options)
    platform = f" --from {options.format}" if options.format else ""
    can_run = facts.samples is not None and _contents().has_completions(facts.samples)
    if facts.suite is not None and can_run:
        return f"workbench run {path} {path}{columns}{platform}"
    if facts.suite is not None and _is_for_certain_rows(facts.suite):
        # Made rows have other values, so that the graders would not apply to them.
        made = f"promptfoo eval -c {path} -o results.json\nworkbench run results.json results.json"
        return made if "promptfoo" in facts.kind else f"workbench run {path} rows.jsonl{platform}"
    if facts.suite is not None:
        return f"workbench probe {path}{platform}"
    assert facts.samples is not None
    rows = facts.samples
    if facts.kind == _contents().REGRESSION:
        return ""
    if (lacking := _contents().no_completions(rows)) is not None:
        mapped = re.search(r"--columns completion=(?!COLUMN)\S+", in_shell(lacking.hint))
        return f"workbench open {path}{columns} {mapped[0]}" if mapped else ""
    numbered = (f"grader_{count}.py" for count in itertools.count(2))
    name = next(name for name in itertools.chain(["grader.py"], numbered) if not Path(name).exists())
    lazy = " --overview graded" if rows.is_lazy else ""
    return f"cat > {name} <<'END'\n{_first_grader(rows)}END\nworkbench run {name} {path}{columns}{lazy}"


def _is_for_certain_rows(suite: wb.Suite) -> bool:
    from workbench.probes.probe_rows import is_for_certain_rows

    return is_for_certain_rows(suite)


def _first_grader(rows: wb.Samples) -> str:
    """The text of a grader to start with: it looks for the reference, or for any text."""
    reference = rows.columns.get("reference")
    test = (
        f"str(thread.metadata[{json.dumps(reference)}]) in completion" if reference else "len(completion) > 0"
    )
    return (
        "async def grade(thread: StringThread) -> float:\n"
        '    completion = thread.completion() or ""\n'
        f"    return 1.0 if {test} else 0.0\n"
    )


def _as_json(facts: FileFacts) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": str(facts.path),
        "is": facts.kind,
        "next": facts.next,
        "facts": facts.lines,
    }
    if not facts.kind:
        return {**found, "problems": list(dict.fromkeys(facts.problems))}
    if facts.suite is not None:
        found["graders"] = [
            {"name": entry.name, "kind": entry.grader.kind, "description": entry.grader.description}
            for entry in facts.suite.entries
        ]
        found["columns_read"] = _columns_read(facts.suite)
    if facts.samples is not None:
        rows = facts.samples
        found["rows"] = {
            "count": len(rows), "reading": rows.reading, "columns": rows.columns, "metadata": list(rows.metadata_names),
            "notes": list(rows.notes), "has_completions": _contents().has_completions(rows),
        }  # fmt: skip
        found["past_scores"] = {
            name: {"scored": grades.n_scored, "mean": _mean(grades.scores)}
            for name, grades in rows.old_grades.items()
        }
    return found


def _mean(scores: Any) -> float:
    return _mean_of(scores.tolist())


def _mean_of(scores: Iterable[float]) -> float:
    """The mean of the scores that are there; NaN without."""
    there = [score for score in scores if not math.isnan(score)]
    return sum(there) / len(there) if there else math.nan
