"""The standard library that graders may import, and the event loops that await rows. The zygote loads this file by its path.

Loading all of the library takes most of the start-up time. A grader that imports none of it need not wait. So it is loaded
one module at a time while the zygote is idle, and immediately if a worker needs all of it. asyncio is a third of it, and a
grader that imports nothing cannot wait for anything: until asyncio is loaded, rows are awaited without it.
"""

from __future__ import annotations

import contextlib
import heapq  # noqa: F401 (`collections` imports it late)
import importlib
import io
import os
import string  # noqa: F401 (light, and many graders use it)
import sys
import time
import unicodedata  # noqa: F401 (the compiler and `re` import it late)
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import IO, Any

__all__ = ["Library", "Stuck", "new_loop"]

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


class Library:
    """The modules that graders may import. Loaded once, before workers are forked, since workers can open no file."""

    def __init__(self) -> None:
        names = [*PRELOAD, *(f"encodings.{name}" for name in CODECS)]
        self._waiting: deque[Callable[[], object]] = deque(_Import(name) for name in names)
        self._waiting.append(use_asyncio)
        self._waiting.append(_keep_zones)

    @property
    def is_whole(self) -> bool:
        """Whether all of it is loaded."""
        return not self._waiting

    def load_next(self) -> None:
        """Load one more module, with its imports."""
        self._waiting.popleft()()

    def load_all(self) -> None:
        """Load the remaining modules."""
        while self._waiting:
            self.load_next()


class _Import:
    """One module to load."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self) -> None:
        if self._name in sys.modules:
            return
        sys.modules["ssl"] = None  # type: ignore[assignment]  # a native library that graders cannot use
        try:
            # Missing in this build or version of Python; a system library may fail with any error.
            with contextlib.suppress(Exception):
                importlib.import_module(self._name)
        finally:
            # Remove the None again: with it an import would fail with Python's message on sys.modules.
            del sys.modules["ssl"]


def _keep_zones() -> None:
    """Keep the files of all time zones in memory: a worker can open none, and few graders use one."""
    import zoneinfo
    from zoneinfo import _common

    files = {key: data for folder in reversed(zoneinfo.TZPATH) for key, data in _zone_files(folder)}
    load_missing = _common.load_tzdata

    def load_tzdata(key: str) -> IO[bytes]:
        return io.BytesIO(files[key]) if key in files else load_missing(key)

    # Without a path, zones are read from an installed `tzdata`.
    zoneinfo.reset_tzpath(to=())
    _common.load_tzdata = load_tzdata  # type: ignore[assignment]  # returns any binary file object
    zoneinfo.available_timezones = lambda: files.keys() - {"posixrules"}


def _zone_files(folder: str) -> Iterator[tuple[str, bytes]]:
    """Key and content of each zone in a system folder."""
    for place, folders, names in os.walk(folder):
        if place == folder:
            # "posix" repeats all zones, and "right" counts leap seconds, which datetime does not support.
            folders[:] = [name for name in folders if name not in ("posix", "right")]
        for name in names:
            path = os.path.join(place, name)
            with contextlib.suppress(OSError), open(path, "rb") as file:
                if (magic := file.read(4)) == b"TZif":
                    yield os.path.relpath(path, folder).replace(os.sep, "/"), magic + file.read()


class Stuck(Exception):  # noqa: N818 (named for what happened)
    """Every task waits, and nothing remains that could wake one."""


_FRAMES = 3 if sys.version_info < (3, 12) else 2
"""Calls between the loop and its rows, as many as asyncio makes: so a row always has the same remaining stack depth."""


class BareLoop:
    """Runs a coroutine that waits for nothing."""

    def run_until_complete(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run it to its end.

        Raises:
            Stuck: It waits for something.
        """
        self._run(coroutine, _FRAMES)

    def _run(self, coroutine: Coroutine[Any, Any, None], frames: int) -> None:
        if frames:
            return self._run(coroutine, frames - 1)
        try:
            coroutine.send(None)
        except StopIteration:
            return None
        raise Stuck

    def close(self) -> None:
        """Nothing to close."""


_kinds: list[Callable[[], Any]] = [BareLoop]


def new_loop() -> Any:
    """An event loop for the rows of a range."""
    return _kinds[-1]()


def use_asyncio() -> None:
    """Use asyncio loops from now on."""
    import asyncio.base_events

    class SilentLoop(asyncio.base_events.BaseEventLoop):
        """An event loop without sockets: timers, tasks, locks and queues work; nothing else exists."""

        def __init__(self) -> None:
            super().__init__()
            # A selector needs descriptors, which a confined worker cannot have: this loop uses none and only
            # sleeps.
            self._selector = self

        def select(self, timeout: float | None) -> list[Any]:
            """Sleep until the next timer; raise `Stuck` immediately if there is none, instead of sleeping forever."""
            if timeout is None:
                raise Stuck
            if timeout > 0:
                time.sleep(timeout)
            return []

        def _process_events(self, event_list: list[Any]) -> None:
            """No other thread can wake this loop."""

        def _write_to_self(self) -> None:
            """No other thread can wake this loop."""

        def call_exception_handler(self, context: dict[str, Any]) -> None:
            """Ignore the exception of a task that is not awaited: it belongs to no row."""

    _kinds.append(SilentLoop)
