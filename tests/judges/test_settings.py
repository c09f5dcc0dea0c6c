"""What a judge's file may set: one list with bounds, held at loading and before the wire."""

import json

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core import background
from workbench.core.errors import FormatError, WorkbenchError
from workbench.graders.base import from_spec
from workbench.judges import OpenAIClient
from workbench.judges.protocol import MAX_TOKENS, SAMPLING

INPUT = [{"role": "user", "content": "Rate {{sample.output_text}}"}]
THREAD = wb.StringThread([("user", "Hi"), ("assistant", "Hello")])
REFUSED = [
    {"extra_body": {"model": "o1-pro"}},
    {"extra_headers": {"Authorization": "x"}},
    {"extra_query": {"a": "b"}},
    {"model": "o1-pro"},
    {"messages": []},
    {"n": 128},
    {"stream": True},
    {"tools": []},
    {"response_format": {"type": "text"}},
    {"logit_bias": {"1": 100}},
    {"store": True},
    {"service_tier": "priority"},
    {"base_url": "http://evil.example"},
    {"api_key": "sk-x"},
    {"timeout": 1e9},
    {"max_retries": 10**6},
    {"max_completion_tokens": 10**9},
    {"max_tokens": 0},
    {"max_tokens": 1.5},
    {"max_tokens": True},
    {"temperature": 3},
    {"temperature": float("nan")},
    {"top_p": -0.1},
    {"seed": 2**70},
    {"reasoning_effort": "enormous"},
    {"max_tokens": 5, "max_completion_tokens": 10},
    ["temperature"],
]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def record(params):
    return {
        "type": "score_model",
        "name": "s",
        "model": "gpt-4o-mini",
        "input": INPUT,
        "sampling_params": params,
    }


@pytest.mark.parametrize("params", REFUSED, ids=lambda params: json.dumps(params)[:40])
def test_a_file_sets_nothing_that_is_not_on_the_list(params):
    """Another model, more answers, headers, addresses and numbers out of bounds are refused by name when it is read."""
    spec = {"kind": "score-judge", "input": INPUT, "model": "gpt-4o-mini", "sampling_params": params}
    for read in (lambda: from_spec(spec), lambda: wb.loads(json.dumps(record(params)), "openai")):
        with pytest.raises(FormatError) as caught:
            read()
        if isinstance(params, dict) and "temperature" not in params:
            assert next(iter(params)) in str(caught.value)


def test_the_refusal_names_what_may_be_set():
    """The list stands in the error, and where one's own settings belong."""
    with pytest.raises(FormatError, match=r"may not set 'n'") as caught:
        wb.judges.ScoreJudge(input=INPUT, sampling_params={"n": 2})
    assert all(name in str(caught.value) for name in SAMPLING)
    assert "OpenAIClient(models=" in str(caught.value)


@pytest.mark.parametrize(("limit_name", "sent"), [("max_tokens", "max_tokens"), ("max_completions_tokens", "max_completion_tokens")])  # fmt: skip
def test_what_is_on_the_list_reaches_the_server_and_nothing_else(limit_name, sent):
    """Every setting of it within its bounds, the limit under the name that chat completions have for it."""
    params = {
        "top_p": 0.5,
        "seed": 7,
        "reasoning_effort": "low",
        "frequency_penalty": 0.1,
        limit_name: MAX_TOKENS,
    }
    suite = wb.loads(json.dumps(record(params)), "openai")
    with server(lambda *_: (200, {}, completion('{"result": 1.0, "steps": []}'))) as (address, requests):
        from dataclasses import replace

        judge = replace(suite.graders[0], client=OpenAIClient(address), max_tokens=9)
        assert judge(THREAD).score == 1.0
    body = requests[0][1]
    own = {"messages", "model", "temperature", "response_format"}
    expected = {name: value for name, value in params.items() if name != limit_name} | {sent: MAX_TOKENS}
    assert {name: value for name, value in body.items() if name not in own} == expected
    assert body["model"] == "gpt-4o-mini"


@pytest.mark.parametrize("params", [params for params in REFUSED if isinstance(params, dict)], ids=lambda params: json.dumps(params)[:40])  # fmt: skip
def test_what_gets_past_the_loading_does_not_get_on_the_wire(params):
    """A judge that was changed after it was made, and one of a kind of one's own, are held to the list as well."""

    class Own(wb.CriteriaJudge):
        def asked(self):
            return {**super().asked(), **params}

    changed = wb.judges.ScoreJudge(input=INPUT, model="m")
    object.__setattr__(changed, "sampling_params", params)
    with server(lambda *_: (200, {}, completion("{}"))) as (address, requests):
        for judge in (changed, Own(model="m")):
            object.__setattr__(judge, "client", OpenAIClient(address))
            grade = judge(THREAD)
            if judge is changed:
                assert grade.error is not None
                assert not requests
    own = {"logit_bias", "store"}  # they change neither who is asked nor what is paid
    allowed = {"messages", "model", "response_format", "tools", *SAMPLING, *own}
    assert all(set(body) <= allowed for _, body, _ in requests)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("rubric-judge", {"prompt": "p", "max_retries": 10**6}),
        ("rubric-judge", {"prompt": "p", "timeout": 1e9}),
        ("rubric-judge", {"prompt": "p", "max_tokens": 10**9}),
        ("criteria-judge", {"max_tokens": 10**9}),
        ("endpoint", {"url": "http://h", "timeout": 1e9}),
        ("endpoint", {"url": "http://h", "max_retries": 10**6}),
    ],
)
def test_times_and_tries_of_a_file_have_bounds(kind, fields):
    """No file makes a run wait or ask for ever."""
    with pytest.raises(FormatError, match="is out of its bounds"):
        from_spec({"kind": kind, **fields})


def test_an_agents_steps_have_a_bound():
    """An agent file does not go on for ever."""
    from tests.judges.examples import AGENT

    with pytest.raises(FormatError, match="max_steps is out of its bounds"):
        wb.AgentJudge(prompt="p", agent=AGENT, max_steps=10**9)


def test_a_client_of_ones_own_sends_what_it_says():
    """`models=` is not held to the list."""
    own = {"m": {"top_k": 3, "extra_body": {"guided": True}}}
    with server(lambda *_: (200, {}, completion("{}"))) as (address, requests):
        client = OpenAIClient(address, models=own)
        background.run(client.complete([{"role": "user", "content": "x"}], model="m"))
    assert (requests[0][1]["top_k"], requests[0][1]["guided"]) == (3, True)


@pytest.mark.parametrize("own", [{"model": "o1-pro"}, {"extra_body": {"model": "o1-pro"}}])
def test_the_model_that_is_asked_is_the_one_that_is_priced(own, monkeypatch):
    """Where a client of one's own asks another model, its price counts, and a budget in money needs that price."""
    answer = completion('{"score": 1.0, "reasoning": "fine"}')
    del answer["usage"]["cost"]
    monkeypatch.delitem(wb.judges.PRICES, "o1-pro", raising=False)
    with server(lambda *_: (200, {}, answer)) as (address, requests):
        judge = wb.CriteriaJudge(
            model="gpt-4o-mini", client=OpenAIClient(address, models={"gpt-4o-mini": own})
        )
        with pytest.raises(WorkbenchError, match="no price of 'o1-pro'"):
            judge.run([{"prompt": "a", "completion": "b"}], budget=1.0, progress=False)
        monkeypatch.setitem(wb.judges.PRICES, "o1-pro", wb.judges.Price(150.0, 600.0))
        report = judge.run([{"prompt": "a", "completion": "b"}], budget=1.0, progress=False)
    assert requests[0][1]["model"] == "o1-pro"
    assert report.frame["cost"].iloc[0] == pytest.approx((7 * 150 + 3 * 600) / 1e6)
