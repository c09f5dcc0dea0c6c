"""The root of a function between two points, by Brent's method (1973), without `scipy.optimize`, which takes 0.15 s to import."""

from __future__ import annotations

import math
from collections.abc import Callable

_STEPS = 100
"""Maximum number of steps; bisection alone needs 30 for a billionth of the range."""
_RTOL = 4 * math.ulp(1.0)


def root(f: Callable[[float], float], low: float, high: float, *, xtol: float) -> float:
    """Where a continuous function is 0 between two points at which its signs differ.

    The same steps, and so the same result, as `scipy.optimize.brentq`.

    Args:
        f: The function.
        low: One point.
        high: The other point.
        xtol: Maximum distance of the result from the root.

    Raises:
        ValueError: The signs do not differ.
    """
    before, at, f_before, f_at = low, high, f(low), f(high)
    if f_before == 0 or f_at == 0:
        return before if f_before == 0 else at
    if (f_before < 0) == (f_at < 0):
        raise ValueError(f"a root needs two signs: {f_before:g} at {low:g}, {f_at:g} at {high:g}")
    other, f_other, step_before, step = before, f_before, at - before, at - before
    for _ in range(_STEPS):
        if (f_before < 0) != (f_at < 0):
            other, f_other, step_before, step = before, f_before, at - before, at - before
        if abs(f_other) < abs(f_at):
            before, at, other = at, other, at
            f_before, f_at, f_other = f_at, f_other, f_at
        delta, half = (xtol + _RTOL * abs(at)) / 2, (other - at) / 2
        if f_at == 0 or abs(half) < delta:
            return at
        step_before, step = _step(
            (before, at, other), (f_before, f_at, f_other), (step_before, step), (delta, half)
        )
        before, f_before = at, f_at
        at += step if abs(step) > delta else math.copysign(delta, half)
        f_at = f(at)
    return at


def _step(
    points: tuple[float, float, float], values: tuple[float, float, float], steps: tuple[float, float],
    ends: tuple[float, float],
) -> tuple[float, float]:  # fmt: skip
    """The last step and the next one: by interpolation if that is short enough, else by bisection."""
    (before, at, other), (f_before, f_at, f_other) = points, values
    (step_before, step), (delta, half) = steps, ends
    if abs(step_before) <= delta or abs(f_at) >= abs(f_before):
        return half, half
    if before == other:
        trial = -f_at * (at - before) / (f_at - f_before)
    else:
        slope, other_slope = (f_before - f_at) / (before - at), (f_other - f_at) / (other - at)
        trial = -f_at * (f_other * other_slope - f_before * slope)
        trial /= other_slope * slope * (f_other - f_before)
    if 2 * abs(trial) < min(abs(step_before), 3 * abs(half) - delta):
        return step, trial
    return half, half
