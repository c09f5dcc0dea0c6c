"""The server's own pages: OpenAPI, the page for people, health, metrics; and paths there are not."""

import json
import re
import shlex
from html import unescape
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from jsonschema import Draft202012Validator

import workbench as wb
from tests.deploy.serve.servers import expected, served, thread_of
from workbench.deploy.serve import WIRE_FORMS
from workbench.deploy.serve.http import base_url
from workbench.deploy.serve.pages import ASKED, MADE_UP

NASTY = '<script>alert("x")</script>'


def judge():
    """A judge that needs no server."""
    client = wb.ScriptedClient(lambda _: '{"reasoning": "It is 4.", "score": "PASS"}')
    return wb.BinaryJudge("The reply is right.", name="right", client=client)


SUITES = {
    "code": expected,
    "rule": lambda: wb.Length(maximum=3, name="short"),
    "no pass": lambda: wb.Contains(expected="Paris", name="paris"),
    "several": lambda: wb.Suite(
        [wb.Length(maximum=3, name="short"), wb.Contains(expected="5", name="five")],
        combine=wb.combine.Mean(),
    ),
    "one by one": lambda: wb.Suite([wb.Length(maximum=3, name="a b/c"), wb.Length(maximum=0, name="empty")]),
    "judge": judge,
    "judge beside a rule": lambda: wb.Suite([judge(), wb.Length(maximum=3)], combine=wb.combine.Mean()),
    "function": lambda: wb.CustomGrader(lambda thread: 1.0, name="mine"),
}


def documented(document, path):
    """Operation, and status and body of each example answer by its name."""
    operation = document["paths"][path]["post"]
    examples = {
        name: (int(status), example)
        for status, response in operation["responses"].items()
        for name, example in response["content"]["application/json"].get("examples", {}).items()
    }
    return operation, examples


def shape(value):
    """The keys of JSON values and the kinds of what is under them."""
    if isinstance(value, dict):
        return {key: shape(entry) for key, entry in value.items()}
    return [shape(entry) for entry in value] if isinstance(value, list) else type(value)


@pytest.mark.parametrize("name", SUITES)
def test_the_document_shows_what_the_server_answers(name):
    """Every example request of every path has the answer that is written down; made-up ones have its shape."""
    suite = SUITES[name]()
    with served(suite) as running:
        document = running.client.get("/openapi.json").json()
        paths = [path for path, methods in document["paths"].items() if "post" in methods]
        assert len(paths) == len(WIRE_FORMS) * (1 if name == "one by one" else 2)
        for path in paths:
            operation, examples = documented(document, path)
            request = operation["requestBody"]["content"]["application/json"]["example"]
            graders = (
                operation["parameters"][0]["schema"]["enum"] if "parameters" in operation else ["answer"]
            )
            assert list(examples) == graders
            for grader, (status, example) in examples.items():
                answer = running.post(path.replace("{grader}", quote(grader, safe="")), request)
                assert answer.status_code == status
                if example["summary"] == ASKED:
                    assert answer.json() == example["value"]
                else:
                    assert name in {"judge", "judge beside a rule", "function"}
                    assert shape(answer.json()) == shape(example["value"])


def test_the_page_shows_what_the_server_answers(server):
    """The requests and answers of /docs are those of the document."""
    page = unescape(server.client.get("/docs").text)
    for path, form in WIRE_FORMS.items():
        assert json.dumps(server.post(path, form.example).json(), indent=2) in page
    assert MADE_UP not in page


def test_a_row_without_a_score_is_shown_with_its_status():
    """Where the example's metadata have not what a grader reads, the page says what comes of that."""
    text = (
        "async def grade(thread):\n    if list(thread.metadata) == ['expected']:\n"
        "        raise KeyError('mine')\n    return 1.0\n"
    )
    grader = wb.FunctionGrader.from_source(text, name="mine")
    assert grader.validate().ok
    with served(grader) as running:
        _, examples = documented(running.client.get("/openapi.json").json(), "/score")
        (status, example) = examples["answer"]
        assert (status, example["value"]["error"]["cause"]) == (422, "runtime")
        assert "Status 422." in running.client.get("/docs").text


def test_examples_are_not_counted_and_wait_for_nobody(monkeypatch):
    """Slow graders have answers that are made up, the server starts soon, and counts begin at zero."""
    monkeypatch.setattr("workbench.deploy.serve.pages._SECONDS", 0.05)
    grader = wb.FunctionGrader.from_source(
        "import time\n\nasync def grade(thread):\n    time.sleep(0.2)\n    return 1.0\n", name="slow"
    )
    assert grader.validate().ok
    with served(grader) as running:
        assert MADE_UP in running.client.get("/docs").text
        assert 'grader="slow",status="scored",kind=""} 0' in running.client.get("/metrics").text


def test_a_form_whose_own_example_is_none_stops_nobody(monkeypatch):
    """A form of somebody's own is shown as its author wrote it."""

    class Odd(WIRE_FORMS["/slime"]):
        path, example, answer = "/odd", {}, 7.0

        def read(self, body):
            return [body["nothing"]]

    class Unwritten(WIRE_FORMS["/slime"]):
        path, answer = "/unwritten", 8.0

        def write(self, body, rows, outcomes):
            return body["request_id"]

    for form in (Odd, Unwritten):
        monkeypatch.setitem(WIRE_FORMS, form.path, form)
    with served(wb.Length(maximum=3)) as running:
        for form in (Odd, Unwritten):
            _, examples = documented(running.client.get("/openapi.json").json(), form.path)
            assert examples["answer"][1]["value"] == form.answer


def test_the_document_has_every_form(server):
    """Each path with its request, its errors, and what becomes of a row without a score."""
    document = server.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "security" not in document
    for path, form in WIRE_FORMS.items():
        for described in (document["paths"][path], document["paths"][f"/graders/{{grader}}{path}"]):
            operation = described["post"]
            assert operation["requestBody"]["content"]["application/json"]["example"] == form.example
            assert form.no_score in operation["description"]
            assert {"400", "422", "429", "504"} <= set(operation["responses"])
    names = [
        operation["post"]["operationId"] for operation in document["paths"].values() if "post" in operation
    ]
    assert len(names) == len(set(names))


def test_the_simplest_form_comes_first(server):
    """One thread, many, what the server says of itself; then the other forms, and at the end how it goes."""
    own, others = ["/score", "/batch_score", "/info"], ["/health", "/metrics"]
    forms = sorted(set(WIRE_FORMS) - set(own))
    headings = re.findall(r"<h2><code>\w+ ([^<]+)</code>", server.client.get("/docs").text)
    assert headings == [*own, *forms, *others]
    paths = [path for path in server.client.get("/openapi.json").json()["paths"] if "{" not in path]
    assert paths == [*own, *forms, *others]


def test_requests_can_be_copied(server):
    """Each curl line of the page, given to a shell, is answered as the page says."""
    page = unescape(server.client.get("/docs").text)
    lines = re.findall(r"<pre>(curl .*?)</pre>", page, re.DOTALL)
    assert len(lines) == len(WIRE_FORMS) + 3
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "curl"
        assert words[1].startswith(server.url)
        given = dict(zip(words[2::2], words[3::2], strict=True))
        method = "POST" if "-d" in given else "GET"
        answer = server.client.request(method, words[1], content=given.get("-d", "").encode() or None)
        assert answer.status_code == 200
    assert "HOST" not in page
    assert "HOST" not in server.client.get("/openapi.json").text
    assert f"--rm-url {server.url}/slime" in page


def test_with_a_token_the_requests_have_a_place_for_it():
    """Every one but that for /health."""
    with served(wb.Length(maximum=3), token="a-good-long-token") as running:
        page = unescape(running.client.get("/docs", auth=("any", "a-good-long-token")).text)
    lines = re.findall(r"<pre>(curl .*?)</pre>", page, re.DOTALL)
    without = [line for line in lines if "authorization: Bearer TOKEN" not in line]
    assert len(without) == 1
    assert "/health" in without[0]
    assert "a-good-long-token" not in page


def test_graders_that_are_asked_one_by_one_are_shown_so():
    """The requests are those for the first, whatever its name is."""
    suite = wb.Suite([wb.Length(maximum=3, name="it's <a> b"), wb.Length(maximum=0, name="empty")])
    with served(suite) as running:
        page = unescape(running.client.get("/docs").text)
        line = re.findall(r"<pre>(curl .*?)</pre>", page, re.DOTALL)[0]
        words = shlex.split(line)
        assert running.client.post(words[1], content=words[-1]).json()["reward"] == 1.0
        assert f"--rm-url {running.url}/graders/it%27s%20%3Ca%3E%20b/slime" in page


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        ({"headers": [(b"host", b"rewards.example:8443")], "scheme": "https"}, "https://rewards.example:8443"),
        ({"headers": [(b"host", b"my_service")], "scheme": "http"}, "http://my_service"),
        ({"headers": [(b"host", b"[::1]:8000")], "scheme": "http"}, "http://[::1]:8000"),
        *(
            ({"headers": [(b"host", host)], "scheme": "http", "server": ("10.0.0.7", 8000)}, "http://10.0.0.7:8000")
            for host in (
                b"",
                b"<script>",
                b"a'; rm -rf /;'",
                b"$(id)",
                b"a b",
                b"a\nb",
                b"a\n",
                b"x@evil.example",
                b"evil.example/path?",
                b"-oProxy",
                b"\xe9",
                b"a:99999999",
                b"a" * 5000,
            )
        ),
        ({"headers": [], "scheme": "javascript", "server": ("::1", 80)}, "http://[::1]:80"),
        ({"headers": [], "server": ("localhost", None)}, "http://localhost"),
        ({"headers": []}, "http://localhost"),
    ],
)  # fmt: skip
def test_the_address_is_the_clients_own(scope, seen):
    """As the request wrote it where that is an address; nothing else gets into a page or a shell."""
    assert base_url(scope) == seen


def test_a_hostile_host_is_not_shown():
    """A page with a token is served to any host; one that is no address stays out of it."""
    with served(wb.Length(maximum=3), token="a-good-long-token") as running:
        for path in ("/docs", "/openapi.json"):
            headers = {"host": "a'<b>\"", "authorization": "Bearer a-good-long-token"}
            text = unescape(running.client.get(path, headers=headers).text)
            assert "a'<b>" not in text
            assert running.url in text


def test_backticks_are_code(server):
    """In the words of forms and of whoever described the suite; tags in them stay text."""
    assert "`" not in server.client.get("/docs").text
    suite = wb.Suite([wb.Length(maximum=3)], description="Reads `<b>text</b>` and `label`.")
    with served(suite) as running:
        page = running.client.get("/docs").text
    assert "Reads <code>&lt;b&gt;text&lt;/b&gt;</code> and <code>label</code>." in page


def test_the_root_leads_to_the_page(server):
    """Whoever opens the address in a browser sees the page."""
    answer = server.client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "docs")
    assert "<h1>" in server.client.get("/", follow_redirects=True).text


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


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/score", 405, "graders with POST"),
        ("POST", "/health", 405, "pages with GET"),
        ("POST", "/none", 404, "/score, /batch_score, /gemini"),
    ],
)
def test_paths_and_methods_there_are_not(method, path, status, words, server):
    """The refusal says what there is."""
    answer = server.client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert words in answer.json()["error"]["message"]
