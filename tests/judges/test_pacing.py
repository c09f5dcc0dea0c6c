"""How many questions are under way: slow start, growth, halving, turns that are given back."""

import asyncio

import pytest

from workbench.judges.client import pacing
from workbench.judges.client.pacing import Pace


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told."""
    now = [0.0]
    monkeypatch.setattr(pacing.time, "monotonic", lambda: now[0])
    return now


def test_it_grows_by_one_an_answer_until_the_first_refusal():
    """A healthy server is soon asked as much as allowed."""
    pace = Pace(40)
    for _ in range(100):
        pace.answered()
    assert pace.limit == 40


def test_a_refusal_halves_it_and_growth_is_slow_after(clock):
    """Then one more a round of answers."""
    pace = Pace(32)
    for _ in range(16):
        pace.answered()
    pace.refused()
    assert pace.limit == 16
    for _ in range(16):
        pace.answered()
    assert 16.5 < pace.limit < 17


def test_refusals_of_one_moment_are_one_piece_of_news(clock):
    """A second cut needs a second to pass; the limit never falls below one."""
    pace = Pace(16)
    for _ in range(5):
        pace.refused()
    assert pace.limit == 8
    for second in range(1, 9):
        clock[0] = second
        pace.refused()
    assert pace.limit == 1


def test_no_more_than_the_limit_are_under_way():
    """Whoever comes later waits for a turn, in order."""

    async def go():
        pace, order, most = Pace(2), [], 0

        async def one(name):
            nonlocal most
            async with pace:
                most = max(most, pace.busy)
                order.append(name)
                await asyncio.sleep(0)

        await asyncio.gather(*map(one, range(9)))
        return order, most, pace.busy

    assert asyncio.run(go()) == (list(range(9)), 2, 0)


def test_a_cancelled_turn_is_given_on():
    """Neither one who still waits nor one who was just admitted keeps a turn after a cancellation."""

    async def go():
        pace = Pace(1)
        await pace.__aenter__()
        waiting = [asyncio.ensure_future(pace.__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        await pace.__aexit__(None, None, None)  # admits the second ...
        waiting[1].cancel()  # ... which is cancelled in the same moment
        await asyncio.gather(*waiting[:2], return_exceptions=True)
        await waiting[2]
        return pace.busy

    assert asyncio.run(go()) == 1
