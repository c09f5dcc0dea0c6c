"""Confine the calling process: drop its ids and capabilities, then install layer after layer.

Standard library only, without package imports: the zygote loads this file by its path. `give_up` and `held` run before the
layers, since the filter refuses the calls that they need. Afterwards no id and no capability can be regained: only a new
program, or a call that the filter refuses, could do that. The layers, in the order of their installation:

- *no_new_privs* and *dumpable 0*;
- *Landlock*: no file, no exec, no TCP, no signal out of the domain, at the newest available ABI;
- *rlimits*: no new descriptor, no file growth, no process, no core, bounded address space;
- *seccomp*: an allow-list of system calls; every other call fails with EPERM;
- *audit*: a hook in Python, only where seccomp cannot be installed.

An installed layer is not trusted by itself. `probes.self_test` attempts forbidden operations, and its result alone
decides the level: a kernel that accepts a rule but ignores it does not count as confinement.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys
from functools import cache

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LAYERS = ("rlimits", "landlock", "seccomp", "audit")

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_LANDLOCK_CREATE_VERSION = 1
# What each Landlock ABI supports: (ABI, file system bits, network bits, scope bits).
_LANDLOCK_ABIS = (
    (1, (1 << 13) - 1, 0, 0),
    (2, (1 << 14) - 1, 0, 0),
    (3, (1 << 15) - 1, 0, 0),
    (4, (1 << 15) - 1, 3, 0),
    (5, (1 << 16) - 1, 3, 0),
    (6, (1 << 16) - 1, 3, 3),
)

_KILL, _ERRNO_EPERM, _ALLOW = 0x80000000, 0x00050000 | 1, 0x7FFF0000
_LOAD, _JEQ, _JSET, _JGE, _RET = 0x20, 0x15, 0x45, 0x35, 0x06
# Offsets into the kernel's seccomp_data. Of the 64-bit arguments these are the low halves: both machines that
# have a table are little-endian.
_NR, _ARCH, _ARG0, _ARG2 = 0, 4, 16, 32
_PROT_EXEC = 4

# Call numbers from the kernel's own tables (arch/x86/entry/syscalls, include/uapi/asm-generic).
_X86_64 = {
    "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "munmap": 11, "brk": 12, "mremap": 25,
    "sched_yield": 24, "madvise": 28, "nanosleep": 35, "getitimer": 36, "setitimer": 38, "getpid": 39,
    "exit": 60, "gettimeofday": 96, "getrusage": 98, "times": 100, "sigaltstack": 131, "gettid": 186,
    "time": 201, "futex": 202, "restart_syscall": 219, "exit_group": 231, "getrandom": 318,
}  # fmt: skip
_AARCH64 = {
    "exit": 93, "exit_group": 94, "futex": 98, "nanosleep": 101, "getitimer": 102, "setitimer": 103,
    "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
    "rt_sigreturn": 139, "times": 153, "getrusage": 165, "gettimeofday": 169, "getpid": 172, "gettid": 178,
    "brk": 214, "munmap": 215, "mremap": 216, "madvise": 233, "getrandom": 278,
}  # fmt: skip
_MACHINES = {
    "x86_64": (0xC000003E, _X86_64, {
        "read": 0, "write": 1, "mmap": 9, "mprotect": 10,
        "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
    }),
    "aarch64": (0xC00000B7, _AARCH64, {
        "read": 63, "write": 64, "mmap": 222, "mprotect": 226,
        "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
    }),
}  # fmt: skip
_CLOCKS = (0, 1, 2, 3, 4, 5, 6, 7, 11)
"""Clocks that may be read, from include/uapi/linux/time.h: those of the system, and of this process and thread (2, 3).
Every other number is a device, or, if it is negative as 32 bits, another process's CPU time."""

_NOBODY = 65534
_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_CAP_AMBIENT, _AMBIENT_IS_SET, _AMBIENT_CLEAR = 47, 1, 4
_SETPCAP = 8
_CAPABILITIES = 64  # Linux defines 41; prctl returns -1 for the others
# The kernel's cap_user_header: version 3, this process. Its data: three numbers of 32 bits, low halves, then high ones.
_CAP_HEADER = struct.pack("<Ii", 0x20080522, 0)
SETS = ("effective", "permitted", "inheritable", "bounding", "ambient")


def give_up() -> bool:
    """Drop root and every capability, as far as the system allows. `held` lists what remains.

    Returns:
        Whether this process was privileged: root, or allowed to empty its bounding set.
    """
    libc = _own_libc()
    capabilities = _read_sets(libc) or {}
    privileged = 0 in _user_ids(libc) or bool(capabilities.get("effective", 0) >> _SETPCAP & 1)
    if libc is not None and sys.platform == "linux":
        libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
        for number in range(_CAPABILITIES if privileged else 0):
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    if 0 in _user_ids(libc):
        # Each separately: a container may refuse one and allow the others. The groups first, which need root.
        for step in (_leave_groups, _leave_group, _leave_user):
            _try(step)  # not permitted, or the id is unknown on this system: `held` reports it
    if capabilities and libc is not None:
        libc.capset(
            _CAP_HEADER, bytes(24)
        )  # also if the user could not be changed: dropping needs no permission
    return privileged


def held(*, privileged: bool) -> list[str]:
    """The remaining root ids and non-empty capability sets, by name.

    Args:
        privileged: The return value of `give_up`. Other processes retain their groups and bounding set, which they may
            not change; with `no_new_privs` neither gives them any right.
    """
    libc = _own_libc()
    found = ["user id 0"] if 0 in _user_ids(libc) else []
    if privileged and hasattr(os, "getgroups"):
        found += ["group id 0"] if 0 in _group_ids(libc) else []
        found += ["groups"] if os.getgroups() else []
    if sys.platform != "linux":
        return found
    sets = _read_sets(libc)
    if sets is None:
        return [*found, "capabilities"]  # unknown counts as present
    asked = SETS if privileged else tuple(name for name in SETS if name != "bounding")
    return found + [f"{name} capabilities" for name in asked if sets[name]]


def _user_ids(libc: ctypes.CDLL | None) -> set[int]:
    """The real, effective, saved and file system's user id."""
    if not hasattr(os, "getresuid"):
        return {os.getuid(), os.geteuid()} if hasattr(os, "getuid") else set()
    # No call only reads this id; setting an invalid one changes nothing and returns the current one.
    return {*os.getresuid(), *([libc.setfsuid(-1)] if libc is not None and sys.platform == "linux" else [])}


def _group_ids(libc: ctypes.CDLL | None) -> set[int]:
    """The real, effective, saved and file system's group id."""
    if not hasattr(os, "getresgid"):
        return {os.getgid(), os.getegid()}
    return {*os.getresgid(), *([libc.setfsgid(-1)] if libc is not None and sys.platform == "linux" else [])}


def _leave_groups() -> None:
    os.setgroups([])


def _leave_group() -> None:
    if hasattr(os, "setresgid"):
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    else:
        os.setgid(
            _NOBODY
        )  # for root it changes the saved id as well, on systems without another call (macOS)


def _leave_user() -> None:
    user = os.geteuid() or _NOBODY
    if hasattr(os, "setresuid"):
        os.setresuid(user, user, user)
    else:
        os.setuid(user)


def _read_sets(libc: ctypes.CDLL | None) -> dict[str, int] | None:
    """The five capability sets as bits; None if there are none, or if they cannot be read."""
    if libc is None or sys.platform != "linux":
        return None
    data = ctypes.create_string_buffer(24)
    try:
        if libc.capget(_CAP_HEADER, data) != 0:
            return None
    except AttributeError:
        return None  # a C library without this function
    low, high = struct.unpack("<3I", data.raw[:12]), struct.unpack("<3I", data.raw[12:])
    sets = {name: low[i] | high[i] << 32 for i, name in enumerate(SETS[:3])}
    sets["bounding"] = _bits(lambda number: libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0))
    sets["ambient"] = _bits(lambda number: libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_IS_SET, number, 0, 0))
    return sets


def _bits(is_set: Callable[[int], int]) -> int:
    """The capabilities for which a call returns 1; -1 means that this kernel does not define it, nor any above it."""
    bits = 0
    for number in range(_CAPABILITIES):
        if (found := is_set(number)) < 0:
            break
        bits |= found << number
    return bits


def _own_libc() -> ctypes.CDLL | None:
    """The C library of a process that has a user; None on other systems."""
    try:
        return _libc() if hasattr(os, "getuid") else None
    except OSError:
        return None


@cache
def seccomp_filter(machine: str, *, read_fd: int, write_fd: int) -> bytes:
    """The allow-list as a classic BPF program.

    Args:
        machine: "x86_64" or "aarch64".
        read_fd: The only descriptor that may be read.
        write_fd: The only descriptor that may be written.

    Raises:
        KeyError: There is no table for this machine.
    """
    arch, plain, special = _MACHINES[machine]
    # The architecture first: a 64-bit process can make 32-bit calls, whose numbers denote other calls.
    code = [(_LOAD, 0, 0, _ARCH), (_JEQ, 1, 0, arch), (_RET, 0, 0, _KILL), (_LOAD, 0, 0, _NR)]
    if machine == "x86_64":  # the x32 table shares the architecture number
        code += [(_JGE, 0, 1, 0x40000000), (_RET, 0, 0, _KILL)]
    for number in sorted(plain.values()):
        code += [(_JEQ, 0, 1, number), (_RET, 0, 0, _ALLOW)]
    for name, fd in (("read", read_fd), ("write", write_fd)):
        code += _when(special[name], [(_LOAD, 0, 0, _ARG0), (_JEQ, 0, 1, fd), (_RET, 0, 0, _ALLOW)])
    # The kernel reads 32 bits of it, signed; the upper half of the register is arbitrary.
    clocks = [step for clock in _CLOCKS for step in ((_JEQ, 0, 1, clock), (_RET, 0, 0, _ALLOW))]
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        code += _when(special[name], [(_LOAD, 0, 0, _ARG0), *clocks])
    # Memory may be allocated, but not executable memory: otherwise a grader could write and run machine code.
    for name in ("mmap", "mprotect"):
        code += _when(special[name], [(_LOAD, 0, 0, _ARG2), (_JSET, 1, 0, _PROT_EXEC), (_RET, 0, 0, _ALLOW)])
    # EPERM instead of a kill: the row then fails with an ordinary exception that names the forbidden operation.
    code.append((_RET, 0, 0, _ERRNO_EPERM))
    return b"".join(struct.pack("<HBBI", *step) for step in code)


def _when(number: int, steps: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Run `steps` for one call number only; they end in a verdict or fall through to the refusal after them."""
    body = [*steps, (_RET, 0, 0, _ERRNO_EPERM)]
    return [(_JEQ, 0, len(body), number), *body]


def lock_down(layers: tuple[str, ...], memory_bytes: int, *, read_fd: int, write_fd: int) -> list[str]:
    """Install the layers that this system supports. A layer that cannot be installed is omitted.

    Args:
        layers: Which of `LAYERS` to try.
        memory_bytes: Address space allowed beyond what the process has now.
        read_fd: The descriptor of the commands.
        write_fd: The descriptor of the replies.

    Returns:
        The layers that were installed without an error. `probes.self_test` verifies their effect.
    """
    steps: dict[str, Callable[[], bool]] = {
        # Landlock needs one descriptor, so it comes before the limit that allows none.
        "landlock": _restrict_files,
        "rlimits": lambda: _limit_resources(memory_bytes),
        "seccomp": lambda: _filter_calls(read_fd, write_fd),
        "audit": _refuse_audited,
    }
    if sys.platform == "linux":
        # An unprivileged process may install Landlock and a filter only after this.
        _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        # The user was changed before, which clears it: the kernel ends this process when the zygote ends.
        _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    installed: list[str] = [
        name for name in ("landlock", "rlimits", "seccomp") if name in layers and _try(steps[name])
    ]
    if "audit" in layers and "seccomp" not in installed and _try(steps["audit"]):
        installed.append("audit")  # a hook costs time on every event and adds nothing to the filter
    return installed


def _try(step: Callable[[], object]) -> bool:
    try:
        return bool(step())
    except (OSError, KeyError, AttributeError, ImportError, ValueError):
        # KeyError: no call table for this machine. AttributeError: `resource` is None.
        return False


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def prepare(read_fd: int, write_fd: int) -> None:
    """Create what confining needs, once in the zygote instead of in every worker."""
    with contextlib.suppress(OSError, KeyError, AttributeError):  # not Linux, or a machine without a table
        seccomp_filter(os.uname().machine, read_fd=read_fd, write_fd=write_fd)
        _read_sets(_own_libc())


def _limit_resources(memory_bytes: int) -> bool:
    # NOFILE 0 leaves open descriptors usable. NPROC does not bind root, which was dropped before if that is permitted.
    zero = ("CORE", "FSIZE", "MSGQUEUE", "MEMLOCK", "NPROC", "NOFILE")
    for name in zero:
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            resource.setrlimit(number, (0, 0))
    # It counts all address space; the library and the dataset, which are loaded already, are not the grader's use.
    limit = _address_space() + memory_bytes
    highest = resource.getrlimit(resource.RLIMIT_AS)[1]
    if highest != resource.RLIM_INFINITY:
        limit = min(
            limit, highest
        )  # the parent process allows no more, and only a privileged one may raise it
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return True


def _address_space() -> int:
    return _START_PAGES[0] * os.sysconf("SC_PAGE_SIZE")


# 512 MiB in pages of 4 KiB, for systems where it cannot be read.
_START_PAGES = [1 << 17]


def note_address_space() -> None:
    """Record this process's current address space while /proc can still be read."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            _START_PAGES[0] = int(file.read().split()[0])
    except (OSError, ValueError):
        pass  # not Linux: the default of 512 MiB applies


def _restrict_files() -> bool:
    if sys.platform != "linux":
        return False
    libc = _libc()
    # With this flag the kernel returns its ABI; -1 without Landlock, which matches no entry.
    abi = libc.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_CREATE_VERSION)
    supported = [entry for entry in _LANDLOCK_ABIS if entry[0] <= abi]
    if not supported:
        return False
    attributes = struct.pack("<QQQ", *supported[-1][1:])
    # The attributes grew: network rules were added with ABI 4, scopes with ABI 6.
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = libc.syscall(_LANDLOCK_CREATE, attributes, size, 0)
    if ruleset < 0:
        return False
    # No rule is ever added to the set: so everything it covers is denied everywhere.
    restricted = libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return bool(restricted)


def _filter_calls(read_fd: int, write_fd: int) -> bool:
    if sys.platform != "linux":
        return False
    program = seccomp_filter(os.uname().machine, read_fd=read_fd, write_fd=write_fd)
    buffer = ctypes.create_string_buffer(program, len(program))
    # The kernel's sock_fprog: a count, padding up to the pointer, the pointer.
    header = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    # By prctl, since some containers have no seccomp(2) but accept a filter this way.
    result = _libc().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0)
    return bool(result == 0)


# Events of the audit hook that graders must not trigger, by prefix.
_REFUSED_EVENTS = (
    "open", "os.", "socket.", "subprocess.", "ctypes.", "shutil.", "tempfile.", "urllib.", "mmap.", "fcntl.",
    "signal.", "syslog.", "sqlite3.", "resource.", "pty.", "glob.", "pathlib.", "ftplib.", "http.", "smtplib.",
    "poplib.", "imaplib.", "nntplib.", "telnetlib.", "webbrowser.", "winreg.", "msvcrt.", "_winapi.", "ensurepip.",
    "sys.addaudithook", "sys.setprofile", "sys.settrace", "gc.", "_thread.start", "_posixsubprocess.",
)  # fmt: skip


def _refuse_audited() -> bool:
    def hook(event: str, args: object) -> None:  # noqa: ARG001 (the interpreter's signature)
        if event.startswith(_REFUSED_EVENTS):
            raise PermissionError(f"{event} is not allowed in graders")

    sys.addaudithook(hook)
    return True


_DECISIVE = {"open", "socket", "pipe", "fork", "ptrace", "process_vm_readv", "process_vm_writev"}
"""Probes any one of which limits the level of a worker to "process" if it succeeds."""


def level(installed: list[str], leaks: list[str]) -> str:
    """The label that installed layers and probes justify: "kernel", "partial" or "process".

    *kernel* requires the filter, the memory limits and a clean self-test. *partial* requires that no file, socket,
    process or other process's memory is accessible; names and signals may leak. Anything else is only
    another *process*: a process that can write the host's memory can do all that the host can.
    """
    if {"seccomp", "rlimits"} <= set(installed) and not leaks:
        return "kernel"
    return "process" if _DECISIVE & set(leaks) else "partial"
