"""The five checks a source has to pass before its scores count.

Syntax, structure, signature, execution, test run: in this order, stopping at the first that fails, all of
them in the sandbox. The test run uses Adaptive's mock thread (user "What is 2+2?", assistant "4",
metadata {}), and after it any threads of the author's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from workbench.errors import ValidationError
from workbench.sandbox.host.limits import CHECKS, ISOLATION, Program
from workbench.sandbox.host.pool import pool
from workbench.thread import StringThread

__all__ = ["CHECKS", "Check", "Validation", "mock_thread", "validate_program"]

_ADVICE = {
    "syntax": "correct the line named above",
    "structure": "define `async def grade(thread)` at the top level",
    "signature": "take exactly one parameter: the thread",
    "execution": "make the module load on its own, with the standard library only",
    "test_run": "return a float for every thread; the mock thread is user 'What is 2+2?', assistant '4', metadata {}",
}
_CAUSES = (
    (
        ("not permitted", "not available in graders", "name resolution", "start new thread"),
        "graders have the standard library only, no file, network or process; data belong in thread.metadata",
    ),
    (("timed out",), "make it faster, or give it more time: @wb.grader(timeout=...)"),
    (("out of memory",), "use less memory, or allow more: @wb.grader(memory_mb=...)"),
    (("must return a number", "not finite"), "return a finite int or float"),
    (
        ("KeyError",),
        "the mock thread's metadata is empty: read it with (thread.metadata or {}).get(key, default)",
    ),
)


_ROWS = "return {what} for every row; validate(samples) tries rows of your own in place of the mock row"


def _advice_on(function: str, takes: str, returns: str) -> dict[str, str]:
    """The advice on a function of another system: what it is, what it takes, what it returns."""
    return {
        "structure": f"define {function} at the top level",
        "signature": f"take {takes}",
        "test_run": _ROWS.format(what=returns),
    }


_ADVICE_FOR: dict[str, dict[str, str]] = {
    "javascript": {
        "structure": "define `function grade(input)` at the top level of the script",
        "signature": "take exactly one parameter: the input",
        "execution": "make the script run on its own: it has JavaScript's own globals, a console, and nothing else",
        "test_run": "return a finite number for every input; the mock input has the response '4' and metadata {}",
    },
    "rollout": {
        "structure": "define `class MyGrader(Grader)` with `async def grade(self, ctx)` at the top level",
        "signature": "take exactly two parameters: self and ctx",
        "execution": "make the module load on its own, with the standard library and osmosis_ai.rollout; what needs "
        "other packages runs with RolloutGrader.in_process",
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
        "the reward function", "(prompts, completions, **columns)", "a list of one number a row"
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
    """The next step after a failed check, by the form of the grader and the cause that its message shows."""
    if form != "thread" and check.name in _ADVICE_FOR[form]:
        return _ADVICE_FOR[form][check.name]
    if check.name in {"execution", "test_run"}:
        for signs, step in _CAUSES:
            if any(sign in check.message for sign in signs):
                return step
    return _ADVICE[check.name]


def mock_thread() -> StringThread:
    """The thread of the test run, as Adaptive's SDK sends it."""
    return StringThread([("user", "What is 2+2?"), ("assistant", "4")], {})


@dataclass(frozen=True)
class Check:
    """One of the five.

    Attributes:
        name: Out of `CHECKS`.
        passed: Whether the source passed it.
        message: What was found.
        seconds: Time it took.
    """

    name: str
    passed: bool
    message: str
    seconds: float


@dataclass(frozen=True)
class Validation:
    """The results of the checks, in order, up to the first that failed.

    Attributes:
        checks: At most one a name, but one *test_run* for each thread tried.
        warnings: What does not fail the grader but may surprise.
        isolation: The sandbox level they ran at.
        sha256: Of the source that was checked.
        output: What the source printed meanwhile.
        claimed: Read from a file: not proved here, so it is checked again before it counts.
        form: What was checked: the language, or for Python functions the signature.
    """

    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    isolation: str = ""
    sha256: str = ""
    output: str = ""
    claimed: bool = field(default=False, compare=False)
    form: str = field(default="thread", compare=False)

    @property
    def ok(self) -> bool:
        """Whether all five were reached and passed."""
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
            raise ValidationError(f"{self._not_reached()[0]}: not reached", hint="validate again")

    def __str__(self) -> str:
        lines = [f"{'✓' if c.passed else '✗'} {c.name:<10} {c.message}" for c in self.checks]
        lines += [f"- {name:<10} not reached" for name in self._not_reached()]
        lines += [f"! warning    {warning}" for warning in self.warnings]
        if self.failure is not None:
            lines.append(f"→ {advice(self.failure, self.form)}")
        if self.output:
            lines.append(f"printed: {self.output.strip()[:500]}")
        lines.append(f"sandbox: {self._where()}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 (IPython's protocol)
        printer.text(str(self))

    def _where(self) -> str:
        label = ISOLATION.get(self.isolation, self.isolation)
        return f"claimed by the file it was read from, not checked here: {label}" if self.claimed else label

    def _not_reached(self) -> list[str]:
        return [name for name in CHECKS if name not in {check.name for check in self.checks}]

    def _repr_html_(self) -> str:
        rows = [_row("✓" if c.passed else "✗", c.name, c.message, c.seconds) for c in self.checks]
        rows += [_row("-", name, "not reached", None) for name in self._not_reached()]
        rows += [_row("!", "warning", warning, None) for warning in self.warnings]
        step = f"<p>→ {escape(advice(self.failure, self.form))}</p>" if self.failure else ""
        output = f"<pre>{escape(self.output)}</pre>" if self.output else ""
        label = escape(self._where())
        return (
            f"{_STYLE}<div class='wb-checks' role='group' aria-label='Validation'>"
            f"<table>{''.join(rows)}</table>{step}{output}<p class='wb-label'>{label}</p></div>"
        )


_STYLE = """<style>
.wb-checks{font-family:var(--jp-ui-font-family,sans-serif);font-size:13px;color:var(--jp-ui-font-color1,currentColor)}
.wb-checks table{border-collapse:collapse;margin:0}
.wb-checks td{padding:2px 10px 2px 0;text-align:left!important;vertical-align:top;background:transparent;
white-space:pre-wrap;overflow-wrap:break-word;max-width:48em}
.wb-checks.wb-checks td:nth-child(2),.wb-checks.wb-checks td:nth-child(4){white-space:nowrap}
.wb-checks .wb-ok{color:var(--jp-success-color1,#2e7d32)}
.wb-checks .wb-no{color:var(--jp-error-color1,#c62828);font-weight:600}
.wb-checks .wb-warn{color:#b26a00}
.wb-checks .wb-time,.wb-checks .wb-label{opacity:.7}
.wb-checks pre{background:transparent;color:inherit;margin:4px 0;max-height:12em;overflow:auto}
</style>"""
_CLASSES = {"✓": "wb-ok", "✗": "wb-no", "!": "wb-warn", "-": "wb-time"}


def _row(mark: str, name: str, message: str, seconds: float | None) -> str:
    time = "" if seconds is None else f"{1000 * seconds:.1f} ms"
    return (
        f"<tr><td class='{_CLASSES[mark]}'>{mark}</td><td><b>{escape(name)}</b></td>"
        f"<td>{escape(message)}</td><td class='wb-time'>{time}</td></tr>"
    )


def validate_program(
    program: Program, rows: Sequence[tuple[str, Sequence[Any]]], *, sha256: str = ""
) -> Validation:
    """Prove any program in the sandbox: the same five checks for every language and signature.

    Args:
        program: What to prove.
        rows: Labels and wire tuples of the test runs, of the kind the program takes.
        sha256: Noted in the result.

    Raises:
        SandboxError: The sandbox cannot start here.
    """
    checked = pool().check(program, rows)
    return Validation(
        checks=tuple(Check(*result) for result in checked.checks),
        warnings=tuple(checked.warnings),
        isolation=checked.level,
        sha256=sha256,
        output=checked.output,
        form=program.signature if program.language == "python" else program.language,
    )
