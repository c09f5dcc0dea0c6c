"""The parts of the documentation site that are ours: links, pages as Markdown, `llms.txt`; `.ci/run` builds all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.reference import reference_markdown
from tools.site import broken_links, notebook_markdown, point_inside, write_markdown

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Tea\n", "\n", "Two cups. See [more](02_more.ipynb#milk)."]},
        {"cell_type": "code", "source": "1 + 1", "outputs": [{"data": {"text/plain": ["2"]}}]},
        {"cell_type": "code", "source": "print('a')", "outputs": [{"text": "a\n"}]},
        {
            "cell_type": "code",
            "source": "draw()",
            "outputs": [{"data": {"application/vnd.plotly.v1+json": {}, "text/plain": "<x>"}}],
        },
    ]
}


@pytest.mark.parametrize(
    ("page", "text", "shown"),
    [
        ("a", "[q](../notebooks/01_x.ipynb#go)", "[q](tutorials/01_x.md#go)"),
        ("a", "[threats](../SECURITY.md#escape)", "threats (`SECURITY.md` in the repository)"),
        ("tutorials/01_x", "[p](../docs/probe.md) [n](02_y.ipynb)", "[p](../probe.md) [n](02_y.md)"),
    ],
)
def test_links_lead_to_pages_of_the_site(page, text, shown):
    """Files without a page are named; notebooks have another ending in Markdown."""
    assert point_inside(page, text, suffix=".md") == shown


def test_a_notebook_is_markdown_with_its_outputs():
    """What a cell printed or displayed is below it, and a figure is named."""
    text = notebook_markdown(NOTEBOOK)
    assert "```python\n1 + 1\n```\n\n````text\n2\n````" in text
    assert "````text\na\n````" in text
    assert "a figure" in text
    assert "<x>" not in text


def test_every_page_is_markdown_too(tmp_path):
    """`llms.txt` lists pages, tutorials and reference, and no link of it or of the pages is broken."""
    (tmp_path / "SKILL.md").write_text((DOCS / "SKILL.md").read_text("utf-8"), "utf-8")
    more = {"cells": [{"cell_type": "markdown", "source": "# More\n\nMilk."}]}
    write_markdown(tmp_path, DOCS, {"01_tea": NOTEBOOK, "02_more": more}, reference_markdown())
    listed = (tmp_path / "llms.txt").read_text("utf-8")
    assert "- [Tea](tutorials/01_tea.md): Two cups." in listed
    assert "(probe.md): " in listed
    assert "wb.ExactMatch" in (tmp_path / "reference" / "kinds-of-graders.md").read_text("utf-8")
    assert [link for link in broken_links(tmp_path) if "tutorials/0" not in link] == []


def test_a_broken_link_is_found(tmp_path):
    """A missing page, a missing anchor, a missing picture, and a page of Markdown; other sites are not opened."""
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x">1</a><a href="b.html">2</a><a href="a.html#y">3</a><img src="c.png">'
        '<a href="https://example.org/none">4</a>'
    )
    (tmp_path / "d.md").write_text("[e](e.md) `[f](f.md)` [a](a.html)")
    assert broken_links(tmp_path) == ["a.html: a.html#y", "a.html: b.html", "a.html: c.png", "d.md: e.md"]
