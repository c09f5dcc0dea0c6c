"""A run through a server's batch API: submitted, resumed by another process, collected into the store."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

import workbench as wb
from tests.judges.batch_server import batch_server
from tests.judges.examples import AGENT
from tests.judges.test_client import completion
from workbench.core.errors import ReportError
from workbench.judges import JudgeServerError, OpenAIClient
from workbench.run import batch_run
from workbench.store import stored_batches

SAID = '{"reasoning": "fine", "score": "PASS"}'
ROWS = [{"prompt": f"q{row}", "completion": f"row {row}."} for row in range(5)]
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100}


def passing(_body):
    return 200, {**completion(SAID), "usage": USAGE}


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/s.db"


@pytest.fixture(autouse=True)
def price(monkeypatch):
    monkeypatch.setitem(wb.judges.PRICES, "m", wb.judges.Price(2.0, 10.0, batch=0.5))


def judge(address, **fields):
    return wb.BinaryJudge("polite", model="m", base_url=address, max_tokens=50, name="j", **fields)


def run(grader, store, rows=ROWS, **settings):
    return grader.run(rows, store=store, batch=True, progress=False, **settings)


def kinds(report):
    return set(report.errors["error_kind"])


def test_a_run_is_submitted_and_collected(store):
    """The first call submits one request a row; the second, when the batch has ended, has every score at half the price."""
    with batch_server(passing) as (address, server):
        first = run(judge(address), store)
        assert (first.summary["scored"].iloc[0], kinds(first)) == (0, {"pending"})
        assert any("5 requests to 'm' were submitted as batch batch_2" in note for note in first.notes)
        waiting = run(judge(address), store)
        assert kinds(waiting) == {"pending"}
        assert any("in_progress, 0 of 5 requests done" in note for note in waiting.notes)
        assert any("5 requests of this run are in an earlier batch" in note for note in waiting.notes)
        assert list(server.batches) == ["batch_2"]
        server.end("batch_2")
        second = run(judge(address), store)
        plain = judge(address).run(ROWS, store=store, progress=False)
    assert second.summary["scored"].iloc[0] == plain.summary["scored"].iloc[0] == 5
    cost = 5 * (1_000 * 2 + 100 * 10) / 1e6 / 2
    assert any(f"collected the replies of 5 of 5 requests, ${cost:.4f}" in note for note in second.notes)
    assert not server.sent_alone
    with wb.open_store(store) as opened:
        (batch,) = opened.batches.list()
    assert (batch.status, batch.requests, batch.collected, batch.model) == ("completed", 5, 5, "m")
    assert batch.cost == pytest.approx(cost)


def test_a_line_is_the_request_that_would_be_sent(store):
    """Same body as one by one; its id is the key of the stored reply."""
    with batch_server(passing) as (address, server):
        run(judge(address), store)
        judge(address).run(ROWS, progress=False)
        lines = server.lines("batch_2")

    def sort(bodies):
        return sorted(bodies, key=json.dumps)

    assert sort(line["body"] for line in lines) == sort(server.sent_alone)
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert all(len(line["custom_id"]) == 64 for line in lines)


def test_the_responses_api_has_batches_too(store):
    """With its own path and bodies."""
    from tests.judges.test_responses_api import REQUEST, message, response

    with batch_server(lambda _: (200, response(message(SAID)))) as (address, server):
        grader = wb.BinaryJudge("polite", model="m", client=OpenAIClient(address, api="responses"))
        run(grader, store)
        assert server.batches["batch_2"]["endpoint"] == "/v1/responses"
        for line in server.lines("batch_2"):
            REQUEST.validate_python(line["body"])
        server.end("batch_2")
        assert run(grader, store).summary["scored"].iloc[0] == 5


RUN = """
import sys, workbench as wb
address, store = sys.argv[1:]
rows = [{"prompt": f"q{row}", "completion": f"row {row}."} for row in range(5)]
judge = wb.BinaryJudge("polite", model="m", base_url=address, max_tokens=50, name="j")
print(judge.run(rows, store=store, batch=True, progress=False).summary["scored"].iloc[0])
"""


def test_another_process_collects(store):
    """What one process submitted, the next one with the same store collects: as after a restart of the kernel."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with batch_server(passing) as (address, server):
        command = [sys.executable, "-c", RUN, address, store]
        printed = [subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout]
        (name,) = server.batches
        server.end(name)
        printed += [subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout]
    assert [int(text) for text in printed] == [0, 5]
    assert not server.sent_alone


def test_two_processes_submit_a_request_once(store):
    """Concurrent first calls: each row is in one batch, of whichever process."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with batch_server(passing) as (address, server):
        command = [sys.executable, "-c", RUN, address, store]
        running = [subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [process.wait() for process in running] == [0, 0]
        ids = [line["custom_id"] for name in server.batches for line in server.lines(name)]
    assert len(ids) == len(set(ids)) == 5


def test_requests_that_failed_are_submitted_again(store):
    """Expired, rejected or unusable: a note has the server's words, other rows have their scores."""
    outcomes = iter([None, (400, {"error": {"message": "bad row"}}), (200, {"choices": []})])

    def answer(_body):
        return next(outcomes, passing(_body))

    with batch_server(answer) as (address, server):
        run(judge(address), store)
        server.end("batch_2", "expired")
        report = run(judge(address), store)
        assert report.summary["scored"].iloc[0] == 2
        assert any(
            "3 requests of batch batch_2 failed, and are submitted again" in note for note in report.notes
        )
        name = list(server.batches)[-1]
        assert len(server.lines(name)) == 3
        server.end(name)
        assert run(judge(address), store).summary["scored"].iloc[0] == 5


def test_a_reply_that_cannot_be_parsed_is_repaired_in_the_next_batch(store):
    """The repair is a step of its own, which continues from the first reply."""
    words = iter(["well"] * 5 + [SAID] * 5)
    with batch_server(lambda _: (200, completion(next(words)))) as (address, server):
        for _ in range(2):
            assert kinds(run(judge(address), store)) == {"pending"}
            server.end(list(server.batches)[-1])
        assert run(judge(address), store).summary["scored"].iloc[0] == 5
        repairs = server.lines(list(server.batches)[-1])
    assert len(server.batches) == 2
    assert all("could not be read" in line["body"]["messages"][-1]["content"] for line in repairs)


def test_a_reply_that_cannot_be_parsed_is_not_kept(store):
    """Under rules without repairs the row fails, and the next run submits its request again."""
    words = iter(["well"] * 5 + ['{"score": 1.0, "rationale": "r"}'] * 5)
    with batch_server(lambda _: (200, completion(next(words)))) as (address, server):
        grader = wb.RubricJudge("good?", model="m", base_url=address, platform="letta")
        run(grader, store)
        server.end("batch_2")
        assert kinds(run(grader, store)) == {"judge_parse"}
        assert kinds(run(grader, store)) == {"pending"}
        server.end(list(server.batches)[-1])
        assert run(grader, store).summary["scored"].iloc[0] == 5


def test_several_requests_of_a_row_are_in_one_batch(store):
    """Both orders of a pairwise judge."""
    rows = [{"prompt": "q", "completion": "a", "other": "b"}]
    with batch_server(passing) as (address, server):
        run(wb.PairwiseJudge(model="m", base_url=address, against="other"), store, rows)
        assert [len(server.lines(name)) for name in server.batches] == [2]


def test_a_judge_of_several_steps_is_submitted_step_by_step(store):
    """An agent's next request has the result of its tools: each call submits the next step, and keeps those before."""
    calls = [("core_memory_append", "{}"), ("submit_grade", '{"score": 0.5, "rationale": "r"}')]

    def answer(body):
        name, arguments = calls[sum(message["role"] == "tool" for message in body["messages"])]
        call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
        return 200, completion(None, tool_calls=[call])

    with batch_server(answer) as (address, server):
        grader = wb.AgentJudge(prompt="Rate.", agent=AGENT, base_url=address)
        for _ in calls:
            assert kinds(run(grader, store)) == {"pending"}
            server.end(list(server.batches)[-1])
        report = run(grader, store)
        assert [len(server.lines(name)) for name in server.batches] == [5, 5]
    assert report.frame["score"].tolist() == [0.5] * 5
    assert not server.sent_alone


def test_a_panel_waits_for_all_its_members(store):
    """A member whose request is in a batch is no failed member: two replies of three are not a majority."""
    with batch_server(passing) as (address, server):
        members = [
            judge(address),
            *(wb.BinaryJudge(text, model="m", base_url=address, name=text) for text in ("kind", "short")),
        ]
        for member in members[:2]:
            member.run(ROWS, store=store, progress=False)
        panel = wb.Panel(members)
        assert kinds(run(panel, store)) == {"pending"}
        assert len(server.lines("batch_2")) == 5
        server.end("batch_2")
        assert run(panel, store).summary["scored"].iloc[0] == 5


def test_a_pending_row_counts_as_nothing(store):
    """Not even with `on_error="zero"`, and code graders of the suite have their scores at once."""
    with batch_server(passing) as (address, _):
        suite = wb.Suite(
            [wb.Entry(judge(address), "j", on_error="zero"), wb.Contains("row", name="c")],
            combine=wb.combine.Mean(),
        )
        report = suite.run(ROWS, store=store, batch=True, progress=False)
    assert report.summary["scored"].to_dict() == {"j": 0, "c": 5, "combined": 0}


def test_equal_rows_and_repeats_have_their_own_requests(store):
    """Above temperature 0 two equal rows are two requests, and so are two repeats; at 0 they are one."""
    same = [{"prompt": "q", "completion": "same"}] * 3
    with batch_server(passing) as (address, server):
        run(judge(address, temperature=0.7), store, same, repeats=1)
        run(judge(address), store, same)
        assert [len(server.lines(name)) for name in server.batches] == [3, 1]
        for name in list(server.batches):
            server.end(name)
        assert run(judge(address, temperature=0.7), store, same).summary["scored"].iloc[0] == 3
        assert run(judge(address), store, same).summary["scored"].iloc[0] == 3
    assert not server.sent_alone


def test_a_budget_limits_a_batch_before_it_is_sent(store):
    """By the maximum cost at the price of a batch; without a maximum a budget in money is refused."""
    with batch_server(passing) as (address, server):
        report = run(judge(address), store, budget=wb.Budget(calls=3))
        assert report.errors["error_kind"].value_counts().to_dict() == {"pending": 3, "budget": 2}
        assert len(server.lines("batch_2")) == 3
        unlimited = wb.BinaryJudge("kind", model="m", base_url=address)
        refused = run(unlimited, store, budget=0.01)
        assert kinds(refused) == {"budget"}
        assert "max_tokens" in str(refused.frame["error"].iloc[0])
        brief = wb.BinaryJudge("brief", model="m", base_url=address, max_tokens=1)
        sizes = [len(json.dumps(brief.preview(sample))) for sample in wb.Samples(ROWS)]
        half = sum(sizes) / 2 * 2 / 1e6 * 0.5  # of the input, at the price of a batch
        few = run(brief, store, budget=half)
    assert 0 < few.errors["error_kind"].value_counts()["pending"] < 5


def test_large_batches_are_split(store, monkeypatch):
    """By number of requests and by bytes; one model per batch."""
    monkeypatch.setattr(batch_run, "MAX_REQUESTS", 2)
    with batch_server(passing) as (address, server):
        run(judge(address), store)
        assert [len(server.lines(name)) for name in server.batches] == [2, 2, 1]
        monkeypatch.setattr(batch_run, "MAX_BYTES", 1)
        other = wb.BinaryJudge("polite", model="m2", base_url=address, max_tokens=50)
        run(wb.Suite([judge(address), other]), store)
        models = [{line["body"]["model"] for line in server.lines(name)} for name in server.batches]
    assert models == [{"m"}] * 3 + [{"m2"}] * 5


def test_a_batch_that_the_server_rejects_frees_its_requests(store):
    """Its reason is a note; a batch that the server forgot is an error that says what to do."""
    with batch_server(passing) as (address, server):
        run(judge(address), store)
        errors = {
            "object": "list",
            "data": [{"code": "x", "message": "line too long", "line": 3, "param": None}],
        }
        server.batches["batch_2"] |= {"status": "failed", "errors": errors}
        report = run(judge(address), store)
        assert any("rejected batch batch_2: line too long (line 3)" in note for note in report.notes)
        (name,) = server.batches.keys() - {"batch_2"}
        del server.batches[name]
        with pytest.raises(JudgeServerError, match=r"cannot be looked up[\s\S]*store.batches.abandon\(2\)"):
            run(judge(address), store)
        with wb.open_store(store) as opened:
            opened.batches.abandon(2)
            assert not opened.batches.pending()


def test_a_batch_that_was_never_submitted_frees_its_requests(store, monkeypatch):
    """After a failed upload at once; after a killed process when it cannot be uploading any more."""
    with batch_server(passing) as (address, server):
        server.reply = lambda *_: None
        report = run(judge(address), store)
        assert any("was not submitted" in note for note in report.notes)
        with wb.open_store(store) as opened:
            assert not opened.batches.pending()
            opened.batches.start(address, "m", ["k" * 64])
            assert opened.batches.start(address, "m", ["k" * 64])[1] == ()
            late = datetime.now(UTC) + timedelta(minutes=16)

            class Later(datetime):
                @classmethod
                def now(cls, tz=None):
                    return late

            monkeypatch.setattr(stored_batches, "datetime", Later)
            assert opened.batches.start(address, "m", ["k" * 64])[1] == ("k" * 64,)


def test_a_server_stores_no_replies_to_other_requests(store):
    """A line for a key that is not in the batch is left out."""
    with batch_server(passing) as (address, server):
        run(judge(address), store)
        server.end("batch_2")
        name = server.batches["batch_2"]["output_file_id"]
        alien = json.dumps({"custom_id": "f" * 64, "response": {"status_code": 200, "body": completion("x")}})
        server.files[name] += f"not json\n[]\n{alien}\n".encode()
        assert run(judge(address), store).summary["scored"].iloc[0] == 5
    with wb.open_store(store) as opened:
        assert opened.replies.count() == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"store": None}, "needs a store"),
        ({"client": wb.ScriptedClient(SAID)}, "needs a judge that calls a server"),
    ],
)
def test_what_a_batch_needs(store, settings, message):
    """A store, and a client whose server has batches."""
    client = settings.get("client", OpenAIClient("http://127.0.0.1:9/v1"))
    grader = wb.BinaryJudge("polite", model="m", client=client)
    with pytest.raises(ReportError, match=message):
        grader.run(ROWS, batch=True, progress=False, store=settings.get("store", store))


def test_a_key_reaches_the_server_and_nothing_else(store, monkeypatch, tmp_path):
    """Uploads and downloads have the client's key and headers; no file has them."""
    monkeypatch.setenv("BATCH_KEY", "batch-Secret-0123456789")
    with batch_server(passing) as (address, server):
        client = OpenAIClient(
            address, key_variable="", headers={"api-key": "$BATCH_KEY"}, query={"api-version": "1"}
        )
        grader = wb.BinaryJudge("polite", model="m", client=client)
        run(grader, store)
        server.end("batch_2")
        assert run(grader, store).summary["scored"].iloc[0] == 5
        files = b"".join(server.files.values())
    assert {headers.get("api-key") for _, _, headers in server.requests} == {"batch-Secret-0123456789"}
    assert all("api-version=1" in path for _, path, _ in server.requests)
    assert not any("authorization" in headers for _, _, headers in server.requests)
    assert b"Secret" not in files + (tmp_path / "s.db").read_bytes()
