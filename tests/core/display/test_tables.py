"""Tables of text."""

from __future__ import annotations

from workbench.core.display import html_table, markdown_table


def test_cells_are_text():
    """Neither a cell nor a head brings markup, and a line end does not end a row."""
    heads, rows = ["<b>", "a|b"], [["<i>", "x\n| y | z |"]]
    table = html_table(heads, rows)
    assert "<i>" not in table
    assert "<b>" not in table
    lines = markdown_table(heads, rows).split("\n")
    assert len(lines) == 3
    assert lines[2] == r"| &lt;i&gt; | x \| y \| z \| |"


def test_numbers_stand_on_the_right():
    """Their heads too; long texts are wide."""
    table = html_table(["n", "text"], [[1, "word " * 20]], numbers={0})
    assert "<th scope='col' class='num'>n</th>" in table
    assert "<td class='num'>1</td><td class='wide'>" in table
    assert markdown_table(["n", "text"], [], numbers={0}).split("\n")[1] == "| ---: | --- |"


def test_a_table_without_a_head():
    """Every cell is there."""
    assert html_table([], [["a", "b"]]) == "<table><tbody><tr><td>a</td><td>b</td></tr></tbody></table>"
