"""Limits: what is too much is refused at once, and the server goes on."""

import asyncio
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import workbench as wb
from tests.deploy.serve.servers import expected, served, thread_of, until
from workbench.core.errors import WorkbenchError
from workbench.deploy.serve import RequestLimits
from workbench.deploy.serve.http import Admission, RequestError


def gated():
    """A grader in this process that waits until `gate` is opened."""
    gate = threading.Event()

    async def waits(thread):
        await asyncio.to_thread(gate.wait, 30)
        return 1.0

    return wb.CustomGrader(waits, timeout=30.0), gate


@pytest.fixture(scope="module")
def small():
    """A server that takes little."""
    with served(expected(), max_rows=4, max_bytes=2000, queue=8) as running:
        yield running


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b'{"turns": NaN}', "NaN is not a finite number"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b"1" * 10_000, "not JSON"),
    ],
)
def test_what_is_no_json_is_refused(body, words, server):
    """With status 400 and the place, without a word of what was sent."""
    answer = server.post("/score", body)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "bad_json")
    assert words in answer.json()["error"]["message"]


def test_deep_metadata_cost_their_row(server):
    """What the parser takes and the sandbox does not is a failure of its row."""
    deep = json.loads("[" * 110 + "]" * 110)
    good = thread_of("4")
    answer = server.post("/batch_score", {"requests": [thread_of("4", deep=deep), good]}).json()
    assert [one["reward"] for one in answer["responses"]] == [None, 1.0]


def test_a_large_body_is_refused(small):
    """Also one that does not say how large it is, and the connection is usable after a refusal by rows."""
    large = json.dumps(thread_of("x" * 5000)).encode()
    for content in (large, iter([large[:1500], large[1500:]])):
        answer = small.client.post("/score", content=content)
        assert (answer.status_code, answer.json()["error"]["max_bytes"]) == (413, 2000)
    assert small.post("/score", thread_of("4")).json()["reward"] == 1.0
    assert small.app.state.admission.held == 0


def test_a_body_that_says_it_is_huge_is_not_read(small):
    """The answer comes before the body does, and the connection ends."""
    host, port = small.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /score HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000000000\r\n\r\n")
        connection.sendall(b"x" * 4000)
        answer = b""
        while part := connection.recv(4096):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413")


def test_too_many_rows_are_refused(small):
    """With the number there may be."""
    answer = small.post("/batch_score", {"requests": [{"turns": []}] * 5})
    assert (answer.status_code, answer.json()["error"]["max_rows"]) == (413, 4)


def test_a_full_queue_says_when_to_come_again():
    """429 with Retry-After above the limit, and no row more than the limit is ever held; then all goes on."""
    grader, gate = gated()
    with served(grader, queue=8, max_rows=4) as running, ThreadPoolExecutor(40) as pool:
        batch = {"requests": [thread_of("4")] * 2}
        admission = running.app.state.admission
        first = [pool.submit(running.post, "/batch_score", batch) for _ in range(4)]
        until(lambda: admission.rows == 8)
        flood = [pool.submit(running.post, "/batch_score", batch) for _ in range(30)]
        refused = [future.result() for future in flood]
        assert {answer.status_code for answer in refused} == {429}
        assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in refused)
        assert admission.rows == 8
        gate.set()
        assert {future.result().status_code for future in first} == {200}
        assert running.post("/score", thread_of("4")).status_code == 200
        assert "workbench_refused_total 30" in running.client.get("/metrics").text
        assert admission.rows == admission.held == 0


def test_a_request_has_so_much_time():
    """Above it the answer is 504, and the next request is graded."""
    grader, gate = gated()
    with served(grader, timeout=0.3) as running:
        answer = running.post("/score", thread_of("4"))
        assert (answer.status_code, answer.json()["error"]["type"]) == (504, "time_limit")
        gate.set()
        assert running.post("/score", thread_of("4")).json()["reward"] == 1.0
        assert running.app.state.admission.rows == 0


def test_a_slow_body_has_no_more_time():
    """A client that sends a byte and waits is told 408."""
    with served(wb.Length(maximum=3), timeout=0.3) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"POST /score HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
            assert connection.recv(4096).startswith(b"HTTP/1.1 408")


def test_retry_after_is_computed_from_the_measured_rate():
    """Rows a second while there are any; as many seconds as the rows above the limit take, between 1 and 60."""
    now = [0.0]
    admission = Admission(RequestLimits(queue=100, max_rows=100), clock=lambda: now[0])

    def refused(count):
        with pytest.raises(RequestError) as raised, admission.of_rows(count):
            pass
        assert raised.value.status == 429
        return raised.value.headers["retry-after"]

    with admission.of_rows(100):
        assert refused(1) == "1"  # nothing is known yet
        now[0] += 10.0
    assert admission.rate == 10.0
    now[0] += 1000.0  # without work, which does not count
    with admission.of_rows(100):
        assert refused(1) == "1"
        assert refused(50) == "5"
        assert refused(100) == "10"
        now[0] += 10.0
    with admission.of_rows(1):
        now[0] += 10_000.0
    with admission.of_rows(100):
        assert refused(100) == "60"


def test_bodies_of_all_requests_are_limited():
    """Four of the largest size are held at once."""
    admission = Admission(RequestLimits(max_bytes=10))
    admission.hold(40)
    with pytest.raises(RequestError, match="retry in"):
        admission.hold(1)
    admission.drop(40)
    admission.hold(40)


@pytest.mark.parametrize(
    "settings",
    [{"max_rows": 0}, {"queue": 10}, {"timeout": 0}, {"timeout": float("nan")}, {"max_bytes": 1.5}],
)
def test_limits_must_make_sense(settings):
    """Positive numbers, and a queue that holds a request."""
    with pytest.raises(WorkbenchError):
        RequestLimits(**settings)
