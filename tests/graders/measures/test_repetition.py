"""The grader of repetition."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders.rules.measures import repetition


def grade(text, **settings):
    """The grade of a text."""
    return wb.Repetition(**settings)(wb.StringThread([("assistant", text)]))


@pytest.mark.parametrize(
    ("text", "settings", "score"),
    [
        ("one two three four five six", {}, 1.0),
        ("I am sure. " * 20, {}, 0.0),
        ("a" * 500, {"n": 2}, 0.0),  # one token for a split at spaces
        ("\u54c8" * 50, {}, 0.0),  # no spaces at all
        ("\u6211\u4eca\u5929\u53bb\u5317\u4eac\u5b66\u4e60\u5386\u53f2", {}, 1.0),
        ("The the THE the", {"n": 1}, 0.0),
        ("yes, yes! yes?", {"n": 1, "limit": 0.7}, 1.0),
        ("a b a b", {"n": 2, "measure": "share"}, 2 / 3),
        ("", {}, 1.0),
        ("two words", {}, 1.0),
        ("line one\nline one\nline one\nline one\nline one", {}, 0.0),
    ],
)
def test_repetition(text, settings, score):
    """Words, characters of scripts without spaces, runs of one letter."""
    assert grade(text, **settings).score == pytest.approx(score)


def test_details():
    """The share and the most frequent n-gram."""
    details = grade("to be or not to be", n=2).metadata
    assert details == {"repeated": pytest.approx(0.2), "n_grams": 5, "most_frequent": "to be"}


def test_a_long_text_is_fast():
    """A megabyte takes a second or two."""
    start = time.monotonic()
    grade("word " * 200_000)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("settings", [{"limit": 2}, {"n": 0}, {"n": True}, {"measure": "none"}])
def test_bad_settings_are_refused(settings):
    """Each is named."""
    with pytest.raises(FormatError, match=next(iter(settings))):
        wb.Repetition(**settings)


@given(st.text(max_size=80), st.integers(1, 5))
def test_shares_are_shares(text, n):
    """From 0 to 1; a text that is repeated repeats more."""
    score = repetition(text, n=n, measure="share")[0]
    assert 0.0 <= score <= 1.0
    assert repetition(f"{text} \n {text} \n {text}", n=n, measure="share")[0] <= score + 1e-9


def test_its_probe_has_no_error():
    """It checks the form only."""
    probe = wb.probe(wb.Repetition(), samples("sentences"), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]
