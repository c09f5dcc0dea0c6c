"""One judge of every kind, with a client that always has a fitting answer."""

import json

from workbench.judges import (
    AgentJudge,
    AnswerRelevancyJudge,
    BinaryJudge,
    ContextRelevancyJudge,
    CriteriaJudge,
    Endpoint,
    FaithfulnessJudge,
    GuardrailJudge,
    LabelJudge,
    Reply,
    RowRubric,
    RubricJudge,
    SchemaJudge,
    ScoreJudge,
    ScriptedClient,
)
from workbench.judges.kinds.pairwise import PairwiseJudge

SUBMIT = "def submit_grade(score: float, rationale: str):\n    '''Hand in.'''\n"
AGENT = {
    "agents": [{"id": "a", "system": "You judge.", "llm_config": {"model": "gpt-4.1-mini"}, "block_ids": ["b"]}],
    "blocks": [{"id": "b", "label": "persona", "value": "Strict."}, {"id": "c", "label": "other", "value": "hidden"}],
    "tools": [
        {"name": "submit_grade", "source_code": SUBMIT, "json_schema": {"name": "submit_grade", "parameters": {"type": "object"}}},
        {"name": "web_search", "source_code": "def web_search(q: str):\n    return f'nothing about {q}'\n"},
        {"name": "core_memory_append", "source_code": None, "tool_type": "letta_memory_core"},
        {"name": "send_message", "source_code": None},
    ],
}  # fmt: skip


def tool_call_reply(name, arguments, text=""):
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return Reply(text, raw={"tool_calls": [call], "finish_reason": "tool_calls"})


SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["score"],
}
SCORED = '{"score": 1.0, "reasoning": "good", "rationale": "good"}'
ONE = {"score": 1, "reason": "r", "reasoning": "r"}
CLAIM = {"claim": "c", "reason": "r", "document": 0, "quote": "D", "supported": True, "relevant": True}
CLAIMS = {"claims": [CLAIM]}
MESSAGES = [{"role": "user", "content": "Rate {{sample.output_text}}"}]

EXAMPLES = {
    "binary-judge": lambda: BinaryJudge(criteria="is right", client=ScriptedClient('{"reasoning": "r", "score": "PASS"}')),
    "rubric-judge": lambda: RubricJudge(prompt="Rate it.", pass_threshold=0.5, client=ScriptedClient(SCORED)),
    "criteria-judge": lambda: CriteriaJudge(client=ScriptedClient(SCORED)),
    "guardrail-judge": lambda: GuardrailJudge(client=ScriptedClient('{"safetyScore": 0.1}')),
    "schema-judge": lambda: SchemaJudge(prompt="{{response}}", output_schema=SCHEMA, client=ScriptedClient(SCORED)),
    "score-judge": lambda: ScoreJudge(input=MESSAGES, scale=(0, 10), client=ScriptedClient('{"result": 7, "steps": []}')),
    "label-judge": lambda: LabelJudge(
        input=MESSAGES, labels=["good", "bad"], passing_labels=["good"], client=ScriptedClient('{"result": "good"}')
    ),
    "faithfulness": lambda: FaithfulnessJudge(client=ScriptedClient(json.dumps(CLAIMS))),
    "answer-relevancy": lambda: AnswerRelevancyJudge(client=ScriptedClient(json.dumps(CLAIMS))),
    "context-relevancy": lambda: ContextRelevancyJudge(client=ScriptedClient(json.dumps(ONE))),
    "pairwise-judge": lambda: PairwiseJudge(
        against="style", client=ScriptedClient('{"reasoning": "r", "verdict": "A"}')
    ),
    "row-rubric": lambda: RowRubric(
        "style", client=ScriptedClient('{"criteria": [{"number": 1, "reason": "r", "met": true}]}')
    ),
    "agent-judge": lambda: AgentJudge(
        prompt="Rate it.", agent=AGENT, client=ScriptedClient(tool_call_reply("submit_grade", '{"score": 0.5, "rationale": "r"}'))
    ),
    # Nobody listens on port 9: every row is a failed grade.
    "endpoint": lambda: Endpoint(url="http://127.0.0.1:9", timeout=5, max_retries=0),
}  # fmt: skip
