"""NeMo Gym's verifier: bodies as its agents send them, answers as `BaseVerifyResponse` reads them."""

import json

import pytest

from workbench.deploy.serve.wire_forms.nemo_gym import NemoGymVerify

CALL = {"type": "function_call", "name": "add", "arguments": '{"a": 2}', "call_id": "c1", "id": "f1"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "4"}


def body(text, *, input="What is 2+2?", before=(), **more):  # noqa: A002 (Gym's name)
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }  # fmt: skip
    response = {"id": "resp_1", "object": "response", "model": "policy", "output": [*before, message]}
    return {"responses_create_params": {"input": input}, "response": response, **more}


def row(**settings):
    (found,) = NemoGymVerify().read(body("4", **settings))
    return found


def test_the_answer_is_the_request_with_a_reward(server):
    """Everything sent comes back, as Gym's base response wants it."""
    sent = body("4", expected="4", task="t")
    answer = server.post("/verify", sent).json()
    assert {key: answer[key] for key in sent} == sent
    assert (answer["reward"], answer["mask_sample"], answer["failure_kind"]) == (1.0, False, None)
    assert type(answer["reward"]) is float


@pytest.mark.parametrize(
    ("text", "kind"),
    [("boom", "workbench:runtime"), ("loop", "workbench:timeout"), ("crash", "workbench:crash")],
)
def test_a_row_without_a_score_is_masked(text, kind, server, lenient):
    """It is kept out of training and metrics, with its kind in a form Gym allows, whatever number others asked for."""
    for running in (server, lenient):
        answer = running.post("/verify", body(text)).json()
        assert (answer["reward"], answer["mask_sample"], answer["failure_kind"]) == (0.0, True, kind)
        assert answer["failure_reason"].startswith(kind.removeprefix("workbench:"))


def test_items_are_the_conversation():
    """Instructions, messages, calls and their outputs are turns; reasoning is left out."""
    reasoning = {"type": "reasoning", "id": "r1", "summary": []}
    found = row(input=[{"role": "user", "content": "add"}], before=[reasoning, CALL, OUTPUT])
    assert [turn.role for turn in found.thread.get_turns()] == ["user", "assistant", "tool", "assistant"]
    (call,) = found.thread.tool_calls()
    assert json.loads(json.dumps(call))["function"]["name"] == "add"
    assert found.thread.completion() == "4"


@pytest.mark.parametrize("output", [[], [{"type": "reasoning", "id": "r1", "summary": []}]])
def test_a_policy_that_said_nothing_gave_an_empty_answer(output):
    """It is graded as one, not as a conversation that nobody answered."""
    sent = body("4")
    sent["response"]["output"] = output
    (found,) = NemoGymVerify().read(sent)
    assert found.thread.completion() == ""


def test_further_keys_are_metadata():
    """Also those of `verifier_metadata`; the reference has a usual name."""
    found = row(verifier_metadata={"expected": "4", "level": 2}, source="gsm")
    assert found.reference == "4"
    assert (found.thread.metadata["level"], found.thread.metadata["source"]) == (2, "gsm")


def test_a_session_needs_nothing(server):
    """Gym's agents seed a session before they begin."""
    assert server.post("/seed_session", {"responses_create_params": {"input": []}}).json() == {}
