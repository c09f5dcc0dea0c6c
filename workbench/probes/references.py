"""What is correct in each row: references as text, also those that columns and completions show, and wrong completions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from workbench.core.thread import StringThread
from workbench.data.samples import Samples
from workbench.probes.acceptance import HALF, MOST, AcceptanceRule, rule_of
from workbench.probes.board import Board, Pair
from workbench.probes.shapes import (
    Mined,
    apart,
    as_text,
    gibberish,
    mentions,
    number_in,
    numbers_in,
    parsed_json,
    same,
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


_SPARE = ("Zuborek", "Ledum Nofel")
"""Completions that are wrong for every prompt."""


_EXCLUSIVE = 0.1
"""Largest share of other prompts' accepted completions that a row may accept, if they show what is correct in it."""


def references_in_columns(board: Board, mined: Mined, pass_threshold: float | None) -> tuple[str, ...]:
    """A correct completion of each row without a reference, as the grader itself shows it; "" if it shows none.

    A column that the source names contains it if most of its values are accepted as completions, and rejected in other rows.
    """
    samples = board.samples
    board.grade(contrast_pairs(board, [()] * len(samples), 0, judge=False))
    candidates = [*_columns_as_texts(samples, mined)]
    board.grade((row, text) for row in range(len(samples)) for text in board.own_texts(row))
    board.grade((row, text) for _, column in candidates for row, text in enumerate(column) if text)
    rule = rule_of(board.outcomes.values(), {}, pass_threshold=pass_threshold)

    prompts = list(map(last_prompt, samples.threads))
    for is_list, column in candidates:
        if _are_stated(board, prompts, column):
            continue
        held = [(row, text) for row, text in enumerate(column) if text]
        # With continuous scores a correct text may score a little less than the best.
        n_taken = sum(
            pair in board.outcomes and not rule.rejects(pair[0], board.outcomes[pair]) for pair in held
        )
        if (
            len({text for _, text in held}) > 1
            and n_taken >= MOST * len(held)
            and (_is_written_so(board, rule, held) if is_list else _is_shown(board, rule, held))
        ):
            return tuple(column) if _excludes(board, rule, column) else ("",) * len(samples)
    return _references_in_completions(board, mined, prompts, pass_threshold)


def _is_written_so(board: Board, rule: AcceptanceRule, held: Sequence[Pair]) -> bool:
    """Whether accepted completions are lists or objects too: one with the required words is accepted as well, but no one writes it."""
    own = [
        (text or "", one) for row, text in held for one in board.own_texts(row) if rule.takes(board, row, one)
    ]
    so = [
        text in one
        or (text[:1] in {"{", "["} and text[0] in one)
        or (text[:1] != "{" and len(_words(one) ^ _words(text)) <= 1)
        for text, one in own
    ]
    return sum(so) >= HALF * len(so)


def _is_shown(board: Board, rule: AcceptanceRule, held: Sequence[Pair]) -> bool:
    """Whether most accepted completions have the column's text in them, or its number: else it is what they are made from."""
    own = [
        (text or "", one)
        for row, text in held
        for one in board.own_texts(row)
        if one and rule.takes(board, row, one) and not _LOOKS_MADE.search(text or "")
    ]
    shown = [mentions(one, text) or _has_number_near(one, number_in(text)) for text, one in own]
    return not shown or sum(shown) >= HALF * len(shown)


def _has_number_near(text: str, value: float | None) -> bool:
    """Whether a text has a number that is not apart from another one: a tolerance may accept it."""
    return value is not None and any(abs(one - value) <= _EXCLUSIVE * abs(value) for one in numbers_in(text))


_LOOKS_MADE = re.compile(r"[(){};=<>\[\]\\]|\b(?:SELECT|def|return)\b|\w{3,} \w{2,} \w{2,} \w")
"""A program, a formula or a sentence: a correct completion may be quite another one."""


def _words(text: str) -> set[str]:
    return {*re.findall(r"[^\W\d_]+", text.lower())}


_SHOWN = 3
"""Fewest rows whose accepted completions show the value of a column. Workbench limit."""


def _references_in_completions(
    board: Board, mined: Mined, prompts: Sequence[str], pass_threshold: float | None
) -> tuple[str, ...]:
    """The values of a column that accepted completions have inside them, and that no other row's value can replace there."""
    samples = board.samples
    rows = range(len(samples))
    board.grade((row, text) for row in rows for text in board.own_texts(row))
    rule = rule_of(board.outcomes.values(), {}, pass_threshold=pass_threshold)
    accepted = {row: [text for text in board.own_texts(row) if rule.takes(board, row, text)] for row in rows}
    known = [row for row in rows if accepted[row]]
    for column in _columns_as_entries(samples, mined):
        found = {row: _shown(column[row], accepted[row]) for row in known}
        frames = {row: one for row, one in found.items() if one is not None}
        values = {row: value for row, (value, _, _) in frames.items()}
        texts = [values.get(row, column[row][0] if column[row] else "") for row in rows]
        if (
            len(frames) < max(_SHOWN, MOST * len(known))
            or len(set(values.values())) < 2
            or _are_stated(board, prompts, texts)
        ):
            continue
        if _excludes(
            board, rule, texts, {row: (before, after) for row, (_, before, after) in frames.items()}
        ):
            return tuple(texts)
    return ("",) * len(samples)


def _columns_as_entries(samples: Samples, mined: Mined) -> Iterable[list[list[str]]]:
    """The columns that the source names: each row's texts, several where it has a list of short texts."""
    roles = {name for role, name in samples.columns.items() if role != "reference"}
    for name in samples.frame.columns:
        if name in roles or not mined.names(name):
            continue
        values = [(thread.metadata or {}).get(str(name)) for thread in samples.threads]
        if all(isinstance(value, str | int | float | list | None) for value in values):
            listed = [value if isinstance(value, list) else [value] for value in values]
            yield [
                [text for one in some if isinstance(one, str | int | float) and (text := as_text(one))]
                for some in listed
            ]


_NUMBER = re.compile(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?![\w])")


def _shown(entries: Sequence[str], accepted: Sequence[str]) -> tuple[str, str, str] | None:
    """The one entry that an accepted completion has as a whole word, with the text before and after it; None for several."""
    for text in sorted(accepted, key=len):
        if len(entries) > 1 and _names_several(text, entries):
            return None
        for entry in sorted(entries, key=len, reverse=True):
            places = [*re.finditer(rf"(?<!\w){re.escape(entry)}(?!\w)", text, re.IGNORECASE)] or [
                found for found in _NUMBER.finditer(text) if number_in(found[0]) == number_in(entry)
            ]
            if places:
                return entry, text[: places[-1].start()], text[places[-1].end() :]
    return None


def last_prompt(thread: StringThread) -> str:
    """The last message of the user; "" if there is none."""
    prompts = [turn.content for turn in thread.messages() if turn.role == "user"]
    return prompts[-1] if prompts else ""


def _are_stated(board: Board, prompts: Sequence[str], column: Sequence[str]) -> bool:
    """Whether the prompts state a column's values, which no completion equals: then they are requirements, such as a keyword.

    A prompt that states all the values there are lists what may be chosen from.
    """
    if all(len(text) == 1 and text.isalpha() for text in column if text):
        return False  # the letters of options
    stated = [
        row
        for row, text in enumerate(column)
        if text and all(mentions(prompts[row], part) for part in re.split(r"\n|, ", text) if part.strip())
    ]
    some = {text for text in column if text}
    choices = [
        row for row in stated if len(some) <= _MAX_LABELS and all(mentions(prompts[row], one) for one in some)
    ]
    if len(some) > 1 and len(choices) >= MOST * len(column):
        return False
    equal = any(same(board.samples_text(row), column[row]) for row in stated)
    return len(stated) >= MOST * sum(map(bool, column)) and not equal


def _columns_as_texts(samples: Samples, mined: Mined) -> Iterable[tuple[bool, list[str]]]:
    """The columns that the source names, as completions: of a list its first entry, and all with one on a line; and whether it is a whole list."""
    roles = {name for role, name in samples.columns.items() if role != "reference"}
    for name in samples.frame.columns:
        if name in roles or not mined.names(name):
            continue
        values = [(thread.metadata or {}).get(str(name)) for thread in samples.threads]
        lists = any(
            isinstance(value, dict) or (isinstance(value, list) and len(value) > 1) for value in values
        )
        yield lists, [as_text(value) for value in values]
        if any(isinstance(value, list) for value in values):
            first = [value[0] if isinstance(value, list) and value else "" for value in values]
            yield any(isinstance(one, dict | list) for one in first), list(map(as_text, first))
            for glue in ("\n", ", "):
                yield (
                    lists,
                    [glue.join(map(as_text, value)) if isinstance(value, list) else "" for value in values],
                )


def _excludes(
    board: Board,
    rule: AcceptanceRule,
    texts: Sequence[str],
    frames: Mapping[int, tuple[str, str]] | None = None,
) -> bool:
    """Whether rows reject the texts of rows with another one, alone or with the text before and after it."""
    pairs = []
    labels = _labels(texts)
    for row, text in enumerate(texts):
        if frames is not None and row not in frames:
            continue
        before, after = frames[row] if frames is not None else ("", "")
        others = [
            other
            for other in dict.fromkeys([*texts[row + 1 :], *texts[:row]])
            if other and text and (apart(other, text) or (other in labels and other != text))
        ]
        pairs += [(row, f"{before}{other}{after}") for other in others[:2]]
    board.grade(pairs)
    # Of two labels one may contain the other, which a hole accepts.
    return rule.share(board, pairs) <= (HALF if labels else _EXCLUSIVE)


def contrast_pairs(board: Board, others: Sequence[tuple[str, ...]], seed: int, *, judge: bool) -> list[Pair]:
    """Texts that are surely wrong, so that the levels of the scores show."""
    rows = range(len(board.samples))
    pairs: list[Pair] = [(row, "") for row in rows]
    pairs += [(row, others[row][0]) for row in rows if others[row]]
    return pairs if judge else [*pairs, *((row, gibberish(60, Random(seed))) for row in rows)]  # noqa: S311


def reference_texts(samples: Samples, mined: Mined) -> list[str]:
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
    return list(map(as_text, values))


_TAIL = re.compile(r"####\s*(\S.*)\Z")


def references_as_graded(
    board: Board, mined: Mined, references: tuple[str, ...], pass_threshold: float | None
) -> tuple[str, ...]:
    """References as the grader reads them, learned from what it accepts.

    Of a solution that ends with "#### 7" only the end counts if it is accepted alone. A list of texts may be one completion
    with an entry on each line, or several correct completions: then its first entry is accepted alone, or the source tries any.
    """
    tails = {row: found[1] for row, text in enumerate(references) if (found := _TAIL.search(text.strip()))}
    lists = {row: entries for row, text in enumerate(references) if (entries := texts_in(text))}
    known = sum(map(bool, references))
    if not known or max(len(tails), len(lists)) < MOST * known:
        return references
    rows = range(len(references))
    own = {row: text for row in rows if (text := board.samples_text(row))}
    board.grade([*own.items(), *((row, "") for row in rows)])

    def accepted(texts: Mapping[int, str]) -> list[int]:
        board.grade(texts.items())
        rule = rule_of(board.outcomes.values(), {}, pass_threshold=pass_threshold)
        return [row for row, text in texts.items() if rule.takes(board, row, text)]

    def read_as(texts: Mapping[int, str]) -> tuple[str, ...]:
        return tuple(texts.get(row, reference) for row, reference in enumerate(references))

    if len(tails) >= MOST * known:
        alone = accepted({row: f"#### {tail}" for row, tail in tails.items()})
        return read_as(tails) if len(alone) >= MOST * len(tails) else references
    several = {row: entries for row, entries in lists.items() if len(entries) > 1}
    as_json = len(accepted({row: references[row] for row in several}))
    for glue in ("\n", ", "):
        whole = {row: glue.join(entries) for row, entries in several.items()}
        if several and as_json < HALF * len(several) and len(accepted(whole)) >= MOST * len(several):
            return read_as({row: glue.join(entries) for row, entries in lists.items()})
    first = {row: entries[0] for row, entries in lists.items()}
    listing = [row for row in accepted(own) if row in lists and _names_several(own[row], lists[row])]
    tries_any = "any(" in mined.text and "json" not in mined.text
    are_choices = tries_any or len(accepted(first)) >= MOST * len(first)
    return read_as(first) if are_choices and not listing else references


def _names_several(text: str, entries: Sequence[str]) -> bool:
    """Whether a text has two of the entries, neither as a part of the other."""
    apart_ones = [
        one for one in entries if not any(one != other and mentions(other, one) for other in entries)
    ]
    return sum(mentions(text, one) for one in apart_ones) > 1


def texts_in(reference: str) -> list[str]:
    """The entries of a list of texts in JSON; none for anything else."""
    value = parsed_json(reference)
    return value if isinstance(value, list) and value and all(isinstance(one, str) for one in value) else []


def empty_references(samples: Samples, references: Sequence[str]) -> set[int]:
    """Rows whose correct completion is the empty text; none if all are empty, since then "" means unknown."""
    empty = {
        row for row, value in enumerate(samples.references) if isinstance(value, str) and not value.strip()
    }
    return empty if any(references) else set()


def wrong_completions(row: int, references: Sequence[str], seed: int) -> tuple[str, ...]:
    """Completions that are surely wrong in a row: other rows' references, those of like length first; then made-up ones."""
    reference = references[row]
    if not reference:
        return ()
    labels = _labels(references)
    pool = sorted(
        {other for other in references if other and (apart(other, reference) or other in labels)}
        - {reference}
    )
    Random(f"{seed}-{row}").shuffle(pool)  # noqa: S311 (no secret)
    near = sorted(pool, key=lambda other: abs(len(other) - len(reference)) > 3)[:2]
    made = [other for other in _made_up(reference) if apart(other, reference)]
    return tuple(dict.fromkeys([*near, *made]))[:2]


_MAX_LABELS = 8
"""Maximum number of different references that are labels, if rows share them. Workbench limit."""


def _labels(references: Sequence[str]) -> set[str]:
    """The references of a task with few labels, of which each is another one even if it contains another."""
    known = [reference for reference in references if reference]
    some = set(known)
    return (
        some
        if 1 < len(some) <= min(_MAX_LABELS, len(known) // 2) and all(text.isalpha() for text in some)
        else set()
    )


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
