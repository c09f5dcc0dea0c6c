"""Requests about one source: its checks in a worker, the description of its names, and its determinism."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.core.display_text import clean
from workbench.core.errors import SandboxError
from workbench.sandbox.child.protocol import NOT_SCORED, SKIPPED
from workbench.sandbox.host.answers import CheckResult, read_checks, read_description, read_texts, verdict
from workbench.sandbox.host.program import CHECKS, Limits, Program
from workbench.sandbox.host.worker import Worker, WorkerLostError


@dataclass
class Checked:
    """The results of the checks, up to the first that failed.

    The worker reports checks one to three before any of the source runs, and execution and test run after that.
    So a hostile module can forge only its last two results.
    """

    level: str
    checks: list[CheckResult] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    output: str = ""
    scores: list[float | str] = field(default_factory=list)
    """The result of each test run: a score, or "skipped"."""

    @property
    def has_failed(self) -> bool:
        """Whether a check has failed."""
        return not all(passed for _, passed, _, _ in self.checks)

    @property
    def seconds(self) -> float:
        """Duration of the checks."""
        return sum(seconds for _, _, _, seconds in self.checks)


def check(worker: Worker, program: Program, rows: Sequence[tuple[str, Sequence[Any]]]) -> Checked:
    """Run the stages in order; if the worker crashes, its current check has failed.

    Args:
        worker: A ready worker.
        program: What to check.
        rows: Labels and wire tuples of the test runs, of the kind this program takes.
    """
    limits, checked = program.limits, Checked(worker.level)
    execute = {"op": "execute", "seconds": limits.load_seconds}
    # Two commands: the reply to the first is sent before any of the source runs, so it cannot be forged.
    for names, command in ((CHECKS[:3], program.load_command("static")), (CHECKS[3:4], execute)):
        _stage(worker, checked, command, (names, limits.hard_load_seconds))
        if checked.has_failed:
            return checked
    for row in rows:
        _test(worker, checked, row, limits)
        if checked.has_failed:
            break
    return checked


def _stage(
    worker: Worker, checked: Checked, command: dict[str, Any], terms: tuple[Sequence[str], float]
) -> dict[str, Any]:
    """Run one command and record its checks; returns the reply, {} if the worker crashed."""
    names, seconds = terms
    try:
        reply = worker.answer(command, seconds)
        checked.checks += read_checks(reply, names)
    except WorkerLostError as death:
        missing = "no reply" if names == CHECKS[4:] else "the module did not load"
        message = verdict(death, worker.close(), seconds, missing=missing).message
        checked.checks.append((names[0], False, message, seconds))
        return {}
    checked.warnings += read_texts(reply, "warnings")
    _note_output(checked, reply)
    return reply


def _test(worker: Worker, checked: Checked, labelled: tuple[str, Sequence[Any]], limits: Limits) -> None:
    """One test run. The score is read from the page, as in a run, and not from the reply."""
    label, _ = labelled
    # Otherwise the score of the previous test run could be taken for this one's.
    worker.bits[0] = NOT_SCORED
    reply = _stage(worker, checked, limits.test_command(labelled), (CHECKS[4:], limits.hard_row_seconds))
    if made_up := ", ".join(read_texts(reply, "made_up")):
        label += f" with {made_up} (generated)"
    name, passed, message, seconds = checked.checks[-1]
    if passed and worker.bits[0] == SKIPPED:
        checked.checks[-1] = (name, True, f"{label} is skipped", seconds)
        checked.scores.append("skipped")
    elif passed:
        score = float(worker.scores[0])
        right = math.isfinite(score)
        message = (
            f"{label} scores {score!r}"
            if right
            else f"on {label}: grade returned {score!r}, which is not finite"
        )
        checked.checks[-1] = (name, right, message, seconds)
        checked.scores.append(score)


def _note_output(checked: Checked, reply: dict[str, Any]) -> None:
    output = reply.get("output")
    if isinstance(output, str):
        checked.output = clean(checked.output + output, 4000)


def fingerprint(worker: Worker, text: str, names: Sequence[str]) -> dict[str, Any]:
    """Load a module and describe some of its names as plain data.

    Raises:
        SandboxError: The module does not load (`where` names the check), the worker crashed, or its reply
            does not describe these names.
    """
    seconds, until = Limits().load_seconds, Limits().hard_load_seconds
    try:
        reply = worker.answer({"op": "load", "text": text, "seconds": seconds}, until)
        for name, passed, message, _ in read_checks(reply, CHECKS[:4]):
            if not passed:
                raise SandboxError("the captured module does not load", where=name, found=message)
        reply = worker.answer({"op": "fingerprint", "names": list(names), "seconds": seconds}, until)
        return read_description(reply, names)
    except WorkerLostError as death:
        raise SandboxError(
            "the captured module could not be examined",
            found=death.reason,
            expected="a module that only defines things while it loads",
            hint="move statements with other effects, such as leaving the process, into the function",
        ) from death


STATE = "it keeps state between rows: a score depends on which rows its worker graded before"
CHANCE = "it is random or reads the clock: the same row gets different scores"

_CALLS = 12
"""Total calls for few rows: detects a fair coin with probability 0.999, and a counter up to ten."""
_SECONDS = 0.4
"""Seconds for the second calls; rows that took longer than this are not graded again."""

_TIMED_OUT = ""
"""Outcome of a call that timed out, possibly because the machine was busy: it is ignored."""

Row = tuple[str, Sequence[Any]]
Outcome = float | str
"""A score; "skipped", or "failed" for a call without one."""


def repeat_calls(
    worker: Worker,
    fresh: Callable[[], Worker],
    program: Program,
    rows: Sequence[Row],
    scores: Sequence[Outcome],
) -> list[str]:
    """A warning if a row's score changes when it is graded again; none for a grader that depends on its row only.

    The test rows are graded again, in the same worker and in another order in a fresh one. A grader with state between rows, or
    with random draws, may give a row another score the second time. A third worker that gets exactly the same calls separates
    the causes: state reproduces the same scores, chance does not.

    Args:
        worker: The worker that graded the rows once, in order.
        fresh: Creates another worker.
        program: The grader.
        rows: Labels and wire tuples.
        scores: Results of the first calls, one per row.
    """
    first = list(zip((label for label, _ in rows), scores, strict=True))
    order = _sequence(rows)
    try:
        again = _calls(worker, program, order)
        if label := _changed([*first, *again]):
            return [
                _warning(
                    [*first, *again], label, _repeated(fresh, program, [*rows, *order]), [*first, *again]
                )
            ]
        other = _in_fresh_worker(fresh, program, order)
        if label := _changed([*first, *other]):
            return [_warning([*first, *other], label, _repeated(fresh, program, order), other)]
    except WorkerLostError:
        return []  # out of time or memory: caused by the row, and the second call gives no evidence
    return []


def _sequence(rows: Sequence[Row]) -> list[Row]:
    """The rows in reverse order, then in order, and so on until there are enough calls."""
    order: list[Row] = []
    while len(order) < max(_CALLS, len(rows)):
        order += list(reversed(rows)) if not len(order) // len(rows) % 2 else list(rows)
    return order


def _calls(worker: Worker, program: Program, rows: Sequence[Row]) -> list[tuple[str, Outcome]]:
    """Scores of rows in a loaded worker, in sequence, until the time is over."""
    until, outcomes = time.monotonic() + _SECONDS, []
    for label, wire in rows:
        if time.monotonic() > until:
            break
        outcome = _call(worker, program, (label, wire))
        if outcome == _TIMED_OUT:
            break
        outcomes.append((label, outcome))
    return outcomes


def _call(worker: Worker, program: Program, row: Row) -> Outcome:
    worker.bits[0] = NOT_SCORED
    command, seconds = program.limits.test_command(row), program.limits.hard_row_seconds
    ((_, passed, message, _),) = read_checks(worker.answer(command, seconds), CHECKS[4:])
    if passed and worker.bits[0] == SKIPPED:
        return "skipped"
    if not passed and "timed out" in message:
        return _TIMED_OUT
    score = float(worker.scores[0])
    return score if passed and math.isfinite(score) else "failed"


def _in_fresh_worker(
    fresh: Callable[[], Worker], program: Program, rows: Sequence[Row]
) -> list[tuple[str, Outcome]]:
    worker = fresh()
    try:
        program.require(worker.level)
        checks = read_checks(
            worker.answer(program.load_command("load"), program.limits.hard_load_seconds), CHECKS[:4]
        )
        return _calls(worker, program, rows) if all(passed for _, passed, _, _ in checks) else []
    finally:
        worker.close()


def _repeated(
    fresh: Callable[[], Worker], program: Program, rows: Sequence[Row]
) -> list[tuple[str, Outcome]]:
    try:
        return _in_fresh_worker(fresh, program, rows)
    except WorkerLostError:
        return []


def _changed(outcomes: Sequence[tuple[str, Outcome]]) -> str:
    """The first label with two outcomes; "" if each has one."""
    seen: dict[str, Outcome] = {}
    return next((label for label, outcome in outcomes if seen.setdefault(label, outcome) != outcome), "")


def _warning(
    outcomes: Sequence[tuple[str, Outcome]],
    label: str,
    repeated: Sequence[tuple[str, Outcome]],
    original: Any,
) -> str:
    """The warning on a row whose score changed; `original` is from a worker with the same calls as `repeated`."""
    first, other = list(dict.fromkeys(outcome for name, outcome in outcomes if name == label))[:2]
    known = min(len(repeated), len(original))
    cause = STATE if known and list(repeated[:known]) == list(original[:known]) else CHANCE
    return f"{label} {_verb(first)} at first and {_verb(other)} when it is graded again, so {cause}"


def _verb(outcome: Outcome) -> str:
    return (
        f"scores {outcome:.6g}"
        if isinstance(outcome, float)
        else f"is {outcome}"
        if outcome == "skipped"
        else "fails"
    )
