"""Changes of accepted completions that a control shows to be wrong: the same change with a neutral text is graded otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from workbench.probes.acceptance import MOST
from workbench.probes.board import Board, Pair, with_texts
from workbench.probes.probe_basis import Base
from workbench.probes.tried import Family, FlaggedPairs, TriedText, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow, Variant, program_of
from workbench.probes.variants.leaves import STATED_NUMBER
from workbench.probes.variants.programs import code_in

_MAX_ROWS, _MAX_TEXTS = 24, 4
"""Rows that are changed, and texts of a row that are tried. Workbench limits."""
NEUTRAL = "zuborek"
"""A term that no row has."""

PART = change_variant(
    "part-of-a-number", "reject", "a completion with a part of a number that the row has",
    "compare whole numbers, not digits: a pattern with no digit before and after it", rank=30,
)  # fmt: skip
CAPITALS = change_variant(
    "forbidden-capitals", "reject", "what the row forbids, in other capitals",
    "compare small letters with small letters: lower() on both sides",
)  # fmt: skip
BOTH = change_variant(
    "both-labels", "reject", "a completion that states two labels for the same thing",
    "reject a completion that also has another label where one is right",
)  # fmt: skip
COPIED = change_variant(
    "number-copied", "reject", "a completion whose result is a number copied from the prompt",
    "reject what the prompt itself states: the result has to be worked out", rank=27,
)  # fmt: skip
PLACED = change_variant(
    "in-another-place", "reject", "what the prompt requires at the start or at the end, in another place",
    "use startswith or endswith on the stripped completion, or \\A and \\Z", rank=30,
)  # fmt: skip
CUT_RESULTS = change_variant(
    "results-cut", "reject", "a program that returns the first line or entry of a result only, or one more",
    "compare whole results: zip() stops at the shorter one",
)  # fmt: skip
ANY_ROW = change_variant(
    "any-row", "reject", "the accepted completions of other rows",
    "compare the completion with what is given in its row", rank=48, least=3, question=True,
)  # fmt: skip


def controlled(board: Board, base: Base) -> list[Family]:
    """Families of changed texts that are wrong if they pass, since their controls are graded as they must be.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    made = [
        _parts(board, base, rows),
        _copied(board, base, rows),
        _capitals(board, base, rows),
        _both(board, base, rows),
        _placed(board, base, rows),
        _cut_results(board, base, rows),
        _any_row(board, base),
    ]
    return families_of_pairs(board, base, made)


def accepted_rows(base: Base) -> list[ProbeRow]:
    """The rows whose completions are changed: the first ones of which one is accepted."""
    return [row for row in base.rows if row.accepted][:_MAX_ROWS]


Changed = tuple[ProbeRow, *tuple[str, ...]]
"""A row, its controls, and the text that counts if each of them is graded as such a text has to be."""


def with_controls(
    board: Board,
    base: Base,
    variant: Variant,
    changed: Sequence[Changed],
    stated: re.Pattern[str] | None = None,
) -> FlaggedPairs:
    """The texts, flagged where their controls are rejected, or accepted if the texts have to be.

    Args:
        board: The grader; the controls are graded there.
        base: What is accepted.
        variant: The transformation.
        changed: Its texts with their controls.
        stated: As in `unless_stated`.
    """
    board.grade([(row.number, control) for row, *texts in changed for control in texts[:-1]])
    is_as_expected = base.rule.turns_down if variant.expects == "reject" else base.rule.takes
    pairs: dict[Pair, bool] = {
        (row.number, texts[-1]): all(is_as_expected(board, row.number, control) for control in texts[:-1])
        for row, *texts in changed
    }
    return unless_stated(variant, stated, [row for row, *_ in changed]) if stated else variant, pairs


def unless_stated(variant: Variant, stated: re.Pattern[str], rows: Iterable[ProbeRow]) -> Variant:
    """The transformation, as a warning that only the grader's author can decide on unless every prompt has these terms."""
    return replace(variant, question=not all(stated.search(row.conversation) for row in rows))


def pairs_of(rows: Sequence[ProbeRow], change: Callable[[ProbeRow, str], Iterable[str]]) -> dict[Pair, bool]:
    """The changed texts of the rows' completions, all of which count."""
    return {
        (row.number, other): True
        for row in rows
        for text in row.shortest_accepted()
        for other in change(row, text)
        if other != text
    }


def _texts(value: Any, depth: int = 3) -> Iterator[str]:
    """The texts in a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, depth - 1)


_NUMBER = re.compile(r"(?<![\w.,:])\d{2,}(?![\w]|[.,:]\d)")


def _parts(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A number that the row states without its last or first digit; other numbers have to be rejected, one of them near the part."""
    changed: list[Changed] = []
    for row in rows:
        stated = {*_NUMBER.findall(" ".join([row.conversation, *_texts(row.columns)]))}
        for text in row.shortest_accepted():
            for found in [*_NUMBER.finditer(text)][:2]:
                if found[0] in stated and found[0] != row.reference:
                    before, after = text[: found.start()], text[found.end() :]
                    control = f"{before}{9 * int(found[0]) + 7}{after}"
                    # Of the same size as the part: if it passes, a tolerance may be meant.
                    changed += [
                        (row, control, f"{before}{int(part) + 1}{after}", f"{before}{part}{after}")
                        for part in (found[0][:-1], found[0][1:])
                        if part not in stated and part[0] != "0" and int(part) != int(found[0])
                    ]
    return with_controls(board, base, PART, changed)


_LAST_NUMBER = re.compile(r"(?<![\w.,/\[])\d+(?=[^\w]*\Z)")


_SCALE = re.compile(
    r"\b(?:from|between) \d+ (?:to|and) \d+|\b\d+\s?[-\u2013]\s?\d+\b|\bout of \d+|\b(?:at (?:most|least)|up to) \d+",
    re.IGNORECASE,
)
"""Ends of a scale, and limits: using one of them is not a copy."""


def _copied(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Completions that end with a number which is not in the prompt, with one of the prompt's; another number has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        stated = dict.fromkeys(STATED_NUMBER.findall(_SCALE.sub(" ", row.prompt)))
        for text in row.shortest_accepted() if not row.reference else ():
            found = _LAST_NUMBER.search(text)
            if found is not None and found[0] not in stated:
                before, after = text[: found.start()], text[found.end() :]
                control = f"{before}{9 * int(found[0]) + 7}{after}"
                changed += [(row, control, before + number + after) for number in [*stated][:_MAX_TEXTS]]
    return with_controls(board, base, COPIED, changed)


def _inserted(text: str, word: str) -> str:
    """A text with an inserted term after the first space in its second half that is not at the end of a line; "" if there is none."""
    found = re.compile(r"(?<=[a-z,]) (?=[a-z])").search(text, len(text) // 2) or re.search(
        r"(?<=[a-z,]) (?=[a-z])", text
    )
    return f"{text[: found.end()]}{word} {text[found.end() :]}" if found else ""


def _capitals(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Texts of a column in an accepted completion that is rejected with them, and not with a neutral word, in other capitals."""
    changed: list[tuple[ProbeRow, str, str, str]] = []
    for row in rows:
        text = row.shortest_accepted()[0]
        for name, value in row.columns.items():
            words = list(_texts(value)) if isinstance(value, list | str) and name in row.mined.text else []
            for word in [one for one in words if one.isalpha() and one.islower() and len(one) > 2][:3]:
                if (control := _inserted(text, NEUTRAL)) and not re.search(
                    rf"\b{word}\b", text, re.IGNORECASE
                ):
                    plain = _inserted(text, word)
                    changed += [
                        (row, control, plain, _inserted(text, other))
                        for other in (word.capitalize(), word.upper())
                    ]
    board.grade([(row.number, one) for row, control, plain, _ in changed for one in (control, plain)])
    return CAPITALS, {
        (row.number, other): base.rule.takes(board, row.number, control)
        and not base.rule.takes(board, row.number, plain)
        for row, control, plain, other in changed
    }


_WRAPPED = """

_whole = {name}


def {name}(*args, **kwargs):
    value = _whole(*args, **kwargs)
    if isinstance(value, str) and "\\n" in value:
        return {text}
    if isinstance(value, (list, tuple)) and len(value) > 1:
        return {listed}
    return value
"""
"""A function around another one that changes its results of several lines or entries, and no other ones."""
_OTHER_RESULTS = {"text": '"zuborek\\nzuborek"', "listed": '["zuborek"] * len(value)'}
_CHANGED_RESULTS = (
    {"text": 'value.split("\\n")[0]', "listed": "value[:1]"},
    {"text": 'value + "\\nzuborek"', "listed": 'value + type(value)(["zuborek"])'},
)
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)


def _cut_results(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Accepted programs whose results are cut or extended; with other results of that length they have to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        text = row.shortest_accepted()[0]
        code = code_in(text)
        functions = _FUNCTION.findall(code)
        if functions and program_of(code) is not None:
            control, *others = (
                text.replace(code, code.rstrip("\n") + _WRAPPED.format(name=functions[-1], **change), 1)
                for change in (_OTHER_RESULTS, *_CHANGED_RESULTS)
            )
            changed += [(row, control, other) for other in others]
    return with_controls(board, base, CUT_RESULTS, changed)


_AT_START = re.compile(
    r"(?<!that )(?<!which )\b(?:start|begin)(?:s|ning)? (?:(?:your|the|its|each|every) \w+ )?with\b",
    re.IGNORECASE,
)
_AT_END = re.compile(
    r"\bat the (?:very )?end of (?:your|the)\b|\b(?:end|finish|close)(?:es|s)? (?:(?:your|the|its) \w+ |it )?with\b",
    re.IGNORECASE,
)
_OF_A_PART = re.compile(
    r"\b(?:last|final|second|third|fourth|next|each|every|other) (?:\w+ )?\Z", re.IGNORECASE
)
_NOTHING_AFTER = re.compile(
    r"\b(?:end|finish|close)(?:es|s)? with\b[^\n]*\bnothing (?:else )?(?:after|follow)|\bvery end\b",
    re.IGNORECASE,
)
_CLOSING = "That is all for today."
_OPENING = "Well, there is something to add first."


def _starts_with(prompt: str) -> bool:
    """Whether a prompt requires a start of the whole completion, not of one of its parts."""
    return any(not _OF_A_PART.search(prompt[: found.start()]) for found in _AT_START.finditer(prompt))


def _placed(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Completions with their start after another line, or with their last line first; without it they have to be rejected."""
    changed: list[Changed] = []
    at_end = False
    for row in rows:
        for text in () if base.distinct else row.shortest_accepted()[:1]:
            words, lines = text.split(" "), text.strip().splitlines()
            if _starts_with(row.prompt) and len(words) > 4:
                changed.append((row, " ".join(words[4:]), f"{_OPENING}\n{text}"))
            elif _AT_END.search(row.prompt) and len(lines) > 1:
                at_end = True
                changed.append((row, "\n".join(lines[:-1]), "\n".join([lines[-1], *lines[:-1]])))
            elif _NOTHING_AFTER.search(row.prompt) and len(words) > 4:
                changed.append((row, " ".join(words[:-2]), f"{text} {_CLOSING}"))
    # A line that has to be the last one is usually found anywhere on purpose.
    return with_controls(board, base, replace(PLACED, question=at_end), changed)


def _labels(rows: Sequence[ProbeRow]) -> list[str]:
    """Short texts that columns give again and again, such as "knight" and "knave"; [] if there are not two to four."""
    counts = Counter(
        text
        for row in rows
        for name, value in row.columns.items()
        if isinstance(value, Mapping | list) and name in row.mined.text
        for text in _texts(value)
        if re.fullmatch(r"[A-Za-z]{2,15}", text)
    )
    often = [text for text, count in counts.items() if count >= max(3, len(rows) // 3)]
    return often if 2 <= len(often) <= 4 else []


def _both(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """An accepted completion and the same with its labels exchanged, in both orders; alone the second has to be rejected."""
    labels = _labels(rows)
    pairs: dict[Pair, bool] = {}
    if not labels:
        return BOTH, pairs
    following = dict(zip(labels, [*labels[1:], labels[0]], strict=True))
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, labels))})\b")
    for row in rows:
        text = row.shortest_accepted()[0]
        other = pattern.sub(lambda found: following[found[0]], text)
        if other != text:
            both = [(row.number, f"{one}\n{two}") for one, two in ((text, other), (other, text))]
            board.grade([(row.number, other), *both])
            alone = base.rule.takes(board, row.number, other)
            pairs |= dict.fromkeys(both, not alone and base.rule.share(board, both) == 1)
    return BOTH, pairs


def _any_row(board: Board, base: Base) -> FlaggedPairs:
    """Accepted completions in all other rows: if nearly all pass, the row decides nothing, although its columns are read."""
    rows = [row for row in base.rows if row.accepted]
    rejected = any(text not in row.accepted for row in base.rows for text in row.own)
    if len(rows) < ANY_ROW.least or not rejected or base.distinct or not _is_read(rows):
        return ANY_ROW, {}
    texts = list(dict.fromkeys(row.shortest_accepted()[0] for row in rows))[:_MAX_TEXTS]
    pairs = [(row.number, text) for row in rows for text in texts if text not in row.own]
    board.grade(pairs)
    if len(texts) < ANY_ROW.least or base.rule.share(board, pairs) < MOST:
        return ANY_ROW, {}
    return ANY_ROW, dict.fromkeys(pairs, True)


def _is_read(rows: Sequence[ProbeRow]) -> bool:
    """Whether the source names a column whose texts or lists differ from row to row."""
    return any(
        isinstance(value, str | list | Mapping)
        and rows[0].mined.names(name)
        and len({repr(row.columns.get(name)) for row in rows}) > len(rows) // 2
        for name, value in rows[0].columns.items()
    )


_SIMILAR = 0.7
"""Similarity of two names, from 0 to 1, from which one is taken for the other. Workbench limit."""


def misnamed(board: Board, base: Base) -> list[Family]:
    """A column that the source looks up and no row has, if the rows have one of a similar name that it never reads.

    The texts are accepted now, and rejected when the rows have the column under the name that is looked up.
    """
    row = next((row for row in base.rows if row.accepted), None)
    if row is None or not base.rows[0].mined.missing:
        return []
    unread = [name for name in map(str, row.columns) if not row.mined.names(name)]
    for looked_up in row.mined.missing:
        close = max(unread, key=lambda name: _likeness(name, looked_up), default="")
        if close and _likeness(close, looked_up) >= _SIMILAR:
            return _renamed(board, base, close, looked_up)
    return []


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def _renamed(board: Board, base: Base, name: str, looked_up: str) -> list[Family]:
    rows = accepted_rows(base)
    pairs = [
        (row.number, text)
        for row in rows
        for value in [*_texts(row.columns.get(name))][:_MAX_TEXTS]
        for text in (value, f"{row.shortest_accepted()[0]} {value}", f"{row.shortest_accepted()[0]}|{value}")
    ]
    board.grade(pairs)
    taken = [
        pair for pair in dict.fromkeys(pairs) if pair in board.outcomes and base.rule.takes(board, *pair)
    ]
    if not taken:
        return []
    columns = {looked_up: [base.rows[row].columns.get(name) for row, _ in taken]}
    texts = with_texts(board.samples, [row for row, _ in taken], [text for _, text in taken], **columns)
    other = Board(board.suite, texts)
    other.grade([(position, text) for position, (_, text) in enumerate(taken)])
    found = [
        TriedText(row, text, board.outcomes[row, text], wrong=not base.rule.takes(other, position, text))
        for position, (row, text) in enumerate(taken)
        if (position, text) in other.outcomes
    ]
    variant = Variant(
        "column-misnamed", "reject", f"what it rejects if the column {name!r} is named {looked_up!r}, which it looks up and no row has",
        lambda _: (), alarm="always", rank=16, least=1, judges=False, asked=True, advice=f"read the column {name!r}",
    )  # fmt: skip
    groups = board.samples.group_codes
    return [Family(variant, tuple(found), groups, float("nan"))] if any(one.wrong for one in found) else []
