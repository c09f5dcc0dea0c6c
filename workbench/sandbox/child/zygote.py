"""The process that workers are forked from: a clean interpreter with the standard library loaded.

The host runs it by its path with `-s -S -P` and a fixed environment, and never imports it. It never
runs grader code. It serves three requests on its control socket (a length, then JSON, with
descriptors attached): *fork* a worker, *kill* one, *reap* one. Between them it continues to load the
standard library. When the socket ends, it ends its workers and itself.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
import select
import signal
import socket
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

_LOADER_PREFIXES = ("LD_", "DYLD_")
_HERE = os.path.dirname(os.path.abspath(__file__))

_FILES = (
    ("_wb_thread", ("..", "..", "core", "thread.py")),
    ("_wb_grade", ("..", "..", "core", "grade.py")),
    ("_wb_row_columns", ("..", "..", "data", "row_columns.py")),
    ("_wb_confine", ("confine.py",)),
    ("_wb_probes", ("probes.py",)),
    ("_wb_fingerprint", ("fingerprint.py",)),
    ("_wb_determinism", ("determinism.py",)),
    ("_wb_contained", ("contained.py",)),
    ("_wb_checks", ("checks.py",)),
    ("_wb_protocol", ("protocol.py",)),
    ("_wb_library", ("library.py",)),
    ("_wb_drive", ("drive.py",)),
    ("_wb_osmosis", ("..", "platforms", "osmosis.py")),
    ("_wb_osmosis_rows", ("..", "platforms", "osmosis_rows.py")),
    ("_wb_osmosis_legacy", ("..", "platforms", "osmosis_legacy.py")),
    ("_wb_letta", ("..", "platforms", "letta.py")),
    ("_wb_modules", ("..", "platforms", "modules.py")),
    ("_wb_signatures", ("..", "platforms", "signatures.py")),
    ("_wb_trainers", ("..", "platforms", "trainers.py")),
    ("_wb_rollout", ("..", "platforms", "rollout.py")),
    ("_wb_javascript", ("javascript.py",)),
    ("_wb_loaders", ("loaders.py",)),
    ("_wb_calls", ("calls.py",)),
    ("_wb_worker", ("worker.py",)),
)
"""In this order: a file looks up the files it needs in `sys.modules` during loading."""


def load_file(name: str, *parts: str) -> types.ModuleType:
    """Load one file of the package by its path, under a name graders cannot import."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(_HERE, *parts))
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_files() -> None:
    """Load all files of the package that workers use."""
    for name, parts in _FILES:
        load_file(name, *parts)


def load_engine(path: str) -> None:
    """Load the JavaScript engine by its path: a native module, which cannot be loaded after confinement."""
    name = "_quickjs"
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (ImportError, OSError):
        return  # a wheel for another Python: script graders report the missing engine
    sys.modules["_wb_quickjs"] = module


def main(control_fd: int, engine: str) -> None:
    """Serve requests until the host closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # everything loaded here persists: there is no garbage to collect
    if engine:
        load_engine(engine)
    load_files()
    sys.modules["_wb_loaders"].show_compatible_modules()
    sys.modules["_wb_probes"].note_processes()
    sys.modules["_wb_confine"].prepare(
        sys.modules["_wb_protocol"].READ_FD, sys.modules["_wb_protocol"].WRITE_FD
    )
    forget_loader_paths()
    library = sys.modules["_wb_library"].Library()
    control = socket.socket(fileno=control_fd)
    children: set[int] = set()
    try:
        _answer(control, {"ready": os.getpid()})
        while (request := _next_request(control, library)) is not None:
            _answer(control, {**_attempt(control, request, children, library), "n": request[0].get("n")})
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)


def forget_loader_paths() -> None:
    """Remove the system loader's search paths from the environment, and from the memory that was passed at the start.

    The interpreter may need them to start (see `host.zygote.environment`). The loader has read them already, so later
    loads still find their libraries, and graders must not see them.

    `/proc/<pid>/environ` and any code that can read memory would otherwise show the latter as long as the process
    lives, and the workers are its copies.
    """
    # Looked up first: deleting a variable removes its entry from the table that leads to its text.
    strings = _environment_texts()
    for name in [name for name in os.environ if name.startswith(_LOADER_PREFIXES)]:
        del os.environ[name]
    for address in strings:
        text = ctypes.string_at(address)
        if text.startswith(tuple(prefix.encode() for prefix in _LOADER_PREFIXES)):
            ctypes.memset(address, 0, len(text))


def _environment_texts() -> list[int]:
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


def _next_request(control: socket.socket, library: Any) -> tuple[dict[str, object], list[int]] | None:
    """Wait for a request, and load more of the library in the meantime; None once the host is gone."""
    while not library.is_whole:
        if _is_readable(control):
            return _receive(control)
        _load(library, library.load_next)
    return _receive(control)


def _is_readable(control: socket.socket) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([control], [], [], 0)[0])
    poll = select.poll()  # select supports no descriptor above 1,023
    poll.register(control, select.POLLIN)
    return bool(poll.poll(0))


def _load(library: Any, load: Callable[[], object]) -> None:
    load()
    if library.is_whole:
        sys.path_importer_cache.clear()  # workers need none, and emptying it writes to hundreds of pages in each
        # Objects that the collector ignores stay shared with the workers.
        gc.freeze()
        gc.enable()


def _receive(control: socket.socket) -> tuple[dict[str, object], list[int]] | None:
    # Descriptors are attached to a message's first bytes, so only this read has to accept them.
    data, fds, _, _ = socket.recv_fds(control, 65536, 8)
    if len(data) < 4:
        return None
    (size,) = struct.unpack("<I", data[:4])
    while len(data) < 4 + size:
        part = control.recv(65536)
        if not part:
            return None  # the host ended in the middle of a message
        data += part
    return json.loads(data[4:]), list(fds)


def _answer(control: socket.socket, reply: dict[str, object]) -> None:
    data = json.dumps(reply).encode()
    control.sendall(struct.pack("<I", len(data)) + data)


def _attempt(
    control: socket.socket, request: tuple[dict[str, object], list[int]], children: set[int], library: Any
) -> dict[str, object]:
    """The reply to one request; a system error (no process, no memory) is reported and ends nothing."""
    try:
        return _serve(control, request, children, library)
    except OSError as error:
        return {"error": str(error)}


def _serve(
    control: socket.socket, request: tuple[dict[str, object], list[int]], children: set[int], library: Any
) -> dict[str, object]:
    message, fds = request
    if message["op"] == "fork":
        if message["library"] and not library.is_whole:
            _load(library, library.load_all)
        return {"pid": _fork(control, message, fds, children), "library": library.is_whole}
    pid = int(str(message["pid"]))
    # It was waited for before, and its number may belong to another process now.
    if pid not in children:
        return {"status": None}
    if message["op"] == "kill":
        os.kill(pid, signal.SIGKILL)
    ended, status = os.waitpid(pid, 0 if message["op"] == "kill" else os.WNOHANG)
    if ended == 0:
        return {"status": "running"}
    children.discard(pid)
    return {"status": status}


def _fork(control: socket.socket, message: dict[str, object], fds: list[int], children: set[int]) -> int:
    try:
        pid = os.fork()
        if pid == 0:
            try:
                # Closed here, since its number may be above those that the worker closes in one call.
                control.close()
                sys.modules["_wb_worker"].main(message, fds)
            finally:
                # Never by returning: the worker would continue in the zygote's loop and its clean-up, which kills
                # workers.
                os._exit(70)
    finally:
        # The zygote's copies: while it has one open, the end of that pipe would never be detected.
        for fd in fds:
            os.close(fd)
    children.add(pid)
    return pid


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
