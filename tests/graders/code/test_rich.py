"""A grader whose text runs in the sandbox, as a notebook shows it."""

from __future__ import annotations

import workbench as wb

SOURCE = (
    '# </pre><script>alert(1)</script>\n# ```\nasync def grade(thread):\n    """\u202e"""\n    return 0.5\n'
)


def test_name_checks_and_source():
    """Before its checks it says how to run them; after them they stand above the source."""
    grader = wb.FunctionGrader.from_source(SOURCE.replace("\u202e", ""), name="<b>half</b>")
    assert "not validated yet" in grader._repr_html_()
    assert "not validated yet" in grader._repr_markdown_()
    grader.validate()
    html, markdown = grader._repr_html_(), grader._repr_markdown_()
    assert html.index("✓") < html.index("<pre>")
    assert markdown.index("✓") < markdown.index("    async def grade")


def test_source_stays_text():
    """Nothing in it ends its box, in either form, and hidden characters are shown."""
    grader = wb.FunctionGrader.from_source(SOURCE, name="<b>half</b>")
    html, markdown = grader._repr_html_(), grader._repr_markdown_()
    assert "<script" not in html
    assert "<b>half" not in html + markdown
    assert "\u202e" not in html + markdown
    shown = [line for line in markdown.splitlines() if "script" in line or "```" in line]
    assert all(line.startswith("    ") for line in shown)
