"""What a model can do is learned from its refusals, and remembered."""

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core import background
from workbench.judges import JudgeServerError, OpenAIClient, chat_request
from workbench.judges.server import RETEST_SECONDS, Capabilities, capabilities_of, fallbacks

ASKED = [{"role": "user", "content": "x"}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "v", "schema": {"type": "object"}}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key-of-tests")


def server_lacking(*formats, status=400, message="response_format is not supported here"):
    """A server that refuses some formats of answers."""

    def answer(_path, body, _headers):
        name = body.get("response_format", {}).get("type", "text")
        refused = (status, {}, {"error": {"message": message}})
        return refused if name in formats else (200, {}, completion("{}"))

    return server(answer)


def formats(requests):
    return [body.get("response_format", {}).get("type", "text") for _, body, _ in requests]


def complete(client, **settings):
    return background.run(client.complete(ASKED, **{"model": "m", "response_format": SCHEMA, **settings}))


@pytest.mark.parametrize("status", [400, 422, 500, 501])
@pytest.mark.parametrize("message", ["response_format is not supported here", "bad request"])
def test_a_simpler_format_is_tried_and_remembered(status, message):
    """JSON schema, then JSON object, then text; later questions start there, after one more look behind a 500."""
    with server_lacking("json_schema", "json_object", status=status, message=message) as (address, requests):
        client = OpenAIClient(address)
        complete(client)
        complete(client)
        complete(client)
        tries = 2 if status >= 500 else 1  # one 500 may be an accident
        found_out = ["json_schema"] * tries + ["json_object"] * tries + ["text"]
        made_sure = ["json_schema", "json_object", "text"] if status >= 500 else ["text"]
        assert formats(requests) == [*found_out, *made_sure, "text"]
        before = len(requests)
        complete(OpenAIClient(address), model="other")
        assert formats(requests)[before:] == found_out, "another model may have it"


def test_capabilities_are_remembered_by_server_and_not_by_client():
    """A second client of the same server need not find out again."""
    with server_lacking("json_schema") as (address, requests):
        complete(OpenAIClient(address))
        complete(OpenAIClient(address))
    assert formats(requests) == ["json_schema", "json_object", "json_object"]


def test_one_server_error_after_an_answer_lacks_nothing():
    """After a 500 to a format that worked before, the question is sent again in the same format."""
    answers = iter([200, 500, 200])

    def answer(*_):
        status = next(answers)
        return (200, {}, completion("{}")) if status == 200 else (500, {}, {"error": {"message": "boom"}})

    with server(answer) as (address, requests):
        client = OpenAIClient(address)
        complete(client)
        complete(client)
    assert formats(requests) == ["json_schema"] * 3


def test_one_server_error_at_the_start_teaches_nothing():
    """After a single 500 the very first question is sent again in the same format."""
    answers = iter([500, 200])

    def answer(*_):
        status = next(answers)
        return (200, {}, completion("{}")) if status == 200 else (500, {}, {"error": {"message": "boom"}})

    with server(answer) as (address, requests):
        complete(OpenAIClient(address))
    assert formats(requests) == ["json_schema", "json_schema"]


def test_what_other_questions_learned_meanwhile_skips_no_format():
    """A question that was refused one format goes on to the next, whatever was learned of the first by then."""
    capabilities, request = Capabilities(), {"response_format": SCHEMA}
    capabilities.lacking_formats[0] = capabilities.clock() + 60
    assert capabilities.adapt(request, {0})["response_format"]["type"] == "json_object"


def test_a_question_that_is_wrong_whatever_its_format_teaches_nothing():
    """A refusal at every format is the question's own, told as such, and nothing is remembered."""
    with server_lacking("json_schema", "json_object", "text", message="too long") as (address, requests):
        with pytest.raises(JudgeServerError, match="too long"):
            complete(OpenAIClient(address))
        assert len(requests) == 3
        assert capabilities_of(address, "m").lacking_formats == {}


def test_settings_a_model_does_not_take_are_left_out():
    """A temperature it refuses is dropped, and a limit it calls otherwise is renamed; once for all questions."""

    def answer(_path, body, _headers):
        if "temperature" in body:
            message = "Unsupported value: 'temperature' does not support 0 with this model."
            return 400, {}, {"error": {"message": message}}
        if "max_tokens" in body:
            return 400, {}, {"error": {"message": "Use 'max_completion_tokens' instead."}}
        return 200, {}, completion("{}")

    with server(answer) as (address, requests):
        client = OpenAIClient(address)
        for _ in range(2):
            complete(client, temperature=0.0, max_tokens=9)
    assert len(requests) == 4
    assert requests[-1][1]["max_completion_tokens"] == 9


def test_a_stricter_format_that_is_answered_after_all_is_used_again():
    """Many questions go out at once: one that fell back by accident must not bind the others."""
    capabilities, request = Capabilities(), {"response_format": SCHEMA}
    capabilities.record_answer(capabilities.adapt(request, {0}), request)
    assert capabilities.adapt(request)["response_format"]["type"] == "json_object"
    capabilities.record_answer(request, request)
    assert capabilities.adapt(request)["response_format"] == SCHEMA


def test_a_judge_works_with_a_server_that_has_plain_text_only():
    """The judge itself needs no setting for it."""
    answered = completion('Sure! {"reasoning": "it does", "score": "PASS"}')

    def answer(_path, body, _headers):
        return (500, {}, {"error": {"message": "boom"}}) if "response_format" in body else (200, {}, answered)

    with server(answer) as (address, _):
        judge = wb.BinaryJudge(criteria="is polite", model="m", client=OpenAIClient(address))
        assert judge(wb.StringThread([("user", "Hi"), ("assistant", "Good day")])).score == 1.0


@pytest.mark.parametrize("headers", [{}, {"retry-after-ms": "1"}])
def test_a_server_that_warms_up_keeps_its_formats(headers, monkeypatch):
    """500 to its first 40 requests costs the first answer its format at most, and no later one."""
    monkeypatch.setattr(chat_request, "_MAX_WAIT_SECONDS", 0.001)  # the waiting itself is not what is tested
    count = iter(range(10_000))

    def answer(*_):
        loading = next(count) < 40
        return (500, headers, {"error": {"message": "loading"}}) if loading else (200, {}, completion("{}"))

    with server(answer) as (address, requests):
        client = OpenAIClient(address, max_retries=50)
        for _ in range(12):
            complete(client)
    assert formats(requests)[-11:] == ["json_schema"] * 11


def test_what_was_lacking_is_tried_again_by_one_question_after_a_while():
    """Ten minutes later one question asks for it, the others wait for the outcome; what is refused waits again."""
    now = [0.0]
    capabilities, request = (
        Capabilities(clock=lambda: now[0]),
        {"response_format": SCHEMA, "temperature": 0.0},
    )
    capabilities.record_answer(capabilities.adapt(request, {0}), request)
    capabilities.learn_from_refusal(400, "temperature is not supported", request)
    simple = {"response_format": {"type": "json_object"}}
    now[0] = RETEST_SECONDS - 1
    assert capabilities.adapt(request) == simple
    now[0] = RETEST_SECONDS
    assert [capabilities.adapt(request), capabilities.adapt(request)] == [request, simple]
    now[0] = 2 * RETEST_SECONDS
    sent = capabilities.adapt(request)
    capabilities.record_answer(sent, request)
    assert [sent, capabilities.adapt(request)] == [request, request]


def test_a_run_tells_what_a_model_did_not_take():
    """The report's notes name the model, the format it lacks and how often it was asked more simply."""
    answered = completion('{"reasoning": "it does", "score": "PASS"}')

    def answer(_path, body, _headers):
        lacks = body.get("response_format", {}).get("type") == "json_schema"
        return (400, {}, {"error": {"message": "no response_format"}}) if lacks else (200, {}, answered)

    rows = [{"prompt": f"Hi {row}", "completion": "Good day"} for row in range(5)]
    with server(answer) as (address, _):
        judge = wb.BinaryJudge(criteria="is polite", model="m", client=OpenAIClient(address))
        report = judge.run(rows, progress=False)
    [note] = report.notes
    assert f"'m' at {address} does not support JSON schema: 5 requests were sent as JSON object" in note


@pytest.mark.parametrize("fault", [(429, {"retry-after-ms": "1"}, {}), (502, {}, {}), None])
def test_a_retest_that_meets_a_transient_error_is_repeated(fault, monkeypatch):
    """The next question tries JSON schema again; the note says that it failed, not that it is not taken."""
    monkeypatch.setattr(chat_request, "_FIRST_WAIT", 0.01)
    answers = [(500, {}, {})] * 3 + [(200, {}, completion("{}")), fault]

    def answer(*_):
        return answers.pop(0) if answers else (200, {}, completion("{}"))

    with server(answer) as (address, requests):
        client = OpenAIClient(address)
        for _ in range(3):
            complete(client)
    assert formats(requests)[-2:] == ["json_schema", "json_schema"]


def test_a_note_tells_a_failure_from_a_refusal():
    """A format that was given up for a server's failure is not said to be lacking."""
    sent, wanted = {"response_format": {"type": "json_object"}}, {"response_format": SCHEMA}
    assert list(fallbacks(sent, wanted, {0})) == [("failed when sent JSON schema", "as JSON object")]
    assert list(fallbacks(sent, wanted)) == [("does not support JSON schema", "as JSON object")]
