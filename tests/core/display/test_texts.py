"""Text that neither HTML nor Markdown takes for markup."""

from __future__ import annotations

import pytest

from workbench.core.display import markdown_text
from workbench.core.display_html import escaped

HOSTILE = [
    "<script>alert(1)</script>",
    "a | b\n| --- | --- |",
    "`code` ``` fence",
    "![x](https://example.org/x.png) [y](javascript:alert(1))",
    "\u202egnp.exe",
    "\ud800",
    "# head",
    "- item",
    "1. item",
    "---",
    "**bold** _em_ ~~gone~~ $x$ &lt;b&gt;",
    "www.example.org",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_html_has_no_markup_of_others(text):
    """No sign of HTML and no hidden character is left."""
    shown = escaped(text)
    assert not set(shown) & set("<>\"'\u202e\ud800")
    shown.encode()


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_the_text_itself(text):
    """Rendered with tables and bare links it is one paragraph with exactly these characters."""
    mistune = pytest.importorskip("mistune")
    render = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url", "math"])
    expected = escaped(text).replace("\n", " ")
    page = render(markdown_text(text)).strip()
    assert page.removeprefix("<p>").removesuffix("</p>") == expected


def test_numbers_are_left_alone():
    """A point or a sign within a number starts no list."""
    assert [markdown_text(text) for text in ("0.52", "-0.3 to +0.1", "1,200")] == [
        "0.52",
        "-0.3 to +0.1",
        "1,200",
    ]


def test_long_texts_are_cut():
    """What is cut is counted."""
    assert escaped("x" * 300, 10).endswith("(290 more characters)")
    assert markdown_text("x" * 300, 10).endswith("(290 more characters)")
