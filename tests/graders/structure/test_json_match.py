"""JSON compared with a reference key by key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders import from_spec
from workbench.graders.portable import portable
from workbench.graders.rules.json_compare import equal_json, json_match, matching


def grade(text, expected, **settings):
    """The grade of a text or a value as JSON."""
    text = text if isinstance(text, str) else json.dumps(text)
    return wb.JsonMatch(expected, **settings)(wb.StringThread([("assistant", text)]))


@pytest.mark.parametrize(
    ("found", "expected", "settings", "score"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, 1.0),
        ({"a": 12.0}, {"a": 12}, {}, 1.0),
        ({"a": True}, {"a": 1}, {}, 0.0),  # autoevals gives 1.0
        ({"a": "12"}, {"a": 12}, {}, 0.0),
        ({"a": None}, {"a": None}, {}, 1.0),  # openai/evals#1763: null is a value
        ({}, {"a": None}, {}, 0.0),
        ({"a": []}, {"a": None}, {}, 0.0),  # jdd#15
        ({"a": None}, {"a": []}, {}, 0.0),
        ({"a": {}}, {"a": None}, {}, 0.0),
        ({"a": 1, "b": 2}, {"a": 1}, {}, 0.0),
        ({"a": 1, "b": 2}, {"a": 1}, {"extra": "ignore"}, 1.0),
        ({"a": 1}, {"a": 1, "b": 2}, {}, 0.0),  # ARGUS#3: a missing key was left out of the scores
        ({"a": 1}, {"a": 1, "b": 2}, {"missing": "ignore"}, 1.0),
        ([1, 2], [2, 1], {}, 0.0),
        ([1, 2], [2, 1], {"order": False}, 1.0),
        ([1, 1, 2], [1, 2, 2], {"order": False}, 0.0),
        ([1, 2], [1, 2, 3], {}, 0.0),
        ([1, 2, 3], [1, 2], {}, 0.0),
        ({"s": [[{"b": 1}]]}, {"s": [[{"b": 1}], []]}, {}, 0.0),  # json-diff#68
        ([[1, 2], [3]], [[3], [2, 1]], {"order": False}, 1.0),
        ({"x": 10.04}, {"x": 10}, {"tolerance": 0.05}, 1.0),
        ({"x": -10.04}, {"x": -10}, {"relative": 0.005}, 1.0),
        ({"x": 10.1}, {"x": 10}, {"tolerance": 0.05}, 0.0),
        ({"x": "PARIS"}, {"x": "Paris"}, {"ignore_case": True}, 1.0),
        (12345678901234567891, 12345678901234567890, {}, 0.0),
        ("text", '"text"', {}, 0.0),
        ('"text"', '"text"', {}, 1.0),
        ("{}", "[]", {}, 0.0),
        ("{}", "{}", {}, 1.0),
        ({"a": 1}, "{}", {}, 0.0),
        ([1], "[]", {}, 0.0),
    ],
)
def test_equality(found, expected, settings, score):
    """Numbers by value, booleans and nulls as such, orders and keys as declared."""
    assert grade(found, expected, **settings).score == score


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": 1,}',
        '{"a": 1, "a": 1}',
        "",
        "a",
        '```json\n{"a": 1}\n```',
        '{"a": 1} {"a": 1}',
        '{"a": {"b": 1, "b": 2}}',
    ],
)
def test_what_is_not_json_scores_zero(text):
    """Also an object that has a key twice: which value counts is not defined."""
    assert grade(text, {"a": 1}).metadata["failure"] == "json"
    assert grade('```json\n{"a": 1}\n```', {"a": 1}, fenced="allow").score == 1.0


@pytest.mark.parametrize(
    ("keys", "found", "score"),
    [
        ({"a": "ignore"}, {"a": 9, "b": "x"}, 1.0),
        ({"a": "ignore"}, {"b": "x"}, 1.0),
        ({"a": "type"}, {"a": 9, "b": "x"}, 1.0),
        ({"a": "type"}, {"a": "9", "b": "x"}, 0.0),
        ({"a": "present"}, {"a": None, "b": "x"}, 1.0),
        ({"a": "present"}, {"b": "x"}, 0.0),
        ({"b": "ignore_case"}, {"a": 1, "b": "X"}, 1.0),
        ({"a": {"tolerance": 0.5}}, {"a": 1.4, "b": "x"}, 1.0),
        ({"b": wb.Contains()}, {"a": 1, "b": "has x"}, 1.0),
        ({"a": wb.Number(relative=0.5)}, {"a": "about 1.2", "b": "x"}, 1.0),
        ({"b": wb.Regex("^x$")}, {"a": 1, "b": "xx"}, 0.0),
    ],
)
def test_matchers_of_keys(keys, found, score):
    """Texts, tolerances, and graders with the value as the completion."""
    assert grade(found, {"a": 1, "b": "x"}, keys=keys).score == score


def test_matchers_of_items():
    """`items[].price` is the price of every item; "unordered" is one list."""
    expected = {"items": [{"price": 1, "tags": ["a", "b"]}, {"price": 2, "tags": []}]}
    found = {"items": [{"price": 1.01, "tags": ["b", "a"]}, {"price": 2.01, "tags": []}]}
    assert grade(found, expected).score == 0.0
    keys = {"items[].price": {"tolerance": 0.1}, "items[].tags": "unordered"}
    assert grade(found, expected, keys=keys).score == 1.0
    assert grade({"items": found["items"][::-1]}, expected, keys={**keys, "items": "unordered"}).score == 1.0
    assert grade(found, expected, keys={**keys, "items[1].price": "exact"}).score == 0.0


def test_shares_and_weights():
    """Top-level keys count once or by weight; additional keys are wrong keys."""
    expected = {"a": 1, "b": {"c": 1, "d": 2}}
    half = grade({"a": 1, "b": {"c": 1, "d": 9}}, expected, measure="share")
    assert (half.score, half.passed, half.metadata["keys"]) == (
        0.75,
        False,
        {"a": 1.0, "b.c": 1.0, "b.d": 0.0},
    )
    assert grade(
        {"a": 1, "b": {"c": 1, "d": 9}}, expected, measure="share", weights={"b": 3}
    ).score == pytest.approx(0.625)
    assert grade(
        {"a": 1, "b": {"c": 1, "d": 9}}, expected, measure="share", weights={"b.d": 0}
    ).score == pytest.approx(1.0)
    assert grade({"a": 1, "b": 2}, {"a": 1}, measure="share").score == 0.5
    assert grade({}, {"a": 1, "b": 2}, measure="share").score == 0.0
    assert (
        grade({"o1": {"x": 2, "y": 2}}, {"o1": {"y": 2, "x": 1}}, measure="share").score == 0.5
    )  # autoevals#99
    assert grade([1, 2, 3, 4], [1, 2], measure="share").metadata["extra"] == ["[2]", "[3]"]


def test_a_reference_that_is_not_json_fails_the_row():
    """And so does a key whose grader has no score."""
    thread = wb.StringThread([("assistant", '{"a": "x"}')])
    assert wb.JsonMatch()(wb.Sample(id="0", thread=thread, reference="{a", group="0")).error.kind == "sample"
    failed = wb.JsonMatch({"a": "x"}, keys={"a": wb.Number()})(thread)
    assert failed.error.kind == "sample"
    assert failed.error.message.startswith("a: ")


def test_a_grader_of_a_key_survives_the_spec_and_cannot_be_one_function():
    """It is a spec inside the spec; an export as code is refused by name."""
    grader = wb.JsonMatch({"a": 1}, keys={"a": wb.Number(tolerance=1)})
    assert from_spec(json.loads(json.dumps(grader.spec()))) == grader
    with pytest.raises(FormatError, match="single keys"):
        portable(grader)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"expected": "{"}, "expected must be JSON"),
        ({"expected": {"a": float("nan")}}, "expected must be JSON"),
        ({"keys": {"a": "close"}}, "matcher must be"),
        ({"keys": {"a": {"margin": 1}}}, "tolerance and relative"),
        ({"keys": []}, "dict of paths"),
        ({"weights": {"a": -1}}, "from 0 on"),
        ({"weights": 3}, "weights must be"),
        ({"tolerance": -1}, "tolerance must be"),
        ({"measure": "half"}, "measure must be"),
        ({"extra": "maybe"}, "extra must be"),
        ({"keys": {"a": wb.BinaryJudge("x", client=wb.ScriptedClient("y"))}}, "without a model"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.JsonMatch(**settings)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.[", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, JSON)
def test_a_value_equals_itself_alone(one, other):
    """In every mode; a share is 1.0 where all is equal, and never outside 0 to 1."""
    text, changed = json.dumps(one), json.dumps(other)
    for settings in ({}, {"order": False}, {"measure": "share"}):
        assert json_match(text, text, **settings)[0] == 1.0
    assert json_match(changed, text)[0] == float(equal_json(other, one))
    share = json_match(changed, text, measure="share")[0]
    assert 0.0 <= share <= 1.0
    assert equal_json(other, one, order=False) == (json_match(changed, text, order=False)[0] == 1.0)


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6))
def test_matching_is_as_large_as_possible(pairs):
    """As many items find a partner as in a search over all assignments."""
    found = list(range(6))
    chosen = matching(found, pairs, lambda one, other: one in other)
    used = [one for one in chosen if one is not None]
    assert len(set(used)) == len(used)
    assert all(one is None or one in other for one, other in zip(chosen, pairs, strict=True))

    def best(at, free):
        if at == len(pairs):
            return 0
        return max([best(at + 1, free), *(1 + best(at + 1, free - {one}) for one in set(pairs[at]) & free)])

    assert len(used) == best(0, frozenset(found))


def test_its_probe_has_no_error():
    """Objects as references, with numbers and lists."""
    rows = [
        {"prompt": f"Record {n} as JSON.", "expected": {"name": f"n{n}", "price": n + 0.5, "tags": ["x", f"t{n}"]},
         "completion": json.dumps({"name": f"n{n}", "price": n + 0.5, "tags": ["x", f"t{n}"]}) if n % 2 else "{}"}
        for n in range(24)
    ]  # fmt: skip
    for grader in (wb.JsonMatch(), wb.JsonMatch(measure="share"), wb.JsonMatch(fenced="allow", order=False)):
        probe = wb.probe(grader, wb.Samples(rows), progress=False)
        assert not [one for one in probe.findings if one.severity == "error"]
