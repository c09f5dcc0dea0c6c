"""The documentation is true: its code runs and prints what is shown, its commands exist, its links lead somewhere."""

import contextlib
import io
import re
import shlex
import sys

import pytest

from tests.docs_pages import (
    CODE_PAGES,
    PAGES,
    ROOT,
    RUN,
    anchors,
    blocks,
    broken,
    commands,
    is_output,
    outputs,
    prose,
    script,
)
from tests.docs_tables import GENERATED, committed
from workbench.cli import main

README = (ROOT / "README.md").read_text("utf-8")
DOCS = ROOT / "docs"
MAX_WORDS = 500
"""What a newcomer reads in two minutes."""


def named(pages):
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


def help_of(*command):
    """What a command's --help prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.raises(SystemExit) as stopped:
        main([*command, "--help"])
    assert stopped.value.code == 0
    return text.getvalue()


@pytest.mark.parametrize("page", named(RUN))
def test_blocks_run_and_print_what_is_shown(page, tmp_path):
    """A page's blocks run from top to bottom without a word on stderr, and print what stands below them."""
    for block, printed in outputs(page, tmp_path):
        if block.output is not None and sys.platform == "linux":  # the isolation shown is that of Linux
            assert is_output(block.output, printed), f"{page.name}, line {block.line}, printed:\n{printed}"
        elif page.parent == DOCS:
            assert not printed.strip(), f"{page.name}, line {block.line}, shows nothing of:\n{printed}"
    if page.name == "README.md" and page.parent == ROOT:
        assert {"graders.json", "report.html"} <= {path.name for path in tmp_path.iterdir()}


def test_the_readme_takes_two_minutes():
    """The README stays short: what is more has a page of its own."""
    assert len(README.split()) < MAX_WORDS


@pytest.mark.parametrize("page", named(sorted(DOCS.glob("*.md"))))
def test_a_page_says_what_one_gets_and_then_runs(page):
    """A page begins with a heading, a sentence of what the reader gets, and code that runs; the index needs no code."""
    text = (
        page.read_text("utf-8").rpartition("\n---\n\n")[2]
        if page.name == "SKILL.md"
        else page.read_text("utf-8")
    )
    assert re.match(r"# \S", text)
    if page.name in {"SKILL.md", "index.md"}:
        return  # for an agent, and the first page of the site
    if page.name != "README.md":
        assert text.splitlines()[2].startswith("You get ")
    if page.name not in {"README.md", *CODE_PAGES}:
        assert blocks(text)[0].language == "python"
        assert blocks(text)[0].line <= 12


def test_the_index_names_every_page():
    """Whoever looks for a page finds it in the index of the documentation."""
    index = (DOCS / "README.md").read_text("utf-8")
    missing = {page.name for page in DOCS.glob("*.md") if f"]({page.name})" not in index}
    assert missing == {"README.md", "index.md"}


def test_the_site_has_every_page():
    """Sphinx would warn of a page that no table of contents has, and warnings are errors there."""
    listed = set(re.findall(r"^[\w/-]+$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE))
    assert {page.stem for page in DOCS.glob("*.md")} - listed == {"README", "SKILL", "index"}


@pytest.mark.parametrize("page", named(PAGES))
def test_links_lead_somewhere(page):
    """Every relative link leads to a file of the repository, and to a heading of it where it names one."""
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path):
    """A missing file, a missing heading and a heading of something that has none are broken; the rest is not."""
    (tmp_path / "other.md").write_text("# One `wb.Thing`\n## One `wb.Thing`\n", "utf-8")
    (tmp_path / "data.csv").write_text("", "utf-8")
    page = tmp_path / "page.md"
    good = "[a](other.md#one-wbthing) [b](other.md#one-wbthing-1) [c](data.csv) [d](https://example.com/x) [e](#f)"
    bad = ["gone.md", "other.md#two", "data.csv#one", "#g"]
    shown = "```text\n[no](link.md)\n```\n"
    page.write_text(f"# F\n{good} {' '.join(f'[x]({link})' for link in bad)}\n{shown}", "utf-8")
    assert broken(page) == bad


def test_headings_become_anchors_as_on_github():
    """Small letters, spaces as hyphens, no punctuation, and a number where two headings are the same."""
    text = "# What the *label* means: `kernel`, [a link](x.md)!\n## Two  words\n## Two  words\n```\n# no heading\n```\n"
    assert anchors(text) == {"what-the-label-means-kernel-a-link", "two--words", "two--words-1"}


def test_a_page_runs_with_its_own_line_numbers(tmp_path):
    """Code stands in the script where it stands on the page, and a text block below it is its output."""
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```python\nx = 2\n```\n\ntext\n\n```python\nprint(x)\n```\n\n```text\n2\n```\n", "utf-8"
    )
    lines, run = script(page.read_text("utf-8"), shell=False)
    assert (lines.splitlines()[3], lines.splitlines()[9]) == ("x = 2", "print(x)")
    assert [block.output for block in run] == [None, "2\n"]
    assert [printed for _, printed in outputs(page, tmp_path)] == ["", "2\n"]


def test_a_page_that_fails_or_warns_is_found(tmp_path):
    """An error, a warning and a word on stderr all fail a page."""
    page = tmp_path / "page.md"
    for code in ("1 / 0", "import warnings\nwarnings.warn('old')", "import sys\nprint('x', file=sys.stderr)"):
        page.write_text(f"# Page\n\n```python\n{code}\n```\n", "utf-8")
        with pytest.raises(AssertionError, match=r"page\.md"):
            list(outputs(page, tmp_path))


def test_output_is_compared():
    """Spaces at the ends of lines do not count, dots stand for anything, all else is compared."""
    assert is_output("a\nb\n", "a  \nb\n\n")
    assert is_output("key  ...\n", "key  2026-01-01\n")
    assert not is_output("a\n", "ab\n")
    assert not is_output("a\n", "  a\n")
    assert not is_output("a*\n", "aa\n")


def test_ci_runs_the_test_command():
    """CI calls the very command the README gives."""
    command = re.findall(r"```console\n(.*pytest.*)\n```", README)[0]
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert command.replace("pip install", "pip install -q") in ci


@pytest.mark.parametrize("page", named(PAGES))
def test_commands_exist(page):
    """Every `workbench ...` command that a page names is known to the command line, with its options."""
    listed = help_of()
    for line in commands(page.read_text("utf-8")):
        words = shlex.split(line, comments=True)
        if len(words) < 2 or words[1].startswith("-"):
            continue
        assert re.search(rf"^ +{words[1]} ", listed, re.MULTILINE), line
        known = help_of(words[1])
        wanted = [word.partition("=")[0] for word in words[2:] if word.startswith("--")]
        assert [option for option in wanted if option not in known] == [], line


def test_options_named_alone_exist():
    """An option that the page of the command line names by itself belongs to one of the commands."""
    page = prose((DOCS / "command-line.md").read_text("utf-8"))
    every = "".join(
        help_of(name)
        for name in (
            "demo",
            "open",
            "validate",
            "probe",
            "certify",
            "run",
            "serve",
            "convert",
            "formats",
            "lab",
            "sandbox",
        )
    )
    assert [option for option in re.findall(r"`(--[\w-]+)", page) if option not in every] == []


@pytest.mark.parametrize("name", GENERATED)
def test_generated_parts_are_current(name):
    """The generated tables and lists are what the code gives; `python -m tests.docs_tables` writes them."""
    page, make = GENERATED[name]
    assert committed(name) == make().strip(), f"docs/{page} is old: python -m tests.docs_tables"
