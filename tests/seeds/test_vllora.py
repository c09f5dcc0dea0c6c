"""vLLora's grader document: every script, prompt, schema and the weighted table, as printed."""

import json

import pytest

import workbench as wb
from tests.seeds.blocks import block


def said(text, *calls):
    message = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    return wb.StringThread.from_messages([{"role": "user", "content": "Rate me"}, message], {})


def call(arguments):
    return {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}


@pytest.mark.parametrize(
    ("example", "thread", "score"),
    [
        ("JSON Validity Check", said('{"a": 1}'), 1.0),
        ("JSON Validity Check", said("NaN"), 0.0),
        ("Length Check", said("x" * 49), 0.3),
        ("Length Check", said("x" * 499), 1.0),
        ("Length Check", said("x" * 999), 0.7),
        ("Length Check", said("x" * 1000), 0.4),
        ("Required Keywords", said("In CONCLUSION, my recommendation"), 1.0),
        ("Required Keywords", said("in conclusion"), 0.5),
        ("Tool Call Validation", said("x"), 0.0),
        ("Tool Call Validation", said("x", call('{"q": 1}')), 1.0),
        ("Tool Call Validation", said("x", call("{q}")), 0.5),
    ],
)
def test_scripts(example, thread, score):
    """JavaScript examples in the sandbox, after their five checks."""
    grader = wb.ScriptGrader.from_source(block("vllora", f"Example: {example}"))
    assert grader.validate().ok
    assert grader(thread).score == score


def test_interface():
    """The interface block with its comment is a script; its `score` is a free name, so it fails when run."""
    grader = wb.ScriptGrader.from_source(block("vllora", "Interface"))
    assert grader(said("x")).error.message.startswith("ReferenceError")
    written = wb.ScriptGrader.from_source(block("vllora", "Interface").replace("return score", "return 0.5"))
    assert written(said("x")).score == 0.5


@pytest.mark.parametrize(
    ("under", "schema"),
    [
        ("Example: Quality Grader", block("vllora", "Example: Quality Grader", language="json")),
        ("Example: Tool Usage Grader", block("vllora", "Output Schema")),
    ],
)
def test_judges(under, schema):
    """The printed prompts and schemas as one grader config: previewed, asked, read."""
    config = {
        "type": "llm-judge",
        "prompt": block("vllora", under, language=""),
        "outputSchema": json.loads(schema),
        "model": "gpt-4o-mini",
        "temperature": 0,
        "maxTokens": 256,
    }
    suite = wb.loads(json.dumps(config))
    judge = suite.graders[0]
    shown = "\n".join(m["content"] for m in judge.preview(wb.Sample("0", said("Fine <b>"), None, "0")))
    assert "Fine <b>" in shown
    assert "Rate me" in shown
    assert "{{" not in shown
    from dataclasses import replace

    answered = replace(judge, client=wb.ScriptedClient(['{"score": 0.7, "reasoning": "minor issues"}']))
    assert answered(said("x")).score == 0.7
    assert (judge.model, judge.temperature, judge.max_tokens) == ("gpt-4o-mini", 0.0, 256)


def test_weighted_table():
    """Quality 60 %, format 20 %, length 20 %: 0.6 * quality + 0.2 * format + 0.2 * length."""
    judge = {
        "type": "llm-judge",
        "prompt": block("vllora", "Example: Quality Grader", language=""),
        "outputSchema": json.loads(block("vllora", "Example: Quality Grader", language="json")),
    }
    scripts = [
        {"type": "script", "script": block("vllora", f"Example: {name}")}
        for name in ("JSON Validity Check", "Length Check")
    ]
    suite = wb.loads(json.dumps({"graders": [judge, *scripts], "weights": [0.6, 0.2, 0.2]}))
    from dataclasses import replace

    quality = replace(
        suite.entries[0], grader=replace(suite.graders[0], client=wb.ScriptedClient(['{"score": 0.5}']))
    )
    weighted = wb.Suite([quality, *suite.entries[1:]], combine=suite.combine)
    assert weighted(said('{"a": 1}')).score == pytest.approx(0.6 * 0.5 + 0.2 * 1.0 + 0.2 * 0.3)
    with pytest.raises(wb.errors.FormatError, match="sum to 1"):
        wb.loads(json.dumps({"graders": [judge, *scripts], "weights": [0.6, 0.2, 0.3]}))
