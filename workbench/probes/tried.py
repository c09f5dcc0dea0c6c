"""The results of each transformation: which texts the grader misgraded, and what that shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.statistics import Interval
from workbench.analysis.statistics.means import Share, share
from workbench.core.safe_frame import SafeFrame
from workbench.probes.acceptance import MIN_ROWS, AcceptanceRule
from workbench.probes.board import Board, Pair, ProbeOutcome
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import number_with_words, numbers_in, plainly
from workbench.probes.variants import VARIANTS, ProbeRow, Variant


@dataclass(frozen=True, slots=True)
class TriedText:
    """One graded text.

    Attributes:
        row: Position of its row among those drawn.
        text: Replaces the row's completion; None for none.
        outcome: The grader's result.
        wrong: Whether a known-bad text was accepted, or a known-good one rejected.
        against: Whether another, stricter grader accepts it; None if there is none.
    """

    row: int
    text: str | None
    outcome: ProbeOutcome
    wrong: bool
    against: bool | None = None


@dataclass(frozen=True)
class Family:
    """All results of one transformation.

    Attributes:
        variant: The transformation.
        texts: The graded texts.
        groups: Prompt of each drawn row as an integer code, (n,).
        difference: Mean score minus the score of the row's correct completion; NaN if nothing can be compared.
    """

    variant: Variant
    texts: tuple[TriedText, ...]
    groups: NDArray[np.intp]
    difference: float

    @property
    def rows(self) -> list[int]:
        """Rows on which it was graded."""
        return list(dict.fromkeys(text.row for text in self.texts))

    @property
    def fooled(self) -> list[TriedText]:
        """The misgraded texts, the shortest first."""
        return sorted((text for text in self.texts if text.wrong), key=lambda text: len(text.text or ""))

    @property
    def failed(self) -> list[TriedText]:
        """The texts on which the grader failed."""
        return [text for text in self.texts if text.outcome.error]

    @property
    def wrong_rows(self) -> list[int]:
        """Rows with at least one misgraded text."""
        return list(dict.fromkeys(text.row for text in self.texts if text.wrong))

    @property
    def share(self) -> Share:
        """Share of rows with a misgraded text; rows of one prompt count less than independent ones."""
        rows = np.array(self.rows, dtype=np.intp)
        flags = np.isin(rows, self.wrong_rows)
        return (
            share(flags, np.unique(self.groups[rows], return_inverse=True)[1].astype(np.intp))
            if len(rows)
            else share(flags)
        )

    @property
    def interval(self) -> Interval:
        """Its 95 % interval."""
        return self.share.interval()


_OF_WORDS = frozenset({
    "inside-another", "glued", "other-entity", "only-its-start", "only-its-end", "truncated", "anagram", "look-alike", "raised-digits",
    "one-letter", "one-word", "case-that-matters",
})  # fmt: skip
"""Transformations that change the reference's words."""
_SLIPS = _OF_WORDS | {"negated", "keyword-heap", "order"}
"""Transformations that are slips of words, or no more than that."""
_SHORTER = frozenset(
    {"entry-missing", "key-missing", "truncated", "list-cut", "only-its-start", "only-its-end"}
)
"""Transformations that leave a part out."""
_CHANGED = 29
"""Rank from which texts change the reference: such a text may contain another correct completion."""


def texts_of(base: Base, *, judge: bool) -> Iterator[tuple[Variant, int, str | None]]:
    """All texts of every transformation and row; known-good forms only if the reference is accepted.

    Args:
        base: What is correct, and how the grader accepts it.
        judge: Whether to make only texts that are worth a request to a model.
    """
    for variant in VARIANTS.values():
        if judge and not variant.judges:
            continue
        for row in base.rows:
            is_own = variant.asked and bool(row.accepted)
            if (
                variant.expects == "accept"
                and not is_own
                and row.number not in base.right
                and variant.name != "as-it-is"
            ):
                continue
            if row.reference and len(row.others) < 1:
                continue
            texts = list(dict.fromkeys(variant.make(row)))
            if variant.expects == "reject":
                texts = [text for text in texts if not _may_be_right(variant, row, text)]
            for text in texts[:1] if judge else texts:
                yield variant, row.number, text


def _may_be_right(variant: Variant, row: ProbeRow, text: str | None) -> bool:
    """Whether a text that should be wrong is right in its row by the reference, or by what the prompt allows."""
    return (
        row.is_right(text)
        or (row.is_near(text) and variant.name != "other-year")
        or (row.slips_are_free and variant.name in _SLIPS)
        or (row.part_is_enough and variant.name in _SHORTER)
        or (row.extras_are_free and row.contains_all(text))
        or (variant.rank >= _CHANGED and not variant.asked and row.names_alternative(text))
    )


def families(board: Board, base: Base, made: Iterable[tuple[Variant, int, str | None]]) -> list[Family]:
    """The results of the texts, by transformation, in the register's order."""
    rule, groups = base.rule, board.samples.group_codes
    texts: dict[str, list[TriedText]] = {}
    for variant, row, text in made:
        outcome = board.outcomes.get((row, text))
        if outcome is None or not outcome.tried:
            continue
        wrong = (
            rule.accepts(row, outcome, gross=variant.gross)
            if variant.expects == "reject"
            else rule.rejects(row, outcome)
        )
        wrong = wrong and not (variant.rival and _takes_mutant(board, base, rule, row))
        wrong = wrong and not (variant.expects == "reject" and _keeps_number(base, variant, row, text))
        wrong = wrong and not (variant.beside and _passes_alone(board, base, rule, row))
        texts.setdefault(variant.name, []).append(TriedText(row, text, outcome, wrong))
    return [
        Family(VARIANTS[name], tuple(_counted(VARIANTS[name], found, base)), groups, _difference(found, rule))
        for name, found in texts.items()
    ]


FlaggedPairs = tuple[Variant, dict[Pair, bool]]
"""A transformation and its pairs of row and text: those that are set are wrong if they are accepted, or rejected if they have to pass."""


def families_of_pairs(board: Board, base: Base, made: Iterable[FlaggedPairs]) -> list[Family]:
    """The results of pairs that a control has flagged, by transformation; those without any pair are left out."""
    groups = board.samples.group_codes
    return [
        Family(variant, tuple(_flagged(board, base, variant, pairs)), groups, math.nan)
        for variant, pairs in made
        if pairs
    ]


def _flagged(board: Board, base: Base, variant: Variant, pairs: Mapping[Pair, bool]) -> Iterator[TriedText]:
    board.grade(pairs)
    is_bad = variant.expects == "reject"
    for (row, text), counts in pairs.items():
        if (outcome := board.outcomes.get((row, text))) is not None and outcome.tried:
            is_wrong = base.rule.accepts(row, outcome) if is_bad else base.rule.rejects(row, outcome)
            yield TriedText(row, text, outcome, counts and is_wrong)


def _keeps_number(base: Base, variant: Variant, row: int, text: str | None) -> bool:
    """Whether a text changes only the words after or before a number that the grader accepts without any."""
    if (
        not base.number_alone
        or variant.name not in _OF_WORDS
        or number_with_words(base.references[row]) is None
    ):
        return False
    return numbers_in(text or "") == numbers_in(base.references[row])


def _takes_mutant(board: Board, base: Base, rule: AcceptanceRule, row: int) -> bool:
    """Whether the changed program of a row is not known to be rejected: nothing follows from a text in which it comes last."""
    mutant = base.rows[row].mutant
    alone = (row, base.rows[row].say(mutant))
    return bool(mutant) and (alone not in board.outcomes or rule.takes(board, *alone))


def _passes_alone(board: Board, base: Base, rule: AcceptanceRule, row: int) -> bool:
    """Whether the row's wrong completion is accepted without any addition."""
    if not base.rows[row].others:
        return False
    alone = (
        board.outcomes.get((row, text))
        for text in (base.rows[row].say(base.rows[row].other), base.rows[row].other)
    )
    return any(outcome is not None and rule.accepts(row, outcome, gross=True) for outcome in alone)


def _counted(variant: Variant, texts: Sequence[TriedText], base: Base) -> Iterator[TriedText]:
    """The same texts, wrong only where the transformation requires no more: see `Variant.together` and `distinct`."""
    # If the number alone is accepted, one rejected unit shows that units are compared.
    is_together = variant.together or (variant.name == "unit" and base.number_alone)
    return _distinct(variant, _together(texts) if is_together else texts, base)


def _together(texts: Sequence[TriedText]) -> list[TriedText]:
    """The same texts; those of a row are wrong only if all of them are."""
    spared = {text.row for text in texts if not text.wrong}
    return [replace(text, wrong=text.wrong and text.row not in spared) for text in texts]


def _distinct(variant: Variant, texts: Sequence[TriedText], base: Base) -> Iterator[TriedText]:
    """The same texts; one that must be misgraded on rows of several references counts only if it is."""
    if not variant.distinct:
        yield from texts
        return
    per_text: dict[str, set[str]] = {}
    for text in texts:
        if text.wrong:
            per_text.setdefault(_magic(text, base), set()).add(plainly(base.references[text.row]))
    needed = min(3, base.distinct) if base.distinct > 1 else 1
    for text in texts:
        enough = len(per_text.get(_magic(text, base), ())) >= needed
        yield text if enough or not text.wrong else replace(text, wrong=False)


def _magic(text: TriedText, base: Base) -> str:
    """A text without the row's own wrong completion: what stays the same from row to row."""
    row = base.rows[text.row]
    return (
        (text.text or "").replace(row.say(row.other), "").replace(row.other, "").strip()
        if row.others
        else text.text or ""
    )


def _difference(texts: Sequence[TriedText], rule: AcceptanceRule) -> float:
    best = rule.best
    pairs = [
        text.outcome.score - best[text.row]
        for text in texts
        if text.row in best and not math.isnan(text.outcome.score)
    ]
    return float(np.mean(pairs)) if pairs else math.nan


def table(found: Sequence[Family]) -> pd.DataFrame:
    """One row per transformation.

    Columns: transformation, expects ("reject" or "accept"), tried (texts), rows, wrong (rows with a misgraded text), share
    of the rows, lo and hi (95 % interval), failed (texts without a score), difference (mean score minus the correct
    completion's).
    """
    return SafeFrame(
        {
            "transformation": [family.variant.name for family in found],
            "expects": [family.variant.expects for family in found],
            "tried": [len(family.texts) for family in found],
            "rows": [len(family.rows) for family in found],
            "wrong": [len(family.wrong_rows) for family in found],
            "share": [family.share.value for family in found],
            "lo": [family.interval.lo for family in found],
            "hi": [family.interval.hi for family in found],
            "failed": [len(family.failed) for family in found],
            "difference": [family.difference for family in found],
        }
    )


CHANGES: dict[str, Variant] = {}
"""Every transformation that a function of all rows makes, by its name."""


def change_variant(
    name: str,
    expects: Literal["reject", "accept"],
    says: str,
    advice: str,
    *,
    rank: int = _CHANGED,
    least: int = MIN_ROWS,
    asked: bool = True,
    **settings: Any,
) -> Variant:
    """A transformation whose texts are made by a function of all rows, for code only.

    Args:
        name: Short and hyphenated.
        expects: Whether its texts have to be rejected or accepted.
        says: What its texts are, as in `Variant`.
        advice: What to do about it.
        rank: Its position among the findings, as in `Variant`.
        least: Fewest rows for an error.
        asked: Whether a control, the prompt or the source shows that its texts are wrong or right.
        settings: Other attributes of `Variant`.
    """
    assert name not in {*CHANGES, *VARIANTS}, f"two transformations are named {name!r}"
    CHANGES[name] = Variant(
        name, expects, says, lambda _: (), alarm="always", rank=rank, least=least, judges=False, advice=advice, asked=asked, **settings,
    )  # fmt: skip
    return CHANGES[name]
