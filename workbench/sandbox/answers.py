"""What comes out of a worker, read with nothing in it taken on trust.

A grader can write to its worker's answer descriptor itself, so every answer may be forged. It can lie about
its own rows and its own last checks; it must not be able to raise anything here, or to make the host
believe anything about another grader.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.grade import ErrorKind, GradeError
from workbench.sandbox.launch import ENDED, TIMED_OUT, Death
from workbench.sandbox.protocol import FAILED, NOT_SCORED
from workbench.sandbox.text import clean

__all__ = ["CheckResult", "read_checks", "read_errors", "read_texts", "unscored", "verdict"]

CheckResult = tuple[str, bool, str, float]
"""Name, passed, message, seconds."""


def read_checks(reply: Mapping[str, Any], names: Sequence[str]) -> list[CheckResult]:
    """The checks of one stage: all of `names` passed, or those up to the first cross.

    Raises:
        Death: Anything else, which an honest worker does not send.
    """
    entries = reply.get("checks")
    if not isinstance(entries, list) or not 0 < len(entries) <= len(names):
        raise Death("it broke the protocol")
    found = [_check(entry, name) for entry, name in zip(entries, names, strict=False)]
    passed = [check[1] for check in found]
    if not all(passed[:-1]) or (passed[-1] and len(found) < len(names)):
        raise Death("it broke the protocol")
    return found


def _check(entry: Any, expected: str) -> CheckResult:
    if not isinstance(entry, list) or len(entry) != 4:
        raise Death("it broke the protocol")
    name, passed, message, seconds = entry
    right = name == expected and isinstance(passed, bool) and isinstance(message, str)
    if not right or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise Death("it broke the protocol")
    return (expected, passed, clean(message), float(seconds))


def read_texts(reply: Mapping[str, Any], key: str) -> list[str]:
    """A list of texts, at most a hundred; what is no text is left out."""
    found = reply.get(key)
    return [clean(text) for text in found[:100] if isinstance(text, str)] if isinstance(found, list) else []


def read_errors(reply: Mapping[str, Any]) -> dict[int, GradeError]:
    """The error table of a range of rows; forged entries are left out, and their rows say so."""
    texts, entries = reply.get("texts"), reply.get("errors")
    if not isinstance(texts, list) or not isinstance(entries, list):
        return {}
    # Each text once: many rows fail for one reason, and share one object for it.
    messages = [clean(text) if isinstance(text, str) else "" for text in texts]
    shared: dict[tuple[str, int], GradeError] = {}
    found: dict[int, GradeError] = {}
    for entry in entries:
        try:
            row, kind, text = entry
            if (kind, text) not in shared:
                shared[kind, text] = GradeError(ErrorKind(kind), messages[text])
            found[int(row)] = shared[kind, text]
        except (TypeError, ValueError, IndexError, OverflowError):
            continue
    return found


def unscored(score: np.float64, bits: np.uint64) -> GradeError:
    """Why a row has no score when the worker gave no reason."""
    if bits in (NOT_SCORED, FAILED):
        return GradeError(ErrorKind.SANDBOX, "the worker gave no score and no reason")
    return GradeError(ErrorKind.NOT_FINITE, f"grade returned {float(score)!r}, which is not finite")


def verdict(death: Death, status: int | None, seconds: float) -> GradeError:
    """What a lost worker means for the row, or the check, it was at."""
    if death.reason == TIMED_OUT:
        return GradeError(
            ErrorKind.TIMEOUT, f"timed out: no answer within {seconds:g} s, the soft limit was ignored"
        )
    if death.reason != ENDED or status is None:
        return GradeError(ErrorKind.CRASH, f"the worker was ended: {death.reason}")
    if not os.WIFSIGNALED(status):
        code = os.waitstatus_to_exitcode(status)
        return GradeError(ErrorKind.CRASH, f"the grader ended its own process (exit code {code})")
    number = os.WTERMSIG(status)
    if number == signal.SIGKILL:
        return GradeError(ErrorKind.MEMORY, "the system killed the worker (SIGKILL), most likely for memory")
    return GradeError(ErrorKind.CRASH, f"the grader crashed its process ({_signal_name(number)})")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal has no name
