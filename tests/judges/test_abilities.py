"""What a model can do is found out by asking, and remembered."""

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench import background
from workbench.judges import JudgeServerError, OpenAIClient
from workbench.judges.asking.abilities import FORGET, Ability, ability, fallbacks
from workbench.judges.client import question

ASKED = [{"role": "user", "content": "x"}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "v", "schema": {"type": "object"}}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key-of-tests")


def lacking(*formats, status=400, message="response_format is not supported here"):
    """A server that refuses some formats of answers."""

    def answer(_path, body, _headers):
        wanted = body.get("response_format", {}).get("type", "text")
        refused = (status, {}, {"error": {"message": message}})
        return refused if wanted in formats else (200, {}, completion("{}"))

    return server(answer)


def formats(asked):
    return [body.get("response_format", {}).get("type", "text") for _, body, _ in asked]


def complete(client, **settings):
    return background.run(client.complete(ASKED, **{"model": "m", "response_format": SCHEMA, **settings}))


@pytest.mark.parametrize("status", [400, 422, 500, 501])
@pytest.mark.parametrize("message", ["response_format is not supported here", "bad request"])
def test_a_simpler_format_is_tried_and_remembered(status, message):
    """JSON schema, then JSON object, then text; later questions start there, after one more look behind a 500."""
    with lacking("json_schema", "json_object", status=status, message=message) as (address, asked):
        client = OpenAIClient(address)
        complete(client)
        complete(client)
        complete(client)
        tries = 2 if status >= 500 else 1  # one 500 may be a bad moment
        found_out = ["json_schema"] * tries + ["json_object"] * tries + ["text"]
        made_sure = ["json_schema", "json_object", "text"] if status >= 500 else ["text"]
        assert formats(asked) == [*found_out, *made_sure, "text"]
        before = len(asked)
        complete(OpenAIClient(address), model="other")
        assert formats(asked)[before:] == found_out, "another model may have it"


def test_the_memory_is_the_servers_and_not_the_clients():
    """A second client of the same server need not find out again."""
    with lacking("json_schema") as (address, asked):
        complete(OpenAIClient(address))
        complete(OpenAIClient(address))
    assert formats(asked) == ["json_schema", "json_object", "json_object"]


def test_a_bad_moment_is_no_lack():
    """A 500 after the format has been answered once is tried again as it was."""
    answers = iter([200, 500, 200])

    def answer(*_):
        status = next(answers)
        return (200, {}, completion("{}")) if status == 200 else (500, {}, {"error": {"message": "boom"}})

    with server(answer) as (address, asked):
        client = OpenAIClient(address)
        complete(client)
        complete(client)
    assert formats(asked) == ["json_schema"] * 3


def test_one_bad_moment_at_the_start_teaches_nothing():
    """A single 500 to the very first question is asked again as it was."""
    answers = iter([500, 200])

    def answer(*_):
        status = next(answers)
        return (200, {}, completion("{}")) if status == 200 else (500, {}, {"error": {"message": "boom"}})

    with server(answer) as (address, asked):
        complete(OpenAIClient(address))
    assert formats(asked) == ["json_schema", "json_schema"]


def test_what_others_learned_meanwhile_skips_no_format():
    """A question that was refused one format goes on to the next, whatever was learned of the first by then."""
    known, asked = Ability(), {"response_format": SCHEMA}
    known.lacking[0] = known.clock() + 60
    assert known.fit(asked, {0})["response_format"]["type"] == "json_object"


def test_a_question_that_is_wrong_whatever_its_format_teaches_nothing():
    """A refusal at every format is the question's own, told as such, and nothing is remembered."""
    with lacking("json_schema", "json_object", "text", message="too long") as (address, asked):
        with pytest.raises(JudgeServerError, match="too long"):
            complete(OpenAIClient(address))
        assert len(asked) == 3
        assert ability(address, "m").lacking == {}


def test_settings_a_model_does_not_take_are_left_out():
    """A temperature it refuses is dropped, and a limit it calls otherwise is renamed; once for all questions."""

    def answer(_path, body, _headers):
        if "temperature" in body:
            message = "Unsupported value: 'temperature' does not support 0 with this model."
            return 400, {}, {"error": {"message": message}}
        if "max_tokens" in body:
            return 400, {}, {"error": {"message": "Use 'max_completion_tokens' instead."}}
        return 200, {}, completion("{}")

    with server(answer) as (address, asked):
        client = OpenAIClient(address)
        for _ in range(2):
            complete(client, temperature=0.0, max_tokens=9)
    assert len(asked) == 4
    assert asked[-1][1]["max_completion_tokens"] == 9


def test_a_stricter_format_that_is_answered_after_all_is_used_again():
    """Many questions go out at once: one that fell back by accident must not bind the others."""
    known, asked = Ability(), {"response_format": SCHEMA}
    known.worked(known.fit(asked, {0}), asked)
    assert known.fit(asked)["response_format"]["type"] == "json_object"
    known.worked(asked, asked)
    assert known.fit(asked)["response_format"] == SCHEMA


def test_a_judge_works_with_a_server_that_has_plain_text_only():
    """From the judge's side nothing is to be done."""
    said = completion('Sure! {"reasoning": "it does", "score": "PASS"}')

    def answer(_path, body, _headers):
        return (500, {}, {"error": {"message": "boom"}}) if "response_format" in body else (200, {}, said)

    with server(answer) as (address, _):
        judge = wb.BinaryJudge(criteria="is polite", model="m", client=OpenAIClient(address))
        assert judge(wb.StringThread([("user", "Hi"), ("assistant", "Good day")])).score == 1.0


@pytest.mark.parametrize("headers", [{}, {"retry-after-ms": "1"}])
def test_a_server_that_warms_up_keeps_its_formats(headers, monkeypatch):
    """500 to its first 40 requests costs the first answer its format at most, and no later one."""
    monkeypatch.setattr(question, "_LONGEST_WAIT", 0.001)  # the waiting itself is not what is tested
    count = iter(range(10_000))

    def answer(*_):
        loading = next(count) < 40
        return (500, headers, {"error": {"message": "loading"}}) if loading else (200, {}, completion("{}"))

    with server(answer) as (address, asked):
        client = OpenAIClient(address, max_retries=50)
        for _ in range(12):
            complete(client)
    assert formats(asked)[-11:] == ["json_schema"] * 11


def test_what_was_lacking_is_tried_again_by_one_question_after_a_while():
    """Ten minutes later one question asks for it, the others wait for the outcome; what is refused waits again."""
    now = [0.0]
    known, asked = Ability(clock=lambda: now[0]), {"response_format": SCHEMA, "temperature": 0.0}
    known.worked(known.fit(asked, {0}), asked)
    known.lesson(400, "temperature is not supported", asked)
    simple = {"response_format": {"type": "json_object"}}
    now[0] = FORGET - 1
    assert known.fit(asked) == simple
    now[0] = FORGET
    assert [known.fit(asked), known.fit(asked)] == [asked, simple]
    now[0] = 2 * FORGET
    sent = known.fit(asked)
    known.worked(sent, asked)
    assert [sent, known.fit(asked)] == [asked, asked]


def test_a_run_tells_what_a_model_did_not_take():
    """The report's notes name the model, the format it lacks and how often it was asked more simply."""
    said = completion('{"reasoning": "it does", "score": "PASS"}')

    def answer(_path, body, _headers):
        lacks = body.get("response_format", {}).get("type") == "json_schema"
        return (400, {}, {"error": {"message": "no response_format"}}) if lacks else (200, {}, said)

    rows = [{"prompt": f"Hi {row}", "completion": "Good day"} for row in range(5)]
    with server(answer) as (address, _):
        judge = wb.BinaryJudge(criteria="is polite", model="m", client=OpenAIClient(address))
        report = judge.run(rows, progress=False)
    [note] = report.notes
    assert f"'m' at {address} did not take JSON schema: 5 answers were asked for as JSON object" in note


@pytest.mark.parametrize("fault", [(429, {"retry-after-ms": "1"}, {}), (502, {}, {}), None])
def test_a_trial_that_meets_a_passing_fault_is_no_trial(fault, monkeypatch):
    """The next question tries JSON schema again; the note says that it failed, not that it is not taken."""
    monkeypatch.setattr(question, "_FIRST_WAIT", 0.01)
    answers = [(500, {}, {})] * 3 + [(200, {}, completion("{}")), fault]

    def answer(*_):
        return answers.pop(0) if answers else (200, {}, completion("{}"))

    with server(answer) as (address, asked):
        client = OpenAIClient(address)
        for _ in range(3):
            complete(client)
    assert formats(asked)[-2:] == ["json_schema", "json_schema"]


def test_a_note_tells_a_failure_from_a_refusal():
    """A format that was given up for a server's failure is not said to be lacking."""
    sent, wanted = {"response_format": {"type": "json_object"}}, {"response_format": SCHEMA}
    assert list(fallbacks(sent, wanted, {0})) == [("failed when asked for JSON schema", "as JSON object")]
    assert list(fallbacks(sent, wanted)) == [("did not take JSON schema", "as JSON object")]
