"""What each platform's prompts are given."""

import json

import pytest

import workbench as wb
from workbench.data.samples import Sample
from workbench.data.templates import compile as compile_template
from workbench.data.templates import thread_variables
from workbench.data.templates.values import TemplateError

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
THREAD = wb.StringThread.from_messages(
    [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "First"},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": "Second"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "assistant", "content": "Done"},
    ],
    {"domain": "help"},
    tools=[{"type": "function", "function": {"name": "find"}}],
)


def test_adaptive():
    """The variables of the Adaptive document, the context in its layout."""
    found = thread_variables(THREAD, criteria="c")
    assert (found["completion"], found["last_user_turn_content"], found["criteria"]) == (
        "Done",
        "Second",
        "c",
    )
    assert found["context_str"].startswith(
        "[system]\nBe brief\n\n[user]\nFirst\n\n[assistant]\nYes\n\n[user]\nSecond"
    )
    assert "Second" not in found["context_str_without_last_user"]
    assert [len(found[name]) for name in ("turns", "context_turns", "context_turns_without_last_user")] == [
        7,
        6,
        5,
    ]
    assert found["metadata"] == {"domain": "help"}


def test_vllora():
    """Lists read as JSON where they are put, and as lists in sections."""
    values = thread_variables(THREAD, "vllora")
    text = compile_template("{{messages}}|{{tools}}|{{toolCalls}}", "mustache").render(values)
    messages, tools, calls = map(json.loads, text.split("|"))
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]
    assert (messages[4]["tool_calls"], messages[5]["tool_call_id"]) == ([CALL], "c1")
    assert (tools, calls) == (THREAD.tools, [CALL])
    loop = "{{#messages}}{{role}} {{/messages}}{{#toolCalls}}{{function.name}}{{/toolCalls}}"
    assert (
        compile_template(loop, "mustache").render(values) == "system user assistant user assistant tool find"
    )
    assert (values["response"], values["lastUserMessage"], values["systemPrompt"]) == (
        "Done",
        "Second",
        "Be brief",
    )


def test_absent_is_nothing():
    """A thread without tools, system prompt or user leaves no trace."""
    values = thread_variables(wb.StringThread(), "vllora")
    text = "[{{messages}}{{tools}}{{toolCalls}}{{systemPrompt}}{{lastUserMessage}}{{response}}{{nope}}]{{^tools}}-{{/tools}}"
    assert compile_template(text, "mustache").render(values) == "[]-"
    assert thread_variables(wb.StringThread())["completion"] == ""


def test_openai():
    """`item` is the row with its reference, `sample` the answer, its JSON only where it is some."""
    sample = Sample(
        id="1", thread=wb.StringThread([("assistant", '{"a": 1}')], {"q": "Q"}), reference="R", group="1"
    )
    found = thread_variables(sample, "openai")
    assert found["item"] == {"q": "Q", "reference": "R"}
    assert found["sample"]["output_json"] == {"a": 1}
    assert found["sample"]["choices"][0]["message"]["content"] == '{"a": 1}'
    assert "output_json" not in thread_variables(THREAD, "openai")["sample"]
    assert thread_variables(THREAD, "openai")["sample"]["output_tools"] == [CALL]


def test_another_text_may_be_judged():
    """What an extractor found takes the completion's place."""
    assert thread_variables(THREAD, completion="X")["completion"] == "X"
    assert thread_variables(THREAD, "vllora", completion="X")["response"] == "X"
    with pytest.raises(TemplateError, match="adaptive, openai, vllora"):
        thread_variables(THREAD, "letta")
