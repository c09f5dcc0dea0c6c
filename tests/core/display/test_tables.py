"""Tables of text."""

from __future__ import annotations

from workbench.core.display import Drawing, Parts, Span, TableBlock, html_of, markdown_of, text_of


def test_cells_are_text():
    """Neither a cell nor a head brings markup, and a line end does not end a row."""
    table = TableBlock(["<b>", "a|b"], [["<i>", "x\n| y | z |"]])
    page = html_of([table])
    assert "<i>" not in page
    assert "<b>" not in page
    lines = markdown_of([table]).strip().split("\n")
    assert len(lines) == 3
    assert lines[2] == r"| &lt;i&gt; | x \| y \| z \| |"
    assert text_of([table]) == "  <b>  a|b\n  <i>  x | y | z |"


def test_numbers_stand_on_the_right():
    """Their heads too; long texts are wide."""
    table = TableBlock(["n", "text"], [[1, "word " * 20], [20, None]], numbers={0})
    page = html_of([table])
    assert "<th scope='col' class='num'>n</th>" in page
    assert "<td class='num'>1</td><td class='wide'>" in page
    assert markdown_of([table]).split("\n")[1] == "| ---: | --- |"
    assert text_of([table]).split("\n")[0].startswith("   n  text")


def test_a_table_without_a_head():
    """Every cell is there."""
    table = TableBlock(["", ""], [["a", "b"]], kind="lines", indent=0)
    assert html_of([table]) == (
        "<div class='scroll'><table class='lines'><tbody><tr><td>a</td><td>b</td></tr></tbody></table></div>"
    )
    assert text_of([table]) == "a  b"


def test_a_cell_may_have_parts():
    """A drawing is its text where there is no HTML; hidden characters are visible in every form."""
    table = TableBlock(["", ""], [[Parts(Drawing("<svg/>", "bar"), " ", Span("x", "mono")), "\u202e"]])
    assert "<td><svg/> <span class='mono'>x</span></td><td>⟨U+202E⟩</td>" in html_of([table])
    assert "| bar x | ⟨U+202E⟩ |" in markdown_of([table])
    assert text_of([table]) == "  bar x  ⟨U+202E⟩"
