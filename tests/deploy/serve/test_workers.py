"""Rows that loop, raise and crash, and workers that are killed, cost what they cost in a run: the row, or nothing."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

import workbench as wb
from tests.deploy.serve.servers import expected, served, thread_of, until
from workbench.core.errors import NotValidatedError
from workbench.deploy.serve import create_app
from workbench.sandbox.host.worker_pool import worker_pool

SLOW = """
import time

async def grade(thread: StringThread) -> float:
    time.sleep(0.05)
    return 1.0
"""


def workers():
    """Processes of the sandbox's workers, of whichever server of this process."""
    groups = list(worker_pool()._groups.values())
    return [member.running.pid for group in groups for member in group.members if member.worker is not None]


def test_a_bad_row_costs_itself(server):
    """Loops, errors and crashes in the middle of a batch: every other row has its score."""
    texts = {3: "loop", 50: "boom", 99: "crash", 120: "loop"}
    requests = [thread_of(texts.get(i, "4")) for i in range(200)]
    answers = server.post("/batch_score", {"requests": requests}).json()["responses"]
    without = {
        i: one["metadata"]["reason"].split(":")[0] for i, one in enumerate(answers) if one["reward"] is None
    }
    assert without == {3: "timeout", 50: "runtime", 99: "crash", 120: "timeout"}
    assert all(one["reward"] == 1.0 for i, one in enumerate(answers) if i not in texts)


def test_a_bad_request_costs_itself(server):
    """The same of requests that arrive together and share a call."""
    texts = {3: "loop", 20: "boom", 30: "crash"}
    with ThreadPoolExecutor(40) as pool:
        bodies = [thread_of(texts.get(i, "4")) for i in range(40)]
        answers = list(pool.map(lambda body: server.post("/score", body), bodies))
    assert {
        i: answer.status_code for i, answer in enumerate(answers) if answer.status_code != 200
    } == dict.fromkeys(texts, 422)
    assert all(answer.json()["reward"] == 1.0 for i, answer in enumerate(answers) if i not in texts)


def test_honest_requests_do_not_wait_for_one_that_hangs():
    """Of requests that share a call each is answered when its own row is graded."""
    with served(expected(timeout=4.0)) as running, ThreadPoolExecutor(40) as pool:
        pool.submit(running.post, "/batch_score", {"requests": [thread_of("4")] * 40}).result()
        answers = [pool.submit(running.post, "/score", thread_of("4")) for _ in range(13)]
        hanging = [pool.submit(running.post, "/score", thread_of("loop"))]
        answers += [pool.submit(running.post, "/score", thread_of("4")) for _ in range(13)]
        hanging.append(pool.submit(running.post, "/openai", hanging_sample()))
        answers += [pool.submit(running.post, "/score", thread_of("boom")) for _ in range(10)]
        statuses = [answer.result().status_code for answer in answers]
        assert not any(answer.done() for answer in hanging)
        assert statuses == [200] * 26 + [422] * 10
        assert [answer.result().status_code for answer in hanging] == [422, 422]
        rows = running.client.get("/metrics").text
        assert 'status="scored",kind=""} 66' in rows
        assert 'status="failed",kind="timeout"} 2' in rows


def test_rows_that_were_answered_count_though_the_others_were_given_up():
    """The server's limit ends the request that hangs, and the call that it shared."""
    with served(expected(timeout=20.0), timeout=2.0) as running, ThreadPoolExecutor(20) as pool:
        pool.submit(running.post, "/batch_score", {"requests": [thread_of("4")] * 40}).result()
        texts = ["4"] * 6 + ["loop"] + ["4"] * 6
        answers = [pool.submit(running.post, "/score", thread_of(text)) for text in texts]
        assert sorted(answer.result().status_code for answer in answers) == [200] * 12 + [504]
        until(lambda: 'status="scored",kind=""} 52' in running.client.get("/metrics").text)


def hanging_sample():
    """What OpenAI's form sends, with an answer that hangs."""
    return {"sample": {"output_text": "loop"}, "item": {"prompt": "q"}}


def test_a_failure_is_told_once():
    """By a rule over several graders as well: each part's kind and message, and no kind twice."""
    suite = wb.Suite([expected(), wb.Length(maximum=9, name="short")], combine=wb.combine.Mean())
    with served(suite) as running:
        texts = ["loop", "boom"]
        answer = running.post("/batch_score", {"requests": [thread_of(text) for text in texts]}).json()
        alone = running.post("/graders/expected/score", thread_of("loop")).json()["error"]
    loop, boom = (one["metadata"]["reason"] for one in answer["responses"])
    assert loop.startswith("expected failed (timeout: no ")
    assert boom.startswith("expected failed (runtime: ValueError: boom")
    assert (loop + alone["message"]).count("time") == 2
    assert alone["cause"] == "timeout"
    assert alone["message"].startswith("the thread has no score: timeout: no ")


def test_requests_survive_killed_workers():
    """With every worker killed from outside in the middle, every request in flight is answered with its scores."""
    grader = wb.FunctionGrader.from_source(SLOW, name="slow")
    assert grader.validate().ok
    with served(grader, workers=2) as running, ThreadPoolExecutor(12) as pool:
        batch = {"requests": [thread_of("4")] * 10}
        answers = [pool.submit(running.post, "/batch_score", batch) for _ in range(8)]
        answers += [pool.submit(running.post, "/score", thread_of("4")) for _ in range(4)]
        until(lambda: running.app.state.admission.rows >= 80)
        killed = workers()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        assert killed
        for answer in answers[:8]:
            assert [one["reward"] for one in answer.result().json()["responses"]] == [1.0] * 10
        assert [answer.result().json()["reward"] for answer in answers[8:]] == [1.0] * 4
        assert not set(killed) & set(workers())
        assert _started(running) >= len(killed) + 1


def _started(running):
    (line,) = [
        line
        for line in running.client.get("/metrics").text.splitlines()
        if line.startswith("workbench_workers_started_total ")
    ]
    return int(line.split()[1])


def test_workers_end_with_the_server():
    """Nothing is left behind."""
    before = set(workers())
    with served(expected()) as running:
        assert running.post("/score", thread_of("4")).status_code == 200
        own = [psutil.Process(pid) for pid in set(workers()) - before]
        assert own
    _, alive = psutil.wait_procs(own, 10)
    assert not alive


def test_what_was_not_proved_is_not_served():
    """As with everything that leaves the notebook."""
    with pytest.raises(NotValidatedError):
        create_app(wb.FunctionGrader.from_source(SLOW, name="slow"))


def test_graders_that_are_no_code_are_served():
    """Rules, judges' kinds and functions of one's own: one after the other, and many at once."""

    async def half(thread):
        return 0.5

    suite = wb.Suite([wb.CustomGrader(half), wb.Length(maximum=3, name="short")])
    with served(suite) as running:
        assert running.post("/graders/half/score", thread_of("4")).json()["reward"] == 0.5
        assert running.post("/graders/short/slime", {"prompt": "q", "response": "long text"}).json() == 0.0
        without = running.post("/score", thread_of("4"))
        assert (without.status_code, without.json()["error"]["type"]) == (400, "grader_needed")
        unknown = running.post("/graders/other/score", thread_of("4"))
        assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "no_such_grader")
        assert "half, short" in unknown.json()["error"]["message"]


def test_judges_are_served():
    """A judge beside a rule: the suite's number, and the judge's reasoning by its own path."""
    client = wb.ScriptedClient(lambda _: '{"reasoning": "It is 4.", "score": "PASS"}')
    judge = wb.BinaryJudge("The reply is right.", name="right", client=client)
    suite = wb.Suite([judge, wb.Length(maximum=0, name="empty")], combine=wb.combine.Mean())
    with served(suite) as running:
        assert running.post("/slime", {"prompt": "2+2?", "response": "4"}).json() == 0.5
        answer = running.post("/graders/right/score", thread_of("4")).json()
        assert (answer["reward"], answer["metadata"]) == (1.0, {"reason": "It is 4."})
