"""A source in JupyterLab: what is copied and saved is the text itself, not what is shown of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.page import opened

TEXT = '\ufeff# caf\u00e9 \U0001f600\r\nasync def grade(thread):\r\n    return float("\u200b" in thread.completion())\n'
"""Characters that are spelled out on the page, and line ends that a page turns."""

CELL = f"""
from workbench.widgets.views.source_view import SourceView

view = SourceView({TEXT!r}, language="python", title="grader.py", file="grader.py")
view
"""

CLIPBOARD = "navigator.clipboard.readText()"
UNSAFE = "Object.defineProperty(window, 'isSecureContext', {value: false})"
REFUSED = "document.execCommand = () => false"


@pytest.fixture
def notebook(browser, lab):
    """A page with a source, allowed to read the clipboard."""
    with opened(browser, lab, lab.write("source.ipynb", [CELL])) as made:
        made.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        made.run_all()
        made.wait_text(".wb-source-text", "⟨U+200B⟩")
        yield made
        assert (made.errors(), made.trouble.console, made.trouble.strangers) == ([], [], [])


def test_copy_and_download_give_the_very_text(notebook):
    """Hidden characters and line ends are the source's own, byte for byte."""
    notebook.click(".wb-source-copy")
    notebook.wait_text(".wb-source-said", "copied")
    assert notebook.page.evaluate(CLIPBOARD) == TEXT
    with notebook.page.expect_download() as saved:
        notebook.click(".wb-source-download")
    assert saved.value.suggested_filename == "grader.py"
    assert Path(saved.value.path()).read_bytes() == TEXT.encode()


def test_copy_without_a_clipboard(notebook):
    """Over plain http a copy event gives the very text; where that is refused too, what is shown is selected."""
    notebook.page.evaluate(UNSAFE)
    notebook.click(".wb-source-copy")
    notebook.wait_text(".wb-source-said", "copied")
    assert notebook.page.evaluate(CLIPBOARD) == TEXT
    assert notebook.page.evaluate("getSelection().toString()") == ""
    notebook.page.evaluate(REFUSED)
    notebook.click(".wb-source-copy")
    notebook.wait_text(".wb-source-said", "the browser refused")
    assert "⟨U+200B⟩" in notebook.page.evaluate("getSelection().toString()")
