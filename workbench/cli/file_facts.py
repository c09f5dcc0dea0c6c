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
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.cli.made_rows import is_for_certain_rows
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
    say,
)
from workbench.cli.output import print_json
from workbench.core.display_text import counted, number, one_line
from workbench.core.files import STANDARD_INPUT

_SHOWN = 8
"""Maximum graders, and old scores, that are listed."""
_CODE = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".ipynb", ".toml", ".yaml", ".yml"})
"""Suffixes of files that contain graders and not rows."""
_LARGE = 64 * 2**20
"""Bytes from which a file is not searched for graders, and Parquet is read on demand: 64 MiB."""
_REGRESSION = "regression rows of a probe"
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
    if path.is_file() and not path.stat().st_size:
        raise wb.errors.FormatError("the file is empty", where=str(path), found="0 bytes")
    if path.is_dir():
        path = next((path / name for name in _CONFIGS if (path / name).is_file()), path)
    facts = FileFacts(path)
    if _is_saved(facts):
        return facts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _add_graders(facts, options)
        _add_rows(facts, options)
    if facts.suite is not None or facts.samples is not None:
        facts.next = _next(facts, options)
    return facts


def _is_saved(facts: FileFacts) -> bool:
    """Whether the file is one that the workbench wrote: a report or a store; its facts are added."""
    path, name = facts.path, repr(str(facts.path))
    if path.suffix.lower() == ".parquet" and path.is_file():
        with suppress(wb.errors.WorkbenchError, OSError, ValueError):
            report = wb.read_report(path)
            facts.kind, facts.lines = "a saved report of the workbench", str(report).splitlines()
            facts.next = _python(f"wb.read_report({name}).to_html('report.html')")
    if path.is_file() and _starts_with(path, b'{"workbench_baseline"'):
        _add_baseline(facts)
    if path.is_file() and _starts_with(path, b"SQLite format 3\0"):
        facts.kind = "a SQLite database, such as a store of the workbench"
        facts.next = _python(f"print(wb.open_store({name}))")
    return bool(facts.kind)


def _add_baseline(facts: FileFacts) -> None:
    from workbench.deploy.guard.baseline import Baseline, version_of

    stored = Baseline.load(facts.path)
    facts.kind = "a baseline of workbench check"
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


def _starts_with(path: Path, head: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def _add_graders(facts: FileFacts, options: argparse.Namespace) -> None:
    path = facts.path
    if path.is_dir() or (path.is_file() and path.stat().st_size > _LARGE):
        return
    try:
        facts.suite = read_suite(path, options)
    except (wb.errors.WorkbenchError, ValueError) as error:
        facts.problems.append(str(error))
        return
    facts.kind = _format_title(path, options.format) or "graders"


def _format_title(path: Path, name: str | None) -> str:
    """The title of the format of a file; "" for a function by its import path."""
    from workbench.formats.shared import get_format, read_text
    from workbench.formats.shared.training_code import notebook_text
    from workbench.formats.shared.writing import detect
    from workbench.formats.targets.base import Target

    if name is not None:
        return get_format(name).title
    if not path.is_file():
        return "a function by its import path" if ":" in str(path) else ""
    text = read_text(path)
    chosen = detect(notebook_text(text) or text, str(path))
    # A format of code may read documents of its tool, too.
    is_code = path.suffix.lower() in _CODE - {".yaml", ".yml"} or not isinstance(chosen, Target)
    return chosen.title if is_code else f"a document of {chosen.label}"


def _add_rows(facts: FileFacts, options: argparse.Namespace) -> None:
    path = facts.path
    if path.suffix.lower() in _CODE or not path.exists():
        return
    is_lazy = path.is_dir() or (path.suffix.lower() == ".parquet" and path.stat().st_size > _LARGE)
    try:
        samples = wb.read_samples(path, columns=columns_of(options.columns), lazy=is_lazy)
    except (wb.errors.WorkbenchError, ValueError) as error:
        if facts.suite is None:
            facts.problems.append(str(error))
        return
    if facts.suite is not None and not samples.old_grades and not _has_completions(samples):
        return  # a list of graders can be read as rows without a completion
    facts.samples = samples
    kind = f"{_rows_kind(samples)}"
    facts.kind = f"{facts.kind}, and {kind}" if facts.kind else kind


def _rows_kind(samples: wb.Samples) -> str:
    if {"probe", "label", "was"} <= set(map(str, samples.column_names)):
        return _REGRESSION
    reading = samples.reading.partition("read as ")[2]
    name = reading.partition(":")[0] if reading else ""
    return f"{name} (rows)" if name else "rows"


def _has_completions(samples: wb.Samples) -> bool:
    return _no_completions(samples) is None


def _no_completions(samples: wb.Samples) -> wb.errors.SamplesError | None:
    """The error of a run over rows of which none has a completion; None for others."""
    try:
        samples.require_answers()
    except wb.errors.SamplesError as error:
        return error
    return None


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


def _row_lines(samples: wb.Samples) -> Iterator[str]:
    yield f"  {samples.reading}"
    if (lacking := _no_completions(samples)) is not None:
        yield f"  not gradable: {lacking.what}; {lacking.hint or lacking.expected}"
    if _rows_kind(samples) == _REGRESSION:
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
    columns = "".join(f" --columns {shlex.quote(pair)}" for pair in options.columns)
    platform = f" --from {options.format}" if options.format else ""
    can_run = facts.samples is not None and _has_completions(facts.samples)
    if facts.suite is not None and can_run:
        return f"workbench run {path} {path}{columns}{platform}"
    if facts.suite is not None and is_for_certain_rows(facts.suite):
        # Made rows have other values, so that the graders would not apply to them.
        made = f"promptfoo eval -c {path} -o results.json\n" if "promptfoo" in facts.kind else ""
        return f"{made}workbench run {path} {'results.json' if made else 'rows.jsonl'}{platform}"
    if facts.suite is not None:
        return f"workbench probe {path}{platform}"
    assert facts.samples is not None
    rows = facts.samples
    if facts.kind == _REGRESSION:
        return ""
    if (lacking := _no_completions(rows)) is not None:
        mapped = re.search(r"--columns completion=(?!COLUMN)\S+", in_shell(lacking.hint))
        return f"workbench open {path}{columns} {mapped[0]}" if mapped else ""
    numbered = (f"grader_{count}.py" for count in itertools.count(2))
    name = next(name for name in itertools.chain(["grader.py"], numbered) if not Path(name).exists())
    lazy = " --overview graded" if rows.is_lazy else ""
    return f"cat > {name} <<'END'\n{_first_grader(rows)}END\nworkbench run {name} {path}{columns}{lazy}"


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
    if facts.samples is not None:
        rows = facts.samples
        found["rows"] = {
            "count": len(rows), "reading": rows.reading, "columns": rows.columns, "metadata": list(rows.metadata_names),
            "notes": list(rows.notes), "has_completions": _has_completions(rows),
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
