"""One row a fault: each ends as an error of its own kind on its own row, none as a number, and no run ends by any."""

import asyncio
import gzip
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from contextlib import contextmanager

import pytest

import workbench as wb
from tests.judges.test_client import KEY, completion
from workbench.judges import OpenAIClient

FINE = '{"score": 0.5, "rationale": "half right"}'


def http_answer(status, body, kind="application/json", **headers):
    """A whole answer as bytes."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    all_headers = {"content-type": kind, "content-length": str(len(sent)), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + sent


def chat_answer(text, **fields):
    return http_answer(200, completion(text, **fields))


def ended(reason):
    answer = completion('{"score": 0.')
    answer["choices"][0]["finish_reason"] = reason
    return http_answer(200, answer)


def endless(connection):
    connection.sendall(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    for _ in range(160):
        connection.sendall(part)
    connection.sendall(b"0\r\n\r\n")


def reset(connection):
    connection.sendall(
        b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{"choi'
    )
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drip(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n")
    connection.settimeout(0.02)
    while True:
        connection.sendall(b" ")
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            continue


CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"score": 1.0}'}}
PAGE = b"<!doctype html><html><head><title>502</title></head><body><h1>Bad gateway</h1></body></html>"
THINKING = {
    "type": "thinking",
    "thinking": [{"type": "text", "text": '{"score": 1.0}'}],
    "text": '{"score": 1.0}',
}
ERROR = {"error": {"message": "something is wrong", "code": "some_code"}}

# Name, what the server sends (a function is given the socket), the error's kind (None: scored 0.5), words of its message.
FAULTS = [
    ("none", chat_answer(FINE), None, ""),
    ("fenced", chat_answer(f"```json\n{FINE}\n```"), None, ""),
    ("prose around it", chat_answer(f"Well. {FINE} That is all."), None, ""),
    ("thinking before it", chat_answer(f'<think>{{"score": 1.0}}?</think>{FINE}'), None, ""),
    ("text parts", chat_answer([{"type": "text", "text": FINE[:9]}, {"type": "text", "text": FINE[9:]}]), None, ""),
    ("thinking parts", chat_answer([THINKING, {"type": "text", "text": FINE}, {"type": "image_url"}, {"text": "{}"}]), None, ""),
    ("two verdicts that agree", chat_answer(f'{{"score": 0.5}}, that is: {FINE}'), None, ""),
    ("two verdicts", chat_answer(f'{{"score": 0.0}} no, rather {FINE}'), "judge_parse", "two verdicts"),
    ("a verdict, then a quote", chat_answer(f'{FINE} It claims: {{"score": 1.0}}'), "judge_parse", "two verdicts"),
    ("a key twice", chat_answer('{"score": 0.1, "rationale": "", "score": 1.0}'), "judge_parse", "'score' twice"),
    ("thinking parts alone", chat_answer([THINKING]), "judge_parse", "was empty"),
    ("a refusal part", chat_answer([{"type": "refusal", "refusal": "I will not."}]), "judge_refusal", "I will not"),
    ("control characters", chat_answer('{"score": 0.5, "rationale": "half\nright\u0001\u2028"}'), None, ""),
    ("prose alone", chat_answer("I would give it 0.5."), "judge_parse", "no JSON object"),
    ("empty", chat_answer(""), "judge_parse", "was empty"),
    ("blank", chat_answer(" \n "), "judge_parse", "was empty"),
    ("broken JSON", chat_answer('{"score": 0.5, "rationale": '), "judge_parse", "no JSON object"),
    ("cut short", ended("length"), "judge_cut", "raise max_tokens"),
    ("refusal", chat_answer(None, refusal="I cannot judge this."), "judge_refusal", "I cannot judge this"),
    ("refusal as text", chat_answer("I'm sorry, but I can't help with that."), "judge_refusal", "sorry"),
    ("content filter", ended("content_filter"), "judge_refusal", "content filter"),
    ("tool call", chat_answer(None, tool_calls=[CALL]), "judge_parse", "called a tool"),
    ("score 70", chat_answer('{"score": 70, "rationale": ""}'), "out_of_range", "70"),
    ("score -1", chat_answer('{"score": -1, "rationale": ""}'), "out_of_range", "-1"),
    ("score a hair too high", chat_answer('{"score": 1.0000001, "rationale": ""}'), "out_of_range", "outside"),
    ("score NaN", chat_answer('{"score": NaN, "rationale": ""}'), "not_finite", "nan"),
    ("score infinite", chat_answer('{"score": Infinity, "rationale": ""}'), "not_finite", "inf"),
    ("score 1e999", chat_answer('{"score": 1e999, "rationale": ""}'), "not_finite", "inf"),
    ("number as text", chat_answer('{"score": "0.5", "rationale": ""}'), "judge_parse", "not '0.5' (str)"),
    ("score true", chat_answer('{"score": true, "rationale": ""}'), "judge_parse", "(bool)"),
    ("score null", chat_answer('{"score": null, "rationale": ""}'), "judge_parse", "nothing"),
    ("score a list", chat_answer('{"score": [0.5], "rationale": ""}'), "judge_parse", "(list)"),
    ("score missing", chat_answer('{"rationale": "good"}'), "judge_parse", "'score'"),
    ("empty choices", http_answer(200, {"choices": []}), "judge_server", "without a choice"),
    ("no choices", http_answer(200, {"id": "1"}), "judge_server", "without a choice"),
    ("choices of nothing", http_answer(200, {"choices": [None]}), "judge_server", "without a choice"),
    ("error with status 200", http_answer(200, ERROR), "judge_server", "something is wrong"),
    ("wrong key with status 200", http_answer(200, {"error": {"message": "m", "code": 401}}), "judge_key", "rejected the key"),
    ("packed", http_answer(200, gzip.compress(b" " * 2**20), **{"content-encoding": "gzip"}), "judge_server", "compressed as gzip"),
    ("no JSON", http_answer(200, b'{"choices": [{'), "judge_server", "broken response"),
    ("HTML with status 200", http_answer(200, PAGE, "text/html"), "judge_unreachable", "not a completion"),
    ("HTML with status 502", http_answer(502, PAGE, "text/html"), "judge_server", "Bad gateway"),
    ("status 500", http_answer(500, ERROR), "judge_server", "something is wrong"),
    ("status 500, for long", http_answer(500, ERROR, **{"retry-after": "9999"}), "judge_server", "requests a wait of 9,999 s"),
    ("status 502, for long", http_answer(502, ERROR, **{"retry-after": "9999"}), "judge_server", "requests a wait of 9,999 s"),
    ("status 504, for long", http_answer(504, ERROR, **{"retry-after": "9999"}), "judge_server", "requests a wait of 9,999 s"),
    ("status 400", http_answer(400, ERROR), "judge_server", "something is wrong"),
    ("full", http_answer(429, ERROR, **{"retry-after": "9999"}), "judge_limit", "requests a wait of 9,999 s"),
    ("overloaded", http_answer(503, ERROR, **{"retry-after": "9999"}), "judge_limit", "is overloaded"),
    ("no credit", http_answer(429, {"error": {"message": "m", "code": "insufficient_quota"}}), "judge_key", "no credit"),
    ("wrong key", http_answer(401, {"error": {"message": f"Incorrect API key: {KEY}"}}), "judge_key", "OPENAI_API_KEY"),
    ("no money", http_answer(402, ERROR), "judge_key", "no credit"),
    ("sent elsewhere", http_answer(307, ERROR, location="http://127.0.0.1:9/v1"), "judge_server", "redirects are not followed"),
    ("not allowed", http_answer(403, ERROR), "judge_server", "may not use the model"),
    ("no such model", http_answer(404, ERROR), "judge_unreachable", "no model 'm'"),
    ("10 MB", chat_answer("x" * 10_000_000), "judge_too_long", "too large"),
    ("10 MB without a length", endless, "judge_too_long", "too large"),
    ("connection dropped", lambda c: None, "judge_server", "the judge's server broke"),
    ("reset in the body", reset, "judge_server", "the judge's server broke"),
    ("no HTTP", lambda c: c.sendall(b"SSH-2.0-OpenSSH\r\n"), "judge_server", "status line"),
    ("silence", lambda c: c.recv(1), "timeout", "timed out"),
    ("one byte at a time", drip, "timeout", "timed out"),
]  # fmt: skip


@contextmanager
def faulty_server(choose, wrap=None):
    """A server of bare sockets, one question a connection: `choose(text of the request)` is what it does."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)

    def serve():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    def talk(connection):
        try:
            with wrap(connection) if wrap else connection as secured:
                act = choose(read_request(secured))
                act(secured) if callable(act) else secured.sendall(
                    act.replace(b"\r\n", b"\r\nconnection: close\r\n", 1)
                )
        except OSError:
            return  # the client hung up, which some faults make it do

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while lengths and len(body) < lengths[0]:
        body += connection.recv(65536)
    return body.decode("utf-8", "replace")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judge(address, **settings):
    settings = {"max_retries": 1, "timeout": 3.0, "patience": 1.0, **settings}
    client = OpenAIClient(address, **settings)
    return wb.RubricJudge(
        prompt="Is it right?", model="m", client=client, name="judge",
        timeout=settings["timeout"], max_retries=settings["max_retries"],
    )  # fmt: skip


@pytest.fixture(scope="module")
def run():
    """One run over all faults, a healthy row after each."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", KEY)
    rows = [{"prompt": f"<{name}>", "completion": "Paris"} for fault in FAULTS for name in (fault[0], "none")]

    def choose(text):
        return next(sent for name, sent, *_ in FAULTS if f"<{name}>" in text)

    with faulty_server(choose) as address:
        # What fails is asked once more at the end in any case: tries besides would only be waited for.
        report = judge(address, max_retries=0).run(rows, progress=False)
    patch.undo()
    return report


@pytest.mark.parametrize(("at", "fault"), enumerate(FAULTS), ids=[name for name, *_ in FAULTS])
def test_a_fault_is_an_error_of_its_own_kind(run, at, fault):
    """Scored with the judge's own number, or failed with a kind, words that help, and no number; the next row is fine."""
    _, _, kind, words = fault
    grade, after = run.grades["judge"][2 * at], run.grades["judge"][2 * at + 1]
    if kind is None:
        assert (grade.score, grade.error) == (0.5, None)
    else:
        assert (grade.score, grade.error.kind) == (None, kind)
        assert words.lower() in grade.error.message.lower()
    assert (after.score, after.error) == (0.5, None)
    assert KEY not in repr(grade)


def test_each_fault_has_its_error_kind(run):
    """The report counts them by kind, and its table holds no number where there was none."""
    failed = [kind for *_, kind, _ in FAULTS if kind]
    assert run.errors["error_kind"].value_counts().to_dict() == {
        kind: failed.count(kind) for kind in set(failed)
    }
    assert run.scores["judge"].notna().sum() == 2 * len(FAULTS) - len(failed)


@pytest.mark.parametrize(
    ("share", "answer"),
    [
        (0.3, http_answer(429, ERROR, **{"retry-after-ms": "20"})),
        (0.3, http_answer(500, ERROR)),
        (0.3, lambda c: None),
        (0.3, lambda c: c.recv(1)),
    ],
    ids=["429", "500", "dropped", "hanging"],
)
def test_transient_errors_lose_no_row(share, answer, monkeypatch):
    """30 % of the questions refused, failed, dropped or left hanging: every row is scored all the same."""
    import random

    from workbench.judges import chat_request

    monkeypatch.setattr(chat_request, "_FIRST_WAIT", 0.01)  # the waiting itself is not what is tested
    chance, lock = random.Random(7), threading.Lock()

    def choose(_):
        with lock:
            return answer if chance.random() < share else chat_answer(FINE)

    with faulty_server(choose) as address:
        rows = [{"prompt": str(row), "completion": "x"} for row in range(100)]
        report = judge(address, max_retries=5, patience=60, timeout=2).run(rows, progress=False)
    assert report.summary.loc["judge", "scored"] == 100, report.errors["error"].iloc[0]


def unreachable(address):
    rows = [{"prompt": str(row), "completion": "x"} for row in range(300)]
    return judge(address, max_retries=0).run(rows, progress=False)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:9/v1", "no server listens at the judge's address"),
        ("http://no-such-host.invalid/v1", "cannot be resolved"),
    ],
)
def test_an_unreachable_server_is_reported_at_once(address, words):
    """The first message says what to do, and hundreds of rows are not waited for: they are not asked."""
    report = unreachable(address)
    assert set(report.errors["error_kind"]) == {"judge_unreachable"}
    first_error = report.errors["error"].iloc[0]
    assert words in first_error
    assert "next step" in first_error
    assert "not sent" in report.errors["error"].iloc[-1]
    assert report.findings[0].advice == first_error.rpartition("next step: ")[2]
    notes = "\n".join(report.notes)
    assert words in notes
    assert "next step" in notes
    assert "requests were not sent" in notes


@pytest.fixture
def certificate(tmp_path):
    """A certificate that nobody signed."""
    if shutil.which("openssl") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("openssl makes the certificate")
    files = [str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", files[0], "-out", files[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[1], files[0])
    return context


def test_a_certificate_that_cannot_be_trusted_is_refused(certificate):
    """No question goes out, and the message names the certificate."""
    requests = []

    def choose(text):
        requests.append(text)
        return chat_answer(FINE)

    with faulty_server(
        choose, lambda connection: certificate.wrap_socket(connection, server_side=True)
    ) as address:
        report = unreachable(address.replace("http://", "https://"))
    assert not requests
    assert set(report.errors["error_kind"]) == {"judge_unreachable"}
    assert "certificate" in report.errors["error"].iloc[0]


def test_an_interrupted_run_leaves_hanging_questions(monkeypatch):
    """A stop does not wait for a server that says nothing: rows that were answered are kept."""
    from workbench.graders import concurrent_rows as rows_module
    from workbench.graders.concurrent_rows import Control

    monkeypatch.setattr(rows_module, "STOP_SECONDS", 0.05)
    control = Control(lambda done, failed: done == 3 and control.cancel.set())
    data = wb.read_samples(
        [{"prompt": "<none>" if row < 3 else "<silence>", "completion": "x"} for row in range(9)]
    )
    with faulty_server(
        lambda text: chat_answer(FINE) if "<none>" in text else lambda c: c.recv(1)
    ) as address:
        grades = asyncio.run(judge(address, timeout=600).grade_all(data, control))
    assert (grades.n_scored, {error.kind for error in grades.errors.values()}) == (3, {"cancelled"})
