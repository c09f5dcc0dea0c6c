"""`CheckRun`: a check while its rows are graded and its tests are run."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.finding import Severity
from workbench.analysis.labels import read_labels
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError, WorkbenchError
from workbench.core.grades import Grades
from workbench.data.samples import Samples
from workbench.deploy.guard.baseline import (
    Baseline,
    changed_settings,
    digest_of_text,
    row_keys,
    scored,
    version_of,
)
from workbench.deploy.guard.decisions import (
    FAIL,
    INCONCLUSIVE,
    INFRASTRUCTURE,
    Decision,
    on_drop,
    on_findings,
    on_gate,
    on_labels,
    on_regression,
)
from workbench.deploy.guard.result import CheckResult
from workbench.graders.code.custom import CustomGrader
from workbench.graders.serialization import parts
from workbench.probes import again
from workbench.report import Report
from workbench.report.cases import labelled_case
from workbench.run.suite import Suite

FAIL_ON: Mapping[str, tuple[str, ...]] = {
    "gate": (), "error": (Severity.ERROR,), "warning": (Severity.ERROR, Severity.WARNING), "never": (),
}  # fmt: skip
"""Severities of findings that fail a check, by the value of `fail_on`."""


_REGRESSION = {"probe", "label", "was"}


class CheckRun:
    """A check while its rows are graded."""

    def __init__(
        self, suite: Suite, stored: Baseline | None, labels: Any, max_error_rate: float | None, max_drop: float | None,
        fail_on: str, settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.suite, self.stored, self.labels = suite, stored, labels
        self.max_error_rate, self.max_drop, self.fail_on = max_error_rate, max_drop, fail_on
        self.settings = settings
        self.decisions: list[Decision] = []
        self.reports: list[Report] = []
        self.notes: list[str] = []
        self.missed: list[str] = []

    def add(self, samples: Samples) -> None:
        """Grade some rows and run their tests."""
        if not len(samples):
            raise ReportError(
                "there are no rows to check",
                where=samples.source,
                found="0 rows",
                hint="check that the file was written",
            )
        if set(map(str, samples.column_names)) >= _REGRESSION:
            self._add_regression(samples)
            return
        labels = self.labels if self.labels is not None else _label_column(samples)
        report = _with_versions(self.suite.run(samples, labels=labels, **self.settings), self.suite)
        self.reports.append(report)
        self.missed += _missed(report)
        self.decisions += _without_scores(report)
        names = [name for name in report.graders if report.grades[name].n_scored]
        if labels is not None:
            found = (on_labels(report, name, self.max_error_rate) for name in self._decisive(names))
            self.decisions += [one for one in found if one is not None]
        if self.stored is not None:
            self._add_comparison(report, names)
        gate = None if self.fail_on == "never" else on_gate(report)
        self.decisions += [
            one for one in (gate, on_findings(report, FAIL_ON[self.fail_on])) if one is not None
        ]
        self.notes += [
            str(line) for line in report.facts if ": replayed, " in line or line.startswith("row ")
        ]

    def _decisive(self, names: Sequence[str]) -> list[str]:
        """The graders whose verdicts are tested: the combined score if there is one, since its parts need not decide alone."""
        column = self.suite.column if self.suite.combine is not None else ""
        return [column] if column in names else list(names)

    def _add_regression(self, samples: Samples) -> None:
        targets: list[tuple[str, Any]] = (
            [(self.suite.column, self.suite)]
            if self.suite.combine is not None
            else [(entry.name, Suite([entry])) for entry in self.suite.entries]
        )
        names = samples.column("grader").tolist() if "grader" in samples.column_names else None
        for name, target in targets:
            own = (
                samples
                if names is None
                else samples.take([row for row, of in enumerate(names) if of == name])
            )
            if len(own):
                found = again(target, own, budget=self.settings.get("budget"))
                self.decisions.append(on_regression(name, found))
            else:
                self.notes.append(f"{one_line(name, 60)}: no regression row is of this grader")

    def _add_comparison(self, report: Report, names: Sequence[str]) -> None:
        assert self.stored is not None
        keys, completions = row_keys(report.samples)
        n_common, n_changed = self.stored.matched(keys, completions)
        only = f"{n_common:,} of {counted(len(keys), 'row')} are in the baseline of {self.stored.made}"
        self.notes.append(f"{only}{f'; {n_changed:,} have another completion now' if n_changed else ''}")
        known = [name for name in names if name in self.stored.graders]
        self.notes += [
            f"{one_line(name, 60)}: not in the baseline, so not compared"
            for name in names
            if name not in known
        ]
        self.decisions += [self._compared(report, name, keys, n_changed) for name in known]
        if not known:
            there = ", ".join(one_line(name, 60) for name in self.stored.graders)
            self.decisions.append(
                Decision(
                    "baseline",
                    "",
                    INCONCLUSIVE,
                    f"no scored grader is in the baseline, which has {there or 'none'}",
                )
            )

    def _compared(self, report: Report, name: str, keys: Sequence[str], n_changed: int) -> Decision:
        assert self.stored is not None
        then, now = self.stored.grades(name, keys), report.grades[name]
        before, after = self.stored.graders[name].fingerprint, report.fingerprints.get(name, {})
        changed = changed_settings(before, after) if before and after else []
        if changed:
            self.notes.append(
                f"{one_line(name, 60)}: another version of the grader, {version_of(before)} before and {version_of(after)} now "
                f"(changed: {', '.join(changed)})"
            )
        if changed and n_changed:
            return Decision(
                "baseline", name, INCONCLUSIVE,
                f"not comparable: the grader and the completions of {counted(n_changed, 'row')} both changed, so a difference "
                "cannot be attributed; check the old grader on the new rows, or the new grader on the old rows",
            )  # fmt: skip
        both = np.flatnonzero(scored(then) & scored(now))
        codes = read_labels(report.labels, len(report))
        if changed and (codes[both] >= 0).any():
            return self._accuracy(report, name, then, both[codes[both] >= 0], codes)
        return on_drop(
            name, then.scores[both], now.scores[both], report.prompt_codes[both], max_drop=self.max_drop
        )

    def _accuracy(
        self, report: Report, name: str, then: Grades, rows: NDArray[np.intp], codes: NDArray[np.int8]
    ) -> Decision:
        """A changed grader is tested on its agreement with the labels: another mean score may be the improvement."""
        versions = []
        for grades in (then, report.grades[name]):
            case = labelled_case(replace(report, grades={name: grades}, gate=None), name, report.prompt_codes)
            accepted = np.zeros(len(report), bool)
            accepted[case.rows] = case.accepted
            versions.append((accepted[rows] == (codes[rows] == 1)).astype(float))
        subject = "share of labelled rows graded as labelled"
        before, now = versions
        return on_drop(name, before, now, report.prompt_codes[rows], max_drop=self.max_drop, subject=subject)

    def result(self, sources: Sequence[str]) -> CheckResult:
        """The outcome of all rows."""
        if not self.decisions and not self.missed:
            raise ReportError(
                "there is nothing to check", found="rows without labels, and no baseline, gate or findings",
                hint='name a column of labels (labels="good", --labels good), or a baseline (--baseline FILE)',
            )  # fmt: skip
        made = None
        if self.reports:
            names = {"graders": sources[0], "rows": list(sources[1:])}
            made = _joined([Baseline.of(report, sources=names) for report in self.reports])
        return CheckResult(
            tuple(self.decisions), tuple(self.reports), tuple(self.notes), tuple(self.missed), made
        )


def _joined(baselines: Sequence[Baseline]) -> Baseline:
    """One baseline of several sets of rows; a grader without scores in one of them has none there."""
    first = baselines[0]
    if len(baselines) == 1:
        return first
    graders = {
        name: replace(
            one,
            scores=tuple(score for part in baselines for score in part.graders[name].scores),
            passed=tuple(verdict for part in baselines for verdict in part.graders[name].passed),
        )
        for name, one in first.graders.items()
    }
    rows, completions = (
        [value for part in baselines for value in getattr(part, kind)] for kind in ("rows", "completions")
    )
    return replace(first, rows=tuple(rows), completions=tuple(completions), graders=graders)


def _label_column(samples: Samples) -> str | None:
    """The column of labels by its name: `label`, if it contains verdicts and is not the reference."""
    taken = set(samples.columns.values())
    for name in map(str, samples.column_names):
        if name.casefold() == "label" and name not in taken:
            try:
                codes = read_labels(samples.column(name).tolist(), len(samples))
            except WorkbenchError:
                return None
            return name if (codes >= 0).any() else None
    return None


def _missed(report: Report) -> Iterator[str]:
    """Why tests could not run: rows without a score for a reason other than the grader, or rows that were all skipped."""
    for name, grades in report.grades.items():
        kinds = [error.kind for error in grades.errors.values()]
        lost = sorted({str(kind) for kind in kinds if kind in INFRASTRUCTURE})
        if lost:
            count = sum(kind in INFRASTRUCTURE for kind in kinds)
            first = next(error for error in grades.errors.values() if error.kind in INFRASTRUCTURE)
            why = f"{', '.join(lost)}: {one_line(first.message, 160)}"
            yield f"{one_line(name, 60)}: {counted(count, 'row')} without a score because of {why}"
        elif len(report) and not kinds and not grades.n_scored:
            yield f"{one_line(name, 60)}: every row was skipped"


def _without_scores(report: Report) -> Iterator[Decision]:
    """A failed test for each grader that fails on every row by itself."""
    for name, grades in report.grades.items():
        kinds = {error.kind for error in grades.errors.values()}
        if kinds and not grades.n_scored and not kinds & INFRASTRUCTURE:
            first = next(iter(grades.errors.values()))
            why = f"{first.kind}: {one_line(first.message, 200)}"
            yield Decision("scored", name, FAIL, f"no row has a score; {why}")


def _with_versions(report: Report, suite: Suite) -> Report:
    """The report with fingerprints that also change with imported code, and with the parts of a combined score."""
    found = {name: dict(values) for name, values in report.fingerprints.items()}
    for entry in suite.entries:
        if entry.name in found:
            found[entry.name] |= {
                f"code.{part.target}": _code_digest(part.target)
                for part in parts(entry.grader)
                if isinstance(part, CustomGrader) and part.target
            }
    if suite.combine is not None and suite.column in found:
        entries = {entry.name for entry in suite.entries}
        found[suite.column] |= {
            f"{name}.{key}": value for name in entries if name in found for key, value in found[name].items()
        }
    return replace(report, fingerprints=found)


def _code_digest(target: str) -> str:
    """A digest of the module of an imported function; "" if its text is unknown."""
    try:
        module = inspect.getmodule(inspect.unwrap(pkgutil.resolve_name(target)))
        return digest_of_text(inspect.getsource(module)) if module is not None else ""
    except (OSError, TypeError, ValueError, ImportError, AttributeError):
        return ""
