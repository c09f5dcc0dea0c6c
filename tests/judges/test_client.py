"""The clients: the fake, and the one that speaks OpenAI's protocol, against a real local server."""

import asyncio
import dataclasses
import pickle
import threading

import pytest

import workbench as wb
from tests.judges.servers import server
from workbench.core import background
from workbench.core.errors import FormatError, WorkbenchError
from workbench.graders.base import from_spec
from workbench.judges import (
    ChatClient,
    CriteriaJudge,
    JudgeLimitError,
    JudgeServerError,
    OpenAIClient,
    Reply,
    RubricJudge,
    ScriptedClient,
)

THREAD = wb.StringThread([("user", "Hi \ud800"), ("assistant", "Hello")])
KEY = "sk-verysecretkey123456"
HELLO = [{"role": "user", "content": "x"}]


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def completion(content, **message):
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": content, **message},
    }
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "cost": 0.25}}  # fmt: skip


def test_a_judge_asks_a_server(key):
    """Messages and settings go out, the verdict, tokens and cost come in."""
    with server(lambda *_: (200, {}, completion('{"score": 0.5, "reasoning": "fine"}'))) as (
        address,
        requests,
    ):
        judge = CriteriaJudge(model="m", client=OpenAIClient(base_url=f"{address}/v1"), max_tokens=9)
        grade = judge(THREAD)
    path, body, headers = requests[0]
    assert (path, headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.0, 9)
    assert body["response_format"]["type"] == "json_schema"
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (grade.score, grade.passed, grade.reasoning) == (0.5, False, "fine")
    assert (grade.tokens, grade.cost) == (10, 0.25)
    assert grade.metadata["raw"].startswith('{"score"')


def test_a_server_that_fails_is_a_failed_grade(key):
    """An error of the server is judge_server, and its text holds no key."""
    body = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
    with server(lambda *_: (401, {}, body)) as (address, _):
        judge = RubricJudge(prompt="p", model="m", client=OpenAIClient(base_url=address), max_retries=0)
        grade = judge(THREAD)
    assert grade.error.kind == "judge_key"
    assert "Incorrect API key" in str(grade.error)
    assert "OPENAI_API_KEY" in str(grade.error)
    assert KEY not in repr(grade)
    assert "sk-" not in repr(grade)


def test_a_silent_server_is_given_up(key):
    """The judge's own timeout ends it."""
    gate = threading.Event()

    def answer(*_):
        gate.wait(5)
        return 200, {}, completion("{}")

    with server(answer) as (address, _):
        judge = RubricJudge(
            prompt="p", model="m", client=OpenAIClient(base_url=address), max_retries=0, timeout=0.2
        )
        grade = judge(THREAD)
        gate.set()
    assert grade.error.kind == "timeout"
    assert "timed out" in str(grade.error).lower()


def test_no_server_and_no_choice(key):
    """An address where nothing listens, and an answer without a choice, say so."""
    client = OpenAIClient(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(JudgeServerError, match="no server listens"):
        background.run(client.complete(HELLO, model="m", max_retries=0))
    empty = server(lambda *_: (200, {}, {"choices": []}))
    with empty as (address, _), pytest.raises(JudgeServerError, match="without a choice"):
        background.run(OpenAIClient(base_url=address).complete(HELLO, model="m"))


def test_reasoning_models_take_other_names(key):
    """Their limit is max_completion_tokens, and no temperature but 1."""
    with server(lambda *_: (200, {}, completion('{"score": 1}'))) as (address, requests):
        CriteriaJudge(model="openai/o3-mini", client=OpenAIClient(base_url=address), max_tokens=9)(THREAD)
    assert requests[0][1]["max_completion_tokens"] == 9
    assert "max_tokens" not in requests[0][1]
    assert requests[0][1]["temperature"] == 1.0


def test_refusals_and_tool_calls_come_through(key):
    """The reply keeps what the server said beside the text."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    with server(lambda *_: (200, {}, completion(None, refusal="no", tool_calls=[call]))) as (address, _):
        reply = background.run(OpenAIClient(base_url=address).complete(HELLO, model="m"))
    assert (reply.text, reply.refusal, reply.tool_calls, reply.finish_reason) == ("", "no", [call], "stop")


def test_a_missing_key_is_reported_before_the_run(monkeypatch):
    """Checking a judge, or running it, names the variable to set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    with pytest.raises(WorkbenchError, match="OPENAI_API_KEY"):
        CriteriaJudge().check_ready()
    with pytest.raises(WorkbenchError, match="GEMINI_API_KEY"):
        RubricJudge(prompt="p", provider="google").check_ready()
    assert "OPENAI_API_KEY" in CriteriaJudge()(THREAD).error.message
    CriteriaJudge(client=ScriptedClient("x")).check_ready()


def test_the_key_is_nowhere(key):
    """Not in a repr, a spec or a pickle."""
    client = OpenAIClient()
    judge = CriteriaJudge(client=client)
    client.check_ready()
    assert KEY not in repr(client) + repr(judge) + str(judge.spec())
    assert KEY.encode() not in pickle.dumps(judge)
    assert pickle.loads(pickle.dumps(client)) == client


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ("a", ["a", "a"]),
        (["a", Reply("b")], ["a", "b"]),
        ({"nope": "a", "x": "b"}, ["b", "b"]),
        (lambda messages: messages[0]["content"] * 2, ["xx", "xx"]),
    ],
)
def test_scripts(script, texts):
    """One answer, a list, a table or a function."""
    client = ScriptedClient(script)
    assert isinstance(client, ChatClient)
    assert [asyncio.run(client.complete(HELLO, model="m")).text for _ in texts] == texts
    assert client.calls == [(HELLO, {"model": "m"})] * 2


def test_scripts_fail_too():
    """An exception is raised; a script at its end says so."""
    for script in ([], {}, TimeoutError("slow"), [JudgeServerError("down")]):
        with pytest.raises((JudgeServerError, TimeoutError)):
            asyncio.run(ScriptedClient(script).complete(HELLO))


def test_a_full_server_is_asked_less(key):
    """Refusals halve what is under way; the questions are answered all the same."""
    refused = iter([True] * 3)

    def answer(*_):
        full = next(refused, False)
        return (
            (429, {"retry-after-ms": "10"}, {"error": {"message": "full"}})
            if full
            else (200, {}, completion("{}"))
        )

    with server(answer) as (address, requests):
        client = OpenAIClient(address, concurrency=40)
        background.run(client.complete(HELLO, model="m"))
        [connection] = client._connections.values()
    assert len(requests) == 4
    assert connection.limit.limit < 16


def test_a_server_that_needs_no_wait_is_not_asked_for_ever(key):
    """`Retry-After: 0` counts against the patience as time does."""
    with server(lambda *_: (429, {"retry-after": "0"}, {"error": {"message": "full"}})) as (
        address,
        requests,
    ):
        client = OpenAIClient(address, patience=0.3)
        with pytest.raises(JudgeLimitError):
            background.run(client.complete(HELLO, model="m"))
    assert 2 <= len(requests) <= 8


def test_no_key_is_no_header(key):
    """`key_variable=""` sends nothing, and a server on this machine needs no key."""
    with server(lambda *_: (200, {}, completion("{}"))) as (address, requests):
        background.run(OpenAIClient(address, key_variable="").complete(HELLO, model="m"))
        background.run(OpenAIClient(address, key_variable="NO_SUCH_VARIABLE").complete(HELLO, model="m"))
    assert ["authorization" in headers for _, _, headers in requests] == [False, False]


def test_settings_of_a_model_go_before_the_judges(key):
    """They are sent with every question to that model, extra_body as fields of the request."""
    own = {"m": {"temperature": 0.7, "top_p": 0.9, "extra_body": {"guided": True}}}
    with server(lambda *_: (200, {}, completion("{}"))) as (address, requests):
        client = OpenAIClient(address, models=own)
        for model in ("m", "other"):
            background.run(client.complete(HELLO, model=model, temperature=0.0))
    assert requests[0][1] == {
        "messages": HELLO,
        "model": "m",
        "temperature": 0.7,
        "top_p": 0.9,
        "guided": True,
    }
    assert requests[1][1] == {"messages": HELLO, "model": "other", "temperature": 0.0}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "host/v1",
        "http://host/v1?key=x",
        "http://host/v1/chat/completions",
        "http://u:p@host/v1",
    ],
)
def test_wrong_addresses_are_refused_when_the_client_is_made(url):
    """Before anything is asked, and without repeating what could be a secret."""
    with pytest.raises(FormatError, match="base_url") as caught:
        OpenAIClient(url)
    assert "u:p" not in str(caught.value)
    assert "key=x" not in str(caught.value)


def test_a_judge_takes_the_address_and_the_name_of_the_key(monkeypatch):
    """Directly, and a copy keeps them; neither is in spec, repr or equality, and a file cannot set them."""
    monkeypatch.setenv("OTHER_KEY", "sk-other-0123456789abcdef")
    with server(lambda path, body, headers: (200, {}, completion('{"score": 0.5, "rationale": "r"}'))) as (
        address,
        requests,
    ):
        judge = wb.RubricJudge("is it right?", model="m", base_url=f"{address}/v1", api_key_env="OTHER_KEY")
        copy = dataclasses.replace(judge, name="copy")
        assert judge(THREAD).score == copy(THREAD).score == 0.5
    assert {request[2]["authorization"] for request in requests} == {"Bearer sk-other-0123456789abcdef"}
    assert judge == wb.RubricJudge("is it right?", model="m")
    assert not {"base_url", "api_key_env", "client"} & set(judge.spec())
    assert address not in repr(judge)
    for field in ("base_url", "api_key_env"):
        with pytest.raises(FormatError, match="cannot name the judge's server"):
            from_spec({**judge.spec(), field: "x"})


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"api_key_env": "sk-proj-0123456789abcdef"}, "name of an environment variable"),
        ({"base_url": "http://host/v1", "client": OpenAIClient()}, "not both"),
        ({"base_url": "ftp://host"}, "http or https"),
    ],
)
def test_wrong_addresses_and_keys_of_judges(settings, part):
    with pytest.raises(FormatError, match=part) as caught:
        wb.BinaryJudge(criteria="polite", **settings)
    assert "0123456789abcdef" not in str(caught.value)
