"""How every grader can be exported to every platform, computed in the background."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping

from workbench.app.session.fits import Fit, fit_of, platforms
from workbench.core import background
from workbench.formats.shared.base import Format
from workbench.graders.combine import Entry

__all__ = ["FitTable"]

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
