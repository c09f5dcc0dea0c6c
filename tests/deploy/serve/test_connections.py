"""Clients that send too much, too slowly, or too many at once are refused before anything else, and write no log."""

import contextlib
import json
import logging
import socket

import pytest

import workbench as wb
from tests.deploy.serve.servers import expected, served, thread_of, until
from workbench.deploy.serve import RequestLimits, connections
from workbench.deploy.serve.middleware import LOG, CountedLog

HEAD = b"POST /score HTTP/1.1\r\nhost: localhost\r\n"
TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def guarded():
    """A server with a token."""
    with served(expected(), token=TOKEN, max_bytes=2**20) as running:
        yield running


@contextlib.contextmanager
def connected(running):
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        yield connection


def answer(connection):
    """All that the server sends until it ends the connection; "" where it only ends it."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def status_of_answer(connection):
    """Read one whole answer."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(4096)
    head, _, body = text.partition(b"\r\n\r\n")
    left = int(head.split(b"content-length: ")[1].split()[0]) - len(body)
    while left > 0:
        left -= len(connection.recv(left))
    return int(head.split()[1])


def refusal(text):
    """Status and kind of a refusal, which is the whole answer."""
    head, _, body = text.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    assert b"connection: close" in head
    error = json.loads(body)["error"]
    assert error["status"] == int(head.split()[1])
    return error["status"], error["type"]


def sent_until_refused(connection, part, most=64 * 2**20):
    """Bytes that the server took before it stopped."""
    sent = 0
    with contextlib.suppress(ConnectionError, TimeoutError):
        connection.settimeout(3)
        while sent < most:
            sent += connection.send(part)
    return sent


@pytest.mark.parametrize(
    "part",
    [b"a: b\r\n" * 10_000, b"a" * 65536, b"x: " + b"y" * 65536],
    ids=["many headers", "a name that does not end", "a value that does not end"],
)
def test_headers_without_end_are_refused(part, guarded):
    """431 after 32 kB or 100 headers, without a token, and no more is read than a megabyte beyond."""
    with connected(guarded) as connection:
        connection.sendall(HEAD)
        sent = sent_until_refused(connection, part)
        assert sent < 16 * 2**20  # what the systems of both sides hold
        assert refusal(answer(connection)) == (431, "headers_too_large")
    until(lambda: guarded.app.state.connections.lingering == 0)


def test_a_first_line_without_end_is_refused(guarded):
    """As headers are."""
    with connected(guarded) as connection:
        connection.sendall(b"GET /" + b"a" * 40_000)
        assert refusal(answer(connection)) == (431, "headers_too_large")


def test_headers_up_to_the_limit_are_read(guarded):
    """A hundred of them, and 30 kB."""
    headers = {f"x-{number}": "y" * 300 for number in range(90)}
    assert guarded.client.get("/health", headers=headers).status_code == 200


def test_trailers_are_headers(guarded):
    """More than a hundred behind a body are refused as well."""
    with connected(guarded) as connection:
        connection.sendall(
            HEAD + f"authorization: Bearer {TOKEN}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        )
        connection.sendall(b"1\r\n{\r\n0\r\n" + b"a: b\r\n" * 200)
        assert refusal(answer(connection)) == (431, "headers_too_large")


@pytest.mark.parametrize(
    "chunk",
    [b"1;" + b"e" * 1000 + b"\r\nx\r\n", b"1\r\nx\r\n"],
    ids=["extensions", "chunks of a byte"],
)
def test_what_stands_around_chunks_is_limited(chunk, guarded):
    """It may be 64 kB and a fourth of what is in them."""
    with connected(guarded) as connection:
        connection.sendall(
            HEAD + f"authorization: Bearer {TOKEN}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        )
        assert sent_until_refused(connection, chunk * 1000) < 16 * 2**20
        assert refusal(answer(connection)) == (413, "too_large")


def test_a_body_nobody_reads_does_not_go_on(guarded):
    """Without a token the answer comes before the body, and a body in chunks without end ends the connection."""
    with connected(guarded) as connection:
        connection.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 401")
        assert sent_until_refused(connection, b"10000\r\n" + b"x" * 65536 + b"\r\n") < 32 * 2**20


@pytest.mark.parametrize(
    "text",
    [
        b"\x00\x01\x02\r\n\r\n",
        HEAD + b"content-length: 3\r\ncontent-length: 4\r\n\r\nabc",
        HEAD + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        HEAD + b"content-length: 99999999999999999999999\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(text, guarded):
    """400 as JSON."""
    with connected(guarded) as connection:
        connection.sendall(text)
        assert refusal(answer(connection)) == (400, "bad_http")


def test_requests_that_do_not_wait_for_answers_are_limited(guarded):
    """Sixteen of them; the connection of a client that sends more is ended."""
    with connected(guarded) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 10)
        found = b""
        while found.count(b"HTTP/1.1 200") < 10:
            found += connection.recv(65536)
    before = guarded.app.state.connections.refused["pipelined"]
    with connected(guarded) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000)
        assert answer(connection).count(b"HTTP/1.1 200") <= 17
    assert guarded.app.state.connections.refused["pipelined"] == before + 1


def test_slow_headers_are_refused(monkeypatch):
    """A connection that sends nothing, or a byte at a time, is told 408; so is the next request on one that was kept."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    with served(wb.Length(maximum=3)) as running:
        with connected(running) as connection:
            assert refusal(answer(connection)) == (408, "slow_headers")
        with connected(running) as connection:
            assert trickled(connection, b"GET / HTTP/1.1\r\nx: " + b"y" * 1000) == (408, "slow_headers")
        with connected(running) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert status_of_answer(connection) == 200
            assert trickled(connection, b"\r\n" * 1000) == (408, "slow_headers")
        until(lambda: not len(running.app.state.connections))
        metrics = running.client.get("/metrics").text
        assert 'workbench_connections_refused_total{kind="slow_headers"} 3' in metrics


def test_slow_bodies_are_refused(monkeypatch):
    """Neither a gap nor a byte at a time is waited for, also where the answer has been given before."""
    monkeypatch.setattr(connections, "GAP_SECONDS", 0.5)
    with served(wb.Length(maximum=3), token=TOKEN) as running:
        head = HEAD + b"content-length: 100000\r\n"
        with connected(running) as connection:
            connection.sendall(head + f"authorization: Bearer {TOKEN}\r\n\r\n{{".encode())
            assert refusal(answer(connection)) == (408, "slow_body")
        with connected(running) as connection:
            connection.sendall(head + f"authorization: Bearer {TOKEN}\r\n\r\n".encode())
            assert trickled(connection, b"x" * 1000) == (408, "slow_body")
        with connected(running) as connection:
            connection.sendall(head + b"\r\n")
            assert status_of_answer(connection) == 401
            assert trickled(connection, b"x" * 1000) is None
        until(lambda: not len(running.app.state.connections))


def trickled(connection, text):
    """What comes of a client that sends a byte whenever it has waited a little; None where the connection only ends."""
    connection.settimeout(0.05)
    for at in range(len(text)):
        try:
            connection.sendall(text[at : at + 1])
            found = connection.recv(65536)
        except TimeoutError:
            continue
        except ConnectionError:
            return None
        return refusal(found) if found else None
    raise AssertionError("the connection was kept")


def test_an_answer_that_is_not_taken_ends_its_connection(monkeypatch):
    """A client that asks for megabytes and reads none of them holds them no longer than a gap may take."""
    monkeypatch.setattr(connections, "GAP_SECONDS", 0.5)
    with served(wb.Length(maximum=3)) as running, connected(running) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        response = {"output": [], "x": "y" * 20_000_000}
        body = json.dumps({"responses_create_params": {}, "response": response}).encode()
        head = b"POST /verify HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body)
        until(lambda: running.app.state.connections.refused["slow_reader"] == 1)
        until(lambda: not len(running.app.state.connections))


def test_connections_of_an_address_are_limited():
    """503 with Retry-After beyond; one that ends makes room."""
    with (
        served(wb.Length(maximum=3), max_connections_per_address=3) as running,
        contextlib.ExitStack() as stack,
    ):
        busy = [asking(stack, running) for _ in range(3)]
        with connected(running) as connection:
            text = answer(connection)
            assert refusal(text) == (503, "too_many_connections")
            assert b"retry-after: 1" in text
        busy[0].close()
        until(lambda: len(running.app.state.connections) == 2)
        asking(stack, running)


def asking(stack, running):
    """A connection on which a request has begun whose body is not there yet."""
    connection = stack.enter_context(connected(running))
    before = len(running.app.state.connections)
    connection.sendall(HEAD + b"content-length: 10\r\n\r\n")
    until(lambda: not running.app.state.connections._silent and len(running.app.state.connections) >= before)
    return connection


def test_connections_that_ask_nothing_make_room_for_those_that_do():
    """The oldest of them is refused when all places are taken."""
    with served(wb.Length(maximum=3), max_connections=4) as running, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connected(running)) for _ in range(4)]
        here = running.app.state.connections
        until(lambda: len(here) == 4)
        oldest = next(iter(here._silent)).since
        until(lambda: here._timer is not None and next(iter(here._silent)).loop.time() > oldest + 0.5)
        assert running.client.get("/health").status_code == 200
        assert refusal(answer(silent[0])) == (503, "too_many_connections")
        assert len(here) == 4


def test_a_server_takes_no_more_connections_than_it_has_descriptors(monkeypatch):
    """So that a worker can always be started."""
    monkeypatch.setattr("workbench.deploy.serve._descriptors", lambda: 400)
    with served(wb.Length(maximum=3)) as running:
        assert running.app.state.connections.most == 144
        assert RequestLimits().max_connections == 2048


def test_equal_log_lines_are_counted(caplog):
    """The first is written at once, and the number of the others when ten seconds are over, or at the end."""
    caplog.set_level(logging.INFO, LOG.name)
    now = [0.0]
    log = CountedLog(clock=lambda: now[0])
    for number in range(1000):
        log.write("kind", f"line {number}")
        log.logger.error("a fault")
    assert [record.getMessage() for record in caplog.records] == ["line 0", "a fault"]
    now[0] += 11.0
    log.flush()
    assert [record.getMessage() for record in caplog.records][2:] == [
        "999 more in 11 s like: line 0",
        "999 more in 11 s like: a fault",
    ]
    log.write("kind", "line again")
    assert caplog.records[-1].getMessage() == "line again"


def test_kinds_of_log_lines_are_limited(caplog):
    """Whatever clients make up."""
    caplog.set_level(logging.INFO, LOG.name)
    log = CountedLog(clock=lambda: 0.0)
    for number in range(100_000):
        log.write(number, "a line")
    assert len(caplog.records) <= 300


def test_refused_requests_are_counted_in_the_log(caplog, guarded):
    """A thousand paths without a token are one line; each request that was graded has its own."""
    caplog.set_level(logging.INFO, LOG.name)
    for number in range(50):
        assert guarded.client.get(f"/made/up/{number}").status_code == 401
    assert sum(" 401 " in record.getMessage() for record in caplog.records) <= 1
    headers = {"authorization": f"Bearer {TOKEN}"}
    for _ in range(3):
        assert guarded.post("/score", thread_of("4"), headers=headers).status_code == 200
    until(lambda: sum("POST /score 200" in record.getMessage() for record in caplog.records) == 3)


def test_a_server_wants_the_parser_that_is_bounded(monkeypatch):
    """Without httptools it says how to install it, and does not serve without limits."""
    find = __import__("importlib.util").util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name == "httptools" else find(name, *more)
    )
    with pytest.raises(wb.errors.WorkbenchError, match="httptools"):
        wb_create()


def wb_create():
    from workbench.deploy.serve import create_app

    return create_app(wb.Length(maximum=3))
