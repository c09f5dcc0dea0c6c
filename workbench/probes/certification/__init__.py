"""`wb.certify`: whether a judge may be used, by lower bounds of its rates on rows that people labelled, and by checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.labels import Votes, read_labels
from workbench.analysis.statistics import LabelCodes
from workbench.core.errors import SamplesError
from workbench.core.grades import Grades
from workbench.data.samples import Samples, as_samples
from workbench.judges import PairwiseJudge
from workbench.judges.budget import Budget, BudgetError, as_budget
from workbench.probes.board import as_suite
from workbench.probes.certification.behaviour import Behaviour, planned_requests, replacement
from workbench.probes.certification.by_column import (
    annotators,
    check_compared,
    length,
    position,
    refusals,
    self_preference,
    transport,
)
from workbench.probes.certification.cost import CertificationCost, confirmed, cost_of, remaining
from workbench.probes.certification.identity import (
    TEST,
    EarlierLooks,
    earlier_looks,
    judge_fingerprint,
    judges_of,
    models_of,
    names_of,
    opened_record,
    row_digests,
    split_counts,
    split_of_rows,
)
from workbench.probes.certification.judge_certificate import Certification as Certification
from workbench.probes.certification.judged_rows import JudgedRows, stored_grades, verdicts_of
from workbench.probes.certification.prompt_words import prompt_check, request_text
from workbench.probes.certification.settings import (
    CHECKS,
    FAIL,
    CertifySettings,
    JudgeCheck,
    certify_settings,
    rate_limits,
    untested,
)
from workbench.probes.certification.verdict import Basis, concluded
from workbench.report import Report
from workbench.report.digests import digest
from workbench.report.settings import label_column
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from workbench.store.looks import LookFile, Looks


def certify(
    judge: Any,
    samples: Any,
    *,
    labels: Any = None,
    limit: float | tuple[float, float] = 0.80,
    budget: Budget | float | None = None,
    **settings: Any,
) -> Certification:
    """Whether a judge may be used: certified, not certified, or cannot be said yet with the rows that are missing.

    The estimated cost is printed first; nothing is sent without `budget=`, `confirm=True` or the user's yes. A judge is **certified**
    if the lower ends of the 95 % intervals of its true-positive rate (share of good rows accepted) and its true-negative rate (share
    of bad rows rejected) are both at the limit or above, and no check fails; **not certified** if a rate is shown to be below the
    limit, or a check fails. Each is wrong in at most 5 % of cases, at any number of rows. Otherwise it **cannot be said yet**, and
    `needs` has the further rows of each label that decide it with 90 % power.

    Rates count the labelled test rows with a verdict; each prompt's rows are one cluster. Test rows are meant to be used once for a
    judge: further looks are recorded with `store=` or `looks=`, stated, and decided at stricter levels, whose sum is 5 %. Without
    labels the result is the label plan: how many good and bad rows to label, and nothing is sent.

    Args:
        judge: A judge or other grader, an `Entry`, or a suite with one score per row; or the name of a column with stored verdicts or
            scores, or of two with the letters (A, B, TIE) that won a pair in both orders: then nothing is sent.
        samples: As in `Suite.run`. Unlabelled rows are used for the corrected rates.
        labels: True (good), False (bad) or None for each row, the name of a column, or the names of several annotators' columns.
        limit: Lowest rate, or the lowest true-positive rate and the lowest true-negative rate.
        budget: The maximum that the judge may spend, as in `Suite.run`.
        settings: See `CertifySettings`: `store`, `looks`, `confirm`, `split`, `use`, `against`, `compare`, `skip`, `unlabelled`,
            `pass_threshold`, `seed`, `progress`.

    Raises:
        ReportError: Settings or labels that cannot be used, or no confirmation and no budget where no user can reply.
        SamplesError: The samples cannot be read.
        TypeError: Something that is not a grader, or an unknown setting.

    Example:
        >>> import workbench as wb
        >>> rows = [{"prompt": f"{n}+{n}?", "completion": f"{2 * n + n % 2}", "expected": f"{2 * n}", "good": n % 2 == 0} for n in range(100)]
        >>> print(wb.certify(wb.ExactMatch(), rows, labels="good", progress=False).lines[0])
        exact-match: certified: TPR 1.00 (95 % CI 0.93 to 1.00) and TNR 1.00 (95 % CI 0.93 to 1.00) reach the limit 0.80
    """
    return _Certifier(
        judge, as_samples(samples), labels, rate_limits(limit), as_budget(budget), certify_settings(settings)
    ).result()


@dataclass
class _Certifier:
    """One certification, from its rows to its result."""

    judge: Any
    samples: Samples
    labels: Any
    limits: tuple[float, float]
    budget: Budget | None
    settings: CertifySettings
    spent: tuple[float, float, int] = (0.0, 0.0, 0)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        is_stored = isinstance(self.judge, str | list | tuple)
        self.suite: Suite | None = None if is_stored else _as_judge(self.judge)
        self.name = " and ".join(names_of(self.judge)) if self.suite is None else self.suite.score_name
        column = label_column(self.samples, self.labels)
        self.codes = read_labels(column, len(self.samples))
        self.votes = column if isinstance(column, Votes) else None
        self.splits = split_of_rows(self.samples, self.settings.split, self.suite, self.settings.seed)
        self.used = self._used_rows()
        self.counts = split_counts(self.splits, self.codes >= 0)
        self.scale = _scale(self.suite)
        given = self.settings.pass_threshold
        self.threshold = sum(self.scale) / 2 if given is None else float(given)
        self.fingerprint = (
            {"judge": digest(self.name)[:16]}
            if self.suite is None
            else judge_fingerprint(self.suite, self.threshold)
        )

    def _used_rows(self) -> NDArray[np.intp]:
        """The labelled rows of the split in use, and some unlabelled rows outside the examples, in order."""
        labelled = np.flatnonzero((self.codes >= 0) & (self.splits == self.settings.use))
        others = np.flatnonzero((self.codes < 0) & (self.splits == self.settings.use))
        max_others = self.settings.unlabelled
        if len(others) > max_others:
            others = np.random.default_rng(self.settings.seed).choice(others, max_others, replace=False)
        return np.sort(np.concatenate([labelled, others])).astype(np.intp)

    def skips(self, name: str) -> bool:
        return name.partition(":")[0] in names_of(self.settings.skip)

    @property
    def labelled(self) -> NDArray[np.intp]:
        return self.used[self.codes[self.used] >= 0]

    def result(self) -> Certification:
        basis = Basis(
            self.name, self.limits, self.counts, self.fingerprint, self.cost, self.settings.use, self._models(), self.threshold
        )  # fmt: skip
        if not len(self.labelled):
            return concluded(basis, None, [], EarlierLooks(known=False), self)
        judges = [] if self.suite is None else judges_of(self.suite)
        first = untested("prompt", "skipped") if self.skips("prompt") else prompt_check(judges, self._first())
        if first.outcome == FAIL:
            # Known without a request: each would be paid for a verdict that is read as another one.
            return concluded(basis, None, [first], EarlierLooks(known=False), self)
        # Settings that cannot be used fail before anything is paid for.
        if not self.skips("transport"):
            check_compared(self.samples, names_of(self.settings.compare))
        sends = self.suite is not None or bool(self.cost.steps)
        if not confirmed(self.cost, self.settings.confirm, say=self.settings.progress and sends):
            self.notes.append("Nothing was sent: the cost was not confirmed.")
            return concluded(basis, None, [first], EarlierLooks(known=False), self)
        with opened_record(self.settings.store, self.settings.looks) as record:
            if record is not None:
                record.list()  # one that cannot be read fails before anything is paid for
            return self._judged(basis, first, record if self.settings.use == TEST else None)

    def _judged(self, basis: Basis, first: JudgeCheck, record: Looks | LookFile | None) -> Certification:
        """The certification of a run, which is recorded as a look at its test rows unless it only repeats one."""
        trial = self._trial()
        checks = self._checks(trial, first)
        if self.settings.use != TEST:
            return concluded(basis, trial, checks, EarlierLooks(known=False), self)
        rows, outcome = row_digests(self.samples, self.labelled), _outcome(trial)
        fingerprint = digest(dict(self.fingerprint))
        earlier = earlier_looks(record, fingerprint, rows, outcome)
        found = concluded(basis, trial, checks, earlier, self)
        if record is not None and not earlier.repeated:
            record.add(self.name, fingerprint, rows, outcome, found.verdict)
        return found

    def _first(self) -> Any:
        for row in self.labelled.tolist()[:50]:
            try:
                return self.samples[row]
            except SamplesError:  # the row fails in the run
                continue
        return self.samples[int(self.labelled[0])]

    def _models(self) -> tuple[str, ...]:
        return () if self.suite is None else tuple(models_of(self.suite))

    @cached_property
    def replaced(self) -> tuple[str, Suite | Grades] | None:
        """Name of the judge that this one replaces, and its suite, or its stored grades of the rows in use; None without."""
        against = self.settings.against
        if against is None or self.skips("replacement"):
            return None
        if isinstance(against, str):
            return against, stored_grades(self.samples.take(self.used), against)
        suite = _as_judge(against)
        return suite.score_name, suite

    @cached_property
    def cost(self) -> CertificationCost:
        """The estimate of all requests."""
        old = None if self.replaced is None else self.replaced[1]
        old_suite = old if isinstance(old, Suite) and len(self.labelled) else None
        suite = old_suite if self.suite is None else self.suite
        if suite is None:
            return CertificationCost({}, 0.0, 0.0, is_free=True, budget=self.budget)
        codes = self.codes[self.used]
        steps: dict[str, int] = {}
        if self.suite is not None and len(self.labelled):
            steps = {
                "labelled rows": len(self.labelled),
                "unlabelled rows": len(self.used) - len(self.labelled),
            }
            steps |= planned_requests(
                int((codes == 0).sum()), int((codes == 1).sum()), len(self.used),
                has_reference="reference" in self.samples.columns, skip=names_of(self.settings.skip),
            )  # fmt: skip
        if old_suite is not None:
            steps["replaced judge"] = len(self.used)
        rows = self.samples.take(self.labelled if len(self.labelled) else np.arange(len(self.samples)))
        return cost_of(suite, rows, {name: count for name, count in steps.items() if count}, self.budget)

    def _trial(self) -> JudgedRows:
        """The verdicts on the rows in use."""
        samples = self.samples.take(self.used)
        grades = stored_grades(samples, self.judge) if self.suite is None else self._run(self.suite, samples)
        votes = None if self.votes is None else Votes(self.votes.names, self.votes.codes[self.used])
        return JudgedRows(
            self.name, samples, grades, self.codes[self.used], self.threshold, self.scale, votes
        )

    def _run(self, suite: Suite, samples: Samples, repeats: int = 1) -> Grades:
        """Grade rows, and count what was spent."""
        dollars, tokens, graded = self.spent
        left = remaining(self.budget, dollars, tokens, calls=math.ceil(graded * self.cost.per_row))
        report = suite.run(
            samples, progress=self.settings.progress, budget=left, store=self.settings.store, repeats=repeats,
        )  # fmt: skip
        columns = list(report.grades.values())
        dollars += float(sum(np.nansum(one.cost) for one in columns))
        tokens += float(sum(np.nansum(one.tokens) for one in columns))
        self.spent = (dollars, tokens, graded + len(samples) * repeats)
        self.notes += [note for note in report.notes if note not in self.notes]
        return report.grades[suite.score_name]

    def _checks(self, trial: JudgedRows, first: JudgeCheck) -> list[JudgeCheck]:
        behaviour = Behaviour(trial, self._verdicts, self.settings.seed)
        # Repeats first: they show what chance alone changes.
        asking: dict[str, Callable[[], JudgeCheck]] = {
            "repeats": lambda: behaviour.repeats(self._again),
            "padding": behaviour.padding,
            "injection": behaviour.injection,
            "reference": lambda: behaviour.reference(self._shows_reference, self.limits[1]),
        }
        reading: dict[str, Callable[[], JudgeCheck]] = {
            "refusals": lambda: refusals(trial),
            "position": lambda: position(trial),
            "length": lambda: length(trial),
            "self-preference": lambda: self_preference(trial, self._models()),
            "annotators": lambda: annotators(trial),
        }
        made = {"prompt": first} | {name: self._made(name, make) for name, make in asking.items()}
        for name, make in reading.items():
            made[name] = untested(name, "skipped") if self.skips(name) else make()
        if not self.skips("transport"):
            made |= {check.name: check for check in transport(trial, names_of(self.settings.compare))}
        if (old := self.replaced) is not None:
            made["replacement"] = _in_budget(
                "replacement", lambda: replacement(trial, self._old(trial, *old))
            )
        order = {name: at for at, name in enumerate(CHECKS)}
        return sorted(made.values(), key=lambda check: order[check.name.partition(":")[0]])

    def _made(self, name: str, make: Callable[[], JudgeCheck]) -> JudgeCheck:
        """A check that sends requests."""
        if self.skips(name):
            return untested(name, "skipped")
        if self.suite is None:
            return untested(name, "the verdicts are stored, so that nothing is sent")
        if not judges_of(self.suite) and name in ("repeats", "injection"):
            return untested(name, "the grader is not a judge")
        check = _in_budget(name, make)
        if check.n or check.outcome:
            return check
        return untested(name, "no row was graded: the budget is exhausted, or every row failed")

    def _verdicts(self, samples: Samples) -> LabelCodes:
        assert self.suite is not None
        return verdicts_of(self._run(self.suite, samples), self.threshold)

    def _again(self, samples: Samples) -> LabelCodes:
        """Verdicts of a second request for each row, for which a store does not return the first reply."""
        assert self.suite is not None
        if self.settings.store is None:
            return self._verdicts(samples)
        grades = self._run(self.suite, samples, repeats=2)
        return verdicts_of(grades.repeats[1] if len(grades.repeats) > 1 else grades, self.threshold)

    def _shows_reference(self, changed: Samples) -> bool:
        """Whether the request of a row contains its reference."""
        assert self.suite is not None
        judges = judges_of(self.suite)
        if not judges:
            return True
        if any(isinstance(judge, PairwiseJudge) for judge in judges):
            return False  # its reference may be the other completion
        sample = changed[0]
        for judge in judges:
            text = request_text(judge, sample)
            with_other = request_text(judge, replace(sample, reference="\u2402another reference\u2403"))
            if str(sample.reference) in text and (
                text != with_other or str(sample.reference) not in str(sample.thread.completion())
            ):
                return True
        return False

    def _old(self, trial: JudgedRows, name: str, old: Suite | Grades) -> JudgedRows:
        """The replaced judge on the same rows."""
        if not isinstance(old, Suite):
            return replace(trial, name=name, grades=old)
        scale, grades = _scale(old), self._run(old, trial.samples)
        threshold = self.threshold if scale == self.scale else sum(scale) / 2
        return replace(trial, name=name, grades=grades, scale=scale, pass_threshold=threshold)

    def report_of(self, trial: JudgedRows) -> Report:
        """The verdicts as a report."""
        labels = [None if code < 0 else bool(code) for code in trial.labels.tolist()]
        return Report(
            trial.samples, {trial.name: trial.grades}, labels=labels, scale=trial.scale, pass_threshold=trial.pass_threshold,
            notes=tuple(self.notes),
        )  # fmt: skip


def _in_budget(name: str, make: Callable[[], JudgeCheck]) -> JudgeCheck:
    """A check that sends requests, or why there was no money for it."""
    try:
        return make()
    except BudgetError:
        return untested(name, "the budget is exhausted")


def _as_judge(judge: Any) -> Suite:
    """The judge as a suite that gives one score per row.

    Raises:
        TypeError: Any other object.
    """
    if isinstance(judge, Report):
        raise TypeError(
            "wb.certify takes the judge and the rows, not a report: wb.certify(judge, samples, labels=...)"
        )
    try:
        return as_suite(judge)
    except TypeError:
        raise TypeError(
            f"wb.certify takes a judge, a suite or the name of a column with its verdicts, not {type(judge).__name__}"
        ) from None


def _outcome(trial: JudgedRows) -> str:
    """A digest of the labels and verdicts of the labelled rows."""
    rows = np.flatnonzero(trial.labels >= 0)
    return digest([trial.labels[rows].tolist(), trial.verdicts[rows].tolist()])


def _scale(suite: Suite | None) -> tuple[float, float]:
    """The scale of a single judge's scores; 0 to 1 for all others."""
    if suite is None or len(suite.entries) != 1:
        return 0.0, 1.0
    low, high = getattr(suite.entries[0].grader, "scale", (0.0, 1.0))
    return float(low), float(high)
