"""`workbench serve` as a process: it proves first, logs no completions, and ends in order."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading

import httpx
import psutil
import pytest

import workbench as wb
from tests.deploy.serve.servers import EXPECTED, command, thread_of, until

SLOW = """
import time

async def grade(thread: StringThread) -> float:
    if thread.completion() == "slow":
        time.sleep(0.8)
    return 1.0
"""
SECRET = "a-completion-nobody-may-read"
TOKEN = "a-token-nobody-may-read"


@pytest.fixture
def graders(tmp_path):
    path = tmp_path / "graders.py"
    path.write_text(EXPECTED, "utf-8")
    return path


def refused(*words, **env):
    """What a server that does not start says."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "serve", *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    return done.stderr


def stopped(process):
    """The exit code and all output of a process that was told to stop."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_requests_in_flight_are_answered_before_it_ends(tmp_path):
    """After SIGTERM no connection is taken any more, what is under way is answered, and the exit code is 0."""
    path = tmp_path / "slow.py"
    path.write_text(SLOW, "utf-8")
    with command(path) as (process, url):
        answers = []
        asking = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{url}/score", json=thread_of("slow"), timeout=60))
        )
        asking.start()
        with httpx.Client(base_url=url) as client:
            until(lambda: "workbench_queue_rows 1" in client.get("/metrics").text)
        process.send_signal(signal.SIGTERM)
        asking.join(60)
        assert answers[0].json()["reward"] == 1.0
        code, out, err = stopped(process)
        assert (code, out) == (0, "stopped\n")
        assert "Traceback" not in err
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")


def test_a_second_signal_ends_at_once(tmp_path):
    """Whoever asks twice does not want to wait for a row."""
    path = tmp_path / "slow.py"
    path.write_text(SLOW, "utf-8")
    with command(path) as (process, url):
        asking = threading.Thread(target=lambda: _ignoring(url))
        asking.start()
        with httpx.Client(base_url=url) as client:
            until(lambda: "workbench_queue_rows 100" in client.get("/metrics").text)
        process.send_signal(signal.SIGTERM)
        until(lambda: not _listens(url))
        process.send_signal(signal.SIGTERM)
        code, _, err = stopped(process)
        asking.join(60)
        assert code in {0, 1}
        assert "Traceback" not in err
        assert "/batch_score 503 100 rows" in err


def _ignoring(url):
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(f"{url}/batch_score", json={"requests": [thread_of("slow")] * 100}, timeout=60)


def _listens(url):
    host, port = url.removeprefix("http://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_logs_hold_no_completions_and_no_token(graders):
    """A line a request: method, path, status, rows, time; nothing of bodies, headers and queries."""
    with command(graders, env={"WORKBENCH_SERVE_TOKEN": TOKEN}) as (process, url):
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {TOKEN}"}) as client:
            batch = {"requests": [thread_of(SECRET), thread_of("boom")]}
            assert client.post("/batch_score", json=batch).status_code == 200
            assert (
                client.post(f"/slime?x={SECRET}", json={"prompt": SECRET, "response": "boom"}).status_code
                == 422
            )
            assert client.post("/score", content=SECRET).status_code == 400
            assert client.get("/a%1B[31mb").status_code == 404
        process.send_signal(signal.SIGTERM)
        _, out, err = stopped(process)
    lines = [line.split(" INFO ")[1].rsplit(" ", 2)[0] for line in err.splitlines()]
    assert lines[:3] == ["POST /batch_score 200 2 rows", "POST /slime 422 1 rows", "POST /score 400 0 rows"]
    assert "\x1b" not in err
    for secret in (SECRET, TOKEN, "boom"):
        assert secret not in out + err


def test_rows_are_logged_where_somebody_asks_for_it(graders):
    """As JSON on one line, with --log-rows."""
    with command(graders, "--log-rows") as (process, url):
        httpx.post(f"{url}/score", json=thread_of(f"{SECRET}\nmore"))
        process.send_signal(signal.SIGTERM)
        _, _, err = stopped(process)
    (line,) = [line for line in err.splitlines() if SECRET in line]
    assert json.loads(line.split("/score: ")[1]) == thread_of(f"{SECRET}\nmore")


def test_it_is_served_to_this_machine_only_without_a_token(graders):
    """Another host without a token is refused before anything runs."""
    assert "WORKBENCH_SERVE_TOKEN" in refused(str(graders), "--host", "0.0.0.0")


def test_what_fails_its_checks_is_not_served(tmp_path):
    """The check and what to change, as in a run."""
    path = tmp_path / "bad.py"
    path.write_text("async def grade(thread):\n    return 'good'\n", "utf-8")
    assert "test run" in refused(str(path)) or "test_run" in refused(str(path))


def test_a_port_that_is_taken_is_told(graders):
    """With the address and the next step."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in refused(str(graders), "--port", str(port))


def test_without_the_extra_it_says_how_to_install_it(graders, monkeypatch):
    """The packages are named with the command."""
    import importlib.util

    from workbench.core.errors import WorkbenchError
    from workbench.deploy.serve import require_extra

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        WorkbenchError, match=r"starlette, uvicorn and httptools(?s:.*)grader-workbench\[serve\]"
    ):
        require_extra()


def test_neither_package_is_loaded_before_it_serves():
    """`import workbench.deploy.serve` takes no extra."""
    code = "import sys, workbench.deploy.serve; assert not {'starlette', 'uvicorn', 'httptools'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_requests_survive_a_sandbox_that_is_killed_whole(tmp_path):
    """With every process below the server killed at once, only rows that workers were at fail; new workers take the rest."""
    grader = wb.FunctionGrader.from_source(SLOW, name="slow")
    assert grader.validate().ok
    path = wb.save([grader], tmp_path / "graders.json")
    with command(path) as (process, url):
        answers = []
        body = {"requests": [thread_of("slow"), *[thread_of("4")] * 30]}
        asking = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{url}/batch_score", json=body, timeout=60))
        )
        asking.start()
        with httpx.Client(base_url=url) as client:
            until(lambda: "workbench_queue_rows 31" in client.get("/metrics").text)
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        asking.join(60)
        rewards = [one["reward"] for one in answers[0].json()["responses"]]
        assert len(rewards) == 31
        assert rewards.count(1.0) + rewards.count(None) == 31
        assert rewards.count(None) <= 4
        assert httpx.post(f"{url}/score", json=thread_of("4"), timeout=60).json()["reward"] == 1.0


def test_columns_that_clients_have_to_send_are_told(tmp_path):
    """At the start, since a grader that skips for want of one would leave the mean to the others."""
    path = tmp_path / "g.py"
    path.write_text(
        "async def grade(thread):\n    return float((thread.metadata or {}).get('solution') == '4')\n",
        "utf-8",
    )
    told = []
    for options in ([], ["--reference", "solution"]):
        with command(path, *options) as (process, _):
            process.send_signal(signal.SIGTERM)
            told.append("'solution'" in stopped(process)[2])
    assert told == [True, False]
