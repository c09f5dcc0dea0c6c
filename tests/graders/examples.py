"""One grader of every kind, and more configurations of some: what tests over all kinds run.

`EXAMPLES` maps every registered kind to a factory of one grader; `ALTERNATIVES` maps a kind to factories of
others; `SUITES` are several graders with a rule or a gate. Judges have a `ScriptedClient`: nothing is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

import workbench as wb
from tests.graders.code_examples import CODE_EXAMPLES
from workbench.graders import KINDS
from workbench.judges.kinds.pairwise import PairwiseJudge

__all__ = ["ALTERNATIVES", "ANSWERS", "EXAMPLES", "SUITES", "half", "scripted"]

Factory = Callable[[], wb.Grader]

FUNCTION = '''from __future__ import annotations

import re
from workbench import StringThread


async def grade(thread: StringThread) -> float:
    """Half a point for a digit, half for the word the row expects."""
    said = thread.completion() or ""
    expected = str((thread.metadata or {}).get("reference", "4"))
    return 0.5 * bool(re.search(r"\\d", said)) + 0.5 * (expected in said)
'''
CONVERSATION = """async def grade(thread):
    return float(len(thread.messages()) + sum(turn.role == "tool" for turn in thread.get_turns()))
"""
LETTA = """from letta_evals.decorators import grader
from letta_evals.models import GradeResult, Sample


@grader
def mentions(sample: Sample, submission: str) -> GradeResult:
    found = bool(sample.ground_truth) and str(sample.ground_truth) in submission
    return GradeResult(score=float(found), rationale="looked")
"""
OPENAI = """def grade(sample, item):
    return float(str(item.get("reference", "4")) in sample["output_text"])
"""
OSMOSIS = """from osmosis_ai.utils import osmosis_reward


@osmosis_reward
def reward(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
    return float(bool(ground_truth) and ground_truth in solution_str)
"""
ROLLOUT = """from osmosis_ai.rollout import Grader, GraderContext


class Mentions(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for sample_id, sample in ctx.samples.items():
            said = str(sample.messages[-1].get("content"))
            ctx.set_sample_reward(sample_id, float(str(ctx.label) in said))
"""
SCRIPT = """function grade(input) {
  return input.response.includes("4") ? 1.0 : input.toolCalls.length ? 0.5 : 0.0;
}
"""
AGENT = {
    "agents": [{"system": "You judge.", "llm_config": {"model": "gpt-4o-mini"}, "tool_ids": ["tool-1"]}],
    "tools": [
        {
            "id": "tool-1",
            "name": "submit_grade",
            "source_code": "def submit_grade(score: float, rationale: str):\n    '''score: 0..1'''\n",
            "json_schema": {"name": "submit_grade", "parameters": {"type": "object", "properties": {}}},
        }
    ],
}
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}, "reasoning": {"type": "string"}},
    "required": ["score"],
}
MESSAGES = (
    {"role": "system", "content": "Be fair."},
    {"role": "user", "content": "Rate {{sample.output_text}} for {{item.topic}}"},
)
_CALL = {"function": {"name": "submit_grade", "arguments": '{"score": 0.25, "rationale": "so so"}'}}


def _verdicts(key: str, label: str) -> Callable[[Any], str]:
    """Claims, the first good and the other not; where statements are numbered, a verdict on each of them."""

    def answer(messages: Any) -> str:
        asked = str(messages[-1]["content"])
        count = sum(f"\n{number}: " in asked for number in range(50))
        parts = [{"statement_idx": at, "score": "1" if at == 0 else "0"} for at in range(max(count, 1))]
        claims = [{"claim": f"c{at}", "reason": "r", label: at == 0} for at in range(2)]
        return json.dumps({key: parts, "claims": claims})

    return answer


ANSWERS: Mapping[str, Any] = {
    "binary-judge": '{"reasoning": "right", "score": "PASS"}',
    "rubric-judge": '{"score": 0.75, "rationale": "good"}',
    "criteria-judge": '{"score": 0.75, "reasoning": "good"}',
    "guardrail-judge": '{"safetyScore": 0.25, "reasoning": "rude"}',
    "schema-judge": '{"score": 0.75, "reasoning": "good"}',
    "score-judge": '{"result": 0.75, "steps": []}',
    "label-judge": '{"result": "good", "steps": []}',
    "faithfulness": _verdicts("all_statements_scoring", "supported"),
    "answer-relevancy": _verdicts("results", "relevant"),
    "context-relevancy": '{"reason": "r", "score": 1}',
    "pairwise-judge": '{"reasoning": "r", "verdict": "A"}',
    "row-rubric": '{"criteria": [{"number": 1, "reason": "r", "met": true}]}',
    "agent-judge": wb.judges.Reply("", raw={"tool_calls": [{"id": "1", "type": "function", **_CALL}]})
    if hasattr(wb, "judges")
    else None,
}
"""What the model says to each kind of judge."""


def scripted(grader: wb.Grader) -> wb.Grader:
    """The grader with its judges answered by `ANSWERS`, inside a combined one too."""
    if hasattr(grader, "entries"):
        inner = tuple(replace(one, grader=scripted(one.grader)) for one in grader.entries)
        return replace(grader, entries=inner)
    if isinstance(getattr(grader, "grader", None), wb.judges.Judge):
        return replace(grader, grader=scripted(grader.grader))
    if "client" not in {f.name for f in fields(grader)}:
        return grader
    return replace(grader, client=wb.ScriptedClient(ANSWERS[grader.kind]))


def _ladder(**settings: Any) -> wb.Grader:
    return wb.Ladder(scripted(PairwiseJudge(criteria="is shorter")), **settings)


def half(thread: wb.StringThread) -> float:
    """A function with an import path, for the custom grader."""
    return 0.5 if thread.completion() else 0.0


def _judge(name: str, **values: Any) -> Factory:
    named = {} if name == "AgentJudge" else {"model": "gpt-6-luna"}  # an agent brings its own
    return lambda: scripted(getattr(wb.judges, name)(**{**named, **values}))


def _function(text: str, **values: Any) -> Factory:
    return lambda: wb.FunctionGrader.from_source(text, name="f", **values)


def _combined(rule: Any) -> wb.Grader:
    parts = (
        wb.Entry(wb.Contains(expected="4"), "four", weight=0.5),
        wb.Entry(wb.Length(maximum=9), "short", weight=0.25),
    )
    return wb.combine.Combined(entries=parts, combine=rule, name="both")


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("workbench.")


EXAMPLES: dict[str, Factory] = {
    **CODE_EXAMPLES,
    "function": _function(FUNCTION),
    "script": lambda: wb.ScriptGrader.from_source(SCRIPT, name="s"),
    "rollout": lambda: wb.RolloutGrader.from_source(ROLLOUT, name="r"),
    "custom": lambda: wb.CustomGrader(half),
    "combined": partial(_combined, wb.combine.Mean()),
    "binary-judge": _judge("BinaryJudge", criteria="is it right?"),
    "rubric-judge": _judge("RubricJudge", prompt="Rate the answer.\n\n  - strictly \n  - fairly\n"),
    "criteria-judge": _judge("CriteriaJudge", criteria="Be right.", pass_threshold=0.5),
    "guardrail-judge": _judge("GuardrailJudge", criteria="rude"),
    "schema-judge": _judge("SchemaJudge", prompt="Rate {{response}}", output_schema=SCHEMA),
    "score-judge": _judge("ScoreJudge", input=MESSAGES),
    "label-judge": _judge("LabelJudge", input=MESSAGES, labels=("good", "bad"), passing_labels=("good",)),
    "faithfulness": _judge("FaithfulnessJudge"),
    "answer-relevancy": _judge("AnswerRelevancyJudge"),
    "context-relevancy": _judge("ContextRelevancyJudge"),
    "pairwise-judge": lambda: scripted(PairwiseJudge(criteria="is shorter")),
    "row-rubric": lambda: scripted(wb.RowRubric("topic")),
    "panel": lambda: scripted(wb.Panel.example()),
    "ladder": lambda: _ladder(design="anchors", anchors="topic"),
    "agent-judge": _judge("AgentJudge", prompt="Rate it.", agent=AGENT),
    "endpoint": lambda: wb.Endpoint(url="http://127.0.0.1:9/reward", max_retries=0),
}
EXAMPLES |= {name: cls.example for name, cls in KINDS.items() if name not in EXAMPLES and _is_ours(cls)}
"""Kinds that are not listed above say themselves how an example looks; see `Grader.example`."""
"""Kind to a factory of one grader of it."""

ALTERNATIVES: dict[str, list[Factory]] = {
    "exact-match": [
        wb.ExactMatch,
        lambda: wb.ExactMatch(expected="4"),
        lambda: wb.ExactMatch(expected="a 'quote' \\ {{item.x}}\n"),
        lambda: wb.ExactMatch(on_no_reference="zero", on_empty="zero"),
        lambda: wb.ExactMatch(["4", "four"], ignore_case=True),
        lambda: wb.ExactMatch(
            on_no_reference="zero", on_empty="zero", normalize=("nfc", "spaces"), negate=True
        ),
    ],
    "contains": [
        wb.Contains,
        lambda: wb.Contains(expected="Ä", ignore_case=True),
        lambda: wb.Contains(["4", "is"], several="all", words=True),
        lambda: wb.Contains("4", where="end", normalize="dashes"),
        lambda: wb.Contains("x", negate=True),
        lambda: wb.Contains(expected="4", extractor={"name": "after_marker", "marker": "ANSWER:"}),
        lambda: wb.Contains(expected="q", extractor={"name": "tool_arguments", "tool_name": "search"}),
    ],
    "regex": [
        wb.Regex,
        lambda: wb.Regex(pattern=r"(?P<year>\d{4})"),
        lambda: wb.Regex(pattern="(?<a>4)", flavor="dotnet", ignore_case=True),
        lambda: wb.Regex(pattern="[", on_bad_pattern="zero"),
    ],
    "ascii-printable": [wb.AsciiPrintable],
    "string-check": [
        lambda: wb.StringCheck(operation="ilike"),
        lambda: wb.StringCheck(operation="ne", input="{{item.topic}} {{sample.output_text}}", reference="x"),
    ],
    "text-similarity": [
        lambda: wb.TextSimilarity(metric="fuzzy_match"),
        lambda: wb.TextSimilarity(metric="bleu", reference="4 is it"),
    ],
    "length": [lambda: wb.Length(maximum=3, unit="words")],
    "label-set": [
        lambda: wb.LabelSet(labels=("four", "4"), passing_labels=("four",), ignore_case=True, trim=False)
    ],
    "json-keys": [lambda: wb.JsonKeys("a"), lambda: wb.JsonKeys("a", "x y", require_all=True)],
    "tool-call": [
        lambda: wb.ToolCallMatch(expected=("search",), mode="any", ignore_case=True),
        lambda: wb.ToolCallMatch(expected=("search", "open"), mode="set"),
        lambda: wb.ToolCallMatch(expected=("Search",), mode="none", ignore_case=True),
    ],
    "guardrail": [
        lambda: wb.Guardrail(evaluator="contains", pattern="FOUR", ignore_case=True),
        wb.Guardrail,
    ],
    "per-turn": [lambda: wb.combine.PerTurn(grader=wb.ExactMatch(on_empty="zero", on_no_reference="zero"))],
    "function": [
        _function(CONVERSATION),
        _function(LETTA),
        _function(OPENAI),
        _function(OSMOSIS),
        _function(FUNCTION, timeout=2.0),
    ],
    "combined": [
        partial(_combined, wb.combine.Sum()),
        partial(_combined, wb.combine.AllPass()),
        partial(_combined, wb.combine.Formula("min(four, 2 * short) ^ 2")),
    ],
    "binary-judge": [
        _judge(
            "BinaryJudge",
            criteria="c",
            feedback_key="k",
            platform="adaptive",
            model="m",
            examples=({"input": [{"role": "user", "content": "q"}], "output": 'a "b"', "passes": False},),
        ),
        _judge("BinaryJudge", criteria="c", user_template="{{criteria}} {{completion}}"),
    ],
    "rubric-judge": [
        _judge(
            "RubricJudge", prompt="{topic}: rate", rubric_vars=("topic",), platform="letta", temperature=0.5
        ),
        _judge("RubricJudge", prompt="{submission} {ground_truth}", release="0.17", platform="letta"),
        _judge("RubricJudge", prompt="p", scale=(0, 10)),
        _judge("RubricJudge", prompt="{{ completion }}", dialect="jinja2"),
    ],
    "criteria-judge": [_judge("CriteriaJudge", platform="umbraco", profile_id="p")],
    "guardrail-judge": [_judge("GuardrailJudge", safety_threshold=0.2)],
    "schema-judge": [_judge("SchemaJudge", prompt="{{messages}}", output_schema=SCHEMA, max_tokens=None)],
    "score-judge": [
        _judge("ScoreJudge", input=MESSAGES, scale=(0, 5), temperature=0.5, sampling_params={"seed": 1})
    ],
    "agent-judge": [_judge("AgentJudge", prompt="p", agent=AGENT, release="0.17", platform="letta")],
    "faithfulness": [
        _judge("FaithfulnessJudge", platform="adaptive"),
        _judge("FaithfulnessJudge", require_evidence=True),
    ],
    "answer-relevancy": [_judge("AnswerRelevancyJudge", platform="adaptive")],
    "pairwise-judge": [
        lambda: scripted(PairwiseJudge(against="topic", swap=False)),
        lambda: scripted(PairwiseJudge(user_template="{{ answer_a }} {{ answer_b }} {{ criteria }}")),
    ],
    "row-rubric": [
        lambda: scripted(wb.RowRubric("topic", requests="each", clip=(-1, None), pass_threshold=0.5))
    ],
    "ladder": [
        lambda: _ladder(score="strength"),
        lambda: _ladder(design="adaptive", rounds=2),
    ],
    "panel": [
        lambda: scripted(
            wb.Panel(
                [wb.Entry(wb.RubricJudge("Rate."), "r", weight=2.0), wb.Contains("4"), wb.RowRubric("topic")],
                vote="mean",
                quorum=1,
                pass_threshold=0.5,
            )
        ),
        lambda: scripted(
            wb.Panel(
                wb.BinaryJudge("right?", temperature=1.0),
                repeats=3,
                early_stop=True,
                fold_weights=((1.0,), (2.0,)),
            )
        ),
    ],
    "endpoint": [lambda: wb.Endpoint(url="https://x.example/r", headers={"Authorization": "$REWARD_AUTH"})],
}
"""Kind to factories of graders set up in other ways."""


def _two(**extra: Any) -> list[wb.Entry]:
    return [
        wb.Entry(wb.Contains(expected="4"), "four", weight=0.75, **extra),
        wb.Entry(wb.Length(maximum=9), "short", weight=0.25),
    ]


SUITES: dict[str, Callable[[], wb.Suite]] = {
    "plain": lambda: wb.Suite([wb.Contains(expected="4"), wb.AsciiPrintable()]),
    "mean": lambda: wb.Suite(_two(), combine=wb.combine.Mean(), name="quality", description="Both."),
    "strict mean": lambda: wb.Suite(_two(), combine=wb.combine.Mean(strict=True)),
    "sum": lambda: wb.Suite(_two(), combine=wb.combine.Sum()),
    "all pass": lambda: wb.Suite(_two(), combine=wb.combine.AllPass()),
    "checks": lambda: wb.Suite(
        [
            wb.Entry(wb.Contains(expected="4"), "four", weight=0.5),
            wb.Entry(wb.Regex(pattern="^[^x]*$"), "no x", negate=True),
            wb.Entry(wb.ToolCallMatch(expected=("search",), ignore_case=True), "search", severity="warning"),
        ],
        combine=wb.combine.AllPass(),
    ),
    "all pass, a warning": lambda: wb.Suite(_two(severity="warning"), combine=wb.combine.AllPass()),
    "negated": lambda: wb.Suite(_two(negate=True), combine=wb.combine.AllPass()),
    "formula": lambda: wb.Suite(
        _two(), combine=wb.combine.Formula("four * 0.5 + min(short, four) / 2 + 1e-3 * 0")
    ),
    "threshold": lambda: wb.Suite(
        wb.Entry(wb.TextSimilarity(metric="rouge_l", reference="4"), pass_threshold=0.5)
    ),
    "extractor": lambda: wb.Suite(wb.Entry(wb.Contains(expected="4"), extractor="all_assistant")),
    "one, all pass": lambda: wb.Suite(wb.Contains(expected="4"), combine=wb.combine.AllPass()),
    "simple gate": lambda: wb.Suite(
        _plain_two(),
        gate=wb.combine.SimpleGate(metric_key="four", op="gte", value=0.5, pass_value=1.0, pass_op="gte"),
    ),
    "percentile gate": lambda: wb.Suite(
        _plain_two(), gate=wb.combine.SimpleGate(aggregation="p95", op="gt", value=0.5)
    ),
    "weighted gate": lambda: wb.Suite(
        _plain_two(), gate=wb.combine.WeightedGate(weights={"four": 2, "short": 1}, op="gte", value=0.4)
    ),
    "logical gate": lambda: wb.Suite(
        _plain_two(),
        gate=wb.combine.LogicalGate(
            operator="or",
            conditions=(
                wb.combine.SimpleGate(metric_key="four", aggregation="accuracy", op="gte", value=90.0),
                wb.combine.LogicalGate(
                    operator="and", conditions=(wb.combine.SimpleGate(aggregation="min", value=0.1),)
                ),
            ),
        ),
    ),
}
"""Name to a factory of a suite."""


def _plain_two() -> list[wb.Entry]:
    return [wb.Entry(wb.Contains(expected="4"), "four"), wb.Entry(wb.Length(maximum=9), "short")]
