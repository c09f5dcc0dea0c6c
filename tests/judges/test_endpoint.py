"""The endpoint grader against a real local server."""

import asyncio
import json
import pickle
import socket
import threading
from dataclasses import replace

import pytest

import workbench as wb
from tests.judges.servers import QuietServer, server
from workbench.core.errors import FormatError, IsolationError, WorkbenchError
from workbench.data.samples import Sample
from workbench.graders import from_spec
from workbench.graders.concurrent_rows import Control
from workbench.judges import Endpoint
from workbench.judges.kinds import endpoint_connection
from workbench.judges.kinds.endpoint_grader import EndpointInfo

SAMPLE = Sample(
    id="7",
    thread=wb.StringThread([("user", "q"), ("assistant", "abc")], {"k": [1]}),
    reference=None,
    group="7",
)


def scores(path, body, headers):
    def score(row):
        return {
            "reward": float(len(row["turns"][-1]["content"])),
            "metadata": {"reason": "length"},
            "id": row["id"],
        }

    return (
        200,
        {},
        score(body) if path == "/score" else {"responses": [score(row) for row in body["requests"]]},
    )


def answered(data, status=200, headers=None):
    return lambda *_: (status, headers or {}, data)


def test_one_row():
    """Turns, metadata and id go out; reward, reason and metadata come in."""
    with server(scores) as (address, requests):
        grade = Endpoint(url=address)(SAMPLE)
    assert requests[0][0] == "/score"
    assert requests[0][1] == {
        "turns": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "abc"}], "metadata": {"k": [1]}, "id": "7",
    }  # fmt: skip
    assert (grade.score, grade.reasoning) == (3.0, "length")
    assert grade.seconds > 0


@pytest.mark.parametrize("batch", [False, True])
def test_many_rows(batch):
    """Batches and single requests give the same scores, in order."""
    samples = wb.Samples([{"prompt": "q", "completion": "x" * length} for length in range(1, 71)])
    progress = []
    with server(scores) as (address, requests):
        endpoint = Endpoint(url=f"{address}/score", batch=batch)
        grades = asyncio.run(
            endpoint.grade_all(samples, Control(lambda done, failed: progress.append((done, failed))))
        )
    assert [grade.score for grade in grades] == list(range(1, 71))
    assert len(requests) == (3 if batch else 70)
    assert {path for path, _, _ in requests} == {"/batch_score" if batch else "/score"}
    assert progress[-1] == (70, 0)


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (answered({"reward": float("nan")}), "finite"),
        (answered({"reward": float("inf")}), "finite"),
        (answered({"reward": True}), "no reward"),
        (answered({"reward": "1"}), "no reward"),
        (answered({"score": 1}), "no reward"),
        (answered([1]), "no reward"),
        (answered(b'{"reward": NaN}'), "NaN is not a finite number"),
        (answered(b'{"reward": 0.5, "metadata": {"x": -Infinity}}'), "-Infinity is not a finite number"),
        (answered(b'{"reward": 1e999}'), "finite"),
        (answered(b'{"reward": 1' + b"0" * 400 + b"}"), "finite"),
        (answered(b"<html>"), "not JSON"),
        (answered(b""), "not JSON"),
        (answered(b"[" * 100_000), "not JSON"),
        (answered({"reward": 1, "id": "8"}), "another row"),
        (answered({}, 500), "status 500"),
        (answered({}, 401), "status 401"),
        (answered({"reward": 1}, 201), "status 201"),
        (answered({}, 302, {"location": "http://127.0.0.1:9/"}), "redirects are not followed"),
        (answered({"reward": 1}, 200, {"content-encoding": "gzip"}), "compressed"),
        (answered(b" " * (9 * 2**20)), "too large"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_no_score(answer, part):
    """NaN, other shapes, statuses, redirects and floods are endpoint failures that say what came."""
    with server(answer) as (address, requests):
        grade = Endpoint(url=address)(SAMPLE)
    assert (grade.score, grade.error.kind) == (None, "endpoint")
    assert part in grade.error.message
    assert len(requests) == 1  # none of these gets better by asking again


def test_a_wrong_batch_fails_its_rows():
    """Too few answers fail the batch; one bad answer fails its row."""
    samples = wb.Samples([{"completion": "a"}, {"completion": "bb"}])
    with server(answered({"responses": [{"reward": 1}]})) as (address, _):
        grades = asyncio.run(Endpoint(url=address, batch=True).grade_all(samples, Control()))
    assert {grade.error.kind for grade in grades} == {"endpoint"}
    with server(answered({"responses": [{"reward": 1}, {"reward": None}]})) as (address, _):
        first_grade, second_grade = asyncio.run(
            Endpoint(url=address, batch=True).grade_all(samples, Control())
        )
    assert (first_grade.score, second_grade.error.kind) == (1.0, "endpoint")


def test_a_silent_service_is_given_up():
    """The timeout is for the whole request."""
    gate = threading.Event()

    def answer(*_):
        gate.wait(5)
        return 200, {}, {"reward": 1}

    with server(answer) as (address, _):
        grade = Endpoint(url=address, timeout=0.2)(SAMPLE)
        gate.set()
    assert grade.error.kind == "timeout"


def test_nobody_listens():
    """A refused connection is an endpoint failure."""
    assert Endpoint(url="http://127.0.0.1:9", max_retries=1)(SAMPLE).error.kind == "endpoint"


def test_headers_from_the_environment(monkeypatch):
    """A secret is read when it is sent, and is in no spec; an unset one is said before the run."""
    endpoint = Endpoint(url="http://127.0.0.1:9", headers={"x-functions-key": "$SERVICE_KEY", "x-team": "a"})
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    with pytest.raises(WorkbenchError, match="SERVICE_KEY"):
        endpoint.check_ready()
    monkeypatch.setenv("SERVICE_KEY", "very-secret")
    with server(scores) as (address, requests):
        live = Endpoint(url=address, headers=endpoint.headers)
        assert live(SAMPLE).score == 3.0
    assert (requests[0][2]["x-functions-key"], requests[0][2]["x-team"]) == ("very-secret", "a")
    assert "very-secret" not in json.dumps(live.spec()) + repr(live)


@pytest.mark.parametrize("status", [200, 400])
def test_a_secret_that_comes_back_is_removed(status, monkeypatch):
    """Also escaped, and where the text that an error quotes is cut."""
    secret = 'k"1\\23456789abcdef'
    monkeypatch.setenv("SERVICE_KEY", secret)
    escaped = "".join(f"\\u{ord(char):04x}" for char in secret)
    said = f'{{"reward": 1.0, "metadata": {{"reason": "{escaped}", "{escaped}": ["{escaped}"]}}}}'
    body = said if status == 200 else f"{'.' * 290}{escaped}"
    with server(lambda *_: (status, {}, body.encode())) as (address, _):
        grade = Endpoint(url=address, headers={"x-key": "$SERVICE_KEY"})(SAMPLE)
    shown = repr(grade)
    assert secret not in shown
    assert repr(secret)[1:-1] not in shown
    assert escaped[:24] not in shown
    assert (grade.score == 1.0) == (status == 200)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"url": "ftp://host/x"}, "http"),
        ({"url": "file:///etc/passwd"}, "http"),
        ({"url": "host:80"}, "http"),
        ({"url": ""}, "http"),
        ({"url": 7}, "text"),
        ({"url": "http://user:pass@host"}, "name or password"),
        ({"url": "http://host:99999"}, "not an address"),
        ({"url": "http://host?code=x"}, "query"),
        ({"url": "http://h", "timeout": 0}, "timeout"),
        ({"url": "http://h", "timeout": float("nan")}, "timeout"),
        ({"url": "http://h", "max_retries": -1}, "max_retries"),
        ({"url": "http://h", "max_retries": True}, "max_retries"),
        ({"url": "http://h", "max_retries": 100}, "max_retries"),
        ({"url": "http://h", "headers": {"Authorization": "Bearer x"}}, "$NAME"),
        ({"url": "http://h", "headers": {"x": "a\r\nb: c"}}, "one line"),
        ({"url": "http://h", "headers": {"x y": "a"}}, "header name"),
    ],
)
def test_bad_fields_are_refused(fields, part):
    """Other schemes, secrets in the open and header tricks are refused when the grader is made."""
    with pytest.raises(FormatError) as caught:
        Endpoint(**fields)
    assert part in str(caught.value)
    assert "pass@" not in str(caught.value)


@pytest.fixture
def waits(monkeypatch):
    """What was waited for between tries; nothing is waited for."""
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(endpoint_connection, "_pause", sleep)
    return waited


def after(failures, answer, then=scores):
    """A service that answers so a few times before it works."""
    failing_answers = [answer] * failures
    return lambda *request: failing_answers.pop() if failing_answers else then(*request)


@pytest.mark.parametrize("failure", [None, (429, {}, {}), (502, {}, b"<html>"), (503, {}, {}), (504, {}, {})])
@pytest.mark.parametrize("batch", [False, True])
def test_what_may_pass_is_tried_again(failure, batch, waits):
    """A broken connection and the statuses of a crowded service are asked again, waiting longer each time."""
    samples = wb.Samples([{"prompt": "q", "completion": "abc"}])
    with server(after(2, failure)) as (address, requests):
        endpoint = Endpoint(url=address, batch=batch)
        grades = asyncio.run(endpoint.grade_all(samples, Control()))
    assert [grade.score for grade in grades] == [3.0]
    assert len(requests) == 3
    assert 0.15 <= waits[0] <= 0.25 < 0.3 <= waits[1] <= 0.5


@pytest.mark.parametrize("failure", [None, (503, {}, b"busy")])
def test_tries_come_to_an_end(failure, waits):
    """After max_retries more tries the last failure is told."""
    with server(after(9, failure)) as (address, requests):
        grade = Endpoint(url=address, max_retries=3)(SAMPLE)
    assert (grade.error.kind, len(requests), len(waits)) == ("endpoint", 4, 3)
    assert ("did not respond" if failure is None else "status 503") in grade.error.message
    with server(after(9, failure)) as (address, requests):
        assert Endpoint(url=address, max_retries=0)(SAMPLE).status == "failed"
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("header", "wait"), [("7", 7.0), ("0", 0.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", None)]
)
def test_the_service_says_how_long_to_wait(header, wait, waits):
    """Retry-After is followed, as seconds or a date; what is neither is as if it were not there."""
    with server(after(1, (429, {"retry-after": header}, {}))) as (address, _):
        assert Endpoint(url=address)(SAMPLE).score == 3.0
    assert waits == [wait] if wait is not None else 0.15 <= waits[0] <= 0.25


def test_nobody_waits_for_an_hour(waits):
    """A service that wants more than a minute fails the row at once."""
    with server(after(1, (503, {"retry-after": "3600"}, {}))) as (address, requests):
        assert Endpoint(url=address)(SAMPLE).error.kind == "endpoint"
    assert (len(requests), waits) == (1, [])


def test_a_timeout_is_not_repeated():
    """The service may still be at work on what took too long."""
    gate = threading.Event()

    def answer(*_):
        gate.wait(5)
        return 200, {}, {"reward": 1}

    with server(answer) as (address, requests):
        assert Endpoint(url=address, timeout=0.2, max_retries=5)(SAMPLE).error.kind == "timeout"
        gate.set()
    assert len(requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_nowhere(status):
    """Not even to an address of this machine: the second service is never asked."""
    with (
        server(scores) as (inner, reached),
        server(answered({}, status, {"location": f"{inner}/score"})) as (address, _),
    ):
        grade = Endpoint(url=address)(SAMPLE)
    assert f"status {status}" in grade.error.message
    assert not reached


def test_the_environments_proxy_is_not_used(monkeypatch):
    """Rows go to the address that was typed, and to no other machine."""
    with server(scores) as (proxy, reached), server(scores) as (address, requests):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy)
        assert Endpoint(url=address)(SAMPLE).score == 3.0
    assert (len(requests), reached) == (1, [])


@pytest.mark.parametrize("batch", [False, True])
def test_a_stopped_run_does_not_wait(batch):
    """Requests under way are given up when the run is stopped; what was graded is kept."""
    gate, stuck, control = threading.Event(), threading.Event(), Control()

    def answer(path, body, headers):
        rows = body.get("requests", [body])
        if any(row["turns"][-1]["content"] == "slow" for row in rows):
            stuck.set()
            gate.wait(60)
        return scores(path, body, headers)

    def stop():
        stuck.wait(60)
        control.cancel.set()

    texts = ["ab"] * 32 + ["slow"] * 32
    samples = wb.Samples([{"prompt": "q", "completion": text} for text in texts])
    with server(answer) as (address, _):
        stopper = threading.Thread(target=stop)
        stopper.start()
        grades = list(asyncio.run(Endpoint(url=address, batch=batch, timeout=60).grade_all(samples, control)))
        assert not gate.is_set()  # the service never answered, and nobody waited for it
        gate.set()
        stopper.join()
    assert {grade.error.kind for grade in grades if grade.error} == {"cancelled"}
    assert [grade.error.kind for grade in grades[32:]] == ["cancelled"] * 32
    assert batch is False or [grade.score for grade in grades[:32]] == [2.0] * 32


def test_a_run_that_is_cancelled_from_outside_ends():
    """A caller who gives up is not answered with a grade."""
    gate = threading.Event()

    async def give_up(address):
        task = asyncio.ensure_future(Endpoint(url=address).grade(SAMPLE))
        while not requests:
            await asyncio.sleep(0.01)
        task.cancel()
        await task

    with server(lambda *_: gate.wait(60) and None) as (address, requests):
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(give_up(address))
        gate.set()


def test_info():
    """The service's own words about itself; more keys are passed over, other shapes refused."""
    info = {"version": "1.0", "name": "lengths", "description": "d", "more": 1}
    with server(answered(info)) as (address, requests):
        assert Endpoint(url=f"{address}/score").info() == EndpointInfo("1.0", "lengths", "d")
    assert requests[0][:2] == ("/info", None)
    with server(answered({"version": 2})) as (address, _):
        assert Endpoint(url=address).info() == EndpointInfo("2", "", "")
    with server(answered([])) as (address, _), pytest.raises(WorkbenchError, match="wrong shape"):
        Endpoint(url=address).info()
    with pytest.raises(WorkbenchError, match="did not respond"):
        Endpoint(url="http://127.0.0.1:9", max_retries=0).info()


def test_trying_a_service():
    """The mock thread is sent, and its grade comes back."""
    with server(scores) as (address, requests):
        assert Endpoint(url=address).test().score == 1.0
    assert [turn["content"] for turn in requests[0][1]["turns"]] == ["What is 2+2?", "4"]


def test_more_keys_are_tolerated():
    """What the protocol does not know is passed over."""
    with server(answered({"reward": 0.5, "metadata": None, "model": "x", "id": None})) as (address, _):
        grade = Endpoint(url=address)(SAMPLE)
    assert (grade.score, grade.reasoning, grade.metadata) == (0.5, None, {})


def refused(endpoint):
    """What the endpoint says before a run, and that a row says it too."""
    with pytest.raises(IsolationError) as caught:
        endpoint.check_ready()
    grade = endpoint(SAMPLE)
    assert (grade.status, grade.error.kind, grade.error.message) == ("failed", "endpoint", str(caught.value))
    assert "wb.load(path, trust=True)" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("batch", [False, True])
def test_a_strangers_endpoint_is_sent_no_secret(batch, monkeypatch):
    """Who wrote the file may not choose which values of the environment go where; the message names both."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "topsecret")
    with server(scores) as (address, requests):
        mine = Endpoint(url=address, headers={"x-trace": "$AWS_SECRET_ACCESS_KEY"}, batch=batch)
        theirs = mine.as_imported()
        message = refused(theirs)
        grades = asyncio.run(theirs.grade_all(wb.Samples([{"completion": "a"}] * 3), Control()))
        with pytest.raises(IsolationError):
            theirs.info()
        assert requests == []
        assert "AWS_SECRET_ACCESS_KEY" in message
        assert address in message
        assert "topsecret" not in message
        assert {grade.error.kind for grade in grades} == {"endpoint"}
        assert mine(SAMPLE).score == theirs.trusted()(SAMPLE).score == 3.0
    assert [headers["x-trace"] for _, _, headers in requests] == ["topsecret"] * 2


INSIDE = [
    "http://127.0.0.1:9/", "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://0.0.0.0/", "http://localhost/",
    "http://a.localhost./", "http://10.1.2.3/", "http://192.168.0.1/", "http://172.16.0.1/", "http://169.254.169.254/latest",
    "http://100.64.0.1/", "http://[::1]/", "http://[::]/", "http://[fe80::1]/", "http://[fd00::1]/", "http://[fec0::1]/",
    "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://224.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("url", INSIDE)
def test_a_strangers_endpoint_stays_out_of_this_network(url):
    """Private, loopback and link-local addresses are for those who type them, however they are written."""
    assert "this machine or its network" in refused(Endpoint(url=url).as_imported())
    Endpoint(url=url).check_ready()
    Endpoint(url=url).as_imported(trust=True).check_ready()


@pytest.mark.parametrize(
    "url", ["https://x.example/r", "http://8.8.8.8/", "http://[2606:4700::1111]/", "http://172.32.0.1/"]
)
def test_a_strangers_public_endpoint_is_ready(url):
    """A public address that gets nothing but rows needs no trust."""
    Endpoint(url=url, headers={"x-team": "a"}).as_imported().check_ready()


@pytest.fixture
def names(monkeypatch):
    """Names and the addresses they resolve to; every other name has none."""
    hosts_by_name, real = {}, socket.getaddrinfo

    def resolve(host, port, family=0, type=0, proto=0, flags=0):  # noqa: A002 (the system's names)
        host = host.decode() if isinstance(host, bytes) else host
        if host not in hosts_by_name or flags & socket.AI_NUMERICHOST:
            return real(host, port, family, type, proto, flags | socket.AI_NUMERICHOST)
        addresses = hosts_by_name[host]
        hosts = addresses.pop(0) if isinstance(addresses[0], list) else addresses
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in hosts]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return hosts_by_name


@pytest.mark.parametrize("hosts", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"]])
def test_a_strangers_name_is_looked_at_where_it_leads(hosts, names):
    """A public name that resolves to this network is refused when it is asked; the user's own is not."""
    names["reward.example"] = hosts
    with server(scores) as (address, requests):
        url = address.replace("127.0.0.1", "reward.example")
        theirs = Endpoint(url=url, max_retries=0).as_imported()
        theirs.check_ready()
        grade = theirs(SAMPLE)
        assert (grade.error.kind, requests) == ("endpoint", [])
        assert "reward.example is 127.0.0.1" in grade.error.message
        assert "trust=True" in grade.error.message
        names["reward.example"] = ["127.0.0.1"]
        assert theirs.trusted()(SAMPLE).score == 3.0


def test_what_was_looked_at_is_what_is_asked(names, monkeypatch):
    """A name that resolves to something else a moment later is not resolved again, and keeps its Host header."""
    looked = []
    monkeypatch.setattr(endpoint_connection, "_is_internal_ip", looked.append)
    with server(scores) as (address, requests):
        port = address.rpartition(":")[2]
        names["reward.example"] = [["127.0.0.2", "127.0.0.1"], ["10.0.0.1"]]  # nothing answers at the first
        theirs = Endpoint(url=f"http://reward.example:{port}", headers={"x-team": "a"}).as_imported()
        assert theirs(SAMPLE).score == 3.0
    assert looked == ["127.0.0.2", "127.0.0.1"]
    assert (requests[0][2]["host"], requests[0][2]["x-team"]) == (f"reward.example:{port}", "a")


def test_a_strangers_name_without_an_address(names):
    """It is an endpoint failure like any other, after its tries."""
    grade = Endpoint(url="http://nowhere.example", max_retries=0).as_imported()(SAMPLE)
    assert grade.error.kind == "endpoint"
    assert "did not respond" in grade.error.message


def test_trust_is_bound_to_url_and_headers():
    """Another address or header is trusted anew; whose an endpoint is has no part in its equality."""
    mine = Endpoint(url="http://127.0.0.1:9", headers={"x-key": "$A"})
    theirs = mine.as_imported(trust=True)
    assert theirs.trust
    assert pickle.loads(pickle.dumps(theirs)).trust
    assert replace(theirs, timeout=1.0).trust
    assert not replace(theirs, url="http://127.0.0.1:8").trust
    assert not replace(theirs, headers={"x-key": "$B"}).trust
    assert mine == theirs == mine.as_imported()
    assert not mine.imported
    assert from_spec(mine.spec()) == mine
    assert "imported" not in mine.spec()


@pytest.mark.parametrize(
    ("error", "printed"), [(ConnectionResetError("gone"), False), (KeyError("mine"), True)]
)
def test_a_server_of_the_tests_is_quiet_about_clients_that_hang_up(error, printed, capsys):
    """Its own mistakes are still printed."""
    try:
        raise error
    except type(error):
        QuietServer.handle_error(QuietServer.__new__(QuietServer), None, ("127.0.0.1", 9))
    assert ("Traceback" in capsys.readouterr().err) is printed
