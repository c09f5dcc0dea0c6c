"""A log in which equal lines are counted: a client that is rejected a million times causes one line every ten seconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

LOG = logging.getLogger("workbench.deploy.serve")
_SECONDS = 10.0
"""Seconds for which equal lines are counted before their number is written."""
_MAX_KINDS = 256
"""Maximum kinds of lines that are distinguished; all others count as one, so that clients cannot create kinds."""
_OTHERS = "other lines"


@dataclass
class _Counted:
    """Equal lines: the text of the first, when it was written, how many have followed since."""

    text: str
    level: int
    since: float
    more: int = 0


class CountedLog(logging.Filter):
    """Writes the first of equal lines immediately, and the number of further ones at the end of each ten seconds.

    Args:
        clock: Seconds.

    Attributes:
        logger: For uvicorn: its errors are counted by their text, and written with the server's lines. Its warnings are
            about requests that the server rejects and reports itself.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[Hashable, _Counted] = {}
        # A separate logger, which is in no registry: its filter must not outlive the server.
        self.logger = logging.Logger("workbench.deploy.serve.connections")  # noqa: LOG001 (see above)
        self.logger.parent = LOG
        self.logger.setLevel(logging.ERROR)
        self.logger.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the first of equal lines through."""
        text = record.getMessage()  # the arguments need not have a hash
        return self._is_new((record.name, text), record.levelno, text)

    def write(self, kind: Hashable, text: str, *, level: int = logging.INFO) -> None:
        """Write a line, or count it.

        Args:
            kind: What lines have in common that count as equal.
            text: The line.
            level: Of `logging`.
        """
        if LOG.isEnabledFor(level) and self._is_new(kind, level, text):
            LOG.log(level, "%s", text)

    def _is_new(self, kind: Hashable, level: int, text: str) -> bool:
        self.flush()
        if kind not in self._kinds and len(self._kinds) >= _MAX_KINDS:
            kind = _OTHERS
        known = self._kinds.get(kind)
        if known is None:
            self._kinds[kind] = _Counted(text, level, self._clock())
            return True
        known.more += 1
        return False

    def flush(self, *, all_of_them: bool = False) -> None:
        """Write how many equal lines there were, of kinds whose time is over.

        Args:
            all_of_them: Also of the others, as at the end of a server.
        """
        now = self._clock()
        # Oldest first, since a kind is inserted again when its time is over.
        while self._kinds:
            kind, counted = next(iter(self._kinds.items()))
            if now - counted.since < _SECONDS and not all_of_them:
                return
            del self._kinds[kind]
            if counted.more:
                seconds = now - counted.since
                LOG.log(counted.level, "%d more in %.0f s like: %s", counted.more, seconds, counted.text)
