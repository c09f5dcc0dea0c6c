"""A run that ended, was stopped or was killed goes on where it was: by the server's own count no row is paid twice."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

import workbench as wb
from tests.browser.lab import wait_until
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.store import replies

ROWS = [{"prompt": f"Question <{row}>", "completion": "Good day"} for row in range(60)]
AT_ONCE = 4
RUN = """
import sys, workbench as wb
from tests.judges.test_resumed_runs import ROWS, judge
if __name__ == "__main__":
    print(judge(sys.argv[1]).run(ROWS, store=sys.argv[2], progress=False).summary["scored"].iloc[0])
"""


def judge(address):
    client = wb.judges.OpenAIClient(base_url=address, concurrency=AT_ONCE)
    return wb.BinaryJudge(criteria="is polite", model="gpt-4o-mini", client=client)


def rows_of(requests):
    """How often each row was asked about."""
    texts = [str(body["messages"]) for _, body, _ in requests]
    return Counter(row for row in range(60) for text in texts if f"<{row}>" in text)


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/answers.db"


def passing_answer(*_):
    return 200, {}, completion('{"reasoning": "yes", "score": "PASS"}')


def test_a_second_run_asks_nothing(store):
    """Every answer is in the store; the report says that nothing was paid."""
    with server(passing_answer) as (address, requests):
        first_report = judge(address).run(ROWS, store=store, progress=False)
        second_report = judge(address).run(ROWS, store=store, progress=False)
    assert rows_of(requests) == dict.fromkeys(range(60), 1)
    assert (
        list(first_report.scores["binary-judge"]) == list(second_report.scores["binary-judge"]) == [1.0] * 60
    )
    assert second_report.spending == "cost: $0.00 for 0 tokens; 60 rows from the store, not paid again"


def test_what_a_budget_left_is_asked_next_time(store):
    """Run after run goes further, each within its own budget."""
    with server(passing_answer) as (address, requests):
        scored = [
            judge(address)
            .run(ROWS, store=store, budget=wb.Budget(calls=25), progress=False)
            .summary["scored"]
            .iloc[0]
            for _ in range(3)
        ]
    assert scored == [25, 50, 60]
    assert rows_of(requests) == dict.fromkeys(range(60), 1)


def test_failed_rows_are_asked_again_and_no_others(store):
    """What a server refused the first time is all that the second run asks for."""
    broken = threading.Event()
    broken.set()

    def sometimes(path, body, headers):
        bad = broken.is_set() and any(f"<{row}>" in str(body["messages"]) for row in range(10))
        return (400, {}, {"error": {"message": "no"}}) if bad else passing_answer()

    with server(sometimes) as (address, requests):
        first_report = judge(address).run(ROWS, store=store, progress=False)
        broken.clear()
        before = len(requests)
        second_report = judge(address).run(ROWS, store=store, progress=False)
    assert (first_report.summary["failed"].iloc[0], second_report.summary["failed"].iloc[0]) == (10, 0)
    assert set(rows_of(requests[before:])) == set(range(10))


@contextlib.contextmanager
def started(command, env):
    """A process that is killed in the end, whatever happens: an orphan would go on asking."""
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
        try:
            yield
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_run_loses_only_what_was_under_way(store, monkeypatch):
    """After kill -9 in the middle, the next run asks for the rest and for what was in flight, once."""
    # The killed process has leases of 20 s, which are longer than any here, so that the run below need not wait for their end.
    monkeypatch.setattr(replies, "LEASE_SECONDS", 5.0)
    reached, gate = threading.Event(), threading.Event()
    count = iter(range(10_000))

    def answer(*_):
        if next(count) >= 30 and not gate.is_set():
            reached.set()
            gate.wait(600)
        return passing_answer()

    with server(answer) as (address, requests):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        try:
            with started([sys.executable, "-c", RUN, address, store], env):
                assert reached.wait(600)
                with wb.open_store(store) as opened_store:
                    wait_until(
                        lambda: opened_store.replies.count() >= 30, what="what was answered is written"
                    )
        finally:
            gate.set()
        report = judge(address).run(ROWS, store=store, progress=False)
    assert report.summary["scored"].iloc[0] == 60
    asked_twice = [row for row, times in rows_of(requests).items() if times > 1]
    assert set(rows_of(requests)) == set(range(60))
    assert len(asked_twice) <= AT_ONCE
    assert max(rows_of(requests).values()) <= 2


def test_a_run_is_summed_up_in_the_store(store):
    """What was run, when and with what result stands in the store beside the answers."""
    with server(passing_answer) as (address, _):
        wb.Suite([judge(address)], name="manners").run(ROWS, store=store, progress=False)
    with wb.open_store(store) as opened_store:
        runs = list(opened_store.runs.list())
    assert len(runs) == 1
    assert runs[0].name == "manners"
