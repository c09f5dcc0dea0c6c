"""How each platform supports each grader: natively, as code, with a loss, or not at all."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from workbench.core import background
from workbench.core.display_text import shown
from workbench.core.errors import FormatError, WorkbenchError
from workbench.formats.files import render
from workbench.formats.shared.base import FORMATS, Document, Format, Loss, Losses, Reading, get_format
from workbench.formats.shared.writing import check_encodable
from workbench.formats.targets.base import Target
from workbench.graders import SandboxedGrader
from workbench.graders.combine import Entry
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.serialization import parts
from workbench.run.suite import Suite

_WORDS = 600  # maximum characters of a note
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
    """Whether a format is for a trainer or evaluator."""
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
    return shown("; ".join(_words(loss) for loss in losses), _WORDS)


def _words(loss: Loss) -> str:
    instead = f"; written instead: {loss.instead}" if loss.instead else ""
    return f"{loss.field}: {loss.what}{instead}"


def _refused(error: Exception) -> str:
    """A refusal without the setting that would omit the grader."""
    if not isinstance(error, WorkbenchError):
        return shown(str(error), _WORDS)
    hints = [hint for hint in error.hint.split("; ") if hint and not hint.startswith(_ON_REQUEST)]
    found = f": {error.found}" if error.found else ""
    return shown("; ".join([f"{error.what}{found}", *hints]), _WORDS)


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

    # ---- on a background thread

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
    try:
        return fit_of(entry, platform)
    except Exception as error:  # noqa: BLE001 (a plugin's format may raise anything: it is shown)
        return Fit("no", f"{type(error).__name__}: {error}"[:600])
