"""Workers that are killed, stopped or ended while rows are graded: a fault of ours is never the client's."""

import contextlib
import os
import random
import signal
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import workbench as wb
from tests.deploy.serve.servers import served, thread_of, until
from tests.deploy.serve.test_workers import workers

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, as the host does")

GRADER = """
import os, time

async def grade(thread: StringThread) -> float:
    answer = thread.completion()
    if answer == "abort":
        os.abort()
    if answer == "exit":
        os._exit(3)
    if answer == "slow":
        time.sleep(0.4)
    return 1.0
"""


@pytest.fixture(scope="module")
def server():
    """A server with two workers."""
    grader = wb.FunctionGrader.from_source(GRADER, name="slow", timeout=2.0)
    assert grader.validate().ok
    with served(grader, workers=2) as running:
        running.post("/score", thread_of("4"))
        yield running


def hit(running, path, body, how, times):
    """The answer to a request whose row's worker is lost so many times."""
    with ThreadPoolExecutor(1) as pool:
        before = set(workers())
        answer = pool.submit(running.post, path, body)
        lost = set()
        for _ in range(times):
            until(lambda: at_work() - lost)
            for pid in at_work() - lost:
                os.kill(pid, how)
                lost.add(pid)
        answer = answer.result(30)
    assert before
    return answer


def at_work():
    """Workers that are at a row."""
    from workbench.sandbox.host.worker_pool import worker_pool

    groups = list(worker_pool()._groups.values())
    return {
        member.running.pid
        for group in groups
        for member in list(group.members)
        if member.state == "busy" and member.mark >= 0
    }


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGSEGV])
def test_a_row_whose_worker_is_lost_is_graded_once_more(how, server):
    """However it was lost."""
    answer = hit(server, "/score", thread_of("slow"), how, 1)
    assert (answer.status_code, answer.json().get("reward")) == (200, 1.0)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
@pytest.mark.parametrize("path", ["/score", "/batch_score"])
def test_a_row_whose_workers_are_lost_twice_is_to_be_asked_again(path, how, server):
    """503 with Retry-After, also where the form has a word for a row without a score."""
    body = thread_of("slow") if path == "/score" else {"requests": [thread_of("slow")]}
    answer = hit(server, path, body, how, 2)
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "sandbox")
    assert answer.headers["retry-after"] == "1"


def test_a_number_in_place_of_errors_is_for_rows_alone():
    """`--on-error` says what a row's failure counts as; a fault of ours is none."""
    grader = wb.FunctionGrader.from_source(GRADER, name="slow", timeout=2.0)
    assert grader.validate().ok
    with served(grader, workers=1, on_error=0.5) as running:
        running.post("/score", thread_of("4"))
        assert hit(running, "/score", thread_of("slow"), signal.SIGKILL, 2).status_code == 503
        assert running.post("/score", thread_of("exit")).json()["reward"] == 0.5


def test_a_row_that_kills_its_worker_is_tried_once_more_and_costs_itself():
    """Two workers for one that crashes, one for one that ends its process; the others have their scores."""
    grader = wb.FunctionGrader.from_source(GRADER, name="kills")
    assert grader.validate().ok
    with served(grader, workers=1) as running:
        running.post("/score", thread_of("4"))
        requests = [thread_of(answer) for answer in ("4", "abort", "4", "exit", "4")]
        before = started(running)
        answers = running.post("/batch_score", {"requests": requests}).json()["responses"]
        assert [one["reward"] for one in answers] == [1.0, None, 1.0, None, 1.0]
        assert all(answers[row]["metadata"]["reason"].startswith("crash") for row in (1, 3))
        running.post("/score", thread_of("4"))
        assert started(running) - before <= 4
        alone = running.post("/score", thread_of("abort"))
        assert (alone.status_code, alone.json()["error"]["cause"]) == (422, "crash")


def started(running):
    """How many workers were started so far."""
    text = running.client.get("/metrics").text
    return int(text.split("workbench_workers_started_total ")[-1].split()[0])


def test_a_worker_that_is_stopped_while_it_loads_says_nothing_of_the_module(monkeypatch):
    """Nor one that is ended then: the next one loads it."""
    from workbench.sandbox.host.member import Member

    grader = wb.FunctionGrader.from_source(GRADER, name="loads")
    assert grader.validate().ok
    load, left = Member.load, [signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV]

    def hit_while_loading(self, program):
        if left:
            os.kill(self.running.pid, signal.SIGSTOP)
        load(self, program)
        if left and (how := left.pop(0)) is not signal.SIGSTOP:
            os.kill(self.running.pid, how)
            os.kill(self.running.pid, signal.SIGCONT)

    with served(grader, workers=1) as running:
        for pid in workers():
            os.kill(pid, signal.SIGKILL)
        monkeypatch.setattr(Member, "load", hit_while_loading)
        assert running.post("/score", thread_of("4")).json()["reward"] == 1.0
    assert not left


def test_no_honest_row_is_refused_while_workers_are_lost_at_random(server):
    """Every row gets its score or is to be asked again; `benchmarks/faults.py served` does the same with 10,000."""
    chance, done, statuses = random.Random(0), threading.Event(), Counter()

    def lose():
        while not done.wait(0.05):
            found = workers()
            if found:
                # No SIGSEGV: twice at one row, with no other loss in between, it is the row's own by the rule.
                how = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(found), how)

    fault = threading.Thread(target=lose)
    fault.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            for answer in pool.map(lambda row: server.post("/score", thread_of(f"{row}")), range(400)):
                statuses[answer.status_code] += 1
    finally:
        done.set()
        fault.join()
    assert set(statuses) <= {200, 503}
    assert statuses[200] > 300
