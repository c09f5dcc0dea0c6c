"""`wb.certificate`: the results of a report about exactly the graders that it ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics import threshold_on_scale
from workbench.analysis.finding import Finding
from workbench.core.display_text import one_line
from workbench.core.errors import NotValidatedError, ReportError, WorkbenchError
from workbench.graders.combine import Entry
from workbench.graders.combine.entry import check_names
from workbench.graders.serialization import parts
from workbench.judges import Judge
from workbench.report import Report
from workbench.report.cases import label_codes
from workbench.report.certificate import VERSION, Certificate, changed_settings, setting_phrase
from workbench.report.certified import Certified, LabelCounts, Probed, SourceChecks, error_rates
from workbench.report.digests import (
    SUITE,
    data_digest,
    entries_of,
    fingerprint,
    label_digest,
    suite_fingerprints,
)
from workbench.report.frames import isolation
from workbench.sandbox.host.program import CHECKS


class ProbeLike(Protocol):
    """The part of a `Probe` that a certificate uses; the class belongs to a higher level."""

    @property
    def grader(self) -> str:
        """Name of the grader."""

    @property
    def tries(self) -> int:
        """Texts that were graded."""

    @property
    def samples(self) -> Sequence[Any]:
        """The rows drawn."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The holes."""

    @property
    def allowed(self) -> Sequence[Finding]:
        """What was found and is intended."""

    @property
    def fingerprints(self) -> Mapping[str, Mapping[str, str]]:
        """Digests of the settings of what was probed, by name."""


def certificate(
    graders: Any,
    report: Report,
    *,
    probes: ProbeLike | Iterable[ProbeLike] = (),
    made: datetime | None = None,
) -> Certificate:
    """Certify graders: their checks, their data and their error rates, as data that is exported with them.

    It contains the five checks, the number of rows and a digest of the data, the rows scored, failed and skipped and, if
    the report has labels, TPR, TNR, false positive rate (rho_0), false negative rate (rho_1) and J = TPR + TNR - 1 with
    95 % intervals. It contains no row of the data. `wb.save(graders, path, certificate=...)` saves it with the graders.

    Args:
        graders: A grader, a list of graders, or a suite, the same as for the report.
        report: The report of their run.
        probes: Results of `wb.probe`, one or a list of them; none by default.
        made: Date and time to record; now by default.

    Raises:
        NotValidatedError: A grader is not validated.
        ReportError: The report is not about the current graders: one was changed since, or was not run. Or a
            probe is about another grader.
        CaptureError: A grader cannot be written as data.
        TypeError: Something that is not a grader or not a report.
        ValueError: No graders, or two of one name.

    Example:
        >>> import workbench as wb
        >>> rows = [{"completion": "4", "expected": "4", "good": True}, {"completion": "5", "expected": "4", "good": False}]
        >>> exact = wb.ExactMatch()
        >>> certificate = wb.certificate(exact, exact.run(rows, labels="good", progress=False))
        >>> certificate["exact-match"].false_positive_rate.value, certificate.check(exact)
        (0.0, ())
    """
    if not isinstance(report, Report):
        raise TypeError(f"a certificate needs graders and their report, not {type(report).__name__}")
    entries = entries_of(graders)
    check_names(entries)
    _require_all_validated(entries)
    settings = {entry.name: fingerprint(entry) for entry in entries} | suite_fingerprints(graders)
    _require_as_run(settings, report.fingerprints)
    codes = report.prompt_codes
    probed = _probed(probes, settings)
    kinds = {entry.name: entry for entry in entries}
    certified = [
        _certified(name, kinds.get(name), settings[name], report, codes, probed.get(name))
        for name in settings
        if name != SUITE
    ]
    return Certificate(
        VERSION, _time_text(made or datetime.now(UTC)), _release(), len(report), data_digest(report.samples),
        _labels(report), settings[SUITE], tuple(certified),
    ).sealed()  # fmt: skip


def _certified(
    name: str,
    entry: Entry | None,
    settings: Mapping[str, str],
    report: Report,
    codes: NDArray[np.intp],
    probe: Probed | None,
) -> Certified:
    grades = report.grades[name]
    rates: dict[str, Any] = {} if report.labels is None else dict(error_rates(report, name, codes))
    return Certified(
        name=name,
        kind="combined" if entry is None else entry.grader.kind,
        settings=dict(settings),
        validations=() if entry is None else tuple(_validations(entry)),
        models=() if entry is None else tuple(_models(entry)),
        isolation=isolation(grades),
        scored=int(grades.n_scored),
        failed=int(grades.n_failed),
        skipped=int(grades.n_skipped),
        pass_threshold=float(threshold_on_scale(report.pass_threshold, report.scale)),
        **rates,
        probe=probe,
    )


def _validations(entry: Entry) -> Iterable[SourceChecks]:
    for part in parts(entry.grader):
        validation = getattr(part, "validation", None)
        if validation is not None:
            passed = {name: all(c.passed for c in validation.checks if c.name == name) for name in CHECKS}
            yield SourceChecks(part.name, validation.sha256, passed, validation.isolation)


def _models(entry: Entry) -> Iterable[str]:
    judges = (part for part in parts(entry.grader) if isinstance(part, Judge))
    return dict.fromkeys(filter(None, map(_model, judges)))


def _model(judge: Judge) -> str:
    """The model that was called; the judge's `model` if no client can be created here without a key."""
    try:
        return judge.priced_model
    except WorkbenchError:
        return judge.model


def _labels(report: Report) -> LabelCounts | None:
    if report.labels is None:
        return None
    codes = label_codes(report)
    return LabelCounts(int((codes == 1).sum()), int((codes == 0).sum()), label_digest(codes))


def _require_all_validated(entries: Iterable[Entry]) -> None:
    for entry in entries:
        for part in parts(entry.grader):
            try:
                getattr(part, "require_validated", lambda: None)()
            except NotValidatedError as error:
                hint = error.hint.removesuffix(", or pass allow_unvalidated=True")
                raise NotValidatedError(error.what, where=error.where, found=error.found, hint=hint) from None


def _require_as_run(settings: Mapping[str, Mapping[str, str]], ran: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse graders that are not those of the report: only what was run is certified."""
    for name, now in settings.items():
        if name not in ran:
            if not name:
                continue  # a report of a suite's single entries has none of its settings
            raise ReportError(
                f"the report does not contain the settings of {one_line(repr(name), 80)}",
                found="graders "
                + (", ".join(one_line(repr(other), 80) for other in ran if other) or "without settings"),
                hint="run the graders and certify that report: report = suite.run(samples)",
            )
        if changed := changed_settings(ran[name], now):
            raise _changed_error(name, changed)


def _changed_error(name: str, changed: Sequence[str]) -> ReportError:
    """The error for a grader, or a suite, that is not the one of the report."""
    found = f"another value of {setting_phrase(changed[0], name)}"
    if name and all(setting.startswith("entry.") for setting in changed):
        return ReportError(
            f"in the report {one_line(repr(name), 80)} has other settings as a part of its suite", found=found,
            hint="certify the suite that was run, or run this grader alone and certify that report",
        )  # fmt: skip
    return ReportError(
        f"{'a grader' if name else 'the suite'} has changed since the report was made", found=found,
        hint="run it again, and certify the new report",
    )  # fmt: skip


def _probed(
    probes: ProbeLike | Iterable[ProbeLike], settings: Mapping[str, Mapping[str, str]]
) -> dict[str, Probed]:
    """The results of probes, by grader."""
    given = list(probes) if isinstance(probes, Iterable) else [probes]
    for probe in given:
        name = one_line(repr(probe.grader), 80)
        if probe.grader not in settings:
            raise ReportError(
                f"the probe is for {name}, which is not certified here",
                expected=", ".join(filter(None, settings)),
            )
        for part, was in probe.fingerprints.items():
            if part in settings and (changed := changed_settings(was, settings[part])):
                raise ReportError(
                    f"the probe was run on another version of {name}",
                    found=f"another value of {setting_phrase(changed[0], part)}",
                    hint="probe the current grader",
                )
    return {probe.grader: _found(probe) for probe in given}


def _found(probe: ProbeLike) -> Probed:
    holes, allowed = (
        tuple(dict.fromkeys(one.kind for one in some)) for some in (probe.findings, probe.allowed)
    )
    return Probed(len(probe.samples), probe.tries, holes, allowed)


def _time_text(made: datetime) -> str:
    return f"{made.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _release() -> str:
    try:
        return version("grader-workbench")
    except PackageNotFoundError:
        return "unknown"
