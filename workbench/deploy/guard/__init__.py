"""`check`, which `Suite.check` and `workbench check` call: a grader's own tests for a pipeline, each with the outcome pass, fail or inconclusive."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.errors import ReportError
from workbench.data.samples import Samples, as_samples, read_samples
from workbench.deploy.guard.baseline import Baseline
from workbench.deploy.guard.check_run import FAIL_ON, CheckRun
from workbench.deploy.guard.result import CheckResult as CheckResult
from workbench.formats import read_graders


def check(  # noqa: PLR0913 (users set these by name)
    graders: Any,
    rows: Any = None,
    *,
    baseline: str | os.PathLike[str] | Baseline | None = None,
    labels: Any = None,
    max_error_rate: float | None = None,
    max_drop: float | None = None,
    fail_on: str = "error",
    columns: Mapping[str, str | None] | None = None,
    sources: Sequence[str] = (),
    **settings: Any,
) -> CheckResult:
    """Run a grader's own tests: labelled rows, regression rows of a probe, an earlier run, the suite's gate and findings.

    Each test passes, fails, or is inconclusive and states how many more rows decide it. Pass and fail are each wrong in at
    most 1 of 20 checks.

    Args:
        graders: As in `read_graders`.
        rows: As in `Suite.run`, or a list of paths; rows with the columns `probe`, `label` and `was` are regression rows.
            None for the rows of the graders' own file, such as an OpenAI export.
        baseline: The file that `CheckResult.save` wrote, or the `Baseline`: scores are compared row by row.
        labels: As in `Suite.run`; by default the column `label` if it contains verdicts.
        max_error_rate: Maximum share of labelled rows that are graded against their label; None: each labelled row is a test.
        max_drop: Maximum drop of the mean score against the baseline, in units of the score; None for 5 % of the scale.
        fail_on: Findings that fail the check: "error", "warning", or "gate" and "never" for none ("never" ignores the gate).
        columns: Role to column name, for all rows that are read from files.
        sources: Names of the graders' file and the rows' files for the saved baseline, if objects are passed.
        settings: Further settings of `Suite.run`, such as `budget`, `store`, `workers` and `repeats`.

    Raises:
        ReportError: A limit outside its range, or nothing to check.
        FormatError: Graders or a baseline that cannot be read.
        SamplesError: Rows that cannot be read.

    Example:
        >>> import workbench as wb
        >>> rows = [{"prompt": "2+2?", "completion": "4", "expected": "4", "good": True}]
        >>> print(wb.Suite(wb.ExactMatch()).check(rows, labels="good", progress=False))
        pass         exact-match: labels: 1 of 1 labelled row graded as labelled
        pass         findings: 0 findings of severity error
        check: pass (2 passed)
    """
    _check_limits(max_error_rate, max_drop, fail_on)
    suite = read_graders(graders)
    stored = Baseline.load(os.fspath(baseline)) if isinstance(baseline, str | os.PathLike) else baseline
    data = [_samples(one, columns) for one in _listed(graders if rows is None else rows)]
    run = CheckRun(suite, stored, labels, max_error_rate, max_drop, fail_on, settings)
    for samples in data:
        run.add(samples)
    return run.result(
        sources or (_source(graders), *map(_source, _listed(graders if rows is None else rows)))
    )


def _check_limits(max_error_rate: float | None, max_drop: float | None, fail_on: str) -> None:
    if max_error_rate is not None and not 0 <= max_error_rate < 1:
        raise ReportError(
            "max_error_rate must be a share",
            found=repr(max_error_rate),
            expected="0 or more, and below 1, such as 0.05",
        )
    if max_drop is not None and not 0 <= max_drop < float("inf"):
        raise ReportError(
            "max_drop must be a number of 0 or more", found=repr(max_drop), expected="such as 0.05"
        )
    if fail_on not in FAIL_ON:
        raise ReportError("unknown value of fail_on", found=repr(fail_on), expected=", ".join(FAIL_ON))


def _listed(rows: Any) -> list[Any]:
    is_list_of_files = (
        isinstance(rows, list | tuple)
        and rows
        and all(isinstance(one, str | os.PathLike | Samples) for one in rows)
    )
    return list(rows) if is_list_of_files else [rows]


def _samples(rows: Any, columns: Mapping[str, str | None] | None) -> Samples:
    if isinstance(rows, Samples) or columns is None:
        return as_samples(rows)
    return read_samples(rows, columns=columns)


def _source(value: Any) -> str:
    return os.fspath(value) if isinstance(value, str | os.PathLike) else ""
