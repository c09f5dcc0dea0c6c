"""A certificate as text: comments, Markdown and HTML in which no untrusted text is code or markup."""

import html.parser
import re
import tokenize
from dataclasses import replace
from io import BytesIO

import pytest

import workbench as wb
from tests.report.certificates.making import certified, function
from tests.report.test_page import CORPUS
from workbench.core.display_text import HIDDEN
from workbench.report.certificate import comment_lines

MINE = certified([function(), wb.ExactMatch()])
HOSTILE = [
    *CORPUS, "a\nimport os", "a\r\nb", "a\u2028b", "coding: utf-7", "coding=latin-1", "*/ alert(1) /*", "a|b", "`x`", "[x](http://e.org)",
    "![x](http://e.org/x.png)", "\x0c", "*b* _i_", "# h", "@everyone", "\\", "x" * 500,
]  # fmt: skip


def named(name):
    """A certificate in which every free text is this."""
    grader = MINE.graders[0]
    validation = replace(grader.validations[0], name=name)
    grader = replace(grader, name=name, kind=name, models=(name,), isolation=name, validations=(validation,))
    return replace(MINE, graders=(grader,), workbench=name, made=name)


@pytest.mark.parametrize("name", HOSTILE)
def test_comment_lines_stay_comments(name):
    """After `# ` each line is one comment: visible, on one line, no encoding mark, and no end of a comment."""
    lines = comment_lines(named(name))
    for line in lines:
        assert not HIDDEN.search(line)
        assert len(line.splitlines()) == 1
        assert "*/" not in line
    module = "\n".join(f"# {line}" for line in lines) + "\nx = 1\n"
    tokens = list(tokenize.tokenize(BytesIO(module.encode()).readline))
    assert tokens[0].string == "utf-8"
    assert [token.string for token in tokens if token.type == tokenize.NAME] == ["x"]
    assert not any(re.match(r"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)", f"# {line}") for line in lines)


def test_comment_lines_can_be_of_some_graders():
    """A module that contains one grader describes only that one; a name that is not certified is an error."""
    text = "\n".join(comment_lines(MINE, ["exact-match"]))
    assert "exact-match (exact-match)" in text
    assert "says_yes" not in text
    with pytest.raises(KeyError, match="nobody"):
        comment_lines(MINE, ["nobody"])


def test_a_claim_is_called_one():
    """A certificate read from a file states this wherever it is shown; one made here does not."""
    claimed = replace(MINE, claimed=True)
    for show in (str, lambda c: c.markdown, lambda c: c._repr_html_(), lambda c: "\n".join(comment_lines(c))):
        assert "not verified here" in show(claimed)
        assert "not verified here" not in show(MINE)


def test_the_words_say_all_that_is_known():
    """Text, Markdown and card have checks, counts, rates by both of their names, and what digests are worth."""
    for text in (str(MINE), MINE.markdown.replace("\\", ""), MINE._repr_html_()):
        for part in (
            "all 5 passed", "60 of 60 rows (100 %)", "true positive rate (TPR)", "true negative rate (TNR)", "J = TPR + TNR - 1",
            "false positive rate (rho_0)", "false negative rate (rho_1)", "none needed", "not a signature", "probe",
        ):  # fmt: skip
            assert part in text


def test_digests_are_whole_where_they_can_be_copied():
    """Text and Markdown have all digits of source, data and record; the card has the first sixteen."""
    for sha256 in (MINE.graders[0].sha256, MINE.data_sha256, MINE.sha256):
        assert sha256 in str(MINE)
        assert sha256 in MINE.markdown
        assert sha256 not in MINE._repr_html_()
        assert f"{sha256[:16]}…" in MINE._repr_html_()


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_shows_names_as_they_are(name):
    """No picture, link, cell or heading comes of a name, and the table keeps its two columns."""
    text = named(name).markdown
    assert not HIDDEN.search(text)
    assert not re.search(r"(?<!\\)[<\[`]", text)
    for line in text.splitlines():
        if line.startswith("|") and "---" not in line:
            assert len(re.findall(r"(?<!\\)\|", line)) == 3


@pytest.mark.parametrize("name", HOSTILE)
def test_the_card_has_no_markup_of_others(name):
    """In a notebook a name is text: only our own elements and attributes are there."""
    tags, attributes = set(), set()

    class Card(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.add(tag)
            attributes.update(key for key, _ in attrs)

    card = named(name)._repr_html_()
    Card().feed(card)
    assert tags <= {"div", "style", "p", "strong", "table", "tbody", "tr", "td"}
    assert attributes <= {"class", "role", "aria-label"}
    assert not HIDDEN.search(card)


def test_a_notebook_gets_all_three_forms():
    """Text, HTML and Markdown, each as on its own."""
    bundle = MINE._repr_mimebundle_()
    assert bundle == {
        "text/plain": str(MINE),
        "text/html": MINE._repr_html_(),
        "text/markdown": MINE.markdown,
    }


def test_a_card_of_many_graders_is_no_list():
    """Twelve are shown, the rest is counted."""
    many = replace(MINE, graders=tuple(replace(MINE.graders[0], name=f"g{i}") for i in range(50)))
    assert "and 38 more" in many._repr_html_()
    assert repr(many).endswith("and 45 more, 60 rows, " + MINE.made[:10] + ")")


def test_markdown_is_written_whole(tmp_path):
    """The file is the property; a folder that is not there is refused."""
    path = MINE.to_markdown(tmp_path / "c.md")
    assert path.read_text("utf-8") == MINE.markdown
    with pytest.raises(wb.errors.FormatError, match="no folder"):
        MINE.to_markdown(tmp_path / "none" / "c.md")
