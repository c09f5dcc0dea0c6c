"""The grader of citations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.portable import portable
from workbench.graders.rules.measures import citations, documents_of

DOCUMENTS = [
    "The cat sat on the old mat, and it slept.",
    {"title": "Dogs", "text": "Dogs don\u2019t like\u00a0cats \u2014 or so they say."},
]


def grade(text, documents=DOCUMENTS, **settings):
    """The grade of a text."""
    columns = {} if documents is None else {"documents": documents}
    return wb.Citations(**settings)(wb.StringThread([("user", "q"), ("assistant", text)], columns))


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("The cat slept [1].", 1.0),
        ("It slept [1, 2].", 1.0),
        ("It slept [1-2].", 1.0),
        ("It slept [3].", 0.0),
        ("It slept [0].", 0.0),
        ("It slept [1][2][3].", 0.0),
        ("It slept [1-9].", 0.0),
        ("It slept.", 0.0),
        ("", 0.0),
        ('It says "the cat sat on the old mat".', 1.0),
        ('It says "The cat sat on the old mat."', 1.0),
        ("It says \u201cTHE CAT  sat on the old mat\u201d.", 1.0),
        ("It says \u00abthe cat sat on the old mat\u00bb.", 1.0),
        ('It says "the cat sat on the new mat".', 0.0),
        ('It says "the cat sat ... it slept".', 1.0),
        ('It says "it slept ... the cat sat".', 0.0),
        ('It says "the cat [...] and it slept" [1].', 1.0),
        ('It says "the cat sat on the old mat" [2].', 0.0),
        ('It says "dogs don\'t like cats - or so they say" [2].', 1.0),
        ('A so-called "cat" [1].', 1.0),
        ("See [1](https://example.org).", 0.0),
        ("<think>[9]</think>It slept [1].", 1.0),
        ("An array x[1] is cited, too.", 1.0),
    ],
)
def test_citations_exist(text, score):
    """Numbers of documents, and quotes inside them."""
    assert grade(text).score == score


def test_settings():
    """Shares, a number of the first document, other columns, no required citation."""
    assert grade("[1] [3]", measure="share").score == 0.5
    assert grade("[0]", first=0).score == 1.0
    assert grade("[2]", first=0).score == 0.0
    assert grade("nothing", minimum=0).score == 1.0
    assert grade("[1]", minimum=2).score == 0.0
    assert grade('the "old mat"', min_words=2).score == 1.0
    assert grade('the "new mat"', min_words=2).score == 0.0
    named = wb.Citations("pages")(wb.StringThread([("assistant", "[1]")], {"pages": ["x"]}))
    assert named.score == 1.0
    assert grade("[1] [7]").metadata == {"citations": 2, "wrong": ["[7]"]}


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (["a", "b"], ["a", "b"]),
        ("a", ["a"]),
        ([{"page_content": "a"}, {"content": ["b", "c"]}], ["a", "b\nc"]),
        ({"x": "a"}, ["a"]),
        (None, []),
        (" ", []),
        (3, []),
    ],
)
def test_documents(value, texts):
    """Texts, objects with their text, one text, texts by name."""
    assert documents_of(value) == texts


@pytest.mark.parametrize("documents", [None, [], "", 4])
def test_a_row_without_documents_fails(documents):
    """The completion is not to blame."""
    assert grade("[1]", documents).error.kind == "sample"


@pytest.mark.parametrize(
    "settings", [{"minimum": -1}, {"min_words": 0}, {"first": 2}, {"measure": "most"}, {"column": 1}]
)
def test_bad_settings_are_refused(settings):
    """Each is named."""
    with pytest.raises(FormatError, match=next(iter(settings))):
        wb.Citations(**settings)


def test_code_scores_the_same():
    """It is exported as Python."""
    code = wb.FunctionGrader.from_source(portable(wb.Citations(measure="share")))
    for text in ("[1] [3]", '"the cat sat on the old mat" [1]', "x"):
        thread = wb.StringThread([("assistant", text)], {"documents": DOCUMENTS})
        assert code(thread).score == wb.Citations(measure="share")(thread).score


@given(st.text(alphabet='ab "\u201c\u201d[]0123,-.\u2026()', max_size=60))
def test_any_text_is_graded(text):
    """No text raises, and a share is one."""
    assert 0.0 <= citations(text, DOCUMENTS, measure="share")[0] <= 1.0


def test_its_probe_has_no_error():
    """Rows with documents, and completions that quote them."""
    rows = [
        {"prompt": f"What is said about {n}?", "documents": [f"Item {n} is red and round.", f"Item {n} costs {n} euros."],
         "completion": f'It costs {n} euros [2]; "item {n} is red and round" [1].' if n % 2 else f'It is "item {n} is blue and round" [4].'}
        for n in range(16)
    ]  # fmt: skip
    probe = wb.probe(wb.Citations(), wb.Samples(rows), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]
