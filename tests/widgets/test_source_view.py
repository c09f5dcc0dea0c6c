"""A text to read: whole, coloured, and nothing but text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.widgets import using
from workbench.display_text import visible
from workbench.widgets.views.source_view import LIMIT, SourceView

PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), max_size=60)


@given(PLAIN, st.sampled_from(["python", "json", "javascript", "yaml", "toml", ""]))
def test_tokens_are_the_text(text, language):
    """Put together the tokens are the text, whatever the language makes of it; neighbours differ."""
    view = SourceView(text, language=language)
    assert "".join(part for _, part in view.tokens) == visible(text)
    kinds = [kind for kind, _ in view.tokens]
    assert all(one != two for one, two in pairwise(kinds))
    view.close()


def test_what_is_shown_has_a_limit_and_what_is_asked_for_has_none(monkeypatch):
    """A long text is cut on the page; copying and saving get all of it."""
    view = SourceView("x" * (LIMIT + 5), language="python", title="t\n2", file="a.py")
    assert (view.cut, view.title) == (5, "t 2")
    assert sum(len(part) for _, part in view.tokens) == LIMIT
    sent = []
    monkeypatch.setattr(view, "send", sent.append)
    view.hear({"ask": "text"})
    view.hear({"ask": "other"})
    assert sent == [{"tell": "text", "text": "x" * (LIMIT + 5)}]
    view.show("y")
    assert (view.text, view.cut, view.title, view.file) == ("y", 0, "t 2", "a.py")
    view.close()


@pytest.mark.parametrize("text", ["", "a\u200b\r\nb\x0c\ufeff", using.NASTY])
def test_what_a_page_copies_and_saves_is_the_text_itself(text, monkeypatch):
    """What is asked for has no character spelled out and no line end turned, however short it is."""
    view = SourceView(text, language="python")
    sent = []
    monkeypatch.setattr(view, "send", sent.append)
    view.hear({"ask": "text"})
    assert [one["text"].encode() for one in sent] == [text.encode()]
    view.close()


def test_hidden_characters_are_seen():
    """A character that turns the direction round is written as its code point."""
    view = SourceView(f"# {using.NASTY}\n", language="python")
    assert "⟨U+202E⟩" in "".join(part for _, part in view.tokens)
    assert repr(SourceView("ab", title="t")) == "SourceView('t', 2 characters)"
    view.close()


@pytest.mark.parametrize("text", ["a\r\nb", "\t\n\n", "é😀", "a\x00b"])
def test_line_ends_and_odd_characters(text):
    """Every line stays a line."""
    view = SourceView(text, language="python")
    assert "".join(part for _, part in view.tokens).count("\n") == text.count("\n")
    view.close()
