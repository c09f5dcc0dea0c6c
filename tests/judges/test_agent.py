"""The agent judge: tools that run in the sandbox, and a grade that is handed in by a call."""

import json
from dataclasses import replace

import pytest

import workbench as wb
from tests.judges.examples import AGENT, SUBMIT, tool_call_reply
from workbench.core.errors import FormatError, IsolationError
from workbench.graders.base import from_spec
from workbench.judges import AgentJudge, Reply, ScriptedClient
from workbench.judges.kinds.agent_tools import MAX_CALLS, MAX_RESULT, tool_record
from workbench.sandbox.host.pool import Pool

THREAD = wb.StringThread(
    [("user", "Q1"), ("assistant", "A1"), ("user", "Q2"), ("assistant", "The answer")],
    {"style": "short", "rubric_vars": {"style": "short"}},
)
SUBMITTED = tool_call_reply("submit_grade", '{"score": 1, "rationale": "r"}')
AGENT_JUDGE = AgentJudge(prompt="Rate {style}.", rubric_vars=["style"], agent=AGENT)


def agent(*sources, **more):
    """An agent file with tools of these sources, named by their first function."""
    tools = [
        {"name": text.partition("def ")[2].partition("(")[0], "source_code": text}
        for text in (SUBMIT, *sources)
    ]
    return {"agents": [{"system": "S", "llm_config": {"model": "m"}, **more}], "tools": tools}


def judge(*sources, replies=(), **fields):
    return AgentJudge(
        prompt="p", agent=agent(*sources), client=ScriptedClient([*replies, SUBMITTED]), **fields
    )


def tool_results(agent_judge):
    """What the tools answered the model, after the judge has graded."""
    grade = agent_judge(THREAD)
    assert grade.score == 1.0, grade
    return [message["content"] for message in agent_judge.client.calls[-1][0] if message["role"] == "tool"]


def test_agent_prompt():
    """The agent's system prompt, its own memory and model, all tools offered, and the tool named in the question."""
    system, user = AGENT_JUDGE.preview(THREAD)
    assert system["content"] == "You judge.\n\n<persona>\nStrict.\n</persona>"
    assert "Rate short." in user["content"]
    assert "calling the tool submit_grade" in user["content"]
    settings = AGENT_JUDGE.request_settings()
    assert (settings["model"], settings["response_format"]) == ("gpt-4.1-mini", None)
    offered = [tool["function"]["name"] for tool in settings["tools"]]
    assert offered == ["submit_grade", "web_search", "core_memory_append", "send_message"]


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        ([tool_call_reply("submit_grade", '{"score": 0.5, "rationale": "r"}')], 0.5),
        ([tool_call_reply("send_message", "{}"), tool_call_reply("submit_grade", '{"score": 1}')], 1.0),
        (["just text", tool_call_reply("submit_grade", '{"score": 1}')], 1.0),
        (["just text", "and more"], "no submit_grade call"),
        ([tool_call_reply("submit_grade", '{"score": 0.5, "rationale": "one\ntwo\tthree"}')], 0.5),
        ([tool_call_reply("submit_grade", "{broken")], "not a JSON object"),
        ([tool_call_reply("submit_grade", "[]")], "not a JSON object"),
        ([tool_call_reply("submit_grade", '{"rationale": "r"}')], "must be a number"),
        ([tool_call_reply("submit_grade", '{"score": 3}')], "outside"),
        ([tool_call_reply("submit_grade", '{"score": NaN}')], "finite"),
        ([tool_call_reply("send_message", "{}")] * 3, "within 3 replies"),
        ([Reply("", raw={"refusal": "no"})], "refused"),
        ([Reply("I", raw={"finish_reason": "length"})], "truncated"),
    ],
)
def test_agents_hand_in_by_a_call(replies, outcome):
    """The first call of the judge's tool is the grade; all else is a failed grade that says why."""
    agent_judge = AgentJudge(prompt="p", agent=AGENT, max_steps=3, client=ScriptedClient(replies))
    grade = agent_judge(THREAD)
    assert outcome == grade.score if isinstance(outcome, float) else outcome in grade.error.message
    assert len(agent_judge.client.calls) == len(replies)


def test_two_grades_that_differ_are_none():
    """An agent that hands in twice in one reply must agree with itself; a key twice is no grade, as in any judge."""
    one_grade, another_grade, same = (
        tool_call_reply("submit_grade", f'{{"score": {score}, "rationale": "r"}}').tool_calls[0]
        for score in (0.25, 1, 0.25)
    )
    both = judge(replies=[Reply("", raw={"tool_calls": [one_grade, another_grade]})])(THREAD)
    assert (both.score, both.error.kind) == (None, "judge_parse")
    assert "0.25 and 1" in both.error.message
    assert judge(replies=[Reply("", raw={"tool_calls": [one_grade, same]})])(THREAD).score == 0.25
    twice = judge(replies=[tool_call_reply("submit_grade", '{"score": 0.1, "score": 1.0}')])(THREAD)
    assert (twice.score, twice.error.kind) == (None, "judge_parse")
    letta = judge(replies=[Reply("", raw={"tool_calls": [one_grade, another_grade]})], platform="letta")(
        THREAD
    )
    assert letta.score == 0.25


def test_tools_really_run():
    """A file's tool runs with the model's arguments, and its result goes back under the call's id; runs are noted."""
    agent_judge = AgentJudge(
        prompt="p",
        agent=AGENT,
        client=ScriptedClient([tool_call_reply("web_search", '{"q": "Paris"}'), SUBMITTED]),
    )
    grade = agent_judge(THREAD)
    question, answer = agent_judge.client.calls[1][0][-2:]
    assert question["tool_calls"][0]["function"]["name"] == "web_search"
    assert answer == {"role": "tool", "tool_call_id": "1", "content": "nothing about Paris"}
    assert (grade.metadata["tool_runs"], grade.metadata["tools"]) == (1, ["web_search"])


def test_a_tool_takes_arguments_with_raw_control_characters():
    """Models put raw line breaks into strings; what they mean reaches the tool."""
    source = "def f(text):\n    return text.split()\n"
    agent_judge = judge(source, replies=[tool_call_reply("f", '{"text": "one\ntwo\u0001three"}')])
    assert tool_results(agent_judge) == ['["one", "two\\u0001three"]']


@pytest.mark.parametrize(
    ("source", "arguments", "result"),
    [
        ("def f(a: int, b: int = 2):\n    return a + b\n", {"a": 1}, "3"),
        ("async def f(x):\n    return {'ä': x}\n", {"x": [1, None]}, '{"ä": [1, null]}'),
        ("def f():\n    return None\n", {}, "null"),
        ("def f():\n    return {1, 1}\n", {}, "{1}"),
        ("def f(**rest):\n    return sorted(rest)\n", {"request_heartbeat": True, "a": 1}, '["a", "request_heartbeat"]'),
        ("def f(a):\n    return a\n", {"a": "x", "request_heartbeat": True}, "x"),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f(x):\n    return P(x).x\n", {"x": 5}, "5"),
        ("def grade(sample, submission):\n    return 9\ndef f():\n    return grade(1, 2)\n", {}, "9"),
        ("def f(n):\n    return f(n - 1) + 'a' if n else ''\n", {"n": 3}, "aaa"),
    ],
)  # fmt: skip
def test_what_tools_give(source, arguments, result):
    """Text as it is, the rest as JSON or as Python writes it; Letta's own arguments are kept from who takes none."""
    agent_content = agent(source)
    agent_content["tools"][-1]["name"] = "f"
    call = tool_call_reply("f", json.dumps(arguments))
    assert tool_results(
        AgentJudge(prompt="p", agent=agent_content, client=ScriptedClient([call, SUBMITTED]))
    ) == [result]


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("fails", "{}", "failed: KeyError: 'x'"),
        ("slow", "{}", "took too long"),
        ("dies", "{}", "failed: "),
        ("leaves", "{}", "SystemExit"),
        ("hungry", "{}", "emory"),
        ("reads", "{}", "failed: "),
        ("asks", "{}", "failed: "),
        ("needs", "{}", "needs"),
        ("fails", "{broken", "one JSON object"),
        ("fails", "[1]", "one JSON object"),
        ("nope", "{}", "there is no tool 'nope'"),
        ("core_memory_append", "{}", "cannot run here: its source is not in its file"),
        ("large", "{}", "cannot run here: its source is too large"),
        ("misnamed", "{}", "defines no function misnamed"),
        ("broken", "{}", "SyntaxError"),
    ],
)
def test_a_tool_that_fails_answers_the_model(name, arguments, part):
    """Whatever goes wrong with a tool is told to the model as text, and the agent goes on to its grade."""
    agent_content = agent(
        "def fails():\n    raise KeyError('x')\n",
        "def slow():\n    while True: pass\n",
        "import os\ndef dies():\n    os.kill(os.getpid(), 9)\n",
        "def leaves():\n    raise SystemExit('bye')\n",
        "def hungry():\n    return bytes(10**10)\n",
        "def reads():\n    return open('/etc/passwd').read()\n",
        "import socket\ndef asks():\n    return socket.create_connection(('127.0.0.1', 9))\n",
        "def needs(x):\n    return x\n",
        "def large():\n    return 1\n" + "#" * 70_000,
        "def other():\n    return 1\n",
        "def broken(:\n",
    )
    agent_content["tools"][-2]["name"] = "misnamed"
    agent_content["tools"].append({"name": "core_memory_append", "source_code": None})
    client = ScriptedClient([tool_call_reply(name, arguments), SUBMITTED])
    (answer,) = tool_results(AgentJudge(prompt="p", agent=agent_content, tool_timeout=1, client=client))
    assert answer.startswith("Error: ")
    assert part in answer


def test_a_tools_answer_has_a_bound():
    """A result and an error of any length are cut, and say so."""
    agent_judge = judge(
        "def much():\n    return 'x' * 10**6\n",
        "def loud():\n    raise ValueError('y' * 10**6)\n",
        replies=[tool_call_reply("much", "{}"), tool_call_reply("loud", "{}")],
    )
    long_text, loud = tool_results(agent_judge)
    assert len(long_text) < MAX_RESULT + 50
    assert "990,000 characters more" in long_text
    assert len(loud) <= MAX_RESULT


def test_several_calls_of_one_reply_are_all_answered():
    """Each call has its answer, in the order of the calls, whatever becomes of the others."""
    calls = [
        {"id": str(at), "type": "function", "function": {"name": name, "arguments": json.dumps({"x": at})}}
        for at, name in enumerate(["echo", "nope", "echo", "send_message"])
    ]
    agent_judge = judge("def echo(x):\n    return x\n", replies=[Reply("", raw={"tool_calls": calls})])
    answers = tool_results(agent_judge)
    assert answers[0::2] == ["0", "2"]
    assert "no tool" in answers[1]
    assert answers[3] == "OK"
    assert [m["tool_call_id"] for m in agent_judge.client.calls[1][0] if m["role"] == "tool"] == list("0123")


def test_a_flood_of_calls_is_cut():
    """Every call has an answer, and those beyond the bound are told that they were not run."""
    call = tool_call_reply("send_message", "{}").tool_calls[0]
    calls = [{**call, "id": str(at)} for at in range(MAX_CALLS + 2)]
    answers = tool_results(judge(replies=[Reply("", raw={"tool_calls": calls})]))
    assert answers[:MAX_CALLS] == ["OK"] * MAX_CALLS
    assert all("only 32 calls" in answer for answer in answers[MAX_CALLS:])
    assert len(answers) == MAX_CALLS + 2


def test_nothing_is_kept_between_calls():
    """Each call starts anew: a tool's globals are those of its file."""
    source = "seen = []\ndef count():\n    seen.append(1)\n    return len(seen)\n"
    assert tool_results(judge(source, replies=[tool_call_reply("count", "{}")] * 2)) == ["1", "1"]


def test_what_was_run_is_noted_on_failures_too():
    """A grade that was never handed in still says which tools were called."""
    agent_judge = AgentJudge(
        prompt="p", agent=AGENT, max_steps=2, client=ScriptedClient(tool_call_reply("web_search", '{"q": 1}'))
    )
    assert agent_judge(THREAD).metadata["tools"] == ["web_search", "web_search"]


def test_a_strangers_tools_run_confined_or_not_at_all(monkeypatch, tmp_path):
    """A file's tools are imported: without the kernel's locks they do not run, and a run says so before it starts."""
    path = tmp_path / "judge.af"
    path.write_text(json.dumps(agent("def f():\n    return 'ran'\n")))
    weak = Pool(layers=("rlimits",))
    monkeypatch.setattr("workbench.graders.code.pool", lambda: weak)
    try:
        agent_judge = AgentJudge.from_file(
            path, prompt="p", client=ScriptedClient([tool_call_reply("f", "{}"), SUBMITTED])
        )
        with pytest.raises(IsolationError, match="imported"):
            agent_judge.check_ready()
        grade = agent_judge(THREAD)
        assert (grade.score, grade.error.kind) == (None, "sandbox")
        second_client = ScriptedClient([tool_call_reply("f", "{}"), SUBMITTED])
        trusted = replace(AgentJudge.from_file(path, prompt="p", trust=True), client=second_client)
        trusted.check_ready()
        assert tool_results(trusted) == ["ran"]
        changed = agent("def f():\n    return 'other'\n")
        assert not replace(trusted, agent=changed).trust
    finally:
        weak.close()


def test_files_count_as_imported(tmp_path):
    """From the native format and from Letta's, the tools are somebody else's, whatever the file says; trust is asked."""
    mine = AgentJudge(prompt="p", agent=AGENT)
    assert not mine.imported
    wb.save([mine], tmp_path / "g.json")
    for trust in (False, True):
        (loaded,) = wb.load(tmp_path / "g.json", trust=trust).graders
        assert (loaded.imported, loaded.trust, loaded) == (True, trust, mine)
    path = wb.export(replace(mine, model=""), tmp_path / "s.yaml", "letta")
    (loaded,) = wb.load(tmp_path / "s.yaml").graders
    assert (loaded.imported, loaded.trust) == (True, False), path


BONUS = 3


def count_words(text: str, least: int | None = None, *, kind: str = "all") -> int:  # noqa: D417
    """How many words a text has.

    Args:
        text: The text to
            count in.
        least: Fewer are none.
    """
    found = len(text.split()) + BONUS
    return found if least is None or found >= least else 0


def test_own_functions_as_tools():
    """Functions of one's own are captured with what they read, and offered by their signature and docstring."""
    agent_judge = AgentJudge.with_tools(
        [count_words], model="m", system="Be strict.", prompt="p",
        client=ScriptedClient([tool_call_reply("count_words", '{"text": "a b", "least": 2}'), SUBMITTED]),
    )  # fmt: skip
    assert tool_results(agent_judge) == ["5"]
    assert agent_judge.preview(THREAD)[0] == {"role": "system", "content": "Be strict."}
    offered = agent_judge.request_settings()["tools"][0]["function"]
    assert (offered["name"], offered["description"]) == ("count_words", "How many words a text has.")
    assert offered["parameters"] == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text to count in."},
            "least": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "Fewer are none."},
            "kind": {"type": "string"},
        },
        "required": ["text"],
    }
    assert from_spec(json.loads(json.dumps(agent_judge.spec()))) == agent_judge
    assert not agent_judge.imported


def starred(*words):
    return words


def test_tools_that_cannot_be_offered():
    """Parameters without a name each, and functions that cannot travel, are refused by name."""
    with pytest.raises(FormatError, match="words"):
        tool_record(starred)
    with pytest.raises(FormatError, match="a lambda"):
        tool_record(lambda: 1)


def test_agents_under_lettas_rules():
    """A missing score is 0.0, others are clamped, and an answer in text is the end, as there."""
    for arguments, score in (("{}", 0.0), ('{"score": 3}', 1.0), ('{"score": "0.25"}', 0.25)):
        client = ScriptedClient(tool_call_reply("submit_grade", arguments))
        assert AgentJudge(prompt="p", agent=AGENT, platform="letta", client=client)(THREAD).score == score
    client = ScriptedClient(["text", SUBMITTED])
    assert (
        AgentJudge(prompt="p", agent=AGENT, platform="letta", client=client)(THREAD).error.kind
        == "judge_parse"
    )


def test_older_agent_files():
    """A file that is the agent itself works too."""
    old = {
        "system": "S",
        "llm_config": {"model": "m"},
        "tools": [{"name": "submit_grade", "source_code": SUBMIT}],
    }
    assert AgentJudge(prompt="p", agent=old).preview(THREAD)[0]["content"] == "S"


def test_only_the_agents_own_tools():
    """A file's tools that the agent does not list are not offered."""
    agent_content = agent("def f():\n    return 1\n", tool_ids=["a"])
    agent_content["tools"][0]["id"], agent_content["tools"][1]["id"] = "a", "b"
    assert [
        tool["function"]["name"]
        for tool in AgentJudge(prompt="p", agent=agent_content).request_settings()["tools"]
    ] == ["submit_grade"]


@pytest.mark.parametrize("text", [None, "{", "[1]", "[" * 100_000])
def test_files_that_are_none(tmp_path, text):
    """A missing file, and one that holds no agent, say so with their path or part."""
    path = tmp_path / "x.af"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FormatError):
        AgentJudge.from_file(path, prompt="p")
