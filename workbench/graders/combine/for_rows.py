"""Graders around others: one chosen by the columns of a row, and one of a text that a script makes of the completion."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.data.samples import Sample, Samples
from workbench.data.samples.column_names import is_name_of
from workbench.data.samples.plain import plain
from workbench.data.templates.values import script_text
from workbench.graders.base import Grader, from_spec, kind
from workbench.graders.code.script import ScriptGrader
from workbench.graders.concurrent_rows import Control, concat_grades
from workbench.graders.rules.promptfoo_assertions import equal_data
from workbench.graders.text import Contains
from workbench.sandbox.host.pool import pool

_NONE = -1
_CHUNK = 4096
"""Rows read together."""
_NO_CASE = "does not apply: no case has the values of this row's columns"


@kind("for-rows", family="several")
@dataclass(frozen=True, kw_only=True)
class ForRows(Grader):
    """Grades a row with the grader of the first case that applies to it; a row without one is skipped.

    A case is `{"when": {column: value}, "grader": grader}`, and applies to rows that have these values. Numbers and texts
    are compared as text, since files of CSV contain texts. A name of a prompt, such as `prompt`, `input` or `question`, is the
    row's last user turn, unless the row has a column of that name or the grader is lenient: tables are read without that column,
    which became the turn. The grader is given the row with the values of the case, and
    with `defaults`, in columns that the row lacks.

    Attributes:
        cases: At least one.
        defaults: Values of columns that a row may lack.
        lenient: Whether a case also applies to rows that lack its columns: then only another value excludes a row.

    Source: promptfoo's tests, whose assertions apply to the rows with their variables.
    """

    why_not_portable: ClassVar[str] = "it chooses a grader by the columns of a row"

    cases: tuple[Mapping[str, Any], ...] = field(kw_only=False)
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)
    lenient: bool = False

    def __post_init__(self) -> None:
        checked = tuple(map(_checked, self.cases)) if isinstance(self.cases, Sequence) else ()
        if not checked:
            raise FormatError("cases must be a list of cases", found=repr(self.cases)[:80], expected=_SHAPE)
        object.__setattr__(self, "cases", checked)
        object.__setattr__(self, "defaults", dict(plain(self.defaults)))
        if not self.name:
            object.__setattr__(self, "name", checked[0]["grader"].name)
        super().__post_init__()

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(({"when": {"topic": "sums"}, "grader": Contains("4")},))

    def __hash__(self) -> int:
        return hash((self.name, len(self.cases)))

    @property
    def inner_graders(self) -> tuple[Grader, ...]:
        """The graders of the cases."""
        return tuple(case["grader"] for case in self.cases)

    def _field_spec(self, f: Field[Any]) -> Any:
        if f.name != "cases":
            return super()._field_spec(f)
        return [{"when": dict(case["when"]), "grader": case["grader"].spec()} for case in self.cases]

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        cases = values.get("cases")
        if isinstance(cases, list):
            values = {**values, "cases": tuple(map(_built, cases))}
        return super().build(values)

    def check_ready(self) -> None:
        """Raise any error that would end a run before its first row; every grader must be ready."""
        for grader in self.inner_graders:
            grader.check_ready()

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        first: Grader = self.cases[0]["grader"]
        return first.needs_answer

    @property
    def at_once(self) -> int:
        """As the first grader's."""
        first: Grader = self.cases[0]["grader"]
        return first.at_once

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """As the first grader's."""
        first: Grader = self.cases[0]["grader"]
        return first.ends_run()

    async def grade(self, sample: Sample) -> Grade:
        """Grade with the first case that applies."""
        columns = self._columns(sample)
        for case in self.cases:
            if self._applies(case["when"], columns):
                thread = _filled({**self.defaults, **case["when"]}, sample.thread)
                grade: Grade = await case["grader"].grade(replace(sample, thread=thread))
                return grade
        return Grade.skipped(_NO_CASE)

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade the rows of each case as one run of its grader."""
        chosen = await asyncio.to_thread(self._chosen, samples)
        parts: list[tuple[NDArray[np.intp], Grades]] = []
        done = 0
        for at, case in enumerate(self.cases):
            rows = np.flatnonzero(chosen == at)
            if not len(rows):
                continue
            some = samples.take(rows)
            if self.defaults or self.lenient or self._prompts:
                some = some.rewrite(partial(_filled, {**self.defaults, **case["when"]}))
            part = control.part(partial(_counted, control, done))
            parts.append(
                (rows, await case["grader"].grade_all(some.needing(case["grader"].needs_answer), part))
            )
            done += len(rows)
        if len(rest := np.flatnonzero(chosen == _NONE)):
            skipped = Grades.empty(len(rest))
            for row in range(len(rest)):
                skipped.put(row, Grade.skipped(_NO_CASE))
            parts.append((rest, skipped))
        return concat_grades(parts) if parts else Grades.empty(0)

    def _chosen(self, samples: Samples) -> NDArray[np.int64]:
        """Index of the case of every row (n,), `_NONE` for none; rows that cannot be read are left to the first case."""
        chosen = np.full(len(samples), _NONE, np.int64)
        for start in range(0, len(samples), _CHUNK):
            for row, sample in enumerate(samples[start : start + _CHUNK].read(), start):
                columns = self._columns(sample) if isinstance(sample, Sample) else {}
                fitting = (at for at, case in enumerate(self.cases) if self._applies(case["when"], columns))
                chosen[row] = next(fitting, _NONE) if isinstance(sample, Sample) else 0
        return chosen

    @property
    def _prompts(self) -> frozenset[str]:
        """Names of a prompt by which a case is chosen."""
        names = {name for case in self.cases for name in case["when"]}
        return frozenset(
            name for name in names if is_name_of("prompt", name) or is_name_of("instruction", name)
        )

    def _columns(self, sample: Sample) -> Mapping[str, Any]:
        """The row's columns, and its prompt under the names by which a case is chosen."""
        metadata = sample.thread.metadata
        columns = metadata if isinstance(metadata, Mapping) else {}
        lacking = [name for name in self._prompts if name not in columns]
        if self.lenient or not lacking:
            return columns
        asked = [turn.content for turn in sample.thread.get_turns() if turn.role == "user"]
        return {**columns, **dict.fromkeys(lacking, asked[-1])} if asked else columns

    def _applies(self, when: Mapping[str, Any], columns: Mapping[str, Any]) -> bool:
        for name, value in when.items():
            found = columns.get(name)
            if _is_absent(found) and value is not None:
                if not self.lenient:
                    return False
            elif not _same(found, value):
                return False
        return True


_SHAPE = '{"when": {"column": value}, "grader": grader}'


def _checked(case: Any) -> dict[str, Any]:
    is_case = (
        isinstance(case, Mapping)
        and isinstance(case.get("grader"), Grader)
        and isinstance(case.get("when"), Mapping)
    )
    if not is_case or len(case) != 2:
        raise FormatError("this is not a case", found=repr(case)[:80], expected=_SHAPE)
    return {"when": dict(plain(case["when"])), "grader": case["grader"]}


def _built(case: Any) -> Any:
    if isinstance(case, Mapping) and isinstance(case.get("grader"), dict):
        return {**case, "grader": from_spec(case["grader"])}
    return case


def _same(found: Any, value: Any) -> bool:
    if isinstance(found, list | Mapping) or isinstance(value, list | Mapping):
        return equal_data(plain(found), value)
    return found == value or script_text(plain(found)) == script_text(value)


def _filled(values: Mapping[str, Any], thread: StringThread) -> StringThread:
    """The thread with these values in columns that it lacks."""
    turns, metadata, calls, tools, answers = thread.to_wire()
    columns = metadata if isinstance(metadata, Mapping) else {}
    absent = {name: value for name, value in values.items() if _is_absent(columns.get(name))}
    return StringThread.from_wire((turns, {**columns, **absent}, calls, tools, answers)) if absent else thread


def _is_absent(value: Any) -> bool:
    """Whether a row has no value in a column: a table has NaN there."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _counted(control: Control, before: int, done: int, failed: int) -> None:
    if control.on_rows:
        control.on_rows(before + done, failed)


def with_completion(thread: StringThread, text: str) -> StringThread:
    """The thread with another text as its last assistant turn."""
    turns, metadata, calls, tools, answers = thread.to_wire()
    before = turns[:-1] if thread.completion() is not None else turns
    return StringThread.from_wire(([*before, ("assistant", text)], metadata, calls, tools, answers))


OF_TEST = "/* transform of a test */"
"""Mark in the script of a promptfoo test's transform, which changed the outputs in its results already."""


@kind("transformed", family="several")
@dataclass(frozen=True, kw_only=True)
class Transformed(Grader):
    """Grades the text that a script makes of the completion.

    Attributes:
        grader: Grades that text instead of the completion.
        script: A script grader whose result has the text in `output`; its score is not used.

    Error kinds: sample (the script failed), and those of the inner grader.

    Source: promptfoo (`transform` of an assertion).
    """

    why_not_portable: ClassVar[str] = "a script changes the text before it is graded"

    grader: Grader = field(kw_only=False)
    script: Grader

    def __post_init__(self) -> None:
        for name in ("grader", "script"):
            if not isinstance(getattr(self, name), Grader):
                raise FormatError(f"{name} must be a grader", found=repr(getattr(self, name))[:80])
        if not self.name:
            object.__setattr__(self, "name", self.grader.name)
        super().__post_init__()

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        text = "function evaluate(input) { return { score: 1, output: input.response.trim() }; }"
        return cls(Contains("4"), script=ScriptGrader.from_source(text))

    @property
    def is_of_test(self) -> bool:
        """Whether the script is the transform of a promptfoo test, rather than of an assertion."""
        return isinstance(self.script, ScriptGrader) and OF_TEST in self.script.source.text

    @property
    def inner_graders(self) -> tuple[Grader, ...]:
        """The script; `grader` is known by its name."""
        return (self.script,)

    def _field_spec(self, f: Field[Any]) -> Any:
        return getattr(self, f.name).spec() if f.name in {"grader", "script"} else super()._field_spec(f)

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        built = {
            key: from_spec(value)
            for key, value in values.items()
            if key in {"grader", "script"} and isinstance(value, dict)
        }
        return super().build({**values, **built})

    def check_ready(self) -> None:
        """Raise any error that would end a run before its first row."""
        self.script.check_ready()
        self.grader.check_ready()

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        return "completion"

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade row by row; the script runs in the sandbox."""
        return replace(await super().grade_all(samples, control), isolation=pool().level)

    async def grade(self, sample: Sample) -> Grade:
        """Grade the text that the script makes."""
        made = await self.script.grade(sample)
        if made.error is not None:
            # Not the kind of the script's error: a row without a text to grade differs from code that failed to grade it.
            return Grade.failed(ErrorKind.SAMPLE, f"the transform failed: {made.error}")
        text = made.metadata.get("output")
        if not isinstance(text, str):
            return Grade.failed(
                ErrorKind.SAMPLE, "the transform returned no text, or one of more than 128 KiB"
            )
        grade: Grade = await self.grader.grade(replace(sample, thread=with_completion(sample.thread, text)))
        return grade
