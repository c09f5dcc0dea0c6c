"""Values in accepted completions, changed so that a sum, a set or one hit hides it: currencies, vectors, facts, steps, ranks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, combinations, product

from workbench.probes.acceptance import NO_MATTER
from workbench.probes.board import Board
from workbench.probes.controlled import NEUTRAL, Changed, accepted_rows, with_controls
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import as_text, parsed_json
from workbench.probes.small_changes import SOME_ARE_NOT_ENOUGH, lists_of
from workbench.probes.tried import Family, FlaggedPairs, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow

CURRENCY = change_variant(
    "other-currency", "reject", "an amount in another currency",
    "compare the currency as well as the amount",
)  # fmt: skip
CANCELLED = change_variant(
    "errors-cancel", "reject", "a list of numbers with errors in opposite directions",
    "add up absolute differences: sum(abs(a - b)), not abs(sum(a - b))",
)  # fmt: skip
GRID = change_variant(
    "grid-sums-only", "reject", "a grid with four digits changed so that the sums of its lines and columns stay",
    "check which digits a line has, such as sorted(line), not only their sum", question=True,
)  # fmt: skip
ONE_FACT = change_variant(
    "one-fact-enough", "reject", "a completion without one of the texts that a column lists, as long as another one is there",
    "require all of them: all(), not any()",
)  # fmt: skip
SKIPPED = change_variant(
    "step-skipped", "reject", "a sequence without a step in its middle",
    "check each step against the one before it, not only the ends",
)  # fmt: skip
LINES = change_variant(
    "lines-exchanged", "reject", "lines in the opposite order, although the prompt has one after the other",
    "compare the sequence: lists, not sets",
)  # fmt: skip
RANKED = change_variant(
    "wrong-ones-first", "reject", "a list with all wrong entries of the prompt before the right ones",
    "cut the list at k before counting, or count wrong entries against it",
)  # fmt: skip
DOMAIN = change_variant(
    "longer-host", "reject", "a link or an address whose host only ends with the letters of the right one",
    'compare hosts as a whole: host == domain or host.endswith("." + domain)',
)  # fmt: skip
TYPES = change_variant(
    "type-as-text", "reject", "an object with a number or a truth value as a text",
    "compare types as well as values: 4 is not '4', and str(a) == str(b) ignores it",
)  # fmt: skip
EQUAL_TYPE = change_variant(
    "equal-type", "reject", "an object with 1 for true, or with a decimal point in its integer",
    "compare types as well: True == 1 and 6 == 6.0 in Python; json.dumps on both sides distinguishes them",
)  # fmt: skip
ZEROS = change_variant(
    "all-zero", "reject", "a completion with 0 for each of its numbers",
    "check the values themselves too: a relation among them may be true of zeros", question=True,
)  # fmt: skip
EXCLAIMED = change_variant(
    "exclaimed", "reject", "more sentences than the limit, with exclamation marks",
    "end a sentence at . ! and ?",
)  # fmt: skip


def value_changes(board: Board, base: Base) -> list[Family]:
    """Families of accepted completions with changed values.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    made = [
        _currencies(board, base, rows),
        _cancelled(board, base, rows),
        _grids(board, base, rows),
        _one_fact(board, base, rows),
        _skipped(board, base, rows),
        _lines(board, base, rows),
        _ranked(board, base, rows),
        _domains(board, base, rows),
        _exclaimed(board, base, rows),
        _as_texts(board, base, rows),
        _equal_types(board, base, rows),
        _zeros(board, base, rows),
    ]
    return families_of_pairs(board, base, made)


_CURRENCIES = {
    "$": "\u20ac",
    "\u20ac": "\u00a3",
    "\u00a3": "$",
    "USD": "EUR",
    "EUR": "GBP",
    "GBP": "USD",
    "JPY": "EUR",
    "CHF": "EUR",
}
_IS_REQUIRED = re.compile(
    rf"\bcurrenc\w*\b(?!{NO_MATTER}|[^.\n]{{0,40}}\b(?:optional|left out|omitted|not needed|free)\b)",
    re.IGNORECASE,
)
_CURRENCY = re.compile(
    r"(?P<before>[$\u20ac\u00a3]|\b(?:USD|EUR|GBP|JPY|CHF))(?=\s?\d)|(?<=\d)\s?(?P<after>[$\u20ac\u00a3]|(?:USD|EUR|GBP|JPY|CHF)\b)"
)


def _currencies(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The last amount in another currency; another amount has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            for found in [*_CURRENCY.finditer(text)][-1:]:
                name = "before" if found["before"] else "after"
                other = text[: found.start(name)] + _CURRENCIES[found[name]] + text[found.end(name) :]
                control = re.sub(r"\d", lambda digit: str((int(digit[0]) + 4) % 9 + 1), text)
                changed.append((row, control, other))
    return with_controls(board, base, CURRENCY, changed, _IS_REQUIRED)


_NUMBERS = re.compile(r"\[\s*-?\d+(?:\.\d+)?(?:\s*,\s*-?\d+(?:\.\d+)?)+\s*\]")


def _cancelled(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """More in the first number of a list that the row has, and as much less in the second; more alone has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            found = _NUMBERS.search(text)
            if found is None or not _is_compared(row, numbers := json.loads(found[0])):
                continue
            first, second, *rest = numbers
            by = 2 if second == first + 1 else 1  # else the two would only be exchanged
            more, both = (
                text.replace(found[0], json.dumps(other), 1)
                for other in ([first + by, second, *rest], [first + by, second - by, *rest])
            )
            changed.append((row, more, both))
    return with_controls(board, base, CANCELLED, changed)


_GRID = re.compile(r"(?:^[ \t]*\d(?:[ ,|]{1,3}\d){2,}[ \t]*(?:\n|\Z)){3,}", re.MULTILINE)
_MAX_RECTANGLES = 12


def _grids(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Grids of digits whose sums stay: a question, since only the sums may be required."""
    changed = [one for row in rows for text in row.shortest_accepted()[:1] for one in _in_grid(row, text)]
    return with_controls(board, base, GRID, changed)


def _in_grid(row: ProbeRow, text: str) -> Iterator[Changed]:
    """Four digits of a grid changed so that the sums of its lines and columns stay; one of them alone has to be rejected."""
    found = _GRID.search(text)
    if found is None:
        return
    lines = [[one.start() for one in re.finditer(r"\d", line)] for line in found[0].splitlines()]
    if len({len(line) for line in lines}) > 1:
        return
    starts = [0, *accumulate(len(line) + 1 for line in found[0].splitlines())]
    digits = list(text)
    made = 0
    for (one, other), (left, right) in product(
        combinations(range(len(lines)), 2), combinations(range(len(lines[0])), 2)
    ):
        at = [
            found.start() + starts[line] + lines[line][column]
            for line, column in ((one, left), (one, right), (other, left), (other, right))
        ]
        new = [int(digits[place]) + by for place, by in zip(at, (1, -1, -1, 1), strict=True)]
        if made < _MAX_RECTANGLES and all(1 <= value <= 9 for value in new):
            made += 1
            yield row, _with_digits(text, at[:1], new[:1]), _with_digits(text, at, new)


def _with_digits(text: str, places: Sequence[int], values: Sequence[int]) -> str:
    changed = list(text)
    for place, value in zip(places, values, strict=True):
        changed[place] = str(value)
    return "".join(changed)


def _is_compared(row: ProbeRow, numbers: Sequence[float]) -> bool:
    """Whether the reference, or a column that the source names, has as many numbers: else only their sum may be required."""
    return any(
        len(re.findall(r"\d+(?:\.\d+)?", as_text(value))) == len(numbers)
        for value in (row.reference, *row.named_values)
    )


_ALL = re.compile(rf"{SOME_ARE_NOT_ENOUGH}\b(?:all|every|each|both|facts)\b", re.IGNORECASE)


def _one_fact(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """All listed texts but one replaced; with all of them replaced it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in () if row.part_is_enough else row.shortest_accepted():
            for entries in lists_of(row):
                patterns = [rf"(?<!\w){re.escape(one)}(?!\w)" for one in entries]
                if not all(re.search(pattern, text) for pattern in patterns):
                    continue
                without = text
                for pattern in patterns[1:]:
                    without = re.sub(pattern, NEUTRAL, without)
                none = re.sub(patterns[0], NEUTRAL, without)
                changed.append((row, none, without))
    return with_controls(board, base, ONE_FACT, changed, _ALL)


_POINTS = re.compile(r"\(\s*-?\d+\s*,\s*-?\d+\s*\)(?:[ ,;>-]+\(\s*-?\d+\s*,\s*-?\d+\s*\)){2,}")


def _skipped(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A path of points without its second one; without its last one it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            found = _POINTS.search(text)
            if found is None:
                continue
            points = [*re.finditer(r"\([^()]*\)", found[0])]
            middle = found[0][: points[1].start()] + found[0][points[2].start() :]
            ends = found[0][: points[-2].end()]
            changed.append((row, text.replace(found[0], ends, 1), text.replace(found[0], middle, 1)))
    return with_controls(board, base, replace(SKIPPED, question=True), changed)


_THEN = re.compile(
    r"\b(?:and|,) then\b|\bbefore\b|\bfirst\b[^.\n]*\bthen\b|\bin (?:this|the right|the given) order\b",
    re.IGNORECASE,
)


def _lines(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Lines of JSON objects backwards; without the last line they have to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted() if _THEN.search(row.prompt) else ():
            lines = text.strip().splitlines()
            if 1 < len(lines) <= 8 and all(isinstance(parsed_json(line), dict) for line in lines):
                changed.append((row, "\n".join(lines[:-1]), "\n".join(reversed(lines))))
    return with_controls(board, base, replace(LINES, question=True), changed)


_ID = re.compile(r"\b[A-Za-z]{1,8}[-_]?\d{1,4}\b")
_FIRST_ONES = re.compile(r"\b(?:at most|top|first|best|among the)\b", re.IGNORECASE)


def _ranked(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """All ids of the prompt that a completion lacks, before its own ones; alone they have to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in () if row.extras_are_free else row.shortest_accepted():
            own = [*_ID.finditer(text)]
            present = {found[0].lower() for found in own}
            others = [one for one in dict.fromkeys(_ID.findall(row.prompt)) if one.lower() not in present]
            if len(own) > 1 and others:
                head, listed = text[: own[0].start()], text[own[0].start() :]
                changed.append((row, head + ", ".join(others), f"{head}{', '.join(others)}, {listed}"))
    return with_controls(board, base, RANKED, changed, _FIRST_ONES)


_TYPED = re.compile(
    r"\b(?:is|are|be|as) (?:an? )?(?:JSON )?(?:numbers?|integers?|booleans?)\b|\bnot (?:an? |as )?(?:strings?|texts?)\b"
    r"|[(:] ?(?:an? )?(?:number|integer|boolean|int|bool|float)\b|\b(?:argument|declared|right|correct|given|its|JSON) types?\b"
    r"|\bJSON schema\b|\"type\" ?:",
    re.IGNORECASE,
)
"""Terms of a prompt that states the types of values; a task may be about types and integers."""
_TYPE_IS_FREE = re.compile(
    r"\b(?:numbers?|integers?|booleans?|bare|quoted|unquoted)(?: value)? or (?:a |an |as )?(?:strings?|texts?|quoted|unquoted|bare)\b"
    r"|\b(?:strings?|texts?|quoted) or (?:a |an |as )?(?:numbers?|integers?|booleans?|unquoted|bare)\b"
    r"|\b(?:any|either) type\b|\btypes?\b[^.\n]{0,30}\b(?:not matter|free|ignored)\b|\bquotes? (?:around|are|may)\b",
    re.IGNORECASE,
)
"""Terms of a prompt that allows a number as a text."""


def _as_texts(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """An object with one number or truth value as a text; with another value as a text it has to be rejected."""
    some = [row for row in rows if not _TYPE_IS_FREE.search(row.conversation)]
    changed = [one for row in some for one in _retyped(row, _PLAIN_VALUE, '"{}"'.format, '"{}"'.format)]
    return with_controls(board, base, TYPES, changed, _TYPED)


def _equal_types(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """One value of an object in another type that is equal in Python; another value has to be rejected.

    Only where the prompt states types: else 6.0 for 6 is the same number of JSON.
    """
    some = [row for row in rows if _TYPED.search(row.conversation)]
    changed = [one for row in some for one in _retyped(row, _WHOLE_VALUE, _equal, str)]
    return with_controls(board, base, EQUAL_TYPE, changed)


def _equal(value: str) -> str:
    return {"true": "1", "false": "0"}.get(value, f"{value}.0")


def _retyped(
    row: ProbeRow, values: re.Pattern[str], write: Callable[[str], str], write_control: Callable[[str], str]
) -> Iterator[Changed]:
    """The shortest accepted completion with one value of its object written otherwise; as the control, another value.

    Args:
        row: The row.
        values: Matches the values in question, as the group `value`.
        write: Writes a value in the other type.
        write_control: Writes the value of the control.
    """
    for text in row.shortest_accepted()[:1]:
        if parsed_json(text[text.find("{") : text.rfind("}") + 1]) is None:
            continue
        for found in [*values.finditer(text)][:_MAX_VALUES]:
            value = found["value"]
            other = {"true": "false", "false": "true"}.get(value, f"{value}7")
            before, after = text[: found.start("value")], text[found.end("value") :]
            yield row, f"{before}{write_control(other)}{after}", f"{before}{write(value)}{after}"


_PLAIN_VALUE = re.compile(r'"\s*:\s*(?P<value>-?\d+(?:\.\d+)?|true|false)(?=\s*[,}])')
_WHOLE_VALUE = re.compile(r'"\s*:\s*(?P<value>-?\d+|true|false)(?=\s*[,}])')
_MAX_VALUES = 4
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


def _zeros(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """All numbers of the last line, of which there are several, replaced by 0; one alone has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted():
            before, newline, last = text.rstrip().rpartition("\n")
            numbers = [*_NUMBER.finditer(last)]
            if len(numbers) > 1 and len({found[0] for found in numbers} | {"0"}) > 2:
                first = next(found for found in numbers if found[0] != "0")
                control = last[: first.start()] + "0" + last[first.end() :]
                changed.append((row, before + newline + control, before + newline + _NUMBER.sub("0", last)))
    return with_controls(board, base, ZEROS, changed)


_HOST = re.compile(r"(?:https?://|@)((?:[\w-]+\.)+[a-z]{2,})", re.IGNORECASE)


def _domains(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A host with a longer name that ends with a column's domain; another host has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        domains = [
            value
            for value in row.columns.values()
            if isinstance(value, str) and re.fullmatch(r"(?:[\w-]+\.)+[a-z]{2,}", value)
        ]
        for text in row.shortest_accepted():
            for found in [*_HOST.finditer(text)][:1]:
                domain = next((one for one in domains if found[1].lower().endswith(one.lower())), None)
                if domain is not None:
                    other, longer = (
                        text.replace(found[1], host)
                        for host in (f"{NEUTRAL}.org", f"{NEUTRAL}{found[1][-len(domain) :]}")
                    )
                    changed.append((row, other, longer))
    return with_controls(board, base, DOMAIN, changed)


_LIMIT_OF_SENTENCES = re.compile(
    r"\b(?:at most|no more than|not more than|up to|max\w*|limit\w*|few|fewer|exactly|one|two|three|four|five|\d+)\b"
    r"[^.\n]{0,30}\bsentences?\b",
    re.IGNORECASE,
)
_MANY = 12
"""Sentences that are added: more than a limit of sentences usually is."""


def _exclaimed(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Many sentences after a completion, with exclamation marks; with full stops they have to be rejected."""
    changed = [
        (row, text + " It continues." * _MANY, text + " It continues!" * _MANY)
        for row in rows
        if _LIMIT_OF_SENTENCES.search(row.conversation)
        for text in row.shortest_accepted()[:1]
    ]
    return with_controls(board, base, EXCLAIMED, changed)
