"""Exports before they are written: how each platform supports each grader, what would be written, and which files it would replace."""

from __future__ import annotations

import asyncio
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from workbench.app.session.grader_text import needs_validation
from workbench.core import background
from workbench.core.display_text import shown
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.user_functions import attempt
from workbench.formats import export, load
from workbench.formats.files import render
from workbench.formats.shared import FORMATS, Document, Format, Loss, Losses, Reading, get_format
from workbench.formats.shared.writing import check_encodable, check_target
from workbench.formats.targets.target import Target
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.combine import Entry
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.serialization import parts
from workbench.run.suite import Suite

_MAX_NOTE = 600  # maximum characters of a note
_ON_REQUEST = "on_loss="  # start of the part of a hint that names a setting of `export`


class Fit(NamedTuple):
    """How a platform supports a grader.

    Attributes:
        fit: "yes" (natively), "code" (the same rule as a program), "loss" (something is lost) or "no".
        note: The exporter's message about what is omitted, lost or refused; "" for none.
    """

    fit: str
    note: str = ""


def platforms() -> list[Format]:
    """Every format that can be written: platforms, the native format and plain source files first, then trainers and evaluators."""
    return sorted(
        FORMATS.values(),
        key=lambda each: (
            is_trainer(each),
            each.name != "native",
            not each.handwritten,
            each.name != "python",
            each.name,
        ),
    )


def is_trainer(platform: Format) -> bool:
    """Whether a format is for a trainer or evaluator, whose rows may have the reference under any name."""
    return isinstance(platform, Target)


def fit_of(entry: Entry, name: str) -> Fit:
    """How a platform supports a single grader, with `export`'s default settings.

    The grader need not be validated. Nothing is written, and nothing of the grader runs.

    Args:
        entry: The grader, with its settings in the suite.
        name: The platform.
    """
    platform = get_format(name)
    suite, file = Suite([entry]), f"graders{platform.suffix}"
    try:
        document, losses = _rendered(suite, file, name, "refuse")
    except (WorkbenchError, ValueError) as refusal:
        return _with_loss(suite, file, name, refusal)
    kind = "code" if _is_code(platform, suite, document) else "yes"
    return Fit(kind, _told(losses.notes))


def _with_loss(suite: Suite, file: str, name: str, refusal: Exception) -> Fit:
    """The result if something is not supported."""
    try:
        _, losses = _rendered(suite, file, name, "report")
    except (WorkbenchError, ValueError):
        return Fit("no", _refused(refusal))
    return Fit("loss", _told(losses.found))


def _rendered(suite: Suite, file: str, name: str, on_loss: str) -> tuple[Document, Losses]:
    document, losses = render(suite, file, name, on_loss=on_loss)
    for text in (document.text, *document.files.values()):
        check_encodable(text, file)
    return document, losses


def _told(losses: list[Loss]) -> str:
    """What is omitted or lost, without the grader's name, which the table shows."""
    return shown("; ".join(_words(loss) for loss in losses), _MAX_NOTE)


def _words(loss: Loss) -> str:
    instead = f"; written instead: {loss.instead}" if loss.instead else ""
    return f"{loss.field}: {loss.what}{instead}"


def _refused(error: Exception) -> str:
    """A refusal without the setting that would omit the grader."""
    if not isinstance(error, WorkbenchError):
        return shown(str(error), _MAX_NOTE)
    hints = [hint for hint in error.hint.split("; ") if hint and not hint.startswith(_ON_REQUEST)]
    found = f": {error.found}" if error.found else ""
    return shown("; ".join([f"{error.what}{found}", *hints]), _MAX_NOTE)


def _is_code(platform: Format, suite: Suite, document: Document) -> bool:
    """Whether the file contains the grader as a program: its own text, or one generated from its rule."""
    if platform.name == "native":
        return False  # the native format contains the text of any grader that has one
    inner = list(parts(suite.grader))
    if is_trainer(platform) or any(isinstance(part, SandboxedGrader) for part in inner):
        return True
    # A rule is written natively if the platform has the same one: reading the file back shows which was written.
    has_rule = any(isinstance(part, RuleGrader) for part in inner)
    return has_rule and _reads_as_code(platform, document)


def _reads_as_code(platform: Format, document: Document) -> bool:
    with tempfile.TemporaryDirectory(prefix="workbench-fit-") as folder:
        for name, text in document.files.items():
            (Path(folder) / name).write_text(text, "utf-8")
        try:
            suite = platform.read(Reading(document.text, "graders", Path(folder)))
        except (FormatError, ValueError):
            return True  # only programs are imported with reservations
    return any(isinstance(part, SandboxedGrader) for grader in suite.graders for part in parts(grader))


_STEP_SECONDS = 0.1  # minimum time between two updates


class FitTable:
    """How each platform supports each grader. Known cells are returned immediately, the others are computed in steps.

    Args:
        on_step: Called, on a background thread, when more cells are known than before.

    Attributes:
        platforms: The columns, platforms first, then trainers.
    """

    def __init__(self, on_step: Callable[[], object]) -> None:
        self.platforms: list[Format] = platforms()
        self._on_step = on_step
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Entry, dict[str, Fit]]] = {}
        self._working = self._closed = False
        self._idle = threading.Event()
        self._idle.set()

    def rows(self, entries: Mapping[str, Entry]) -> dict[str, list[Fit | None]]:
        """The known cells of these graders, by name, in the platforms' order: None for cells not computed yet.

        Args:
            entries: The graders of the table; others are removed.
        """
        with self._lock:
            self._known = {name: self._of(name, entry) for name, entry in entries.items()}
            rows = {
                name: [fits.get(each.name) for each in self.platforms]
                for name, (_, fits) in self._known.items()
            }
            if not self._closed and not self._working and any(None in row for row in rows.values()):
                self._working = True
                self._idle.clear()
                background.submit(asyncio.to_thread(self._work))
        return rows

    def _of(self, name: str, entry: Entry) -> tuple[Entry, dict[str, Fit]]:
        """The known cells of a grader; none if it was changed."""
        known = self._known.get(name)
        return known if known is not None and known[0] == entry else (entry, {})

    def close(self) -> None:
        """Stop after the cell that is being computed."""
        with self._lock:
            self._closed = True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all cells are known; whether this happened in time."""
        return self._idle.wait(timeout)

    def _work(self) -> None:
        told = time.monotonic()
        while (cell := self._next()) is not None:
            name, entry, platform = cell
            self._put(name, entry, platform, _fit(entry, platform))
            if time.monotonic() - told >= _STEP_SECONDS:
                self._tell()
                told = time.monotonic()
        self._tell()

    def _next(self) -> tuple[str, Entry, str] | None:
        """A cell that is not known; None if there is none, or the table was closed."""
        with self._lock:
            for name, (entry, fits) in self._known.items() if not self._closed else ():
                missing = next((each.name for each in self.platforms if each.name not in fits), None)
                if missing is not None:
                    return name, entry, missing
            self._working = False
            self._idle.set()
            return None

    def _put(self, name: str, entry: Entry, platform: str, fit: Fit) -> None:
        with self._lock:
            known = self._known.get(name)
            if known is not None and known[0] is entry:
                known[1][platform] = fit

    def _tell(self) -> None:
        if not self._closed:
            self._on_step()


def _fit(entry: Entry, platform: str) -> Fit:
    """A cell; an error becomes its note, and the other cells are computed."""
    fit = attempt(lambda: fit_of(entry, platform))  # a plugin's format may raise anything: it is shown
    return Fit("no", f"{type(fit).__name__}: {fit}"[:600]) if isinstance(fit, Exception) else fit


_READ_BYTES = 1_000_000
"""Maximum bytes of an existing file to read: a larger one is named without its graders."""
_MAX_NAMES = 6
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
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    holds = f": it contains {', '.join(names[:_MAX_NAMES])}{more}" if names else ""
    return f"{place.name} exists and would be replaced{holds}"


def chooses_on_error(format: str) -> bool:  # noqa: A002
    """Whether a format cannot represent a missing score, so that `on_error` sets what is written for one."""
    return not get_format(format).words


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


def has_failed(grader: Grader) -> bool:
    """Whether the validation of a grader, or of a part of it, has failed."""
    checked = [part.validation for part in parts(grader) if isinstance(part, SandboxedGrader)]
    return any(validation is not None and not validation.ok for validation in checked)


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
