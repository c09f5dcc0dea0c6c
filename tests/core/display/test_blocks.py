"""Blocks and their three forms."""

from __future__ import annotations

import pytest

from workbench.core.display import (
    Code,
    Displayed,
    Drawing,
    Folded,
    Group,
    Heading,
    Items,
    Only,
    Paragraph,
    Parts,
    Span,
    html_of,
    markdown_of,
    text_of,
)
from workbench.core.display_html import STYLE, html_block


class Shown(Displayed):
    """Something to show."""

    _label = "It's"

    def _blocks(self):
        return [Paragraph("a <b>", "lead"), Items(["c | d"])]


def test_one_list_of_blocks_gives_four_forms():
    """For terminals, for notebooks, for editors and chats, and all three together."""
    shown = Shown()
    assert str(shown) == "a <b>\n  c | d"
    assert shown._repr_markdown_() == "**a &lt;b&gt;**\n\n- c \\| d\n"
    page = shown._repr_html_()
    assert page.startswith("<div class='wb-cell wb-report' role='group' aria-label='It&#x27;s'><style>")
    assert page.endswith("</style><p class='lead'>a &lt;b&gt;</p><ul><li class='quiet'>c | d</li></ul></div>")
    assert shown._repr_mimebundle_() == {
        "text/plain": str(shown),
        "text/html": page,
        "text/markdown": shown._repr_markdown_(),
    }


def test_a_block_brings_its_style():
    """Each displayed object stands alone; its label is text."""
    block = html_block("<p>x</p>", "wb-report", label="a'b")
    assert block.startswith("<div class='wb-cell wb-report' role='group' aria-label='a&#x27;b'><style>")
    assert STYLE in block


def test_empty_parts_are_left_out():
    """There is no empty paragraph or list."""
    blocks = [Paragraph("a"), Paragraph(""), Paragraph(None), Items([]), Drawing(""), Paragraph("b")]
    assert html_of(blocks) == "<p>a</p><p>b</p>"
    assert markdown_of(blocks) == "a\n\nb\n"
    assert text_of(blocks) == "a\nb"


def test_parts_of_a_line_have_their_form():
    """Strong text is bold in Markdown, where a drawing is its text."""
    line = Parts(Drawing("<svg></svg>", "chart"), Span("a<", tip="'"), " ", Span("b", "quiet"), " c")
    assert html_of([Paragraph(line, "lead")]) == (
        "<p class='lead'><svg></svg><strong title='&#x27;'>a&lt;</strong> <span class='quiet'>b</span> c</p>"
    )
    assert markdown_of([Paragraph(line, "lead")]) == "chart **a&lt;** b c\n"
    assert text_of([Paragraph(line)]) == "charta< b c"


def test_a_tuple_is_one_value():
    """Cells of a dataset may be tuples: they are no lines of parts."""
    assert text_of([Paragraph(("a", 1))]) == "('a', 1)"


def test_what_is_folded_has_one_line():
    """Its line is text, what it unfolds to is HTML; other forms omit it."""
    fold = [Folded("<b>", [Paragraph("x")])]
    assert html_of(fold) == "<details><summary>&lt;b&gt;</summary><p>x</p></details>"
    assert (markdown_of(fold), text_of(fold)) == ("\n", "")


def test_groups_and_headings():
    """A group is an element of HTML alone."""
    blocks = [Heading("a"), Heading("b", 2), Group("finding", [Paragraph("c")])]
    assert html_of(blocks) == (
        "<p class='lead'><strong>a</strong></p><p><strong>b</strong></p><div class='finding'><p>c</p></div>"
    )
    assert markdown_of(blocks) == "# a\n\n## b\n\nc\n"
    assert text_of(blocks) == "a\nb\nc"


def test_code_ends_no_fence():
    """It is indented in Markdown, and escaped in HTML."""
    code = [Code("```\n<b>\u202e", 100)]
    assert html_of(code) == "<pre>```\n&lt;b&gt;⟨U+202E⟩</pre>"
    assert markdown_of(code) == "    ```\n    <b>⟨U+202E⟩\n"
    assert text_of(code) == "```\n<b>⟨U+202E⟩"


@pytest.mark.parametrize(
    ("form", "render"), [("text", text_of), ("html", html_of), ("markdown", markdown_of)]
)
def test_blocks_of_other_forms_are_not_computed(form, render):
    """A generator for the others does not run."""

    def expensive():
        yield Paragraph(1 / 0)

    others = " ".join({"text", "html", "markdown"} - {form})
    assert render([Only(others, expensive())]).strip() == ""
    assert "x" in render([Only(form, [Paragraph("x")])])
