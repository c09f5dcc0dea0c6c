"""Run functions that users wrote where they may block without holding up the workbench.

Coroutines share a loop, functions a few threads, all of them daemons. What does not end in time cannot be stopped: it
is left running, and a fresh loop or thread takes its place, until too many are left. In a process of its own a function can be
ended, and has the main thread. Nothing starts at import.
"""

from workbench.user_functions.late import LateError
from workbench.user_functions.loops import awaited
from workbench.user_functions.processes import ProcessLostError, ProcessPool
from workbench.user_functions.threads import threaded

__all__ = ["LateError", "ProcessLostError", "ProcessPool", "awaited", "threaded"]
