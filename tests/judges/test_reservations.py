"""What is set aside for a question is the most that it can cost: with `max_tokens` no budget is exceeded."""

import asyncio

import pytest

import workbench as wb
from tests.judges.servers import server
from workbench.judges import Reply, Usage
from workbench.judges.budget import PendingQuestion, pending_question
from workbench.judges.spending import Spending

SAID = '{"reasoning": "fine", "score": "PASS"}'
MODEL = "gpt-4o-mini"
SHORT, LONG = 10, 1_000


class UnevenClient:
    """Every tenth answer is a hundred times longer, and takes longer; fifty questions are under way."""

    concurrency = 50

    def __init__(self, cost=None, together=1):
        self.cost, self.together, self.asked, self.under_way = cost, together, 0, 0
        self.met = asyncio.Event()

    async def complete(self, messages, **settings):
        self.asked += 1
        long = self.asked % 10 == 0
        self.under_way += 1
        if self.under_way >= self.together:
            self.met.set()
        if self.asked > 1:  # the first goes alone
            await asyncio.wait_for(
                self.met.wait(), 60
            )  # nobody else is answered before so many are under way
        await asyncio.sleep(0.03 if long else 0.002)
        self.under_way -= 1
        prompt = len(str(messages).encode()) // 2  # denser than English, less dense than bytes
        return Reply(SAID, Usage(prompt, LONG if long else SHORT, self.cost), {"finish_reason": "stop"})


def judge(client, **settings):
    return wb.BinaryJudge(criteria="polite", model=MODEL, client=client, **settings)


def rows(n):
    return [{"prompt": f"Hi {row}" + " \U0001f600" * (row % 7), "completion": "Good day"} for row in range(n)]


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (wb.Budget(0.1), lambda report: report.frame["cost"].sum()),
        (wb.Budget(tokens=500_000), lambda report: report.frame["tokens"].sum()),
    ],
    ids=["money", "tokens"],
)
def test_with_max_tokens_a_budget_is_never_exceeded(budget, spent):
    """Fifty under way and answers that differ a hundredfold: not a token too much, nearly all used, no note of a guess."""
    client, limit = UnevenClient(together=50), budget.money or budget.tokens
    report = judge(client, max_tokens=LONG).run(rows(3_000), budget=budget, progress=False)
    assert 0.9 * limit < spent(report) <= limit
    assert set(report.errors["error_kind"]) == {"budget"}
    assert not any("exceeded" in note or "max_tokens" in note for note in report.notes)


def test_without_max_tokens_a_note_says_how_far_one_question_may_go_and_what_makes_it_exact():
    """Money and tokens are held by the longest answer so far; what it was exceeded by is told."""
    report = judge(UnevenClient()).run(rows(3_000), budget=wb.Budget(0.02), progress=False)
    notes = "\n".join(report.notes)
    assert "'gpt-4o-mini' was called without max_tokens" in notes
    assert "$0.0006 per 1,000 additional tokens" in notes
    assert "the longest reply so far, which had 1,000 tokens" in notes
    assert (
        "Set max_tokens= on the judge to make the budget exact if the server charges by the price table."
        in notes
    )
    over = report.frame["cost"].sum() - 0.02
    assert (f"exceeded by ${over:.4f}" in notes) == (over > 0.00005)


def test_a_budget_in_calls_needs_no_note():
    """Calls are counted, not guessed."""
    report = judge(UnevenClient()).run(rows(30), budget=wb.Budget(calls=20), progress=False)
    assert report.notes == ("Budget exhausted: 20 of 30 grades completed.",)


def test_far_from_the_budget_all_go_at_once():
    """What is set aside holds nobody up where there is room."""
    report = judge(UnevenClient(together=50), max_tokens=LONG).run(
        rows(400), budget=wb.Budget(5.0), progress=False
    )
    assert (report.summary["scored"].iloc[0], report.notes) == (400, ())


def test_a_question_larger_than_the_budget_is_not_asked():
    """The error says what it may take."""
    client = UnevenClient()
    report = judge(client, max_tokens=LONG).run(rows(3), budget=wb.Budget(tokens=1_000), progress=False)
    assert not client.asked
    assert "the next request may take" in report.errors["error"].iloc[0]


def test_a_server_that_asks_more_than_the_table_is_held_to_its_word():
    """After its first answer as much is set aside as it really asks."""
    client = UnevenClient(cost=0.01)  # a hundred times the list price
    report = judge(client, max_tokens=LONG).run(rows(200), budget=wb.Budget(0.4), progress=False)
    assert report.frame["cost"].sum() <= 0.4 + 50 * 0.01


def test_a_longer_answer_counts_for_the_questions_under_way_too():
    """Without a limit, what is learned from one answer is set aside for those that are not answered yet."""

    async def go():
        spending = Spending(wb.Budget(tokens=1_000))
        pending = PendingQuestion(characters=30, answer_limit=None, price=None)
        reservation = await spending.reserve(pending)
        spending.settle(reservation, Usage(10, 10), "")
        second, third, fourth = [await spending.reserve(pending) for _ in range(3)]
        spending.settle(second, Usage(10, 400), "")
        waiting_task = asyncio.ensure_future(spending.reserve(pending))
        await asyncio.sleep(0)
        assert not waiting_task.done()  # 430 are spent, and two more may take 410 each
        spending.settle(third, Usage(10, 10), "")
        spending.settle(fourth, Usage(10, 10), "")
        await waiting_task

    asyncio.run(go())


@pytest.mark.parametrize(
    "text", ["plain words", "\U0001f600\U0001f468\u200d\U0001f469", "\u6f22\u5b57" * 50, "a" * 999, "\ud800"]
)
def test_a_question_is_held_to_have_as_many_tokens_as_bytes(text):
    """No byte-level tokenizer makes more tokens of it than it has bytes, with the schema and the tools."""
    messages = [{"role": "user", "content": text}]
    settings = {
        "model": MODEL,
        "max_tokens": 7,
        "tools": [{"type": "function", "function": {"name": "f" * 500}}],
    }
    pending = pending_question(
        wb.judges.OpenAIClient("http://127.0.0.1:9/v1"), messages, settings, with_size=True
    )
    assert pending.size >= len(text.encode("utf-8", "surrogatepass")) + 500
    assert pending.answer_limit == 7


@pytest.mark.parametrize(
    ("own", "model", "limit"),
    [
        ({}, "m", 9),
        ({"max_tokens": 50}, "m", 50),
        ({"extra_body": {"max_completion_tokens": 60}}, "m", 60),
        ({"max_tokens": 50, "n": 3}, "m", 150),
        ({"model": "o1"}, "o1", 9),
        ({"extra_body": {"model": "o1"}}, "o1", 9),
    ],
)
def test_what_a_client_of_ones_own_sends_is_what_is_set_aside_and_paid(own, model, limit, monkeypatch):
    """Its limit, its number of answers and its model count, and are what the server is asked."""
    from tests.judges.test_client import completion
    from workbench.core import background

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    settings = {"model": "m", "max_tokens": 9}
    with server(lambda *_: (200, {}, completion("{}"))) as (address, requests):
        client = wb.judges.OpenAIClient(address, models={"m": own})
        pending = pending_question(client, [], settings, with_size=True)
        background.run(client.complete([{"role": "user", "content": "x"}], **settings))
    [(_, body, _)] = requests
    assert (pending.model, pending.answer_limit) == (model, limit)
    sent = [body[name] for name in ("max_tokens", "max_completion_tokens") if name in body]
    assert (body["model"], [limit_sent * body.get("n", 1) for limit_sent in sent]) == (model, [limit])
