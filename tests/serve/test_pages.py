"""The server's own pages: OpenAPI, the page for people, health, metrics; and paths there are not."""

import json
from html.parser import HTMLParser

import pytest
from jsonschema import Draft202012Validator

import workbench as wb
from tests.serve.servers import served, thread_of
from workbench.serve import WIRE_FORMS

NASTY = '<script>alert("x")</script>'


def test_the_document_has_every_form(server):
    """Each path with its request, its answer, its errors and an example of both."""
    document = server.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "security" not in document
    for path, form in WIRE_FORMS.items():
        for described in (document["paths"][path], document["paths"][f"/graders/{{grader}}{path}"]):
            operation = described["post"]
            assert operation["requestBody"]["content"]["application/json"]["example"] == form.example
            assert operation["responses"]["200"]["content"]["application/json"]["example"] == form.answer
            assert form.no_score in operation["description"]
            assert {"400", "422", "429", "504"} <= set(operation["responses"])
    names = [
        operation["post"]["operationId"] for operation in document["paths"].values() if "post" in operation
    ]
    assert len(names) == len(set(names))


def test_errors_follow_the_document(server):
    """The shape of a refusal is the one that is written down."""
    schema = server.client.get("/openapi.json").json()["components"]["schemas"]["Error"]
    for answer in (server.post("/score", b"{"), server.client.get("/score"), server.client.get("/none")):
        Draft202012Validator(schema).validate(answer.json())
        assert answer.json()["error"]["status"] == answer.status_code


class Tags(HTMLParser):
    """The tags of a page, and every attribute that could load something."""

    def __init__(self):
        super().__init__()
        self.tags, self.loads = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.loads += [value for name, value in attrs if name in {"src", "href"}]


def test_the_page_loads_nothing_and_runs_nothing():
    """Names and descriptions are text in it, whatever they hold."""
    suite = wb.Suite([wb.Length(maximum=3, name=NASTY)], name=NASTY, description=NASTY)
    with served(suite) as running:
        answer = running.client.get("/docs")
        page = Tags()
        page.feed(answer.text)
        assert "script" not in page.tags
        assert page.loads == ["openapi.json", "health", "metrics"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert all(form.path in answer.text for form in WIRE_FORMS.values())
        assert 'grader="<script>alert(\\"x\\")</script>"' in running.client.get("/metrics").text


def test_health(server):
    """Ready while it serves."""
    assert server.client.get("/health").json() == {"status": "ready"}


def test_metrics_count():
    """Rows by grader and kind, requests by path and status, a histogram, the queue; no label of a client's making."""
    with served(wb.Length(maximum=3, name="short")) as running:
        for text in ("4", "long text"):
            running.post("/score", thread_of(text))
        running.post("/openai", {"sample": {}, "item": {}})
        running.client.get("/secret-word-in-a-path")
        text = running.client.get("/metrics").text
    lines = text.splitlines()
    assert 'workbench_rows_total{grader="short",status="scored",kind=""} 2' in lines
    assert 'workbench_rows_total{grader="short",status="failed",kind="sample"} 1' in lines
    assert 'workbench_requests_total{path="/score",status="200"} 2' in lines
    assert 'workbench_requests_total{path="",status="404"} 1' in lines
    assert 'workbench_request_seconds_bucket{path="/score",le="+Inf"} 2' in lines
    assert 'workbench_request_seconds_count{path="/score"} 2' in lines
    assert "workbench_queue_rows 0" in lines
    assert "secret-word" not in text


def test_metrics_are_prometheus_text(server):
    """Each family has a type before its samples, buckets add up, numbers are numbers."""
    server.post("/score", thread_of("4"))
    types, last = {}, {}
    for line in server.client.get("/metrics").text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            types[name] = kind
        elif not line.startswith("#"):
            name, value = line.split("{")[0].split(" ")[0], float(line.rsplit(" ", 1)[1])
            assert any(name.startswith(family) for family in types)
            if "_bucket" in line:
                path = json.loads(line.split("path=")[1].split(",")[0])
                assert value >= last.get(path, 0)
                last[path] = 0 if "+Inf" in line else value
    assert types["workbench_request_seconds"] == "histogram"


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/score", 405), ("POST", "/none", 404)])
def test_paths_and_methods_there_are_not(method, path, status, server):
    """The refusal says what there is."""
    answer = server.client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert "POST" in answer.text or "/slime" in answer.text
