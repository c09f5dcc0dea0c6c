"""What is right: each row's reference, the form in which the grader takes it, and answers that are surely wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from workbench.diagnostics.labels import read_labels
from workbench.probes.accepting import Rule, rule_of
from workbench.probes.board import Board, Pair
from workbench.probes.filler import gibberish
from workbench.probes.mining import Mined
from workbench.probes.right import apart, as_text, number_in, parsed_json
from workbench.probes.row import Row
from workbench.probes.shapes import FREE, PLAIN, Shape, shapes_for
from workbench.report.settings import label_column
from workbench.samples import Samples

__all__ = ["Base", "establish"]

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
"""Names of metadata that hold a right answer, where no column is mapped as the reference."""
_MOSTLY, _TOLERANT = 0.5, 0.9
"""Shares of rows: a form counts as the grader's own; a sentence counts as accepted in general. Ours."""
_LEARNT_ON = 16
"""Rows on which forms are tried at first."""
_SPARE = ("Zuborek", "Ledum Nofel")
_JUDGED_SHAPES = 2


@dataclass(frozen=True)
class Base:
    """What later stages stand on.

    Attributes:
        rows: The rows as transformations see them.
        rule: What counts as accepted.
        shape: The form in which the right answer is accepted.
        shape_rate: Share of the rows with a reference whose right answer is accepted in it; NaN without references.
        free: Whether the grader takes answers in sentences of several kinds.
        right: Rows whose right answer is accepted, by position, with that text.
        references: Text of each row's reference, by position.
    """

    rows: tuple[Row, ...]
    rule: Rule
    shape: Shape
    shape_rate: float
    free: bool
    right: Mapping[int, str]
    references: tuple[str, ...]

    @property
    def distinct(self) -> int:
        """How many different references there are."""
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
    """Find out what the grader takes for right: its form, and the score of each row's right answer.

    Args:
        board: The grader and the rows; what is tried here is graded there.
        mined: What the grader's text gave away.
        labels: Known-good rows, as in `Report`.
        pass_threshold: The user's pass mark.
        seed: For what is drawn.
        judge: Whether each text is a question to a model: then only two forms are tried.
    """
    samples = board.samples
    texts = list(_texts(samples))
    references = tuple(_references(samples, mined))
    good = read_labels(label_column(samples, labels), len(samples)) == 1
    known = [row for row, reference in enumerate(references) if reference]
    others = [_others(row, references, seed) for row in range(len(samples))]
    shapes = [PLAIN, *FREE[: 1 if judge else len(FREE)]]
    board.grade([(row, shape(references[row])) for row in known for shape in shapes])
    board.grade(
        [
            *_contrast(board, others, seed, judge=judge),
            *((row, text) for row, (_, text) in enumerate(texts) if text),
        ]
    )
    rule = partial(_rule, board, references, pass_threshold=pass_threshold)
    if known and not judge and _rate(board, rule(shapes), PLAIN, references, known) < _MOSTLY:
        examples = [(texts[row][1], references[row]) for row in sorted(known, key=lambda row: not good[row])]
        shapes = shapes_for(mined, [*_accepted_first(board, rule(shapes), examples, known)])
        board.grade([(row, shape(references[row])) for row in known[:_LEARNT_ON] for shape in shapes])
        best = max(
            shapes, key=lambda shape: _rate(board, rule(shapes), shape, references, known[:_LEARNT_ON])
        )
        board.grade([(row, best(references[row])) for row in known])
    final = rule(shapes)
    rates = {shape: _rate(board, final, shape, references, known) for shape in shapes}
    chosen = max(shapes, key=rates.__getitem__) if rates[PLAIN] < _MOSTLY else PLAIN
    if not known or rates[chosen] == 0:
        chosen = PLAIN
    right = {
        row: chosen(references[row])
        for row in known
        if final.accepts(row, board.outcomes[row, chosen(references[row])])
    }
    rows = []
    for row, (prompt, completion) in enumerate(texts):
        graded = board.outcomes.get((row, completion)) if completion else None
        accepted = graded is not None and final.accepts(row, graded)
        text = completion if completion and (good[row] or accepted) else right.get(row)
        rows.append(
            Row(
                row, prompt, completion, references[row], others[row], mined, chosen, seed, text, chosen.mends
            )
        )
    free = sum(rates.get(shape, 0.0) >= _TOLERANT for shape in FREE) >= (1 if judge else 3)
    return Base(
        tuple(rows),
        final,
        chosen,
        rates[chosen] if known else math.nan,
        free and chosen in {PLAIN, *FREE},
        right,
        references,
    )


def _accepted_first(
    board: Board, rule: Rule, examples: Sequence[tuple[str, str]], known: Sequence[int]
) -> list[tuple[str, str]]:
    """Examples with those first whose completion the grader accepts."""
    accepted = {
        board.samples_text(row)
        for row in known
        if (outcome := board.outcomes.get((row, board.samples_text(row)))) is not None
        and rule.accepts(row, outcome)
    }
    return sorted(examples, key=lambda example: example[0] not in accepted)


def _rule(
    board: Board, references: Sequence[str], shapes: Sequence[Shape], *, pass_threshold: float | None
) -> Rule:
    best: dict[int, float] = {}
    for row, reference in enumerate(references):
        scores = [
            board.outcomes[pair].score
            for shape in shapes
            if (pair := (row, shape(reference))) in board.outcomes and reference
        ]
        scores = [score for score in scores if not math.isnan(score)]
        if scores:
            best[row] = max(scores)
    return rule_of(board.outcomes.values(), best, pass_threshold=pass_threshold)


def _rate(board: Board, rule: Rule, shape: Shape, references: Sequence[str], rows: Sequence[int]) -> float:
    """Share of rows whose reference is accepted in a form."""
    tried = [row for row in rows if (row, shape(references[row])) in board.outcomes]
    hits = sum(rule.accepts(row, board.outcomes[row, shape(references[row])]) for row in tried)
    return hits / len(tried) if tried else 0.0


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
    """The right answer of each row as text, "" where it is not known."""
    values = list(samples.references)
    if (
        all(
            value in (None, True, False, 0, 1, "0", "1")
            for value in values
            if not isinstance(value, list | dict)
        )
        and samples.columns.get("reference") == "label"
    ):
        values = [None] * len(values)  # verdicts on the rows, not answers
    if all(value is None for value in values):
        name = next((name for name in _USUAL_NAMES if name in mined.text), None)
        values = [(thread.metadata or {}).get(name) for thread in samples.threads] if name else values
    return [
        _first_of(value) if isinstance(value, list) and _are_choices(value, mined) else as_text(value)
        for value in values
    ]


def _are_choices(value: Sequence[Any], mined: Mined) -> bool:
    """Whether a list of texts names several ways to say one answer rather than an answer that is a list."""
    return (
        bool(value)
        and all(isinstance(item, str) for item in value)
        and "any(" in mined.text
        and "json" not in mined.text
    )


def _first_of(value: Sequence[Any]) -> str:
    return as_text(value[0])


def _others(row: int, references: Sequence[str], seed: int) -> tuple[str, ...]:
    """Answers that are surely wrong in a row: other rows' references, those of like length first; then made-up ones."""
    reference = references[row]
    if not reference:
        return ()
    pool = sorted({other for other in references if other and apart(other, reference)})
    Random(f"{seed}-{row}").shuffle(pool)  # noqa: S311 (no secret)
    near = sorted(pool, key=lambda other: abs(len(other) - len(reference)) > 3)[:2]
    made = [other for other in _made_up(reference) if apart(other, reference)]
    return tuple(dict.fromkeys([*near, *made]))[:2]


def _made_up(reference: str) -> list[str]:
    """Wrong answers of the reference's own kind."""
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
