"""Judges over OpenAI's Responses API, against a local server; the openai package's types check both directions."""

import json

import pytest
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

import workbench as wb
from tests.judges.examples import AGENT
from tests.judges.servers import server
from tests.judges.test_client import THREAD
from workbench.core import background
from workbench.core.errors import FormatError
from workbench.judges import AgentJudge, OpenAIClient
from workbench.judges.responses_api import chat_completion

SAID = '{"reasoning": "fine", "score": "PASS"}'
REQUEST = TypeAdapter(ResponseCreateParamsNonStreaming)


def response(*output, status="completed", **fields):
    """A response as the API sends it."""
    details = {"input_tokens": 70, "input_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 0}, "output_tokens": 30,
               "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 100}  # fmt: skip
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": list(output),
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": details, **fields}  # fmt: skip
    Response.model_validate(body)
    return body


def message(text, **fields):
    part = {"type": "output_text", "text": text, "annotations": [], **fields}
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


def refusal(text):
    return {**message(""), "content": [{"type": "refusal", "refusal": text}]}


def call(name, arguments):
    return {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "arguments": arguments}


def judge(address, **fields):
    client = OpenAIClient(f"{address}/v1", api="responses", max_retries=0)
    return wb.BinaryJudge("polite", model="m", max_tokens=90, client=client, **fields)


def test_a_judge_asks_in_the_form_of_the_responses_api(monkeypatch):
    """Path, messages, limit and schema; the reply's text, tokens and cached tokens; the server keeps nothing."""
    monkeypatch.setitem(wb.judges.PRICES, "m", wb.judges.Price(10.0, 100.0, cached_input=1.0))
    with server(lambda *_: (200, {}, response(REASONING, message(SAID)))) as (address, requests):
        grade = judge(address)(THREAD)
    path, body, _ = requests[0]
    REQUEST.validate_python(body)
    assert path == "/v1/responses"
    assert (body["store"], body["max_output_tokens"], body["temperature"]) == (False, 90, 0.0)
    assert body["text"]["format"]["type"] == "json_schema"
    assert {"name", "schema"} <= body["text"]["format"].keys()
    assert body["input"][0]["role"] == "system"
    assert not {"messages", "max_tokens", "response_format"} & body.keys()
    assert (grade.score, grade.tokens) == (1.0, 100)
    assert grade.cost == pytest.approx((20 * 10 + 50 * 1 + 30 * 100) / 1e6)


def test_an_agent_judge_calls_its_tools():
    """Calls and results are items; a call's id connects them."""
    answers = iter(
        [call("core_memory_append", "{}"), call("submit_grade", '{"score": 0.5, "rationale": "r"}')]
    )
    with server(lambda *_: (200, {}, response(next(answers)))) as (address, requests):
        client = OpenAIClient(address, api="responses")
        agent = AgentJudge(prompt="Rate.", agent=AGENT, client=client)
        grade = agent(THREAD)
    assert grade.score == 0.5, grade
    first, second = (body for _, body, _ in requests)
    REQUEST.validate_python(second)
    assert {tool["type"] for tool in first["tools"]} == {"function"}
    assert all("name" in tool and "function" not in tool for tool in first["tools"])
    kinds = [item.get("type", item.get("role")) for item in second["input"]]
    assert kinds[-2:] == ["function_call", "function_call_output"]
    assert second["input"][-1]["call_id"] == second["input"][-2]["call_id"] == "call_1"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (response(refusal("I cannot help")), "judge_refusal"),
        (response(REASONING, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "judge_cut"),
        (response(message("{"), status="incomplete", incomplete_details={"reason": "content_filter"}), "judge_refusal"),
        (response(status="failed", error={"code": "server_error", "message": "boom"}), "judge_server"),
        (response(status="queued"), "judge_server"),
        ({"object": "response", "output": "text"}, "judge_server"),
    ],
    ids=["refusal", "cut", "filter", "failed", "queued", "broken"],
)  # fmt: skip
def test_a_response_without_a_verdict_is_its_own_error(body, kind):
    """As for chat completions, and never a score."""
    with server(lambda *_: (200, {}, body)) as (address, _):
        grade = judge(address, name="j")(THREAD)
    assert (grade.score, grade.error.kind) == (None, kind)


def test_probabilities_of_tokens_weight_the_verdict():
    """They are requested with `include`, and read from the text's part."""
    tokens = [
        {"token": token, "logprob": -0.1, "bytes": [], "top_logprobs": []}
        for token in ('{"reasoning": "", "score": "',)
    ]
    top = [
        {"token": "PASS", "logprob": -0.2876820724517809},
        {"token": "FAIL", "logprob": -1.3862943611198906},
    ]
    top = [{**one, "bytes": []} for one in top]
    tokens += [{"token": "PASS", "logprob": -0.28, "bytes": [], "top_logprobs": top}]
    tokens += [{"token": '"}', "logprob": 0.0, "bytes": [], "top_logprobs": []}]
    said = message('{"reasoning": "", "score": "PASS"}', logprobs=tokens)
    with server(lambda *_: (200, {}, response(said))) as (address, requests):
        grade = judge(address, logprobs=True)(THREAD)
    REQUEST.validate_python(requests[0][1])
    assert requests[0][1]["include"] == ["message.output_text.logprobs"]
    assert grade.score == pytest.approx(0.75)


def test_a_simpler_format_is_tried():
    """A model without JSON schema is asked for a JSON object, then for text."""

    def answer(_path, body, _headers):
        if "text" in body:
            return 400, {}, {"error": {"message": "Unsupported parameter: 'text.format'"}}
        return 200, {}, response(message(SAID))

    with server(answer) as (address, requests):
        assert judge(address)(THREAD).score == 1.0
    formats = [body.get("text", {}).get("format", {}).get("type") for _, body, _ in requests]
    assert formats == ["json_schema", "json_object", None]


@pytest.mark.parametrize("setting", [{"seed": 3}, {"frequency_penalty": 0.5}])
def test_a_setting_that_the_api_lacks_is_refused(setting):
    """Before it is sent: a judge that is sampled otherwise would be another judge."""
    (name,) = setting
    with server(lambda *_: (200, {}, response(message(SAID)))) as (address, requests):
        client = OpenAIClient(address, api="responses")
        with pytest.raises(FormatError, match=f"the Responses API has no {name}"):
            background.run(client.complete([{"role": "user", "content": "x"}], model="m", **setting))
    assert not requests


def test_replies_of_both_apis_are_stored_apart():
    """A client that changes its API asks again; an address that already has the path is refused."""
    assert OpenAIClient("http://a/v1", api="responses").content("m") != OpenAIClient("http://a/v1").content(
        "m"
    )
    with pytest.raises(FormatError, match="ends before /responses"):
        OpenAIClient("http://a/v1/responses", api="responses")
    with pytest.raises(FormatError, match="unknown api"):
        OpenAIClient("http://a/v1", api="realtime")


def test_what_is_no_response_is_left_as_it_is():
    """So that a page or another server's error is reported as such."""
    for body in (None, "<html>", [], {"error": {"message": "no"}}, {"choices": []}):
        assert chat_completion(body) == body
    assert json.dumps(chat_completion(response(message("hi")))).count("hi") == 1
