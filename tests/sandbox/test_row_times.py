"""How long rows take decides how many go in a command and when one counts as hanging."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.sandbox.host.batches import RowTimes

SECONDS = st.floats(1e-6, 100.0)


def timed(*seconds, limit=5.0):
    """Times with one command's rows."""
    times = RowTimes(limit)
    times.learn(np.array(seconds))
    return times


def test_before_any_score_waiting_follows_the_limit():
    """A tenth of the limit, at least 30 ms."""
    assert RowTimes(5.0).bypass_seconds == 0.5
    assert RowTimes(0.1).bypass_seconds == 0.03
    assert not RowTimes(5.0).known


def test_rows_without_a_score_teach_nothing():
    """A command that scored nothing leaves the times as they were."""
    assert not timed().known


def test_slow_honest_rows_are_waited_for_longer():
    """Four times the mean row to be bypassed, one and a half times the slowest to count as hanging."""
    times = timed(1.0, 3.0)
    assert times.bypass_seconds == 8.0
    assert times.hang_seconds(load=1.0) == 8.0
    assert timed(0.001, 4.0, limit=100).hang_seconds(load=0.5) == pytest.approx(8.002)


def test_a_busy_machine_is_given_more_time():
    """Twice as many busy workers as cores double the time after which a row counts as hanging."""
    times = timed(0.001)
    assert times.hang_seconds(load=2.0) == 2 * times.hang_seconds(load=1.0) == 0.5


def test_after_a_thousand_quick_rows_a_slow_one_hangs_sooner():
    """80 ms where every row took well under 3 ms."""
    times = RowTimes(5.0)
    times.learn(np.full(1000, 0.0001))
    assert times.hang_seconds(load=2.0) == 0.08


def test_commands_grow_to_ten_milliseconds_of_work():
    """Eight times at most at each step, and never beyond what a command can hold."""
    times = RowTimes(5.0, rows=1)
    times.size_next(spent=1e-6, count=1, most=4000)
    assert times.rows_at_once == 8
    times.size_next(spent=0.008, count=8, most=4000)
    assert times.rows_at_once == 10
    times.size_next(spent=1e-6, count=10, most=20)
    assert times.rows_at_once == 20


@given(st.lists(SECONDS, min_size=1, max_size=20), SECONDS, st.floats(0, 20))
def test_a_row_is_bypassed_before_it_counts_as_hanging(seconds, limit, load):
    """Whatever rows took, the cheap step comes first."""
    times = timed(*seconds, limit=limit)
    assert 0.03 <= times.bypass_seconds <= times.hang_seconds(load)
