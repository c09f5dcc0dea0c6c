"""Transient errors cost no row: a restart is waited for, and what failed is asked once more at the end."""

import dataclasses
import re
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from tests.judges.test_faults import ERROR, FINE, chat_answer, faulty_server, http_answer, judge, read_request
from tests.judges.test_resumed_runs import rows_of
from workbench.core import background
from workbench.judges import JudgeServerError, OpenAIClient, chat_request
from workbench.judges.server import ServerState

ROWS = [{"prompt": f"<{row}>", "completion": "x"} for row in range(60)]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """The waiting itself is not what is tested."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(chat_request, "_FIRST_WAIT", 0.01)


def failing_at_first(times, fault):
    """Does this to the first questions about every third row, and answers all others."""
    asks_by_row, lock = Counter(), threading.Lock()

    def choose(text):
        row = int(re.search(r"<(\d+)>", text)[1])
        with lock:
            asks_by_row[row] += 1
            return fault if row % 3 == 0 and asks_by_row[row] <= times else chat_answer(FINE)

    return choose, asks_by_row


FAULTS = {
    "500, and when to come back": http_answer(500, ERROR, **{"retry-after-ms": "1"}),
    "502": http_answer(502, ERROR),
    "504": http_answer(504, ERROR),
    "dropped": lambda c: None,
    "hanging": lambda c: c.recv(1),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_failed_by_a_transient_error_is_asked_once_more_at_the_end(fault):
    """A third of the rows fails at every try of the first pass; no row is lost, and the notes tell it."""
    choose, asks_by_row = failing_at_first(2, fault)
    moments = []
    with faulty_server(choose) as address:
        timeout = (
            3.0 if fault is FAULTS["hanging"] else 60.0
        )  # long enough for the rows that must be answered
        rubric_judge = judge(address, max_retries=1, timeout=timeout, concurrency=20)
        report = rubric_judge.run(ROWS, progress=moments.append)
    assert report.summary.loc["judge", "scored"] == 60
    assert [asks_by_row[row] for row in range(0, 60, 3)] == [3] * 20
    counts = re.match(
        r"judge: retried (\d+) rows after transient errors: (\d+) graded, 0 ",
        report.notes[-1],
    )
    # A connection that is dropped before anybody else is answered looks like a restart, and is waited for at once.
    assert counts[1] == counts[2]
    assert 0 < int(counts[1]) <= 20
    assert (moments[-1].done, moments[-1].failed) == (60, 0)
    assert report.frame["tokens"].sum() == 60 * 10


def test_the_second_pass_is_the_last_one():
    """Rows that fail again keep their error, and are asked no third time."""
    choose, asks_by_row = failing_at_first(1_000, http_answer(502, ERROR))
    with faulty_server(choose) as address:
        report = judge(address, max_retries=1).run(ROWS, progress=False)
    assert report.summary.loc["judge", "failed"] == 20
    assert set(report.errors["error_kind"]) == {"judge_server"}
    assert {asks_by_row[row] for row in range(0, 60, 3)} == {4}
    assert "0 graded, 20 failed again" in report.notes[-1]


@pytest.mark.parametrize("fault", [http_answer(400, ERROR), http_answer(403, ERROR), chat_answer("no verdict"), http_answer(429, ERROR, **{"retry-after": "9999"})])  # fmt: skip
def test_permanent_errors_are_not_asked_again(fault):
    """A refusal, an answer that means nothing, and a server that was full for too long are told as they are."""
    choose, asks_by_row = failing_at_first(1_000, fault)
    with faulty_server(choose) as address:
        report = judge(address, max_retries=0).run(ROWS, progress=False)
    assert report.summary.loc["judge", "failed"] == 20
    assert not any("once more" in note for note in report.notes)
    assert max(asks_by_row.values()) <= 3  # formats, or the one repair


def test_the_second_pass_counts_against_the_budget():
    """No call more than the budget has, and the rows it has no room for keep their first error."""
    choose, asks_by_row = failing_at_first(1, http_answer(502, ERROR))
    with faulty_server(choose) as address:
        report = judge(address, max_retries=0).run(ROWS, budget=wb.Budget(calls=65), progress=False)
    assert sum(asks_by_row.values()) == 65
    assert report.errors["error_kind"].value_counts().to_dict() == {"judge_server": 15}
    assert "5 graded, 15 failed again or not reached" in "\n".join(report.notes)


def test_a_judge_inside_another_grader_is_asked_again_alone():
    """What the other parts said is kept and not paid twice, and a part that counts as zero does so only in the end."""
    choose, asks_by_row = failing_at_first(1, http_answer(502, ERROR))
    with faulty_server(choose) as address, faulty_server(failing_at_first(0, None)[0]) as healthy_address:
        parts = (
            wb.Entry(judge(address, max_retries=0), "shaky", on_error="zero"),
            wb.Entry(judge(healthy_address), "steady"),
        )
        report = wb.combine.Combined(entries=parts, combine=wb.combine.Mean(), name="both").run(
            ROWS, progress=False
        )
    assert list(report.scores["both"]) == [0.5] * 60
    assert report.frame["tokens"].sum() == 2 * 60 * 10
    assert sum(asks_by_row.values()) == 80


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answers_of_the_second_pass_are_found_by_the_next_run(tmp_path, temperature):
    """They stand in the store under the keys of their rows, at a temperature as well."""
    asks_by_row = Counter()

    def answer(_path, body, _headers):
        row = re.search(r"<(\d+)>", str(body["messages"]))[1]
        asks_by_row[row] += 1
        return (502, {}, ERROR) if asks_by_row[row] == 1 else (200, {}, completion(FINE))

    with server(answer) as (address, requests):
        rubric_judge = wb.RubricJudge(
            prompt="p", model="m", temperature=temperature, client=OpenAIClient(address, max_retries=0)
        )
        store = f"sqlite:///{tmp_path}/answers.db"
        scored = [
            rubric_judge.run(ROWS, store=store, progress=False).summary["scored"].iloc[0] for _ in range(2)
        ]
    assert scored == [60, 60]
    assert rows_of(requests) == dict.fromkeys(range(60), 2)


@contextmanager
def restarting_server(after, over):
    """A server that goes away once it has answered so often, and comes back at the same port when `over` is set.

    Its connections are reset when it goes; until it is back, connections are refused.
    """
    listening = [socket.create_server(("127.0.0.1", 0), backlog=128)]
    port = listening[0].getsockname()[1]
    count, lock, threads, restarts = [0], threading.Lock(), [], []

    def talk(connection):
        try:
            with connection:
                read_request(connection)
                with lock:
                    count[0] += 1
                    gone = count[0] == after + 1
                if gone:
                    restarts.append(threading.Thread(target=restart))
                    restarts[0].start()
                if after < count[0] <= after + 8:
                    return  # in the middle of its work
                connection.sendall(chat_answer(FINE).replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
        except OSError:
            return

    def restart():
        listening[0].shutdown(socket.SHUT_RDWR)
        listening[0].close()
        over.wait(60)
        listening[0] = socket.create_server(("127.0.0.1", port), backlog=128)
        serve_on()

    def serve(sock):
        while True:
            try:
                connection, _ = sock.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    def serve_on():
        threads.append(threading.Thread(target=serve, args=(listening[0],)))
        threads[-1].start()

    serve_on()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        over.set()
        if restarts:
            restarts[0].join()
        listening[0].shutdown(socket.SHUT_RDWR)
        listening[0].close()
        for thread in threads:
            thread.join()


def test_a_server_that_restarts_loses_no_row():
    """Once it has answered, refused connections are waited for; the bar shows how many questions wait."""
    waited = threading.Event()

    def look(moment):
        if moment.waiting:
            waited.set()  # only then does the server come back

    with restarting_server(20, waited) as address:
        report = judge(address, max_retries=2, patience=60, timeout=30).run(ROWS * 5, progress=look)
        assert waited.is_set()
    assert report.summary.loc["judge", "scored"] == 300, report.errors["error"].iloc[0]


def test_a_server_that_never_comes_back_ends_the_run():
    """After its patience the run stops asking and says why; what was graded is kept."""
    with restarting_server(20, threading.Event()) as address:
        report = judge(address, max_retries=2, patience=0.5, timeout=5).run(ROWS * 5, progress=False)
    kinds = report.errors["error_kind"].value_counts().to_dict()
    assert report.summary.loc["judge", "scored"] >= 20
    assert kinds["judge_unreachable"] > 200
    assert "not sent" in report.errors["error"].iloc[-1]
    assert any(note.startswith("judge: no server listens at the judge's address") for note in report.notes)
    assert any(note.endswith("requests were not sent.") for note in report.notes)


def test_a_server_that_was_given_up_is_not_waited_for_by_the_next_judge():
    """Its questions take their tries, and no patience."""
    with restarting_server(20, threading.Event()) as address:
        judges = [
            wb.Entry(judge(address, max_retries=2, patience=patience, timeout=5), name)
            for name, patience in (("first", 0.5), ("second", 3_000))
        ]
        report = wb.Suite(judges).run(ROWS, progress=False)
    assert report.summary.loc["second", "scored"] == 0


def test_a_dropped_connection_is_a_restart_only_where_nobody_is_answered():
    """All such silences of a run together are waited for no longer than the patience."""
    now = [0.0]
    state = ServerState("s", clock=lambda: now[0])
    assert not state.is_restarting("a", 0.0, 10)  # it never answered: nothing is known of it
    state.record_answer()
    now[0] = 1.0
    assert not state.is_restarting("a", 0.5, 10)
    assert not state.is_restarting("a", 0.5, 10)  # one question alone may end its own connection
    assert state.is_restarting("b", 0.5, 10)
    now[0] = 9.0
    assert state.is_restarting("a", 8.0, 10)  # still the same silence
    state.record_answer()
    assert not state.is_restarting("a", 8.5, 10)  # somebody was answered meanwhile
    now[0] = 11.0
    assert not state.is_restarting("a", 9.0, 10)
    assert not state.is_restarting("b", 9.0, 10)  # 8.5 s of silence before, and 2 s now


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_row_that_always_drops_its_connection_holds_nobody_up(concurrency):
    """It is tried as often as any other, in both passes, and waited for in neither."""
    is_row_5 = []

    def choose(text):
        is_row_5.append("<5>" in text)
        return (lambda c: None) if "<5>" in text else chat_answer(FINE)

    with faulty_server(choose) as address:
        rubric_judge = judge(address, max_retries=1, concurrency=concurrency, patience=3_000)
        report = rubric_judge.run(ROWS[:12], progress=False)
    assert report.summary["scored"].iloc[0] == 11
    assert sum(is_row_5) == 4


def test_the_second_pass_ends_where_nothing_is_mended():
    """After a handful of rows that fail again, the others keep their error unasked."""
    asks_by_row = Counter()

    def choose(text):
        row = int(re.search(r"<(\d+)>", text)[1])
        asks_by_row[row] += 1
        return chat_answer(FINE) if row < 5 else http_answer(502, ERROR)

    with faulty_server(choose) as address:
        report = judge(address, max_retries=0, concurrency=1).run(ROWS, progress=False)
    assert report.errors["error_kind"].value_counts().to_dict() == {"judge_server": 55}
    assert sum(asks_by_row.values()) == 60 + 5


@pytest.mark.parametrize("column", ["tokens", "cost", "seconds"])
def test_odd_numbers_in_a_rows_second_grade_fail_that_row_alone(column):
    """The run goes on, and what the first grade cost is kept."""

    class Odd(wb.RubricJudge):
        async def grade(self, sample):
            grade = await super().grade(sample)
            odd = grade.error is None and "<3>" in str(sample.thread.get_turns())
            return dataclasses.replace(grade, **{column: "many"}) if odd else grade

    choose, _ = failing_at_first(1, http_answer(502, ERROR))
    with faulty_server(choose) as address:
        client = OpenAIClient(address, max_retries=0)
        report = Odd(prompt="p", model="m", client=client).run(ROWS[:6], progress=False)
    assert report.summary["scored"].iloc[0] == 5
    assert list(report.errors["error_kind"]) == ["runtime"]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_the_time_a_server_asks_for_is_waited(status):
    """`Retry-After` holds for every status that may pass, from the very first question on."""
    times = []

    def answer(*_):
        times.append(time.monotonic())
        refusal = (status, {"retry-after-ms": "700"}, ERROR)
        return refusal if len(times) == 1 else (200, {}, completion(FINE))

    with server(answer) as (address, _):
        rubric_judge = wb.RubricJudge(prompt="p", model="m", client=OpenAIClient(address))
        assert rubric_judge(wb.StringThread([("user", "q"), ("assistant", "a")])).score == 0.5
    assert len(times) == 2
    assert times[1] - times[0] >= 0.7


@pytest.mark.parametrize("own", [False, True])
def test_a_rubric_judge_waits_as_long_as_its_client_unless_it_says_otherwise(own):
    """Its client's timeout and tries hold; its own go before them where they were set."""
    questions = []

    def hang(text):
        questions.append(text)
        return lambda c: c.recv(1)

    client_limits = {"timeout": 3_000.0, "max_retries": 20} if own else {"timeout": 1.5, "max_retries": 1}
    own_limits = {"timeout": 1.5, "max_retries": 1} if own else {}
    with faulty_server(hang) as address:
        rubric_judge = wb.RubricJudge(
            prompt="p", model="m", client=OpenAIClient(address, **client_limits), **own_limits
        )
        grade = rubric_judge(wb.StringThread([("user", "q"), ("assistant", "a")]))
    assert (grade.error.kind, len(questions)) == ("timeout", 2)


def test_a_wait_beyond_all_patience_is_not_begun():
    """A server that asks for hours is told at once, whatever its status."""
    answers = server(lambda *_: (500, {"retry-after": "9999"}, ERROR))
    with answers as (address, requests), pytest.raises(JudgeServerError, match="requests a wait of 9,999 s"):
        background.run(
            OpenAIClient(address, patience=60).complete([{"role": "user", "content": "x"}], model="m")
        )
    assert len(requests) == 1
