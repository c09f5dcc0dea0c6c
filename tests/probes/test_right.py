"""When two texts are one answer, and when they are surely two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.probes.shapes import apart, as_text, mentions, number_in, same

ANSWERS = st.one_of(st.integers(-9_999, 9_999).map(str), st.text("abcXYZ .,12", min_size=1, max_size=12))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("42", "42.0"),
        ("1,234", "1234"),
        ("Paris", " paris. "),
        ('{"a": 1}', '{"a":1}'),
        ("−5", "-5"),
        ("1e3", "1000"),
    ],
)
def test_the_same_answer_written_differently(one, other):
    """Spelling of numbers, case, outer punctuation and JSON's spaces make no other answer."""
    assert same(one, other)
    assert not apart(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("42", "43"), ("Paris", "Paris, France"), ("12", "123"), ("5", "-7")]
)
def test_near_answers_are_not_surely_apart(one, other):
    """A number within a tenth, or a text inside the other, may be right somewhere; other signs are not."""
    assert apart(one, other) is (one == "5")


@given(ANSWERS, ANSWERS)
def test_never_both(one, other):
    """Nothing is the same answer and surely another one."""
    assert not (same(one, other) and apart(one, other))
    assert apart(one, other) == apart(other, one)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (float("nan"), ""),
        (5.0, "5"),
        (2.5, "2.5"),
        (" x ", "x"),
        ([1, "a"], '[1, "a"]'),
        (True, "true"),
    ],
)
def test_references_as_text(value, text):
    """A reference is written as one would write the answer."""
    assert as_text(value) == text


def test_letters_count_as_words_only():
    """The letter A stands in "answer A", and not in "Answer"."""
    assert mentions("the answer is A.", "A")
    assert not mentions("Final Answer:", "A")
    assert mentions("It is PARIS", "paris")
    assert not mentions("anything", "")


@pytest.mark.parametrize("text", ["", "abc", "1 2", "4²", "nan", "inf", "1.2.3", "-"])
def test_what_is_no_number(text):
    """Only a whole text that is a finite number is one."""
    assert number_in(text) is None
