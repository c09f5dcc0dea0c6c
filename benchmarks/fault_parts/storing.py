"""The store fails during a judge's run; afterwards the run resumes."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import workbench as wb
from benchmarks.fault_parts.common import Line
from benchmarks.fault_parts.question_server import QuestionServer, serve
from tests.store import postgres

__all__ = ["store"]

_SLOWEST = 0.02
_Fault = tuple[Callable[[], object], Callable[[], object]]
"""The functions that inject the fault and fix it."""


def store(*, seed: int, rows: int = 600, at_once: int = 32) -> list[Line]:
    """Break the store in every way, and run again after the fault is fixed.

    Args:
        seed: Decides when it breaks.
        rows: Rows of the run.
        at_once: Concurrent requests.
    """
    faults: dict[str, Callable[[Path], AbstractContextManager[tuple[str, _Fault]]]] = {
        "a full disk": _full_disk,
        "a file that another process has locked": _locked_file,
        "a damaged file": _damaged_file,
        "a file that was replaced": _replaced_file,
        "PostgreSQL stopped and started": _stopped_server,
    }
    lines = []
    for name, fault in faults.items():
        with tempfile.TemporaryDirectory() as folder:
            lines.append(_line(name, fault, Path(folder), random.Random(f"{seed} {name}"), rows, at_once))
    return lines


def _line(
    name: str,
    fault: Callable[[Path], AbstractContextManager[tuple[str, _Fault]]],
    folder: Path,
    chance: random.Random,
    rows: int,
    at_once: int,
) -> Line:
    try:
        with serve(_SLOWEST, 0) as server, fault(folder) as (address, (inject, mend)):
            return _broken_and_mended(
                name, server, address, inject, mend, chance.randrange(rows // 4, rows // 2), rows, at_once
            )
    except _MissingError as error:
        return Line(name, f"left out: {error}", "reported", kept=True)


class _MissingError(Exception):
    """This machine cannot inject the fault."""


def _broken_and_mended(  # noqa: PLR0913 (one fault: its name, where it is, what makes it, when, how large)
    name: str,
    server: QuestionServer,
    address: str,
    inject: Callable[[], object],
    mend: Callable[[], object],
    after: int,
    rows: int,
    at_once: int,
) -> Line:
    server.on_answer = lambda sent: inject() if sent == after else None
    first, told = _run(server, address, rows, at_once)
    asked = len(server.asked)
    server.on_answer = lambda _: None
    mend()
    second, _ = _run(server, address, rows, at_once)
    twice = sum(len(times) - 1 for times in server.asked.values())
    damage = name in {"a damaged file", "a file that was replaced"}
    most = asked if damage else at_once
    found = f"{first} scored, reported {told!r}; {asked} sent; then {second} scored, {twice} sent twice"
    allowed = f"reported; then all, {'lost rows' if damage else f'at most {at_once}'} twice"
    kept = second == rows and twice <= most and (bool(told) or first == rows)
    return Line(f"{name} after {after} replies of {rows}", found, allowed, kept)


def _run(server: QuestionServer, address: str, rows: int, at_once: int) -> tuple[int, str]:
    """How many rows were scored, and the first sentence about the store in the report or the error."""
    client = wb.judges.OpenAIClient(base_url=server.address, concurrency=at_once)
    judge = wb.BinaryJudge(criteria="The completion is polite.", model="local", client=client)
    data = [{"prompt": f"<row {row}>", "completion": "Good day."} for row in range(rows)]
    try:
        with wb.open_store(address, timeout=0.5) as opened:
            report = judge.run(data, store=opened, progress=False)
    except wb.errors.StoreError as error:
        return 0, error.what
    told = [note for note in report.notes if "store" in note]
    return int(report.summary["scored"].iloc[0]), told[0].splitlines()[0][:100] if told else ""


@contextlib.contextmanager
def _full_disk(folder: Path) -> Iterator[tuple[str, _Fault]]:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        raise _MissingError("no right to mount a small disk")
    filler = folder / "filler"

    def fill() -> None:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass

    try:
        yield f"sqlite:///{folder / 'answers.db'}", (fill, filler.unlink)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def _locked_file(folder: Path) -> Iterator[tuple[str, _Fault]]:
    path = folder / "answers.db"
    held: list[sqlite3.Connection] = []

    def lock() -> None:
        held.append(sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=60))
        held[0].execute("BEGIN IMMEDIATE")

    def unlock() -> None:
        held[0].close()

    yield f"sqlite:///{path}", (lock, unlock)


@contextlib.contextmanager
def _damaged_file(folder: Path) -> Iterator[tuple[str, _Fault]]:
    path = folder / "answers.db"

    def damage() -> None:
        for file in (path, path.with_name(f"{path.name}-wal")):
            with file.open("r+b") as opened:
                opened.write(b"\xff" * file.stat().st_size)

    def start_anew() -> None:
        for file in folder.iterdir():
            file.unlink()

    yield f"sqlite:///{path}", (damage, start_anew)


@contextlib.contextmanager
def _replaced_file(folder: Path) -> Iterator[tuple[str, _Fault]]:
    path, other = folder / "answers.db", folder / "other.db"
    wb.open_store(other).close()
    yield f"sqlite:///{path}", (lambda: other.replace(path), lambda: None)


@contextlib.contextmanager
def _stopped_server(_: Path) -> Iterator[tuple[str, _Fault]]:
    programs = postgres.folder()
    if programs is None or not shutil.which("psql"):
        raise _MissingError("no PostgreSQL here")
    with postgres.serve(programs) as server:
        yield server.url, (server.stop, server.start)
