"""The five checks that a source must pass before its scores count, their results, and how these are displayed.

Syntax, structure, signature, execution, test run: in this order, stopping at the first failure, all of
them in the sandbox. The test run uses Adaptive's mock thread (user "What is 2+2?", assistant "4",
metadata {}), followed by the author's threads, if any.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.core.display import (
    Code,
    DisplayBlock,
    Displayed,
    Drawing,
    Folded,
    Group,
    Items,
    Only,
    Paragraph,
    Parts,
    Span,
    TableBlock,
)
from workbench.core.display_html import sign
from workbench.core.display_text import clean
from workbench.core.errors import SandboxError, ValidationError
from workbench.core.thread import StringThread
from workbench.sandbox.child.protocol import NOT_SCORED, SKIPPED
from workbench.sandbox.host.losses import verdict
from workbench.sandbox.host.program import (
    CHECKS,
    ISOLATION,
    OWN_PROCESS_HINT,
    CheckResult,
    Limits,
    Program,
    read_checks,
    read_description,
)
from workbench.sandbox.host.worker import Worker, WorkerLostError


def mock_thread() -> StringThread:
    """The thread of the test run, as Adaptive's SDK sends it."""
    return StringThread([("user", "What is 2+2?"), ("assistant", "4")], {})


@dataclass(frozen=True)
class Check:
    """The result of one of the five checks.

    Attributes:
        name: One of `CHECKS`.
        passed: Whether the source passed it.
        message: The finding.
        seconds: Duration.
    """

    name: str
    passed: bool
    message: str
    seconds: float


@dataclass(frozen=True)
class Validation(Displayed):
    """The results of the checks, in order, up to the first that failed.

    Attributes:
        checks: At most one per name, except one *test_run* for each tested thread.
        warnings: Surprising facts that do not fail the grader.
        isolation: The sandbox level of the checks.
        sha256: Of the source that was checked.
        output: What the source printed during the checks.
        claimed: Read from a file and not validated in this session, so it is checked again before it counts.
        form: What was checked: the language, or for Python functions the signature.
    """

    _label = "Validation"
    _kind = "wb-checks"

    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    isolation: str = ""
    sha256: str = ""
    output: str = ""
    claimed: bool = field(default=False, compare=False)
    form: str = field(default="thread", compare=False)

    @property
    def ok(self) -> bool:
        """Whether all five checks ran and passed."""
        return all(check.passed for check in self.checks) and {check.name for check in self.checks} >= set(
            CHECKS
        )

    @property
    def failure(self) -> Check | None:
        """The first check that failed."""
        return next((check for check in self.checks if not check.passed), None)

    def raise_for_failure(self) -> None:
        """Raise the first failed check as an error.

        Raises:
            ValidationError: A `ValueError` naming the check and its message.
        """
        failure = self.failure
        if failure is not None:
            raise ValidationError(f"{failure.name}: {failure.message}", hint=advice(failure, self.form))
        if not self.ok:
            raise ValidationError(f"{self.not_reached[0]}: not reached", hint="validate again")

    __repr__ = Displayed.__str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 (IPython's protocol)
        printer.text(str(self))

    @property
    def advice(self) -> str:
        """How to fix the first failed check; "" if none failed."""
        return "" if self.failure is None else advice(self.failure, self.form)

    @property
    def where(self) -> str:
        """The isolation of the checks, for display."""
        label = ISOLATION.get(self.isolation, self.isolation)
        return f"claimed by the file it was read from, not validated here: {label}" if self.claimed else label

    @property
    def not_reached(self) -> list[str]:
        """Names of the checks that did not run, in order."""
        return [name for name in CHECKS if name not in {check.name for check in self.checks}]

    def _blocks(self) -> Iterator[DisplayBlock]:
        return validation_blocks(self)


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

    def validation(self, program: Program, sha256: str) -> Validation:
        """The result for users, of a program whose text has this hash."""
        return Validation(
            checks=tuple(Check(*result) for result in self.checks),
            warnings=tuple(self.warnings),
            isolation=self.level,
            sha256=sha256,
            output=self.output,
            form=program.signature if program.language == "python" else program.language,
        )

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


def read_texts(reply: Mapping[str, Any], key: str) -> list[str]:
    """At most 100 texts of a list; other values are omitted."""
    texts = reply.get(key)
    return [clean(text) for text in texts[:100] if isinstance(text, str)] if isinstance(texts, list) else []


_MAX_CHARACTERS = 2_000
"""Maximum characters of a message."""
_COLOURS = {"✓": "good", "✗": "bad", "-": "note"}


def validation_blocks(validation: Validation) -> Iterator[DisplayBlock]:
    """Everything that is shown of a validation."""
    yield Only("text", (Code(line, _MAX_CHARACTERS) for line in _lines(validation)))
    yield Only("html markdown", _rich(validation))


def _lines(validation: Validation) -> Iterator[str]:
    for check in validation.checks:
        yield f"{'✓' if check.passed else '✗'} {check.name:<10} {check.message}"
    for name in validation.not_reached:
        yield f"- {name:<10} not reached"
    for warning in validation.warnings:
        yield f"! warning    {warning}"
    if validation.failure is not None:
        yield f"→ {validation.advice}"
    if validation.output:
        yield f"printed: {validation.output.strip()[:500]}"
    yield f"sandbox: {validation.where}"


def _rich(validation: Validation) -> Iterator[DisplayBlock]:
    marks = _marks(validation)
    # Each check is one element, which is not broken over two lines.
    checks = [
        Span(Parts(Span(mark, _COLOURS[mark]), f" {_words(name)}{times}"), "check")
        for mark, name, times in marks
    ]
    spaced = [part for check in checks for part in (check, " ")]
    yield Only("html", [Paragraph(Parts(*spaced), "checks")])
    yield Only(
        "markdown", [Paragraph(" · ".join(f"{mark} {_words(name)}{times}" for mark, name, times in marks))]
    )
    if (failure := validation.failure) is not None:
        name = f"{_words(failure.name).capitalize()}:"
        message = Parts(Drawing(sign("bad")), Span(name), " ", failure.message)
        lead = Paragraph(message, "lead text", _MAX_CHARACTERS)
        yield Group("finding", [lead, Paragraph(f"→ {validation.advice}")])
    sentences = [
        Paragraph(Parts(Drawing(sign("note")), one), "", _MAX_CHARACTERS) for one in validation.warnings
    ]
    yield Only("html", sentences)
    yield Only("markdown", [Items(validation.warnings, _MAX_CHARACTERS)])
    rows = [(check.name, check.message, f"{1_000 * check.seconds:.1f} ms") for check in validation.checks]
    if rows:
        table = TableBlock(["check", "found", "time"], rows, numbers={2}, limit=_MAX_CHARACTERS)
        yield Folded("check results", [table])
    if validation.output:
        yield Folded("printed output", [Code(validation.output, _MAX_CHARACTERS)])
        yield Only("markdown", [Paragraph(f"Printed: {validation.output}", limit=500)])
    yield Paragraph(validation.where, "quiet")


def _marks(validation: Validation) -> list[tuple[str, str, str]]:
    """Sign, name and number of runs of each check; several test runs are merged."""
    names = Counter(check.name for check in validation.checks)
    failed = {check.name for check in validation.checks if not check.passed}
    marks = [
        ("✗" if name in failed else "✓", name, f" ({count})" if count > 1 else "")
        for name, count in names.items()
    ]
    return [*marks, *(("-", name, "") for name in validation.not_reached)]


def _words(name: str) -> str:
    return name.replace("_", " ")


_ADVICE = {
    "syntax": "correct the line named above",
    "structure": "define `async def grade(thread)` at the top level",
    "signature": "take exactly one parameter: the thread",
    "execution": "make the module load by itself, with the standard library only",
    "test_run": "return a float for every thread; the mock thread is user 'What is 2+2?', assistant '4', metadata {}",
}
_CAUSES = (
    (
        ("not available in graders: only the standard library",),
        OWN_PROCESS_HINT,
    ),
    (
        ("not permitted", "not available in graders", "name resolution", "start new thread"),
        "graders may use the standard library only, without files, network or processes; pass data in thread.metadata",
    ),
    (("timed out",), "make it faster, or raise its time limit: @wb.grader(timeout=...)"),
    (("out of memory",), "use less memory, or raise its limit: @wb.grader(memory_mb=...)"),
    (("must return a number", "not finite"), "return a finite int or float"),
    (
        ("KeyError",),
        "the mock thread's metadata is empty: read it with (thread.metadata or {}).get(key, default)",
    ),
)
_ROWS = "return {what} for every row; validate(samples) tests your rows instead of the mock row"


def _advice_on(function: str, takes: str, returns: str) -> dict[str, str]:
    """The advice on a function of another system: its kind, its parameters, its return value."""
    return {
        "structure": f"define {function} at the top level",
        "signature": f"take {takes}",
        "test_run": _ROWS.format(what=returns),
    }


_ADVICE_FOR: dict[str, dict[str, str]] = {
    "javascript": {
        "structure": "define `function grade(input)` at the top level of the script",
        "signature": "take exactly one parameter: the input",
        "execution": "make the script run by itself: it has JavaScript's built-in globals and a console only",
        "test_run": "return a finite number for every input; the mock input has the response '4' and metadata {}",
    },
    "rollout": {
        "structure": "define `class MyGrader(Grader)` with `async def grade(self, ctx)` at the top level",
        "signature": "take exactly two parameters: self and ctx",
        "execution": "make the module load by itself, with the standard library and osmosis_ai.rollout; use "
        "RolloutGrader.in_process if it needs other packages",
        "test_run": _ROWS.format(what="a finite reward"),
    },
    "letta": _advice_on(
        "the @grader function", "(sample, submission) and return GradeResult", "a GradeResult"
    ),
    "openai": _advice_on("`def grade(sample, item)`", "(sample, item)", "a number"),
    "osmosis": _advice_on(
        "the @osmosis_reward function", "(solution_str, ground_truth, extra_info=None)", "a float"
    ),
    "trl": _advice_on(
        "the reward function", "(prompts, completions, **columns)", "a list of one number per row"
    ),
    "verl": _advice_on(
        "compute_score",
        "(data_source, solution_str, ground_truth, extra_info=None)",
        "a number, or a dict with score",
    ),
    "openrlhf": _advice_on("reward_func", "(queries, prompts, labels)", "a dict with rewards"),
    "together": _advice_on("the reward function", "(prediction, target)", "a number"),
}


def advice(check: Check, form: str = "thread") -> str:
    """The next step after a failed check, by the form of the grader and the cause in its message."""
    if form != "rollout" and _CAUSES[0][0][0] in check.message:  # rollouts have another hint
        return _CAUSES[0][1]
    if form != "thread" and check.name in _ADVICE_FOR[form]:
        return _ADVICE_FOR[form][check.name]
    if check.name in {"execution", "test_run"}:
        for signs, step in _CAUSES:
            if any(sign in check.message for sign in signs):
                return step
    return _ADVICE[check.name]
