"""The grader that runs a completion's code against tests of its row."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.data.samples import Sample, Samples
from workbench.graders.arguments import LIMIT, check_choice, check_time_limit
from workbench.graders.base import Grader, is_number, kind
from workbench.graders.code.function import FunctionGrader
from workbench.graders.code.script import ScriptGrader
from workbench.graders.code.test_programs import CODE, TESTS, encoded, json_value, script
from workbench.graders.concurrent_rows import Control
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.json_compare import equal_json
from workbench.graders.rules.numbers import after_thinking

_MAX_CALLS = 200
"""Maximum calls of one test: each call of a test is one more run of it."""
_MAX_TESTS = 500
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+#-]*)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE
)
_LANGUAGES = {"python": {"", "python", "py", "python3"}, "javascript": {"", "javascript", "js", "node"}}
_OWN = frozenset({"timeout", "memory", "crash", "load", "runtime", "return_type", "not_finite"})
"""Errors of a run that its own code causes: they fail a test. Others, such as no sandbox, fail the row."""


@kind("code-tests", family="code")
@dataclass(frozen=True, kw_only=True)
class CodeTests(Grader):
    r"""1.0 if the completion's code passes the row's tests, else 0.0; or the share of tests that it passes.

    The code (the last code block of the language, or the whole text) runs in a confined worker, and the tests in another one: it
    cannot see, change or end them. Results pass between them as plain data, so that a result cannot define how it compares;
    an object of the code's own class fails a test. Every test has a fresh namespace.

    | tests | form |
    | --- | --- |
    | input and output | `[{"input": "1 2", "output": "3"}]`, or `{"inputs": [...], "outputs": [...]}`: standard input, and what is printed |
    | calls | `[{"function": "add", "args": [1, 2], "expected": 3}]`, or `inputs`, `outputs` and `fn_name` |
    | asserts | Python text, or a list of them: every top-level assert is a test, with the statements before it |
    | a test function | Python text with `def check(candidate):`, which is called with the function named by `entry` |

    Attributes:
        column: The metadata column with the tests; a row without it uses its reference.
        entry: The function that calls and `check` test; "" takes the row's column `entry_point`, else `fn_name`.
        language: "python" (standard library only), or "javascript" (calls only).
        measure: "all" or "share".
        tolerance: Accepted difference of numbers in outputs and results of calls, from 0 on; asserts have their own.
        timeout: Seconds per test, above 0, at most 60.

    The details contain the number of tests `passed` and of all `tests`, and the first `failure`.

    Error kinds: sample (no tests, or invalid ones), sandbox (this machine cannot confine code), timeout (the tests themselves).

    Example:
        >>> from workbench import Sample, StringThread
        >>> code = "```python\ndef add(a, b):\n    return a + b\n```"
        >>> thread = StringThread([("user", "Write add."), ("assistant", code)], {"tests": ["assert add(1, 2) == 3"]})
        >>> CodeTests()(thread).score
        1.0
    """

    why_not_portable: ClassVar[str] = (
        "it runs code in two workers of the sandbox, which other platforms do not have"
    )
    hidden_from_dir = "code tests_of"

    column: str = "tests"
    entry: str = ""
    language: str = "python"
    measure: str = "all"
    tolerance: float = 0.0
    timeout: float = field(default=5.0, metadata=LIMIT)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(measure="share")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("language", self.language, tuple(_LANGUAGES))
        check_choice("measure", self.measure, ("all", "share"))
        check_time_limit(self.timeout)
        if not is_number(self.tolerance) or self.tolerance < 0:
            raise FormatError("tolerance must be a finite number from 0 on", found=repr(self.tolerance)[:80])
        for name in ("column", "entry"):
            if not isinstance(getattr(self, name), str):
                raise FormatError(f"{name} must be text", found=repr(getattr(self, name))[:80])

    @property
    def at_once(self) -> int:
        """Number of rows graded concurrently: each starts workers."""
        return 4

    async def grade(self, sample: Sample) -> Grade:
        """Run the tests of one row."""
        try:
            code, tests, entry = self.code(sample), *self.tests_of(sample)
            outcomes = await self._run(code, tests, entry)
        except Unscored as error:
            return Grade.failed(error.kind, str(error))
        passed = outcomes.count("")
        failure = next((f"test {at}: {one}" for at, one in enumerate(outcomes, 1) if one), "")
        score = passed / len(outcomes) if self.measure == "share" else float(passed == len(outcomes))
        details = {"passed": passed, "tests": len(outcomes), **({"failure": failure} if failure else {})}
        return Grade(
            score, passed=passed == len(outcomes), reasoning=failure or "All tests pass", metadata=details
        )

    def code(self, sample: Sample) -> str:
        """The code of a completion: its last code block of the language, or the whole text."""
        text = after_thinking(sample.thread.completion() or "")
        blocks = [(name.lower(), block) for _, name, block in _FENCE.findall(text)]
        own = [block for name, block in blocks if name in _LANGUAGES[self.language] - {""}]
        return str((own or [block for name, block in blocks if not name] or [text])[-1])

    def tests_of(self, sample: Sample) -> tuple[Any, str]:
        """The tests of a row, and the name of the function under test.

        Raises:
            Unscored: It has none.
        """
        columns = sample.thread.metadata or {}
        tests = columns.get(self.column)
        tests = sample.reference if tests is None else tests
        if isinstance(tests, str) and tests.lstrip().startswith(("[", "{")):
            with contextlib.suppress(ValueError, RecursionError):  # Python text may begin so, too
                tests = json.loads(tests)
        if not tests:
            raise Unscored(
                ErrorKind.SAMPLE, f"this row has no tests: no column {self.column!r}, and no reference"
            )
        named = tests.get("fn_name") if isinstance(tests, Mapping) else None
        return tests, str(self.entry or columns.get("entry_point") or named or columns.get("fn_name") or "")

    async def _run(self, code: str, tests: Any, entry: str) -> list[str]:
        """The failure of each test, "" for one that passes."""
        if isinstance(tests, str) or (isinstance(tests, list) and all(isinstance(one, str) for one in tests)):
            if self.language != "python":
                raise Unscored(ErrorKind.SAMPLE, "tests of JavaScript must be calls: asserts are Python")
            return await self._asserts(code, [tests] if isinstance(tests, str) else tests, entry)
        pairs = _pairs(tests, entry)
        if len(pairs) > _MAX_TESTS:
            raise Unscored(ErrorKind.SAMPLE, f"{len(pairs)} tests, at most {_MAX_TESTS} are supported")
        if self.language == "python":
            requests = [{"code": code, **_request(one)} for one in pairs]
            replies = await self._graded(_source(CODE, self.timeout), requests)
        else:
            if any("input" in one for one in pairs):
                raise Unscored(
                    ErrorKind.SAMPLE, "tests of JavaScript must be calls: the engine has no standard input"
                )
            requests = [{"calls": [[one["function"], one["args"]]]} for one in pairs]
            replies = await self._graded(_script(code, self.timeout), requests)
        return [self._judged(one, reply) for one, reply in zip(pairs, replies, strict=True)]

    def _judged(self, test: Mapping[str, Any], reply: Mapping[str, Any]) -> str:
        if "fault" in reply:
            return str(reply["fault"])
        if "input" in test:
            return (
                ""
                if _same_output(str(reply.get("output", "")), test["output"], self.tolerance)
                else f"printed {reply.get('output', '')[:80]!r}"
            )
        if "error" in reply or "value" not in reply:
            return ": ".join(map(str, reply.get("error", ["no result"])))
        try:
            found = json_value(reply["value"])
        except (ValueError, TypeError, RecursionError) as error:
            return str(error)[:200]
        same = equal_json(found, test["expected"], rule={"tolerance": self.tolerance})
        return "" if same else f"returned {json.dumps(found)[:80]}"

    async def _asserts(self, code: str, texts: Sequence[str], entry: str) -> list[str]:
        """Run tests that are programs: as long as one calls a function whose result is not known, the code is run for it."""
        tests, source = _source(TESTS, self.timeout), _source(CODE, self.timeout)
        counted = await self._graded(tests, [{"tests": text, "entry": entry} for text in texts], is_test=True)
        cases: list[dict[str, Any]] = [
            {"tests": text, "entry": entry, "index": at, "results": []}
            for text, one in zip(texts, counted, strict=True)
            for at in range(one["count"])
        ]
        if not 0 < len(cases) <= _MAX_TESTS:
            raise Unscored(ErrorKind.SAMPLE, f"{len(cases)} tests, expected 1 to {_MAX_TESTS}")
        calls: list[list[Any]] = [[] for _ in cases]
        outcomes: list[str | None] = [None] * len(cases)
        for _ in range(_MAX_CALLS + 1):
            left = [at for at, outcome in enumerate(outcomes) if outcome is None]
            if not left:
                break
            replies = await self._graded(tests, [cases[at] for at in left], is_test=True)
            asking = []
            for at, reply in zip(left, replies, strict=True):
                if "need" in reply:
                    calls[at].append(reply["need"])
                    asking.append(at)
                else:
                    outcomes[at] = "" if reply.get("passed") else str(reply.get("failed", "failed"))
            found = await self._graded(source, [{"code": code, "calls": calls[at]} for at in asking])
            for at, reply in zip(asking, found, strict=True):
                if "fault" in reply or not {"value", "error"} & set(reply):
                    outcomes[at] = str(reply.get("fault", "the code ended without a result"))
                else:
                    cases[at]["results"].append(reply)
        return [f"more than {_MAX_CALLS} calls" if outcome is None else outcome for outcome in outcomes]

    async def _graded(
        self, grader: Grader, requests: Sequence[Mapping[str, Any]], *, is_test: bool = False
    ) -> list[dict[str, Any]]:
        """The replies of a program to requests, from new workers; an error of the code under test is a `fault`."""
        if not requests:
            return []
        rows = Samples([{"completion": json.dumps(request)} for request in requests])
        control = Control(workers=1)
        control.looks_again = False
        grades = await grader.grade_all(rows, control)
        # A test that has results may run without end because of them.
        blames = [is_test and not request.get("results") for request in requests]
        return [_reply(grade, blamed) for grade, blamed in zip(grades, blames, strict=True)]


def _reply(grade: Grade, is_test: bool) -> dict[str, Any]:
    if grade.error is not None:
        if is_test or str(grade.error.kind) not in _OWN:
            raise Unscored(grade.error.kind, f"{'the tests: ' if is_test else ''}{grade.error.message}")
        return {"fault": grade.error.message}
    try:
        reply = json.loads(grade.reasoning or "")
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        return {"fault": "the code wrote an invalid reply"}
    if is_test and "invalid" in reply:
        raise Unscored(ErrorKind.SAMPLE, f"the tests cannot be read: {reply['invalid']}")
    return reply


def _source(text: str, timeout: float) -> FunctionGrader:
    # As imported: it runs only where the kernel confines it.
    return FunctionGrader.from_source(text, imported=True, timeout=timeout)


def _script(code: str, timeout: float) -> ScriptGrader:
    return ScriptGrader.from_source(script(code), imported=True, timeout=timeout)


def _pairs(tests: Any, entry: str) -> list[dict[str, Any]]:
    """Tests as dicts with `input` and `output`, or `function`, `args` and `expected`.

    Raises:
        Unscored: They have another form.
    """
    if isinstance(tests, Mapping):
        inputs, outputs = tests.get("inputs", tests.get("input")), tests.get("outputs", tests.get("output"))
        if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
            raise Unscored(ErrorKind.SAMPLE, "tests must have as many inputs as outputs")
        if entry:
            tests = [
                {"args": given if isinstance(given, list) else [given], "expected": out}
                for given, out in zip(inputs, outputs, strict=True)
            ]
        else:
            tests = [
                {"input": _lines(given), "output": _lines(out)}
                for given, out in zip(inputs, outputs, strict=True)
            ]
    found = [_pair(one, entry) for one in tests] if isinstance(tests, list) else []
    if not found or None in found:
        raise Unscored(
            ErrorKind.SAMPLE,
            "tests must be asserts, pairs of input and output, or calls with expected results",
        )
    return [one for one in found if one is not None]


def _lines(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _pair(test: Any, entry: str) -> dict[str, Any] | None:
    if not isinstance(test, Mapping):
        return None
    for given, wanted in (("input", "output"), ("stdin", "stdout")):
        if given in test and wanted in test and isinstance(test[given], str):
            return {"input": test[given], "output": _lines(test[wanted])}
    name = test.get("function", entry)
    if (
        isinstance(test.get("args"), list)
        and "expected" in test
        and isinstance(name, str)
        and re.fullmatch(r"[^\W\d]\w*", name)
    ):
        return {
            "function": name,
            "args": test["args"],
            "kwargs": test.get("kwargs") or {},
            "expected": test["expected"],
        }
    return None


def _request(test: Mapping[str, Any]) -> dict[str, Any]:
    if "input" in test:
        return {"input": test["input"]}
    return {"calls": [[test["function"], encoded(test["args"]), encoded(test["kwargs"])]]}


def _same_output(found: str, expected: str, tolerance: float) -> bool:
    """Whether two outputs are equal: white space at the ends of lines and of the text does not count."""
    one, other = ([line.rstrip() for line in text.strip().splitlines()] for text in (found, expected))
    if one == other or not tolerance:
        return one == other
    pairs = [line.split() for line in one], [line.split() for line in other]
    if [len(line) for line in pairs[0]] != [len(line) for line in pairs[1]]:
        return False
    return all(
        _near(a, b, tolerance)
        for left, right in zip(*pairs, strict=True)
        for a, b in zip(left, right, strict=True)
    )


def _near(one: str, other: str, tolerance: float) -> bool:
    try:
        return one == other or abs(float(one) - float(other)) <= tolerance
    except ValueError:
        return False
