"""Headers and query parameters of a user's server."""

import pickle

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core import background
from workbench.core.errors import FormatError
from workbench.judges import JudgeKeyError, OpenAIClient

SECRET = "gateway-Secret-0123456789"
ROWS = [{"prompt": "q", "completion": "a"}]
SAID = '{"reasoning": "fine", "score": "PASS"}'


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    monkeypatch.setenv("GATEWAY_KEY", SECRET)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def azure(address, **settings):
    return OpenAIClient(
        f"{address}/openai/deployments/judge", key_variable="",
        headers={"api-key": "$GATEWAY_KEY", "x-team": "graders"}, query={"api-version": "2024-10-21"}, **settings,
    )  # fmt: skip


def test_a_request_has_the_users_headers_and_query():
    """As Azure's deployments need them: the key in a header of its own, the version in the address."""
    with server(lambda *_: (200, {}, completion(SAID))) as (address, requests):
        judge = wb.BinaryJudge("polite", model="m", client=azure(address))
        assert judge.run(ROWS, progress=False).frame["score"].tolist() == [1.0]
    path, _, headers = requests[0]
    assert path == "/openai/deployments/judge/chat/completions?api-version=2024-10-21"
    assert (headers["api-key"], headers["x-team"]) == (SECRET, "graders")
    assert "authorization" not in headers


def test_an_authorization_of_the_user_replaces_the_clients():
    """A gateway's own scheme, with the variable inside the value; parameters take variables as well."""
    with server(lambda *_: (200, {}, completion(SAID))) as (address, requests):
        client = OpenAIClient(
            address,
            key_variable="",
            headers={"Authorization": "Basic ${GATEWAY_KEY}"},
            query={"sig": "$GATEWAY_KEY"},
        )
        background.run(client.complete([{"role": "user", "content": "x"}], model="m"))
    assert requests[0][2]["authorization"] == f"Basic {SECRET}"
    assert requests[0][0].endswith(f"?sig={SECRET}")


def test_a_secret_is_nowhere(tmp_path):
    """Not in a repr, a spec, an export, a pickle, a stored reply, a grade or an error, although the server repeats it."""

    def answer(*_):
        if fails:
            return 400, {}, {"error": {"message": f"no access for {SECRET}"}}
        return 200, {}, completion(SAID.replace("fine", f"the key is {SECRET}"))

    store, fails = tmp_path / "s.db", False
    with server(answer) as (address, _):
        client = azure(address, max_retries=0)
        judge = wb.BinaryJudge("polite", model="m", client=client)
        good = judge.run(ROWS, progress=False, store=f"sqlite:///{store}")
        fails = True
        bad = judge.run([{"prompt": "p", "completion": "b"}], progress=False)
    assert good.summary["scored"].iloc[0] == bad.summary["failed"].iloc[0] == 1
    wb.save(judge, tmp_path / "g.json")
    texts = [
        repr(client), repr(judge), str(judge.spec()), (tmp_path / "g.json").read_text(), good.frame.to_csv(), bad.frame.to_csv(),
        client.content("m"), pickle.dumps(judge).decode("latin-1"), store.read_bytes().decode("latin-1"), str(bad.errors),
    ]  # fmt: skip
    assert not [text for text in texts if SECRET in text]
    assert pickle.loads(pickle.dumps(client)) == client


def test_a_variable_that_is_not_set_is_reported_before_the_run(monkeypatch):
    """By its name, and the header's."""
    monkeypatch.delenv("GATEWAY_KEY")
    judge = wb.BinaryJudge("polite", model="m", client=azure("http://127.0.0.1:9"))
    with pytest.raises(JudgeKeyError, match=r"'api-key'.*GATEWAY_KEY, which is not set"):
        judge.check_ready()
    monkeypatch.setenv("GATEWAY_KEY", "two\nlines")
    with pytest.raises(JudgeKeyError, match="not one line"):
        judge.check_ready()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"headers": {"api-key": SECRET}}, "seems to contain a key"),
        ({"headers": {"X-Subscription-Token": SECRET}}, "seems to contain a key"),
        ({"query": {"sig": SECRET}}, "seems to contain a key"),
        ({"headers": {"x-note": "sk-0123456789abcdef"}}, "seems to contain a key"),
        ({"headers": {"x-note": "Bearer 0123456789abcdef"}}, "seems to contain a key"),
        ({"headers": {"Host": "evil"}}, "set by the HTTP client"),
        ({"headers": {"x-a": "b\r\nx-c: d"}}, "one line"),
        ({"headers": {"x a": "b"}}, "needs a name"),
        ({"query": {"v": 3}}, "one line"),
        ({"headers": ["x"]}, "must be a dict"),
    ],
)
def test_wrong_headers_are_refused_without_repeating_them(settings, message):
    """When the client is made; a value may be a key, so no message has it."""
    with pytest.raises(FormatError, match=message) as caught:
        OpenAIClient("http://127.0.0.1:9", **settings)
    assert SECRET not in str(caught.value)
    assert "0123456789abcdef" not in str(caught.value)


def test_replies_are_stored_by_version():
    """Another query may be another model; a client without has the key it always had."""
    plain = OpenAIClient("http://a/v1")
    assert plain.content("m") == '["http://a/v1", {}]'
    versions = {OpenAIClient("http://a/v1", query={"api-version": v}).content("m") for v in ("1", "2")}
    assert len(versions | {plain.content("m")}) == 3
    secrets = {OpenAIClient("http://a/v1", headers={"api-key": v}).content("m") for v in ("$A", "$B")}
    assert secrets == {plain.content("m")}
