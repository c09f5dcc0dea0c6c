"""Import graders from files that a user opened on the page, as names and texts, in any format that `load` reads."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from workbench.core.errors import FormatError, WorkbenchError
from workbench.formats import load
from workbench.graders.combine import Entry
from workbench.run.suite import Suite

__all__ = ["MAX_CHARACTERS", "FromFiles", "graders_from_files"]

MAX_CHARACTERS = 4_000_000
"""Maximum characters of one file: the page sends it through the kernel's comm channel."""


class FromFiles(NamedTuple):
    """The graders of some files.

    Attributes:
        names: Files that could be read.
        entries: Their graders.
        problems: What could not be read or was omitted, one sentence each.
    """

    names: list[str]
    entries: list[Entry]
    problems: list[str]


def graders_from_files(files: Sequence[Mapping[str, Any]]) -> FromFiles:
    """The graders of these files; an unreadable file does not affect the others. Nothing in them runs.

    Their source counts as imported: it runs only with kernel confinement. A file that another one names, such as a
    prompt or a module in the same folder, is read with that one.

    Args:
        files: Name and text of each; `size` replaces the text of a file that is too large.
    """
    by_name = {Path(str(file.get("name", ""))).name or "file": file for file in files}
    texts = {name: str(file.get("text", "")) for name, file in by_name.items()}
    suites: dict[str, Suite] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="workbench-opened-") as made:
        folder = Path(made)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
        for name, file in by_name.items():
            try:
                _check_size(file)
                suites[name] = load(folder / name)
            except (WorkbenchError, OSError, ValueError) as error:
                failed[name] = str(error).replace(f"{folder}/", "")
    left_out = [
        f"weights, rule and gate of {name} are not imported: the app imports only its graders"
        for name, suite in suites.items()
        if not _is_list(suite)
    ]
    problems = [said for name, said in failed.items() if not any(name in texts[other] for other in suites)]
    entries = [entry for suite in suites.values() for entry in suite.entries]
    return FromFiles(list(suites), entries, problems + left_out)


def _is_list(suite: Suite) -> bool:
    """Whether the suite consists only of its graders: no weights, rule or gate. Failures count as the app decides."""
    is_plain = all(
        replace(entry, on_error="fail") == Entry(entry.grader, entry.name) for entry in suite.entries
    )
    return is_plain and suite.combine is None and suite.gate is None


def _check_size(file: Mapping[str, Any]) -> None:
    characters = max(len(str(file.get("text", ""))), int(file.get("size", 0)))
    if characters > MAX_CHARACTERS:
        raise FormatError(
            "the file is too large to open on a page",
            where=str(file.get("name", "")),
            found=f"{characters:,} characters",
            expected=f"at most {MAX_CHARACTERS:,}",
            hint="read it in a cell: app.add(wb.load(path).graders)",
        )
