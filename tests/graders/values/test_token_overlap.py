"""The graders of tokens and lists."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders.rules.tokens import items_in, list_match, set_match, token_f1


def grade(grader, text, reference=None):
    """A grade of one completion."""
    thread = wb.StringThread([("assistant", text)])
    return grader(wb.Sample(id="0", thread=thread, reference=reference, group="0"))


@pytest.mark.parametrize(
    ("text", "expected", "squad", "words"),
    [
        ("The cat sat.", "cat sat", 1.0, 0.8),
        ("cat cat dog", "cat dog dog", 2 / 3, 2 / 3),
        ("New York City", "New York", 0.8, 0.8),
        ("UPPER", "upper", 1.0, 1.0),
        ("", "cat", 0.0, 0.0),
        ("", "", 1.0, 1.0),
        ("...", "cat", 0.0, 0.0),
        ("Paris Paris Paris Paris Paris", "Paris", 1 / 3, 1 / 3),  # inspect_ai#5473
        ("A", "A", 1.0, 1.0),  # helm#4315: nothing is left of an article
        ("An", "A", 0.0, 0.0),
        ("The result is (3.14)", "3.14", 0.5, 0.4),  # inspect_ai#4620
        ("42.0", "42", 0.0, 1.0),
        ("-5", "5", 1.0, 0.0),  # SQuAD removes the sign
        ("\u22125", "-5", 0.0, 1.0),  # inspect_ai#4636
        ("3,000", "3000", 1.0, 1.0),
        ("caf\u00e9", "cafe\u0301", 0.0, 1.0),
        ("stra\u00dfe", "STRASSE", 0.0, 1.0),
        ("<think>cat</think>dog", "cat", 0.0, 0.0),
        ("don't", "dont", 1.0, 0.0),
    ],
)
def test_token_f1(text, expected, squad, words):
    """Both normalisations, with repetitions counted."""
    assert grade(wb.TokenF1(expected), text).score == pytest.approx(squad)
    assert grade(wb.TokenF1(expected, normalization="words"), text).score == pytest.approx(words)


def test_measures_and_aliases():
    """Precision and recall; a list of accepted texts gives the best."""
    assert grade(wb.TokenF1(measure="precision"), "cat dog", "cat").score == 0.5
    assert grade(wb.TokenF1(measure="recall"), "cat dog", "cat").score == 1.0
    best = grade(wb.TokenF1(), "New York City", ["NYC", "New York City"])
    assert (best.score, best.passed) == (1.0, None)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ("```json\n[1, 2]\n```", ["1", "2"]),
        ('The list is ["a", "b"].', ["a", "b"]),
        ("- a\n- b", ["a", "b"]),
        ("They are:\n1. a\n2. **b**.\nDone", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a, b and c.", ["a", "b", "c"]),
        ("a, b, and c", ["a", "b", "c"]),
        ("The items are: a, b", ["a", "b"]),
        ("1,000, 2", ["1,000", "2"]),
        ("1,2,3", ["1", "2", "3"]),
        ("a; b, c", ["a", "b, c"]),
        (r"\boxed{\{1, 2\}}", ["1", "2"]),
        ("<think>a, b</think>c", ["c"]),
        ("none", []),
        ("[]", []),
        ("", None),
        ("...", None),
        ('[{"b": 1, "a": 2}]', ['{"a": 2, "b": 1}']),
        ("a or b", ["a or b"]),
        ("[true, null, 2.0]", ["true", "null", "2.0"]),
    ],
)
def test_items_are_read(text, items):
    """JSON, Python, bullets, lines and commas."""
    assert items_in(text) == items


@pytest.mark.parametrize(
    ("text", "reference", "settings", "score"),
    [
        ("b, A", ["a", "b"], {}, 1.0),
        ("b, a, c", ["a", "b"], {}, 0.0),
        ("a", ["a", "b"], {}, 0.0),
        ("a, a, b", ["a", "b"], {}, 1.0),
        ("a, a, b", ["a", "b"], {"duplicates": "count"}, 0.0),
        ("a, a, b", ["a", "b"], {"duplicates": "reject"}, 0.0),
        ("b, a, a", ["a", "a", "b"], {"duplicates": "reject"}, 1.0),
        ("a, c", ["a", "b"], {"measure": "f1"}, 0.5),
        ("a, c", ["a", "b"], {"measure": "jaccard"}, 1 / 3),
        ("a, b, c, d", ["a", "b"], {"measure": "precision"}, 0.5),
        ("a", ["a", "b"], {"measure": "recall"}, 0.5),
        ("A", ["a"], {"ignore_case": False}, 0.0),
        ("2.0, 1", [1, 2], {}, 1.0),
        ("a|b", "b|a", {"separator": "|"}, 1.0),
        ("[]", [], {}, 1.0),
        ("", [], {}, 0.0),
        ("a", [], {}, 0.0),
        ("[]", ["a"], {"measure": "f1"}, 0.0),
        ("not a, b", ["a", "b"], {}, 0.0),
        ("[1]", [True], {}, 0.0),
    ],
)
def test_set_match(text, reference, settings, score):
    """Order does not count; duplicates by setting."""
    assert grade(wb.SetMatch(**settings), text, reference).score == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "reference", "settings", "score"),
    [
        ("a, b", ["a", "b"], {}, 1.0),
        ("b, a", ["a", "b"], {}, 0.0),
        ("a, a, b", ["a", "b"], {}, 0.0),
        ("a, b, c", ["a", "b"], {}, 0.0),  # reasoning-gym's word_sorting accepted additions
        ("b, a", ["a", "b"], {"measure": "f1"}, 0.5),
        ("b, a, c", ["a", "b", "c"], {"measure": "positions"}, 1 / 3),
        ("a, b", ["a", "b", "c", "d"], {"measure": "recall"}, 0.5),
        ("a, x, b", ["a", "b"], {"measure": "precision"}, 2 / 3),
        ("1. a\n2. b", ["a", "b"], {}, 1.0),
        ("[]", [], {"measure": "positions"}, 1.0),
    ],
)
def test_list_match(text, reference, settings, score):
    """Order and repetitions count."""
    assert grade(wb.ListMatch(**settings), text, reference).score == pytest.approx(score)


def test_details_name_the_difference():
    """What is missing, what is extra, where a list differs first."""
    assert grade(wb.SetMatch(), "a, c", ["a", "b"]).metadata == {"missing": ["b"], "extra": ["c"]}
    assert grade(wb.ListMatch(), "a, c", ["a", "b"]).metadata["first_difference"] == 1


def test_a_reference_without_items_fails_the_row():
    """An empty text is not a list."""
    assert grade(wb.SetMatch(), "a", "").error.kind == "sample"


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: wb.TokenF1(measure="f2"), "measure"),
        (lambda: wb.TokenF1(normalization="nfc"), "normalization"),
        (lambda: wb.SetMatch(duplicates="keep"), "duplicates"),
        (lambda: wb.SetMatch(""), "must be a list"),
        (lambda: wb.ListMatch(measure="jaccard"), "measure"),
        (lambda: wb.ListMatch(separator=1), "separator"),
    ],
)
def test_bad_settings_are_refused(make, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        make()


_ITEMS = st.lists(
    st.text("abcxyz 123", min_size=1, max_size=6)
    .map(str.strip)
    .filter(lambda one: one and one not in {"a", "and"}),
    min_size=1,
    max_size=6,
)


@given(_ITEMS, st.randoms())
def test_a_list_is_itself(items, random):
    """JSON, bullets: the same list; shuffled: the same set, and F1 is between 0 and 1."""
    text = json.dumps(items)
    shuffled = items.copy()
    random.shuffle(shuffled)
    assert list_match("\n".join(f"- {item}" for item in items), text)[0] == 1.0
    assert set_match(json.dumps(shuffled), text, duplicates="count")[0] == 1.0
    assert 0.0 <= list_match(json.dumps(shuffled), text, measure="f1")[0] <= 1.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_token_f1_is_symmetric(one, other):
    """F1 of two texts is that of the two exchanged; any text is graded."""
    one, other = f"x {one}", f"x {other}"
    if "think>" not in one + other:
        for normalization in ("squad", "words", "none"):
            score = token_f1(one, other, normalization=normalization)[0]
            assert score == token_f1(other, one, normalization=normalization)[0]
            assert 0.0 <= score <= 1.0


@given(st.text(alphabet="ab,;[]{}()\"'\\ \n-*.1", max_size=40))
def test_any_text_is_read(text):
    """No text raises."""
    assert items_in(text) is None or isinstance(items_in(text), list)


@pytest.mark.parametrize(
    ("grader", "task"),
    [
        (wb.SetMatch(), "selections"),
        (wb.ListMatch(), "lists"),
        (wb.TokenF1(), "capitals"),
        (wb.TokenF1(normalization="words"), "capitals"),
    ],
)
def test_probes_have_no_error(grader, task):
    """No wrong text is accepted, no plain form of the reference rejected."""
    probe = wb.probe(grader, samples(task), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]
