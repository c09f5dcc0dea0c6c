"""The regex grader and the guardrail grader."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.graders.code_examples import said, sample
from workbench.core.errors import FormatError
from workbench.graders.structure import Guardrail
from workbench.graders.text import Regex

SLOW = r"^(a|aa|aaa)+(b|c)$"
SLOW_TEXT = "a" * 60 + "!"


@pytest.mark.parametrize(
    ("settings", "text", "score"),
    [
        ({"pattern": r"\d{4}-\d{2}-\d{2}"}, "The date is 2026-02-27.", 1.0),
        ({"pattern": "hello"}, "say HELLO", 0.0),
        ({"pattern": "hello", "ignore_case": True}, "say HELLO", 1.0),
        ({"pattern": "^b$"}, "a\nb\nc", 0.0),
        ({"pattern": "^b$", "multiline": True}, "a\nb\nc", 1.0),
        ({"pattern": ""}, "", 1.0),
    ],
)
def test_regex_searches(settings, text, score):
    """A pattern is found anywhere; flags are settings; a reference can be the pattern."""
    assert Regex(**settings)(said(text)).score == score
    pattern = settings.pop("pattern")
    assert Regex(**settings)(sample(text, pattern)).score == score


def test_a_match_is_told_as_umbraco_tells_it():
    """Value, index and length in UTF-16 units, groups unnamed first and named last, silent ones empty."""
    grader = Regex(pattern=r"(?<year>[0-9]{4})-([0-9]{2})(x)?", flavor="dotnet")
    assert grader(said("😀 2026-02")).metadata == {
        "matchValue": "2026-02",
        "matchIndex": 3,
        "matchLength": 7,
        "groups": [
            {"name": "1", "value": "02"},
            {"name": "2", "value": ""},
            {"name": "year", "value": "2026"},
        ],
    }
    assert grader(said("none")).metadata == {}


def test_a_catastrophic_pattern_costs_its_row():
    """A search over its time limit is a failed grade of kind timeout."""
    grade = Regex(pattern=SLOW, timeout=0.05)(said(SLOW_TEXT))
    assert (grade.score, grade.error.kind) == (None, "timeout")


def test_a_bad_constant_is_refused_at_once():
    """A constant pattern that cannot be read is an error when the grader is made, with the way out."""
    with pytest.raises(FormatError, match='on_bad_pattern="zero"'):
        Regex(pattern="[invalid")


def test_a_bad_reference_fails_its_row():
    """A reference that is no pattern is a failed grade of kind sample."""
    grade = Regex()(sample("x", "[invalid"))
    assert (grade.score, grade.error.kind) == (None, "sample")
    assert "Invalid regex pattern: " in grade.error.message


@pytest.mark.parametrize("grader", [Regex(pattern="[invalid", on_bad_pattern="zero")])
def test_platforms_count_a_bad_pattern_as_no_match(grader):
    """With on_bad_pattern="zero" it scores 0.0, says why and has no details."""
    grade = grader(said("x"))
    assert (grade.score, grade.metadata) == (0.0, {})
    assert grade.reasoning.startswith("Invalid regex pattern: ")
    assert Regex(on_bad_pattern="zero")(sample("x", "[invalid")).score == 0.0


@pytest.mark.parametrize("timeout", [0, -1, True, 61, "1", float("nan")])
def test_time_limits_are_checked(timeout):
    """A time limit is a number above 0, at most 60."""
    with pytest.raises(FormatError, match="timeout"):
        Regex(pattern="a", timeout=timeout)


@given(st.from_regex(r"[ab()|?*]{0,6}", fullmatch=True), st.text("ab", max_size=6))
def test_regex_agrees_with_python(pattern, text):
    """What Python reads scores as Python's search finds; what it does not read is refused."""
    try:
        found = re.search(pattern, text)
    except re.error:
        with pytest.raises(FormatError):
            Regex(pattern=pattern)
        return
    assert Regex(pattern=pattern).grade_text(text, said(text), None)[0] == float(found is not None)


@pytest.mark.parametrize(
    ("settings", "text", "score", "reason"),
    [
        (
            {"evaluator": "contains", "pattern": "Brand", "ignore_case": True},
            "our BRAND",
            1.0,
            "Content contains 'Brand'",
        ),
        (
            {"evaluator": "contains", "pattern": "Brand"},
            "our BRAND",
            0.0,
            "did not flag",
        ),
        ({"evaluator": "contains"}, "anything", 0.0, "did not flag"),
        ({"evaluator": "regex"}, "anything", 0.0, "did not flag"),
        ({"evaluator": "regex", "pattern": r"\w+@\w+"}, "a@b", 1.0, r"Content matches pattern: \w+@\w+"),
        ({"evaluator": "regex", "pattern": "(?<n>A)", "ignore_case": True}, "a", 1.0, "Content matches"),
        ({"evaluator": "regex", "pattern": "^b$"}, "a\nb", 0.0, "did not flag"),
        ({"evaluator": "regex", "pattern": "^b$", "multiline": True}, "a\nb", 1.0, "Content matches"),
        ({"evaluator": "regex", "pattern": "[bad"}, "[bad", 0.0, "Invalid regex pattern"),
        ({"evaluator": "regex", "pattern": SLOW, "timeout": 0.05}, SLOW_TEXT, 1.0, "timed out"),
        ({}, "x", 0.0, "No evaluator ID specified in guardrail grader configuration"),
    ],
)
def test_guardrail(settings, text, score, reason):
    """It passes where the evaluator flags; nothing to find flags nothing, no time to look flags."""
    grade = Guardrail(**settings)(said(text))
    assert (grade.score, grade.passed) == (score, bool(score))
    assert reason in grade.reasoning


def test_a_flag_has_details():
    """What was found is in the details."""
    flagged = Guardrail(evaluator="regex", pattern="b")(said("abc")).metadata
    assert (flagged["pattern"], flagged["matchIndex"]) == ("b", 1)
    assert Guardrail(evaluator="contains", pattern="b")(said("abc")).metadata == {"searchPattern": "b"}


def test_other_evaluators_are_refused():
    """An unknown evaluator is an error; a judge's name leads to the kind that has it."""
    with pytest.raises(FormatError, match="guardrail-judge"):
        Guardrail(evaluator="llm-judge")
    with pytest.raises(FormatError, match="'contains', 'regex'"):
        Guardrail(evaluator="pii")
    with pytest.raises(FormatError, match="pattern must be text"):
        Guardrail(evaluator="regex", pattern=None)


def test_a_reference_that_is_no_pattern_may_skip_its_row():
    """With on_bad_pattern="skip" the row is skipped; a constant that cannot be read is refused as ever."""
    grade = Regex(on_bad_pattern="skip")(wb.StringThread([("assistant", "a")], {"expected": "["}))
    assert (grade.status, "not a valid pattern" in grade.reasoning) == ("skipped", True)
    with pytest.raises(FormatError, match="cannot be read"):
        Regex("[", on_bad_pattern="skip")
