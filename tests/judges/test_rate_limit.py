"""Requests and tokens per minute, over all judges of a server."""

import asyncio
import itertools
import threading
import time

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core.errors import FormatError
from workbench.judges import OpenAIClient, Usage, rate_limit
from workbench.judges.rate_limit import RateLimit, RateWindow

SAID = '{"reasoning": "fine", "score": "PASS"}'
WINDOW = 0.5
"""Seconds of a "minute" of these tests."""


def rows(n):
    return [{"prompt": f"q{row}", "completion": "x"} for row in range(n)]


@pytest.fixture
def times(monkeypatch):
    """When requests were sent, by the limiter's clock: a busy machine may deliver them later."""
    monkeypatch.setattr(rate_limit, "WINDOW_SECONDS", WINDOW)
    entries = []

    def remembered(*values):
        entries.append(rate_limit._Entry(*values))
        return entries[-1]

    monkeypatch.setattr(rate_limit, "_Entry", rate_limit.SentRequest, raising=False)
    monkeypatch.setattr(rate_limit, "SentRequest", remembered)
    return entries


def most_in_a_window(entries):
    return max(sum(0 <= other.at - first.at < WINDOW for other in entries) for first in entries)


def replies(tokens=10):
    usage = {"prompt_tokens": tokens - 1, "completion_tokens": 1}
    return server(lambda *_: (200, {}, {**completion(SAID), "usage": usage}))


def test_all_judges_of_a_server_share_its_requests_per_minute(times):
    """Two clients and two judges, run at once: never more than four requests in a window, and every row has its score."""
    with replies() as (address, requests):
        clients = [OpenAIClient(f"{address}{end}", requests_per_minute=4) for end in ("", "/")]
        jobs = [
            wb.Suite([wb.BinaryJudge(text, model="m", client=client)]).start(rows(6))
            for text, client in zip(("polite", "short"), clients, strict=True)
        ]
        reports = [job.report(60) for job in jobs]
    assert [report.summary["scored"].iloc[0] for report in reports] == [6, 6]
    assert len(times) == len(requests) == 12
    assert most_in_a_window(times) == 4


def test_tokens_per_minute_count_what_was_used(times):
    """100 tokens a request, 300 a window: one at first, whose reply shows how dense requests are, then three at once."""
    with replies(tokens=100) as (address, _):
        client = OpenAIClient(address, tokens_per_minute=300, concurrency=8)
        judge = wb.BinaryJudge("polite", model="m", max_tokens=1, client=client)
        assert judge.run(rows(7), progress=False).summary["scored"].iloc[0] == 7
    assert most_in_a_window(times) == 3


@pytest.mark.usefixtures("times")
def test_the_progress_shows_how_many_wait():
    """The count of requests that wait for their turn, apart from those that wait for the server."""
    with replies() as (address, _):
        seen = []
        judge = wb.BinaryJudge("polite", model="m", client=OpenAIClient(address, requests_per_minute=2))
        judge.run(rows(6), progress=seen.append)
    assert max(moment.rate_limited for moment in seen) >= 2
    assert seen[-1].rate_limited == 0
    assert {moment.waiting for moment in seen} == {0}


def test_a_run_stops_while_it_waits():
    """A minute's limit does not delay the end of a stopped run."""
    waiting = threading.Event()
    with replies() as (address, requests):
        judge = wb.BinaryJudge("polite", model="m", client=OpenAIClient(address, requests_per_minute=1))
        job = wb.Suite([judge]).start(
            rows(5), progress=lambda moment: waiting.set() if moment.rate_limited else None
        )
        assert waiting.wait(60)
        job.cancel()
        report = job.report(30)
    assert len(requests) == 1
    assert set(report.errors["error_kind"]) == {"cancelled"}


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self):
        return self.now


def sent(window, limit, tokens=1):
    return window._enter(limit, 0, tokens)


def test_a_window_slides():
    """A request fits again when the oldest leaves, not when a minute of the clock begins."""
    window, limit = RateWindow(clock := Clock()), RateLimit(requests=2)
    for clock.now in (0.0, 30.0):
        assert sent(window, limit)
    clock.now = 59.0
    assert sent(window, limit) is None
    assert window._seconds_until(limit, 1) == 1.0
    clock.now = 60.0
    assert sent(window, limit)
    assert window._seconds_until(limit, 1) == 30.0


def test_a_reply_that_took_less_makes_room():
    """An estimate counts until the reply; a request above the limit is sent alone."""
    window, limit = RateWindow(Clock()), RateLimit(tokens=100)
    entry = sent(window, limit, 1_000)
    assert entry is not None
    assert sent(window, limit, 10) is None
    window.settle(entry, Usage(60, 20))
    assert sent(window, limit, 30) is None
    assert sent(window, limit, 20) is not None
    assert window._tokens == 100
    window.settle(entry, None)
    assert window._tokens == 100


def test_requests_are_sent_in_their_order():
    """A cancelled one gives its turn to the next, on any event loop."""
    window, limit, order = RateWindow(), RateLimit(requests=1), []

    async def send(name):
        async with window.turn(limit, 1, 1):
            order.append(name)

    async def main():
        await send("first")
        tasks = []
        for name in ("cancelled", "second", "third"):
            tasks.append(asyncio.create_task(send(name)))
            while len(window._waiters) < len(tasks):
                await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.gather(tasks[0], return_exceptions=True)
        window.clock = lambda: next(minutes)
        window._wake_first()
        await asyncio.gather(*tasks[1:])

    minutes = itertools.count(time.monotonic() + 61, 61)
    asyncio.run(main())
    assert order == ["first", "second", "third"]


@pytest.mark.parametrize("name", ["requests_per_minute", "tokens_per_minute"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "60", True])
def test_a_limit_is_a_number(name, value):
    with pytest.raises(FormatError, match=name):
        OpenAIClient("http://127.0.0.1:9", **{name: value})
