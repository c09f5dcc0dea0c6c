"""A preview of an export: what it would write, and which files it would replace."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from workbench.app.session.edits import needs_validation
from workbench.core.errors import WorkbenchError
from workbench.formats import FORMATS, Loss, export, load
from workbench.formats.shared.base import get_format
from workbench.formats.shared.writing import check_target
from workbench.formats.targets.base import Target
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.serialization import parts
from workbench.run.suite import Suite

_READ_BYTES = 1_000_000
"""Maximum bytes of an existing file to read: a larger one is named without its graders."""
_NAMES = 6
"""Maximum number of its graders to name."""


@dataclass(frozen=True)
class Preview:
    """The files an export would write.

    Attributes:
        files: Name to text, the main file first.
        losses: What the platform does not support.
        notes: Omissions that change no score.
        problem: Why nothing would be written; None if something would.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()
    notes: tuple[Loss, ...] = ()
    problem: WorkbenchError | None = None


@dataclass
class WrittenFiles:
    """Files exported by this session, which may be replaced without a warning."""

    _digests: dict[Path, tuple[str, bytes]] = field(default_factory=dict)

    def note(self, paths: Iterable[Path], format: str) -> None:  # noqa: A002
        """Remember the files' current content, exported for a platform."""
        self._digests |= {path.resolve(): (format, _digest(path.read_bytes())) for path in paths}

    def in_the_way(self, target: str, format: str, files: Mapping[str, str]) -> list[str]:  # noqa: A002
        """A sentence for each file that an export would replace, unless this session wrote its current content for this platform.

        Files that `export` refuses to replace are omitted, because it gives the reason. So are files that would not change.

        Args:
            target: The main file.
            format: Its platform.
            files: Name to text of all that would be written; empty for none.
        """
        try:
            check_target(Path(target), get_format(format))
            places = {Path(target).parent / name: text.encode() for name, text in files.items()}
            return [_replaced(place) for place, new in places.items() if self._is_other(place, format, new)]
        except (WorkbenchError, OSError, ValueError):
            return []

    def _is_other(self, place: Path, format: str, new: bytes) -> bool:  # noqa: A002
        if not place.is_file():
            return False
        if place.stat().st_size > _READ_BYTES:
            return True
        content = place.read_bytes()
        return content != new and (format, _digest(content)) != self._digests.get(place.resolve())


def _digest(content: bytes) -> bytes:
    return sha256(content).digest()


def _replaced(place: Path) -> str:
    names: list[str] = []
    if place.stat().st_size <= _READ_BYTES:
        with suppress(WorkbenchError, OSError, ValueError):
            names = [entry.name for entry in load(place).entries]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    holds = f": it contains {', '.join(names[:_NAMES])}{more}" if names else ""
    return f"{place.name} exists and would be replaced{holds}"


def chooses_on_error(format: str) -> bool:  # noqa: A002
    """Whether a format cannot represent a missing score, so that `on_error` sets what is written for one."""
    return not get_format(format).words


def chooses_reference(format: str) -> bool:  # noqa: A002
    """Whether a format is for a trainer or evaluator, whose rows may have the reference under any name."""
    return isinstance(get_format(format), Target)


def format_names() -> list[tuple[str, str]]:
    """(title, name) of every registered format that can be written, the native one first."""
    return [(f"{format_.name}: {format_.title}", format_.name) for format_ in FORMATS.values()]


def preview(
    suite: Suite,
    name: str,
    format: str = "native",  # noqa: A002
    *,
    on_loss: str = "refuse",
    on_error: str | float = "raise",
    reference: str = "",
    allow_unvalidated: bool = False,
) -> Preview:
    """Export into a temporary folder and read the files: exactly what `export` writes.

    Args:
        suite: What to export.
        name: Of the main file, without a folder; the format's ending is appended if it is missing.
        format: Its platform.
        on_loss: As in `export`.
        on_error: As in `export`.
        reference: As in `export`.
        allow_unvalidated: As in `export`.
    """
    try:
        target = Path(file_name(name, format)).name
    except WorkbenchError as error:
        return Preview(problem=error.with_traceback(None))
    with tempfile.TemporaryDirectory(prefix="workbench-preview-") as folder:
        try:
            exported = export(
                suite, Path(folder) / target, format, on_loss=on_loss, on_error=on_error,
                reference=reference, allow_unvalidated=allow_unvalidated,
            )  # fmt: skip
        except (WorkbenchError, ValueError, OSError) as error:
            # The temporary folder's name is of no use to the user.
            return Preview(problem=_without_folder(error, f"{folder}/"))
        files = {path.name: path.read_text("utf-8") for path in exported.paths}
        return Preview(files, exported.losses, exported.notes)


def _without_folder(error: Exception, folder: str) -> WorkbenchError:
    """An error without the name of a folder; for other exceptions only the message."""
    if not isinstance(error, WorkbenchError):
        return WorkbenchError(str(error).replace(folder, ""))
    what, *parts = (
        part.replace(folder, "")
        for part in (error.what, error.where, error.found, error.expected, error.hint)
    )
    return WorkbenchError(what, **dict(zip(("where", "found", "expected", "hint"), parts, strict=True)))


def file_name(name: str, format: str) -> str:  # noqa: A002
    """The file's name, with the format's ending if it has none.

    Raises:
        WorkbenchError: It names a folder, or a file that would be hidden.
    """
    plain = name.strip() or "graders"
    base_name = re.split(r"[/\\]", plain)[-1]
    if not base_name.strip(". "):
        raise WorkbenchError(
            "this names a folder, not a file", found=repr(plain)[:200], expected="a name such as out/graders"
        )
    if base_name.startswith(".") or base_name.endswith("."):
        raise WorkbenchError(
            "a file's name must neither begin nor end with a dot: it would be hidden or ambiguous",
            found=repr(base_name)[:200], expected="a name such as graders, with or without an ending",
        )  # fmt: skip
    return plain if Path(plain).suffix else plain + get_format(format).suffix


def validation_states(suite: Suite) -> list[tuple[str, bool, str]]:
    """Each grader with source: its name, whether it is validated, and the state as text."""
    return [
        (entry.name, *_validation(entry.grader)) for entry in suite.entries if needs_validation(entry.grader)
    ]


def parts_not_validated(grader: Grader, code: str) -> Iterator[tuple[str, SandboxedGrader]]:
    """The parts of a grader, itself included, that are not validated: how code refers to each, and the part.

    Args:
        grader: The grader.
        code: How code refers to it.
    """
    if isinstance(grader, SandboxedGrader) and not (grader.validation and grader.validation.ok):
        yield code, grader
    for at, entry in enumerate(getattr(grader, "entries", ())):
        yield from parts_not_validated(entry.grader, f"{code}.entries[{at}].grader")
    if isinstance(inner := getattr(grader, "grader", None), Grader):
        yield from parts_not_validated(inner, f"{code}.grader")


def _validation(grader: Grader) -> tuple[bool, str]:
    validations = [(part, part.validation) for part in parts(grader) if isinstance(part, SandboxedGrader)]
    for part, validation in validations:
        if validation is not None and not validation.ok:
            reason = (
                f"{validation.failure.name} failed" if validation.failure else "validation did not finish"
            )
            return False, reason if part is grader else f"{part.name}: {reason}"
    done = [validation for _, validation in validations if validation is not None]
    return (
        (True, f"validated, {done[0].isolation}")
        if len(done) == len(validations)
        else (False, "not validated")
    )
