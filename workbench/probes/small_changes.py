"""Small changes of accepted completions: some change what they mean, others do not, most have a control.

As in `controlled`, nothing is assumed about taste: a text counts only if its control shows that the grader reads the place that
was changed, or if the prompt allows the change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from workbench.probes.acceptance import CASE_IS_FREE, MIN_ROWS
from workbench.probes.board import Board, Pair
from workbench.probes.controlled import Changed, with_controls
from workbench.probes.probe_basis import Base
from workbench.probes.tried import Family, FlaggedPairs, families_of_pairs
from workbench.probes.variants import ProbeRow, Variant, program_of
from workbench.probes.variants.own import MORE_KEYS
from workbench.probes.variants.programs import FENCED

_MAX_ROWS = 24
"""Rows that are changed. Workbench limit."""
_NEUTRAL = "zuborek"


def _changed_variant(name: str, expects: str, says: str, advice: str, *, least: int = MIN_ROWS) -> Variant:
    return Variant(
        name, expects, says, lambda _: (), alarm="always", rank=29, least=least, judges=False, asked=True, advice=advice,  # type: ignore[arg-type]
    )  # fmt: skip


UNIT = _changed_variant(
    "unit-capitals", "reject", "a unit in other capitals, such as milli for mega or bits for bytes",
    "compare symbols of units with their capitals: mW is not MW, Mb is not MB",
)  # fmt: skip
COLUMNS = _changed_variant(
    "columns-exchanged", "reject", "a query with two of its columns exchanged",
    "compare each row of the result in its order: tuple(row), not sorted(row) or set(row)",
)  # fmt: skip
LESS = _changed_variant(
    "prints-less", "reject", "a program that prints its first line only",
    "compare all lines of the output, and their number: zip() stops at the shorter one",
)  # fmt: skip
PRINTS_MORE = _changed_variant(
    "prints-more", "reject", "a program that prints another line at the end",
    "compare all lines of the output, and their number: zip() stops at the shorter one",
)  # fmt: skip
SAME_ENTRY = _changed_variant(
    "first-entry-repeated", "reject", "a list that repeats its first entry instead of all others",
    "count each entry once: compare sets, or remove repeats first",
)  # fmt: skip
SYMPATHY = _changed_variant(
    "sympathy", "accept", "after a sentence that has 'sorry' or 'cannot' and refuses nothing",
    "search for what a refusal does, such as 'I cannot help with', not for 'sorry' or 'cannot' alone",
)  # fmt: skip
NESTED = _changed_variant(
    "nested-key", "accept", "with a further key that has an object, although it accepts one with a number",
    "parse the JSON from its first brace, json.JSONDecoder().raw_decode, instead of cutting it at the first closing brace",
)  # fmt: skip
ARTICLE = _changed_variant(
    "before-an-article", "accept", "before a sentence with the article a, although it accepts other sentences there",
    'read the letter that is stated as the result, not the last one: "a" may be an article',
)  # fmt: skip
ARGUMENTS = _changed_variant(
    "empty-arguments", "accept", "with an empty object of arguments for none, or none for an empty one",
    "compare (call.get('arguments') or {}) on both sides", least=1,
)  # fmt: skip
CLOCK = _changed_variant(
    "other-clock", "accept", "with its time on the other clock, of 12 or 24 hours, which the prompt allows",
    "read both forms: hour % 12, and 12 more for pm; 12 am is 0:00 and 12 pm is 12:00", least=1,
)  # fmt: skip
SHOWN = _changed_variant(
    "calculation-shown", "accept", "with its last step before the result, which the prompt allows",
    "take the number after the last equals sign",
)  # fmt: skip


def small_changes(board: Board, base: Base) -> list[Family]:
    """Families of accepted completions with a small change.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = [row for row in base.rows if row.accepted][:_MAX_ROWS]
    made = [
        _units(board, base, rows),
        _columns(board, base, rows),
        *_prints(board, base, rows),
        _same_entry(board, base, rows),
        _sympathy(board, base, rows),
        _nested(board, base, rows),
        _article(board, base, rows),
        (replace(ARGUMENTS, question=True), _each(rows, _other_arguments)),
        (CLOCK, _clock(board, base, rows)),
        (SHOWN, _each(rows, _shown)),
    ]
    return families_of_pairs(board, base, made)


def _each(rows: Sequence[ProbeRow], change: Any) -> dict[Pair, bool]:
    """The changed texts of all rows, all of which count."""
    return {
        (row.number, other): True
        for row in rows
        for text in row.shortest_accepted()
        for other in change(row, text)
        if other != text
    }


def _where_accepted(board: Board, base: Base, variant: Variant, changed: Sequence[Changed]) -> FlaggedPairs:
    """The texts, flagged where their control is accepted: they change the meaning no more than it does."""
    board.grade([(row.number, control) for row, control, _ in changed])
    return variant, {
        (row.number, text): base.rule.takes(board, row.number, control) for row, control, text in changed
    }


_UNIT = re.compile(
    r"(?<=\d)\s?(?:(?P<of_ten>[mM])(?=(?:Wh?|V|Hz|J|Pa|N|A|\u03a9|ohms?)\b)|[kKMGT](?P<of_two>[bB])(?=\b|/s|ps))"
)
"""Symbols after a number in which a capital letter changes the value: m is milli and M mega, b is bit and B byte."""
_CAPITALS_MATTER = re.compile(
    r"\b(?:capitals?|upper|lower|case)\b[^.\n]{0,40}\bmatters?\b|\bcase[- ]sensitive", re.IGNORECASE
)


def _units(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The last unit of a completion with its other capital; with another unit it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in () if CASE_IS_FREE.search(row.conversation) else row.shortest_accepted():
            for found in [*_UNIT.finditer(text)][-1:]:
                at = found.start("of_ten") if found["of_ten"] else found.start("of_two")
                after = re.sub(r"\A[^\W\d_]+", "", text[at:])
                control = f"{text[: found.start()].rstrip()} lux{after}"
                changed.append((row, control, text[:at] + text[at].swapcase() + text[at + 1 :]))
    is_stated = all(_CAPITALS_MATTER.search(row.conversation) for row, *_ in changed)
    return with_controls(board, base, replace(UNIT, question=not is_stated), changed)


_SELECTED = re.compile(
    r"\bSELECT\s+(?:DISTINCT\s+)?((?:[^()*;]|\([^()]*\))*?)\s+FROM\b", re.IGNORECASE | re.DOTALL
)
_COMMA = re.compile(r",(?![^()]*\))")
_COLUMNS_IN_ORDER = re.compile(
    r"\bcolumns?\b[^.,\n]{0,40}\b(?:in|by) (?:the|this|that) order\b|\bin (?:this|that) order\b",
    re.IGNORECASE,
)
_COLUMNS_ANYHOW = re.compile(
    r"\bcolumns?\b[^.,\n]{0,30}\bin any order\b|\border of (?:the )?columns\b[^.,\n]{0,30}\b(?:not|no)\b",
    re.IGNORECASE,
)


def _columns(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A query with its first two columns exchanged; with the first one twice it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in () if _COLUMNS_ANYHOW.search(row.conversation) else row.shortest_accepted():
            found = _SELECTED.search(text)
            names = [name.strip() for name in _COMMA.split(found[1])] if found else []
            if found is None or len(names) < 2 or re.search(r"\bORDER\s+BY\s+\d", text, re.IGNORECASE):
                continue
            before, after = text[: found.start(1)], text[found.end(1) :]
            twice, turned = [names[0], names[0], *names[2:]], [names[1], names[0], *names[2:]]
            changed.append((row, before + ", ".join(twice) + after, before + ", ".join(turned) + after))
    is_stated = all(_COLUMNS_IN_ORDER.search(row.conversation) for row, *_ in changed)
    return with_controls(board, base, replace(COLUMNS, question=not is_stated), changed)


_FIRST_ONLY = """_print, _printed = print, []


def print(*args, **settings):
    _printed.append(1)
    if len(_printed) == 1:
        _print(*args, **settings)
    else:
        {later}


"""
"""A start of a program that prints what it prints first, and something else later."""


def _prints(board: Board, base: Base, rows: Sequence[ProbeRow]) -> Iterator[FlaggedPairs]:
    """Programs that print less or more; with other lines in these places they have to be rejected."""
    less: list[Changed] = []
    more: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            found = FENCED.search(text)
            code = found[1] if found else text
            if "print(" not in code or program_of(code) is None:
                continue
            other, nothing = (
                text.replace(code, _FIRST_ONLY.format(later=later) + code, 1)
                for later in (f'_print("{_NEUTRAL}")', "pass")
            )
            less.append((row, other, nothing))
            line = f'print("{_NEUTRAL}")'
            more.append(
                (row, text.replace(code, f"{line}\n{code}", 1), text.replace(code, f"{code}\n{line}", 1))
            )
    yield with_controls(board, base, LESS, less)
    yield with_controls(board, base, replace(PRINTS_MORE, question=True), more)


_ID = re.compile(r"[A-Za-z]{0,8}[-_]?\d{1,6}")
_MIN_ENTRIES, _MAX_ENTRY = 3, 40
"""Fewest entries of a list, and maximum characters of one. Workbench limits."""


def _listed(text: str) -> tuple[str, list[str], str, str] | None:
    """The last line of a text as a list: what is before it, its entries, what separates them, what is after it."""
    line = text.rstrip().rpartition("\n")[2]
    head = re.match(r"[^:\[]{0,40}:\s*|\s*\[|\s*", line)
    start = text.rindex(line) + (head.end() if head else 0)
    tail = text[start:]
    end = len(tail.rstrip(" .\n*]"))
    for mark in (", ", "; ", " "):
        entries = tail[:end].split(mark)
        is_list = len(entries) >= _MIN_ENTRIES and len(set(entries)) == len(entries)
        if is_list and all(
            _ID.fullmatch(one) if mark == " " else 0 < len(one) <= _MAX_ENTRY and len(one.split()) <= 3
            for one in entries
        ):
            return text[:start], entries, mark, tail[end:]
    return None


def _made_up(entry: str) -> str:
    """An entry of the same form that no row has."""
    return re.sub(r"\d+", lambda found: str(int(found[0]) + 90), entry) if _ID.fullmatch(entry) else _NEUTRAL


def _same_entry(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The first entry instead of all others; alone, and with made-up others, it has to be rejected."""
    changed: list[tuple[ProbeRow, str, str, str]] = []
    for row in rows:
        for text in row.shortest_accepted():
            if (found := _listed(text)) is None:
                continue
            before, entries, mark, after = found
            others = [entries[0], *map(_made_up, entries[1:])]
            alone, wrong, same = (
                before + mark.join(some) + after for some in (entries[:1], others, entries[:1] * len(entries))
            )
            changed.append((row, alone, wrong, same))
    board.grade([(row.number, one) for row, alone, wrong, _ in changed for one in (alone, wrong)])
    return SAME_ENTRY, {
        (row.number, same): all(base.rule.turns_down(board, row.number, one) for one in (alone, wrong))
        for row, alone, wrong, same in changed
    }


_OF_REFUSALS = re.compile(r"sorry|apolog|can(?:no|')?t\b|cannot|unable", re.IGNORECASE)
_KIND = "It is good to hear from you.\n"
_NO_REFUSALS = (
    "I'm sorry to hear that you had trouble.\n",
    "Sorry for the wait.\n",
    "I cannot stress enough how useful this is.\n",
)


def _sympathy(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Completions after a kind sentence, if the source searches for refusals; after another sentence they have to be accepted."""
    changed = [
        (row, _KIND + text, sentence + text)
        for row in rows
        if any(_OF_REFUSALS.search(word) for word in row.mined.words)
        for text in row.shortest_accepted()[:1]
        for sentence in _NO_REFUSALS
    ]
    return _where_accepted(board, base, replace(SYMPATHY, question=True), changed)


def _object_in(text: str) -> tuple[int, int, dict[str, Any]] | None:
    """The first object of JSON in a text, and where it starts and ends; None without one."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return (start, end, value) if isinstance(value, dict) and value else None


def _nested(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """An object with a further key whose value is an object; with a number it has to be accepted."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            if (found := _object_in(text)) is not None:
                start, end, value = found
                flat, nested = (
                    text[:start] + json.dumps({**value, "more": more}, ensure_ascii=False) + text[end:]
                    for more in (1, {"note": 1})
                )
                changed.append((row, flat, nested))
    is_stated = all(MORE_KEYS.search(row.conversation) for row, *_ in changed)
    return _where_accepted(board, base, replace(NESTED, question=not is_stated), changed)


_MAY_EXPLAIN = re.compile(
    r"\b(?:may|can|are free to)\b[^.\n]{0,30}\b(?:[st][ae]\w+ why|explain|reasons?|remarks?|comments?|add)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[B-H]")


def _article(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A sentence with the article a after the letter of another option; one without it has to be accepted there."""
    changed: list[Changed] = []
    for row in rows:
        if any(
            isinstance(value, str) and _LETTER.fullmatch(value.strip().upper()) and row.mined.names(name)
            for name, value in row.columns.items()
        ):
            changed += [
                (row, f"{text}\nThis is clear.", f"{text}\nThis is a clear case.")
                for text in row.shortest_accepted()
            ]
    is_stated = all(_MAY_EXPLAIN.search(row.conversation) for row, *_ in changed)
    return _where_accepted(board, base, replace(ARTICLE, question=not is_stated), changed)


_NO_ARGUMENTS = re.compile(r'("name"\s*:\s*"[^"]*")(\s*\})')
_EMPTY_ARGUMENTS = re.compile(r',\s*"(?:arguments|parameters)"\s*:\s*\{\s*\}')


def _other_arguments(row: ProbeRow, text: str) -> Iterator[str]:
    """A call in JSON without arguments in the other of the two usual forms."""
    if _EMPTY_ARGUMENTS.search(text):
        yield _EMPTY_ARGUMENTS.sub("", text, count=1)
    elif "arguments" in row.conversation:
        yield _NO_ARGUMENTS.sub(r'\1, "arguments": {}\2', text, count=1)


_TIME = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?![\d:])(?:\s*([ap])\.?m\b\.?)?", re.IGNORECASE)
_OF_TWELVE = re.compile(r"\d\s*[ap]\.?m\b|\bam or pm\b|\bam/pm\b", re.IGNORECASE)
_OF_24 = re.compile(r"(?<![\d:])(?:1[3-9]|2[0-3]):\d\d(?!\s*[ap]\.?m)|\b24[- ]hour", re.IGNORECASE)


def _other_clock(row: ProbeRow, text: str) -> Iterator[str]:
    """The only time of a completion in the other form, if the prompt has both."""
    times = [*_TIME.finditer(text)]
    if len(times) != 1 or not (_OF_TWELVE.search(row.conversation) and _OF_24.search(row.conversation)):
        return
    found, hour = times[0], int(times[0][1])
    if found[3]:
        other = f"{hour % 12 + 12 * (found[3].lower() == 'p')}:{found[2]}"
    else:
        other = f"{hour % 12 or 12}:{found[2]} {'am' if hour < 12 else 'pm'}"
    if hour <= 23:
        yield text[: found.start()] + other + text[found.end() :]


def _clock(board: Board, base: Base, rows: Sequence[ProbeRow]) -> dict[Pair, bool]:
    """The texts with the other clock; only those of noon and midnight, if all others are accepted."""
    pairs = _each(rows, _other_clock)
    board.grade(pairs)
    special = {pair for pair in pairs if re.search(r"\b0?0:|\b12:", pair[1] or "")}
    others = [pair for pair in pairs if pair not in special]
    is_read = len(others) >= MIN_ROWS and base.rule.share(board, others) == 1
    return dict.fromkeys(special, True) if is_read else pairs


_MAY_SHOW = re.compile(
    r"\b(?:may|can|are free to)\b[^.\n]{0,40}\b(?:show|write|include|give)\b[^.\n]{0,40}\b(?:steps?|sums?|calculation|working|equation)\b",
    re.IGNORECASE,
)
_LAST_WHOLE = re.compile(r"(?<![\w.,/])\d{2,}(?=\W*\Z)")


def _shown(row: ProbeRow, text: str) -> Iterator[str]:
    """The last number of a completion as the result of a sum, if the prompt allows to show one."""
    found = _LAST_WHOLE.search(text)
    if found is not None and _MAY_SHOW.search(row.conversation):
        yield f"{text[: found.start()]}{int(found[0]) - 3} + 3 = {text[found.start() :]}"
