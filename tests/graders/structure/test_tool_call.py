"""The grader of tool calls."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.rules.structure import tool_call, tool_names
from workbench.graders.structure import ToolCallMatch


def called(*names):
    """A thread in which these tools are called."""
    calls = [{"id": str(at), "function": {"name": name, "arguments": "{}"}} for at, name in enumerate(names)]
    return wb.StringThread.from_messages([{"role": "assistant", "content": None, "tool_calls": calls}])


@pytest.mark.parametrize(
    ("expected", "settings", "actual", "score"),
    [
        ("search get_page", {"ignore_case": True}, "GET_PAGE", 1.0),
        ("search", {}, "SEARCH", 0.0),
        ("search get_page", {}, "other", 0.0),
        ("", {}, "a", 0.0),
        ("", {"mode": "all"}, "a", 1.0),
        ("", {"mode": "exact"}, "", 1.0),
        ("", {"mode": "none"}, "a", 1.0),
        ("search get_page", {"mode": "all"}, "search", 0.0),
        ("search get_page", {"mode": "all"}, "get_page x search", 1.0),
        ("a b", {"mode": "exact"}, "b a", 1.0),
        ("a a", {"mode": "exact"}, "a b", 1.0),
        ("a b", {"mode": "exact"}, "a b a", 0.0),
        ("a b", {"mode": "set"}, "a b a", 1.0),
        ("a a", {"mode": "set"}, "a b", 0.0),
        ("a b", {"mode": "none"}, "c", 1.0),
        ("a b", {"mode": "none", "ignore_case": True}, "c A", 0.0),
        ("search get_page", {"mode": "all", "order": True}, "search x get_page", 1.0),
        ("search get_page", {"mode": "all", "order": True}, "search search get_page", 0.0),
        ("a b", {"mode": "exact", "order": True}, "b a", 0.0),
        ("a b", {"mode": "any", "order": True}, "b a", 1.0),
    ],
)
def test_modes(expected, settings, actual, score):
    """The five modes and the order, as Umbraco counts them."""
    assert ToolCallMatch(expected=expected.split(), **settings)(called(*actual.split())).score == score


@pytest.mark.parametrize(
    ("settings", "actual", "reason"),
    [
        ({}, ["other"], "Expected at least one of [search, get_page] but got [other]"),
        ({"mode": "all"}, ["search"], "Missing expected tools: [get_page]"),
        ({"mode": "exact"}, ["x"], "Expected exactly [search, get_page] but got [x]"),
        ({"mode": "none"}, ["search"], "Expected none of [search, get_page] but found matches"),
        (
            {"mode": "all", "order": True, "ignore_case": True},
            ["get_page", "x", "Search"],
            "Tool call order mismatch. Expected: [search, get_page], Got: [get_page, Search]",
        ),
    ],
)
def test_reasons(settings, actual, reason):
    """The reasons are Umbraco's words."""
    assert ToolCallMatch(expected=["search", "get_page"], **settings)(called(*actual)).reasoning == reason


def test_records_without_a_name_are_left_out():
    """Only calls with a name count, in OpenAI's shape or plain."""
    records = [
        {"result": "r"},
        {"name": "a"},
        {"name": ""},
        {"function": {"name": "b"}},
        {"name": 4},
        "x",
        None,
    ]
    assert tool_names(records) == ["a", "b"]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_modes_by_their_definitions(expected, actual):
    """Any, all, none and set are what sets say; exact is counting and all."""
    want, made = set(expected), set(actual)
    rules = {
        "any": bool(want & made),
        "all": want <= made,
        "none": not want & made,
        "set": want == made,
        "exact": want <= made and len(expected) == len(actual),
    }
    for mode, holds in rules.items():
        assert tool_call(actual, expected=tuple(expected), mode=mode)[0] == float(holds)
    if Counter(expected) == Counter(actual):
        ordered = tool_call(actual, expected=tuple(expected), mode="exact", order=True)[0]
        assert ordered == float(expected == actual)


@pytest.mark.parametrize("mode", ["Any", "every"])
def test_unknown_modes_are_refused(mode):
    """A mode is one of the five, written small."""
    with pytest.raises(FormatError, match="'exact'"):
        ToolCallMatch(expected=["a"], mode=mode)


def test_names_are_a_list():
    """A bare text is no list of names."""
    with pytest.raises(FormatError, match="list of texts"):
        ToolCallMatch(expected="search,open")


def test_an_unknown_mode_never_passes():
    """The empty mode stands for a platform's unknown word: it fails and says so."""
    grade = ToolCallMatch(expected=("a",), mode="")(wb.StringThread([("assistant", "x")], {}))
    assert (grade.score, grade.passed, grade.reasoning) == (0.0, False, "Unknown validation mode")
