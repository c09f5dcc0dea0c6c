"""Two runs of one judge on one store: each question is asked once, whichever of them asks it."""

import os
import subprocess
import sys
import threading

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from tests.judges.test_resumed_runs import ROWS, RUN, judge, passing_answer, rows_of


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/answers.db"


def test_two_processes_pay_once(store):
    """Both have a grade for every row, and the server was asked about each row once."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with server(passing_answer) as (address, requests):
        command = [sys.executable, "-c", RUN, address, store]
        running = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        assert [int(process.communicate()[0]) for process in running] == [60, 60]
    assert rows_of(requests) == dict.fromkeys(range(60), 1)


def test_a_run_waits_for_the_one_that_asks(store):
    """A second run finds all rows being asked, waits, and takes the answers when they come."""
    asked, gate = threading.Event(), threading.Event()

    def answer(*_):
        asked.set()
        gate.wait(600)
        return passing_answer()

    with server(answer) as (address, requests):
        first = wb.Suite([judge(address)]).start(ROWS[:2], store=store)
        assert asked.wait(600)
        waiting = threading.Event()
        with wb.open_store(store) as second_store:
            claim = second_store.replies.claim

            async def watched(key):
                granted = await claim(key)
                if not granted:
                    waiting.set()
                return granted

            second_store.replies.claim = watched
            second = wb.Suite([judge(address)]).start(ROWS[:2], store=second_store)
            assert waiting.wait(600)
            gate.set()
            reports = [first.report(), second.report()]
    assert [report.summary["scored"].iloc[0] for report in reports] == [2, 2]
    assert rows_of(requests) == dict.fromkeys(range(2), 1)


def test_a_question_without_an_answer_is_left_to_the_other(store):
    """What the first run was refused is asked by the second at once."""
    broken = threading.Event()
    broken.set()

    def answer(*_):
        return (400, {}, {"error": {"message": "no"}}) if broken.is_set() else passing_answer()

    with server(answer) as (address, _), wb.open_store(store) as kept:
        assert judge(address).run(ROWS[:4], store=kept, progress=False).summary["failed"].iloc[0] == 4
        broken.clear()
        with wb.open_store(store) as other:
            report = judge(address).run(ROWS[:4], store=other, progress=False)
    assert report.summary["scored"].iloc[0] == 4


def test_an_unreadable_answer_is_left_to_the_other(store):
    """Answers that no judge could read are claimed by nobody afterwards."""
    words = iter(["well", "well", *['{"reasoning": "yes", "score": "PASS"}'] * 9])

    def answer(*_):
        return 200, {}, completion(next(words))

    with server(answer) as (address, _), wb.open_store(store) as kept, wb.open_store(store) as other:
        assert judge(address).run(ROWS[:1], store=kept, progress=False).summary["failed"].iloc[0] == 1
        report = judge(address).run(ROWS[:1], store=other, progress=False)
    assert report.summary["scored"].iloc[0] == 1
