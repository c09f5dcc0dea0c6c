"""Umbraco.AI's grader document: every JSON example loads and runs as printed."""

import json

import pytest

import workbench as wb
from tests.seeds.blocks import block, blocks


def said(text, *tools):
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in tools]
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    return wb.StringThread.from_messages([{"role": "user", "content": "q"}, message], {})


@pytest.mark.parametrize(("under", "text"), blocks("umbraco", "json"))
def test_every_example_loads(under, text):
    """As printed, the platform found out."""
    assert len(wb.loads(text)) >= 1, under


@pytest.mark.parametrize(
    ("under", "at", "thread", "passed"),
    [
        ("exact-match", 0, said(" hello, WORLD! "), True),
        ("exact-match", 0, said("hello"), False),
        ("contains", 0, said("in umbraco"), True),
        ("regex", 0, said("x" * 50), True),
        ("regex", 0, said("x" * 49), False),
        ("json-schema", 0, said('{"title": 1, "description": 2, "metadata": {"author": 3}}'), True),
        ("json-schema", 0, said('{"title": 1}'), False),
        ("tool-call", 0, said("", "search_content", "other", "get_page"), True),
        ("tool-call", 0, said("", "get_page", "search_content"), False),
        ("guardrail", 0, said("write to a.b@example.com"), True),
        ("guardrail", 0, said("no address"), False),
        ("guardrail", 1, said("CompetitorBrand is better"), False),
        ("guardrail", 1, said("we are better"), True),
    ],
)
def test_code_graders(under, at, thread, passed):
    """Each type of grader, passing and failing."""
    suite = wb.loads(block("umbraco", under, at=at))
    assert suite(thread).passed is passed


@pytest.mark.parametrize(("score", "passed"), [(0.8, True), (0.79, False)])
def test_llm_judge(score, passed):
    """The example's threshold is 0.8."""
    suite = _scripted(wb.loads(block("umbraco", "llm-judge")), json.dumps({"score": score, "reasoning": "r"}))
    assert suite(said("a summary")).passed is passed


def _scripted(suite, reply):
    from dataclasses import replace

    entries = [
        replace(one, grader=replace(one.grader, client=wb.ScriptedClient([reply] * 9)))
        if hasattr(one.grader, "client")
        else one
        for one in suite.entries
    ]
    return wb.Suite(entries, combine=suite.combine)


def test_multiple_graders():
    """A test fails if the length check or the quality score fails; the keyword is a warning and does not block."""
    suite = wb.loads(block("umbraco", "Combining Graders"))
    assert [(entry.severity, entry.weight) for entry in suite.entries] == [
        ("error", 1.0),
        ("warning", 0.5),
        ("error", 1.0),
    ]
    good, bad = (_scripted(suite, json.dumps({"score": score})) for score in (0.9, 0.1))
    assert good(said("x" * 60)).passed is True
    assert good(said("x" * 10)).passed is False
    assert bad(said("x" * 60)).passed is False
    assert not good(said("x" * 60)).parts["Has keyword"].passed
