"""A key is in the environment and in the request's header, and nowhere else: every file and every line is searched."""

import asyncio
import html
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import traceback
from urllib.parse import quote

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_faults import ERROR, FAULTS, chat_answer, faulty_server, http_answer, judge
from workbench.core import background
from workbench.core.errors import WorkbenchError
from workbench.judges import JudgeServerError, OpenAIClient, ScriptedClient
from workbench.judges.chat_request import read_completion
from workbench.judges.kinds import endpoint_connection
from workbench.judges.response import RequestTarget, hide_secrets_in_data

SECRET = "sk-proj-Tm90QVJlYWxLZXkx_-abcdef0123456789"
SESSION = """
import logging, os, sys, pickle
logging.basicConfig(level=logging.DEBUG)  # every library says all it has to say
import workbench as wb
from tests.judges.test_faults import FAULTS, judge

address, folder = sys.argv[1:]
graders = [judge(address, timeout=1.0), wb.BinaryJudge(criteria="polite", model="m", client=judge(address, timeout=1.0).client),
           wb.Endpoint(url=address, headers={"Authorization": "$OPENAI_API_KEY"}, max_retries=0, timeout=1.0, name="service")]
rows = [{"prompt": f"<{name}>", "completion": "Paris"} for name, *_ in FAULTS] * 2
report = wb.Suite(graders).run(rows, store=f"sqlite:///{folder}/store.db", budget=wb.Budget(tokens=10**9))
print(report, repr(report), graders, report.frame.to_string(), report.errors.to_string())
report.to_html(f"{folder}/report.html")
report.frame.to_csv(f"{folder}/report.csv")
wb.export(graders, f"{folder}/graders.json", format="native")
with open(f"{folder}/pickle", "wb") as file:
    pickle.dump((graders, report.grades), file)
with wb.open_store(f"sqlite:///{folder}/store.db") as store:
    store.graders.create("judge", graders[0])
    print(store, list(store.graders.list()), list(store.runs.list()))
try:
    graders[1].preview(wb.StringThread([]))
except Exception as error:
    logging.exception("as a user would log it")
"""


def answers(text):
    """All faults; and a server that repeats the key it was given, in words and in JSON."""
    answer = next((sent for name, sent, *_ in FAULTS if f"<{name}>" in text), chat_answer('{"score": 1}'))
    return (
        http_answer(401, {"error": {"message": f"bad key {SECRET}, Authorization: Bearer {SECRET}"}})
        if "<none>" in text
        else answer
    )


def test_no_key_in_any_file_output_or_log(tmp_path):
    """A whole session with every fault, all logs on, everything written that can be written."""
    env = {
        **os.environ,
        "OPENAI_API_KEY": SECRET,
        "OPENAI_LOG": "debug",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with faulty_server(answers) as address:
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-c", SESSION, address, str(tmp_path)],
            env=env, capture_output=True, check=False, timeout=300,
        )  # fmt: skip
    output = done.stdout + done.stderr
    assert done.returncode == 0, output.decode()[-2000:]
    written = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"report.html", "report.csv", "graders.json", "pickle", "store.db"} <= set(written)
    assert b"judge_key" in output
    parts = (SECRET.encode(), SECRET[8:-8].encode())
    for name, data in {**written, "output": output}.items():
        assert not [part for part in parts if part in data], name


@pytest.mark.parametrize("key", ["AIzaSyD-notAKey-0123456789abcdefghij", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"])
def test_a_key_of_another_shape_is_hidden_too(key, monkeypatch):
    """What is hidden is the key itself, whatever keys look like elsewhere."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with faulty_server(
        lambda _: http_answer(400, {"error": {"message": f"you sent {key} to us"}})
    ) as address:
        grade = judge(address)(wb.StringThread([("user", "x"), ("assistant", "y")]))
    assert "you sent *** to us" in grade.error.message


@pytest.mark.parametrize(
    "answer",
    [
        http_answer(401, {"error": {"message": f"bad key {SECRET}"}}),
        http_answer(400, f"you sent {SECRET}".encode(), "text/plain"),
        http_answer(200, {"error": f"you sent {SECRET}"}),
        http_answer(200, f"<p>{SECRET}</p>".encode(), "text/html"),
        http_answer(429, {**ERROR, "key": SECRET}, **{"retry-after": "9999"}),
    ],
)
def test_an_exception_shows_no_key(answer, monkeypatch):
    """Not in its text, its traceback, what it came from or its pickle, whatever the server repeats."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with faulty_server(lambda _: answer) as address:
        client = OpenAIClient(address, max_retries=0, patience=1)
        with pytest.raises(JudgeServerError) as caught:
            background.run(client.complete([{"role": "user", "content": "x"}], model="m"))
    error = caught.value
    text = "".join(traceback.format_exception(error)) + repr(error) + repr(client)
    assert SECRET not in text
    assert SECRET.encode() not in pickle.dumps((error, client))
    # Dask's pickles hold contexts, too: an error of the package's would have the request, and the key in its headers.
    context = error.__context__
    while context is not None:
        assert type(context).__module__.startswith("workbench"), context
        context = context.__context__


@pytest.mark.parametrize("fault", ["refused", "slow", "hung up", "no JSON", 400, 503])
def test_an_error_of_an_endpoint_holds_no_request(fault, monkeypatch):
    """The error of the package beneath has the request, and with it the headers; Dask's pickles would carry it."""
    monkeypatch.setenv("SERVICE_KEY", SECRET)
    answers = {"hung up": None, "no JSON": (200, {}, b"<p>"), 400: (400, {}, {}), 503: (503, {}, {})}
    asked = threading.Event()

    def answer(path, body, headers):
        if fault == "slow":
            asked.wait(10)
        return answers.get(fault)

    async def ask(address):
        async with endpoint_connection.open_connection() as opened:
            policy = endpoint_connection.RequestPolicy(timeout=0.5, max_tries=1)
            await opened.ask("POST", f"{address}/score", body={}, headers={"x-key": SECRET}, policy=policy)

    with server(answer) as (address, _), pytest.raises((WorkbenchError, TimeoutError)) as caught:
        try:
            asyncio.run(ask("http://127.0.0.1:9" if fault == "refused" else address))
        finally:
            asked.set()
    assert caught.value.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_answer_that_repeats_the_key_is_cleaned(monkeypatch):
    """A judge that was told the key, or a server that puts it into the answer, does not get it into the grade."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with faulty_server(
        lambda _: chat_answer(f'{{"score": 0.5, "rationale": "the key is {SECRET}"}}')
    ) as address:
        grade = judge(address)(wb.StringThread([("user", "x"), ("assistant", "y")]))
    assert grade.score == 0.5
    assert SECRET not in repr(grade)
    assert "the key is ***" in grade.reasoning


@pytest.mark.parametrize("key", ["x", "EMPTY", "score", "0.5"])
def test_a_short_key_takes_no_words_out_of_answers(key, monkeypatch):
    """Local servers are given any word for a key: a placeholder stays in the text, and a verdict is read before a word goes."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with faulty_server(
        lambda _: chat_answer('{"score": 0.5, "rationale": "half right: EMPTY text"}')
    ) as address:
        grade = judge(address)(wb.StringThread([("user", "x"), ("assistant", "y")]))
    assert (grade.score, grade.reasoning) == (0.5, "half right: EMPTY text")


@pytest.mark.parametrize(
    "key", ["hunter2", "k3y", "tiny", 'a"b\\c/d12', "quoted'key'", "pä§-1", "new\\nline9", SECRET]
)
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("escaped", [False, True])
def test_a_key_is_removed_after_the_answer_is_decoded(key, depth, escaped, monkeypatch):
    """Spelled with escapes at any depth of JSON, with quotes and backslashes, and short: no grade and no stored reply has it."""
    monkeypatch.setenv("JUDGE_KEY", key)
    text = "".join(f"\\u{ord(char):04X}" for char in key) if escaped else json.dumps(key)[1:-1]
    for _ in range(depth):
        text = json.dumps(text)[1:-1]
    answer = f'{{"score": 0.5, "rationale": "the key,\\n{text}."}}'
    assert OpenAIClient(key_variable="JUDGE_KEY")  # from here on the variable's value is a key in use
    reply = read_completion(
        {"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]},
        RequestTarget("http://localhost/v1", "m", key, "JUDGE_KEY"),
        0.1,
    )
    rubric = wb.RubricJudge("is it right?", model="m", client=ScriptedClient([reply] * 2))
    grade = rubric(wb.StringThread([("user", "x"), ("assistant", "y")]))
    assert grade.score == 0.5
    assert all(key not in one for one in decodings(f"{grade.reasoning} {grade.metadata['raw']}"))
    if key != "tiny":  # a word could be a part of the verdict, so that the reply is kept as it is
        assert all(key not in one for one in decodings(reply.text))


def decodings(text):
    """A text, and what further decoding of its JSON escapes gives."""
    yield text
    for _ in range(3):
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
        yield text
        text = re.sub(r"\\(.)", r"\1", text)
        yield text


@pytest.mark.parametrize("key", ['a"b/c+d=12', "k&y<>'9", "sk-plain0123456789"])
def test_a_key_in_an_address_or_in_html_is_removed(key):
    for spelled in (quote(key, safe=""), html.escape(key)):
        assert hide_secrets_in_data([f"see {spelled}."], [key]) == ["see ***."]


@pytest.mark.parametrize("key", ["sk-proj-abcdef0123456789", "\\start12345", 'a"b12345'])
@pytest.mark.parametrize("text", ["\\", "\\u0073", "\\" * 33 + "s", '\\"', "%5c", "&quot;"])
def test_runs_of_escapes_end(key, text):
    """Searched in linear time: a megabyte of backslashes took hours."""
    long = text * (1_000_000 // len(text))
    assert hide_secrets_in_data([long], [key]) == [long]


def test_a_word_of_the_environment_that_is_no_secret_stays(monkeypatch):
    """An endpoint's header may have the name of a stage; only what is called like a secret is removed."""
    monkeypatch.setenv("STAGE", "prod1")
    monkeypatch.setenv("SERVICE_TOKEN", "s3cret-value")
    headers = {"x-stage": "$STAGE", "authorization": "$SERVICE_TOKEN"}
    body = {"reward": 1.0, "metadata": {"reason": "deployed to prod1 with s3cret-value"}}
    with server(lambda *_: (200, {}, body)) as (address, _):
        grade = wb.Endpoint(url=address, headers=headers)(
            wb.StringThread([("user", "x"), ("assistant", "y")])
        )
    assert grade.reasoning == "deployed to prod1 with ***"


@pytest.mark.parametrize("url", ["https://user:pass@host/v1", "https://:pass@host/v1"])
def test_an_address_holds_no_password(url):
    """It would stand in files and errors."""
    with pytest.raises(wb.errors.FormatError) as caught:
        OpenAIClient(url)
    assert "pass@" not in str(caught.value)
