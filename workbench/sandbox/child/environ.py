"""Forget where the system's loader looked for libraries. Standard library only; the zygote loads it by its path.

The interpreter may need such variables to start (see `interpreter.environment`), and graders have no business with
them. The loader has read them by then, so nothing that is loaded later misses them.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PREFIXES = ("LD_", "DYLD_")


def forget() -> None:
    """Take the loader's variables out of the environment, and out of the memory that they came in.

    `/proc/<pid>/environ` and whoever can read memory would show the latter for as long as the process lives, and
    the workers are its copies.
    """
    # Looked up first: deleting a variable takes its entry out of the table that leads to its text.
    strings = _strings()
    for name in [name for name in os.environ if name.startswith(_PREFIXES)]:
        del os.environ[name]
    for address in strings:
        text = ctypes.string_at(address)
        if text.startswith(tuple(prefix.encode() for prefix in _PREFIXES)):
            ctypes.memset(address, 0, len(text))


def _strings() -> list[int]:
    """Addresses of the texts of the environment, as this process was given them."""
    libc = ctypes.CDLL(None)
    try:
        if sys.platform == "darwin":
            # A library on macOS cannot reach `environ` by its name.
            where = libc["_NSGetEnviron"]
            where.restype = ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))
            table = where().contents
        else:
            table = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    except (AttributeError, ValueError):
        return []  # a C library that does not show them
    addresses: list[int] = []
    while table and (address := table[len(addresses)]):
        addresses.append(int(address))
    return addresses
