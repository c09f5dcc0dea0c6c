"""The endpoint grader of OpenAI and Azure: the request of Microsoft's sample."""

from workbench.deploy.serve.wire_forms.openai import OpenAi

SAMPLE = {
    "sample": {"output_json": {"expression": "(72 + 22) / (88 - 86)", "result": 47}},
    "item": {
        "messages": [
            {"role": "developer", "content": "You are an expert in arithmetic problem solving..."},
            {"role": "user", "content": "target: 47\nnumbers: [86, 22, 88, 72]"},
        ],
        "target": 47,
        "nums": [86, 22, 88, 72],
    },
}


def row(sample=None, item=None):
    sent = {"sample": sample or SAMPLE["sample"], "item": item or SAMPLE["item"], "trace_id": "trace_1"}
    (found,) = OpenAi().read(sent)
    return found


def test_a_score_comes_back(server):
    """`{"score": number}` and nothing else."""
    assert server.post("/openai", SAMPLE).json() == {"score": 0.0}


def test_the_conversation_and_the_metadata():
    """The item's messages are the prompt, its other fields the metadata."""
    thread = row().thread
    assert [turn.role for turn in thread.get_turns()] == ["developer", "user", "assistant"]
    assert thread.completion() == '{"expression": "(72 + 22) / (88 - 86)", "result": 47}'
    assert thread.metadata == {"target": 47, "nums": [86, 22, 88, 72]}


def test_where_the_completion_stands():
    """The output text before the first choice, and tool calls with either."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    choices = [
        {"index": 0, "message": {"role": "assistant", "content": "from choices", "tool_calls": [call]}}
    ]
    assert row({"output_text": "text", "choices": choices}).thread.completion() == "text"
    found = row({"choices": choices}).thread
    assert (found.completion(), [one["id"] for one in found.tool_calls()]) == ("from choices", ["c1"])
    assert [one["id"] for one in row({"output_text": "", "output_tools": [call]}).thread.tool_calls()] == [
        "c1"
    ]


def test_a_sample_without_a_completion_is_no_score(server):
    """It fails by name, and is not graded as an empty text."""
    answer = server.post("/openai", {"sample": {}, "item": {"prompt": "q"}})
    assert (answer.status_code, answer.json()["error"]["cause"]) == (422, "sample")
