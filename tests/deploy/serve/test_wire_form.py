"""Every wire form: its example is true, its word for "no score" is no number, and it refuses what it cannot read."""

import copy
import json

import pytest
from jsonschema import Draft202012Validator

from workbench.deploy.serve import WIRE_FORMS, WireForm, wire_form
from workbench.deploy.serve.http import RequestError

SCORING = sorted(set(WIRE_FORMS) - {"/seed_session"})
SINGLE = sorted(set(SCORING) - {"/verify", "/batch_score"})
"""Forms without a word of their own for a row without a score."""


def answering(path, text):
    """The form's example with another completion."""
    return json.loads(json.dumps(WIRE_FORMS[path].example).replace('"4</s>"', '"4"')) if text == "4" else _put(
        copy.deepcopy(WIRE_FORMS[path].example), path, text
    )  # fmt: skip


def _put(example, path, text):
    if path == "/slime":
        example["response"] = text
    elif path == "/openrlhf":
        example["query"] = [example["prompts"][0] + text]
    elif path == "/openai":
        example["sample"]["output_text"] = text
    elif path == "/gemini":
        example["response"]["parts"][0]["text"] = text
    elif path == "/verify":
        example["response"]["output"][0]["content"][0]["text"] = text
    else:
        thread = example["requests"][0] if path == "/batch_score" else example
        thread["turns"][-1]["content"] = text
    return example


@pytest.mark.parametrize("path", sorted(WIRE_FORMS))
def test_an_example_is_answered_as_it_says(path, server):
    """What the documentation shows as request and answer is what the server takes and gives."""
    form = WIRE_FORMS[path]
    answer = server.post(path, form.example)
    assert (answer.status_code, answer.json()) == (200, form.answer)
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", sorted(WIRE_FORMS))
def test_examples_fit_their_schemas(path):
    """The schemas of the OpenAPI document are schemas, and the examples follow them."""
    form = WIRE_FORMS[path]
    for schema, example in ((form.request, form.example), (form.response, form.answer)):
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(example)


@pytest.mark.parametrize("path", SCORING)
def test_another_answer_has_another_score(path, server):
    """The completion is what is graded."""
    assert "1.0" not in server.post(path, answering(path, "5")).text


@pytest.mark.parametrize("path", SINGLE)
def test_no_score_is_no_number(path, server):
    """A row without a score is a status that says why, and no number."""
    answer = server.post(path, answering(path, "boom"))
    error = answer.json()["error"]
    assert answer.status_code == error["status"] == 422
    assert (error["type"], error["cause"]) == ("no_score", "runtime")
    assert "ValueError: boom" in error["message"]
    assert "--on-error" in error["message"]


@pytest.mark.parametrize("path", SINGLE)
def test_on_error_is_the_number_of_a_row_without_a_score(path, lenient):
    """Whoever chose a number gets that."""
    answer = lenient.post(path, answering(path, "boom"))
    assert answer.status_code == 200
    assert "0.5" in answer.text


@pytest.mark.parametrize("path", SCORING)
@pytest.mark.parametrize(
    "body", [[], 3, None, {}, "text", {"turns": 1, "requests": 1, "query": 1, "prompts": 1}]
)
def test_another_shape_is_refused_by_name(path, body, server):
    """A body of another shape is the client's mistake, told as JSON."""
    answer = server.post(path, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "bad_request"


@pytest.mark.parametrize("path", SCORING)
def test_wrong_types_anywhere_are_no_fault_of_the_servers(path, server):
    """Each field of the example in turn becomes something else: an answer, or a refusal, and never status 500."""

    def variants(value):
        yield from (None, 7, "text", [], {}, [7])
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            for variant in variants(value[key]):
                changed = copy.copy(value)
                changed[key] = variant
                yield changed

    for body in variants(WIRE_FORMS[path].example):
        answer = server.post(path, body)
        assert answer.status_code in {200, 400, 422}, (body, answer.text)


def test_a_path_is_one_forms():
    """Two wire forms cannot want one path."""
    with pytest.raises(ValueError, match="'/slime' is taken"):

        @wire_form
        class Other(WireForm):
            path = "/slime"

            def read(self, body):
                return []

            def write(self, body, rows, outcomes):
                return None


def test_a_refusal_is_json():
    """Status, type, message and whatever else the refusal knows."""
    error = RequestError(413, "too_large", "too large", max_bytes=7)
    assert error.body == {
        "error": {"status": 413, "type": "too_large", "message": "too large", "max_bytes": 7}
    }
