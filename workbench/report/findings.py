"""The findings of a report: as lines for printing, and taken apart for HTML and the app."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.analysis.finding import Finding, percent, shape_of, short_verdict
from workbench.core.display_text import capital, one_line, visible


class Findings(tuple[Finding, ...]):
    """Findings that print as one sentence per line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(finding_line, self)) or "no findings"


def finding_line(finding: Finding) -> str:
    """A finding in one line; one that is explained by another is below it, marked."""
    severity = finding.severity.replace("_", " ")
    mark = f"  so, {severity}: " if finding.cause else f"{severity:<7} "
    return f"{mark}{one_line(str(finding), 1_300)}"


_COUNT = re.compile(
    r"(?:all |both )?\d[\d,]*(?: of \d[\d,]*)?(?: known-(?:bad|good)| scored| labelled)? (?:rows?|scores?|prompts?|completions?|pairs?|labels?)"
)
"""The rows of a finding in its sentence, such as "50 of 290 known-bad rows"."""

_ENDS = (0.1, 0.3, 0.5, 1.0)
"""Possible ends of the axis of a share: few, so that intervals of graders can be compared visually."""


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding as `FindingData`."""
    details = ""
    if finding.kind == "broken":  # the failure is a separate sentence
        name, _, rest = finding.message.partition(": ")
        message, _, details = rest.partition(": ")
        finding = replace(finding, message=f"{name}: {message.partition(' failed')[0]} get no score")
    lead, before, sentence = _sentence(finding)
    text, link, after = _around_rows(sentence, finding)
    return {
        "kind": finding.kind,
        "shape": shape_of(finding),
        "lead": lead,
        "before": visible(before + text),
        "link": visible(link),
        "after": visible(after),
        "where": rows_behind(finding),
        "strip": strip_data(finding),
        "advice": visible(" ".join(filter(None, [details and f"{capital(details)}.", _advice(finding)]))),
    }


def rows_behind(finding: Finding) -> list[dict[str, Any]] | None:
    """The conditions that exactly the rows of a finding meet; None if it has no rows."""
    if not len(finding.rows):
        return None
    plain: dict[str, list[dict[str, Any]]] = {
        "too-lenient": [{"label": False}, {"grader": finding.grader, "passed": True}],
        "too-strict": [{"label": True}, {"grader": finding.grader, "passed": False}],
    }
    return plain.get(finding.kind, [{"finding": [finding.grader, finding.kind]}])


def _sentence(finding: Finding) -> tuple[str, str, str]:
    """The title of the finding, the start of its sentence, and the rest of it without the number that is drawn."""
    words = short_verdict(finding.kind)
    name, colon, rest = finding.message.partition(": ")
    if colon and name in {words, f"possibly {words}", f"not {words}", finding.kind}:
        called = words if name == finding.kind else name
        return capital(called), _subject(rest), _undrawn(rest, finding)
    return capital(words), "", _undrawn(finding.message, finding)


def _subject(rest: str) -> str:
    """The text before a sentence that begins with its verb."""
    return "it " if re.match(r"[a-z]+s ", rest) else ""


def _undrawn(sentence: str, finding: Finding) -> str:
    if finding.interval is None or not finding.statistic.startswith("share"):
        return sentence
    return re.sub(rf", {re.escape(percent(finding.value))}(?=$|[:;])", "", sentence, count=1)


def _around_rows(sentence: str, finding: Finding) -> tuple[str, str, str]:
    """The sentence before, in and after its reference to the evidence rows."""
    if not len(finding.rows):
        return f"{sentence}.", "", ""
    match = _COUNT.search(sentence)
    if match is None:
        return f"{sentence}: ", f"{len(finding.rows):,} rows", "."
    return sentence[: match.start()], match[0], f"{sentence[match.end() :]}."


def _advice(finding: Finding) -> str:
    parts = [part for part in (finding.outlook, finding.advice) if part]
    return " ".join(f"{capital(part)}." for part in parts)


def strip_data(finding: Finding) -> dict[str, Any] | None:
    """The interval of a finding as `StripData`; None if it has none."""
    if finding.interval is None or math.isnan(finding.interval.lo) or math.isnan(finding.value):
        return None
    lo, hi = finding.interval
    share = finding.statistic.startswith("share")
    return _strip(finding.value, lo, hi, finding.limit, share=share)


def strip_of_share(value: float, lo: float, hi: float) -> dict[str, Any]:
    """A share from 0 to 1 with its interval on the whole axis, without a limit."""
    return {**_strip(value, lo, hi, None, share=True), "max": 1.0}


def _strip(value: float, lo: float, hi: float, limit: float | None, *, share: bool) -> dict[str, Any]:
    first, last = _axis([value, lo, hi, *([] if limit is None else [limit])], share=share)
    number = percent if share else _plain
    return {
        "value": value, "lo": lo, "hi": hi, "min": first, "max": last, "limit": limit,
        "limit_text": "" if limit is None else f"limit {number(limit)}",
        "value_text": number(value),
        "interval_text": f"{number(lo).removesuffix(' %')} to {number(hi)}",
    }  # fmt: skip


def _axis(numbers: Sequence[float], *, share: bool) -> tuple[float, float]:
    if share:
        return 0.0, next((end for end in _ENDS if end >= max(numbers) * 1.05), 1.0)
    first, last = min(0.0, *numbers), max(0.0, *numbers)
    slack = (last - first or 1.0) * 0.1
    return first - (slack if first < 0 else 0), last + (slack if last > 0 else 0)


def _plain(number: float) -> str:
    return f"{number:.3g}"


def estimate(value: float, lo: float, hi: float) -> dict[str, float | None] | None:
    """A number with its interval as `Estimate`; None if there is no number."""
    if math.isnan(value):
        return None
    return {"value": value, "lo": None if math.isnan(lo) else lo, "hi": None if math.isnan(hi) else hi}
