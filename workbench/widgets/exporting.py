"""What an export would write, seen before it is written. No widget is imported here."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.formats import FORMATS, Loss, export
from workbench.formats.base import get_format
from workbench.graders import Grader, SandboxedGrader
from workbench.records import parts
from workbench.suite import Suite
from workbench.widgets.shelf import needs_proof

__all__ = ["Preview", "format_names", "preview", "state_of_proof"]


@dataclass(frozen=True)
class Preview:
    """The files an export would write.

    Attributes:
        files: Name to text, the main file first.
        losses: What the platform cannot say.
        notes: What no score depends on.
        problem: Why nothing would be written; "" where something would.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()
    notes: tuple[Loss, ...] = ()
    problem: str = ""

    @property
    def main(self) -> str:
        """The main file's text."""
        return next(iter(self.files.values()), "")


def format_names() -> list[tuple[str, str]]:
    """(title, name) of every registered format that can be written, the native one first."""
    return [(f"{one.name}: {one.title}", one.name) for one in FORMATS.values()]


def preview(
    suite: Suite,
    name: str,
    format: str = "native",  # noqa: A002
    *,
    on_loss: str = "refuse",
    allow_unvalidated: bool = False,
) -> Preview:
    """Export into an empty folder that is thrown away, and read what was written: exactly what `export` writes.

    Args:
        suite: What to export.
        name: Of the main file, without a folder; the format's ending is put behind it where it has none.
        format: Its platform.
        on_loss: As in `export`.
        allow_unvalidated: As in `export`.
    """
    target = Path(named(name, format)).name
    with tempfile.TemporaryDirectory(prefix="workbench-preview-") as folder:
        try:
            written = export(
                suite, Path(folder) / target, format, on_loss=on_loss, allow_unvalidated=allow_unvalidated
            )
        except (WorkbenchError, ValueError, OSError) as error:
            return Preview(problem=str(error).replace(f"{folder}/", ""))
        files = {path.name: path.read_text("utf-8") for path in written.paths}
        return Preview(files, written.losses, written.notes)


def named(name: str, format: str) -> str:  # noqa: A002
    """The file's name with the format's ending where it has none."""
    plain = name.strip() or "graders"
    return plain if Path(plain).suffix else plain + get_format(format).suffix


def state_of_proof(suite: Suite) -> list[tuple[str, bool, str]]:
    """Each grader with source: its name, whether it is proved, and in words."""
    return [(entry.name, *_proof(entry.grader)) for entry in suite.entries if needs_proof(entry.grader)]


def _proof(grader: Grader) -> tuple[bool, str]:
    proofs = [part.validation for part in parts(grader) if isinstance(part, SandboxedGrader)]
    done = [proof for proof in proofs if proof is not None]
    bad = next((proof for proof in done if not proof.ok), None)
    if bad is not None:
        return False, f"{bad.failure.name} failed" if bad.failure else "the checks did not end"
    return (True, f"validated, {done[0].isolation}") if len(done) == len(proofs) else (False, "not validated")
