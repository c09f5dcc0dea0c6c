"""The endpoint grader against a real local server."""

import asyncio
import json
import threading

import pytest

import workbench as wb
from tests.judges.servers import server
from workbench.errors import FormatError, WorkbenchError
from workbench.graders.base import Control
from workbench.judges import Endpoint
from workbench.samples import Sample

SAMPLE = Sample(
    id="7",
    thread=wb.StringThread([("user", "q"), ("assistant", "abc")], {"k": [1]}),
    reference=None,
    group="7",
)


def scores(path, body, headers):
    def one(row):
        return {
            "reward": float(len(row["turns"][-1]["content"])),
            "metadata": {"reason": "length"},
            "id": row["id"],
        }

    return 200, {}, one(body) if path == "/score" else {"responses": [one(row) for row in body["requests"]]}


def answered(data, status=200, headers=None):
    return lambda *_: (status, headers or {}, data)


def test_one_row():
    """Turns, metadata and id go out; reward, reason and metadata come in."""
    with server(scores) as (address, asked):
        grade = Endpoint(url=address)(SAMPLE)
    assert asked[0][0] == "/score"
    assert asked[0][1] == {
        "turns": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "abc"}], "metadata": {"k": [1]}, "id": "7",
    }  # fmt: skip
    assert (grade.score, grade.reasoning) == (3.0, "length")
    assert grade.seconds > 0


@pytest.mark.parametrize("batch", [False, True])
def test_many_rows(batch):
    """Batches and single requests give the same scores, in order."""
    samples = wb.Samples([{"prompt": "q", "completion": "x" * length} for length in range(1, 71)])
    news = []
    with server(scores) as (address, asked):
        endpoint = Endpoint(url=f"{address}/score", batch=batch)
        grades = asyncio.run(
            endpoint.grade_all(samples, Control(lambda done, failed: news.append((done, failed))))
        )
    assert [grade.score for grade in grades] == list(range(1, 71))
    assert len(asked) == (3 if batch else 70)
    assert {path for path, _, _ in asked} == {"/batch_score" if batch else "/score"}
    assert news[-1] == (70, 0)


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (answered({"reward": float("nan")}), "finite"),
        (answered({"reward": float("inf")}), "finite"),
        (answered({"reward": True}), "no reward"),
        (answered({"reward": "1"}), "no reward"),
        (answered({"score": 1}), "no reward"),
        (answered([1]), "no reward"),
        (answered(b"<html>"), "no JSON"),
        (answered(b"[" * 100_000), "no JSON"),
        (answered({"reward": 1, "id": "8"}), "another row"),
        (answered({}, 500), "status 500"),
        (answered({}, 302, {"location": "http://127.0.0.1:9/"}), "redirects are not followed"),
        (answered(b" " * (9 * 2**20)), "too large"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_no_score(answer, part):
    """NaN, other shapes, statuses, redirects and floods are endpoint failures that say what came."""
    with server(answer) as (address, asked):
        grade = Endpoint(url=address)(SAMPLE)
    assert (grade.score, grade.error.kind) == (None, "endpoint")
    assert part in grade.error.message
    assert len(asked) == 1


def test_a_wrong_batch_fails_its_rows():
    """Too few answers fail the batch; one bad answer fails its row."""
    samples = wb.Samples([{"completion": "a"}, {"completion": "bb"}])
    with server(answered({"responses": [{"reward": 1}]})) as (address, _):
        grades = asyncio.run(Endpoint(url=address, batch=True).grade_all(samples, Control()))
    assert {grade.error.kind for grade in grades} == {"endpoint"}
    with server(answered({"responses": [{"reward": 1}, {"reward": None}]})) as (address, _):
        first, second = asyncio.run(Endpoint(url=address, batch=True).grade_all(samples, Control()))
    assert (first.score, second.error.kind) == (1.0, "endpoint")


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
    assert Endpoint(url="http://127.0.0.1:9")(SAMPLE).error.kind == "endpoint"


def test_headers_from_the_environment(monkeypatch):
    """A secret is read when it is sent, and is in no spec; an unset one is said before the run."""
    endpoint = Endpoint(url="http://127.0.0.1:9", headers={"x-functions-key": "$SERVICE_KEY", "x-team": "a"})
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    with pytest.raises(WorkbenchError, match="SERVICE_KEY"):
        endpoint.check_ready()
    monkeypatch.setenv("SERVICE_KEY", "very-secret")
    with server(scores) as (address, asked):
        live = Endpoint(url=address, headers=endpoint.headers)
        assert live(SAMPLE).score == 3.0
    assert (asked[0][2]["x-functions-key"], asked[0][2]["x-team"]) == ("very-secret", "a")
    assert "very-secret" not in json.dumps(live.spec()) + repr(live)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"url": "ftp://host/x"}, "http"),
        ({"url": "file:///etc/passwd"}, "http"),
        ({"url": "host:80"}, "http"),
        ({"url": ""}, "http"),
        ({"url": 7}, "text"),
        ({"url": "http://user:pass@host"}, "name or password"),
        ({"url": "http://host:99999"}, "no address"),
        ({"url": "http://host?code=x"}, "query"),
        ({"url": "http://h", "timeout": 0}, "timeout"),
        ({"url": "http://h", "headers": {"Authorization": "Bearer x"}}, "$NAME"),
        ({"url": "http://h", "headers": {"x": "a\r\nb: c"}}, "one line"),
        ({"url": "http://h", "headers": {"x y": "a"}}, "no header"),
    ],
)
def test_bad_fields_are_refused(fields, part):
    """Other schemes, secrets in the open and header tricks are refused when the grader is made."""
    with pytest.raises(FormatError) as caught:
        Endpoint(**fields)
    assert part in str(caught.value)
    assert "pass@" not in str(caught.value)
