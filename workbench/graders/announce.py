"""Definitions of graders announced to those who listen: `@wb.grader` and `%%grader` announce, an open Workbench listens.

A session's definitions are kept by name, the last one of each, so that a Workbench opened later knows them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from workbench.graders.base import Grader

__all__ = ["announce", "defined", "listen"]

Listener = Callable[[Grader], object]

_MOST = 256
"""Definitions kept: a program that makes graders by the thousand is no notebook."""

_lock = threading.Lock()
_defined: dict[str, Grader] = {}
_listeners: list[Listener] = []


def announce(grader: Grader) -> None:
    """Tell of a definition: a new name, or a new text under an old one."""
    with _lock:
        # Assigning to a key that is there keeps its old place, and the oldest ones go first.
        _defined.pop(grader.name, None)
        _defined[grader.name] = grader
        while len(_defined) > _MOST:
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
    """Hear of definitions from now on, on the defining thread; what is returned ends it."""
    with _lock:
        _listeners.append(listener)

    def end() -> None:
        with _lock:
            if listener in _listeners:
                _listeners.remove(listener)

    return end
