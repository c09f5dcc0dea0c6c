"""Requests about one source: its checks in a worker, and the description of its names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.core.display_text import clean
from workbench.core.errors import SandboxError
from workbench.sandbox.child.protocol import NOT_SCORED, SKIPPED
from workbench.sandbox.host.program import CHECKS, CheckResult, Limits, Program, read_checks
from workbench.sandbox.host.results import verdict
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
