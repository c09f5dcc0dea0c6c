"""All results of a probe and the findings that follow: which holes are confirmed, and which properties are only noted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.analysis.finding import Finding, Severity
from workbench.core.display_text import counted, one_line
from workbench.probes.acceptance import HALF, MOST
from workbench.probes.causes import ANY_ANSWER, NOTHING, ORDERS, fails_always, follows_from, leading
from workbench.probes.completion_forms import PLAIN
from workbench.probes.partial_credit import UNEARNED
from workbench.probes.probe_case import ProbeCase
from workbench.probes.tried import Family

_FEW_FAILURES = 3


def says_more(family: Family) -> bool:
    """Whether a note on a check of the form adds to the fact that any text of that form passes."""
    variant = family.variant
    if variant.expects == "accept" or variant.alarm == "form":
        return True
    return variant.gross and variant.name not in ANY_ANSWER | {"other-answer"}


def form_only(case: ProbeCase) -> Iterator[Finding]:
    """A grader that reads no reference: findings that only a reference could prevent do not apply.

    Whether rows with different references may have the same completions is a question, unless the grader is a check of the form
    by design.
    """
    taken = case.by_name.get("other-answer")
    other = taken is not None and bool(taken.wrong_rows) and bool(case.base.distinct)
    if not other:
        taken = _meaningless(case) if case.is_form_check else None
    if case.reads or taken is None:
        return
    what = "other rows' references too" if other else taken.variant.says
    count = f"{len(taken.wrong_rows):,} of {counted(len(taken.rows), 'row')}"
    message = f"checks only the form, without a reference, and accepts {what}: {count}"
    advice = "correct for a check of the form; add another grader that checks the content"
    is_question = (
        other and not case.is_form_check and taken.share.value >= MOST and "form-only" not in case.allows
    )
    severity = Severity.QUESTION if is_question else Severity.NOTE
    yield case.about("form-only", severity, message, advice, taken, taken.fooled)


def _meaningless(case: ProbeCase) -> Family | None:
    """The texts without content of which the most passed."""
    families = [case.by_name[name] for name in (*NOTHING, "format-shell", "json-shell") if case.takes(name)]
    return max(families, key=lambda family: family.share.value, default=None)


def failing(case: ProbeCase) -> Iterator[Finding]:
    """Texts on which the grader fails although any completion may look like them: an error is not a score of 0."""
    families = [
        family
        for family in case.found
        if family.variant.crash and family.failed and (case.own_thread or family.variant.name != "missing")
    ]
    texts = [text for family in families for text in family.failed]
    if not texts or (case.judge and len(texts) < _FEW_FAILURES) or list(fails_always(case)):
        return
    what = ", ".join(dict.fromkeys(family.variant.says for family in families))
    message = f"fails, and gives no score, on {what}: {one_line(texts[0].outcome.error, 160)}"
    advice = "any completion may look like that: catch it, and return 0.0"
    yield case.count(
        "fails", Severity.QUESTION, message, advice, texts, sum(len(family.texts) for family in families)
    )


_JUDGE_ACCEPTS, _JUDGE_REJECTS = 0.05, 0.1
"""Lower bounds above which a model's errors are a finding: a model makes occasional errors (Thakur 2024, 2406.12624)."""
_FEW_ROWS = 8
"""Number of rows below which two misgraded rows suffice. Workbench limit."""
_SYSTEMATIC = 0.2
"""Share of rows from which the rejection of a form is the grader's rule rather than a coincidence. Workbench limit."""
_LATER = 50
_OF_VALUES = frozenset({"other-answer", "other-values", "empty-values", "cast-value"})
_SCHEMA = re.compile(r"schema|\bstructure\b|\bkeys\b|\btypes?\b|well-?formed|valid JSON", re.IGNORECASE)
"""Terms of a description that compares the keys and types of JSON: then other values may be intended."""
_SAY_ALL = frozenset({"accepts-anything", "fails", "inconsistent"})
"""Causes that make properties irrelevant."""


@dataclass(frozen=True)
class ProbeVerdicts:
    """The results of a probe.

    Attributes:
        findings: Confirmed holes, the cause first.
        notes: Properties: true of sound graders too.
        consequences: Findings that add nothing to a cause among `findings`.
        allowed: Findings that the grader allows on purpose.
        held: Transformations that apply to this grader: the correct grade of their texts is known.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    consequences: tuple[Finding, ...]
    allowed: tuple[Finding, ...]
    held: frozenset[str]


def verdicts(case: ProbeCase) -> ProbeVerdicts:
    """Evaluate all results of one grader."""
    fooled = [family for family in sorted(case.found, key=lambda one: _order(case, one)) if family.wrong_rows]
    alarms = [family for family in fooled if _is_alarm(case, family)]
    allowed = [family for family in alarms if family.variant.name in case.allows]
    proven = [family for family in alarms if family not in allowed]
    told = [family for family in fooled if family not in alarms and _is_worth_telling(case, family)]
    if case.is_form_check:
        told = [family for family in told if says_more(family)]
    lead = leading(case, proven)
    follows = [family for family in proven if follows_from(family, lead, proven, case.base.references)]
    if case.is_rule:
        follows += [family for family in proven if family.variant.gross and family not in follows][1:]
    own = [case.finding(family, _severity(case, family)) for family in proven if family not in follows]
    named = [*lead, *own]
    named.sort(
        key=lambda finding: (
            finding.severity != Severity.ERROR and 1 + (finding.kind in {*NOTHING, UNEARNED.name})
        )
    )
    if lead and lead[0].kind in _SAY_ALL:
        told = []
    form = [*form_only(case)]
    questions = [finding for finding in form if finding.severity == Severity.QUESTION]
    notes = [finding for finding in form if finding not in questions]
    notes += [case.finding(family, Severity.NOTE) for family in told]
    return ProbeVerdicts(
        (*named, *questions, *failing(case)),
        tuple(notes),
        tuple(case.finding(family, _severity(case, family)) for family in follows),
        tuple(case.finding(family, Severity.NOTE) for family in allowed),
        frozenset(family.variant.name for family in case.found if _is_meant(case, family)),
    )


def _order(case: ProbeCase, family: Family) -> tuple[int, float]:
    """Its position: orders to a judge come first for a judge, and last for code."""
    orders = family.variant.name in ORDERS and not case.judge
    later = _LATER if orders or _is_first_of_two(case, family) or _is_alone(case, family) else 0
    rare = _LATER if family.share.value < _SYSTEMATIC and family.variant.expects == "reject" else 0
    return family.variant.rank + later + rare, -family.share.value


def _severity(case: ProbeCase, family: Family) -> Severity:
    """Accepting wrong texts is worse than rejecting correct ones: a trained policy finds and exploits it.

    A grader that accepts the number alone may ignore the unit on purpose: only its author can decide. The same is true of a
    text on the only row of its kind.
    """
    if len(family.wrong_rows) < _least(family):
        return Severity.QUESTION
    if (
        family.variant.name == "as-it-is"
        and family.share.value < HALF
        and case.cause("as-it-is", family.wrong_rows)
    ):
        return Severity.ERROR  # on these rows nothing can pass, and what they have in common is the cause
    if (
        (family.variant.expects == "accept" and not family.variant.asked)
        or family.variant.question
        or (family.variant.gross and case.is_rule)
        or _is_first_of_two(case, family)
        or _is_alone(case, family)
        or _is_of_long_texts(case, family)
        or _is_of_queries(case, family)
        or _is_of_counts(case, family)
        or (family.variant.name in _OF_VALUES and _SCHEMA.search(f"{case.grader} {case.mined.rubric}"))
        or (family.variant.name == "unit" and case.base.number_alone)
    ):
        return Severity.QUESTION
    return Severity.ERROR


def _is_first_of_two(case: ProbeCase, family: Family) -> bool:
    """Whether a program or JSON is followed by another one: which of two blocks counts is a convention."""
    rows = [case.base.rows[row] for row in family.wrong_rows]
    return family.variant.name in {"retracted", "think-block"} and all(
        row.is_code or row.json is not None for row in rows
    )


_LONG = 12
"""Words in a reference: with more, a grader may compare by similarity on purpose. Workbench limit."""


def _is_of_long_texts(case: ProbeCase, family: Family) -> bool:
    """Whether a small part of long references is changed: a comparison by similarity accepts that by design."""
    return family.variant.name in {"one-word", "only-its-start", "only-its-end"} and all(
        len(case.base.rows[row].words) > _LONG for row in family.wrong_rows
    )


_QUERY = re.compile(r"\s*(?:SELECT|WITH)\b", re.IGNORECASE)


def _is_of_queries(case: ProbeCase, family: Family) -> bool:
    """Whether other queries than the reference pass: on a small database they may have the same result."""
    return family.variant.name in {"other-answer", "one-digit", "one-word", "code-sign"} and all(
        _QUERY.match(case.base.rows[row].reference) for row in family.wrong_rows
    )


def _is_of_counts(case: ProbeCase, family: Family) -> bool:
    """Whether a sign is added where no reference has one: before a count or a position it may be a dash."""
    return family.variant.name in {"sign", "typographic-minus"} and all(
        (row.value or 0) >= 0 for row in case.base.rows
    )


_SURELY_WRONG = ("hedged", "all-numbers", "retracted", "think-block", "other-answer")


def _is_alone(case: ProbeCase, family: Family) -> bool:
    """Whether only a letter or "not" next to the reference passes: a pattern that searches, which no other wrong text passes."""
    if family.variant.name not in {"negated", "inside-another"} or any(map(case.takes, _SURELY_WRONG)):
        return False
    return family.variant.name == "negated" or not any(
        case.base.rows[row].number_text or _is_longer_number(case.base.rows[row].reference, family)
        for row in family.wrong_rows
    )


def _is_longer_number(reference: str, family: Family) -> bool:
    """Whether a misgraded text has digits added to a number with which the reference ends: certainly another number."""
    ends = re.search(r"(?:^|[\s,;(])\d+\Z", reference) is not None
    return ends and any(re.search(rf"{re.escape(reference)}\d", one.text or "") for one in family.fooled)


def _is_alarm(case: ProbeCase, family: Family) -> bool:
    """Whether the misgraded texts are a hole, and enough rows show it."""
    if not _is_meant(case, family):
        return False
    rejects = family.variant.expects == "reject"
    if family.variant.name == "as-it-is" and _is_written_otherwise(case, family):
        return False
    if case.judge:
        return family.interval.lo > (_JUDGE_ACCEPTS if rejects else _JUDGE_REJECTS)
    if not rejects and family.variant.name != "as-it-is" and family.share.value < _SYSTEMATIC:
        return False
    if family.variant.question and rejects and family.share.value < HALF:
        return False
    # A reference that is rejected in one row is worth a look, as is the only row of its kind; not for what is a question anyway.
    least = _least(family)
    if family.variant.name == "as-it-is":
        least = 1
    elif not family.variant.question or len(family.fooled) >= least:
        least = min(least, len(family.rows))
    return len(family.wrong_rows) >= least


def _is_written_otherwise(case: ProbeCase, family: Family) -> bool:
    """Whether completions are not written as the reference is, such as a table of values, or have it as a part."""
    if family.share.value >= MOST and any(row.accepted for row in case.base.rows):
        return True
    rows = [case.base.rows[row] for row in family.wrong_rows]
    return all(any(row.reference in text for text in row.accepted) for row in rows)


def _least(family: Family) -> int:
    """Rows that have to be misgraded for an error."""
    least = family.variant.least if family.variant.expects == "reject" else 2
    return least if len(family.rows) >= _FEW_ROWS else 2


def _is_meant(case: ProbeCase, family: Family) -> bool:
    """Whether the transformation applies to this grader: see `Variant.alarm`.

    A check of the form accepts any text of that form. For a user's grader it is still reported that its pattern finds the
    form inside other letters, unless it requires only letters; the settings of a workbench rule define where it looks.
    """
    variant = family.variant
    if variant.distinct and not case.base.distinct:
        return False
    if variant.needs and not case.does(variant.needs):
        return False
    if variant.seen and not any(re.search(variant.seen, text) for row in case.base.rows for text in row.own):
        return False
    if variant.asked and variant.alarm == "always":
        return True
    if case.is_form_check:
        return variant.alarm == "form" and case.mined.readable and not case.takes("gibberish")
    held = {
        "always": True,
        # A text from its source that passes while no reference does is what it really looks for.
        "reference": case.reads
        or (
            variant.name == "magic-text"
            and case.rejects_right
            and not any(row.accepted for row in case.base.rows)
        ),
        "accepted": case.reads and bool(case.base.right),
        "form": not case.reads,
        "free": case.base.free,
        "text": case.base.embeds,
        "strict": not case.base.free and case.reads,
        "number": case.numbers,
        "never": False,
    }
    return held[variant.alarm] or any(name in case.mined.text for name in variant.names)


def _is_worth_telling(case: ProbeCase, family: Family) -> bool:
    """Whether a property is noted: it is true for most rows, and the form could be expected."""
    expected = family.variant.expects == "reject" or case.base.shape == PLAIN or case.base.free
    return expected and family.share.value >= MOST
