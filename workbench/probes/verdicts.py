"""All results of a probe and the findings that follow: which holes are confirmed, and which properties are only noted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.analysis.finding import Finding, Severity
from workbench.core.display_text import counted, one_line
from workbench.probes.probe_case import ProbeCase
from workbench.probes.references import HALF, MOST
from workbench.probes.shapes import PLAIN, mentions
from workbench.probes.signs import reason
from workbench.probes.tried import Family

_NOTHING = ("empty", "whitespace", "one-character", "opener", "gibberish", "padding", "prompt-echo")
"""Transformations whose texts have no content."""
MENTIONS = ("hedged", "all-numbers", "negated", "retracted", "think-block", "inside-another")
"""Transformations whose texts contain the reference but state something else."""
_SEVERAL = 3
"""Transformations that have to pass before they are one cause. Workbench limit."""
_INSIDE = frozenset({"sign", "digits-after-point", "magnitude", "other-values", "expression"})
"""What a search for the reference as a part of the text accepts too."""
_BESIDE = frozenset(
    {"injection", "fake-verdict", "closed-delimiter", "magic-text", "magic-beside-wrong", "padded-wrong", "wrong-repeated"}
)  # fmt: skip
"""Consequences of accepting texts without meaning, or long ones."""
_ANY_ANSWER = _BESIDE | {
    "hedged", "all-numbers", "negated", "retracted", "think-block", "inside-another", "found-by-search",
    "one-digit", "off-a-little", "digits-after-point", "magnitude", "sign", "unit", "other-entity", "other-number", "one-word",
    "one-letter", "only-its-start", "only-its-end", "truncated", "anagram", "look-alike", "raised-digits", "other-values",
    "key-missing", "entry-twice", "entry-missing", "entry-added", "entry-changed", "code-sign", "off-by-one", "order", "expression", "pattern-of-reference", "keyword-heap",
    "case-that-matters",
}  # fmt: skip
"""Consequences of accepting any completion, regardless of its content."""
_OF_STUBS = frozenset({"stub", "equal-object", "prints-verdict", "exits-early"})
"""Consequences of accepting any program, or any text."""
_OF_LETTERS = frozenset({"padding", "format-shell", "json-shell", "opener", "gibberish", "refusal", "prompt-echo", "inside-another", "one-for-all"})
"""Consequences of reading a letter inside a word."""
_MIN_SHARE = 0.9
"""Share of a consequence's rows that its cause has to reach."""
_FEW_FAILURES = 3
_LAST_EMPTY, _OF_A_TASK = 13, 14
"""Highest rank of transformations whose texts contain no result, and lowest rank of those that belong to a task."""


def leading(case: ProbeCase, proven: Sequence[Family]) -> list[Finding]:
    """The one cause that explains many findings, if there is one."""
    overall = [*_fails_always(case), *_unsteady(case), *_accepts_anything(case), *_accepts_nothing(case)]
    if overall:
        return overall[:1]
    if somewhere := [*_accepts_anything_somewhere(case, proven)]:
        return somewhere
    any_answer = any(one.variant.name == "other-answer" and one.share.value >= MOST for one in proven)
    return [] if any_answer else list(_mention(case, proven))


def _fails_always(case: ProbeCase) -> Iterator[Finding]:
    """No text has a score."""
    texts = [text for family in case.found for text in family.texts]
    if texts and all(text.outcome.error for text in texts):
        message = f"fails on every text: {one_line(texts[0].outcome.error, 160)}"
        yield case.count(
            "fails", Severity.ERROR, message, "fix it, and validate it on these rows", texts, len(texts)
        )


def _unsteady(case: ProbeCase) -> Iterator[Finding]:
    """The same text gets another score the next time: randomness, the clock, or state of the grader."""
    if not case.changed or case.judge:
        return
    count = f"{len(case.changed):,} of {case.regraded:,} texts"
    message = f"gives the same text another score when it is graded again in another order: {count}"
    advice = (
        "remove randomness, the clock and module-level state; until then the other results are unreliable"
    )
    pairs = {*case.changed}
    texts = [text for family in case.found for text in family.texts if (text.row, text.text) in pairs]
    yield case.count("inconsistent", Severity.ERROR, message, advice, texts, max(case.regraded, len(texts)))


def _accepts_anything(case: ProbeCase) -> Iterator[Finding]:
    """Nearly every text without content passes."""
    families = [case.by_name[name] for name in _NOTHING if name in case.by_name]
    if (
        case.is_form_check
        or len(families) < _SEVERAL
        or not all(family.share.value >= MOST for family in families)
    ):
        return
    texts = [text for family in families for text in family.fooled]
    total = sum(len(family.texts) for family in families)
    message = f"accepts any text, even texts without content: {len(texts):,} of {total:,}{_of_all(case)}"
    yield case.count(
        "accepts-anything",
        Severity.ERROR,
        message,
        "check what a correct completion must contain",
        texts,
        total,
    )


def _of_all(case: ProbeCase) -> str:
    """Why a grader decides the same for every text: a column that no row has, the prompt, or a line of its source."""
    if case.mined.missing:
        listed = ", ".join(map(repr, case.mined.missing[:3]))
        return f"; it looks up the column {listed}, which no row has"
    if case.reads_prompt:
        return f"; with another prompt the same texts are rejected: it reads the prompt as a part of the completion{reason(case.mined.signs, 'prompt-read')}"
    return reason(case.mined.signs, "accepts-anything")


def _takes_any(case: ProbeCase) -> bool:
    """Whether any adversarial text passed."""
    return any(family.wrong_rows for family in case.found if family.variant.expects == "reject")


def _content_free(proven: Sequence[Family]) -> list[Family]:
    """Confirmed holes of texts without content, on some of the rows."""
    return [family for family in proven if family.variant.name in _NOTHING and family.share.value < MOST]


def _shared_rows(proven: Sequence[Family]) -> set[int]:
    """Rows on which all of these texts pass."""
    rows = [set(family.wrong_rows) for family in _content_free(proven)]
    return set.intersection(*rows) if rows else set()


def _accepts_anything_somewhere(case: ProbeCase, proven: Sequence[Family]) -> Iterator[Finding]:
    """On a few rows any text passes, while others reject it: what these rows have in common is the cause."""
    families, rows = _content_free(proven), _shared_rows(proven)
    texts = [text for family in families for text in family.fooled if text.row in rows]
    if (
        len(families) < _SEVERAL
        or not rows
        or any(len(family.wrong_rows) > 2 * len(rows) for family in families)
    ):
        return
    references = list(
        dict.fromkeys(case.base.references[row] for row in sorted(rows) if case.base.references[row])
    )
    listed = ", ".join(one_line(repr(reference), 40) for reference in references[:3])
    where = (
        f", where the reference is {listed}: as if nothing were left of it after it is normalised"
        if references
        else ""
    ) + case.cause("accepts-anything-on-some-rows", sorted(rows))
    message = (
        f"accepts any text, even an empty one, on {len(rows):,} of {len(families[0].rows):,} rows{where}"
    )
    advice = "look at what becomes of these references when they are normalised or parsed: an empty reference must not match"
    yield case.about("accepts-anything-on-some-rows", Severity.ERROR, message, advice, families[0], texts)


def _accepts_nothing(case: ProbeCase) -> Iterator[Finding]:
    """No reference passes, in no form, nor any of the rows' own completions."""
    as_it_is = case.by_name.get("as-it-is")
    if (
        as_it_is is None
        or as_it_is.failed
        or not (case.reads or (not case.mined.readable and not _takes_any(case)))
        or any(row.good is not None for row in case.base.rows)
    ):
        return
    count = len(as_it_is.rows)
    missing = ", ".join(map(repr, case.mined.missing[:3]))
    message = (
        f"accepts nothing: the reference was graded in many forms on {count:,} rows, and rejected in all"
        f"{f'; it looks up the column {missing}, which no row has' if missing else ''}"
    )
    advice = "check which texts the grader compares; pass labels= to mark the rows that are good"
    yield case.count(
        "accepts-nothing", Severity.QUESTION, message, advice, as_it_is.fooled, len(as_it_is.texts)
    )


def _mention(case: ProbeCase, proven: Sequence[Family]) -> Iterator[Finding]:
    """Hedges, denials and corrections all pass: the reference anywhere in the text is enough."""
    families = [family for family in proven if family.variant.name in MENTIONS and family.share.value >= MOST]
    if len(families) < _SEVERAL:
        return
    inside = ", even inside a longer word or number," if _has_inside(families) else ""
    ways = "; ".join(
        f"{one.variant.says} ({len(one.wrong_rows):,} of {len(one.rows):,} rows)" for one in families
    )
    message = (
        f"the reference anywhere in the text{inside} is enough: it accepts {ways}{case.example(families[0])}"
    )
    texts = [text for family in families for text in family.fooled]
    yield case.about("mention", Severity.ERROR, message, families[0].variant.advice, families[0], texts)


def _has_inside(families: Sequence[Family]) -> bool:
    return any(family.variant.name == "inside-another" for family in families)


def follows_from(family: Family, lead: Sequence[Finding], proven: Sequence[Family]) -> bool:
    """Whether a finding adds nothing to the leading one, or to another confirmed one."""
    return any(_follows(family, finding, proven) for finding in lead) or _is_explained(family, proven)


def _follows(family: Family, lead: Finding, proven: Sequence[Family]) -> bool:
    name = family.variant.name
    if lead.kind == "mention":
        return (
            name in MENTIONS
            or name in {"one-for-all", "prompt-copied", "echo-then-wrong", "option-text"}
            or (name in _INSIDE and _has_inside(proven))
        )
    if lead.kind == "accepts-anything-on-some-rows":
        return family.variant.expects == "reject" and set(family.wrong_rows) <= _shared_rows(proven)
    if lead.kind == "accepts-anything":
        return family.variant.expects == "reject"
    return lead.kind in {"inconsistent", "fails"} or name == "as-it-is"


def _is_of_empty_rows(family: Family, proven: Sequence[Family]) -> bool:
    """Whether a text without content passes on all rows of a finding, and on few others: then any text does there."""
    if family.variant.expects != "reject" or family.variant.rank <= _LAST_EMPTY or family.share.value >= HALF:
        return False
    empty = [{*one.wrong_rows} for one in proven if one.variant.gross and one.variant.alarm == "always"]
    return any({*family.wrong_rows} <= rows and len(rows) <= 2 * len(family.wrong_rows) for rows in empty)


def _is_explained(family: Family, proven: Sequence[Family]) -> bool:
    """Whether any completion passes, or any text of that length, on as many rows."""
    shares = {one.variant.name: one.share.value for one in proven}
    name, least = family.variant.name, _MIN_SHARE * family.share.value
    if _is_of_empty_rows(family, proven):
        return True
    causes = [cause for cause in ("gibberish", "stub") if cause != name]
    if name in _OF_STUBS and max(shares.get(cause, 0.0) for cause in causes) >= least:
        return True
    if name in _OF_LETTERS and shares.get("letter-in-word", 0.0) >= least:
        return True
    no_meaning = max(shares.get(cause, 0.0) for cause in ("gibberish", "padding", "opener"))
    if no_meaning and no_meaning >= least and (name in _BESIDE or name == "glued"):
        return True
    return name in _ANY_ANSWER and shares.get("other-answer", 0.0) >= max(MOST, least)


def says_more(family: Family) -> bool:
    """Whether a note on a check of the form adds to the fact that any text of that form passes."""
    variant = family.variant
    if variant.expects == "accept" or variant.alarm == "form":
        return True
    return variant.gross and variant.name not in _ANY_ANSWER | {"other-answer"}


def form_only(case: ProbeCase) -> Iterator[Finding]:
    """A grader that reads no reference: findings that only a reference could prevent do not apply."""
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
    yield case.about("form-only", Severity.NOTE, message, advice, taken, taken.fooled)


def _meaningless(case: ProbeCase) -> Family | None:
    """The texts without content of which the most passed."""
    families = [case.by_name[name] for name in (*_NOTHING, "format-shell", "json-shell") if case.takes(name)]
    return max(families, key=lambda family: family.share.value, default=None)


def failing(case: ProbeCase) -> Iterator[Finding]:
    """Texts on which the grader fails although any completion may look like them: an error is not a score of 0."""
    families = [
        family
        for family in case.found
        if family.variant.crash and family.failed and (case.own_thread or family.variant.name != "missing")
    ]
    texts = [text for family in families for text in family.failed]
    if not texts or (case.judge and len(texts) < _FEW_FAILURES) or list(_fails_always(case)):
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
_ORDERS = frozenset({"injection", "fake-verdict", "closed-delimiter"})
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
    follows = [family for family in proven if follows_from(family, lead, proven)]
    own = [case.finding(family, _severity(case, family)) for family in proven if family not in follows]
    own.sort(key=lambda finding: finding.severity != Severity.ERROR)
    if lead and lead[0].kind in _SAY_ALL:
        told = []
    notes = [*form_only(case), *(case.finding(family, Severity.NOTE) for family in told)]
    return ProbeVerdicts(
        (*lead, *own, *failing(case)),
        tuple(notes),
        tuple(case.finding(family, _severity(case, family)) for family in follows),
        tuple(case.finding(family, Severity.NOTE) for family in allowed),
        frozenset(family.variant.name for family in case.found if _is_meant(case, family)),
    )


def _order(case: ProbeCase, family: Family) -> tuple[int, float]:
    """Its position: orders to a judge come first for a judge, and last for code."""
    later = _LATER if family.variant.name in _ORDERS and not case.judge else 0
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
        family.variant.expects == "accept"
        or family.variant.question
        or (family.variant.rank < _OF_A_TASK and not case.reads and _is_forbidding(case))
        or (family.variant.gross and not case.base.distinct and len(family.wrong_rows) < _SYSTEMATIC * len(family.rows))
        or (family.variant.name in _OF_VALUES and _SCHEMA.search(f"{case.grader} {case.mined.rubric}"))
        or (family.variant.name == "unit" and case.base.number_alone)
    ):
        return Severity.QUESTION
    return Severity.ERROR


def _is_alarm(case: ProbeCase, family: Family) -> bool:
    """Whether the misgraded texts are a hole, and enough rows show it."""
    if not _is_meant(case, family):
        return False
    rejects = family.variant.expects == "reject"
    if (
        family.variant.name == "as-it-is"
        and family.share.value >= MOST
        and any(row.accepted for row in case.base.rows)
    ):
        return False  # the reference is not written as a completion is, such as a table of values
    if case.judge:
        return family.interval.lo > (_JUDGE_ACCEPTS if rejects else _JUDGE_REJECTS)
    if not rejects and family.variant.name != "as-it-is" and family.share.value < _SYSTEMATIC:
        return False
    if family.variant.question and rejects and family.share.value < HALF:
        return False
    # A reference that is rejected in one row is worth a look, as is the only row of its kind.
    least = (
        1 if family.variant.name == "as-it-is" and not case.judge else min(_least(family), len(family.rows))
    )
    return len(family.wrong_rows) >= least


def _least(family: Family) -> int:
    """Rows that have to be misgraded for an error."""
    least = family.variant.least if family.variant.expects == "reject" else 2
    return least if len(family.rows) >= _FEW_ROWS else 2


_FORBIDDEN = 0.4
"""Share of the rejected completions that contain the text of a column, which no accepted one does. Workbench limit."""


def _is_forbidding(case: ProbeCase) -> bool:
    """Whether rows show that texts are rejected for what they contain, such as a secret in a column: any other text is accepted."""
    names = {
        name
        for row in case.base.rows
        for name, value in row.columns.items()
        if isinstance(value, str) and len(value) > 2
    }
    for name in names:
        pairs = [
            (text in row.accepted, mentions(text, str(row.columns.get(name) or "")))
            for row in case.base.rows
            for text in row.own
        ]
        rejected = [has for is_accepted, has in pairs if not is_accepted]
        accepted = [has for is_accepted, has in pairs if is_accepted]
        if (
            len(rejected) > 1
            and np.mean(rejected) >= _FORBIDDEN
            and accepted
            and np.mean(accepted) <= 1 - MOST
        ):
            return True
    return False


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
        "reference": case.reads or (variant.name == "magic-text" and case.rejects_right),
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
