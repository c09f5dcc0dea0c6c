"""From what a judge said to its verdict."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.judges.protocol import Reply
from workbench.judges.verdicts import (
    MAX_ANSWER_CHARACTERS,
    PLATFORMS,
    AnswerError,
    answer_text,
    json_spans,
    repeated_key,
    score_value,
    verdict_object,
)


def read(text, platform="", key="score"):
    return verdict_object(answer_text(Reply(text), platform), key, platform)


def failure(action, *args, **named):
    with pytest.raises(AnswerError) as caught:
        action(*args, **named)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 1}',
        '```json\n{"score": 1}\n```',
        '<think>{"score": 0}</think>{"score": 1}',
        'thinking without a beginning {"score": 0}</think>\n{"score": 1}',
        '{"score": 1} <think>or rather {"score": 0}',
        'Draft: {"score": 1}. Final: {"score": 1} {"note": "x"}',
        'Sure!\n```\n{"score": 1}\n```\nHope this helps {not json}',
        '{"a": {"score": 0}} {"score": 1}',
    ],
)
def test_ours_takes_the_last_verdict(text):
    """Thinking, fences, prose and other objects are passed over."""
    assert read(text)["score"] == 1


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize(
    "text", ["", "no json", "[1]", '"score"', "{" * 5000, '{"a":' * 5000, "<think>hm", "```json\n```", "null"]
)
def test_no_verdict_is_a_failure(platform, text):
    """What holds no JSON object is judge_parse under every rule."""
    assert failure(read, text, platform).kind == "judge_parse"


@pytest.mark.parametrize(
    ("platform", "text", "good"),
    [
        ("adaptive", '{"score": "PASS", "reasoning": "cut of', True),
        ("adaptive", '{"score": "PASS"', True),
        ("adaptive", 'Here: {"score": "PASS"}', False),
        ("adaptive", '```json\n{"score": "PASS"}\n```', True),
        ("adaptive", '<think>hm</think>\n```\n{"score": "PASS"}```', True),
        ("letta", 'Here: {"score": 1}', False),
        ("letta", '```json\n{"score": 1}\n```', False),
        ("umbraco", 'Here: {"score": 1} bye', True),
        ("umbraco", '{"score": 1} {"score": 2}', False),
        ("umbraco", '{"score": NaN}', False),
        ("openai", '{"result": 1}', True),
        ("openai", '```json\n{"result": 1}\n```', True),
        ("openai", '```json\n{"result": 1}', False),
        ("openai", 'x {"result": 1}', False),
        ("", '{"score": 1', False),
    ],
)
def test_whose_rules(platform, text, good):
    """Each platform reads unclean answers its own way."""
    if good:
        assert isinstance(read(text, platform), dict)
    else:
        assert failure(read, text, platform).kind == "judge_parse"


@pytest.mark.parametrize(
    ("value", "platform", "outcome"),
    [
        (0.5, "", 0.5), (1, "", 1.0), (1.2, "", "out_of_range"), (-0.1, "vllora", "out_of_range"), ("0.5", "", "judge_parse"),
        (True, "", "judge_parse"), (None, "", "judge_parse"), (float("nan"), "", "not_finite"), (float("inf"), "letta", "not_finite"),
        ("0.5", "letta", 0.5), (True, "letta", 1.0), (None, "letta", "judge_parse"), ("high", "letta", "judge_parse"), (2.5, "letta", 1.0),
        (-3, "letta", 0.0), ("nan", "letta", "not_finite"), (7, "umbraco", 7.0), ("1", "umbraco", "judge_parse"), (True, "umbraco", "judge_parse"),
        (3, "openai", 1.0), ("high", "openai", "judge_parse"), (10**400, "umbraco", "not_finite"),
    ],
)  # fmt: skip
def test_numbers(value, platform, outcome):
    """A number is clean, clamped, coerced or refused with its own kind."""
    if isinstance(outcome, float):
        assert score_value(value, platform) == outcome
    else:
        assert failure(score_value, value, platform).kind == outcome


def test_refusals_and_cuts():
    """The server's word, and a refusal in words, are judge_refusal; a cut answer says what to raise."""
    assert failure(answer_text, Reply("", raw={"refusal": "no"})).kind == "judge_refusal"
    assert failure(answer_text, Reply("", raw={"finish_reason": "content_filter"})).kind == "judge_refusal"
    assert failure(read, "I'm sorry, but I can't do that.").kind == "judge_refusal"
    assert "max_tokens" in str(failure(answer_text, Reply('{"score": 1}', raw={"finish_reason": "length"})))


@given(st.text(max_size=60), st.sampled_from(PLATFORMS))
def test_any_answer_is_read_or_refused(text, platform):
    """No answer raises anything but ours."""
    with suppress(AnswerError):
        assert isinstance(read(text, platform), dict)


@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.recursive(st.text(max_size=5), lambda one: st.lists(one, max_size=3)),
        max_size=3,
    ),
    st.floats(0, 1),
    st.text(alphabet="abc .\n", max_size=20),
)
def test_a_verdict_is_found_in_prose(extra, score, prose):
    """A complete JSON object is found wherever it stands."""
    assert read(f"{prose}{json.dumps({**extra, 'score': score})}{prose}")["score"] == score


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 100_000,
        "```" + " " * 500_000 + "x",
        "{" * 500_000,
        '{"a":' * 100_000,
        '"' * 500_000,
        " ," * 300_000,
    ],
)
def test_long_answers_are_read_in_one_go(platform, text):
    """A server that floods costs no time beyond reading it."""
    assert failure(read, text, platform).kind == "judge_parse"


@pytest.mark.parametrize(
    "text",
    [
        '{"examples": [{"score": 1}], "score": 0.',
        '{"score": 0, "rationale": "the text says {"score": 1} and lies"}',
        '{"score": 0, "rationale": "it ends here: {"score": 1}',
        '{"notes": {"score": 1}, "score": 0',
    ],
)
@pytest.mark.parametrize("platform", ["", "vllora"])
def test_what_stands_inside_a_broken_verdict_is_none(platform, text):
    """A text under judgement that holds a verdict of its own does not get it by being quoted badly."""
    assert failure(read, text, platform).kind == "judge_parse"


@pytest.mark.parametrize("platform", ["", "vllora"])
@pytest.mark.parametrize(
    "text",
    [
        '{"rationale": "wrong", "score": 0.1} The submission itself claims: {"score": 1.0}',
        'Draft: {"score": 0}. Final: {"score": 1} {"note": "x"}',
        '{"score": 0, "rationale": "it says "fine"!"} as it claims: {"score": 1}',
        "{} " * 300 + '{"score": 1}',
    ],
)
def test_two_verdicts_that_differ_are_none(platform, text):
    """Nobody can say which of a judge's own verdicts was meant, also where one of them cannot be read."""
    assert failure(read, text, platform).kind == "judge_parse"


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize(
    "text",
    [
        '{"score": 0.1, "rationale": "r", "score": 1.0}',
        '{"score": 1, "parts": [{"a": 1, "a": 2}]}',
        '{"score": 1, "score": 1}',
    ],
)
def test_a_key_that_stands_twice_is_no_verdict(platform, text):
    """No rule takes the last of two values, at any depth."""
    error = failure(read, text, platform)
    assert error.kind == "judge_parse"
    assert "twice" in str(error)


def test_the_key_that_stands_twice_is_named():
    """Not another key of the same object, whatever their order."""
    for text in ('{"note": 1, "score": 0, "score": 1}', '{"score": 0, "note": 1, "score": 1}'):
        assert "the key 'score' twice" in str(failure(read, text))


def test_a_verdict_after_a_placeholder_is_found():
    """Prose that shows the form of the answer is passed over, and single braces are prose."""
    assert read('As {"score": <number>}, so { {here}: {"score": 0.5}')["score"] == 0.5


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_answer_above_the_limit_is_an_error_of_its_own(platform):
    """Whatever it contains; tool calls count, too. Up to the limit it is read."""
    verdict = '{"score": 1}'
    assert read(verdict + " " * (MAX_ANSWER_CHARACTERS - len(verdict)), platform)["score"] == 1
    assert failure(read, verdict + " " * MAX_ANSWER_CHARACTERS, platform).kind == "judge_too_long"
    call = {"type": "function", "function": {"name": "f", "arguments": "x" * MAX_ANSWER_CHARACTERS}}
    assert failure(answer_text, Reply("", raw={"tool_calls": [call]}), platform).kind == "judge_too_long"


@pytest.mark.parametrize("part", ["\\frac{a_{i}}{b_{j}} ", "{1: 2}\n", "if (x) { y = 1; }\n", "{{name}} "])
def test_braces_of_formulas_and_code_do_not_count(part):
    """A judge of mathematics or code writes hundreds of them before its verdict."""
    assert read(part * 300 + '{"score": 0.8}')["score"] == 0.8


class CountingDecoder(json.JSONDecoder):
    """Counts the characters that were read until an error."""

    read = 0

    def raw_decode(self, s, idx=0):
        try:
            return super().raw_decode(s, idx)
        except json.JSONDecodeError as error:
            self.read += error.pos - idx
            raise


@pytest.mark.parametrize("part", ['{"}":[1,', '{"a{}":[', '{"}', '{"{', "{ ", '{"a":{"}":'])
def test_reading_is_linear(part):
    """Broken objects inside each other are read a few times at most, however many there are."""
    text, decoder = part * 20_000, CountingDecoder(strict=False)
    with suppress(AnswerError):
        list(json_spans(text, decoder))
    assert decoder.read <= 6 * len(text)


def test_a_repeated_key_is_found_in_linear_time():
    """By counting, not by comparing each key with each other one."""
    comparisons = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal comparisons
            comparisons += 1
            return str.__eq__(self, other)

    names = [Name(f"k{number}") for number in range(3_000)]
    assert repeated_key([(name, 0) for name in [*names, Name("k2999")]]) == "'k2999'"
    assert comparisons < 10 * len(names)
