"""Graders that read the text as JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.graders.code_examples import said
from workbench.core.errors import FormatError
from workbench.graders.rules.structure import strict_json
from workbench.graders.structure import JsonKeys, JsonSchema
from workbench.graders.structure import schema as schemas

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("keys", "require_all", "text", "score", "missing"),
    [
        (["title"], True, '{"title": null}', 1.0, []),
        (["title", "description", "metadata.author"], True, '{"title":"t","metadata":{}}', 0.0, 2),
        (["a", "b"], False, '{"a": 1}', 1.0, 1),
        (["a", "b"], False, '{"c": 1}', 0.0, 2),
        ([], True, "[1,2]", 1.0, []),
        ([], False, '{"a": 1}', 0.0, []),
        (["Title"], True, '{"title": 1}', 0.0, 1),
        (["a.b"], True, '{"a": [{"b": 1}]}', 0.0, 1),
        (["a.0"], True, '{"a": [1]}', 0.0, 1),
        (["a.b"], True, '{"a.b": 1}', 0.0, 1),
        (["a..b"], True, '{"a": {"b": 1}}', 1.0, []),
        (["a"], True, '{"a": 1, "a": 2}', 1.0, []),
        (["a"], True, " \n{} ", 0.0, 1),
    ],
)
def test_json_keys(keys, require_all, text, score, missing):
    """Keys by dotted path, all or any; the missing ones are always told."""
    grade = JsonKeys(keys=keys, require_all=require_all)(said(text))
    assert grade.score == score
    assert len(grade.metadata.get("missingKeys", [])) == (missing or 0)


def test_json_keys_says_what_is_missing():
    """The reasons are Umbraco's words."""
    text = '{"title":"t","metadata":{}}'
    grade = JsonKeys("title", "description", "metadata.author")(said(text))
    assert grade.reasoning == "Missing required JSON keys: [description, metadata.author]"
    assert grade.metadata == {"missingKeys": ["description", "metadata.author"]}
    assert JsonKeys("x", require_all=False)(said(text)).reasoning == "No expected JSON keys were found"


@pytest.mark.parametrize(
    "text", ['{"a":NaN}', '{"a":Infinity}', '{"a":1,}', "{'a':1}", "", "no", '{"a":1} x', "[" * 100_000]
)
def test_what_is_not_strict_json_scores_zero(text):
    """NaN, trailing commas, other quotes, bottomless nesting: 0.0 and a reason, never an error."""
    for grader in (JsonKeys(keys=[]), JsonSchema(schema={})):
        grade = grader(said(text))
        assert grade.score == 0.0
        assert grade.reasoning.startswith("Invalid JSON: ")


def test_long_numbers_are_numbers():
    """A number of many digits is JSON, whatever Python's limit on them."""
    assert JsonKeys("a")(said('{"a": ' + "1" * 9999 + "}")).score == 1.0


@given(JSON)
def test_strict_json_reads_what_json_writes(value):
    """Every JSON value comes back as it was."""
    assert strict_json(json.dumps(value)) == value


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}},
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"tag": {"pattern": "^[a-z]+$"}},
}


@pytest.mark.parametrize(
    ("text", "path", "keyword", "part"),
    [
        ('{"name": "x", "tags": ["a"]}', None, None, "Meets the schema"),
        ("{}", "$", "required", "'name' is a required property"),
        ('{"name": 1}', "$.name", "type", "1 is not of type 'string'"),
        ('{"name": "x", "tags": ["a", "B"]}', "$.tags[1]", "pattern", "does not match"),
        ('{"name": "x", "age": 1}', "$", "additionalProperties", "'age'"),
    ],
)
def test_json_schema(text, path, keyword, part):
    """The first fault is told with its path in the document, the message and the keyword."""
    grade = JsonSchema(schema=PERSON)(said(text))
    assert grade.passed is (path is None)
    assert part in grade.reasoning
    assert path is None or (grade.metadata == {"path": path, "keyword": keyword})
    assert path is None or grade.reasoning.startswith(f"{path}: ")


def test_long_faults_are_cut():
    """A message that quotes a long document is cut."""
    assert len(JsonSchema(schema={"type": "object"})(said(json.dumps("x" * 10_000))).reasoning) < 400


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        ({"type": "strnig"}, "strnig"),
        ({"properties": {"a": {"minimum": "1"}}}, r"\$\.properties\.a\.minimum"),
        ({"pattern": "[bad"}, "pattern"),
        ({"properties": {"a": {"pattern": "(?"}}}, r"\$\.properties\.a"),
        ({"$ref": "https://example.com/s.json"}, "nothing is fetched"),
        ({"items": {"$ref": "file:///etc/passwd"}}, r"\$\.items\.\$ref"),
        (
            {"allOf": [{"patternProperties": {"a": {}}}], "unevaluatedProperties": False},
            "unevaluatedProperties",
        ),
        ({"a": {1, 2}}, "plain JSON"),
        ({"minimum": float("nan")}, "plain JSON"),
        ("{}", "an object"),
    ],
)
def test_bad_schemas_are_refused_when_the_grader_is_made(schema, part):
    """A schema that is none, or leads out of itself, is an error with the place in it."""
    with pytest.raises(FormatError, match=part):
        JsonSchema(schema=schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": list(range(1_000_000))},
        {"enum": [[]] * 10_000},
        {"required": [str(i) for i in range(60_000)]},
        {"properties": {str(i): {} for i in range(6_000)}},
        {"anyOf": [{"const": i} for i in range(6_000)]},
        {"const": [[list(range(300))] * 300]},
        {"examples": [0] * 60_000},
    ],
    ids=["enum", "enum of lists", "required", "properties", "anyOf", "const", "examples"],
)
def test_schemas_that_are_too_large_are_refused(schema, monkeypatch):
    """Before anything of them is checked, which would take seconds to minutes."""
    monkeypatch.setattr(schemas, "_compiled", None)
    with pytest.raises(FormatError) as caught:
        JsonSchema(schema)
    assert f"{schemas.MAX_VALUES:,}" in caught.value.expected
    assert f"{schemas.MAX_OBJECTS:,}" in caught.value.expected


def test_a_schema_that_holds_itself_is_refused():
    """Its values have no end, and none is looked for."""
    schema = {"properties": {}}
    schema["properties"]["a"] = schema
    with pytest.raises(FormatError):
        JsonSchema(schema)


def test_a_large_schema_within_the_limits_is_taken():
    """An enum of forty thousand words."""
    grader = JsonSchema({"enum": [str(i) for i in range(40_000)]})
    assert grader(said('"39999"')).score == 1.0


def test_own_names_and_drafts_are_no_way_out():
    """A reference to a name of the schema itself, or to a draft's own schema, needs no fetching."""
    own = {"$id": "https://example.com/root", "$defs": {"n": {"$id": "n", "type": "integer"}}, "$ref": "n"}
    assert JsonSchema(schema=own)(said("1")).score == 1.0
    assert JsonSchema(schema=own)(said('"x"')).score == 0.0
    draft = {"$ref": "http://json-schema.org/draft-07/schema#"}
    assert JsonSchema(schema=draft)(said('{"type": 5}')).score == 0.0


def test_a_schema_that_points_nowhere_fails_the_row():
    """A local reference to nothing is a failed grade."""
    grade = JsonSchema(schema={"$ref": "#/$defs/none"})(said("1"))
    assert (grade.score, grade.error.kind) == (None, "runtime")


def test_a_schema_that_goes_round_fails_the_row():
    """Endless references end as a failed grade."""
    grade = JsonSchema(schema={"$ref": "#"})(said("1"))
    assert grade.error.message == "the schema refers to itself without end"


def test_exponential_schemas_end(monkeypatch):
    """A schema that doubles its work at each level, or a catastrophic pattern, runs out of time."""
    monkeypatch.setattr(schemas, "SECONDS", 0.1)
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    grade = JsonSchema(schema={"$ref": "#/$defs/d0", "$defs": {**doubling, "d40": {}}})(said("1"))
    assert (grade.score, grade.error.kind) == (None, "timeout")
    slow, text = "^(a|aa|aaa)+(b|c)$", "a" * 60 + "!"
    for schema in (
        {"pattern": slow},
        {"patternProperties": {slow: {}}},
        {"patternProperties": {slow: {}}, "additionalProperties": False},
    ):
        assert JsonSchema(schema=schema)(
            said(json.dumps({text: 1} if "pattern" not in schema else text))
        ).error


@pytest.mark.parametrize(
    ("schema", "text", "score"),
    [
        ({"uniqueItems": True}, "[1, true, [0], [false]]", 1.0),
        ({"uniqueItems": True}, "[1, 1.0]", 0.0),
        ({"uniqueItems": True}, '[{"a": [1]}, {"a": [1]}]', 0.0),
        ({"uniqueItems": False}, "[1, 1]", 1.0),
        ({"uniqueItems": True}, '"aa"', 1.0),
        ({"patternProperties": {"^x": {"type": "integer"}}}, '{"x1": 1, "y": "s"}', 1.0),
        ({"patternProperties": {"^x": {"type": "integer"}}}, '{"x1": "s"}', 0.0),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, '{"x1": 1}', 1.0),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "null"}}, '{"a": 1, "b": null}', 1.0),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "null"}}, '{"a": 1, "b": 1}', 0.0),
        ({"additionalProperties": False}, "[1]", 1.0),
        ({"pattern": "a"}, "1", 1.0),
    ],
)
def test_our_own_keywords_keep_the_standard(schema, text, score):
    """The keywords we time ourselves say what the package's own say."""
    import jsonschema

    assert JsonSchema(schema=schema)(said(text)).score == score
    assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(text)) == bool(score)


def test_the_schema_is_kept_apart_from_the_callers():
    """Changing the dict afterwards changes nothing."""
    mine = {"type": "object"}
    grader = JsonSchema(schema=mine)
    mine["type"] = "array"
    assert grader(said("{}")).score == 1.0


_OBJECT = '{"a": 1}'


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (f"```json\n{_OBJECT}\n```", 1.0),
        (f"```\n{_OBJECT}\n```", 1.0),
        (f"~~~json\n{_OBJECT}\n~~~\n", 1.0),
        (f"Here it is:\n```JSON\n{_OBJECT}\n```\nDone.", 1.0),
        (_OBJECT, 1.0),
        (f"```json\n{_OBJECT}\n```\n```json\n{_OBJECT}\n```", 0.0),
        (f"```json\n{_OBJECT}", 0.0),
        (f"```python\n{_OBJECT}\n```", 0.0),
        (f"```json\n{_OBJECT},\n```", 0.0),
        (f"json {_OBJECT}", 0.0),
        ("```json\n```", 0.0),
    ],
)
def test_a_fenced_object_is_read_on_request(text, score):
    """`fenced="allow"` reads the only code block; by default a fence is not JSON."""
    thread = wb.StringThread([("assistant", text)])
    schema = {"type": "object", "required": ["a"]}
    for make in (lambda **how: wb.JsonKeys("a", **how), lambda **how: wb.JsonSchema(schema, **how)):
        assert make(fenced="allow")(thread).score == score
        assert make()(thread).score == float(text == _OBJECT)
        assert make(fenced="allow").spec()["fenced"] == "allow"
        assert "fenced" not in make().spec()


def test_an_unknown_handling_of_fences_is_refused():
    """With the allowed ones."""
    with pytest.raises(FormatError, match="fenced must be"):
        wb.JsonKeys("a", fenced="yes")
