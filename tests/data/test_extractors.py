"""Which part of a conversation is graded."""

import inspect
import json

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.data.extractors import EXTRACTORS, LETTA, Extractor, as_extractor, extractor


def call(name, arguments="{}", at="1"):
    return {"id": at, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT = wb.StringThread.from_messages(
    [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "first?"},
        {"role": "assistant", "content": "one 11 ANSWER: a"},
        {"role": "user", "content": "second?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("search", '{"q": 1}', "c1"), call("search", '{"q": 2}', "c2")],
        },
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "assistant", "content": "two 22 33"},
        {"role": "assistant", "content": "three ANSWER: b # c # d "},
    ],
    {"agent_state": {"blocks": [{"label": "human", "value": "Ada"}]}},
)


@pytest.mark.parametrize(
    ("name", "config", "text"),
    [
        ("last_assistant", {}, "three ANSWER: b # c # d "),
        ("first_assistant", {}, "one 11 ANSWER: a"),
        ("all_assistant", {"separator": "|"}, "one 11 ANSWER: a|two 22 33|three ANSWER: b # c # d "),
        ("last_turn", {}, "two 22 33\nthree ANSWER: b # c # d "),
        ("pattern", {"pattern": r"\d+"}, "22"),
        ("pattern", {"pattern": r"\d+", "search_all": True}, "22 33"),
        ("pattern", {"pattern": r"(\w)\w* (\d+)", "search_all": True, "group": 1}, "22"),
        ("pattern", {"pattern": r"(\w+) (\d+)", "group": 2}, "22"),
        ("pattern", {"pattern": "nowhere"}, ""),
        ("after_marker", {"marker": "ANSWER:"}, "b # c # d"),
        ("after_marker", {"marker": "#", "include_marker": True}, "# c # d"),
        ("after_marker", {"marker": "nowhere"}, ""),
        ("tool_arguments", {"tool_name": "search"}, '{"q": 1}'),
        ("tool_arguments", {"tool_name": "open"}, "{}"),
        ("tool_output", {"tool_name": "search"}, "found"),
        ("tool_output", {"tool_name": "open"}, ""),
        ("memory_block", {"block_label": "human"}, "Ada"),
        ("memory_block", {"block_label": "persona"}, ""),
    ],
)
def test_letta_nine(name, config, text):
    """Each rule with its settings and search direction; specs travel as JSON."""
    rule = Extractor(name, config)
    assert rule.extract(CHAT) == text
    assert as_extractor(json.loads(json.dumps(rule.spec()))) == rule


@pytest.mark.parametrize("name", ["last_assistant", "first_assistant", "all_assistant", "last_turn"])
def test_nothing_said(name):
    """A conversation without an assistant gives no text."""
    assert Extractor(name).extract(wb.StringThread([("user", "q")], {})) == ""


def test_memory_before_and_after_08():
    """Blocks lie under `memory` or beside it; without agent state there is nothing to look at."""
    old = wb.StringThread([], {"agent_state": {"memory": {"blocks": [{"label": "h", "value": "x"}]}}})
    assert Extractor("memory_block", {"block_label": "h"}).extract(old) == "x"
    with pytest.raises(RuntimeError, match="agent_state"):
        Extractor("memory_block", {"block_label": "h"}).extract(wb.StringThread([], {}))


@pytest.mark.parametrize(
    ("name", "config", "part"),
    [
        ("last_asistant", {}, "last_assistant, last_turn"),
        ("pattern", {}, "needs 'pattern'"),
        ("pattern", {"pattern": "a", "flags": "i"}, "no setting 'flags'"),
        ("tool_output", {}, "needs 'tool_name'"),
    ],
)
def test_mistakes_are_named(name, config, part):
    """An unknown name lists what exists; unknown and missing settings are named."""
    with pytest.raises(FormatError, match=part):
        Extractor(name, config)
    with pytest.raises(FormatError):
        as_extractor(7)


def test_own_rules(monkeypatch):
    """A registered rule works by its name, in a grader too; a name is taken once; text is required."""
    monkeypatch.setattr("workbench.data.extractors.EXTRACTORS", dict(EXTRACTORS))

    @extractor("shouted")
    def shouted(thread, *, mark="!"):
        return (thread.completion() or "").upper() + mark

    said = wb.StringThread([("assistant", "yes")])
    assert Extractor("shouted", {"mark": "?"}).extract(said) == "YES?"
    assert wb.ExactMatch(expected="YES!", extractor="shouted")(said).score == 1.0
    with pytest.raises(ValueError, match="taken"):
        extractor("shouted")(len)
    extractor("wrong")(lambda _: None)
    with pytest.raises(TypeError, match="must return text"):
        Extractor("wrong").extract(said)


def test_lettas_nine_keep_their_rules(monkeypatch):
    """They are the ones that come with the package, and no other function takes their names, even one called so."""
    assert set(LETTA) <= set(EXTRACTORS)
    assert len(LETTA) == 9
    monkeypatch.setattr("workbench.data.extractors.EXTRACTORS", dict(EXTRACTORS))

    def last_assistant(thread):
        return ""

    last_assistant.__qualname__ = "last_assistant"
    with pytest.raises(ValueError, match="taken"):
        extractor("last_assistant")(last_assistant)


def test_a_pattern_that_cannot_be_read_or_never_ends():
    """It fails the row that meets it, with its reason."""
    broken = wb.Contains(expected="x", extractor=Extractor("pattern", {"pattern": "[a"}))
    assert "Invalid regex pattern" in broken(wb.StringThread([("assistant", "x")])).error.message


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "pattern", "pattern": 5},
        {"name": "pattern", "pattern": "a", "search_all": "yes"},
        {"name": "after_marker", "marker": None},
        {"name": "all_assistant", "separator": 3},
        {"name": "tool_output", "tool_name": ["a"]},
    ],
)
def test_settings_of_a_wrong_type_are_refused(spec):
    """Once, where the extractor is made, and not row by row."""
    with pytest.raises(FormatError, match=r"setting .* must be (str|bool)"):
        as_extractor(spec)


def test_an_empty_marker_stands_at_the_start():
    """As upstream, where every text holds it."""
    thread = wb.StringThread([("assistant", " all of it ")], {})
    assert as_extractor({"name": "after_marker", "marker": ""}).extract(thread) == "all of it"


BUNDLED = [name for name, function in EXTRACTORS.items() if function.__module__.startswith("workbench.")]
SETTINGS = {"pattern": "a", "marker": "a", "tool_name": "search", "block_label": "human"}
"""A value for every setting that has to be given, by its name."""


@pytest.mark.parametrize("name", BUNDLED)
def test_every_extractor_keeps_the_same_promises(name):
    """Text out of any thread or a clear failure, a spec that travels as JSON, and a function that exports can find."""
    parameters = list(inspect.signature(EXTRACTORS[name]).parameters.values())[1:]
    given = {one.name: SETTINGS.get(one.name, "a") for one in parameters if one.default is one.empty}
    rule = Extractor(name, given)
    assert rule.module, (
        f"the function is called {EXTRACTORS[name].__name__!r}: call it {name!r}, as it is registered"
    )
    assert as_extractor(json.loads(json.dumps(rule.spec()))) == rule
    for thread in (
        CHAT,
        wb.StringThread([]),
        wb.StringThread([("user", "q")]),
        wb.StringThread([("assistant", "a")]),
    ):
        grade = wb.Contains("a", extractor=rule)(thread)
        assert grade.error is None or "agent state" in grade.error.message, grade
