"""Several texts, places, word boundaries, normalisation and negation of text graders."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders import from_spec
from workbench.graders.rules.text import matches, normalized


def score(grader, text, reference=None):
    """The score of a completion."""
    thread = wb.StringThread([("assistant", text)])
    return grader(wb.Sample(id="0", thread=thread, reference=reference, group="0")).score


@pytest.mark.parametrize(
    ("grader", "text", "passes"),
    [
        (wb.Contains(["Paris", "Rome"]), "in Rome", True),
        (wb.Contains(["Paris", "Rome"], several="all"), "in Rome", False),
        (wb.Contains(["Paris", "Rome"], several="all"), "Rome, Paris", True),
        (wb.Contains("Sure", where="start"), " Sure thing", True),
        (wb.Contains("Sure", where="start"), "Not Sure", False),
        (wb.Contains("done.", where="end"), "All done.\n", True),
        (wb.Contains("done.", where="end"), "done. Not", False),
        (wb.Contains("cat", words=True), "a category", False),
        (wb.Contains("cat", words=True), "the cat's", True),
        (wb.Contains("cat", words=True), "cat_food", False),
        (wb.Contains("C++", words=True), "in C++, not", True),  # \b after a plus would not match
        (wb.Contains("C", words=True), "C++", True),
        (wb.Contains("42", words=True), "142", False),
        (wb.Contains("cat", words=True, where="start"), "category", False),
        (wb.Contains("a.c", words=True), "abc", False),  # not a pattern
        (wb.Contains("\u00e9t\u00e9", words=True), "\u00e9t\u00e9s", False),
        (wb.Contains("x", negate=True), "abc", True),
        (wb.Contains(["x", "a"], negate=True), "abc", False),
        (wb.ExactMatch(["4", "four"]), "four", True),
        (wb.ExactMatch(["4", "four"]), "fourth", False),
        (wb.ExactMatch("four", negate=True), "4", True),
        (wb.ExactMatch("caf\u00e9"), "cafe\u0301", False),
        (wb.ExactMatch("caf\u00e9", normalize="nfc"), "cafe\u0301", True),
        (wb.ExactMatch("caf\u00e9", normalize="nfc"), "cafe", False),
        (wb.ExactMatch("don't", normalize="quotes"), "don\u2019t", True),
        (wb.ExactMatch('"x"', normalize="quotes"), "\u201cx\u201d", True),
        (wb.ExactMatch("2010-2020", normalize="dashes"), "2010\u20132020", True),
        (wb.ExactMatch("-5", normalize="dashes"), "\u22125", True),
        (wb.ExactMatch("10 km", normalize="spaces"), "10\u00a0km", True),
        (wb.ExactMatch("10 km", normalize="spaces"), "10  km\u200b", True),
        (wb.ExactMatch("10 km", normalize="spaces"), "10km", False),
        (wb.ExactMatch("42", normalize="nfkc"), "\uff14\uff12", True),
        (wb.ExactMatch("ﬁne", normalize="nfkc"), "fine", True),
    ],
)
def test_options(grader, text, passes):
    """Each option changes what passes, on both sides."""
    assert score(grader, text) == float(passes)


def test_a_reference_may_be_a_list():
    """`several` reads a column of lists; without it a list is its JSON text."""
    assert score(wb.ExactMatch(several="any"), "four", ["4", "four"]) == 1.0
    assert score(wb.ExactMatch(), "four", ["4", "four"]) == 0.0
    assert score(wb.ExactMatch(several="any"), "4", [4]) == 1.0
    thread = wb.StringThread([("assistant", "4")])
    failed = wb.ExactMatch(several="any")(wb.Sample(id="0", thread=thread, reference="4", group="0"))
    assert failed.error.kind == "sample"


def test_negation_keeps_failures():
    """A row without a reference fails, negated or not."""
    assert wb.Contains(negate=True)(wb.StringThread([("assistant", "x")])).error.kind == "sample"


@pytest.mark.parametrize(
    "grader",
    [
        wb.Contains(["a", "b"], several="all", words=True, where="end"),
        wb.ExactMatch(normalize=("nfc", "dashes")),
        wb.Contains("x", negate=True),
    ],
)
def test_options_are_in_the_spec(grader):
    """What is set is shown, and read back."""
    spec = json.loads(json.dumps(grader.spec()))
    assert from_spec(spec) == grader
    assert {"where", "words", "several", "normalize", "negate"} & set(spec)
    assert set(wb.Contains("x").spec()) == {"kind", "expected", "name"}


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: wb.Contains("x", where="middle"), "where must be"),
        (lambda: wb.Contains("x", several="any"), "list of texts"),
        (lambda: wb.Contains([]), "at least 1"),
        (lambda: wb.Contains([1]), "1 texts"),
        (lambda: wb.ExactMatch("x", normalize="nfd"), "normalize must be"),
        (lambda: wb.ExactMatch("x", several="some"), "several must be"),
    ],
)
def test_bad_options_are_refused(make, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        make()


@given(st.text(max_size=30), st.text(max_size=30))
def test_normalising_twice_changes_nothing(text, other):
    """Every step is idempotent, and a text contains itself in every form."""
    for step in ("nfc", "nfkc", "spaces", "quotes", "dashes"):
        once = normalized(text, (step,))
        assert normalized(once, (step,)) == once
    every = ("nfkc", "spaces", "quotes", "dashes")
    assert matches(text, text, how="equals", normalize=every)[0] == 1.0
    assert matches(f"{other} {text}", text, how="ends")[0] == 1.0


@given(st.text(alphabet="ab c1_+", min_size=1, max_size=8).map(str.strip).filter(bool))
def test_a_word_stands_between_spaces(word):
    """With `words` a text between spaces is found, and not inside letters."""
    assert matches(f"x {word} y", word, words=True)[0] == 1.0
    if word[0].isalnum():
        assert matches(f"x{word}", word, words=True, how="ends")[0] == 0.0


@pytest.mark.parametrize(
    "grader",
    [
        wb.ExactMatch(ignore_case=True, normalize=("nfc", "spaces", "quotes", "dashes")),
        wb.ExactMatch(several=""),
    ],
)
def test_probes_have_no_error(grader):
    """Normalisation opens no hole."""
    probe = wb.probe(grader, samples("capitals"), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]
