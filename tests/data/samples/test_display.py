"""A dataset as a notebook shows it."""

from __future__ import annotations

import workbench as wb

EVIL = "<script>alert(1)</script> | `x` \u202egnp.exe"


def test_the_number_of_rows_leads():
    """Then what was read, then the first rows; numbers stand on the right."""
    samples = wb.Samples([{"prompt": "p", "completion": "c", "length": n} for n in range(8)])
    html = samples._repr_html_()
    assert "<strong>8 rows</strong> <span class='quiet'>Samples(8 rows, " in html
    assert "<th scope='col' class='num'>length</th>" in html
    assert "3 more rows" in html
    assert samples._repr_markdown_().startswith("**8 rows** Samples(8 rows, ")
    assert "| 0 | p | c | 0 |" in samples._repr_markdown_()


def test_hostile_texts_stay_texts():
    """In heads and cells, in both forms; nothing ends a row of the table."""
    samples = wb.Samples([{"prompt": f"a\n| b |\n{EVIL}", EVIL: EVIL}] * 2)
    html, markdown = samples._repr_html_(), samples._repr_markdown_()
    assert "<script" not in html + markdown
    assert "\u202e" not in html + markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {line.replace(r"\|", "").count("|") for line in rows} == {4}
