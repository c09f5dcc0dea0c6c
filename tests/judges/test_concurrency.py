"""How many requests are under way: slow start, growth, halving, places that are given back."""

import asyncio

import pytest

from workbench.judges import chat_request
from workbench.judges.server import AdaptiveLimit


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told."""
    now = [0.0]
    monkeypatch.setattr(chat_request.time, "monotonic", lambda: now[0])
    return now


def test_it_grows_by_one_an_answer_until_the_first_refusal():
    """A healthy server is soon asked as much as allowed."""
    limiter = AdaptiveLimit(40)
    for _ in range(100):
        limiter.record_answer()
    assert limiter.limit == 40


def test_a_refusal_halves_it_and_growth_is_slow_after(clock):
    """Then one more a round of answers."""
    limiter = AdaptiveLimit(32)
    for _ in range(16):
        limiter.record_answer()
    limiter.record_overload()
    assert limiter.limit == 16
    for _ in range(16):
        limiter.record_answer()
    assert 16.5 < limiter.limit < 17


def test_refusals_of_one_moment_count_as_one(clock):
    """A second cut needs a second to pass; the limit never falls below one."""
    limiter = AdaptiveLimit(16)
    for _ in range(5):
        limiter.record_overload()
    assert limiter.limit == 8
    for second in range(1, 9):
        clock[0] = second
        limiter.record_overload()
    assert limiter.limit == 1


def test_no_more_than_the_limit_are_under_way():
    """Whoever comes later waits for a turn, in order."""

    async def go():
        limiter, order, most = AdaptiveLimit(2), [], 0

        async def one(name):
            nonlocal most
            async with limiter:
                most = max(most, limiter.busy)
                order.append(name)
                await asyncio.sleep(0)

        await asyncio.gather(*map(one, range(9)))
        return order, most, limiter.busy

    assert asyncio.run(go()) == (list(range(9)), 2, 0)


def test_a_cancelled_turn_is_given_on():
    """Neither one who still waits nor one who was just admitted keeps a turn after a cancellation."""

    async def go():
        limiter = AdaptiveLimit(1)
        await limiter.__aenter__()
        tasks = [asyncio.ensure_future(limiter.__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
        await limiter.__aexit__(None, None, None)  # admits the second ...
        tasks[1].cancel()  # ... which is cancelled in the same moment
        await asyncio.gather(*tasks[:2], return_exceptions=True)
        await tasks[2]
        return limiter.busy

    assert asyncio.run(go()) == 1
