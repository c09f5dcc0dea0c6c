"""Self-test of a confined process: attempts forbidden operations and lists those that succeed.

Standard library only, without package imports: the zygote loads this file by its path, before it forks a worker.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PTRACE_DETACH, _PTRACE_SEIZE, _PTRACE_INTERRUPT = 17, 0x4206, 0x4207
_WAIT_ALL = 0x40000000  # __WALL: waits for a traced process although it is not a child


def self_test() -> list[str]:
    """Attempt forbidden operations.

    Returns:
        The names of the probes that succeeded: empty if the confinement is effective.
    """
    return [name for name, probe in _PROBES.items() if _leaks(probe)]


def _leaks(probe: Callable[[], object]) -> bool:
    try:
        probe()
    except (FileExistsError, FileNotFoundError, IsADirectoryError):
        return True  # the kernel evaluated the path: it would have acted on another name
    except (OSError, AttributeError):
        return False
    return True


def _probe_fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _probe_pipe() -> None:
    for fd in os.pipe():
        os.close(fd)


class _Memory:
    """The calls that access other processes, looked up while that is possible.

    A confined worker's audit hook refuses `ctypes` events, and a grader that evades the hook has `ctypes`
    again: the hook must not hide what the kernel allows. So every function, buffer and pointer is created
    when this file is loaded, and a probe only calls.
    """

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        self.ptrace = libc.ptrace
        self.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
        self.ptrace.restype = ctypes.c_long
        where = libc["__errno_location"]
        where.restype = ctypes.POINTER(ctypes.c_int)
        self._errno = where()  # of the main thread, which is a forked worker's only one
        self._byte = ctypes.create_string_buffer(1)
        # Nothing is ever mapped on the first page: EFAULT means that only the address was wrong.
        self._local = (ctypes.c_size_t * 2)(ctypes.addressof(self._byte), 1)
        self._remote = (ctypes.c_size_t * 2)(1, 1)
        self._transfers = {}
        for name in ("process_vm_readv", "process_vm_writev"):
            call = self._transfers[name] = getattr(libc, name)
            call.argtypes = (ctypes.c_int, *(ctypes.c_void_p, ctypes.c_ulong) * 2, ctypes.c_ulong)
            call.restype = ctypes.c_ssize_t

    def reaches(self, name: str, pid: int) -> bool:
        """Whether the kernel lets this process read, or write, another one's memory. None of it is changed."""
        self._errno[0] = 0
        count = self._transfers[name](pid, self._local, 1, self._remote, 1, 0)
        return bool(count >= 0 or self._errno[0] == errno.EFAULT)


def _memory() -> _Memory | None:
    try:
        return _Memory() if sys.platform == "linux" else None
    except (OSError, AttributeError):
        return None  # a C library without these functions


_MEMORY = _memory()
_OTHERS: list[int] = []


def note_processes() -> None:
    """Record the zygote, which calls this, and its parent, the host: the two a worker must not access."""
    _OTHERS[:] = [os.getpid(), os.getppid()]


def _probe_memory(name: str) -> None:
    if _MEMORY is None or not any(_MEMORY.reaches(name, pid) for pid in _OTHERS):
        raise PermissionError(name)


def _probe_ptrace() -> None:
    """Attach to the zygote, which does nothing else meanwhile, and detach immediately.

    Not to the host: detaching would stop the notebook's main thread.
    """
    if _MEMORY is None or not _OTHERS or _MEMORY.ptrace(_PTRACE_SEIZE, _OTHERS[0], None, None) != 0:
        raise PermissionError("ptrace")
    _MEMORY.ptrace(_PTRACE_INTERRUPT, _OTHERS[0], None, None)
    os.waitpid(_OTHERS[0], _WAIT_ALL)
    _MEMORY.ptrace(_PTRACE_DETACH, _OTHERS[0], None, None)


def _probe_clock() -> None:
    """Read the zygote's CPU time. The number is the kernel's MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)."""
    if not _OTHERS:
        raise PermissionError("clock")
    time.clock_gettime((~_OTHERS[0] << 3) | 2)


def _probe_socket() -> None:
    import socket

    # Datagrams, since Landlock can forbid TCP but does not cover these.
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


_PROBES: dict[str, Callable[[], object]] = {
    "open": lambda: os.close(os.open("/", os.O_RDONLY)),
    "stat": lambda: os.stat("/"),
    # On existing names: if such a call is allowed, it fails by its name and changes nothing, see
    # `_leaks`.
    "mkdir": lambda: os.mkdir("/"),
    "unlink": lambda: os.unlink("/"),
    "socket": _probe_socket,
    "memfd": lambda: os.close(os.memfd_create("probe")),
    "pipe": _probe_pipe,
    "fork": _probe_fork,
    # Signal 0 only checks for the permission to send one.
    "kill": lambda: os.kill(os.getpid(), 0),
    "setpriority": lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
    "clock": _probe_clock,
    "ptrace": _probe_ptrace,
    "process_vm_readv": lambda: _probe_memory("process_vm_readv"),
    "process_vm_writev": lambda: _probe_memory("process_vm_writev"),
}
