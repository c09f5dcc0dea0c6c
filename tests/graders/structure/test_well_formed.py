"""Well-formed text."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders.portable import portable

LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'


def score(text, *settings, **named):
    """The score of a text."""
    return wb.WellFormed(*settings, **named)(wb.StringThread([("assistant", text)])).score


@pytest.mark.parametrize(
    ("form", "text", "passes"),
    [
        ("json", '{"a": 1}', True), ("json", '{"a": 1,}', False), ("json", '{"a": NaN}', False), ("json", '{"a": 1, "a": 2}', False),
        ("json", "", False), ("json", "null", True), ("json", '{"a": 1} x', False), ("json", "[" * 100_000, False), ("json", "{'a': 1}", False),
        ("xml", "<a><b/></a>", True), ("xml", "<a><b></a></b>", False), ("xml", "<a/><b/>", False), ("xml", "text", False), ("xml", "", False),
        ("xml", '<a x="1" x="2"/>', False), ("xml", LAUGHS, False), ("xml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', False),
        ("xml", "<a>&undefined;</a>", False), ("xml", "<?xml version='1.0'?>\n<a>\u00e9</a>", True), ("xml", "<a>" * 1000 + "</a>" * 1000, False),
        ("yaml", "a: 1\nb: [1, 2]", True), ("yaml", "- a\n- b", True), ("yaml", "just a sentence", False), ("yaml", "a: 1\na: 2", False),
        ("yaml", "a: [1", False), ("yaml", "a:\n\t- b", False), ("yaml", "a: 1\n---\nb: 2", False), ("yaml", "", False), ("yaml", "a: b: c", False),
        ("yaml", "x: &a [1]\ny: *a\nz: *a", True), ("yaml", "x: *missing", False), ("yaml", "!!python/object/apply:os.system ['x']", True),
        ("sql", "SELECT a FROM t WHERE b = ?", True), ("sql", "SELECT a FROM t; DELETE FROM t;", True), ("sql", "SELEC a FROM t", False),
        ("sql", "SELECT a FROM", False), ("sql", "SELECT 'a;b'", True), ("sql", "SELECT 'a", False), ("sql", "", False), ("sql", "-- nothing", False),
        ("sql", "SELECT 1; SELEC 2", False), ("sql", "WITH x AS (SELECT 1) SELECT * FROM x", True), ("sql", "DROP TABLE t", True),
        ("sql", "ATTACH DATABASE '/tmp/x.db' AS y", True), ("sql", "Here is the query: SELECT 1", False), ("sql", "PRAGMA user_version", True),
    ],
)  # fmt: skip
def test_forms(form, text, passes):
    """Each format's own rules; nothing is run, fetched or expanded."""
    assert score(text, form) == float(passes)


TAGS = {"format": "tags", "tags": ("think", "answer")}


@pytest.mark.parametrize(
    ("text", "settings", "passes"),
    [
        ("<think>a</think><answer>b</answer>", {}, True),
        ("<think>a</think>\n\n<answer>b</answer>\n", {}, True),
        ("<think>a<answer>b</answer></think>", {}, False),
        ("<think>a</think><think>a</think><answer>b</answer>", {}, False),
        ("<think>a</think><answer>b</answer><answer>c</answer>", {}, False),
        ("<answer>b</answer><think>a</think>", {}, False),
        ("<think>a</think><answer>b", {}, False),
        ("<think>a <answer> is a tag</think><answer>b</answer>", {}, False),
        ("<think>a</think> so <answer>b</answer>", {}, False),
        ("<think>a</think> so <answer>b</answer>", {"outside": "allow"}, True),
        ("<think></think><answer>b</answer>", {}, False),
        ("<think></think><answer>b</answer>", {"empty": "allow"}, True),
        ("a</think><answer>b</answer>", {"opened": True}, True),
        ("<think>a</think><answer>b</answer>", {"opened": True}, False),
        ("<Think>a</Think><answer>b</answer>", {}, False),
        ("", {}, False),
    ],
)
def test_tags(text, settings, passes):
    """In order, once each, without nesting."""
    assert score(text, **TAGS, **settings) == float(passes)


def test_fences_and_roots():
    """A code block is read on request; the outermost value may be required."""
    for form, text in (("json", "[1]"), ("xml", "<a/>"), ("yaml", "- 1"), ("sql", "SELECT 1")):
        assert score(f"```{form}\n{text}\n```", form) == 0.0
        assert score(f"```{form}\n{text}\n```", form, fenced="allow") == 1.0
    assert score("[1]", "json", root="object") == 0.0
    assert score("- 1", "yaml", root="list") == 1.0


@pytest.mark.parametrize("form", ["json", "xml", "yaml", "sql"])
def test_long_texts_end(form):
    """A megabyte of brackets, of statements and of aliases is graded in seconds."""
    start = time.monotonic()
    for text in (
        "[{(<" * 200_000,
        "a: " * 300_000,
        ";" * 50_000,
        "SELECT '" + ";" * 300_000,
        "SELECT " + "(" * 100_000,
        "x: &a [*a, *a]\n",
    ):
        assert score(text, form) in {0.0, 1.0}
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"format": "toml"}, "format must be"),
        ({"format": "tags"}, "tags must be"),
        ({"format": "json", "tags": ("a",)}, "tags must be"),
        ({"format": "tags", "tags": ("a", "a")}, "tags must be"),
        ({"format": "tags", "tags": ("a b",)}, "tags must be"),
        ({"format": "json", "root": "text"}, "root must be"),
        ({"format": "json", "fenced": "yes"}, "fenced must be"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.WellFormed(**settings)


@pytest.mark.parametrize(
    "grader", [wb.WellFormed("xml"), wb.WellFormed(**TAGS), wb.WellFormed("json", root="object")]
)
def test_code_scores_the_same(grader):
    """Formats of the standard library are exported; others are refused by name."""
    code = wb.FunctionGrader.from_source(portable(grader))
    for text in ("<a/>", "<think>a</think><answer>b</answer>", "{}", "[", LAUGHS):
        thread = wb.StringThread([("assistant", text)])
        assert code(thread).score == grader(thread).score
    with pytest.raises(FormatError, match="not in the sandbox"):
        portable(wb.WellFormed("sql"))


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
def test_what_json_writes_is_well_formed(value):
    """And one character less is not."""
    text = json.dumps(value)
    assert score(text, "json") == 1.0
    if isinstance(value, str | list | dict):
        assert score(text[:-1], "json") == 0.0


@given(st.text(alphabet="<>/abthinkswer &;'\"[]{}:-\n", max_size=40))
def test_any_text_is_graded(text):
    """No text raises, in any format."""
    for settings in ({"format": "xml"}, {"format": "yaml"}, {"format": "sql"}, TAGS):
        assert score(text, **settings) in {0.0, 1.0}


def test_its_probe_has_no_error():
    """It checks the form only, which the probe notes."""
    probe = wb.probe(
        wb.WellFormed("tags", tags=("think", "answer")), samples("short_thoughts"), progress=False
    )
    assert not [one for one in probe.findings if one.severity == "error"]
