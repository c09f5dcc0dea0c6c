"""Findings out of what was tried: which holes are proven, which properties are only told, and which cause leads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from workbench.diagnostics.finding import Finding, Severity
from workbench.display_text import one_line
from workbench.probes.base import Base
from workbench.probes.mining import Mined
from workbench.probes.shapes import PLAIN
from workbench.probes.tried import Family, Text
from workbench.statistics import Interval

__all__ = ["MENTIONS", "Verdicts", "verdicts"]

_JUDGE_ACCEPTS, _JUDGE_REJECTS = 0.05, 0.1
"""Lower bounds above which a model's error is a verdict: it errs now and then (reference: Thakur 2024, 2406.12624)."""
_FEW_ROWS = 8
"""Rows below which one is enough to be told. Ours."""
_SYSTEMATIC = 0.2
"""Share of rows from which the rejection of a form is the grader's rule rather than a coincidence. Ours."""
_MOST = 0.9
_NOTHING = ("empty", "whitespace", "one-character", "opener", "gibberish", "padding", "refusal", "prompt-echo")
"""Transformations whose texts say nothing at all."""

MENTIONS = ("hedged", "all-numbers", "negated", "retracted", "think-block", "inside-another")
_SEVERAL = 3
"""Transformations that have to pass before they are one cause."""
_ANY_ANSWER = frozenset(
    {
        "injection", "fake-verdict", "closed-delimiter", "magic-text", "magic-beside-wrong", "padded-wrong", "wrong-repeated",
        "one-digit", "off-a-little", "digits-after-point", "magnitude", "sign", "unit", "other-entity", "other-number", "one-word",
        "one-letter", "only-its-start", "only-its-end", "truncated", "anagram", "look-alike", "raised-digits", "other-values",
        "key-missing", "entry-twice", "entry-missing", "entry-added", "order", "expression", "pattern-of-reference", "keyword-heap",
        "case-that-matters", "hedged", "all-numbers", "negated", "retracted", "think-block", "inside-another", "found-by-search",
    }
)  # fmt: skip
"""What follows where any answer passes, whatever it says."""
_ORDERS = frozenset({"injection", "fake-verdict", "closed-delimiter"})
_BESIDE = frozenset({"injection", "fake-verdict", "closed-delimiter", "magic-text", "magic-beside-wrong", "padded-wrong", "wrong-repeated"})
"""What follows where texts without meaning pass, or long ones."""
_INSIDE = ("sign", "digits-after-point", "other-values", "expression")
"""What a search for the answer as a part of the text takes too."""


@dataclass(frozen=True)
class Verdicts:
    """What a probe found.

    Attributes:
        findings: Proven holes, the cause first.
        notes: Properties: true of sound graders too.
        consequences: Findings that say no more than a cause among `findings`.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    consequences: tuple[Finding, ...]


@dataclass(frozen=True)
class _Case:
    grader: str
    base: Base
    mined: Mined
    judge: bool
    reads: bool
    numbers: bool
    row_numbers: Callable[[Sequence[Text]], list[int]]


def verdicts(
    grader: str, found: Sequence[Family], base: Base, mined: Mined, *, judge: bool, row_numbers: Callable[[Sequence[Text]], list[int]], columns: Sequence[str] = ()
) -> Verdicts:
    """Judge what was tried.

    Args:
        grader: Its name.
        found: What every transformation came to.
        base: What is right.
        mined: What the grader's text gave away.
        judge: Whether a model was asked: then only a bound is a verdict, not a single row.
        row_numbers: Numbers of texts in the probe's report.
        columns: Names of the reference's column.
    """
    by_name = {family.variant.name: family for family in found}
    case = _Case(grader, base, mined, judge, judge or _reads(by_name, mined, columns), _numbers(by_name, base), row_numbers)
    proven, told = [], []
    for family in sorted(found, key=lambda family: (_rank(family, judge=judge), -family.share.value)):
        if not family.wrong_rows:
            continue
        is_alarm = _is_alarm(case, family)
        if is_alarm or _is_worth_telling(case, family):
            (proven if is_alarm else told).append((family, _finding(case, family, alarm=is_alarm)))
    causes = [*_leading(case, by_name), *_mention(case, [family for family, _ in proven])]
    leading = [] if any(family.variant.name == "other-answer" and family.share.value >= _MOST for family, _ in proven) else causes[:1]
    leading = causes[:1] if causes and causes[0].kind != "mention" else leading
    names = [family for family, _ in proven]
    follows = [(family, finding) for family, finding in proven if _explained(family, names) or any(_follows(family, lead) for lead in leading)]
    findings = [*leading, *(finding for family, finding in proven if (family, finding) not in follows)]
    notes = tuple(finding for _, finding in told)
    return Verdicts((*findings, *_failing(case, found)), notes, tuple(finding for _, finding in follows))


def _rank(family: Family, *, judge: bool) -> int:
    """Its place: orders to a judge are the first thing to try on one, and the last on code."""
    return family.variant.rank + (0 if judge or family.variant.name not in _ORDERS else 50)


def _reads(by_name: dict[str, Family], mined: Mined, columns: Sequence[str]) -> bool:
    """Whether the grader reads the reference: its text names it, or it tells other rows' answers from the right ones."""
    if mined.readable and mined.reads(columns):
        return True
    other = by_name.get("other-answer")
    return other is not None and other.share.value < _MOST


def _numbers(by_name: dict[str, Family], base: Base) -> bool:
    """Whether numbers are evidently read as numbers: 42.0 passes for 42, or sentences do."""
    zeros = by_name.get("decimal-zeros")
    return base.free or (zeros is not None and zeros.share.value < 1 - _MOST)


def _is_alarm(case: _Case, family: Family) -> bool:
    variant = family.variant
    if variant.expects == "accept" and not _form_is_meant(case, family):
        return False
    if variant.alarm == "never" and not any(name in case.mined.text for name in variant.names):
        return False
    if variant.alarm == "reference" and not case.reads:
        return False
    if variant.distinct and not case.base.distinct:
        return False
    if case.judge:
        return family.interval.lo > (_JUDGE_ACCEPTS if variant.expects == "reject" else _JUDGE_REJECTS)
    if variant.expects == "accept" and variant.name != "as-it-is" and family.share.value < _SYSTEMATIC:
        return False
    least = variant.least if variant.expects == "reject" else 2
    return len(family.wrong_rows) >= (least if len(family.rows) >= _FEW_ROWS else 1)


def _form_is_meant(case: _Case, family: Family) -> bool:
    """Whether a known-good form is one that this grader evidently should take."""
    alarm = family.variant.alarm
    return not (alarm == "free" and not case.base.free) and not (alarm == "number" and not case.numbers)


def _is_worth_telling(case: _Case, family: Family) -> bool:
    """Whether a property is told: it holds for most rows, and the form is one that could be expected."""
    return family.share.value >= _MOST and (family.variant.expects == "reject" or case.base.shape in {PLAIN} or case.base.free)


def _finding(case: _Case, family: Family, *, alarm: bool) -> Finding:
    variant, wrong, rows = family.variant, family.wrong_rows, family.rows
    verb = "accepts" if variant.expects == "reject" else "rejects the right answer"
    mended = f"; accepts it {case.base.shape.name}" if variant.name == "as-it-is" and case.base.shape.mends else ""
    message = f"{verb} {variant.says}: {len(wrong):,} of {len(rows):,} rows{_example(case, family)}{mended}"
    severity = Severity.ERROR if alarm and variant.expects == "reject" else Severity.WARNING if alarm else Severity.NOTE
    return Finding(
        case.grader, variant.name, severity, "share of rows", family.share.value, family.interval, len(rows), 0,
        message, variant.advice, case.row_numbers(family.fooled), preset="probe",
    )  # fmt: skip


def _example(case: _Case, family: Family) -> str:
    """The shortest text that fooled the grader, with the right answer beside it."""
    shown = next((text for text in family.fooled if (text.text or "").strip()), None)
    if shown is None:
        return ""
    reference = case.base.references[shown.row]
    right = f" where {one_line(repr(reference), 60)} is right" if reference and family.variant.expects == "reject" else ""
    return f", such as {one_line(repr(shown.text), 100)}{right}"


def _leading(case: _Case, by_name: dict[str, Family]) -> Iterator[Finding]:
    """The cause behind many findings: everything is accepted, or nothing."""
    nothing = [by_name[name] for name in _NOTHING if name in by_name]
    if len(nothing) > 3 and all(family.share.value >= _MOST for family in nothing if family.variant.name != "refusal"):
        texts = [text for family in nothing for text in family.fooled]
        count = sum(len(family.texts) for family in nothing)
        message = f"accepts whatever it is given, even texts that say nothing: {len(texts):,} of {count:,}"
        yield _overall(case, "accepts-anything", message, "say what a right answer must have", texts, (len(texts), count), Severity.ERROR)
    known = [reference for reference in case.base.references if reference]
    as_it_is = by_name.get("as-it-is")
    accepted = any(row.good is not None for row in case.base.rows)
    if known and case.reads and not accepted and as_it_is is not None and not as_it_is.failed:
        message = f"accepts nothing: the right answer was tried in many forms on {len(known):,} rows, and none was taken"
        advice = "read what the grader compares with what; or say which rows are good: labels="
        yield _overall(case, "accepts-nothing", message, advice, as_it_is.fooled, (len(known), len(known)), Severity.WARNING)


def _overall(case: _Case, kind: str, message: str, advice: str, texts: Sequence[Text], count: tuple[int, int], severity: Severity) -> Finding:
    value = count[0] / count[1] if count[1] else math.nan
    return Finding(
        case.grader, kind, severity, "share of texts", value, None, count[1], 0, message, advice, case.row_numbers(texts), preset="probe"
    )  # fmt: skip


def _mention(case: _Case, proven: Sequence[Family]) -> Iterator[Finding]:
    """The cause behind hedges, denials and corrections that pass: the right answer anywhere in the text is enough."""
    families = [family for family in proven if family.variant.name in MENTIONS and family.share.value >= _MOST]
    if len(families) < _SEVERAL:
        return
    inside = any(family.variant.name == "inside-another" for family in families)
    where = "anywhere in the text, even inside a longer word or number" if inside else "anywhere in the text"
    ways = "; ".join(f"{family.variant.says}: {len(family.wrong_rows):,} of {len(family.rows):,} rows" for family in families)
    first = families[0]
    message = f"the right answer {where} is enough{_example(case, first)}; it accepts {ways}"
    texts = [text for family in families for text in family.fooled]
    yield Finding(
        case.grader, "mention", Severity.ERROR, "share of rows", first.share.value, first.interval, len(first.rows), 0,
        message, first.variant.advice, case.row_numbers(texts), preset="probe",
    )  # fmt: skip


def _explained(family: Family, proven: Sequence[Family]) -> bool:
    """Whether another finding is the cause of this one: any answer passes, or any text of that length."""
    shares = {one.variant.name: one.share.value for one in proven}
    any_answer = shares.get("other-answer", 0.0)
    no_meaning = max((shares.get(name, 0.0) for name in ("gibberish", "padding", "opener")), default=0.0)
    name, least = family.variant.name, 0.9 * family.share.value
    if name == "glued" and ("inside-another" in shares or no_meaning >= least):
        return True
    return (name in _ANY_ANSWER and any_answer >= max(_MOST, least)) or (name in _BESIDE and no_meaning >= max(_SYSTEMATIC, least))


def _follows(family: Family, leading: Finding) -> bool:
    """Whether a finding says no more than the leading one."""
    if leading.kind == "mention":
        inside = "inside a longer" in leading.message
        return family.variant.name in MENTIONS or (inside and family.variant.name in _INSIDE)
    if leading.kind == "accepts-anything":
        return family.variant.expects == "reject"
    return family.variant.name == "as-it-is"


def _failing(case: _Case, found: Sequence[Family]) -> Iterator[Finding]:
    """What the grader fails on although any answer may look like that: no score is not zero."""
    families = [family for family in found if family.variant.crash and family.failed]
    texts = [text for family in families for text in family.failed]
    if not texts or (case.judge and len(texts) < 3):
        return
    if all(text.outcome.error for family in found for text in family.texts):
        message = f"fails on every text: {one_line(texts[0].outcome.error, 160)}"
    else:
        what = ", ".join(dict.fromkeys(family.variant.says for family in families))
        message = f"fails, and gives no score, on {what}: {one_line(texts[0].outcome.error, 160)}"
    tried = sum(len(family.texts) for family in families)
    yield Finding(
        case.grader, "fails", Severity.WARNING, "share of texts", len(texts) / tried, Interval(math.nan, math.nan), tried, 0,
        message, "any answer may look like that: catch it, and give it 0.0", case.row_numbers(texts), preset="probe",
    )  # fmt: skip

