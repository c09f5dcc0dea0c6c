"""Findings and comparisons taken apart into words, counts and strips, for HTML and the app."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.finding import Finding, Severity, percent, shape_of, short_verdict
from workbench.analysis.finding_groups import COUNT
from workbench.analysis.statistics import Interval
from workbench.core.display import (
    DisplayBlock,
    Drawing,
    Folded,
    Group,
    Only,
    Paragraph,
    Parts,
    Span,
    TableBlock,
)
from workbench.core.display_html import bar, sign
from workbench.core.display_text import capital, counted, one_line, visible
from workbench.report.frames import rows_table
from workbench.report.selection import PARTS, Counts


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
    return capital(words), _subject(finding.message), _undrawn(finding.message, finding)


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
    match = COUNT.search(sentence)
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
    strip = _strip(finding.value, lo, hi, finding.limit, share=share)
    # One-sided, so narrower than an interval of the same rows; only shares are shown to be below their limit.
    if finding.severity is Severity.WITHIN_LIMIT and share and lo == 0:
        strip |= {"interval_name": "95 % bound", "interval_text": strip["interval_text"].split(" to ")[1]}
    return strip


def strip_of_share(value: float, lo: float, hi: float) -> dict[str, Any]:
    """A share from 0 to 1 with its interval on the whole axis, without a limit."""
    return {**_strip(value, lo, hi, None, share=True), "max": 1.0}


def _strip(value: float, lo: float, hi: float, limit: float | None, *, share: bool) -> dict[str, Any]:
    first, last = _axis([value, lo, hi, *([] if limit is None else [limit])], share=share)
    number = percent if share else _three_digits
    return {
        "value": value, "lo": lo, "hi": hi, "min": first, "max": last, "limit": limit,
        "limit_text": "" if limit is None else f"limit {number(limit)}",
        "value_text": number(value),
        "interval_name": "95 % interval",
        "interval_text": f"{number(lo).removesuffix(' %')} to {number(hi)}",
    }  # fmt: skip


def _axis(numbers: Sequence[float], *, share: bool) -> tuple[float, float]:
    if share:
        return 0.0, next((end for end in _ENDS if end >= max(numbers) * 1.05), 1.0)
    first, last = min(0.0, *numbers), max(0.0, *numbers)
    slack = (last - first or 1.0) * 0.1
    return first - (slack if first < 0 else 0), last + (slack if last > 0 else 0)


def _three_digits(number: float) -> str:
    return f"{number:.3g}"


def estimate(value: float, lo: float, hi: float) -> dict[str, float | None] | None:
    """A number with its interval as `Estimate`; None if there is no number."""
    if math.isnan(value):
        return None
    return {"value": value, "lo": None if math.isnan(lo) else lo, "hi": None if math.isnan(hi) else hi}


TITLES = {"both": "Both accept", "a": "Only A accepts", "b": "Only B accepts", "neither": "Neither accepts"}
"""Key of a quadrant to its name."""


def sentence(compared: Any) -> tuple[str, str]:
    """Which grader is stricter: the lead, and the rest of the sentence."""
    only_a, only_b = compared.verdicts.only_a, compared.verdicts.only_b
    if not only_a + only_b:
        rows = "the one row" if compared.n == 1 else f"all {compared.n:,} rows"
        return f"A and B give the same verdict on {rows}.", ""
    lead, rest = _direction(only_a, only_b)
    if compared.verdicts.difference.is_shown:
        return lead, rest
    return lead, f"{rest} Which of the two accepts more is inconclusive on these rows."


def _direction(only_a: int, only_b: int) -> tuple[str, str]:
    if not only_b:
        lead = f"B is stricter: it rejects {counted(only_a, 'row')} that A accepts,"
        return lead, " and accepts none that A rejects."
    if not only_a:
        lead = f"B is more lenient: it accepts {counted(only_b, 'row')} that A rejects,"
        return lead, " and rejects none that A accepts."
    lead = f"They differ both ways: B rejects {counted(only_a, 'row')} that A accepts,"
    return lead, f" and accepts {only_b:,} that A rejects."


def quadrant_counts(compared: Any) -> dict[str, Counts]:
    """Rows of each quadrant by label; accepted if either of the two accepts them."""
    a, b = compared.verdicts.a, compared.verdicts.b
    quadrants = {"both": a & b, "a": a & ~b, "b": b & ~a, "neither": ~(a | b)}
    return {key: _by_label(compared.row_labels[rows], key) for key, rows in quadrants.items()}


def _by_label(labels: NDArray[np.int8], key: str) -> Counts:
    done = "refused" if key == "neither" else "accepted"
    names = {1: f"good_{done}", 0: f"bad_{done}", -1: done}
    counted_rows = {name: int((labels == label).sum()) for label, name in names.items()}
    return {part: counted_rows.get(part, 0) for part in PARTS}


def labels_data(compared: Any, why_no_version: str = "") -> dict[str, Any]:
    """Which grader is closer to the labels, with the paired interval, and the agreement of the two.

    Args:
        compared: The two.
        why_no_version: Why a changed grader cannot be compared with itself; "" for none.
    """
    against = compared.labels
    notes = [_of_noise(compared), why_no_version]
    if against is None:
        label = "Label rows in Label mode to see which of the two is closer to the labels."
        lead, shape, lines = "None of these rows is labelled.", "note", []
        notes = [label, *notes]
    else:
        lead, shape = _who(against)
        lines, notes = _lines(against), [_on_differing(compared), *notes]
    return {
        "shape": shape,
        "lead": lead,
        "lines": [*lines, *_agreement(compared)],
        "note": " ".join(filter(None, notes)),
    }


def _who(against: Any) -> tuple[str, str]:
    gap = against.difference
    if gap.is_shown:
        return f"{'B' if gap.value > 0 else 'A'} is closer to the labels.", "good"
    return "Which one is closer to the labels is inconclusive.", "unsettled"


def _lines(against: Any) -> list[dict[str, Any]]:
    shares = (("A is right on", against.a), ("B is right on", against.b))
    lines = [_line(name, f"{percent(share.value)} of {share.n:,}") for name, share in shares]
    gap = against.difference
    return [*lines, _line("B minus A, points", _signed(100 * gap.value), interval=_points(gap.interval))]


def _line(name: str, text: str, *, strong: bool = True, interval: str = "") -> dict[str, Any]:
    return {"name": name, "text": text, "strong": strong, "interval": interval}


def _points(interval: Interval) -> str:
    if any(map(math.isnan, interval)):
        return ""
    return f"{_signed(100 * interval.lo)} to {_signed(100 * interval.hi)}"


def _signed(points: float) -> str:
    """With its sign, unless it rounds to 0."""
    return "0.0" if abs(points) < 0.05 else f"{points:+.1f}"


def _two_decimals(number: float) -> str:
    """With two decimals, and 0 without a sign."""
    return f"{round(number, 2) + 0.0:.2f}"


def _agreement(compared: Any) -> list[dict[str, Any]]:
    """Kappa between the two; none if it is unknown."""
    kappa = compared.kappa
    if math.isnan(kappa.value):
        return []
    lo, hi = kappa.interval()
    interval = "" if math.isnan(lo) else f"{_two_decimals(lo)} to {_two_decimals(hi)}"
    return [_line("A and B agree, kappa", _two_decimals(kappa.value), strong=False, interval=interval)]


def _of_noise(compared: Any) -> str:
    if not compared.is_noise:
        return ""
    return "Their mean scores differ by less than two runs of the same two graders would."


def _on_differing(compared: Any) -> str:
    """Of the labelled rows on which the two differ: how many the second gets right, and how many wrong."""
    counts = quadrant_counts(compared)
    good, bad = ({key: counts[key][f"{kind}_accepted"] for key in ("a", "b")} for kind in ("good", "bad"))
    n = sum(good.values()) + sum(bad.values())
    if not n:
        return "They give the same verdict on every labelled row."
    right = _told((bad["a"], "rejects known-bad rows"), (good["b"], "accepts known-good rows"))
    wrong = _told((good["a"], "rejects known-good rows"), (bad["b"], "accepts known-bad rows"))
    return f"Of the {counted(n, 'labelled row')} on which they differ, B is right on {right} and wrong on {wrong}."


def _told(*counts: tuple[int, str]) -> str:
    """A number of rows, and in brackets its parts."""
    made_of = [(count, words) for count, words in counts if count]
    total = sum(count for count, _ in counts)
    if len(made_of) < 2:
        return f"{total:,}" + "".join(f" ({words})" for _, words in made_of)
    return f"{total:,} ({', '.join(f'{words}: {count:,}' for count, words in made_of)})"


_MAX_ROWS = 8


def comparison_blocks(compared: Any, sentences: str) -> Iterator[DisplayBlock]:
    """Everything that is shown of a comparison.

    Args:
        compared: The comparison.
        sentences: The whole of it as text; all that a terminal shows.
    """
    if not compared.n:
        yield Paragraph(sentences, "lead")
        return
    yield Only("text", [Paragraph(sentences)])
    yield Only("html", _names(compared))
    yield Only("html markdown", _main(compared, sentences))
    yield Only("html", _rows(compared, sentences))


def _names(compared: Any) -> Iterator[DisplayBlock]:
    a, b = (Span(one_line(name), "mono") for name in (compared.a, compared.b))
    gap = Drawing(" &#160; ")
    yield Paragraph(
        Parts(Span("A"), " ", a, gap, Span("B"), " ", b, gap, Span(counted(compared.n, "row"), "quiet"))
    )


def _main(compared: Any, sentences: str) -> Iterator[DisplayBlock]:
    lead, rest = sentence(compared)
    names = [f"{letter} is {name}" for letter, name in (("A", compared.a), ("B", compared.b))]
    told = labels_data(compared)
    # Without labels the agreement of the two is all there is to show.
    note = told["note"] if compared.labels is not None else ""
    counts = quadrant_counts(compared)
    rows = [(TITLES[key], f"{sum(counts[key].values()):,}", _label_text(counts[key])) for key in TITLES]
    lines = [(line["name"], line["text"], line["interval"]) for line in told["lines"]]
    heading = Paragraph(Parts(Drawing(sign(told["shape"])), Span(told["lead"])), "lead")
    yield Paragraph(Parts(Span(lead), rest), "lead")
    yield Only("markdown", [Paragraph(f"{', '.join(names)}; {counted(compared.n, 'row')}.")])
    yield Only("html", [Group("grid", [_quadrant(TITLES[key], counts[key]) for key in TITLES])])
    yield Only("markdown", [TableBlock(["verdicts", "rows", "labels"], rows, numbers={1})])
    table = TableBlock(["", "", "95 % interval"], lines, numbers={1})
    yield Only("html", [Group("finding", [heading, *([table] if lines else []), Paragraph(note, "quiet")])])
    yield Only("markdown", [Paragraph(Parts(told["lead"], note)), Paragraph(sentences)])


def _quadrant(title: str, counts: Counts) -> DisplayBlock:
    total = sum(counts.values())
    blocks = [Paragraph(Span(title)), Paragraph(f"{total:,}", "big"), Paragraph(_label_text(counts), "quiet")]
    return Group("", [*blocks, Drawing(bar(counts) if total else "")])


def _label_text(counts: Counts) -> str:
    """Such as "166 good, 20 bad"; unlabelled rows are omitted if any row is labelled."""
    if not sum(counts.values()):
        return "no row"
    good, bad = (counts[f"{kind}_accepted"] + counts[f"{kind}_refused"] for kind in ("good", "bad"))
    return f"{good:,} good, {bad:,} bad" if good + bad else "unlabelled"


def _rows(compared: Any, sentences: str) -> Iterator[DisplayBlock]:
    yield Folded("all numbers", [Paragraph(sentences)])
    scores = [
        "A",
        "B",
        "B minus A",
    ]  # full names are above: as headers they would take the space of the texts
    top = compared.read(compared.rows[:_MAX_ROWS])
    # The columns after the four texts are the two scores and their difference.
    heads = [scores[at - 4] if 4 <= at < 7 else str(name) for at, name in enumerate(top)]
    yield Paragraph(Span("Rows, largest difference first"))
    yield rows_table(top.set_axis(heads, axis=1), scores)
