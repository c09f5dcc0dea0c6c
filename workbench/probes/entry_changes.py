"""Changes of accepted completions whose lines, or parts between commas, are entries: left out, added, contradicted, in another order.

The entries are found in the completions, not in columns. A control shows that the grader reads an entry; where that
is not enough, the prompt has to state the rule.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations

from workbench.probes.board import Board, Pair
from workbench.probes.controlled import (
    NEUTRAL,
    Changed,
    accepted_rows,
    pairs_of,
    unless_stated,
    with_controls,
)
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import plainly
from workbench.probes.tried import Family, FlaggedPairs, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow

MISSING = change_variant(
    "line-left-out", "reject", "a completion without one of its lines, each of which counts",
    "compare both ways: what is expected and not given, and what is given and not expected",
)  # fmt: skip
ADDED = change_variant(
    "entries-of-other-rows", "reject", "a completion with further entries, although the prompt has no others",
    "count what is given and not expected: compare sets with ==, or divide by the union",
)  # fmt: skip
CONTRADICTED = change_variant(
    "key-twice", "reject", "a completion that has a key twice, with a wrong value too, although the prompt has each once",
    "reject a key that occurs twice: a dict keeps the last of them",
)  # fmt: skip
REORDERED = change_variant(
    "rejected-in-another-order", "reject", "a completion that is rejected, with its lines in another order, which matters nowhere else",
    "compare every pair of lines, or sort the lines first", rank=30, least=1,
)  # fmt: skip
COMBINING = change_variant(
    "combining-marks", "accept", "with its accents as separate marks, as some keyboards and files have them",
    'compare unicodedata.normalize("NFC", text) on both sides', question=True, least=1,
)  # fmt: skip

_MAX_ENTRIES, _MAX_LENGTH, _MAX_ORDERS = 12, 80, 24
"""Maximum entries of a completion, characters of one, and orders that are tried. Workbench limits."""


@dataclass(frozen=True, slots=True)
class _Entries:
    """A completion as entries.

    Attributes:
        parts: The entries, in their order.
        mark: What is between two of them.
        before: What is before the first one, such as "Tags: ".
        after: What is after the last one.
    """

    parts: tuple[str, ...]
    mark: str
    before: str = ""
    after: str = ""

    def text(self, parts: Sequence[str]) -> str:
        """A completion with other entries."""
        return self.before + self.mark.join(parts) + self.after


def entry_changes(board: Board, base: Base) -> list[Family]:
    """Families of completions with a changed list of entries.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    split = [(row, found) for row in rows for text in row.shortest_accepted() if (found := _entries(text))]
    made = [
        _missing(board, base, split),
        _added(board, base, split),
        _contradicted(board, base, split),
        _reordered(board, base, rows, split),
        (COMBINING, pairs_of(rows, _combining)),
    ]
    return families_of_pairs(board, base, made)


_CODE = re.compile(r"```|\w\(|^\s*(?:import|from|def|class|for|if|while|return|SELECT)\b", re.MULTILINE)
"""Signs of a program or a query, which have other transformations."""
_HEAD = re.compile(r"[^:,]{0,30}:\s*")


def _entries(text: str) -> _Entries | None:
    """The lines of a completion, or its parts between commas if it is one line; None for other texts."""
    text = text.strip()
    if len(text) > _MAX_ENTRIES * (_MAX_LENGTH + 2):
        return None
    parts, mark, before, after = text.split("\n"), "\n", "", ""
    if len(parts) == 1:
        before = found[0] if (found := _HEAD.match(text)) else ""
        inner = text[len(before) :].rstrip(". ")
        after, parts, mark = text[len(before) + len(inner) :], inner.split(", "), ", "
    if not 1 < len(parts) <= _MAX_ENTRIES or len(set(map(plainly, parts))) < len(parts):
        return None
    is_code = _CODE.search(text) is not None or text.startswith(("{", "[", "<"))
    if is_code or not all(one.strip() and len(one) <= _MAX_LENGTH for one in parts):
        return None
    return _Entries(tuple(parts), mark, before, after)


_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_LAST_WORD = re.compile(r"[^\W\d_][\w'-]*(?=\W*\Z)")


def _other(part: str) -> str:
    """An entry with its last number or word changed."""
    if (numbers := list(_DIGITS.finditer(part))) and len(part) - numbers[-1].end() <= 2:
        last = numbers[-1]
        return part[: last.start()] + str(int(float(last[0])) * 7 + 13) + part[last.end() :]
    return _LAST_WORD.sub(NEUTRAL, part) if _LAST_WORD.search(part) else f"{part} {NEUTRAL}"


_COMPLETE = re.compile(
    r"\b(?:state|list|write|give|name|include|return|report|output|find|extract|tag)\b[^.\n]{0,40}\b(?:all|every|each)\b|\bnothing left out\b|"
    r"\b(?:do not|don't|never) (?:leave out|omit|skip)\b",
    re.IGNORECASE,
)
"""Terms of a prompt that requires all entries; "each on its own line" alone is about the form."""
_LOOSE = re.compile(
    r"\boptional|\bmay\b|\bif you (?:like|want|wish)\b|\bup to\b|\bat (?:least|most)\b|\bone or more\b|\bwelcome\b|\bsuggest\b|\bsome\b",
    re.IGNORECASE,
)
"""Terms of a prompt that may leave some entries to the model."""


def _missing(board: Board, base: Base, split: Sequence[tuple[ProbeRow, _Entries]]) -> FlaggedPairs:
    """A completion without its first, a middle or its last line; with the same line changed it has to be rejected."""
    changed: list[Changed] = []
    for row, own in split:
        if own.mark != "\n" or row.part_is_enough or not _is_complete(row):
            continue
        for at in {0, len(own.parts) // 2, len(own.parts) - 1}:
            without = [*own.parts[:at], *own.parts[at + 1 :]]
            wrong = [*own.parts[:at], _other(own.parts[at]), *own.parts[at + 1 :]]
            changed.append((row, own.text(wrong), own.text(without)))
    return with_controls(board, base, MISSING, changed)


def _is_complete(row: ProbeRow) -> bool:
    """Whether the prompt requires all entries."""
    return bool(_COMPLETE.search(row.conversation)) and not _LOOSE.search(row.conversation)


_NO_OTHERS = re.compile(
    r"\b(?:no others?|nothing more|none but|only those|all and only|exactly those|and no other)\b",
    re.IGNORECASE,
)
"""Terms of a prompt that refuses further entries."""
_TERM = re.compile(r"[#*-]?\s?[\w.+'-]+(?: [\w.+'-]+){0,2}")
"""An entry of at most three terms. What is added to a sentence is in another place than its entries."""


def _added(board: Board, base: Base, split: Sequence[tuple[ProbeRow, _Entries]]) -> FlaggedPairs:
    """All entries of other rows and of lists in columns added; one instead of an entry has to be rejected."""
    changed: list[Changed] = []
    every = list(dict.fromkeys(part for _, own in split for part in own.parts))
    for row, own in split:
        prompt = row.conversation
        is_stated = _NO_OTHERS.search(prompt) and not (row.extras_are_free or _LOOSE.search(prompt))
        if not is_stated or not all(map(_TERM.fullmatch, own.parts)):
            continue
        has = {plainly(part) for other, one in split if other.number == row.number for part in one.parts}
        listed = [
            one
            for value in row.named_values
            if isinstance(value, list)
            for one in value
            if isinstance(one, str)
        ]
        for some in (listed, every):
            others = [part for part in dict.fromkeys(some) if plainly(part) not in has][:_MAX_ENTRIES]
            if others:
                wrong = [*own.parts[:-1], others[0]]
                changed.append((row, own.text(wrong), own.text([*own.parts, *others])))
    return with_controls(board, base, ADDED, changed)


_KEYED = re.compile(r"\s*(?:[-*]\s*)?(?:export\s+)?[A-Za-z_][\w .-]{0,30}?\s*[=:]\s*\S.*")
"""An entry that is a key and its value."""
_ONCE = re.compile(
    r"\b(?:each|every|one|no)\b[^.\n]{0,40}\b(?:exactly |only )?once\b|\bno (?:key|field|line|entry|setting)\b[^.\n]{0,20}\btwice\b",
    re.IGNORECASE,
)
_ONE_OF_THEM = re.compile(
    r"\b(?:last|later|first)\b[^.\n]{0,40}\b(?:counts?|wins?|replaces?|overrides?|valid)\b", re.IGNORECASE
)
"""Terms of a prompt by which one of two values is read."""


def _contradicted(board: Board, base: Base, split: Sequence[tuple[ProbeRow, _Entries]]) -> FlaggedPairs:
    """A key twice, with a wrong value before or after the right one; the wrong value alone has to be rejected."""
    changed: list[Changed] = []
    for row, own in split:
        prompt = row.conversation
        is_stated = _ONCE.search(prompt) and not _ONE_OF_THEM.search(prompt)
        if not is_stated or own.mark != "\n" or not all(map(_KEYED.fullmatch, own.parts)):
            continue
        for at in (0, len(own.parts) - 1):
            wrong = _other(own.parts[at])
            alone = own.text([*own.parts[:at], wrong, *own.parts[at + 1 :]])
            changed += [(row, alone, own.text(some)) for some in ([wrong, *own.parts], [*own.parts, wrong])]
    return with_controls(board, base, CONTRADICTED, changed)


def _orders(own: _Entries) -> Iterator[str]:
    """Other orders of the entries: all of a few, else some."""
    if len(own.parts) <= 4:
        found: Iterator[tuple[str, ...]] = permutations(own.parts)
    else:
        half = len(own.parts) // 2
        turned = [(*own.parts[at:], *own.parts[:at]) for at in range(1, len(own.parts))]
        halves = (*own.parts[::2], *own.parts[1::2]), (*own.parts[half:], *own.parts[:half])
        found = iter([own.parts[::-1], *turned, *halves])
    yield from (own.text(parts) for parts in islice(found, _MAX_ORDERS) if parts != own.parts)


def _reordered(
    board: Board, base: Base, rows: Sequence[ProbeRow], split: Sequence[tuple[ProbeRow, _Entries]]
) -> FlaggedPairs:
    """Wrong completions in all orders, if every order of the accepted ones is accepted: those that only some orders let pass.

    Wrong ones are those of the data, and those whose lines have the start of another line, such as its time.
    """
    lines = [(row, own) for row, own in split if own.mark == "\n"]
    free = [(row.number, text) for row, own in lines for text in _orders(own)]
    board.grade(free)
    if len({row for row, _ in free}) < 2 or not all(base.rule.takes(board, *pair) for pair in free):
        return REORDERED, {}
    wrong = [(row, other) for row, own in lines for other in _same_starts(own)]
    wrong += [
        (row, own)
        for row in rows
        for text in board.own_texts(row.number)
        if text not in row.accepted and (own := _entries(text)) and own.mark == "\n"
    ]
    pairs: dict[Pair, bool] = {}
    for row, own in wrong:
        tried = [(row.number, text) for text in (own.text(own.parts), *_orders(own))]
        board.grade(tried)
        is_mixed = any(base.rule.turns_down(board, *pair) for pair in tried)
        pairs |= dict.fromkeys(tried, is_mixed)
    return unless_stated(REORDERED, _ANY_ORDER, [row for row, _ in wrong]), pairs


_ANY_ORDER = re.compile(
    r"\bany order\b|\border\b[^.\n]{0,20}\b(?:free|not matter|not count)\b", re.IGNORECASE
)
_NUMBERED = re.compile(r"\d+[.)]|.*[:=]")
"""The start of a line that is its number or its key: twice, it is another matter than an order."""


def _same_starts(own: _Entries) -> Iterator[_Entries]:
    """The entries with one that starts as another one does."""
    starts = [part.partition(" ") for part in own.parts]
    if len(own.parts) < 3 or not all(rest and not _NUMBERED.fullmatch(start) for start, _, rest in starts):
        return
    for at, (_, blank, rest) in enumerate(starts):
        for other, (start, _, _) in enumerate(starts):
            if other != at and start != starts[at][0]:
                yield replace(own, parts=(*own.parts[:at], start + blank + rest, *own.parts[at + 1 :]))


def _combining(_: ProbeRow, text: str) -> Iterator[str]:
    """A completion whose accents are separate marks."""
    yield unicodedata.normalize("NFD", text)
