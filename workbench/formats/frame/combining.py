"""How exported files combine the graders' results: the rules of suites, and the arithmetic of formulas.

The workbench does not call anything here; see `runtime`.
"""
# mypy: ignore-errors

from __future__ import annotations

import math as _wb_math

from workbench.formats.frame.runtime import _wb_Answer


def _wb_missing(answers):
    """The combined result if a grader failed; None if none did."""
    failed = [f"{name} failed ({answer.failure})" for name, answer in answers.items() if answer.failure]
    return _wb_Answer(failure="; ".join(failed)) if failed else None


def _wb_combined(score):
    if not _wb_math.isfinite(score):
        return _wb_Answer(failure=f"the combined score is {score}, which is not a finite number")
    return _wb_Answer(float(score))


def _wb_without(answers):
    """Which graders the combined score excludes."""
    skipped = [
        f"{name} skipped ({answer.reason})" for name, answer in answers.items() if answer.score is None
    ]
    return f"without {'; '.join(skipped)}" if skipped else ""


def _wb_mean(answers, weights, strict=False):
    """The weighted mean over the graders with a score."""
    there = {name: answer.score for name, answer in answers.items() if answer.score is not None}
    total = sum(weights[name] for name in there)
    if missing := _wb_missing(answers):
        return missing
    if not total or (strict and len(there) < len(answers)):
        return _wb_Answer(reason="not scored: graders skipped this row")
    score = sum(weights[name] * score for name, score in there.items()) / total
    return _wb_combined(score)._replace(reason=_wb_without(answers))


def _wb_sum(answers, weights, strict=False):
    """The weighted sum; a grader that skipped the row adds nothing."""
    there = {name: answer.score for name, answer in answers.items() if answer.score is not None}
    if missing := _wb_missing(answers):
        return missing
    if not there or (strict and len(there) < len(answers)):
        return _wb_Answer(reason="not scored: graders skipped this row")
    return _wb_combined(sum(weights[name] * score for name, score in there.items()))


def _wb_all_pass(answers, blocking):
    """1.0 if every grader of severity "error" passes, else 0.0."""
    asked = {name: answers[name] for name in blocking}
    if missing := _wb_missing(asked):
        return missing
    if any(answer.score is None for answer in asked.values()):
        return _wb_Answer(reason="not scored: graders skipped this row")
    passed = all(answer.score >= 1.0 if answer.passed is None else answer.passed for answer in asked.values())
    return _wb_Answer(float(passed), passed)


def _wb_formula(answers, names, value):
    """The formula over the scores of the graders it names; failed if one of them has no score."""
    asked = {name: answers[name] for name in names}
    if missing := _wb_missing(asked):
        return missing
    if any(answer.score is None for answer in asked.values()):
        return _wb_Answer(reason="not scored: graders skipped this row")
    return _wb_combined(value(*(answer.score for answer in asked.values())))


def _wb_divide(one, other):
    """As in columns of floats: a division by 0 gives infinity or NaN."""
    if other:
        return one / other
    return one * _wb_math.copysign(_wb_math.inf, other) if one else _wb_math.nan


def _wb_power(base, exponent):
    try:
        return _wb_math.pow(base, exponent)
    except OverflowError:
        return -_wb_math.inf if base < 0 and exponent % 2 else _wb_math.inf
    except ValueError:  # 0 to a negative power is infinite, a root of a negative number is NaN
        if base:
            return _wb_math.nan
        return _wb_math.copysign(_wb_math.inf, base) if exponent % 2 == 1 else _wb_math.inf


def _wb_min(*values):
    return _wb_math.nan if any(map(_wb_math.isnan, values)) else min(values)


def _wb_max(*values):
    return _wb_math.nan if any(map(_wb_math.isnan, values)) else max(values)


def _wb_exp(value):
    try:
        return _wb_math.exp(value)
    except OverflowError:
        return _wb_math.inf


def _wb_sqrt(value):
    return _wb_math.sqrt(value) if value >= 0 else _wb_math.nan


def _wb_log(value):
    if value > 0:
        return _wb_math.log(value)
    return _wb_math.nan if value else -_wb_math.inf


def _wb_floor(value):
    return float(_wb_math.floor(value)) if _wb_math.isfinite(value) else value


def _wb_ceil(value):
    return float(_wb_math.ceil(value)) if _wb_math.isfinite(value) else value
