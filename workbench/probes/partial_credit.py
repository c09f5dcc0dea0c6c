"""What a grader pays for in addition to the result: a part, the form alone, the text alone, or the prompt."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from workbench.graders import Grader
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.serialization import parts
from workbench.probes.acceptance import HALF, MOST
from workbench.probes.board import Board, Pair, without_prompts
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import mine
from workbench.probes.tried import Family, TriedText, change_variant

_ROWS, _TIMES = 12, (3, 12)
_RISE = 0.02
"""Share of the span of scores that counts as higher. Workbench limit."""
_MIN_SHARE = 0.8
"""Share of the rows on which the score has to rise. Workbench limit: chance gives as many falls as rises."""

MORE = change_variant(
    "more-of-the-same", "reject", "the same text repeated, and scores it higher than once",
    "count a repeated text once: a score that grows with repeats rewards length", rank=18, least=2, asked=False,
)  # fmt: skip


def monotone(board: Board, base: Base, like: Family) -> list[Family]:
    """Grade wrong and correct completions once and repeated; a family if the score rises with every repeat.

    Only for scores with more than two levels: for two levels acceptance already shows it.
    """
    rows = [row for row in base.rows[:_ROWS] if row.reference and row.others]
    if base.rule.mark is not None or not rows:
        return []
    once = {row.number: (row.say(row.other), row.say(row.reference)) for row in rows}
    pairs = [
        (number, " ".join([text] * times))
        for number, both in once.items()
        for text in both
        for times in (1, *_TIMES)
    ]
    board.grade(pairs)
    texts = [
        _judged(board, base, number, [" ".join([one] * times) for times in (1, *_TIMES)])
        for number, both in once.items()
        for one in both
        if (number, " ".join([one] * _TIMES[-1])) in board.outcomes  # a probe may end early
    ]
    rises = np.mean([text.wrong for text in texts]) if texts else 0.0
    kept = texts if rises >= _MIN_SHARE / 2 else [replace(text, wrong=False) for text in texts]
    return [Family(MORE, tuple(kept), like.groups, float("nan"))]


_PAID = 0.25
"""Share of the span of scores from which a form alone is paid. Workbench limit: a tenth for the form is usual."""

FORM = change_variant(
    "form-paid", "reject", "the form alone, or with a wrong result: it gets a part of the reward",
    "pay for the form only if the result is right: multiply instead of adding", rank=48, least=2, question=True,
)  # fmt: skip


def form_paid(base: Base, found: Sequence[Family]) -> list[Family]:
    """Empty forms, and wrong results in the right form, that get a part of the reward, while a text without content gets the least; none if scores have two levels."""
    by_name = {family.variant.name: family for family in found}
    shells, plain = by_name.get("format-shell"), by_name.get("gibberish")
    others = by_name.get("other-answer")
    rule = base.rule
    if rule.mark is not None or shells is None or plain is None:
        return []
    span = rule.usual - rule.floor
    least = rule.floor + _PAID * span
    nothing = [text.outcome.score for text in plain.texts if text.outcome.score == text.outcome.score]
    if span <= 0 or not nothing:
        return []
    wrong = () if others is None else others.texts
    if max(nothing) >= least:
        # Something else is paid to any text, such as a small length: then a wrong result in the right form has to get a half.
        least = rule.floor + HALF * span
        shells, wrong = replace(shells, texts=()), _of_one_score(wrong, least)
    texts = tuple(
        replace(text, wrong=bool(text.outcome.score >= least) and not rule.accepts(text.row, text.outcome))
        for text in (*shells.texts, *wrong)
    )
    return [Family(FORM, texts, shells.groups, float("nan"))] if any(text.wrong for text in texts) else []


def _of_one_score(texts: Sequence[TriedText], least: float) -> tuple[TriedText, ...]:
    """The texts from a score on, if all of them have the same one: a score by distance differs from row to row."""
    paid = tuple(text for text in texts if text.outcome.score >= least)
    return paid if len({round(text.outcome.score, 6) for text in paid}) == 1 else ()


AGAIN = change_variant(
    "rises-again", "reject", "a longer completion, and pays it more again after a shorter one has lost by its length",
    "limit the length before the formula: min(1, length / limit); a cosine rises again after its end", rank=27, least=2,
)  # fmt: skip
_REMARK = "Let us see. "
_REPEATED = (2, 4, 6, 8, 10, 12, 16, 20, 28, 36, 50, 70, 100, 200, 400)
_FALL = 0.25
"""Share of the span of scores that counts as a loss by length, and as a gain. Workbench limit."""


def rises_again(board: Board, base: Base, like: Family) -> list[Family]:
    """Correct completions after a remark that is repeated more and more often; a family if their score falls, and then rises.

    Only for scores with more than two levels.
    """
    rule = base.rule
    span = rule.usual - rule.floor
    if rule.mark is not None or span <= 0:
        return []
    chains = {
        row.number: [_REMARK * times + text for times in (0, *_REPEATED)]
        for row in base.rows[:_ROWS]
        for text in (row.shortest_accepted(1) or [base.right.get(row.number, "")])
        if text
    }
    board.grade((row, text) for row, chain in chains.items() for text in chain)
    found = []
    for row, chain in chains.items():
        scores = np.array(
            [board.outcomes[row, text].score for text in chain if (row, text) in board.outcomes]
        )
        if len(scores) < len(chain) or np.isnan(scores).any():
            continue
        low = int(scores.argmin()) if scores.min() <= scores[0] - _FALL * span else 0
        later = low + int(scores[low:].argmax())
        is_higher = low > 0 and bool(scores[later] >= scores[low] + _FALL * span)
        found.append(TriedText(row, chain[later], board.outcomes[row, chain[later]], is_higher))
    return (
        [Family(AGAIN, tuple(found), like.groups, float("nan"))] if any(text.wrong for text in found) else []
    )


def _judged(board: Board, base: Base, row: int, chain: Sequence[str]) -> TriedText:
    """The longest of a chain of repeats, wrong if every step scores higher than the one before."""
    outcomes = [board.outcomes[row, text] for text in chain if (row, text) in board.outcomes]
    scores = [outcome.score for outcome in outcomes]
    span = max(base.rule.usual - base.rule.floor, 1e-9)
    rises = len(scores) == len(chain) and scores[-1] - scores[0] > _RISE * span and all(np.diff(scores) >= 0)
    return TriedText(row, chain[-1], outcomes[-1], bool(rises))


UNEARNED = change_variant(
    "paid-for-nothing", "reject", "a text without content, and pays it more than half of what a correct completion gets",
    "require a part of the content first: what is paid for not doing something is paid to an empty completion too", rank=47, least=2, question=True,
)  # fmt: skip


def paid_for_nothing(board: Board, base: Base, found: Sequence[Family]) -> list[Family]:
    """Empty and meaningless texts above half of the span, where some of the rows' own completions get less; only for more than two levels."""
    by_name = {family.variant.name: family for family in found}
    some = [by_name[name] for name in ("empty", "gibberish") if name in by_name]
    rule = base.rule
    least = rule.floor + HALF * (rule.usual - rule.floor)
    own = [
        outcome.score
        for row in range(len(board.samples))
        for text in board.own_texts(row)
        if (outcome := board.outcomes.get((row, text))) is not None
    ]
    if (
        rule.mark is not None
        or not some
        or rule.usual <= rule.floor
        or not any(score < least for score in own)
    ):
        return []
    texts = tuple(
        replace(text, wrong=bool(text.outcome.score >= least) and not rule.accepts(text.row, text.outcome))
        for family in some
        for text in family.texts
    )
    paid = {text.row for text in texts if text.wrong}
    return (
        [Family(UNEARNED, texts, some[0].groups, float("nan"))] if len(paid) >= MOST * len(base.rows) else []
    )


_MOVED = 24
"""Texts that are graded in another row too. Workbench default: with 24 equal grades, a grader that distinguishes a tenth of
the rows is missed in one of 12 cases."""
_FORM = re.compile(
    r"(?<![a-z])(?:length|long|longer|short|shorter|brief|concise|lines?|oneliner|words?|characters?|chars?|sentences?|"
    r"paragraphs?|tokens?|forms?|format(?:s|ted|ting)?|layout|style|ascii|printable|unicode|json|xml|yaml|html|markdown|"
    r"parses?|parseable|parsable|syntax|uppercase|lowercase|capitals?|punctuation|whitespace|nonempty|empty|blank)(?![a-z])"
)
"""Terms by which a grader's name or docstrings show that it checks the form."""
_FORM_METHODS = re.compile(r"\.is(?:ascii|printable)\(")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CLASSES = re.compile(r"\[[^\]]*\]|\{[\d,]+\}")
"""Character classes and counts in a pattern."""
_WORD = re.compile(r"\w")
_LEVELS = 2
"""Maximum number of scores of a check: with more it rewards degrees of the form; with one it checks nothing."""


def is_form_check(board: Board) -> bool:
    """Whether the graders are checks of the form by design, and their scores are those of a check.

    A rule of the workbench is one: its settings define in full what it accepts. Any other grader is one if its name or
    docstrings describe the form and its text requires no specific word and no reference: a search for "because" may be all that
    its author has to separate correct from wrong.

    Args:
        board: The graders, and their grades so far.
    """
    leaves = [leaf for entry in board.suite.entries for leaf in _leaves(entry.grader)]
    if all(isinstance(leaf, RuleGrader) for leaf in leaves):
        return True
    scores = {round(one.score, 9) for one in board.outcomes.values() if not math.isnan(one.score)}
    column = board.samples.columns.get("reference", "")
    return len(scores) == _LEVELS and all(_is_form(leaf, column) for leaf in leaves)


def _leaves(grader: Grader) -> Iterator[Grader]:
    """The graders that read rows themselves, rather than others' scores."""
    return (part for part in parts(grader) if len(list(parts(part))) == 1)


def _is_form(grader: Grader, column: str) -> bool:
    if isinstance(grader, RuleGrader):
        return True
    mined = mine(grader)
    if any(_WORD.search(_CLASSES.sub("", word)) for word in mined.words) or mined.reads([column, "metadata"]):
        return False
    told = _CAMEL.sub("_", f"{grader.name} {mined.rubric}").lower()
    return bool(_FORM.search(told) or _FORM_METHODS.search(mined.text))


def same_everywhere(board: Board, base: Base) -> bool:
    """Whether the same text gets the same grade in rows with another prompt or reference: only the text is read.

    Texts that are correct in one row, or that the row has, are graded in another row too. If all references are equal
    there is no such row, and nothing is known.
    """
    pairs = _moved(base)
    board.grade(pair for both in pairs for pair in both)
    known = [both for both in pairs if all(pair in board.outcomes for pair in both)]
    return bool(known) and all(_said(board, one) == _said(board, other) for one, other in known)


def reads_prompt(board: Board, base: Base) -> bool:
    """Whether texts without content are accepted, and rejected if the prompt has another text: it is graded too."""
    texts = ("", *(row.other for row in base.rows[:1] if row.others))
    accepted = [
        (row, text) for row in range(len(base.rows)) for text in texts if base.rule.takes(board, row, text)
    ][:_MOVED]
    if len(accepted) < _LEVELS:
        return False
    other = Board(board.suite, without_prompts(board.samples), deadline=board.deadline)
    other.grade(accepted)
    return base.rule.share(other, accepted) <= 1 - MOST


def _moved(base: Base) -> list[tuple[Pair, Pair]]:
    """Texts in their own row, and in the next row with another reference, or another prompt without references."""
    asked = base.references if base.distinct else [row.prompt for row in base.rows]
    found: list[tuple[Pair, Pair]] = []
    for row in base.rows[:_MOVED]:
        later = [*range(row.number + 1, len(base.rows)), *range(row.number)]
        other = next((number for number in later if asked[number] != asked[row.number]), None)
        texts = dict.fromkeys((base.right.get(row.number), row.good, row.completion, row.reference))
        found += [((row.number, text), (other, text)) for text in texts if text and other is not None]
    return found


def _said(board: Board, pair: Pair) -> tuple[str, bool | None, bool]:
    outcome = board.outcomes[pair]
    return repr(outcome.score), outcome.passed, bool(outcome.error)
