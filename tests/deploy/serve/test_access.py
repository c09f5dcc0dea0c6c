"""Who may ask: the token, web pages, and what a server may be bound to."""

import pytest

import workbench as wb
from tests.deploy.serve.servers import served, thread_of
from workbench.core.errors import WorkbenchError
from workbench.deploy.serve.middleware import check_binding, is_loopback

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def guarded():
    """A server with a token."""
    with served(wb.Length(maximum=3, name="short"), token=TOKEN) as running:
        yield running


def test_the_token_opens(guarded):
    """As a bearer token, and as the password of a URL, for clients that cannot set headers."""
    for settings in ({"headers": {"authorization": f"Bearer {TOKEN}"}}, {"auth": ("any", TOKEN)}):
        assert guarded.post("/score", thread_of("4"), **settings).json()["reward"] == 1.0


def test_the_endpoint_grader_sends_it(guarded, monkeypatch):
    """From the environment, as its headers say."""
    monkeypatch.setenv("MY_TOKEN", f"Bearer {TOKEN}")
    endpoint = wb.Endpoint(guarded.url, headers={"Authorization": "$MY_TOKEN"})
    assert endpoint(wb.StringThread([("assistant", "4")])).score == 1.0


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Basic !", TOKEN, "Bearer \xe9"],
)
def test_without_it_nothing_opens(value, guarded):
    """Every path but /health wants the token, and the refusal does not hold it."""
    headers = {"authorization": value.encode("latin-1")} if value else {}
    for method, path in (
        ("POST", "/score"),
        ("GET", "/metrics"),
        ("GET", "/docs"),
        ("GET", "/info"),
        ("GET", "/x"),
    ):
        answer = guarded.client.request(method, path, headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert TOKEN not in answer.text
    assert guarded.client.get("/health", headers=headers).json() == {"status": "ready"}


@pytest.mark.parametrize(
    "headers", [{"origin": "https://example.com"}, {"origin": "null"}, {"host": "example.com:8000"}]
)
def test_a_web_page_may_not_ask_in_its_visitors_place(headers, server):
    """Without a token, a foreign origin and a foreign name for this machine are refused."""
    assert server.post("/score", thread_of("4"), headers=headers).status_code == 403
    own = {"origin": server.url, "host": server.url.removeprefix("http://")}
    assert server.post("/score", thread_of("4"), headers=own).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.9.1"])
def test_loopback_needs_no_token(host):
    """Only this machine's programs reach it."""
    assert is_loopback(host)
    check_binding(host, "", token_env="T", open_to_all=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.7", "example.com", "localhost.example.com"])
def test_other_hosts_need_one(host):
    """Or somebody's word that none is wanted; the error says which variable, and how to set it."""
    assert not is_loopback(host)
    with pytest.raises(WorkbenchError, match=r"(?s)no token.*export T="):
        check_binding(host, "", token_env="T", open_to_all=False)
    check_binding(host, "", token_env="T", open_to_all=True)
    check_binding(host, TOKEN, token_env="T", open_to_all=False)


def test_a_short_token_is_refused():
    """It could be guessed."""
    with pytest.raises(WorkbenchError, match="too short"):
        check_binding("127.0.0.1", "abc", token_env="T", open_to_all=False)
