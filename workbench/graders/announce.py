"""Announcements of grader definitions: `@wb.grader` and `%%grader` announce, an open Workbench listens.

The session stores the last definition of each name, so that a Workbench opened later knows them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from workbench.graders.base import Grader

__all__ = ["announce", "defined", "listen"]

Listener = Callable[[Grader], object]

_MAX_DEFINITIONS = 256
"""Maximum number of stored definitions: a program that creates thousands of graders is not a notebook."""

_lock = threading.Lock()
_defined: dict[str, Grader] = {}
_listeners: list[Listener] = []


def announce(grader: Grader) -> None:
    """Announce a definition: a new name, or a new text of an existing name."""
    with _lock:
        # Assigning to an existing key would retain its old position, and the oldest ones are dropped first.
        _defined.pop(grader.name, None)
        _defined[grader.name] = grader
        while len(_defined) > _MAX_DEFINITIONS:
            _defined.pop(next(iter(_defined)))
        listeners = list(_listeners)
    # Outside the lock: a listener may announce a grader itself, or stop listening.
    for listener in listeners:
        listener(grader)


def defined() -> Mapping[str, Grader]:
    """The definitions of this session by name, oldest first."""
    with _lock:
        return dict(_defined)


def listen(listener: Listener) -> Callable[[], None]:
    """Receive definitions from now on, in the defining thread; the returned function ends it."""
    with _lock:
        _listeners.append(listener)

    def end() -> None:
        with _lock:
            if listener in _listeners:
                _listeners.remove(listener)

    return end
