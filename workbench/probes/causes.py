"""Causes of a probe's findings: the one that explains many of them leads, and what it explains is folded under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.analysis.finding import Finding, Severity
from workbench.core.display_text import one_line
from workbench.probes.acceptance import HALF, MOST
from workbench.probes.probe_case import ProbeCase
from workbench.probes.signs import reason
from workbench.probes.tried import Family

NOTHING = ("empty", "whitespace", "one-character", "opener", "gibberish", "padding", "prompt-echo")
"""Transformations whose texts have no content."""
MENTIONS = ("hedged", "all-numbers", "negated", "retracted", "think-block", "inside-another")
"""Transformations whose texts contain the reference but state something else."""
_SEVERAL = 3
"""Transformations that have to pass before they are one cause. Workbench limit."""
_INSIDE = frozenset({"hundredfold", "sign", "digits-after-point", "magnitude", "other-values", "expression"})
"""What a search for the reference as a part of the text accepts too."""
_BESIDE = frozenset(
    {"injection", "fake-verdict", "closed-delimiter", "magic-text", "magic-beside-wrong", "padded-wrong", "wrong-repeated"}
)  # fmt: skip
"""Consequences of accepting texts without meaning, or long ones."""
ANY_ANSWER = _BESIDE | {
    "hedged", "all-numbers", "negated", "retracted", "think-block", "inside-another", "found-by-search",
    "one-digit", "off-a-little", "digits-after-point", "magnitude", "sign", "unit", "other-entity", "other-number", "one-word",
    "one-letter", "only-its-start", "only-its-end", "truncated", "anagram", "look-alike", "raised-digits", "other-values",
    "key-missing", "entry-twice", "entry-missing", "entry-added", "entry-changed", "code-sign", "off-by-one", "order", "expression", "pattern-of-reference", "keyword-heap",
    "case-that-matters", "hundredfold", "bracket-exchanged", "values-exchanged", "leaf-changed", "key-added", "neighbours-swapped",
    "operands-swapped", "symbol-cut", "number-of-the-prompt", "denied",
}  # fmt: skip
"""Consequences of accepting any completion, regardless of its content."""
_OF_STUBS = frozenset({"stub", "equal-object", "prints-verdict", "exits-early"})
"""Consequences of accepting any program, or any text."""
_OF_LETTERS = frozenset(
    {
        "padding",
        "format-shell",
        "json-shell",
        "opener",
        "gibberish",
        "refusal",
        "prompt-echo",
        "inside-another",
        "one-for-all",
    }
)
"""Consequences of reading a letter that is part of ordinary words."""
LAST_EMPTY = 13
"""Highest rank of transformations whose texts contain no result."""
_MIN_SHARE = 0.9
"""Share of a consequence's rows that its cause has to reach."""


def leading(case: ProbeCase, proven: Sequence[Family]) -> list[Finding]:
    """The one cause that explains many findings, if there is one."""
    overall = [*fails_always(case), *_unsteady(case), *_accepts_anything(case), *_accepts_nothing(case)]
    if overall:
        return overall[:1]
    if somewhere := [*_accepts_anything_somewhere(case, proven)]:
        return somewhere
    any_answer = any(one.variant.name == "other-answer" and one.share.value >= MOST for one in proven)
    return [] if any_answer else list(_mention(case, proven))


def fails_always(case: ProbeCase) -> Iterator[Finding]:
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
    families = [case.by_name[name] for name in NOTHING if name in case.by_name]
    if (
        case.is_form_check
        or len(families) < _SEVERAL
        or not all(family.share.value >= MOST for family in families)
    ):
        return
    texts = [text for family in families for text in family.fooled]
    total = sum(len(family.texts) for family in families)
    message = f"accepts any text, even texts without content: {len(texts):,} of {total:,}{_of_all(case)}"
    severity = Severity.QUESTION if case.is_rule else Severity.ERROR
    yield case.count(
        "accepts-anything", severity, message, "check what a correct completion must contain", texts, total
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
    return [family for family in proven if family.variant.name in NOTHING and family.share.value < MOST]


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


def follows_from(
    family: Family, lead: Sequence[Finding], proven: Sequence[Family], references: Sequence[str]
) -> bool:
    """Whether a finding adds nothing to the leading one, or to another confirmed one."""
    if any(finding.kind == "mention" for finding in lead) and _happens_to_mention(family, references):
        return True
    return any(_follows(family, finding, proven) for finding in lead) or _is_explained(family, proven)


ORDERS = frozenset({"injection", "fake-verdict", "closed-delimiter"})
"""Texts that address a judge."""


def _happens_to_mention(family: Family, references: Sequence[str]) -> bool:
    """Whether texts without content, or orders to a judge, pass only where they contain the reference, such as the 1 of "1.0"."""
    return (family.variant.gross or family.variant.name in ORDERS) and all(
        references[text.row] and references[text.row].lower() in (text.text or "").lower()
        for text in family.fooled
    )


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
        shows_more = family.variant.asked and lead.severity != Severity.ERROR
        return family.variant.expects == "reject" and not shows_more
    return lead.kind in {"inconsistent", "fails"} or name == "as-it-is"


def _is_of_empty_rows(family: Family, proven: Sequence[Family]) -> bool:
    """Whether a text without content passes on all rows of a finding, and on few others: then any text does there."""
    if family.variant.expects != "reject" or family.variant.rank <= LAST_EMPTY or family.share.value >= HALF:
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
    if name == "typographic-minus" and shares.get("sign", 0.0) >= least:
        return True
    if name in _OF_LETTERS and shares.get("letter-in-word", 0.0) >= least:
        return True
    no_meaning = max(shares.get(cause, 0.0) for cause in ("gibberish", "padding", "opener"))
    if no_meaning and no_meaning >= least and (name in _BESIDE or name in {"glued", "number-of-the-prompt"}):
        return True
    return name in ANY_ANSWER and shares.get("other-answer", 0.0) >= max(MOST, least)
