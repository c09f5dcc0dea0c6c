"""One confined process that runs one grader over its rows. Standard library only; loaded by its path.

Life cycle: map the rows and the score page, confine itself, report the result of the self-test, load one source, decode
and grade the requested ranges of rows, be killed. Commands arrive on descriptor 3 as
`marshal` (from the host, which is trusted here); replies are sent on descriptor 4 as a fixed header and a JSON text.
Scores are stored one by one in a page shared with the host, so the end of a worker loses no finished row. Every score
starts as *not scored*.
"""

from __future__ import annotations

import bisect
import builtins
import fcntl
import gc
import importlib.machinery
import io
import itertools
import marshal
import mmap
import os
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_thread = sys.modules["_wb_thread"]
_grade = sys.modules["_wb_grade"]
_confine = sys.modules["_wb_confine"]
_probes = sys.modules["_wb_probes"]
_checks = sys.modules["_wb_checks"]
_fingerprint = sys.modules["_wb_fingerprint"]
_protocol = sys.modules["_wb_protocol"]
_row_columns = sys.modules["_wb_row_columns"]
_drive = sys.modules["_wb_drive"]
_loaders = sys.modules["_wb_loaders"]
_calls = sys.modules["_wb_calls"]

MAX_OUTPUT = 64 * 1024


def main(config: dict[str, Any], fds: list[int]) -> None:
    """Run as a worker until the host closes the connection or kills it."""
    page, blob = _take_descriptors(config, fds)
    rows = Rows(blob, config)
    output = Output()
    _tidy_process(output)
    _confine.note_address_space()  # before confinement: /proc cannot be read after it
    held = _confine.held(privileged=_confine.give_up())
    installed = _confine.lock_down(
        tuple(config["layers"]), config["memory"], read_fd=_protocol.READ_FD, write_fd=_protocol.WRITE_FD
    )
    leaks = [*held, *_probes.self_test()]
    level = _confine.level(installed, leaks)
    _hide_modules()
    server = CommandLoop(rows, page, output)
    # 0 is the number of this frame only: the host counts its commands from a random number above it.
    _protocol.answer(0, {"level": level, "layers": installed, "leaks": leaks})
    server.serve()


def _take_descriptors(config: dict[str, Any], fds: list[int]) -> tuple[mmap.mmap, mmap.mmap | None]:
    """Map the shared memory and leave no descriptor open but the two pipes."""
    page = mmap.mmap(fds[2], config["page_bytes"])
    blob = mmap.mmap(fds[3], config["blob_bytes"], prot=mmap.PROT_READ) if len(fds) > 3 else None
    # Moved up first: a pipe may have the number that the other, or the null device, is about to get.
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds[:2]]
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.dup2(high[0], _protocol.READ_FD)
    os.dup2(high[1], _protocol.WRITE_FD)
    # The mappings remain when their descriptors are closed.
    os.closerange(5, 4096)
    return page, blob


def _tidy_process(output: Output) -> None:
    """Replace the streams, arguments, environment and folder that came from the parent process."""
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), output, output
    sys.__stdin__ = sys.__stdout__ = sys.__stderr__ = None  # type: ignore[misc]
    sys.argv = ["grader"]
    os.environ.clear()
    os.chdir("/")
    gc.set_threshold(50000, 20, 100)
    # Everything loaded so far persists: the collector need not inspect it, and its pages remain shared.
    gc.freeze()
    gc.enable()
    os.nice(5)


def _hide_modules() -> None:
    """Allow the loaded standard library only, and give a clear error for any other module."""
    # A removed module remains in use here; only the grader's `import` cannot find it any more.
    for name in _HIDDEN:
        sys.modules.pop(name, None)
    sys.modules.update(_MODULES)
    sys.path[:] = []
    sys.path_hooks[:] = []
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, Refuser]


def _importable() -> dict[str, tuple[type, ...]]:
    """The package's modules that graders can import, each with its classes; Adaptive's package has the thread only."""
    thread, outcomes = (_thread.StringThread,), (_grade.Grade, _grade.Skip)
    _thread.StringThread.__module__ = "workbench.core.thread"
    for outcome in outcomes:
        outcome.__module__ = "workbench.core.grade"
    return {
        "workbench": (*thread, *outcomes),
        "workbench.core": (),
        "workbench.core.thread": thread,
        "workbench.core.grade": outcomes,
        "adaptive_harmony": thread,
    }


def _modules() -> dict[str, types.ModuleType]:
    """The modules of `_importable`, made once in the zygote."""
    modules = {}
    for name, classes in _importable().items():
        module = modules[name] = types.ModuleType(name)
        module.__dict__.update({cls.__name__: cls for cls in classes})
    return modules


_MODULES = _modules()
_HIDDEN = ("ctypes", "_ctypes", "mmap", "fcntl", *(name for name in sys.modules if name.startswith("_wb_")))
"""Listed once in the zygote: looking at every name writes to the pages of all of them."""


class Refuser:
    """The last importer: refuses every module that is not available, with a reason."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004
        """Refuse."""
        library = name.partition(".")[0] in sys.stdlib_module_names
        reason = (
            "it is excluded from the standard library here" if library else "only the standard library is"
        )
        raise ModuleNotFoundError(f"{name} is not available in graders: {reason}", name=name)


class Output(io.TextIOBase):
    """What the grader prints: stored up to a limit, then dropped."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.remaining = MAX_OUTPUT

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Store what fits."""
        if self.remaining > 0:
            self.parts.append(str(text)[: self.remaining])
            self.remaining -= len(self.parts[-1])
        return len(text)

    def take(self) -> str:
        """What was printed since the last call."""
        text = "".join(self.parts)
        self.parts.clear()
        return text


class Rows:
    """The dataset, of which a grader's rows are decoded while it reads them, a batch at a time."""

    def __init__(self, blob: mmap.mmap | None, config: dict[str, Any]) -> None:
        self._blob = None if blob is None else memoryview(blob)
        self._spans: list[tuple[int, int, int]] = (
            marshal.loads(blob[config["index"] :]) if blob is not None and "index" in config else []
        )
        self._starts = list(itertools.accumulate((count for _, _, count in self._spans), initial=0))
        self._columns: Any = None
        # One batch of the dataset is cached: the next command probably starts in it.
        self._index = -1
        self._batch: Callable[[slice], list[Any]] = _nothing

    def of(self, command: dict[str, Any]) -> RowRange:
        """The rows of a command: from the dataset, or sent with it."""
        first, count, has_extras = command["first"], command["count"], bool(command.get("extras"))
        if "at" in command:
            batch = self._read(command["at"], command["size"], has_extras)
            return RowRange(lambda row: batch(slice(row, None)), count)
        return RowRange(lambda row: self._from(first + row, first + count, has_extras), count)

    def _from(self, row: int, stop: int, has_extras: bool) -> list[Any]:
        """Rows of the dataset up to the end of their batch."""
        index = bisect.bisect_right(self._starts, row) - 1
        start = self._starts[index]
        if index != self._index:
            self._index, self._batch = -1, _nothing  # its memory is used again
            at, size, _ = self._spans[index]
            self._batch = self._read(at, size, has_extras)
            self._index = index
        return self._batch(slice(row - start, stop - start))

    def _read(self, at: int, size: int, has_extras: bool) -> Callable[[slice], list[Any]]:
        """A batch, as a function from a slice to its rows."""
        assert self._blob is not None
        data = self._blob[at : at + size]
        if has_extras:
            return [_loaders.Row.from_wire(wire) for wire in _row_columns.loaded(data)].__getitem__
        if _row_columns.is_rows(data):
            return [_thread.StringThread.from_wire(wire) for wire in _row_columns.loaded(data)].__getitem__
        # The attributes that rows of the last batch used are likely to be used again.
        asked = frozenset() if self._columns is None else self._columns.asked
        self._columns = None
        columns = self._columns = _row_columns.ColumnBatch(data)
        return lambda rows: _thread.StringThread.of_batch(columns, asked | columns.asked, rows)


def _nothing(rows: slice) -> list[Any]:  # noqa: ARG001 (of no batch)
    return []


class RowRange:
    """Rows of one command, in order; the driver may start at any of them, and cut the end off while it reads them.

    Args:
        read: From the index of a row to this row and some after it.
        count: Number of rows.
    """

    def __init__(self, read: Callable[[int], list[Any]], count: int, start: int = 0) -> None:
        self._read, self._start, self._stop = read, start, count
        self._part: list[Any] = []
        self._part_start = start

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, rows: slice) -> RowRange:
        return RowRange(self._read, self._stop, self._start + (rows.start or 0))

    def __delitem__(self, rows: slice) -> None:
        self._stop = min(self._stop, self._start + rows.start)
        del self._part[max(0, self._stop - self._part_start) :]

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self._parts())

    def _parts(self) -> Iterator[list[Any]]:
        at = self._start
        while at < self._stop:
            self._part = []  # freed before its successor is made
            self._part, self._part_start = self._read(at), at
            at += len(self._part)
            del self._part[max(0, self._stop - self._part_start) :]
            yield self._part


class CommandLoop:
    """Executes the host's commands in sequence."""

    def __init__(self, rows: Rows, page: mmap.mmap, output: Output) -> None:
        self._rows = rows
        self._output = output
        view = memoryview(page)
        # The page twice: the marks of rows without a score are NaNs, which are indistinguishable as floats.
        self._scores, self._bits = view.cast("d"), view.cast("Q")
        # Two halves, so that the host reads one range while the worker writes the next.
        self._half = len(self._scores) // 2
        self._loading: Any = None
        self._calls = _calls.Calls(self._scores, self._bits, output)

    def serve(self) -> None:
        """Process commands until the host closes the connection."""
        while (command := _protocol.receive()) is not None:
            reply = getattr(self, "do_" + command["op"])(command)
            _protocol.answer(command["seq"], reply)
            if command["op"] == "grade_isolated":
                # After the reply, so that the next caller need not wait for it. Its output is stored for that call.
                self._calls.prepare(self._loading, command["load_seconds"])

    def do_static(self, command: dict[str, Any]) -> dict[str, Any]:
        """Checks one to three: nothing of the source runs."""
        self._loading = _loaders.loader(command)
        with self._time_to_load(command):
            if self._loading.static():
                self._loading.look_for_state()
        return self._reply(self._loading.results)

    def do_execute(self, command: dict[str, Any]) -> dict[str, Any]:
        """Check four: the module's body runs."""
        with self._time_to_load(command):
            self._loading.execute()
        return self._reply(self._loading.results[-1:])

    def do_load(self, command: dict[str, Any]) -> dict[str, Any]:
        """Checks one to four together, for a run: all of them in the time to load."""
        self._loading = _loaders.loader(command)
        with self._time_to_load(command):
            if self._loading.static():
                self._loading.execute()
        reply = self._reply(self._loading.results)
        return {**reply, "self_contained": bool(command.get("resident") and self._loading.self_contained)}

    def do_grade_batch(self, command: dict[str, Any]) -> dict[str, Any]:
        """Grade rows that were sent with the command."""
        return dict(self._calls.rows(self._loading, command))

    def do_grade_isolated(self, command: dict[str, Any]) -> dict[str, Any]:
        """Grade rows that were sent with the command, each as the first of a fresh worker."""
        return dict(self._calls.grade_isolated(self._loading, command))

    def do_test(self, command: dict[str, Any]) -> dict[str, Any]:
        """Check five: one test run on a thread that was sent with the command."""
        label, seconds, made_up = command["label"], command["seconds"], ""
        if command["mock"]:
            row, columns = self._loading.mock_row(command["thread"])
            made_up = ", ".join(f"{name}={value!r}" for name, value in columns.items())
            label += f" with {made_up} (generated)" if made_up else ""
        else:
            row = self._loading.row(command["thread"])
        errors: dict[int, tuple[str, str]] = {}

        def step() -> str:
            notes: dict[int, Any] | None = {} if self._loading.noted else None
            page = (self._scores, self._bits, 0)
            _drive.drive(self._loading.grade, [row], page, seconds, errors, notes)
            if errors:
                raise _checks.CheckFailed(f"on {label}: {errors[0][1]}")
            return ""

        self._loading.check("test_run", step)
        return {**self._reply(self._loading.results[-1:]), "made_up": [made_up] if made_up else []}

    def _time_to_load(self, command: dict[str, Any]) -> Any:
        return _drive.Alarm(command["seconds"], lambda: 0, missing="the module did not load")

    def _reply(self, checks: list[Any]) -> dict[str, Any]:
        warnings, self._loading.warnings = self._loading.warnings, []
        return {"checks": checks, "warnings": warnings, "output": self._output.take()}

    def do_rows(self, command: dict[str, Any]) -> dict[str, Any]:
        """Grade a range of rows into one half of the page."""
        where = (self._scores, self._bits, self._half * command["half"])
        errors: dict[int, tuple[str, str]] = {}
        notes: dict[int, Any] | None = {} if self._loading.noted else None
        rows, until = self._rows.of(command), self._until(command["half"])
        count = _drive.drive(self._loading.grade, rows, where, command["seconds"], errors, notes, until)
        noted = {} if notes is None else {"notes": list(notes.items())}
        return {"errors": errors, "output": self._output.take(), "done": count, **noted}

    def _until(self, half: int) -> memoryview[int]:
        """The number with which the host sets the end of the range in one half of the page."""
        end = self._half * (half + 1)
        return self._bits[end - 1 : end]

    def do_fingerprint(self, command: dict[str, Any]) -> dict[str, Any]:
        """The values of the loaded module's names, as plain data."""
        namespace = self._loading.namespace
        with self._time_to_load(command):
            return {"names": _fingerprint.describe(namespace, command["names"])}


builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]  # -S omits them
