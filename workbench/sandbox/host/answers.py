"""Parse and validate worker replies, which may be forged.

A grader can write to its worker's reply descriptor, so any reply may be forged. A forged reply can misreport
the grader's own rows and checks. It must not raise anything here or affect the results of another grader.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.display_text import clean
from workbench.core.grade import ErrorKind, GradeError
from workbench.sandbox.child.protocol import FAILED, NOT_SCORED
from workbench.sandbox.host.worker import ENDED, NOT_READING, TIMED_OUT, WorkerLostError

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
"""Kinds that the package's code in a worker reports. All other kinds describe events outside the worker, such as
an exhausted budget or a stopped run, and decide whether a row counts. A grader must not be able to choose those.
*sandbox* is excluded: a forged or incomplete reply counts as a failure of the grader."""
MAX_REASONING = 20_000
"""Maximum characters of a row's reasoning."""
MAX_DEPTH = 50
"""Maximum nesting depth of a row's metadata."""

CheckResult = tuple[str, bool, str, float]
"""Name, passed, message, seconds."""


def read_checks(reply: Mapping[str, Any], names: Sequence[str]) -> list[CheckResult]:
    """The checks of one stage: all of `names` passed, or those up to the first that failed.

    Raises:
        WorkerLostError: The reply is malformed, which a genuine worker never sends.
    """
    entries = reply.get("checks")
    if not isinstance(entries, list) or not 0 < len(entries) <= len(names):
        raise WorkerLostError("malformed reply")
    checks = [_check(entry, name) for entry, name in zip(entries, names, strict=False)]
    passed = [check[1] for check in checks]
    if not all(passed[:-1]) or (passed[-1] and len(checks) < len(names)):
        raise WorkerLostError("malformed reply")
    return checks


def _check(entry: Any, expected: str) -> CheckResult:
    if not isinstance(entry, list) or len(entry) != 4:
        raise WorkerLostError("malformed reply")
    name, passed, message, seconds = entry
    well_formed = name == expected and isinstance(passed, bool) and isinstance(message, str)
    # Exactly a float, as a genuine worker's clock returns: an int may have more digits than a float can represent.
    if not well_formed or type(seconds) is not float or not 0 <= seconds < math.inf:
        raise WorkerLostError("malformed reply")
    return (expected, passed, clean(message), seconds)


def read_description(reply: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The reply of `child.fingerprint.describe` for `names`: one value per name, and the nodes that values refer to.

    The parts are not cleaned, because they are compared. Every reference leads to a node.

    Raises:
        WorkerLostError: The reply is malformed, which a genuine worker never sends.
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
        raise WorkerLostError("malformed reply")
    pending: list[Any] = [values, nodes]
    while pending:  # iterative: a reply may nest deeper than the recursion limit
        part = pending.pop()
        if isinstance(part, list) and part[:1] == ["ref"] and len(part) == 2:
            # Exactly an int: True would be accepted as node 1.
            if type(part[1]) is not int or not 0 <= part[1] < len(nodes):
                raise WorkerLostError("malformed reply")
        elif isinstance(part, list | dict):
            pending.extend(part.values() if isinstance(part, dict) else part)
    return {"names": values, "nodes": nodes}


def read_texts(reply: Mapping[str, Any], key: str) -> list[str]:
    """At most 100 texts of a list; other values are omitted."""
    texts = reply.get(key)
    return [clean(text) for text in texts[:100] if isinstance(text, str)] if isinstance(texts, list) else []


def read_errors(reply: Mapping[str, Any], limit: int = 2000) -> dict[int, GradeError]:
    """The error table of a range of rows, each text cut to `limit` characters.

    Forged entries are omitted and their rows report that no reason was given. A reserved kind becomes *runtime*.
    """
    texts, entries = reply.get("texts"), reply.get("errors")
    if not isinstance(texts, list) or not isinstance(entries, list):
        return {}
    # Each text once: many rows fail for the same reason and share one object.
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
            # Forged: not a triple, an unknown kind, not a text, a missing text, or an infinite row index.
            continue
    return errors


def _error(kind: ErrorKind, message: str) -> GradeError:
    if kind in WORKER_KINDS:
        return GradeError(kind, message)
    return GradeError(ErrorKind.RUNTIME, f"worker reported reserved error kind {kind}: {message}")


def read_notes(reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
    """Offset to what a grader returned with its score: `reasoning` (text), `metadata` (plain JSON), `passed` (bool).

    Texts are cut and cleaned like all worker output. Entries of another shape are omitted.
    """
    return {offset: _note(entry) for offset, entry in noted(reply, count).items()}


def noted(reply: Mapping[str, Any], count: int) -> dict[int, dict[str, Any]]:
    """The unchecked notes of a reply; only their row indices are checked."""
    entries, notes = reply.get("notes"), {}
    for entry in entries if isinstance(entries, list) else ():
        well_formed = (
            isinstance(entry, list)
            and len(entry) == 2
            # Exactly an int: True would be accepted as row 1.
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
    """Plain JSON with every text cleaned; a placeholder replaces values that are nested too deeply."""
    if isinstance(value, str):
        # Not cut: the reply size is already limited.
        return clean(value, len(value))
    if depth > MAX_DEPTH:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {clean(key, len(key)): _cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in value]
        # A forged reply may contain NaN, which exported JSON files cannot represent.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_done(reply: Mapping[str, Any], count: int) -> int:
    """The number of graded rows of a range: all, or fewer if their notes filled the reply.

    Raises:
        WorkerLostError: The number is invalid; otherwise a worker that does nothing would get requests forever.
    """
    rows = reply.get("done", count)
    if type(rows) is not int or not 0 < rows <= count:
        raise WorkerLostError("malformed reply")
    return rows


def unscored(score: np.float64, bits: np.uint64) -> GradeError:
    """Why a row has no score if the worker gave no reason."""
    if bits in (NOT_SCORED, FAILED):
        return GradeError(ErrorKind.RUNTIME, "the worker gave no score and no reason")
    return GradeError(ErrorKind.NOT_FINITE, f"grade returned {float(score)!r}, which is not finite")


def ends_loading(death: WorkerLostError, status: int | None) -> bool:
    """Whether the loss of a worker during loading is evidence about the module.

    A killed worker is not: the system or a user may have ended it, and the next worker may load the module.
    """
    killed = status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
    return death.reason not in {ENDED, NOT_READING} or not killed


def verdict(
    death: WorkerLostError, status: int | None, seconds: float, *, missing: str = "no reply"
) -> GradeError:
    """The error for the row or check at which a worker ended; `missing` names what was not received in time."""
    if death.reason == TIMED_OUT:
        return GradeError(
            ErrorKind.TIMEOUT, f"timed out: {missing} within {seconds:g} s; the soft limit was ignored"
        )
    if death.reason != ENDED or status is None:
        return GradeError(ErrorKind.CRASH, f"the worker was ended: {death.reason}")
    if not os.WIFSIGNALED(status):
        code = os.waitstatus_to_exitcode(status)
        return GradeError(ErrorKind.CRASH, f"the grader ended its own process (exit code {code})")
    number = os.WTERMSIG(status)
    # A worker that the host ended has another reason, so the system most likely sent this signal.
    if number == signal.SIGKILL:
        return GradeError(ErrorKind.MEMORY, "the system killed the worker (SIGKILL), most likely for memory")
    return GradeError(ErrorKind.CRASH, f"the grader crashed its process ({_signal_name(number)})")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal has no name
