"""Drop the ids and capabilities of a worker, and verify the result.

Standard library only, without package imports: the zygote loads this file by its path. Both steps run before the seccomp
filter, which refuses the calls that they need. Afterwards no id and no capability can be regained: only a new program, or a
call that the filter refuses, could do that.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_NOBODY = 65534
_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_CAP_AMBIENT, _AMBIENT_IS_SET, _AMBIENT_CLEAR = 47, 1, 4
_SETPCAP = 8
_CAPABILITIES = 64  # Linux defines 41; prctl returns -1 for the others
# The kernel's cap_user_header: version 3, this process. Its data: three numbers of 32 bits, low halves, then high ones.
_HEADER = struct.pack("<Ii", 0x20080522, 0)
SETS = ("effective", "permitted", "inheritable", "bounding", "ambient")


def give_up() -> bool:
    """Drop root and every capability, as far as the system allows. `held` lists what remains.

    Returns:
        Whether this process was privileged: root, or allowed to empty its bounding set.
    """
    libc = _libc()
    capabilities = _read_sets(libc) or {}
    privileged = 0 in _user_ids(libc) or bool(capabilities.get("effective", 0) >> _SETPCAP & 1)
    if libc is not None and sys.platform == "linux":
        libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
        for number in range(_CAPABILITIES if privileged else 0):
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    if 0 in _user_ids(libc):
        # Each separately: a container may refuse one and allow the others. The groups first, which need root.
        for step in (_leave_groups, _leave_group, _leave_user):
            _try(step)
    if capabilities and libc is not None:
        libc.capset(_HEADER, bytes(24))  # also if the user could not be changed: dropping needs no permission
    return privileged


def held(*, privileged: bool) -> list[str]:
    """The remaining root ids and non-empty capability sets, by name.

    Args:
        privileged: The return value of `give_up`. Other processes retain their groups and bounding set, which they may
            not change; with `no_new_privs` neither gives them any right.
    """
    libc = _libc()
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


def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None, use_errno=True) if hasattr(os, "getuid") else None
    except OSError:
        return None


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


def _try(step: Callable[[], object]) -> None:
    try:
        step()
    except OSError:
        pass  # not permitted, or the id is unknown on this system: `held` reports it


def _read_sets(libc: ctypes.CDLL | None) -> dict[str, int] | None:
    """The five capability sets as bits; None if there are none, or if they cannot be read."""
    if libc is None or sys.platform != "linux":
        return None
    data = ctypes.create_string_buffer(24)
    try:
        if libc.capget(_HEADER, data) != 0:
            return None
    except AttributeError:
        return None  # a C library without this function
    low, high = struct.unpack("<3I", data.raw[:12]), struct.unpack("<3I", data.raw[12:])
    sets = {name: low[i] | high[i] << 32 for i, name in enumerate(SETS[:3])}
    sets["bounding"] = _bits(lambda number: libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0))
    sets["ambient"] = _bits(lambda number: libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_IS_SET, number, 0, 0))
    return sets


def _bits(is_set: Callable[[int], int]) -> int:
    """The capabilities for which a call returns 1; -1 means that this kernel does not define it."""
    return sum(1 << number for number in range(_CAPABILITIES) if is_set(number) == 1)
