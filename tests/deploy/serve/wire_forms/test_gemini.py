"""Gemini's Cloud Run reward: the request that Google's reference shows."""

from workbench.deploy.serve.wire_forms.gemini import Gemini

DOCUMENTED = {
    "example": {
        "contents": [{"role": "user", "parts": [{"text": "What is the capital of France?"}]}],
        "references": {"answer": "Paris"},
    },
    "response": {"parts": [{"text": "London"}]},
    "metadata": {"step": 1, "tuning_job_id": 123456789},
}


def row(**changes):
    (found,) = Gemini().read({**DOCUMENTED, **changes})
    return found


def test_the_documented_request(server):
    """A reward, and nothing that the protocol does not have."""
    assert server.post("/gemini", DOCUMENTED).json() == {"reward": 0.0}
    right = {**DOCUMENTED, "response": {"parts": [{"text": "Paris"}]}}
    assert server.post("/gemini", right).json() == {"reward": 1.0}


def test_references_and_metadata_are_metadata():
    """The reference is the one with a usual name, or the only one."""
    found = row()
    assert found.reference == "Paris"
    assert found.thread.metadata["tuning_job_id"] == 123456789
    assert row(example={"contents": [], "references": {"city": "Paris"}}).reference == "Paris"
    assert row(example={"contents": [], "references": {"a": "1", "b": "2"}}).reference is None


def test_the_conversation():
    """System instruction, roles, several parts; thoughts are no part of the completion, function calls are tool calls."""
    example = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
            {"role": "model", "parts": []},
        ],
    }
    parts = [
        {"text": "hm", "thought": True}, {"text": "Lon"}, {"text": "don"},
        {"functionCall": {"name": "look", "args": {"x": 1}}},
    ]  # fmt: skip
    thread = row(example=example, response={"role": "model", "parts": parts}).thread
    turns = [(turn.role, turn.content) for turn in thread.get_turns()]
    assert turns == [("system", "Be brief."), ("user", "ab"), ("assistant", ""), ("assistant", "London")]
    assert [call["function"]["name"] for call in thread.tool_calls()] == ["look"]


def test_no_parts_are_no_answer(server):
    """Nothing is made up from the empty text; an empty text is an answer."""
    for response in ({"parts": []}, {}):
        answered = server.post("/gemini", {**DOCUMENTED, "response": response})
        assert answered.status_code == 422, answered.text
        assert "None" in answered.text
    assert server.post("/gemini", {**DOCUMENTED, "response": {"parts": [{"text": ""}]}}).json() == {
        "reward": 0.0
    }
