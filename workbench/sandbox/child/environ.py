"""Remove the system loader's search paths. Standard library only; the zygote loads it by its path.

The interpreter may need such variables to start (see `zygote.environment`), and graders must not see
them. The loader has read them already, so later loads still find their libraries.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PREFIXES = ("LD_", "DYLD_")


def forget() -> None:
    """Remove the loader's variables from the environment, and from the memory that was passed at the start.

    `/proc/<pid>/environ` and any code that can read memory would otherwise show the latter as long as the process
    lives, and the workers are its copies.
    """
    # Looked up first: deleting a variable removes its entry from the table that leads to its text.
    strings = _strings()
    for name in [name for name in os.environ if name.startswith(_PREFIXES)]:
        del os.environ[name]
    for address in strings:
        text = ctypes.string_at(address)
        if text.startswith(tuple(prefix.encode() for prefix in _PREFIXES)):
            ctypes.memset(address, 0, len(text))


def _strings() -> list[int]:
    """Addresses of the environment's texts, as passed to this process."""
    libc = ctypes.CDLL(None)
    try:
        if sys.platform == "darwin":
            # A library on macOS cannot access `environ` by its name.
            where = libc["_NSGetEnviron"]
            where.restype = ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))
            table = where().contents
        else:
            table = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    except (AttributeError, ValueError):
        return []  # a C library that does not export them
    addresses: list[int] = []
    while table and (address := table[len(addresses)]):
        addresses.append(int(address))
    return addresses
