"""The process that workers are forked from: a clean interpreter with the standard library loaded.

Run by its path with `-s -S -P` and an environment of ours, never imported by the host. It never
runs grader code. It answers three requests on its control socket (a length, then JSON, with
descriptors beside it): *fork* a worker, *kill* one, *reap* one. When the socket ends, it ends its
workers and itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import io
import json
import os
import signal
import socket
import struct
import sys
import types
from collections.abc import Iterator
from typing import IO

_HERE = os.path.dirname(os.path.abspath(__file__))

# What a grader may import. Loaded here once, since a worker can open no file.
PRELOAD = (
    "abc argparse array ast asyncio asyncio.events asyncio.queues base64 binascii bisect builtins bz2 calendar "
    "cmath codecs collections collections.abc colorsys configparser contextlib contextvars copy copyreg csv "
    "dataclasses datetime decimal difflib dis email email.mime.base email.mime.image email.mime.multipart email.mime.nonmultipart email.mime.text email.message email.parser email.utils email.policy enum errno "
    "fnmatch fractions glob functools gc getopt gettext graphlib gzip hashlib heapq hmac html html.entities html.parser "
    "http http.client http.cookies importlib importlib.metadata importlib.resources inspect io ipaddress itertools "
    "json json.decoder json.encoder keyword linecache locale logging logging.handlers lzma marshal math mimetypes "
    "numbers opcode operator optparse os os.path pathlib pickle platform plistlib posixpath pprint queue quopri random re "
    "reprlib sched secrets select selectors shlex shutil signal socket sqlite3 stat statistics string stringprep "
    "struct subprocess symtable sys tarfile tempfile textwrap threading time timeit token tokenize tomllib traceback types "
    "typing unicodedata unittest unittest.mock urllib urllib.error urllib.parse urllib.request uuid warnings weakref "
    "pyexpat xml xml.dom xml.dom.minidom xml.dom.expatbuilder xml.dom.pulldom xml.etree xml.etree.ElementTree xml.sax xml.sax.expatreader xml.sax.saxutils zlib zoneinfo "
    "_strptime _bisect _heapq _random _json _csv _pydatetime _pydecimal _decimal concurrent.futures concurrent.futures.thread concurrent.futures.process concurrent.futures._base copyreg zipfile"
).split()
CODECS = (
    "ascii utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 utf_32_le utf_32_be utf_7 latin_1 iso8859_1 iso8859_2 "
    "iso8859_5 iso8859_7 iso8859_9 iso8859_15 cp437 cp850 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 "
    "koi8_r mac_roman idna punycode unicode_escape raw_unicode_escape hex_codec base64_codec rot_13 quopri_codec "
    "zlib_codec charmap shift_jis euc_jp iso2022_jp gbk gb2312 gb18030 big5 euc_kr cp932 cp949"
).split()


def preload() -> None:
    """Load what graders may import, and the data the standard library reads late."""
    sys.modules["ssl"] = None  # type: ignore[assignment]  # a native library no grader can use
    for name in PRELOAD:
        _import(name)
    for name in CODECS:
        _import(f"encodings.{name}")
    # The None goes again: with it an import would fail with Python's words on sys.modules instead of ours.
    del sys.modules["ssl"]
    _keep_zones()


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # left out of this build of Python, or of this version


def _keep_zones() -> None:
    """Hold the files of all time zones: a worker can open none, and few graders ask for one."""
    import zoneinfo
    from zoneinfo import _common

    files = {key: data for folder in reversed(zoneinfo.TZPATH) for key, data in _zone_files(folder)}
    load_missing = _common.load_tzdata

    def load_tzdata(key: str) -> IO[bytes]:
        return io.BytesIO(files[key]) if key in files else load_missing(key)

    # Without a path, zones come from where an installed `tzdata` would be asked.
    zoneinfo.reset_tzpath(to=())
    _common.load_tzdata = load_tzdata  # type: ignore[assignment]  # any file will do
    zoneinfo.available_timezones = lambda: files.keys() - {"posixrules"}


def _zone_files(folder: str) -> Iterator[tuple[str, bytes]]:
    """Key and content of each zone in a folder of the system's."""
    for place, folders, names in os.walk(folder):
        if place == folder:
            # "posix" repeats all zones, and "right" counts leap seconds, which datetime does not know.
            folders[:] = [name for name in folders if name not in ("posix", "right")]
        for name in names:
            path = os.path.join(place, name)
            with contextlib.suppress(OSError), open(path, "rb") as file:
                if (magic := file.read(4)) == b"TZif":
                    yield os.path.relpath(path, folder).replace(os.sep, "/"), magic + file.read()


def load_file(name: str, *parts: str) -> types.ModuleType:
    """Load one of our own files by its path, under a name graders cannot import."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(_HERE, *parts))
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_engine(path: str) -> None:
    """Load the JavaScript engine by its path: a native module, which nobody can load once locked in."""
    name = "_quickjs"
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (ImportError, OSError):
        return  # a wheel for another Python: script graders say that there is no engine
    sys.modules["_wb_quickjs"] = module


def main(control_fd: int, engine: str) -> None:
    """Serve requests until the host goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # what is loaded here stays: there is no garbage to look for
    preload()
    if engine:
        load_engine(engine)
    # In this order: while a file is loaded it looks up those it needs in sys.modules.
    for name, parts in (
        ("_wb_thread", ("..", "..", "thread.py")),
        ("_wb_grade", ("..", "..", "grade.py")),
        ("_wb_row_columns", ("..", "..", "row_columns.py")),
        ("_wb_confine", ("confine.py",)),
        ("_wb_probes", ("probes.py",)),
        ("_wb_environ", ("environ.py",)),
        ("_wb_fingerprint", ("fingerprint.py",)),
        ("_wb_chance", ("chance.py",)),
        ("_wb_unstable", ("unstable.py",)),
        ("_wb_contained", ("contained.py",)),
        ("_wb_checks", ("checks.py",)),
        ("_wb_protocol", ("protocol.py",)),
        ("_wb_drive", ("drive.py",)),
        ("_wb_outcomes", ("outcomes.py",)),
        ("_wb_osmosis_model", ("..", "platforms", "osmosis_model.py")),
        ("_wb_osmosis", ("..", "platforms", "osmosis.py")),
        ("_wb_osmosis_rows", ("..", "platforms", "osmosis_rows.py")),
        ("_wb_osmosis_legacy", ("..", "platforms", "osmosis_legacy.py")),
        ("_wb_letta", ("..", "platforms", "letta.py")),
        ("_wb_modules", ("..", "platforms", "modules.py")),
        ("_wb_signatures", ("..", "platforms", "signatures.py")),
        ("_wb_trainers", ("..", "platforms", "trainers.py")),
        ("_wb_rollout", ("..", "platforms", "rollout.py")),
        ("_wb_script_state", ("script_state.py",)),
        ("_wb_javascript", ("javascript.py",)),
        ("_wb_loaders", ("loaders.py",)),
        ("_wb_resident", ("resident.py",)),
        ("_wb_worker", ("worker.py",)),
    ):
        load_file(name, *parts)
    sys.modules["_wb_loaders"].show_compatible_modules()
    sys.modules["_wb_probes"].note_processes()
    sys.modules["_wb_environ"].forget()
    # Before the first fork: objects that the collector leaves alone stay shared with the workers.
    gc.freeze()
    gc.enable()
    control = socket.socket(fileno=control_fd)
    children: set[int] = set()
    try:
        _answer(control, {"ready": os.getpid()})
        while (request := _receive(control)) is not None:
            _answer(control, {**_attempt(control, request, children), "n": request[0].get("n")})
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)


def _receive(control: socket.socket) -> tuple[dict[str, object], list[int]] | None:
    # Descriptors come with a message's first bytes, so only this read has to ask for them.
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
    control: socket.socket, request: tuple[dict[str, object], list[int]], children: set[int]
) -> dict[str, object]:
    """One request's answer; what the system refuses (no process, no memory) is reported and ends nothing."""
    try:
        return _serve(control, request, children)
    except OSError as error:
        return {"error": str(error)}


def _serve(
    control: socket.socket, request: tuple[dict[str, object], list[int]], children: set[int]
) -> dict[str, object]:
    message, fds = request
    if message["op"] == "fork":
        return {"pid": _fork(control, message, fds, children)}
    pid = int(str(message["pid"]))
    # It was waited for before, and its number may be another process's by now.
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
                # Closed here, since its number may be above those that the worker closes in one go.
                control.close()
                sys.modules["_wb_worker"].main(message, fds)
            finally:
                # Never by returning: the worker would run the zygote's loop on, and its clean-up, which kills
                # workers.
                os._exit(70)
    finally:
        # The zygote's own copies: while it holds one, the end of that pipe would never be seen.
        for fd in fds:
            os.close(fd)
    children.add(pid)
    return pid


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
