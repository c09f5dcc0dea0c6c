"""`Certification`: the result of `wb.certify`, as three sentences, a table of rates and one of checks."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.analysis.finding import percent
from workbench.analysis.statistics import Estimate, Interval
from workbench.analysis.statistics.means import Share
from workbench.core.display import DisplayBlock, Displayed, Paragraph, Span, TableBlock, html_of
from workbench.core.display_html import STYLE
from workbench.core.display_text import counted, encodable, one_line
from workbench.core.errors import ReportError
from workbench.core.files import write_atomically
from workbench.probes.board import as_suite
from workbench.probes.certification.cost import CertificationCost
from workbench.probes.certification.identity import EarlierLooks, judge_fingerprint, splits_phrase
from workbench.probes.certification.judged_rows import verdicts_of
from workbench.probes.certification.settings import FAIL, UNTESTED, JudgeCheck
from workbench.report.cases import money

if TYPE_CHECKING:
    import pandas as pd

    from workbench.report import Report

CERTIFIED, NOT_CERTIFIED, UNDECIDED = "certified", "not certified", "cannot be said yet"

WRONG = ("accepted bad", "rejected good")
"""Kinds of rows that `Certification.rows` returns."""


@dataclass(frozen=True)
class JudgeRates:
    """The rates of a judge on test rows.

    Attributes:
        true_positive: Share of good rows accepted.
        true_negative: Share of bad rows rejected.
        kappa: Agreement with the labels beyond chance.
        agreement: Share of rows with the verdict of their label.
        constant: Share of rows that agree with always giving the more frequent verdict, whose kappa is 0.
        people: Mean kappa of the annotators with each other; None with one annotator.
        with_people: Mean kappa of the judge with one of them; None with one annotator.
        accepted: Share of all judged rows that it accepts.
        predicted: Share of good rows among all, by prediction-powered inference; see `predicted_mean`.
        corrected: The same by Rogan & Gladen; see `corrected_rate`.
        good_labels: Share of labelled rows that are good.
    """

    true_positive: Share
    true_negative: Share
    kappa: Estimate
    agreement: Share
    constant: float
    people: Estimate | None
    with_people: Estimate | None
    accepted: Share
    predicted: Estimate
    corrected: Estimate
    good_labels: Share


@dataclass(frozen=True, eq=False, repr=False)
class Certification(Displayed):
    """Whether a judge may be used, with its rates, checks and cost. Prints as three lines and two tables.

    Attributes:
        judge: Name of the judge.
        verdict: "certified", "not certified" or "cannot be said yet".
        reason: Why, in one sentence.
        advice: What to do next.
        needs: Further labelled rows that decide it with 90 % power, by label: {"good": 0, "bad": 41}; None if more than 1,000 rows
            would be needed.
        plan: Rows of each label that a judge needs whose two rates are 0.95: the label plan.
        limits: Lowest true-positive and true-negative rate.
        level: One-sided level of the bounds that decide: 0.025 at a first look.
        rates: The rates on test rows; None if nothing was judged.
        checks: The checks, in order.
        splits: Labelled rows of each split.
        looks: Earlier looks at the test rows.
        fingerprint: Digests of settings, prompt, model and parser.
        models: Models that were called.
        cost: The estimate that was printed first.
        spent: US dollars, tokens and rows graded.
        use: "test" or "dev".
        report: The report of the run, for its rows; None if nothing was judged.
        notes: Notes of the runs.
        pass_threshold: Lowest score that accepts a row for which the judge returns no verdict itself.
    """

    _label = "Certification"

    judge: str
    verdict: str
    reason: str
    advice: str
    needs: Mapping[str, int | None]
    plan: Mapping[str, int | None]
    limits: tuple[float, float]
    level: float
    rates: JudgeRates | None
    checks: tuple[JudgeCheck, ...]
    splits: Mapping[str, int]
    looks: EarlierLooks
    fingerprint: Mapping[str, str]
    models: tuple[str, ...]
    cost: CertificationCost
    spent: tuple[float, float, int] = (0.0, 0.0, 0)
    use: str = "test"
    report: Report | None = field(default=None)
    notes: tuple[str, ...] = ()
    pass_threshold: float = 0.5

    @property
    def is_certified(self) -> bool:
        """Whether the verdict is "certified"."""
        return self.verdict == CERTIFIED

    @property
    def failed(self) -> tuple[JudgeCheck, ...]:
        """The checks with the outcome FAIL."""
        return tuple(check for check in self.checks if check.outcome == FAIL)

    def check(self, judge: Any) -> tuple[str, ...]:
        """Parts of a judge that differ from the one that was certified: settings, prompt, model, parser; () for none.

        Args:
            judge: A judge, an `Entry` or a suite, as in `wb.certify`.
        """
        now = judge_fingerprint(as_suite(judge), self.pass_threshold)
        return tuple(part for part, value in now.items() if self.fingerprint.get(part) != value)

    def __getitem__(self, name: str) -> JudgeCheck:
        """The check with this name.

        Raises:
            KeyError: There is none.
        """
        found = {check.name: check for check in self.checks}
        if name not in found:
            raise KeyError(f"no check {name!r}; there are {', '.join(found)}")
        return found[name]

    def rows(self, which: str) -> pd.DataFrame:
        """Rows to read: "accepted bad" or "rejected good", or the evidence of a check by its name.

        Raises:
            ReportError: Another name, or nothing was judged.
        """
        report = self.report
        if report is None:
            raise ReportError("nothing was judged", hint="certify with labels")
        if which in WRONG:
            is_good = which == WRONG[1]
            rows = report.row_numbers({"label": is_good})
            verdicts = verdicts_of(report.grades[self.judge], self.pass_threshold)[rows]
            return report.rows(self.judge, where=rows[verdicts == (not is_good)].tolist())
        names = [check.name for check in self.checks]
        if which not in names:
            raise ReportError(f"unknown rows {which!r}", expected=", ".join((*WRONG, *names)))
        return report.rows(self.judge, where=list(self[which].rows))

    @property
    def lines(self) -> tuple[str, str, str]:
        """The verdict, what to do, and what it is based on."""
        name = one_line(self.judge, 80)
        verdict = self.verdict
        if verdict == UNDECIDED and (more := needs_phrase(self.needs)):
            verdict = f"{verdict} ({more})"
        return f"{name}: {verdict}: {self.reason}", f"What to do: {self.advice}", f"Based on {self._basis()}"

    def _basis(self) -> str:
        spent = f"spent {money(self.spent[0])}" if self.spent[0] or not self.cost.is_free else "no cost"
        return f"{splits_phrase(self.splits)}; {self.looks.sentence}; {self.spent[2]:,} rows graded, {spent}."

    def spec(self) -> dict[str, Any]:
        """The certification as a plain dict, for JSON; without rows of the data."""
        rates = self.rates
        return {
            "judge": encodable(self.judge), "verdict": self.verdict, "reason": encodable(self.reason), "advice": encodable(self.advice),
            "needs": dict(self.needs), "label_plan": dict(self.plan),
            "limits": {"true_positive_rate": self.limits[0], "true_negative_rate": self.limits[1]}, "level": self.level,
            "rates": None if rates is None else _rates_spec(rates), "checks": [_check_spec(check) for check in self.checks],
            "splits": dict(self.splits), "use": self.use,
            "looks": {"known": self.looks.known, "number": self.looks.number, "same": len(self.looks.same), "others": len(self.looks.others)},
            "fingerprint": dict(self.fingerprint), "models": list(self.models),
            "cost": {"estimated": _number(self.cost.dollars), "requests": self.cost.requests, "spent": _number(self.spent[0]), "tokens": _number(self.spent[1]), "graded": self.spent[2]},
            "notes": [encodable(note) for note in self.notes],
        }  # fmt: skip

    def to_json(self, path: str | Path | None = None) -> str:
        """The certification as JSON text, also written to a file if one is named.

        Raises:
            FormatError: The file cannot be written.
        """
        text = f"{json.dumps(self.spec(), indent=2, allow_nan=False)}\n"
        if path is not None:
            write_atomically(path, text)
        return text

    def to_markdown(self, path: str | Path) -> Path:
        """Write the certification as a Markdown file.

        Raises:
            FormatError: The file cannot be written.
        """
        return write_atomically(path, self._repr_markdown_())

    @property
    def blocks(self) -> Iterator[DisplayBlock]:
        """Its parts for display, for pages that contain it."""
        return self._blocks()

    def to_html(self, path: str | Path) -> Path:
        """Write the certification as one self-contained HTML page.

        Raises:
            FormatError: The file cannot be written.
        """
        title = html.escape(f"Certification of {one_line(self.judge, 80)}")
        policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        head = f"<meta charset='utf-8'>{policy}<title>{title}</title><style>{STYLE}\n:root{{color-scheme:light dark}}</style>"
        page = f"<!doctype html>\n<html lang='en'><head>{head}</head><body class='wb-cell'>{html_of(self._blocks())}</body></html>\n"
        return write_atomically(path, page)

    def __repr__(self) -> str:
        return f"Certification({self.judge!r}, {self.verdict})"

    def _blocks(self) -> Iterator[DisplayBlock]:
        first, *others = self.lines
        yield Paragraph(first, "lead")
        yield from map(Paragraph, others)
        if self.rates is not None:
            yield TableBlock(
                ("rate", "value", "95 % CI", "limit", "counts"),
                self._rate_rows(self.rates),
                numbers={1, 2, 3},
            )
        if self.checks:
            rows = [(check.name, _outcome(check), check.sentence) for check in self.checks]
            yield TableBlock(("check", "outcome", "found"), rows, limit=400)
            for check in self.failed:
                yield Paragraph(f"{check.name}: {check.advice}.", "quiet")
        for note in self.notes:
            yield Paragraph(note, "quiet")

    def _rate_rows(self, rates: JudgeRates) -> list[tuple[str, ...]]:
        def line(name: str, value: float, interval: Interval, limit: str, text: str) -> tuple[str, ...]:
            known = not math.isnan(interval.lo)
            return (
                name,
                _digits(value),
                f"{interval.lo:.2f} to {interval.hi:.2f}" if known else "-",
                limit,
                text,
            )

        tpr, tnr = rates.true_positive, rates.true_negative
        rows = [
            line("true positives (good accepted)", tpr.value, tpr.interval(), f"{self.limits[0]:.2f}", f"{tpr.k:,} of {tpr.n:,} good rows"),
            line("true negatives (bad rejected)", tnr.value, tnr.interval(), f"{self.limits[1]:.2f}", f"{tnr.k:,} of {tnr.n:,} bad rows"),
            line("agreement", rates.agreement.value, rates.agreement.interval(), "", f"a constant verdict agrees on {percent(rates.constant)}"),
            line("kappa", rates.kappa.value, rates.kappa.interval(), "", rates.kappa.reason or "a constant verdict has 0"),
        ]  # fmt: skip
        if rates.people is not None and rates.with_people is not None:
            text = f"the judge with one of them {_digits(rates.with_people.value)}"
            rows.append(line("kappa of people with each other", rates.people.value, rates.people.interval(), "", rates.people.reason or text))  # fmt: skip
        rows.append(line("accepted", rates.accepted.value, rates.accepted.interval(), "", f"{rates.accepted.k:,} of {counted(rates.accepted.n, 'row')}, as judged"))  # fmt: skip
        for name, found, text in (
            ("good, prediction-powered", rates.predicted, "labels of rows drawn at random, or by verdict"),
            ("good, Rogan-Gladen", rates.corrected, "labels of rows drawn at random, or by label"),
        ):
            rows.append(line(name, found.value, found.interval(), "", found.reason or text))
        return rows


def needs_phrase(needs: Mapping[str, int | None]) -> str:
    """Such as "12 more good rows, 41 more bad rows"; "" if nothing is needed."""
    parts = []
    for label, count in needs.items():
        if count is None:
            parts.append(f"more than 1,000 more {label} rows")
        elif count:
            parts.append(counted(count, f"more {label} row"))
    return ", ".join(parts)


def _outcome(check: JudgeCheck) -> Any:
    if check.outcome == FAIL:
        return Span(check.outcome)
    if check.outcome != UNTESTED and check.needed:
        return f"{check.outcome} ({check.needed} more rows)"
    return check.outcome


def _digits(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _number(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None


def _interval_spec(part: Share | Estimate) -> dict[str, Any]:
    low, high = part.interval()
    return {"value": _number(part.value), "low": _number(low), "high": _number(high)}


def _share_spec(part: Share) -> dict[str, Any]:
    return {**_interval_spec(part), "count": part.k, "of": part.n}


def _estimate_spec(part: Estimate | None) -> dict[str, Any] | None:
    return None if part is None else {**_interval_spec(part), "of": part.n, "reason": part.reason}


def _rates_spec(rates: JudgeRates) -> dict[str, Any]:
    return {
        "true_positive_rate": _share_spec(rates.true_positive), "true_negative_rate": _share_spec(rates.true_negative),
        "agreement": _share_spec(rates.agreement), "constant": _number(rates.constant), "kappa": _estimate_spec(rates.kappa),
        "kappa_people": _estimate_spec(rates.people), "kappa_with_people": _estimate_spec(rates.with_people),
        "accepted": _share_spec(rates.accepted), "predicted": _estimate_spec(rates.predicted), "rogan_gladen": _estimate_spec(rates.corrected),
    }  # fmt: skip


def _check_spec(check: JudgeCheck) -> dict[str, Any]:
    interval = check.interval
    return {
        "name": check.name, "outcome": check.outcome, "found": encodable(check.sentence), "value": _number(check.value),
        "low": None if interval is None else _number(interval.lo), "high": None if interval is None else _number(interval.hi),
        "rows": check.n, "limit": check.limit, "blocks": check.blocks, "needed": check.needed, "advice": encodable(check.advice),
    }  # fmt: skip
