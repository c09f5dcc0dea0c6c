"""Letta's grader document: every suite fragment loads and runs as printed."""

import json

import pytest

import workbench as wb
from tests.seeds.blocks import block, blocks
from workbench.judges import Reply

AGENT = {
    "agents": [{"system": "You judge.", "llm_config": {"model": "gpt-4o-mini"}, "tool_ids": ["tool-1"]}],
    "tools": [
        {
            "id": "tool-1",
            "name": "submit_grade",
            "source_code": "def submit_grade(score: float, rationale: str):\n    '''score: 0..1, rationale: why'''\n",
            "json_schema": {"name": "submit_grade", "parameters": {"type": "object", "properties": {}}},
        }
    ],
}


@pytest.fixture
def folder(tmp_path):
    """The files the document's fragments name."""
    for name in ("rubric.txt", "quality_rubric.txt", "completeness_rubric.txt"):
        (tmp_path / name).write_text(block("letta", "Rubric Prompt Format"))
    (tmp_path / "judge.af").write_text(json.dumps(AGENT))
    return tmp_path


def suite_of(text, folder):
    path = folder / "suite.yaml"
    path.write_text(text)
    return wb.load(path)


@pytest.mark.parametrize(("under", "text"), blocks("letta", "yaml"))
def test_every_fragment_loads(under, text, folder):
    """As printed, comments and all, the platform found out."""
    assert len(suite_of(text, folder)) >= 1, under


@pytest.mark.parametrize(
    ("under", "said", "truth", "score"),
    [
        ("exact_match", " Paris ", "Paris", 1.0),
        ("exact_match", "paris", "Paris", 0.0),
        ("contains", "It is PARIS.", "paris", 1.0),
        ("regex_match", "id 123e4567-e89b-12d3-a456-426614174000", None, 1.0),
        ("regex_match", "none", None, 0.0),
        ("ascii_printable_only", "plain", None, 1.0),
        ("ascii_printable_only", "caf\u00e9", None, 0.0),
    ],
)
def test_built_in_functions(under, said, truth, score, folder):
    """The four functions on a submission."""
    suite = suite_of(block("letta", under, language="yaml"), folder)
    truth = truth or json.loads(block("letta", "regex_match", language="json"))["ground_truth"]
    sample = wb.Sample("0", wb.StringThread([("user", "q"), ("assistant", said)], {}), truth, "0")
    assert suite(sample).score == score


def test_tool_arguments_are_graded(folder):
    """Multi-metric and extractor configuration: each grader looks at its own part."""
    suite = suite_of(block("letta", "Multi-Metric Configuration"), folder)
    assert [entry.name for entry in suite.entries] == ["accuracy", "completeness", "tool_usage"]
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "done"},
    ]
    sample = wb.Sample("0", wb.StringThread.from_messages(messages, {}), '{"q": "x"}', "0")
    assert suite["tool_usage"](sample).score == 1.0
    assert (
        suite_of(block("letta", "Extractor Configuration", at=1), folder)["tool_check"](sample).score == 1.0
    )


def test_rubric_prompt_and_answer(folder):
    """The rubric file is the prompt, the structured answer the grade."""
    suite = suite_of(block("letta", "Basic Configuration"), folder)
    judge = suite["quality"]
    sample = wb.Sample("0", wb.StringThread([("user", "2+2?"), ("assistant", "4")], {}), "4", "0")
    prompt = "\n".join(message["content"] for message in judge.preview(sample))
    assert "Accuracy: Does it correctly answer the question?" in prompt
    assert "2+2?" in prompt
    client = wb.ScriptedClient([block("letta", "Structured Output")])
    grade = wb.RubricJudge(prompt=judge.prompt, platform="letta", client=client)(sample)
    assert grade.score == 0.85
    assert grade.reasoning.startswith("The response is accurate")


def test_model_configuration(folder):
    """Every setting of the model block is taken."""
    judge = suite_of(block("letta", "Model Configuration"), folder)["quality"]
    assert (judge.model, judge.temperature, judge.provider, judge.max_retries, judge.timeout) == (
        "gpt-4o-mini", 0.0, "openai", 5, 120.0,
    )  # fmt: skip


def test_agent_as_judge(folder):
    """The agent file is read, with its tool."""
    judge = suite_of(block("letta", "Rubric Graders", at=1), folder)["agent_judge"]
    assert isinstance(judge, wb.AgentJudge)
    assert judge.judge_tool_name == "submit_grade"


def count(text: str) -> int:
    """Count words."""
    return len(text.split())


def test_an_agent_judge_runs_its_tools_and_hands_its_grade_in(folder):
    """The agent calls a tool of its own, which runs in the sandbox, then `submit_grade`; both stand in the metadata."""
    judge = suite_of(block("letta", "Rubric Graders", at=1), folder)["agent_judge"]
    asked = []

    def agent(messages):
        asked.append(messages)
        name, arguments = (
            ("submit_grade", {"score": 0.75, "rationale": "fine"})
            if len(asked) > 1
            else ("count", {"text": "a b"})
        )
        call = {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        return Reply("", raw={"tool_calls": [call], "finish_reason": "tool_calls"})

    own = wb.AgentJudge.with_tools(
        [count],
        model="m",
        system="You judge.",
        prompt=judge.prompt,
        platform="letta",
        client=wb.ScriptedClient(agent),
    )
    grade = own(wb.StringThread([("user", "q"), ("assistant", "a b")]))
    assert (grade.score, grade.reasoning) == (0.75, "fine")
    assert asked[1][-1]["content"] == "2"
