"""Only regular files are read, whichever way a path comes in; standard input where it is named."""

import io
import json
import os
import socket
import subprocess
import sys
import threading

import pytest

import workbench as wb
from workbench.core.errors import FormatError, ReportError, SamplesError, StoreError, WorkbenchError
from workbench.core.files import is_import_path, read_bytes, write_atomically
from workbench.graders.code.rollout import RolloutGrader
from workbench.judges import AgentJudge, RubricJudge
from workbench.store import open_store

HANGS = 600
"""Seconds after which a process that should have ended is taken for hanging, on a busy machine too."""
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def resumed(path):
    return wb.ExactMatch().run(wb.Samples([{"prompt": "a", "completion": "b"}]), resume=path)


WAYS = {
    "graders": ("a.json", FormatError, wb.load),
    "graders in Python": ("a.py", FormatError, wb.load),
    "rows of JSON Lines": ("a.jsonl", SamplesError, wb.read_samples),
    "rows of JSON": ("a.json", SamplesError, wb.read_samples),
    "rows of CSV": ("a.csv", SamplesError, wb.read_samples),
    "rows of Parquet": ("a.parquet", SamplesError, wb.read_samples),
    "rows read lazily": ("a.parquet", SamplesError, lambda path: wb.read_samples(path, lazy=True)),
    "a report": ("a.parquet", ReportError, wb.read_report),
    "a run to go on with": ("a.parquet", ReportError, resumed),
    "a store": ("a.db", StoreError, open_store),
    "a prompt": ("a.txt", FormatError, lambda path: RubricJudge(prompt=path)),
    "an agent": ("a.af", FormatError, AgentJudge.from_file),
    "a rollout": ("a.py", WorkbenchError, RolloutGrader.in_process),
}


@pytest.fixture
def hanging(tmp_path):
    """Ends the wait of whoever opened a pipe after all, so that the test fails instead of hanging."""
    pipes, done = [], threading.Event()

    def writer():
        while not done.wait(5):
            for pipe in pipes:
                try:
                    os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
                except OSError:
                    continue

    thread = threading.Thread(target=writer, daemon=True)
    thread.start()
    yield pipes
    done.set()
    thread.join()


@pytest.mark.parametrize("way", WAYS)
def test_a_pipe_is_refused_and_not_waited_for(way, tmp_path, hanging):
    """By the error of what was to be read, which says what was found."""
    name, kind, read = WAYS[way]
    path = tmp_path / name
    os.mkfifo(path)
    hanging.append(path)
    with pytest.raises(kind) as caught:
        read(path)
    assert "pipe" in str(caught.value)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_device_and_a_socket_are_refused(name, tmp_path):
    """Also behind a link."""
    link = tmp_path / name
    link.symlink_to("/dev/zero")
    read = wb.read_samples if name == "a.jsonl" else wb.load
    with pytest.raises(WorkbenchError) as caught:
        read(link)
    assert caught.value.found == "a device"
    place = tmp_path / "s.jsonl"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        with pytest.raises(SamplesError) as caught:
            wb.read_samples(place)
    assert caught.value.found == "a socket"


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(tmp_path, monkeypatch, hanging):
    """Between the look at the path and its opening."""
    path = tmp_path / "a"
    os.mkfifo(path)
    hanging.append(path)
    monkeypatch.setattr("workbench.core.files.check_regular", lambda *_: None)
    with pytest.raises(FormatError):
        read_bytes(path, FormatError)


def test_standard_input_is_read_where_it_is_named(monkeypatch):
    """Graders of any format, and rows as JSON Lines."""
    row = json.dumps({"prompt": "a", "completion": "b"}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(row + b"\n" + row)))
    assert len(wb.read_samples("-")) == 2
    text = b"async def grade(thread):\n    return 1.0\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert wb.load("-")[0].source.imported


def test_no_document_can_name_standard_input(tmp_path, monkeypatch):
    """A file named `-` beside it is that file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("from the file")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from standard input")))
    from workbench.formats.shared import Reading

    reading = Reading("", "a.yaml", tmp_path, False, "")
    assert reading.companion("-", "prompt") == "from the file"


def test_the_command_line_takes_standard_input():
    """`workbench validate -`."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "validate", "-"], input="async def grade(thread):\n    return 1.0\n",
        capture_output=True, text=True, timeout=HANGS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_path_with_a_nul_is_not_written(tmp_path):
    """In words of ours."""
    with pytest.raises(FormatError) as caught:
        write_atomically(f"{tmp_path}/a\0b", "x")
    assert "NUL" in caught.value.what


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("package.module:near", True),
        ("folder:near", True),
        ("rewards.py:near", True),
        ("held.py:near", False),
        ("near", False),
        ("a b:near", False),
        ("module:", False),
    ],
)
def test_import_paths(text, expected, tmp_path, monkeypatch):
    """A function by its module: a folder of that name is its package, a file is a file."""
    (tmp_path / "held.py").touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert is_import_path(text) is expected
