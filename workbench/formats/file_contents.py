"""`FileContents`: what a file of any known tool contains, graders, rows or both, and what it was taken for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from workbench.core.display_text import one_line
from workbench.core.errors import FormatError, SamplesError, WorkbenchError
from workbench.data.samples import Samples
from workbench.formats.shared import get_format, read_text
from workbench.formats.shared.training_code import notebook_text
from workbench.formats.shared.writing import detect
from workbench.formats.targets.target import Target
from workbench.report import read_report
from workbench.run.suite import Suite

LARGE = 64 * 2**20
"""Bytes from which a file is not searched for graders: 64 MiB."""

REGRESSION = "regression rows of a probe"

SAVED_REPORT = "a saved report of the workbench"
BASELINE = "a baseline of workbench check"
DATABASE = "a SQLite database, such as a store of the workbench"

_CODE = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".ipynb", ".toml", ".yaml", ".yml"})
"""Suffixes of files that contain graders and not rows."""

ReadGraders = Callable[[Path], Suite]
ReadRows = Callable[[Path], Samples]


@dataclass
class FileContents:
    """What a file contains.

    Attributes:
        path: The file.
        kind: What it is, in a few terms; "" if neither graders nor rows can be read.
        suite: Its graders; None without.
        samples: Its rows; None without.
        problems: Why there are no graders, or no rows.
    """

    path: Path
    kind: str = ""
    suite: Suite | None = None
    samples: Samples | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """What the file was taken for, in one line."""
        return f"{self.path.name}: {self.kind or 'neither graders nor rows can be read'}"


def check_not_empty(path: Path) -> None:
    """Check that a file has content.

    Raises:
        FormatError: It has none.
    """
    if path.is_file() and not path.stat().st_size:
        raise FormatError("the file is empty", where=str(path), found="0 bytes")


def saved_kind(path: Path) -> str:
    """What a file is that the workbench wrote, and that is neither graders nor rows; "" for others."""
    if not path.is_file():
        return ""
    if path.suffix.lower() == ".parquet":
        with suppress(WorkbenchError, OSError, ValueError):
            read_report(path)
            return SAVED_REPORT
    kinds = {b'{"workbench_baseline"': BASELINE, b"SQLite format 3\0": DATABASE}
    return next((kind for head, kind in kinds.items() if _starts_with(path, head)), "")


def _starts_with(path: Path, head: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def read_contents(
    path: Path,
    read_graders: ReadGraders,
    read_rows: ReadRows,
    *,
    format: str | None = None,  # noqa: A002
) -> FileContents:
    """The graders and the rows of a file. Nothing in it is executed.

    Args:
        path: The file, a folder, or a function by its import path.
        read_graders: Reads its graders.
        read_rows: Reads its rows.
        format: Its platform; detected by default.
    """
    contents = FileContents(path)
    _add_graders(contents, read_graders, format)
    _add_rows(contents, read_rows)
    return contents


def _add_graders(contents: FileContents, read: ReadGraders, name: str | None) -> None:
    path = contents.path
    if path.is_dir() or (path.is_file() and path.stat().st_size > LARGE):
        return
    try:
        contents.suite = read(path)
    except (WorkbenchError, ValueError) as error:
        contents.problems.append(str(error))
        return
    contents.kind = _format_title(path, name) or "graders"


def _format_title(path: Path, name: str | None) -> str:
    """The title of the format of a file; "" for a function by its import path."""
    if name is not None:
        return get_format(name).title
    if not path.is_file():
        return "a function by its import path" if ":" in str(path) else ""
    text = read_text(path)
    chosen = detect(notebook_text(text) or text, str(path))
    # A format of code may read documents of its tool, too.
    is_code = path.suffix.lower() in _CODE - {".yaml", ".yml"} or not isinstance(chosen, Target)
    return chosen.title if is_code else f"a document of {chosen.label}"


def _add_rows(contents: FileContents, read: ReadRows) -> None:
    path = contents.path
    if path.suffix.lower() in _CODE or not path.exists():
        return
    try:
        samples = read(path)
    except (WorkbenchError, ValueError) as error:
        if contents.suite is None:
            contents.problems.append(str(error))
        return
    if contents.suite is not None and not samples.old_grades and not has_completions(samples):
        return  # a list of graders can be read as rows without a completion
    contents.samples = samples
    kind = rows_kind(samples)
    contents.kind = f"{contents.kind}, and {kind}" if contents.kind else kind


def rows_kind(samples: Samples) -> str:
    """What rows are: regression rows, the tool's shape that they have, or only rows."""
    if {"probe", "label", "was"} <= set(map(str, samples.column_names)):
        return REGRESSION
    reading = samples.reading.partition("read as ")[2]
    name = reading.partition(":")[0] if reading else ""
    return f"{one_line(name, 120)} (rows)" if name else "rows"


def has_completions(samples: Samples) -> bool:
    """Whether any row has a completion."""
    return no_completions(samples) is None


def no_completions(samples: Samples) -> SamplesError | None:
    """The error of a run over rows of which none has a completion; None for others."""
    try:
        samples.require_answers()
    except SamplesError as error:
        return error
    return None
