"""What is next to the right text and confused with it: another day, source 0, text after the last tag, a comma after a term."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from workbench.probes.board import Board
from workbench.probes.controlled import NEUTRAL, Changed, accepted_rows, pairs_of, with_controls
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import as_text
from workbench.probes.tried import Family, FlaggedPairs, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow

ANOTHER_DAY = change_variant(
    "another-day", "reject", "the right time on another day",
    "compare total_seconds(): timedelta.seconds leaves out whole days", rank=28,
)  # fmt: skip
SOURCE_ZERO = change_variant(
    "source-zero", "reject", "a citation of source 0",
    "reject numbers below 1 before the lookup: sources[0 - 1] is the last one", rank=28, least=2,
)  # fmt: skip
AFTER_END = change_variant(
    "after-the-end", "reject", "a sentence after the last tag, where the prompt has nothing",
    "match the whole text: re.fullmatch, or \\Z at the end of the pattern", least=2,
)  # fmt: skip
PUNCTUATED = change_variant(
    "required-with-comma", "accept", "with a comma after a term that the row requires",
    "search for whole words with \\b instead of among the parts of text.split()", question=True, least=2,
)  # fmt: skip


def near_values(board: Board, base: Base) -> list[Family]:
    """Families of accepted completions with something next to the right value or text.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    made = [
        _days(board, base, rows),
        _zero_sources(board, base, rows),
        (AFTER_END, pairs_of([row for row in rows if _NOTHING_AFTER.search(row.prompt)], _after_the_end)),
        _punctuated(board, base, rows),
    ]
    return families_of_pairs(board, base, made)


_STAMP = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)([ T])(\d\d):(\d\d)")


def _days(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The last date with a time, a day later or earlier at the same time; at another time it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            found = [*_STAMP.finditer(text)][-1:]
            day = _date(found[0]) if found else None
            if day is None:
                continue
            hour = f"{(int(found[0][5]) + 7) % 24:02d}"
            control = text[: found[0].start(5)] + hour + text[found[0].end(5) :]
            for by in (1, -1):
                other = (day + timedelta(days=by)).isoformat()
                changed.append((row, control, text[: found[0].start()] + other + text[found[0].end(3) :]))
    return with_controls(board, base, ANOTHER_DAY, changed)


def _date(found: re.Match[str]) -> date | None:
    try:
        day = date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None
    return day if 1 < day.year < 9_999 else None


_CITED = re.compile(r"\[(\d{1,3})\]")


def _zero_sources(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The only cited source as 0; as a number that no source has it has to be rejected."""
    changed: list[Changed] = [
        (row, _CITED.sub("[977]", text), _CITED.sub("[0]", text))
        for row in rows
        for text in row.shortest_accepted()
        if len(cited := {*_CITED.findall(text)}) == 1 and cited != {"0"} and "[0]" not in row.prompt
    ]
    return with_controls(board, base, SOURCE_ZERO, changed)


_NOTHING_AFTER = re.compile(
    r"\bnothing\b[^.\n]{0,90}\b(?:after|follow)|\bno (?:other |further )?(?:text|words?)\b[^.\n]{0,40}\b(?:after|outside|around)\b",
    re.IGNORECASE,
)
"""Terms of a prompt that has nothing after the end."""
_CLOSED = re.compile(r"</\w+>\s*\Z")


def _after_the_end(_: ProbeRow, text: str) -> Iterator[str]:
    """A polite sentence after the closing tag at the end."""
    if _CLOSED.search(text):
        yield f"{text.rstrip()}\nLet me know if you need anything else."


_WORD = re.compile(r"[^\W\d_]{3,}")


def _punctuated(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A required term of a column with a comma after it, where a space is; other text with a comma has to be accepted."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted()[:1]:
            terms = [one for value in row.named_values for one in _WORD.findall(as_text(value))]
            found = next(
                (
                    match
                    for term in terms
                    if (match := re.search(rf"\b{re.escape(term)}(?= \w)", text, re.IGNORECASE))
                ),
                None,
            )
            if found is None or f" {NEUTRAL}" in text:
                continue
            others = [
                one
                for one in re.finditer(r"\b\w{3,}(?= \w)", text)
                if one[0].lower() not in map(str.lower, terms)
            ]
            if others:
                control = text[: others[0].end()] + "," + text[others[0].end() :]
                changed.append((row, control, text[: found.end()] + "," + text[found.end() :]))
    return with_controls(board, base, PUNCTUATED, changed)
