"""Read the answers of a worker, which may be forged, and check everything in them.

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
from workbench.sandbox.child.protocol import FAILED, NOT_SCORED
from workbench.sandbox.host.text import clean
from workbench.sandbox.host.worker import ENDED, NOT_READING, TIMED_OUT, Death

__all__ = [
    "WORKER_KINDS",
    "CheckResult",
    "ends_loading",
    "noted",
    "read_checks",
    "read_description",
    "read_done",
    "read_errors",
    "read_notes",
    "read_texts",
    "unscored",
    "verdict",
]

WORKER_KINDS = frozenset(
    {
        ErrorKind.TIMEOUT,
        ErrorKind.MEMORY,
        ErrorKind.RUNTIME,
        ErrorKind.RETURN_TYPE,
        ErrorKind.NOT_FINITE,
        ErrorKind.OUT_OF_RANGE,
    }
)
"""Kinds that our own code in a worker gives. All others say what happened outside of it, such as a spent budget or
a stopped run, and decide there whether a row counts: a grader must not be able to choose one. *sandbox* is one of them:
what a grader forges, or leaves out, counts as a failure of its own."""
MAX_REASONING = 20_000
"""Characters of a row's reasoning that are kept."""
MAX_DEPTH = 50
"""Levels of a row's metadata that are kept."""

CheckResult = tuple[str, bool, str, float]
"""Name, passed, message, seconds."""


def read_checks(reply: Mapping[str, Any], names: Sequence[str]) -> list[CheckResult]:
    """The checks of one stage: all of `names` passed, or those up to the first that failed.

    Raises:
        Death: Anything else, which an honest worker does not send.
    """
    entries = reply.get("checks")
    if not isinstance(entries, list) or not 0 < len(entries) <= len(names):
        raise Death("it broke the protocol")
    checks = [_check(entry, name) for entry, name in zip(entries, names, strict=False)]
    passed = [check[1] for check in checks]
    if not all(passed[:-1]) or (passed[-1] and len(checks) < len(names)):
        raise Death("it broke the protocol")
    return checks


def _check(entry: Any, expected: str) -> CheckResult:
    if not isinstance(entry, list) or len(entry) != 4:
        raise Death("it broke the protocol")
    name, passed, message, seconds = entry
    well_formed = name == expected and isinstance(passed, bool) and isinstance(message, str)
    # Exactly a float, as an honest worker's clock gives: an int may have more digits than a float can hold.
    if not well_formed or type(seconds) is not float or not 0 <= seconds < math.inf:
        raise Death("it broke the protocol")
    return (expected, passed, clean(message), seconds)


def read_description(reply: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """What `child.fingerprint.describe` gave for `names`: a value for each, and the nodes that values refer to.

    The parts are as they came, uncleaned, because they are compared; every reference leads to a node.

    Raises:
        Death: Anything else, which an honest worker does not send.
    """
    described = reply.get("names")
    values, nodes = (
        (described.get("names"), described.get("nodes")) if isinstance(described, dict) else (0, 0)
    )
    if (
        not isinstance(values, dict)
        or not isinstance(nodes, list)
        or any(name not in values for name in names)
    ):
        raise Death("it broke the protocol")
    pending: list[Any] = [values, nodes]
    while pending:  # no recursion: the text of an answer may nest deeper than the calls of whoever asked
        part = pending.pop()
        if isinstance(part, list) and part[:1] == ["ref"] and len(part) == 2:
            # Exactly an int: True would pass for node 1.
            if type(part[1]) is not int or not 0 <= part[1] < len(nodes):
                raise Death("it broke the protocol")
        elif isinstance(part, list | dict):
            pending.extend(part.values() if isinstance(part, dict) else part)
    return {"names": values, "nodes": nodes}


def read_texts(reply: Mapping[str, Any], key: str) -> list[str]:
    """A list of texts, at most a hundred; what is no text is left out."""
    texts = reply.get(key)
    return [clean(text) for text in texts[:100] if isinstance(text, str)] if isinstance(texts, list) else []


def read_errors(reply: Mapping[str, Any], limit: int = 2000) -> dict[int, GradeError]:
    """The error table of a range of rows, each text cut to `limit` characters.

    Forged entries are left out, and their rows say so; a kind that no worker may give becomes *runtime*.
    """
    texts, entries = reply.get("texts"), reply.get("errors")
    if not isinstance(texts, list) or not isinstance(entries, list):
        return {}
    # Each text once: many rows fail for one reason, and share one object for it.
    messages = [clean(text, limit) if isinstance(text, str) else "" for text in texts]
    shared: dict[tuple[str, int], GradeError] = {}
    errors: dict[int, GradeError] = {}
    for entry in entries:
        try:
            row, kind, text = entry
            if (kind, text) not in shared:
                shared[kind, text] = _error(ErrorKind(kind), messages[text])
            errors[int(row)] = shared[kind, text]
        except (TypeError, ValueError, IndexError, OverflowError):
            # Forged: no triple, a kind that is unknown or no text, a text that is not there, an infinite row.
            continue
    return errors


def _error(kind: ErrorKind, message: str) -> GradeError:
    if kind in WORKER_KINDS:
        return GradeError(kind, message)
    return GradeError(ErrorKind.RUNTIME, f"the worker called it {kind}, which is not its to say: {message}")


def read_notes(reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
    """Offset to what a grader gave beside its number: `reasoning` (text), `metadata` (plain JSON), `passed` (a bool).

    Texts are cut and cleaned like all that comes out of a worker. What is not of this shape is left out.
    """
    return {offset: _note(entry) for offset, entry in noted(reply, count).items()}


def noted(reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
    """The notes of a reply as they came; only their place is checked."""
    entries, notes = reply.get("notes"), {}
    for entry in entries if isinstance(entries, list) else ():
        well_formed = (
            isinstance(entry, list)
            and len(entry) == 2
            # Exactly an int: True would pass for row 1.
            and type(entry[0]) is int
            and isinstance(entry[1], dict)
        )
        if well_formed and 0 <= entry[0] < count:
            notes[entry[0]] = entry[1]
    return notes


def _note(entry: dict[str, Any]) -> dict[str, Any]:
    reasoning, metadata = entry.get("reasoning"), entry.get("metadata")
    note: dict[str, Any] = {"passed": entry["passed"]} if isinstance(entry.get("passed"), bool) else {}
    if isinstance(reasoning, str):
        note["reasoning"] = clean(reasoning, MAX_REASONING)
    if isinstance(metadata, dict) and metadata:
        note["metadata"] = _cleaned(metadata, 0)
    return note


def _cleaned(value: Any, depth: int) -> Any:
    """Plain JSON with every text cleaned; what is nested too deeply is left out and says so."""
    if isinstance(value, str):
        # Not cut: the size of an answer has limited it already.
        return clean(value, len(value))
    if depth > MAX_DEPTH:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {clean(key, len(key)): _cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in value]
    # A forged answer may hold NaN, which no JSON file of ours could take.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_done(reply: Mapping[str, Any], count: int) -> int:
    """How many rows of a range were graded: all, or fewer where their notes filled the answer.

    Raises:
        Death: No such number; a worker that does nothing would be asked for ever.
    """
    rows = reply.get("done", count)
    if type(rows) is not int or not 0 < rows <= count:
        raise Death("it broke the protocol")
    return rows


def unscored(score: np.float64, bits: np.uint64) -> GradeError:
    """Why a row has no score when the worker gave no reason."""
    if bits in (NOT_SCORED, FAILED):
        return GradeError(ErrorKind.RUNTIME, "the worker gave no score and no reason")
    return GradeError(ErrorKind.NOT_FINITE, f"grade returned {float(score)!r}, which is not finite")


def ends_loading(death: Death, status: int | None) -> bool:
    """Whether a worker that was lost while it loaded a module says something about the module.

    One that was killed does not: the system, or a person, may have ended it, and the next one may load.
    """
    killed = status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
    return death.reason not in {ENDED, NOT_READING} or not killed


def verdict(death: Death, status: int | None, seconds: float, *, missing: str = "no answer") -> GradeError:
    """What a lost worker means for the row, or the check, it was at; `missing` says what did not come in time."""
    if death.reason == TIMED_OUT:
        return GradeError(
            ErrorKind.TIMEOUT, f"timed out: {missing} within {seconds:g} s, the soft limit was ignored"
        )
    if death.reason != ENDED or status is None:
        return GradeError(ErrorKind.CRASH, f"the worker was ended: {death.reason}")
    if not os.WIFSIGNALED(status):
        code = os.waitstatus_to_exitcode(status)
        return GradeError(ErrorKind.CRASH, f"the grader ended its own process (exit code {code})")
    number = os.WTERMSIG(status)
    # A worker that the host ended has another reason, so this came most likely from the system.
    if number == signal.SIGKILL:
        return GradeError(ErrorKind.MEMORY, "the system killed the worker (SIGKILL), most likely for memory")
    return GradeError(ErrorKind.CRASH, f"the grader crashed its process ({_signal_name(number)})")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal has no name
