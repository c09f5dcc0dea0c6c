"""Run users' functions where they may block without blocking the workbench.

Coroutines share a loop, functions a few threads, all of them daemons. A call that does not end in time cannot be stopped: it
is left running, and a new loop or thread replaces its own, until too many are left. A function in a separate process can be
ended, and has the main thread. Nothing starts at import.
"""

from workbench.core.user_functions.processes import ProcessLostError, ProcessPool
from workbench.core.user_functions.threads import LateError, awaited, threaded

__all__ = ["LateError", "ProcessLostError", "ProcessPool", "awaited", "threaded"]
