"""Small changes of accepted completions that change what they mean, most with a control.

As in `controlled`, nothing is assumed about taste: a text counts only if its control shows that the grader reads the place that
was changed, or if the prompt allows the change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.probes.acceptance import CASE_IS_FREE
from workbench.probes.board import Board
from workbench.probes.controlled import NEUTRAL, Changed, accepted_rows, pairs_of, with_controls
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import mentions as is_mentioned
from workbench.probes.shapes import parsed_json
from workbench.probes.tried import Family, FlaggedPairs, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow, program_of
from workbench.probes.variants.programs import code_in
from workbench.probes.variants.structure import REPEATS_ARE_FREE

UNIT = change_variant(
    "unit-capitals", "reject", "a unit in other capitals, such as milli for mega or bits for bytes",
    "compare symbols of units with their capitals: mW is not MW, Mb is not MB",
)  # fmt: skip
COLUMNS = change_variant(
    "columns-exchanged", "reject", "a query with two of its columns exchanged",
    "compare each row of the result in its order: tuple(row), not sorted(row) or set(row)",
)  # fmt: skip
LESS = change_variant(
    "prints-less", "reject", "a program that prints its first line only",
    "compare all lines of the output, and their number: zip() stops at the shorter one",
)  # fmt: skip
PRINTS_MORE = change_variant(
    "prints-more", "reject", "a program that prints another line at the end",
    "compare all lines of the output, and their number: zip() stops at the shorter one",
)  # fmt: skip
SAME_ENTRY = change_variant(
    "first-entry-repeated", "reject", "a list that repeats its first entry instead of all others",
    "count each entry once: compare sets, or remove repeats first",
)  # fmt: skip
PERCENT = change_variant(
    "percent-added", "reject", "a number with a percent sign that it does not have, where both are allowed",
    "divide by 100 what has a percent sign, before it is removed",
)  # fmt: skip
HALF_DAY = change_variant(
    "other-half-day", "reject", "a time of the other half of the day",
    "read am and pm: hour % 12, and 12 more for pm",
)  # fmt: skip
WORDS = change_variant(
    "words-glued", "reject", "a text above the limit of words whose spaces are line ends",
    "count words with text.split(), which splits at any white space",
)  # fmt: skip
CELLS = change_variant(
    "cell-moved", "reject", "a table with a value in the empty cell next to it",
    "keep empty cells when a row is split: their position counts",
)  # fmt: skip
SHAPE = change_variant(
    "rows-joined", "reject", "a list of rows joined into one row",
    "compare row by row, not all numbers in one list",
)  # fmt: skip
LETTERS = change_variant(
    "sign-among-letters", "reject", "a sign among letters, which the pattern A-z has between Z and a",
    "write [A-Za-z]: between Z and a there are six other signs",
)  # fmt: skip
ALSO_DONE = change_variant(
    "also-done", "reject", "a list of actions with one that another row requires",
    "compare the whole end state, or all calls, with what is expected",
)  # fmt: skip
LEFT_OUT = change_variant(
    "entry-left-out", "reject", "a completion that leaves out one of what a column lists",
    "compare sets with ==, not <=, and require every entry",
)  # fmt: skip
UNCITED = change_variant(
    "uncited-sentence", "reject", "a completion with a sentence without a source, although the prompt requires one for each",
    "reject a sentence without a citation instead of skipping it",
)  # fmt: skip


def small_changes(board: Board, base: Base) -> list[Family]:
    """Families of accepted completions with a small change.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    made = [
        _units(board, base, rows),
        _columns(board, base, rows),
        *_prints(board, base, rows),
        _same_entry(board, base, rows),
        _percent(board, base, rows),
        _half_day(board, base, rows),
        _words(board, base, rows),
        _cells(board, base, rows),
        _shape(board, base, rows),
        _letters(board, base, rows),
        _also_done(board, base, rows),
        _left_out(board, base, rows),
        (UNCITED, pairs_of(rows, _uncited)),
    ]
    return families_of_pairs(board, base, made)


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
    return with_controls(board, base, UNIT, changed, _CAPITALS_MATTER)


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
    return with_controls(board, base, COLUMNS, changed, _COLUMNS_IN_ORDER)


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
            code = code_in(text)
            if "print(" not in code or program_of(code) is None:
                continue
            other, nothing = (
                text.replace(code, _FIRST_ONLY.format(later=later) + code, 1)
                for later in (f'_print("{NEUTRAL}")', "pass")
            )
            less.append((row, other, nothing))
            line = f'print("{NEUTRAL}")'
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
    return re.sub(r"\d+", lambda found: str(int(found[0]) + 90), entry) if _ID.fullmatch(entry) else NEUTRAL


def _same_entry(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The first entry instead of all others; alone, and with made-up others, it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in () if REPEATS_ARE_FREE.search(row.conversation) else row.shortest_accepted():
            if (found := _listed(text)) is None:
                continue
            before, entries, mark, after = found
            others = [entries[0], *map(_made_up, entries[1:])]
            alone, wrong, same = (
                before + mark.join(some) + after for some in (entries[:1], others, entries[:1] * len(entries))
            )
            changed.append((row, alone, wrong, same))
    return with_controls(board, base, SAME_ENTRY, changed)


_TIME = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?![\d:])(?:\s*([ap])\.?m\b\.?)?", re.IGNORECASE)
_OF_12 = r"(?:\d\s*[ap]\.?m\b|\bam or pm\b|\bam/pm\b)"
_OF_24 = r"(?:(?<![\d:])(?:1[3-9]|2[0-3]):\d\d(?!\s*[ap]\.?m)|\b24[- ]hour)"
_HALF_NAMED = re.compile(_OF_12, re.IGNORECASE)
BOTH_CLOCKS = re.compile(
    rf"{_OF_24}[^\n]{{0,8}}(?:\bor\b|/|,)[^\n]{{0,12}}{_OF_12}|{_OF_12}[^\n]{{0,8}}(?:\bor\b|/)[^\n]{{0,12}}{_OF_24}",
    re.IGNORECASE,
)
"""Terms of a prompt that allows times of 12 and of 24 hours; one that merely has both is not meant."""
_LAST_PLAIN = re.compile(r"(?<![\w.,/%$])\d+(?:\.\d+)?(?=[\s.]*\Z)")
_FRACTION = r"(?:(?<!one )(?<!two )(?<!\d )\bdecimals?\b(?! (?:places?|digits?))|\bfractions?\b)"
"""A form of a number, not the digits to which one is rounded."""
_BOTH_FORMS = re.compile(
    rf"{_FRACTION}[^.\n]*(?:\bpercent|%)|(?:\bpercent\w*|%)[^.\n]*{_FRACTION}", re.IGNORECASE
)


def _percent(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The last number with a percent sign; another number has to be rejected. One above 1 may be in percent already."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted() if _BOTH_FORMS.search(row.conversation) else ():
            if (found := _LAST_PLAIN.search(text)) is not None and 0 < float(found[0]) <= 1:
                before, after = text[: found.start()], text[found.end() :]
                changed.append(
                    (row, f"{before}{float(found[0]) * 3 + 1:g}{after}", f"{before}{found[0]}%{after}")
                )
    return with_controls(board, base, PERCENT, changed)


def only_time(text: str) -> re.Match[str] | None:
    """The only time of a text, with its hour, its minutes and "a" or "p"; None for none or several."""
    times = [*_TIME.finditer(text)]
    return times[0] if len(times) == 1 else None


def _half_day(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The only time with the other half of the day; with other minutes it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        has_both = BOTH_CLOCKS.search(row.conversation) is not None  # else 3:15 may be short for 3:15 pm
        for text in row.shortest_accepted() if _HALF_NAMED.search(row.conversation) else ():
            found = only_time(text)
            if found is None:
                continue
            hour = int(found[1])
            if hour > 12 or not (found[3] or (has_both and hour < 12)):
                continue
            half = "am" if (found[3] or "a").lower() == "p" else "pm"
            minutes = (int(found[2]) + 17) % 60
            before = f"{text[: found.start()]}{hour}:"
            control = f"{before}{minutes:02}{text[found.end(2) :]}"
            changed.append((row, control, f"{before}{found[2]} {half}{text[found.end() :]}"))
    return with_controls(board, base, HALF_DAY, changed)


_OF_PARTS = re.compile(r"\b(?:each|every|steps?|bullets?|items?|list)\b", re.IGNORECASE)
"""Terms of a prompt whose limit may be one of each line."""
_MORE_WORDS = " ".join(["and much more of the same"] * 40)
_GLUED_WORDS = _MORE_WORDS.replace(" ", "\n")


def _words(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Many words after a completion, separated by line ends; with spaces it has to be rejected."""
    changed = [
        (row, f"{text} {_MORE_WORDS}", f"{text} {_GLUED_WORDS}")
        for row in rows
        if re.search(r"\bwords?\b", row.conversation, re.IGNORECASE)
        and not _OF_PARTS.search(row.conversation)
        for text in row.shortest_accepted()[:1]
        if "\n" not in text.strip()
    ]
    return with_controls(board, base, WORDS, changed)


_EMPTY_CELL = re.compile(r"\|([^|\n]*\w[^|\n]*)\|([ \t]*)\|")


def _cells(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A cell exchanged with the empty one after it; with another value it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            if (found := _EMPTY_CELL.search(text)) is not None:
                before, after = text[: found.start()], text[found.end() :]
                changed.append(
                    (
                        row,
                        f"{before}| {NEUTRAL} |{found[2]}|{after}",
                        f"{before}|{found[2] or ' '}|{found[1]}|{after}",
                    )
                )
    return with_controls(board, base, CELLS, changed)


_ROWS_OF_LIST = re.compile(r"\[\s*\[[^\[\]]*\](?:\s*,\s*\[[^\[\]]*\])+\s*\]")


def _shape(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """All rows of a list of rows in one row; with a changed number it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            found = _ROWS_OF_LIST.search(text)
            if found is not None and (digit := re.search(r"\d", found[0])) is not None:
                joined = re.sub(r"\]\s*,\s*\[", ", ", found[0])
                other = found[0][: digit.start()] + str((int(digit[0]) + 3) % 9 + 1) + found[0][digit.end() :]
                changed.append((row, text.replace(found[0], other, 1), text.replace(found[0], joined, 1)))
    return with_controls(board, base, SHAPE, changed)


def _letters(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """An underscore inside a name, if a pattern of the source has A-z; with an exclamation mark it has to be rejected."""
    changed = [
        (row, f"{text[:2]}!{text[2:]}", f"{text[:2]}_{text[2:]}")
        for row in rows
        if re.search(r"\[[^\]]*A-z", row.mined.text)
        for text in row.shortest_accepted()
        if re.match(r"[A-Za-z]{3}", text)
    ]
    return with_controls(board, base, LETTERS, changed)


_NOTHING_ELSE = re.compile(
    r"\b(?:nothing|no) (?:else|that was not)\b|\bonly what\b|\b(?:change|do) nothing\b|\bno other\b",
    re.IGNORECASE,
)


def _also_done(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A list of JSON objects with the first one of another prompt at its end; alone that one has to be rejected."""
    lists = {
        row.number: value
        for row in rows
        for text in row.shortest_accepted()[:1]
        if isinstance(value := parsed_json(text.strip()), list) and value and isinstance(value[0], dict)
    }
    changed: list[Changed] = []
    for number, own in lists.items():
        row = base.rows[number]
        others = [
            value[0]
            for other, value in lists.items()
            if base.rows[other].prompt != row.prompt and value[0] not in own
        ]
        changed += [
            (row, json.dumps([one]), json.dumps([*own, one], ensure_ascii=False)) for one in others[:3]
        ]
    return with_controls(board, base, ALSO_DONE, changed, _NOTHING_ELSE)


SOME_ARE_NOT_ENOUGH = r"\A(?![\s\S]*\b(?:at least (?:one|two|three|\d)|one or more)\b)[\s\S]*"
"""Start of a pattern for prompts that do not let some entries be enough."""
_ALL = re.compile(rf"{SOME_ARE_NOT_ENOUGH}\b(?:all|every|each|both)\b", re.IGNORECASE)


def _left_out(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A listed text that the completion has, left out; with another one instead it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in () if row.part_is_enough else row.shortest_accepted():
            for entries in lists_of(row):
                last = max(entries, key=text.rfind)
                found = re.search(rf"(?:\s*(?:,|;|&|\band\b)\s*)+{re.escape(last)}(?!\w)", text)
                if found is not None and all(is_mentioned(text, one) for one in entries):
                    before, after = text[: found.start()], text[found.end() :]
                    wrong = found[0].removesuffix(last) + (
                        _other_letter(entries) if len(last) == 1 else NEUTRAL
                    )
                    changed.append((row, before + wrong + after, before + after))
    return with_controls(board, base, LEFT_OUT, changed, _ALL)


def _other_letter(entries: Sequence[str]) -> str:
    return next(letter for letter in "ABCDEFGHIJ" if letter not in entries)


def lists_of(row: ProbeRow) -> Iterator[list[str]]:
    """Lists of two to eight different short texts in columns that the source names."""
    for value in row.named_values:
        if isinstance(value, list) and 1 < len(value) <= 8:
            texts = [one for one in value if isinstance(one, str) and 0 < len(one) <= _MAX_ENTRY]
            if len(set(texts)) == len(value):
                yield texts


_EACH_CITED = re.compile(
    r"\b(?:every|each|all) (?:of the )?(?:sentences?|claims?|statements?)\b[^.\n]{0,40}\b(?:cit|source|\[\d)",
    re.IGNORECASE,
)


def _uncited(row: ProbeRow, text: str) -> Iterator[str]:
    """A completion with another sentence after its full stop, if the prompt requires a source for each."""
    if _EACH_CITED.search(row.conversation) and text.rstrip().endswith((".", "!", "?")):
        yield f"{text} It is also the best of all."
