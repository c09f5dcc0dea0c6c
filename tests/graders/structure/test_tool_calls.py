"""Tool calls with their arguments."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders import from_spec
from workbench.graders.rules.calls import tool_calls


def record(name, arguments, at=0):
    """A call as in OpenAI's messages."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": str(at), "type": "function", "function": {"name": name, "arguments": text}}


def thread(*calls, before=()):
    """A conversation in which the assistant calls tools after the last user turn."""
    messages = [{"role": "user", "content": "q"}]
    for call in before:
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [record(*call)]},
            {"role": "tool", "content": "x", "tool_call_id": "0"},
            {"role": "user", "content": "r"},
        ]
    records = [record(name, arguments, at) for at, (name, arguments) in enumerate(calls)]
    messages.append(
        {
            "role": "assistant",
            "content": None if records else "no",
            **({"tool_calls": records} if records else {}),
        }
    )
    return wb.StringThread.from_messages(messages, {})


def want(*calls):
    """Expected calls."""
    return [{"name": name, "arguments": arguments} for name, arguments in calls]


A, B = ("search", {"q": "a", "limit": 12}), ("open", {"id": 1})


@pytest.mark.parametrize(
    ("made", "expected", "settings", "score"),
    [
        ([A], [A], {}, 1.0),
        ([B, A], [A, B], {}, 1.0),  # smg#523: parallel calls have no order
        ([B, A], [A, B], {"mode": "strict"}, 0.0),
        ([A, B], [A, B], {"mode": "strict"}, 1.0),
        ([A, A], [A], {}, 0.0),
        ([A], [A, A], {}, 0.0),
        ([A, B], [A], {"mode": "superset"}, 1.0),
        ([A], [A, B], {"mode": "superset"}, 0.0),
        ([A], [A, B], {"mode": "subset"}, 1.0),
        ([A, B], [A], {"mode": "subset"}, 0.0),
        ([], [A], {"mode": "subset"}, 0.0),
        ([], [], {}, 1.0),
        ([A], [], {}, 0.0),
        ([A], [], {"mode": "superset"}, 0.0),
        ([], [], {"mode": "subset"}, 1.0),
        ([A], [A, B], {"measure": "f1"}, 2 / 3),
        ([("search", {"q": "a", "limit": 12.0})], [A], {}, 1.0),
        ([("search", {"q": "a", "limit": "12"})], [A], {}, 0.0),
        ([("open", {"id": True})], [B], {}, 0.0),
        ([("search", {"q": "a", "limit": 999})], [A], {}, 0.0),  # AU-Harness#31: scalars were never compared
        (
            [("search", {"q": "a", "limit": 12, "x": 1})],
            [A],
            {},
            0.0,
        ),  # tinker-cookbook#937: invented arguments
        ([("search", {"q": "a", "limit": 12, "x": 1})], [A], {"arguments": "superset"}, 1.0),
        ([("search", {"q": "a"})], [A], {}, 0.0),
        ([("search", {"q": "a"})], [A], {"arguments": "subset"}, 1.0),
        ([("search", {"q": "a"})], [A], {"optional": ["search.limit"]}, 1.0),
        ([("search", {"q": "a"})], [A], {"optional": ["limit"]}, 1.0),
        ([("search", {"q": "a"})], [A], {"optional": ["open.limit"]}, 0.0),
        ([("search", {"limit": 1, "q": "zzz"})], [A], {"arguments": "ignore"}, 1.0),
        ([("Search", {"q": "a", "limit": 12})], [A], {}, 0.0),
        ([("search", {"q": "A", "limit": 12})], [A], {"ignore_case": True}, 1.0),
        (
            [("search", {"q": "A", "limit": 13})],
            [A],
            {"keys": {"q": "ignore_case", "search.limit": {"tolerance": 1}}},
            1.0,
        ),
        ([("search", {"q": "find a", "limit": 12})], [A], {"keys": {"search.q": wb.Contains()}}, 1.0),
        ([("search", {"q": "find b", "limit": 12})], [A], {"keys": {"q": wb.Contains()}}, 0.0),
        ([("search", '{"q": "a", "limit": 12')], [A], {}, 0.0),
        ([("search", '{"q": "b", "q": "a", "limit": 12}')], [A], {}, 0.0),
        ([("search", "[]")], [("search", {})], {}, 0.0),
        ([("now", "")], [("now", {})], {}, 1.0),
        ([("f", {"x": [2, 1]})], [("f", {"x": [1, 2]})], {}, 0.0),
        ([("f", {"x": [2, 1]})], [("f", {"x": [1, 2]})], {"order": False}, 1.0),
        ([("f", {"x": "2+3"})], [("f", {"x": 5})], {}, 0.0),  # hello-agents#860: values are not evaluated
    ],
)
def test_calls(made, expected, settings, score):
    """Names and arguments, by mode."""
    assert wb.ToolCalls(want(*expected), **settings)(thread(*made)).score == pytest.approx(score)


def test_each_call_is_used_once():
    """With tolerances the first partner that fits may be the wrong one: the largest assignment counts."""
    made = [("f", {"x": 1}), ("f", {"x": 2})]
    expected = [("f", {"x": 1.5}), ("f", {"x": 0.5})]
    assert wb.ToolCalls(want(*expected), tolerance=0.5)(thread(*made)).score == 1.0


@pytest.mark.parametrize(
    ("arguments", "score"),
    [
        ({"q": "b"}, 1.0),
        ({"q": "c"}, 0.0),
        ({"q": "a", "unit": "m"}, 1.0),
        ({"q": "a", "unit": "x"}, 0.0),
        ({"unit": "m"}, 0.0),
        ({"q": ["a", "b"]}, 0.0),
    ],
)
def test_lists_of_allowed_values(arguments, score):
    """BFCL's form: each argument has its allowed values, "" makes it optional."""
    grader = wb.ToolCalls([{"search": {"q": ["a", "b"], "unit": ["m", ""]}}], allowed_lists=True)
    assert grader(thread(("search", arguments))).score == score


@pytest.mark.parametrize(
    "reference",
    [
        want(A), json.dumps(want(A)), want(A)[0], [record(*A)], [{"function": {"name": A[0], "arguments": A[1]}}], [{A[0]: A[1]}],
        [{"name": A[0], "args": A[1]}],
    ],
)  # fmt: skip
def test_forms_of_a_reference(reference):
    """A list, one call, text, OpenAI's records, BFCL's."""
    assert wb.ToolCalls()(wb.Sample(id="0", thread=thread(A), reference=reference, group="0")).score == 1.0


def test_calls_of_the_last_turn_count():
    """Earlier calls are a part of the prompt, unless `turns` is "all"."""
    assert wb.ToolCalls(want(A))(thread(A, before=[B])).score == 1.0
    assert wb.ToolCalls(want(A))(thread(before=[A])).score == 0.0
    assert wb.ToolCalls(want(B, A), turns="all", mode="strict")(thread(A, before=[B])).score == 1.0


def test_text_is_not_a_call():
    """What looks like a call in the completion is not one."""
    text = wb.StringThread([("user", "q"), ("assistant", json.dumps(want(A)))])
    assert wb.ToolCalls(want(A))(text).score == 0.0
    assert wb.ToolCalls([])(text).score == 1.0


def test_details_name_the_difference():
    """The calls that are missing, and those that are not expected."""
    details = wb.ToolCalls(want(A))(thread(B)).metadata
    assert details == {
        "matched": 0,
        "missing": ['search({"q": "a", "limit": 12})'],
        "extra": ['open({"id": 1})'],
    }


@pytest.mark.parametrize(
    "reference", ["{", 4, [1], [{"name": 3}], {"a": 1, "b": 2}, [{"name": "f", "arguments": "["}]]
)
def test_a_reference_that_is_not_calls_fails_the_row(reference):
    """The completion is not to blame."""
    assert (
        wb.ToolCalls()(wb.Sample(id="0", thread=thread(A), reference=reference, group="0")).error.kind
        == "sample"
    )


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"expected": [1]}, "list of calls"),
        ({"expected": [{"name": "f", "arguments": float("nan")}]}, "list of calls"),
        ({"mode": "any"}, "mode must be"),
        ({"arguments": "some"}, "arguments must be"),
        ({"optional": "limit"}, "list of texts"),
        ({"keys": {"q": "near"}}, "matcher must be"),
        ({"turns": "first"}, "turns must be"),
        ({"tolerance": -1}, "tolerance must be"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.ToolCalls(**settings)


def test_the_spec_has_the_graders_of_arguments():
    """They are read back."""
    grader = wb.ToolCalls(want(A), keys={"q": wb.Contains(ignore_case=True)}, optional=["limit"])
    assert from_spec(json.loads(json.dumps(grader.spec()))) == grader


CALLS = st.lists(
    st.tuples(st.sampled_from("fg"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=2)),
    max_size=4,
)


@given(CALLS, CALLS, st.randoms())
def test_modes_are_consistent(made, wanted, random):
    """Strict implies unordered, which is subset and superset; order changes only strict."""
    expected = json.dumps(want(*wanted))
    shuffled = [record(*call) for call in made]
    random.shuffle(shuffled)

    def score(mode, records):
        return tool_calls(records, expected, mode=mode)[0]

    strict, unordered = score("strict", [record(*call) for call in made]), score("unordered", shuffled)
    assert strict <= unordered
    if unordered:
        assert score("subset", shuffled) == score("superset", shuffled) == 1.0
    assert tool_calls([record(*call) for call in wanted], expected, mode="strict")[0] == 1.0
    assert unordered == float(sorted(map(str, map(_plain, made))) == sorted(map(str, map(_plain, wanted))))


def _plain(call):
    return call[0], sorted(call[1].items())


def test_its_probe_has_no_error():
    """Rows of calls: nothing but the calls is accepted."""
    rows = [
        {"messages": [{"role": "user", "content": f"Search t{n}."}, {"role": "assistant", "content": "", "tool_calls": [record("search", {"q": f"t{n}"})]}],
         "expected": json.dumps(want(("search", {"q": f"t{n}"})))}
        for n in range(20)
    ]  # fmt: skip
    probe = wb.probe(wb.ToolCalls(), wb.Samples(rows), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]
