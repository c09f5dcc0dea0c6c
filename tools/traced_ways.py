"""Five ways through the package, traced: which files and functions a call enters, in the order of first entry.

Each way runs three times. The first run is not traced, so that imports and first-time set-up do not count; of the others the
shorter trace counts, since the other may contain the clean-up of an earlier call. Every thread of this process counts, worker
processes do not. The model of the judge is a scripted server on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any, Self

import workbench as wb

PACKAGE = Path(wb.__file__).parent
N_ROWS = 400

_CELL = '''
import workbench as wb

@wb.grader
async def {name}(thread: wb.StringThread) -> float:
    """1.0 if the completion contains the reference."""
    reference = str((thread.metadata or {{}}).get("reference", "4"))
    return 1.0 if reference in (thread.completion() or "") else 0.0
'''
_SCRIPTED_REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "scripted",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": '{"reasoning": "It is right.", "score": "PASS"}'},
        }
    ],
    "usage": {"prompt_tokens": 40, "completion_tokens": 8, "total_tokens": 48},
}


@dataclass(frozen=True)
class Way:
    """The trace of one way.

    Attributes:
        name: What was called.
        functions: (file, qualified name) of every function entered, in order.
    """

    name: str
    functions: tuple[tuple[str, str], ...]

    @property
    def files(self) -> list[str]:
        """Files in the order in which they are entered, relative to the package."""
        return list(dict.fromkeys(file for file, _ in self.functions))


class Recorder:
    """A profile function for all threads; install it before the package starts any."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], None] | None = None
        self._root = f"{PACKAGE}/"

    def __enter__(self) -> Self:
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self._seen is None or event != "call" or not code.co_filename.startswith(self._root):
            return
        if code.co_name != "<module>":  # an import
            self._seen.setdefault((code.co_filename.removeprefix(self._root), code.co_qualname))

    def trace(self, name: str, call: Callable[[], object]) -> Way:
        """The trace of a call."""
        self._seen = {}
        try:
            call()
            return Way(name, tuple(self._seen))
        finally:
            self._seen = None


class _ScriptedModel(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(_SCRIPTED_REPLY).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


def all_ways() -> list[Way]:
    """The five ways."""
    with Recorder() as recorder:
        samples = wb.read_samples(_rows())
        grader = wb.FunctionGrader.from_source(_CELL.format(name="contains_reference"))
        grader.validate().raise_for_failure()
        reports: list[Any] = []
        run = _traced(
            recorder, "run", lambda: reports.append(grader.run(samples, labels="label", progress=False))
        )
        findings = _traced(recorder, "findings", lambda: reports.pop().findings)
        return [run, findings, _judge_call(recorder), _request(recorder, grader), _cell_to_figure(recorder)]


def _traced(recorder: Recorder, name: str, call: Callable[[], object]) -> Way:
    """The trace of a call that can be made three times."""
    call()
    return min((recorder.trace(name, call) for _ in range(2)), key=lambda way: len(way.functions))


def _rows() -> list[dict[str, Any]]:
    """Sums, every third of them wrong, and every fourth label wrong: the grader has findings."""
    return [
        {
            "prompt": f"What is {n} + {n}?",
            "completion": f"It is {2 * n + (n % 3 == 0)}.",
            "reference": str(2 * n),
            "label": (n % 3 != 0) != (n % 4 == 0),
        }
        for n in range(N_ROWS)
    ]


def _judge_call(recorder: Recorder) -> Way:
    with _scripted_model() as url:
        client = wb.judges.OpenAIClient(base_url=url)
        judge = wb.BinaryJudge("The completion is right.", model="scripted", client=client)
        threads = [
            wb.StringThread([("user", "What is 2+2?"), ("assistant", f"It is {text}.")]) for text in "456"
        ]
        way = _traced(recorder, "one judge call", lambda: judge(threads.pop()))
        wb.core.background.run(client.close())
        return way


@contextlib.contextmanager
def _scripted_model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _ScriptedModel)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _request(recorder: Recorder, grader: Any) -> Way:
    import httpx

    turns = [{"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "It is 4."}]
    body = {"turns": turns, "metadata": {"reference": "4"}}
    with _served(grader) as url, httpx.Client(base_url=url, timeout=60) as client:
        return _traced(recorder, "one request", lambda: client.post("/score", json=body).raise_for_status())


@contextlib.contextmanager
def _served(grader: Any) -> Iterator[str]:
    """`workbench serve` in a thread of this process."""
    from workbench.deploy.serve import address, bound, create_app, uvicorn_server

    listening, ready = bound("127.0.0.1", 0), threading.Event()
    server = uvicorn_server(create_app(grader, workers=1), stop_seconds=5, ready=ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        if not ready.wait(60):
            raise TimeoutError("the server did not start within 60 s")
        yield address(listening)
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()


def _cell_to_figure(recorder: Recorder) -> Way:
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    names = iter(("states_the_sum", "states_the_result", "states_the_reference"))

    def cell_to_figure() -> None:
        name = next(names)
        shell.run_cell(_CELL.format(name=name), store_history=True).raise_error()
        grader = shell.user_ns[name]
        grader.validate().raise_for_failure()
        report = grader.run(wb.read_samples(_rows()), labels="label", progress=False)
        _ = report.findings, repr(report), report.plot()

    return _traced(recorder, "cell to figure", cell_to_figure)
