"""What displayed objects are put together from."""

from __future__ import annotations

from workbench.core.display import STYLE, bundle, folded, html_block, markdown_lines, paragraph


class Shown:
    """Something to show."""

    def __str__(self):
        return "text"

    def _repr_html_(self):
        return "<p>text</p>"

    def _repr_markdown_(self):
        return "*text*"


def test_a_bundle_has_three_forms():
    """One for terminals, one for notebooks, one for editors and chats."""
    assert bundle(Shown()) == {"text/plain": "text", "text/html": "<p>text</p>", "text/markdown": "*text*"}


def test_a_block_brings_its_style():
    """Each displayed object stands alone; its label is text."""
    block = html_block("<p>x</p>", "wb-report", label="a'b")
    assert block.startswith("<div class='wb-cell wb-report' role='group' aria-label='a&#x27;b'><style>")
    assert STYLE in block


def test_empty_parts_are_left_out():
    """There is no empty paragraph."""
    assert paragraph("") == ""
    assert markdown_lines(["a", "", "b"]) == "a\n\nb\n"


def test_what_is_folded_has_one_line():
    """Its line is text, what it unfolds to is HTML."""
    assert folded("<b>", "<p>x</p>") == "<details><summary>&lt;b&gt;</summary><p>x</p></details>"
