"""One confined process that runs one grader over its rows. Standard library only; loaded by its path.

Life cycle: map the rows and the score page, decode the worker's shard, confine itself, report the result of the
self-test, load one source, grade the requested ranges of rows, be killed. Commands arrive on descriptor 3 as
`marshal` (from the host, which is trusted here); replies are sent on descriptor 4 as a fixed header and a JSON text.
Scores are stored one by one in a page shared with the host, so the end of a worker loses no finished row. Every score
starts as *not scored*.
"""

from __future__ import annotations

import builtins
import fcntl
import gc
import importlib.machinery
import io
import marshal
import mmap
import os
import sys
import types
from typing import Any

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
    gc.disable()  # decoding makes many objects and no garbage
    page, blob = _take_descriptors(config, fds)
    # Before confinement: what is decoded now is part of the worker's base, not of its grader's memory.
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
    if config.get("shard"):
        server.rehearse()
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
    for name in ("ctypes", "_ctypes", "mmap", "fcntl", *(n for n in sys.modules if n.startswith("_wb_"))):
        sys.modules.pop(name, None)
    for name, classes in _importable().items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__dict__.update({cls.__name__: cls for cls in classes})
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
    """The dataset: the worker's shard decoded beforehand, other rows decoded on request or sent with each command."""

    def __init__(self, blob: mmap.mmap | None, config: dict[str, Any]) -> None:
        self._blob = blob
        self._spans: list[tuple[int, int, int]] = (
            marshal.loads(blob[config["index"] :]) if blob is not None and "index" in config else []
        )
        self._starts: list[int] = []
        total = 0
        for _, _, count in self._spans:
            self._starts.append(total)
            total += count
        first, last = config.get("shard") or (0, 0)
        self.first, self.count = first, last - first
        self._has_extras = bool(config.get("extras"))
        self._make = _loaders.Row.from_wire if self._has_extras else _thread.StringThread.from_wire
        self._decoded: dict[int, list[Any]] = {}
        for index in range(len(self._spans)):
            if self._starts[index] < last and self._starts[index] + self._spans[index][2] > first:
                self._decoded[index] = self._decode(index)
        self._recent = -1
        self._last: Any = None

    def _decode(self, index: int) -> list[Any]:
        assert self._blob is not None
        offset, size, _ = self._spans[index]
        return self._made(self._blob[offset : offset + size])

    def _made(self, data: bytes) -> list[Any]:
        make = self._make
        return [make(wire) for wire in _row_columns.loaded(data)]

    def _sent(self, data: bytes) -> list[Any]:
        if self._has_extras:
            return self._made(data)
        # The last requested rows are likely to be requested again.
        asked = self._last.asked if self._last else ()
        self._last = _row_columns.ColumnBatch(data)
        return _thread.StringThread.of_batch(self._last, asked)  # type: ignore[no-any-return]

    def of(self, command: dict[str, Any]) -> list[Any]:
        """The rows of a command: from the dataset, or sent with it."""
        if "at" in command:
            assert self._blob is not None
            return self._sent(self._blob[command["at"] : command["at"] + command["size"]])
        return self.range(command["first"], command["count"])

    def _batch(self, index: int) -> list[Any]:
        rows = self._decoded.get(index)
        if rows is None:
            # Of rows outside the worker's shard only one batch is cached: another worker has them too.
            self._decoded.pop(self._recent, None)
            rows = self._decoded[index] = self._decode(index)
            self._recent = index
        return rows

    def range(self, first: int, count: int) -> list[Any]:
        """The threads of rows first to first + count."""
        import bisect

        index = bisect.bisect_right(self._starts, first) - 1
        out: list[Any] = []
        while len(out) < count:
            at = first + len(out) - self._starts[index]
            out += self._batch(index)[at : at + count - len(out)]
            index += 1
        return out


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

    def rehearse(self) -> None:
        """Load and run a built-in grader once, so that the first user grader finds its memory mapped.

        A forked process pays for the first write to each page; an idle worker can pay beforehand.
        """
        # A grader that fits every row.
        self.do_load({"text": "async def grade(thread):\n    return 0.0\n", "seconds": 5.0})
        first = min(self._rows.count, self._half - 1)
        for half in (0, 1):
            self._until(half)[0] = first
            self.do_rows({"first": self._rows.first, "count": first, "half": half, "seconds": 5.0})
        self._loading = None

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
