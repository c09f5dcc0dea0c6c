"""What a server counted, or may have charged, is spent although no usable answer came."""

import threading

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.judges import chat_request

SAID = '{"reasoning": "fine", "score": "PASS"}'
ROWS = [{"prompt": f"q{row}", "completion": "x"} for row in range(40)]
USED = {"prompt_tokens": 300, "completion_tokens": 200}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """The waiting itself is not what is tested."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(chat_request, "_FIRST_WAIT", 0.01)


def graded(address, budget, **limits):
    client = wb.judges.OpenAIClient(address, concurrency=8, **limits)
    judge = wb.BinaryJudge(criteria="polite", model="gpt-4o-mini", max_tokens=300, client=client)
    return judge.run(ROWS, budget=budget, progress=False)


@pytest.mark.parametrize(
    "broken",
    [{"choices": []}, {"choices": [{"message": None}]}, {"error": {"message": "upstream", "code": 502}}],
    ids=["no choice", "no message", "error"],
)
def test_an_answer_without_a_choice_costs_what_its_server_counted(broken):
    """The budget is held by it, tries included, and the failed grades say what they took."""
    with server(lambda *_: (200, {}, {**broken, "usage": USED})) as (address, requests):
        report = graded(address, wb.Budget(tokens=6_000), max_retries=1)
    assert 2 <= len(requests) <= 12  # 500 tokens each
    assert report.summary["scored"].iloc[0] == 0
    assert report.frame["tokens"].sum() == 500 * len(requests)


def test_a_try_whose_answer_never_came_is_spent_as_it_may_be_charged():
    """With dropped connections the server never answers more than the budget holds, and a note says how many."""
    lock, count = threading.Lock(), [0]

    def answer(*_):
        with lock:
            count[0] += 1
            return None if count[0] % 2 == 0 else (200, {}, completion(SAID))

    with server(answer) as (address, requests):
        report = graded(address, wb.Budget(tokens=20_000), max_retries=3)
    dropped = len(requests) // 2
    assert 0 < dropped < 20  # each may have cost 300 tokens and the question's bytes
    [note] = [note for note in report.notes if "got no reply" in note]
    assert note.startswith(f"{dropped} requests got no reply.")


def test_without_a_budget_in_money_or_tokens_a_lost_try_costs_nothing():
    """Calls are counted once a question, whatever its tries."""
    requests = []

    def answer(*_):
        requests.append(1)
        return None if len(requests) % 2 == 0 else (200, {}, completion(SAID))

    with server(answer) as (address, _):
        report = graded(address, wb.Budget(calls=40), max_retries=20)
    assert report.summary["scored"].iloc[0] == 40
    assert report.notes == ()
