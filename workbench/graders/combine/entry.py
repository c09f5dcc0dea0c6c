"""An entry of a suite: a grader with weight, severity, threshold, and the value of a failure.

One grader can be used in two suites, so weight, severity, negation and threshold belong to the entry and not to the
grader. `apply` converts the grader's grades into the entry's (threshold, negation): a failure stays a
failure. `count` then computes the value in a combination, where a suite may choose to count a failure as 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core import background
from workbench.core.errors import FormatError
from workbench.core.grade import UNGRADED, ErrorKind, Grade, GradeError, Skip
from workbench.core.grades import MISSING, Grades
from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor, as_extractor
from workbench.data.samples import Sample, Samples
from workbench.data.samples.cells import changed
from workbench.graders.arguments import as_texts, with_call_help
from workbench.graders.base import Grader, as_sample, from_spec, is_number
from workbench.graders.concurrent_rows import Control, grade_missing

SEVERITIES = ("error", "warning", "info")
"""Umbraco's three levels: only an error blocks."""
NEGATED = "Negated: Expected to fail but passed"
_STOPPED = "not graded: the run was stopped"
_SKIPPED = "skipped by the extractor of its entry, number "
# Unreadable judge replies: Adaptive's mean is over the remaining graders.
_DECLINED = {
    ErrorKind.JUDGE_PARSE,
    ErrorKind.JUDGE_CUT,
    ErrorKind.JUDGE_TOO_LONG,
    ErrorKind.JUDGE_REFUSAL,
}


@dataclass(frozen=True, eq=False)
class Counted:
    """One entry's part in a combination, as columns of n rows.

    Attributes:
        scores: float64 (n,), NaN if nothing counts.
        passed: int8 (n,), 1 pass, 0 fail, -1 no verdict.
        errors: Row to error, for rows that failed and do not count.
        declined: bool (n,): skipped, or an unreadable judge reply. A mean excludes these.
    """

    scores: NDArray[np.float64]
    passed: NDArray[np.int8]
    errors: Mapping[int, GradeError]
    declined: NDArray[np.bool_]


@dataclass(frozen=True)
class EntryOutcome:
    """The value of one grade for one entry.

    Attributes:
        score: The counted score; None if nothing counts.
        passed: The verdict after threshold and negation; None if there is none.
        message: The reason; the error's text if the grader failed.
        grade: The grade itself: scored, failed or skipped.
    """

    score: float | None
    passed: bool | None
    message: str | None
    grade: Grade


@with_call_help
@dataclass(frozen=True)
class Entry:
    """A grader in a suite.

    Attributes:
        grader: The grader.
        name: Its name in the suite; the grader's by default.
        weight: 0 or more.
        severity: "error" (a fail fails the whole), "warning" or "info". Used by `AllPass`.
        negate: A pass becomes a fail and a score s becomes 1 - s. A failed grade stays failed.
        pass_threshold: A score of at least this passes; None for the grader's verdict.
        extractor: Selects the text to grade instead of the completion; None for the unchanged thread.
        on_error: The value of a failed grade in a combination: "fail" (the combined grade fails too), "skip" (like a
            skipped grade: a mean is over the others) or "zero" (0.0, not passed). The grade itself stays failed,
            and a cancelled one is never excluded.
        negate_errors: Umbraco's rule: negation turns a failed grade into a pass with 1.0. Needs
            `on_error="zero"`; off by default, because a broken grader must not pass.
        allows: Kinds of findings of `wb.probe` that are intended, such as "unit": see `Probe.allow`. No score depends on it.

    Raises:
        ValueError: A value outside its range.
        FormatError: An unknown extractor.
    """

    grader: Grader
    name: str = ""
    _: KW_ONLY
    weight: float = 1.0
    severity: str = "error"
    negate: bool = False
    pass_threshold: float | None = None
    extractor: Extractor | None = None
    on_error: str = "fail"
    negate_errors: bool = False
    allows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.grader, Grader):
            raise TypeError(
                f"an entry requires a grader, not {type(self.grader).__name__}; {_way_out(self.grader)}"
            )
        if not self.name:
            object.__setattr__(self, "name", self.grader.name)
        if self.extractor is not None:
            object.__setattr__(self, "extractor", as_extractor(self.extractor))
        object.__setattr__(self, "allows", as_texts("allows", self.allows))
        self._check()

    def _check(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"an entry's name must be text, not {self.name!r}")
        if not is_number(self.weight) or self.weight < 0:
            raise ValueError(
                f"weight of {self.name!r} must be a finite number, 0 or more, not {self.weight!r}"
            )
        for flag in ("negate", "negate_errors"):
            if not isinstance(getattr(self, flag), bool):
                raise TypeError(f"{flag} must be true or false, not {getattr(self, flag)!r}")
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity must be one of {', '.join(SEVERITIES)}, not {self.severity!r}")
        if self.on_error not in ("fail", "skip", "zero"):
            raise ValueError(f"on_error must be 'fail', 'skip' or 'zero', not {self.on_error!r}")
        if self.negate_errors and self.on_error != "zero":
            raise ValueError(
                "negate_errors needs on_error='zero': a failure that does not count has no opposite"
            )
        if self.pass_threshold is not None and not is_number(self.pass_threshold):
            raise ValueError(f"pass_threshold must be a finite number, not {self.pass_threshold!r}")

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """The grader's grades on the extracted text, with threshold and negation applied.

        Rows with grades in the control's checkpoint are not graded again.
        """
        if self.grader.whole_groups and control.checkpoint is not None:
            is_missing = control.checkpoint.kept(len(samples)).codes == MISSING
            codes = samples.group_codes
            if np.isin(codes[~is_missing], codes[is_missing]).any():
                # Some rows of a prompt alone would get other grades: all rows again, with replies from the store if there is one.
                return await self._grade_rows(samples, control.part(control.on_rows))
        return await grade_missing(samples, control, self._grade_rows)

    async def _grade_rows(self, samples: Samples, control: Control) -> Grades:
        if control.checkpoint is not None:
            applied = control.checkpoint.applied(self.apply)
            control = control.part(control.on_rows, applied)
        return self.apply(await self._grade_shown(samples, control))

    async def _grade_shown(self, samples: Samples, control: Control) -> Grades:
        need = self.grader.needs_answer
        if self.extractor is None:
            return await self.grader.grade_all(samples.needing(need), control)
        # The extractor itself decides which assistant turn it reads.
        samples = samples.needing(need and "turn")

        def show(thread: StringThread) -> StringThread:
            if control.cancel.is_set():  # a slow pattern must not delay the stop until the last row
                raise InterruptedError(_STOPPED)
            try:
                return self.show(thread)
            except Skip as skip:
                reasons.append(str(skip))
                raise InterruptedError(f"{_SKIPPED}{len(reasons) - 1}") from None

        reasons: list[str] = []
        grades = await self.grader.grade_all(samples.rewrite(show), control)
        _take_back_marks(grades, reasons)
        return grades

    def __dir__(self) -> list[str]:
        """The names that users need: without the steps of a run."""
        hidden = {"apply", "build", "count", "grade_all", "implied_name", "outcome_of", "show", "shown"}
        return [name for name in super().__dir__() if name not in hidden]

    @property
    def implied_name(self) -> str:
        """The default name: the grader's."""
        return self.grader.name

    def __call__(self, sample: Sample | StringThread) -> Grade:
        """Grade one sample and wait for it: the grader's grade with threshold and negation applied."""
        return background.run(self.grade(sample))

    async def grade(self, sample: Sample | StringThread) -> Grade:
        """Grade one sample inside async code."""
        sample = as_sample(sample)
        if self.extractor is not None:
            shown = self.shown(sample.thread)
            if isinstance(shown, Grade):
                return shown
            sample = replace(sample, thread=shown)
        grade = await self.grader.grade(sample)
        return replace(self.apply(grades_of_one(grade))[0], printed=grade.printed)

    def shown(self, thread: StringThread) -> StringThread | Grade:
        """As `show`, with any error of the extractor as the row's grade: skipped if it raises `Skip`, failed otherwise."""
        thread, error = changed(partial(self.show, thread), thread)
        if isinstance(error, Skip):
            return Grade.skipped(str(error) or None)
        return thread if error is None else Grade.failed(ErrorKind.SAMPLE, f"{type(error).__name__}: {error}")

    def show(self, thread: StringThread) -> StringThread:
        """The thread for the grader: with an extractor, the extracted text is the last assistant message."""
        assert self.extractor is not None
        text = self.extractor.extract(thread)
        turns, metadata, calls, tools, answers = thread.to_wire()
        # A last turn with tool calls stays, and the text becomes a separate turn: otherwise an empty text would
        # be read as a turn that only calls.
        spoken = thread.completion() is not None and not thread.turn_calls(len(turns) - 1)
        before = turns[:-1] if spoken else turns
        return StringThread.from_wire(([*before, ("assistant", text)], metadata, calls, tools, answers))

    def apply(self, grades: Grades) -> Grades:
        """Grades with this entry's threshold and negation; failures and skips stay unchanged."""
        if self.pass_threshold is None and not self.negate:
            return grades
        scored = ~np.isnan(grades.scores)
        passed = grades.passed.copy()
        if self.pass_threshold is not None:
            passed[scored] = grades.scores[scored] >= self.pass_threshold
        result = replace(grades, passed=passed)
        return result if not self.negate else _negated(result, scored)

    def count(self, grades: Grades) -> Counted:
        """The values for a combination, from the result of `apply`."""
        scores, passed = grades.scores.copy(), grades.passed.copy()
        failed = dict(grades.errors)
        if self.on_error != "fail":
            rows = [row for row, error in failed.items() if error.kind not in UNGRADED]
            failed = {row: error for row, error in failed.items() if error.kind in UNGRADED}
            if self.on_error == "zero":
                turned = self.negate and self.negate_errors
                scores[rows], passed[rows] = float(turned), turned
        declined = np.isnan(scores) & ~np.isin(np.arange(len(grades)), list(failed))
        declined[[row for row, error in failed.items() if error.kind in _DECLINED]] = True
        return Counted(scores, passed, failed, declined)

    def outcome(self, grade: Grade) -> EntryOutcome:
        """The value of one grade of the grader for this entry."""
        return self.outcome_of(self.apply(grades_of_one(grade))[0])

    def outcome_of(self, applied: Grade) -> EntryOutcome:
        """The value of a grade to which `apply` was already applied."""
        counted = self.count(grades_of_one(applied))
        score, verdict = float(counted.scores[0]), int(counted.passed[0])
        turned = verdict == 1 and (applied.error is not None or self.negate)
        message = None if turned else (applied.error.message if applied.error else applied.reasoning)
        return EntryOutcome(
            None if np.isnan(score) else score, None if verdict < 0 else bool(verdict), message, applied
        )

    def spec(self) -> dict[str, Any]:
        """The entry as a plain dict: the grader's spec, then every field that is not at its default."""
        spec: dict[str, Any] = {"grader": self.grader.spec()}
        for f in fields(self):
            value = getattr(self, f.name)
            if (
                f.name in {"grader", "_"}
                or value == f.default
                or (f.name == "name" and value == self.grader.name)
            ):
                continue
            spec[f.name] = value.spec() if isinstance(value, Extractor) else value
        return spec

    @classmethod
    def build(cls, spec: Mapping[str, Any]) -> Self:
        """Create the entry of a spec.

        Raises:
            FormatError: An unknown field, a value out of range, an unknown kind of grader.
        """
        if not isinstance(spec, Mapping):
            raise FormatError("an entry must be an object with a grader", found=repr(spec)[:80])
        values = dict(spec)
        field_names = {f.name for f in fields(cls)} - {"_"}
        if unknown := sorted(set(values) - field_names):
            raise FormatError(
                f"an entry has no field {unknown[0]!r}",
                found=", ".join(unknown),
                expected=", ".join(sorted(field_names)),
            )
        grader = values.pop("grader", None)
        if not isinstance(grader, Grader):
            if not isinstance(grader, Mapping):
                raise FormatError("an entry needs a grader", found=repr(grader)[:80])
            grader = from_spec(dict(grader))
        try:
            return cls(grader, **values)
        except (TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError("an entry cannot be created from these fields", found=str(error)) from error


def _take_back_marks(grades: Grades, reasons: Sequence[str]) -> None:
    """Restore the status of stopped and skipped rows: rewriting samples stores any exception as their problem.

    Args:
        grades: Of the rewritten samples; changed in place.
        reasons: Why rows are skipped, by the number in their mark.
    """
    for row, error in list(grades.errors.items()):
        if error.kind is not ErrorKind.SAMPLE:
            continue
        if _STOPPED in error.message:
            grades.errors[row] = GradeError(ErrorKind.CANCELLED, _STOPPED)
        elif mark := re.search(rf"{_SKIPPED}(\d+)", error.message):
            del grades.errors[row]
            grades.put(row, Grade.skipped(reasons[int(mark[1])] or None))


def _way_out(found: object) -> str:
    """How to make a grader from an object that is not one."""
    return (
        "wb.load reads graders from a file"
        if isinstance(found, str | PathLike)
        else "write @wb.grader above a function"
    )


def as_entry(item: Entry | Grader) -> Entry:
    """A grader as an entry with default settings, or the entry itself."""
    return item if isinstance(item, Entry) else Entry(item)


def grades_of_one(grade: Grade) -> Grades:
    """One grade as a column of one row."""
    grades = Grades.empty(1)
    grades.put(0, grade)
    return grades


def _negated(grades: Grades, scored: NDArray[np.bool_]) -> Grades:
    """Every score s as 1 - s and every verdict inverted; a reason for the old verdict does not apply to the new one."""
    passed, scores = grades.passed.copy(), grades.scores.copy()
    scores[scored] = 1.0 - scores[scored]
    judged = scored & (passed >= 0)
    passed[judged] = 1 - passed[judged]
    reasoning = {row: f"negated: {text}" if judged[row] else text for row, text in grades.reasoning.items()}
    reasoning |= {int(row): NEGATED for row in np.flatnonzero(judged & (passed == 0))}
    return replace(grades, scores=scores, passed=passed, reasoning=reasoning)


def check_names(entries: Sequence[Entry]) -> None:
    """Refuse an empty list of entries, and two of one name.

    Raises:
        ValueError: With the name and a hint.
    """
    if not entries:
        raise ValueError("a suite needs at least one grader")
    names = [entry.name for entry in entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"two graders are called {twice[0]!r}; rename one: Contains(..., name='b'), @wb.grader(name='b') or Entry(grader, 'b')"
        )
