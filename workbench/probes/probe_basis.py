"""The basis of a probe: when a text is accepted, each row's reference in the form that the grader accepts, and wrong texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.labels import read_labels
from workbench.data.samples import Samples
from workbench.probes.acceptance import HALF, MOST, AcceptanceRule, rule_of
from workbench.probes.board import Board, ProbeOutcome
from workbench.probes.completion_forms import FREE, OWN_FORM, PLAIN, CompletionForm, shapes_for
from workbench.probes.references import (
    contrast_pairs,
    empty_references,
    last_prompt,
    reference_texts,
    references_as_graded,
    references_in_columns,
    texts_in,
    wrong_completions,
)
from workbench.probes.shapes import Mined, number_with_words, plainly
from workbench.probes.variants import ProbeRow

_FORMS = 8
"""Maximum number of other forms. Workbench limit."""
_LEARNT_ON = 16
"""Rows on which forms are tested first."""

_SENTENCES, _JUDGED_SENTENCES = 3, 1
"""Minimum number of kinds of sentences that have to be accepted; the one that a judge grades. Workbench limits."""


@dataclass(frozen=True)
class Base:
    """The basis of the later stages.

    Attributes:
        rows: The rows as transformations see them.
        rule: What counts as accepted.
        shape: The form in which the reference is accepted.
        shape_rate: Share of the rows with a reference whose reference is accepted in it; NaN without references.
        free: Whether the grader accepts references in sentences of several kinds.
        embeds: Whether it accepts references with any other text before them.
        number_alone: Whether it accepts the bare number of references such as "33 kg": their words are not compared.
        right: Rows whose correct completion is accepted, by position, with that text.
        references: Text of each row's reference, by position.
    """

    rows: tuple[ProbeRow, ...]
    rule: AcceptanceRule
    shape: CompletionForm
    shape_rate: float
    free: bool
    embeds: bool
    number_alone: bool
    right: Mapping[int, str]
    references: tuple[str, ...]

    @property
    def distinct(self) -> int:
        """The number of different references."""
        return len({reference for reference in self.references if reference})


def establish(
    board: Board,
    mined: Mined,
    *,
    labels: Any = None,
    pass_threshold: float | None = None,
    seed: int = 0,
    judge: bool = False,
) -> Base:
    """Find out what the grader accepts as correct: its form, and the score of each row's correct completion.

    Args:
        board: The grader and the rows; the texts are graded there.
        mined: What the grader's source reveals.
        labels: Whether each row is known good, as in `Report`; None for unknown.
        pass_threshold: The user's pass threshold.
        seed: For random choices.
        judge: Whether each text costs a request to a model: then only two forms are tested.
    """
    samples = board.samples
    texts, references = list(_texts(samples)), tuple(reference_texts(samples, mined))
    if not judge and not any(references):
        references = references_in_columns(board, mined, pass_threshold)
    written = references
    if not judge:
        references = references_as_graded(board, mined, references, pass_threshold)
    nothing = empty_references(samples, references)
    good = read_labels(labels, len(samples)) == 1
    others = [wrong_completions(row, references, seed) for row in range(len(samples))]
    known = [row for row, reference in enumerate(references) if reference]
    tried = _Tried(board, references, known, pass_threshold)
    simple = [PLAIN, *FREE[: _JUDGED_SENTENCES if judge else len(FREE)]]
    tried.grade(simple)
    board.grade(contrast_pairs(board, others, seed, judge=judge))
    owned = [board.own_texts(row) for row in range(len(samples))]
    board.grade((row, text) for row, some in enumerate(owned) for text in some)
    shapes = simple
    if known and not judge and tried.rate(PLAIN, tried.rule(simple)) < HALF:
        examples = [
            (text, references[row])
            for row in sorted(known, key=lambda row: not good[row])
            for text in owned[row]
        ]
        shapes = shapes_for(mined, _accepted_first(board, tried.rule(simple), examples, known))
    chosen, rule = tried.choose(shapes)
    right = tried.right(chosen, rule)
    takes = {
        row: tuple(text for text in some if rule.takes(board, row, text)) for row, some in enumerate(owned)
    }
    forms = () if judge else _other_forms(tried, rule, chosen, mined, takes)
    rows = []
    for row, (prompt, completion) in enumerate(texts):
        is_good = bool(completion) and (good[row] or completion in takes[row])
        known_good = completion if is_good else next(iter(takes[row]), None) or right.get(row)
        rows.append(
            ProbeRow(
                row,
                prompt,
                completion,
                references[row],
                others[row],
                mined,
                chosen,
                seed,
                good=known_good,
                columns=samples.threads[row].metadata or {},
                own=owned[row],
                accepted=takes[row],
                mended=chosen.mends,
                forms=forms,
                alternatives=_alternatives(
                    references[row], written[row], samples.threads[row].metadata or {}
                ),
                wants_nothing=row in nothing,
                conversation="\n".join(turn.content or "" for turn in samples.threads[row].messages()),
            )
        )
    sentences = sum(tried.rate(shape, rule) >= MOST for shape in simple[1:])
    free = sentences >= (1 if judge else _SENTENCES) and chosen in {PLAIN, *FREE}
    return Base(
        rows=tuple(rows),
        rule=rule,
        shape=chosen,
        shape_rate=len(right) / len(known) if known else math.nan,
        free=free,
        embeds=free
        or (
            any(map(_has_more, rows))
            and (any(row.is_letter for row in rows) or _takes_words_before(board, rule, chosen, references))
        ),
        number_alone=not judge and _takes_bare_numbers(board, rule, chosen, references),
        right=right,
        references=references,
    )


_BEFORE = "Let me think about that.\n\n"


def _takes_words_before(
    board: Board, rule: AcceptanceRule, form: CompletionForm, references: Sequence[str]
) -> bool:
    """Whether the form is accepted after words that no prompt requires."""
    pairs = [(row, _BEFORE + form(text)) for row, text in enumerate(references) if text]
    board.grade(pairs)
    return rule.share(board, pairs) >= MOST


def _alternatives(reference: str, written: str, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Other correct completions: the entries of a list of which the reference is one, in its cell or in another column."""
    listed = entries if reference != written and reference in (entries := texts_in(written)) else []
    for value in columns.values():
        cells = value.values() if isinstance(value, Mapping) else [value]
        for cell in cells:
            if isinstance(cell, list | tuple) and reference and reference in cell:
                listed += [entry for entry in cell if isinstance(entry, str) and entry.strip()]
    return tuple(dict.fromkeys(listed))


def _has_more(row: ProbeRow) -> bool:
    """Whether a completion of the row is accepted that has words in addition to the reference."""
    text = row.good or ""
    return (
        bool(row.reference)
        and row.good == row.completion
        and row.reference in text
        and len(plainly(text)) > len(plainly(row.reference)) + 1
    )


def _other_forms(
    tried: _Tried,
    rule: AcceptanceRule,
    chosen: CompletionForm,
    mined: Mined,
    takes: Mapping[int, Sequence[str]],
) -> tuple[CompletionForm, ...]:
    """Other forms than the chosen one in which nearly all references are accepted: usual ones, and those of accepted completions."""
    accepted = [(text, tried.references[row]) for row, texts in takes.items() for text in texts]
    shapes = [
        shape
        for shape in shapes_for(mined, accepted)
        if not shape.mends and shape not in {PLAIN, *FREE, chosen}
    ]
    tried.grade(shapes, _LEARNT_ON)
    return tuple(shape for shape in shapes if tried.rate(shape, rule) >= MOST)[:_FORMS]


def _takes_bare_numbers(
    board: Board, rule: AcceptanceRule, form: CompletionForm, references: Sequence[str]
) -> bool:
    """Whether the number of references such as "33 kg" is accepted without its words, in most rows that have them."""
    pairs = [
        (row, form(number)) for row, text in enumerate(references) if (number := number_with_words(text))
    ]
    board.grade(pairs)
    return rule.share(board, pairs) > HALF


@dataclass(frozen=True)
class _Tried:
    """References in forms, graded."""

    board: Board
    references: Sequence[str]
    known: Sequence[int]
    pass_threshold: float | None

    def grade(self, shapes: Sequence[CompletionForm], most: int | None = None) -> None:
        """Test forms on the rows with a reference, at most the first `most` of them."""
        self.board.grade((row, shape(self.references[row])) for row in self.known[:most] for shape in shapes)

    def outcome(self, row: int, shape: CompletionForm) -> ProbeOutcome | None:
        return self.board.outcomes.get((row, shape(self.references[row])))

    def rate(self, shape: CompletionForm, rule: AcceptanceRule) -> float:
        """Share of rows whose reference is accepted in a form."""
        found = [(row, outcome) for row in self.known if (outcome := self.outcome(row, shape)) is not None]
        return sum(rule.accepts(row, outcome) for row, outcome in found) / len(found) if found else 0.0

    def rule(self, shapes: Sequence[CompletionForm]) -> AcceptanceRule:
        """What counts as accepted; each row's best score in some forms counts as that of its correct completion.

        If one of the row's own completions scores twice as high, the references are not written as completions are, such as
        the numbers of a puzzle: then that completion is the correct one.
        """
        best: dict[int, float] = {}
        outcomes = self.board.outcomes.values()
        floor = min((outcome.score for outcome in outcomes if not math.isnan(outcome.score)), default=0.0)
        for row in self.known:
            in_form = self._highest(row, [shape(self.references[row]) for shape in shapes])
            if in_form is not None:
                own = self._highest(row, self.board.own_texts(row))
                is_far_above = own is not None and in_form - floor < HALF * (own - floor)
                best[row] = own if own is not None and is_far_above else in_form
        return rule_of(outcomes, best, pass_threshold=self.pass_threshold)

    def _highest(self, row: int, texts: Sequence[str]) -> float | None:
        """The highest score of some texts in a row; None if none has one."""
        found = [self.board.outcomes[row, text].score for text in texts if (row, text) in self.board.outcomes]
        return max((score for score in found if not math.isnan(score)), default=None)

    def choose(self, shapes: Sequence[CompletionForm]) -> tuple[CompletionForm, AcceptanceRule]:
        """The form in which most references are accepted; the plain one if it is accepted for most rows."""
        self.grade(shapes, _LEARNT_ON)
        first = self.rule(shapes)
        best = max(shapes, key=lambda shape: self.rate(shape, first))
        if self.rate(PLAIN, first) >= HALF or not self.known or not self.rate(best, first):
            best = PLAIN
        self.grade([best])
        rule = self.rule(shapes)
        return (PLAIN if best.name == OWN_FORM and self._takes_any(best, rule) else best), rule

    def _takes_any(self, shape: CompletionForm, rule: AcceptanceRule) -> bool:
        """Whether a form that one completion shows is accepted with any text in it: something else in it decides, such as a letter."""
        pairs = [(row, shape("zuborek")) for row in self.known[:_LEARNT_ON]]
        self.board.grade(pairs)
        return rule.share(self.board, pairs) >= HALF * self.rate(shape, rule)

    def right(self, shape: CompletionForm, rule: AcceptanceRule) -> dict[int, str]:
        """Rows whose reference is accepted in a form, with that text."""
        found = [(row, outcome) for row in self.known if (outcome := self.outcome(row, shape)) is not None]
        return {row: shape(self.references[row]) for row, outcome in found if rule.accepts(row, outcome)}


def _accepted_first(
    board: Board, rule: AcceptanceRule, examples: Sequence[tuple[str, str]], known: Sequence[int]
) -> list[tuple[str, str]]:
    """Examples, sorted so that accepted completions are first."""
    accepted = {text for row in known for text in board.own_texts(row) if rule.takes(board, row, text)}
    return sorted(examples, key=lambda example: example[0] not in accepted)


def _texts(samples: Samples) -> Any:
    """Prompt and completion of each row."""
    for thread in samples.threads:
        yield last_prompt(thread), thread.completion() or ""
