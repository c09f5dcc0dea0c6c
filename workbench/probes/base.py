"""The basis of a probe: when a text is accepted, each row's reference in the form that the grader accepts, and wrong texts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from workbench.analysis.labels import read_labels
from workbench.data.samples import Samples
from workbench.probes.board import Board, Pair, ProbeOutcome
from workbench.probes.shapes import (
    FREE,
    PLAIN,
    Mined,
    Shape,
    apart,
    as_text,
    gibberish,
    number_in,
    number_with_words,
    parsed_json,
    plainly,
    shapes_for,
)
from workbench.probes.variants import ProbeRow

_EQUAL, _CLOSE, _HALF = 1 - 1e-6, 0.9, 0.5
"""Shares of the span between the lowest score seen and the correct completion's.

A near miss may score nearly as high as the correct completion, but not as high; a text that is not a completion at all has
to stay a tenth of the span below; and a correct completion in another form may lose half. Workbench limits.
"""


@dataclass(frozen=True)
class AcceptanceRule:
    """When a text is accepted.

    Attributes:
        mark: Lowest score that accepts a text; None if a text has to score as high as the row's correct completion.
        best: Score of each row's correct completion, by the row's position.
        usual: Score for a row whose correct completion is unknown.
        floor: The lowest score seen.
    """

    mark: float | None = None
    best: Mapping[int, float] = field(default_factory=dict)
    usual: float = 1.0
    floor: float = 0.0

    @property
    def usual_mark(self) -> float:
        """One pass threshold for all rows, for a report."""
        return self.floor + _EQUAL * (self.usual - self.floor) if self.mark is None else self.mark

    def accepts(self, row: int, outcome: ProbeOutcome, *, gross: bool = False) -> bool:
        """Whether a known-bad text is accepted; a gross one must not even come close to the correct completion."""
        return self._above(row, outcome, _CLOSE if gross else _EQUAL)

    def rejects(self, row: int, outcome: ProbeOutcome) -> bool:
        """Whether a known-good text is rejected; with continuous scores, whether it loses more than half."""
        return not self._above(row, outcome, _HALF)

    def _above(self, row: int, outcome: ProbeOutcome, share: float) -> bool:
        if not outcome.tried or math.isnan(outcome.score):
            return False
        if outcome.passed is not None:
            return outcome.passed
        if self.mark is not None:
            return outcome.score >= self.mark
        best = max(self.best.get(row, self.usual), self.usual)
        return best > self.floor and outcome.score >= self.floor + share * (best - self.floor)


def rule_of(
    outcomes: Iterable[ProbeOutcome], best: Mapping[int, float], *, pass_threshold: float | None = None
) -> AcceptanceRule:
    """The rule for a grader, from its grades so far.

    Args:
        outcomes: Of correct and wrong texts.
        best: Score of each row's correct completion, by position.
        pass_threshold: The user's pass threshold; None for the higher of two levels, or the correct completion's score.
    """
    scores = sorted({round(outcome.score, 9) for outcome in outcomes if not math.isnan(outcome.score)})
    known = sorted(best.values())
    usual = known[len(known) // 2] if known else (scores[-1] if scores else 1.0)
    floor = scores[0] if scores else 0.0
    # A grader whose scores are all equal: 0 to 1 is the scale unless another is given.
    levels = {1: _HALF, 2: scores[-1] if scores else None}
    return AcceptanceRule(
        levels.get(len(scores)) if pass_threshold is None else pass_threshold, best, usual, floor
    )


_USUAL_NAMES = (
    "target",
    "gold",
    "gold_answer",
    "solution",
    "correct",
    "correct_answer",
    "expected_output",
    "ideal",
    "truth_answer",
)
"""Names of metadata with a correct completion, used if no column is mapped as the reference."""
_MOSTLY, _TOLERANT = 0.5, 0.9
"""Shares of rows: a form counts as the grader's form; a sentence counts as accepted in general. Workbench limits."""
_FORMS = 8
"""Maximum number of other forms. Workbench limit."""
_LEARNT_ON = 16
"""Rows on which forms are tested first."""

_SPARE = ("Zuborek", "Ledum Nofel")
"""Completions that are wrong for every prompt."""
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
        embeds: Whether it accepts references with other text around them, such as in rows' completions.
        number_alone: Whether it accepts the bare number of references such as "33 kg": their words are not compared.
        right: Rows whose correct completion is accepted, by position, with that text.
        references: Text of each row's reference, by position.
    """

    rows: tuple[ProbeRow, ...]
    rule: AcceptanceRule
    shape: Shape
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
    texts, references = list(_texts(samples)), tuple(_references(samples, mined))
    if not judge and not any(references):
        references = _accepted_ones(board, mined, pass_threshold)
    nothing = _empty_ones(samples, references)
    good = read_labels(labels, len(samples)) == 1
    others = [_others(row, references, seed) for row in range(len(samples))]
    known = [row for row, reference in enumerate(references) if reference]
    tried = _Tried(board, references, known, pass_threshold)
    simple = [PLAIN, *FREE[: _JUDGED_SENTENCES if judge else len(FREE)]]
    tried.grade(simple)
    board.grade(_contrast(board, others, seed, judge=judge))
    board.grade((row, text) for row, (_, text) in enumerate(texts) if text)
    shapes = simple
    if known and not judge and tried.rate(PLAIN, tried.rule(simple)) < _MOSTLY:
        examples = [(texts[row][1], references[row]) for row in sorted(known, key=lambda row: not good[row])]
        shapes = shapes_for(mined, _accepted_first(board, tried.rule(simple), examples, known))
    chosen, rule = tried.choose(shapes)
    right = tried.right(chosen, rule)
    forms = () if judge else _other_forms(tried, rule, chosen, board, mined, texts)
    rows = []
    for row, (prompt, completion) in enumerate(texts):
        outcome = board.outcomes.get((row, completion)) if completion else None
        is_good = good[row] or (outcome is not None and rule.accepts(row, outcome))
        text = completion if completion and is_good else right.get(row)
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
                text,
                chosen.mends,
                forms,
                row in nothing,
            )
        )
    sentences = sum(tried.rate(shape, rule) >= _TOLERANT for shape in simple[1:])
    free = sentences >= (1 if judge else _SENTENCES) and chosen in {PLAIN, *FREE}
    return Base(
        tuple(rows), rule, chosen, len(right) / len(known) if known else math.nan, free,
        free or any(_has_more(row) for row in rows), not judge and _takes_bare_numbers(board, rule, chosen, references), right, references,
    )  # fmt: skip


_EXCLUSIVE = 0.1
"""Largest share of other prompts' accepted completions that a row may accept, if they are to say what is right in it."""


def _accepted_ones(board: Board, mined: Mined, pass_threshold: float | None) -> tuple[str, ...]:
    """A correct completion of each row without a reference, as the grader itself shows it; "" where it shows none.

    A column that the source names holds it if most of its values are accepted as completions, and rejected in other rows.
    """
    samples = board.samples
    board.grade(_contrast(board, [()] * len(samples), 0, judge=False))
    candidates = [*_columns_as_texts(samples, mined)]
    board.grade((row, text) for column in candidates for row, text in enumerate(column) if text)
    rule = rule_of(board.outcomes.values(), {}, pass_threshold=pass_threshold)

    def accepts(row: int, text: str) -> bool:
        return bool(text) and (row, text) in board.outcomes and rule.accepts(row, board.outcomes[row, text])

    for column in candidates:
        held = [(row, text) for row, text in enumerate(column) if text]
        if len({text for _, text in held}) > 1 and sum(accepts(*pair) for pair in held) >= _TOLERANT * len(
            held
        ):
            return tuple(column) if _excludes(board, rule, column) else ("",) * len(samples)
    return ("",) * len(samples)


def _columns_as_texts(samples: Samples, mined: Mined) -> Iterable[list[str]]:
    """The columns that the source names, as completions: a list also with one entry a line."""
    roles = {name for role, name in samples.columns.items() if role != "reference"}
    for name in samples.frame.columns:
        if name in roles or not re.search(rf"[\"']{re.escape(str(name))}[\"']", mined.text):
            continue
        values = [(thread.metadata or {}).get(str(name)) for thread in samples.threads]
        yield [as_text(value) for value in values]
        if any(isinstance(value, list) for value in values):
            for glue in ("\n", ", "):
                yield [glue.join(map(as_text, value)) if isinstance(value, list) else "" for value in values]


def _excludes(board: Board, rule: AcceptanceRule, texts: Sequence[str]) -> bool:
    """Whether rows reject the texts of rows with another one."""
    pairs = []
    for row, text in enumerate(texts):
        others = [
            other
            for other in dict.fromkeys([*texts[row + 1 :], *texts[:row]])
            if other and text and apart(other, text)
        ]
        pairs += [(row, other) for other in others[:2]]
    board.grade(pairs)
    graded = [(row, board.outcomes[row, text]) for row, text in pairs if (row, text) in board.outcomes]
    return bool(graded) and sum(rule.accepts(*one) for one in graded) <= _EXCLUSIVE * len(graded)


def _has_more(row: ProbeRow) -> bool:
    """Whether a completion of the row is accepted that has words beside the reference."""
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
    chosen: Shape,
    board: Board,
    mined: Mined,
    texts: Sequence[tuple[str, str]],
) -> tuple[Shape, ...]:
    """Forms beside the chosen one in which nearly all references are accepted: usual ones, and those of accepted completions."""
    accepted = [
        (completion, tried.references[row])
        for row, (_, completion) in enumerate(texts)
        if completion
        and (outcome := board.outcomes.get((row, completion))) is not None
        and rule.accepts(row, outcome)
    ]
    shapes = [
        shape
        for shape in shapes_for(mined, accepted)
        if not shape.mends and shape not in {PLAIN, *FREE, chosen}
    ]
    tried.grade(shapes, _LEARNT_ON)
    return tuple(shape for shape in shapes if tried.rate(shape, rule) >= _TOLERANT)[:_FORMS]


def _takes_bare_numbers(board: Board, rule: AcceptanceRule, form: Shape, references: Sequence[str]) -> bool:
    """Whether the number of references such as "33 kg" is accepted without its words, in most rows that have them."""
    pairs = [
        (row, form(number)) for row, text in enumerate(references) if (number := number_with_words(text))
    ]
    board.grade(pairs)
    graded = [(row, board.outcomes[row, text]) for row, text in pairs if (row, text) in board.outcomes]
    return bool(graded) and sum(rule.accepts(*one) for one in graded) > _MOSTLY * len(graded)


@dataclass(frozen=True)
class _Tried:
    """References in forms, graded."""

    board: Board
    references: Sequence[str]
    known: Sequence[int]
    pass_threshold: float | None

    def grade(self, shapes: Sequence[Shape], most: int | None = None) -> None:
        """Test forms on the rows with a reference, at most the first `most` of them."""
        self.board.grade((row, shape(self.references[row])) for row in self.known[:most] for shape in shapes)

    def outcome(self, row: int, shape: Shape) -> ProbeOutcome | None:
        return self.board.outcomes.get((row, shape(self.references[row])))

    def rate(self, shape: Shape, rule: AcceptanceRule) -> float:
        """Share of rows whose reference is accepted in a form."""
        found = [(row, outcome) for row in self.known if (outcome := self.outcome(row, shape)) is not None]
        return sum(rule.accepts(row, outcome) for row, outcome in found) / len(found) if found else 0.0

    def rule(self, shapes: Sequence[Shape]) -> AcceptanceRule:
        """What counts as accepted; each row's best score in some forms counts as that of its correct completion."""
        best: dict[int, float] = {}
        for row in self.known:
            scores = [outcome.score for shape in shapes if (outcome := self.outcome(row, shape)) is not None]
            if known := [score for score in scores if not math.isnan(score)]:
                best[row] = max(known)
        return rule_of(self.board.outcomes.values(), best, pass_threshold=self.pass_threshold)

    def choose(self, shapes: Sequence[Shape]) -> tuple[Shape, AcceptanceRule]:
        """The form in which most references are accepted; the plain one if it is accepted for most rows."""
        self.grade(shapes, _LEARNT_ON)
        first = self.rule(shapes)
        best = max(shapes, key=lambda shape: self.rate(shape, first))
        if self.rate(PLAIN, first) >= _MOSTLY or not self.known or not self.rate(best, first):
            best = PLAIN
        self.grade([best])
        return best, self.rule(shapes)

    def right(self, shape: Shape, rule: AcceptanceRule) -> dict[int, str]:
        """Rows whose reference is accepted in a form, with that text."""
        found = [(row, outcome) for row in self.known if (outcome := self.outcome(row, shape)) is not None]
        return {row: shape(self.references[row]) for row, outcome in found if rule.accepts(row, outcome)}


def _accepted_first(
    board: Board, rule: AcceptanceRule, examples: Sequence[tuple[str, str]], known: Sequence[int]
) -> list[tuple[str, str]]:
    """Examples, sorted so that accepted completions are first."""
    accepted = {
        board.samples_text(row)
        for row in known
        if (outcome := board.outcomes.get((row, board.samples_text(row)))) is not None
        and rule.accepts(row, outcome)
    }
    return sorted(examples, key=lambda example: example[0] not in accepted)


def _contrast(board: Board, others: Sequence[tuple[str, ...]], seed: int, *, judge: bool) -> list[Pair]:
    """Texts that are surely wrong, so that the levels of the scores show."""
    rows = range(len(board.samples))
    pairs: list[Pair] = [(row, "") for row in rows]
    pairs += [(row, others[row][0]) for row in rows if others[row]]
    return pairs if judge else [*pairs, *((row, gibberish(60, Random(seed))) for row in rows)]  # noqa: S311


def _texts(samples: Samples) -> Any:
    """Prompt and completion of each row."""
    for thread in samples.threads:
        asked = [turn.content for turn in thread.messages() if turn.role == "user"]
        yield (asked[-1] if asked else ""), thread.completion() or ""


def _references(samples: Samples, mined: Mined) -> list[str]:
    """The correct completion of each row as text, "" if unknown."""
    values = list(samples.references)
    if (
        all(
            value in (None, True, False, 0, 1, "0", "1")
            for value in values
            if not isinstance(value, list | dict)
        )
        and samples.columns.get("reference") == "label"
    ):
        values = [None] * len(values)  # verdicts on the rows, not completions
    if all(value is None for value in values):
        name = next((name for name in _USUAL_NAMES if name in mined.text), None)
        values = [(thread.metadata or {}).get(name) for thread in samples.threads] if name else values
    return [
        _first_of(value) if isinstance(value, list) and _are_choices(value, mined) else as_text(value)
        for value in values
    ]


def _empty_ones(samples: Samples, references: Sequence[str]) -> set[int]:
    """Rows whose correct completion is the empty text; none if all are empty, since then "" means unknown."""
    empty = {
        row for row, value in enumerate(samples.references) if isinstance(value, str) and not value.strip()
    }
    return empty if any(references) else set()


def _are_choices(value: Sequence[Any], mined: Mined) -> bool:
    """Whether a list of texts has alternative forms of one correct completion, rather than being one list-valued one."""
    return (
        bool(value)
        and all(isinstance(item, str) for item in value)
        and "any(" in mined.text
        and "json" not in mined.text
    )


def _first_of(value: Sequence[Any]) -> str:
    return as_text(value[0])


def _others(row: int, references: Sequence[str], seed: int) -> tuple[str, ...]:
    """Completions that are surely wrong in a row: other rows' references, those of like length first; then made-up ones."""
    reference = references[row]
    if not reference:
        return ()
    pool = sorted({other for other in references if other and apart(other, reference)})
    Random(f"{seed}-{row}").shuffle(pool)  # noqa: S311 (no secret)
    near = sorted(pool, key=lambda other: abs(len(other) - len(reference)) > 3)[:2]
    made = [other for other in _made_up(reference) if apart(other, reference)]
    return tuple(dict.fromkeys([*near, *made]))[:2]


def _made_up(reference: str) -> list[str]:
    """Wrong completions of the same kind as the reference."""
    number, value = number_in(reference), parsed_json(reference)
    if number is not None:
        return [as_text(float(round(number * factor + step, 4))) for factor, step in ((2, 7), (3, 20))]
    if isinstance(value, dict):
        return [json.dumps({**dict.fromkeys(value, spare)}) for spare in _SPARE]
    if isinstance(value, list):
        return [json.dumps([spare]) for spare in _SPARE]
    if len(reference) == 1 and reference.isalpha():
        return [
            letter
            for letter in (chr(ord("A") + step) for step in range(4))
            if letter.lower() != reference.lower()
        ]
    return list(_SPARE)
