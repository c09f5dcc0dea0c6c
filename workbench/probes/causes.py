"""Causes before consequences: one leading sentence for what many transformations show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.analysis.diagnostics.finding import Finding, Severity
from workbench.core.display_text import counted, one_line
from workbench.probes.case import MOST, ProbeCase
from workbench.probes.tried import Family

__all__ = ["MENTIONS", "failing", "follows_from", "form_only", "leading", "says_more"]

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
_MIN_SHARE = 0.9
"""Share of a consequence's rows that its cause has to reach."""
_FEW_FAILURES = 3


def leading(case: ProbeCase, proven: Sequence[Family]) -> list[Finding]:
    """The one cause that explains many findings, if there is one."""
    overall = [*_fails_always(case), *_unsteady(case), *_accepts_anything(case), *_accepts_nothing(case)]
    if overall:
        return overall[:1]
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
    message = f"accepts any text, even texts without content: {len(texts):,} of {total:,}"
    yield case.count(
        "accepts-anything",
        Severity.ERROR,
        message,
        "check what a correct completion must contain",
        texts,
        total,
    )


def _takes_any(case: ProbeCase) -> bool:
    """Whether any adversarial text passed."""
    return any(family.wrong_rows for family in case.found if family.variant.expects == "reject")


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
    message = (
        f"accepts nothing: the reference was graded in many forms on {count:,} rows, and rejected in all"
    )
    advice = "check which texts the grader compares; pass labels= to mark the rows that are good"
    yield case.count(
        "accepts-nothing", Severity.WARNING, message, advice, as_it_is.fooled, len(as_it_is.texts)
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
        return name in MENTIONS or (name in _INSIDE and _has_inside(proven))
    if lead.kind == "accepts-anything":
        return family.variant.expects == "reject"
    return lead.kind in {"inconsistent", "fails"} or name == "as-it-is"


def _is_explained(family: Family, proven: Sequence[Family]) -> bool:
    """Whether any completion passes, or any text of that length, on as many rows."""
    shares = {one.variant.name: one.share.value for one in proven}
    name, least = family.variant.name, _MIN_SHARE * family.share.value
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
    families = [family for family in case.found if family.variant.crash and family.failed]
    texts = [text for family in families for text in family.failed]
    if not texts or (case.judge and len(texts) < _FEW_FAILURES) or list(_fails_always(case)):
        return
    what = ", ".join(dict.fromkeys(family.variant.says for family in families))
    message = f"fails, and gives no score, on {what}: {one_line(texts[0].outcome.error, 160)}"
    advice = "any completion may look like that: catch it, and return 0.0"
    yield case.count(
        "fails", Severity.WARNING, message, advice, texts, sum(len(family.texts) for family in families)
    )
