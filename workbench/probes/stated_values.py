"""Values that a row states, in completions that the grader accepts: changed, made no number at all, cited twice, out of their order.

As in `controlled`, nothing is assumed about taste: a text counts only if its control shows that the grader compares such values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from workbench.probes.acceptance import MIN_ROWS, MOST, NO_MATTER
from workbench.probes.board import Board, Pair
from workbench.probes.controlled import NEUTRAL, Changed, accepted_rows, with_controls
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import parsed_json
from workbench.probes.tried import Family, FlaggedPairs, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow
from workbench.probes.variants.leaves import changed_value, json_paths, with_value
from workbench.probes.variants.own import CITED, with_other_sources
from workbench.probes.variants.structure import ORDER

_SHORTEST = 3
"""Characters of a text that may be a task; a shorter one is a label. Workbench limit."""
_MAX_ROWS, _MAX_VALUES = 24, 12
"""Rows that are changed, and values of a completion that are. Workbench limits."""

STATED = change_variant(
    "stated-value", "reject", "a completion with one value changed that a column of the row has",
    "compare every value with the row's: texts, numbers and truth values too", rank=28,
)  # fmt: skip
TASK = change_variant(
    "task-as-result", "reject", "a part of the prompt that a column has, instead of the result",
    "read the result as data, such as ast.literal_eval: what is evaluated may be the task itself", rank=27,
)  # fmt: skip
NO_NUMBER = change_variant(
    "not-a-number", "reject", "a completion with nan or inf instead of its number",
    "accept what is near, `abs(a - b) <= tolerance`, instead of rejecting what is far: every comparison with nan is False; or require math.isfinite", rank=26,
)  # fmt: skip
ALSO_CITED = change_variant(
    "also-cited", "reject", "a completion that also cites a source that does not exist",
    "look up every cited number, not only the first",
)  # fmt: skip
EQUAL = change_variant(
    "all-equal", "reject", "a completion that gives every candidate the same number",
    "require that the right one is above all others: sorted() and max() keep the first of equal ones", rank=28,
)  # fmt: skip
SORTED = change_variant(
    "order-of-rows", "reject", "a query that sorts its rows otherwise, although the prompt requires one",
    "compare the order wherever the reference has one: ORDER BY may be written in small letters",
)  # fmt: skip
REPEATED = change_variant(
    "repeats-refused", "accept", "although it is what the row's column lists, where an entry occurs twice",
    "count entries by their position, not by their value: Counter, or sorted lists", rank=28, least=1,
)  # fmt: skip


def stated_values(board: Board, base: Base) -> list[Family]:
    """Families of texts with a changed value that the row states.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    made = [
        _changed_values(board, base, rows),
        _no_numbers(board, base, rows),
        _also_cited(board, base, rows),
        _all_equal(board, base, rows),
        _tasks(board, base, rows),
        _other_order(board, base),
    ]
    shown = [one for one in families_of_pairs(board, base, made) if len(one.rows) >= MIN_ROWS]
    return [*shown, *_repeats(board, base)]


def _costs_nothing(board: Board, base: Base, row: int, text: str, changed: str) -> bool:
    """Whether a changed text is accepted with the score of the unchanged one: a part of a share is not overlooked."""
    before, after = board.outcomes.get((row, text)), board.outcomes.get((row, changed))
    known = before is not None and after is not None and base.rule.takes(board, row, changed)
    return known and not after.score < before.score  # type: ignore[union-attr]


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _scalars(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _scalars(inner)
    elif isinstance(value, str) and (inner := parsed_json(value.strip())) is not None:
        yield from _scalars(inner)
    elif value is not None:
        yield value


_JSON = re.compile(r"\{.*\}|\[.*\]", re.DOTALL)


def _changed_values(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Each value of an accepted completion that a column has, changed alone; with all of them changed it has to be rejected."""
    changed: list[tuple[ProbeRow, str, str, str]] = []
    for row in rows:
        stated = {(type(one), one) for one in _scalars(row.named_values)}
        for text in row.shortest_accepted():
            places = _of_json(row, text, stated) or _of_lines(text, {str(one).lower() for _, one in stated})
            if len(places) > 1:
                changed += [(row, text, places[-1], other) for other in places[:-1]]
    board.grade([(row.number, one) for row, _, control, other in changed for one in (control, other)])
    return STATED, {
        (row.number, other): base.rule.turns_down(board, row.number, control)
        and _costs_nothing(board, base, row.number, text, other)
        for row, text, control, other in changed
    }


def _of_json(row: ProbeRow, text: str, stated: AbstractSet[tuple[type, Any]]) -> list[str]:
    """A text with each stated value of its JSON changed, and with all of them at last; [] if it has no JSON with two of them."""
    found = _JSON.search(text)
    value = parsed_json(found[0]) if found else None
    if found is None or value is None:
        return []
    places = [
        (path, one)
        for path, one in [*json_paths(value)][: 2 * _MAX_VALUES]
        if (type(one), one) in stated and _far(one) != one and not _is_free(row, path)
    ][:_MAX_VALUES]
    every = value
    for path, one in places:
        every = with_value(every, path, _far(one))
    changed = [with_value(value, path, _far(one)) for path, one in places]
    return [
        text.replace(found[0], json.dumps(one, ensure_ascii=False))
        for one in (*changed, every)
        if len(changed) > 1
    ]


_LINE = re.compile(r"(?m)^[^\w\n]*([^\n:=]{1,40}?)[ \t]*[:=][ \t]*(\S[^\n]{0,40}?)[ \t]*$")


_NUMBERED = re.compile(r"\W*[A-Za-z_]{1,12}\W+\d+(?:\W+\d+)*\W*")
"""A line of a label and numbers, such as "PER 4-5"."""


def _of_lines(text: str, stated: AbstractSet[str]) -> list[str]:
    """The same for lines of a name and a value."""
    spans = [found.span(2) for found in _LINE.finditer(text)]
    if not spans and all(map(_NUMBERED.fullmatch, text.strip().splitlines())):
        spans = [found.span() for found in re.finditer(r"(?<!\d)\d+(?!\d)", text)]
    places = [(start, end) for start, end in spans if text[start:end].lower().rstrip(".") in stated][
        :_MAX_VALUES
    ]
    every = text
    changed = []
    for start, end in reversed(places):
        value = text[start:end]
        other = str(9 * int(value) + 97) if value.isdecimal() else "Zuborek" if value.isalpha() else "98765"
        every = every[:start] + other + every[end:]
        changed.append(text[:start] + other + text[end:])
    return [*changed, every] if len(changed) > 1 else []


def _far(value: Any) -> Any:
    """Another value of the same type, so far away that no tolerance or overlap accepts it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return 9 * value + 97 if is_number else changed_value(value)


def _is_free(row: ProbeRow, path: Sequence[Any]) -> bool:
    """Whether the prompt leaves the value of one of the keys free."""
    keys = [re.escape(key) for key in path if isinstance(key, str)]
    return any(re.search(rf"\b{key}\b{NO_MATTER}", row.prompt, re.IGNORECASE) for key in keys)


_ANY_NUMBER = re.compile(r"(?<![\w.,/])(?<!\d[eE][-+])-?\d[\d,]*(?:\.\d+)?(?![\w%]|[.,]\d)")
_NO_NUMBERS = ("nan", "inf", "-inf")


def _no_numbers(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The last number of an accepted completion as nan and inf; another number has to be rejected, and a name too."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted(1):
            found = [*_ANY_NUMBER.finditer(text)]
            if not found:
                continue
            before, after = text[: found[-1].start()], text[found[-1].end() :]
            number, name, *others = (
                f"{before}{other}{after}" for other in ("98765432101", NEUTRAL, *_NO_NUMBERS)
            )
            changed += [(row, number, name, other) for other in others]
    return with_controls(board, base, NO_NUMBER, changed)


_RATED = re.compile(r"(?m)([A-Za-z][\w ]{0,20}?[ \t]*[:=][ \t]*)(\d+(?:\.\d+)?)(?=[ \t]*(?:[,;}\n]|\Z))")


def _all_equal(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Ratings of an accepted completion all set to its highest; with the highest given to another candidate it has to be rejected."""
    changed: list[Changed] = []
    for row in rows:
        for text in row.shortest_accepted(1):
            found = [*_RATED.finditer(text)]
            numbers = [float(one[2]) for one in found]
            if len(found) < 2 or numbers.count(max(numbers)) != 1:
                continue
            most = found[numbers.index(max(numbers))][2]
            turned = [one[2] for one in found[1:]] + [found[0][2]]
            changed.append((row, _rated(text, found, turned), _rated(text, found, [most] * len(found))))
    return with_controls(board, base, EQUAL, changed)


def _rated(text: str, found: Sequence[re.Match[str]], numbers: Sequence[str]) -> str:
    """A text with other numbers in the places of the found ones."""
    for one, number in reversed([*zip(found, numbers, strict=True)]):
        text = text[: one.start(2)] + number + text[one.end(2) :]
    return text


_RESULT = re.compile(r"\A(.*?[:=][ \t]*)?([^\n]+?)\s*\Z", re.DOTALL)


def _tasks(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Texts of columns that the prompt states, as the result that the source evaluates; those of other rows have to be rejected."""
    # A text that is not evaluated may be right: what a completion has to contain is often in the prompt.
    if not rows or not any(sign.kind == "evaluates" for sign in rows[0].mined.signs):
        return TASK, {}
    changed: list[Changed] = []
    for row in rows:
        found = _RESULT.match(row.shortest_accepted(1)[0])
        before, result = (found[1] or "", found[2]) if found else ("", "")
        for name, value in row.columns.items():
            if isinstance(value, str) and row.mined.names(name) and _is_task(row, value, result):
                others = [other.columns.get(name) for other in rows]
                other = next((one for one in others if one is not None and one != value), None)
                if found is not None and other is not None:
                    changed.append((row, f"{before}{other}", f"{before}{value}"))
    return with_controls(board, base, TASK, changed)


def _is_task(row: ProbeRow, text: str, result: str) -> bool:
    """Whether the text of a column is one line of the prompt and no part of the result."""
    is_line = len(text) > _SHORTEST and "\n" not in text.strip() and text.strip() in row.conversation
    return is_line and text != row.reference and text not in result and result not in text


_SEVERAL_SOURCES = re.compile(
    r"\b(?:citations|sources|passages|documents) (?:such as|like)\b|\bone or more\b|\b(?:every|each|all)\b[^.\n]{0,20}\b(?:cit|source|passage|document)",
    re.IGNORECASE,
)
"""Terms of a prompt in whose completions several sources may be cited."""


def _also_cited(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A source that does not exist after each cited one; instead of these it has to be rejected."""
    changed: list[tuple[ProbeRow, str, str, str]] = []
    for row in rows:
        for text in row.shortest_accepted() if CITED.search(row.conversation) else ():
            if CITED.search(text):
                both = CITED.sub(lambda found: found[0] + with_other_sources(found[0]), text)
                changed.append((row, text, with_other_sources(text), both))
    board.grade([(row.number, one) for row, _, other, both in changed for one in (other, both)])
    # Where one source is meant, what comes after it may not be read as a citation.
    several = sum(_SEVERAL_SOURCES.search(row.conversation) is not None for row, *_ in changed)
    return replace(ALSO_CITED, question=several < len(changed)), {
        (row.number, both): base.rule.turns_down(board, row.number, other)
        and _costs_nothing(board, base, row.number, text, both)
        for row, text, other, both in changed
    }


_ORDER_BY = re.compile(r"\s+ORDER\s+BY\s+((?:(?!\blimit\b)[^;)\n`])+?)(?=\s*(?:;|```|\Z))", re.IGNORECASE)
"""The clause at the end of a query without LIMIT, which would choose other rows in another order."""
_WANTS_ORDER = re.compile(
    rf"{ORDER.pattern}|\bA (?:to|-) Z\b|\b(?:first|last)\b|\bby (?:name|date|size|price|age|year)\b",
    re.IGNORECASE,
)


_ORDER_IS_FREE = re.compile(
    r"\A(?![\s\S]*\b(?:if (?:no|an) order|otherwise any order)\b)[\s\S]*\bany order\b", re.IGNORECASE
)


def _reversed_order(text: str) -> str:
    """A query with the direction of its first sorting column turned; "" if it has no ORDER BY at its end."""
    found = _ORDER_BY.search(text)
    if found is None:
        return ""
    first, comma, rest = found[1].partition(",")
    is_falling = re.search(r"\s+desc\s*\Z", first, re.IGNORECASE) is not None
    plain = re.sub(r"\s+(?:asc|desc)\s*\Z", "", first, flags=re.IGNORECASE)
    turned = plain if is_falling else f"{plain} DESC"
    return f"{text[: found.start(1)]}{turned}{comma}{rest}{text[found.end() :]}"


def _other_order(board: Board, base: Base) -> FlaggedPairs:
    """Queries with their order turned, where other rows show that this is rejected: a result of one row has no order."""
    pairs: dict[Pair, bool] = {}
    small: dict[int, bool] = {}
    for row in base.rows[:_MAX_ROWS]:
        found = _ORDER_BY.search(row.reference)
        if found is None or not _WANTS_ORDER.search(row.prompt) or _ORDER_IS_FREE.search(row.prompt):
            continue
        for text in (*row.shortest_accepted(), row.say(row.reference)):
            if other := _reversed_order(text):
                pairs[row.number, other] = True
                small[row.number] = "ORDER BY" not in found[0]
    board.grade(pairs)
    refused = {row for row, text in pairs if base.rule.turns_down(board, row, text)}
    taken = {row for row, text in pairs if base.rule.takes(board, row, text)}
    # The cause is in the rows: where they write ORDER BY in capitals the order counts.
    is_sure = bool(refused) and all(small[row] for row in taken) and not any(small[row] for row in refused)
    # Where no order is refused, none may be meant; a result of one row has none, but not all have one row.
    is_shown = bool(refused) or len(taken) >= MIN_ROWS
    return replace(SORTED, question=not is_sure), dict.fromkeys(pairs, is_shown)


_SEPARATORS = ("\n", ", ", "; ", " ")


def _repeats(board: Board, base: Base) -> list[Family]:
    """The texts of a column's list as the completion: accepted in the rows whose entries all differ, rejected where one occurs twice."""
    names = [
        name
        for name, value in (base.rows[0].columns.items() if base.rows else ())
        if isinstance(value, list) and base.rows[0].mined.names(name)
    ]
    for name in names:
        lists = {
            row.number: value
            for row in base.rows
            if isinstance(value := row.columns.get(name), list)
            and len(value) > 1
            and all(isinstance(one, str) for one in value)
        }
        twice = {row for row, value in lists.items() if len(set(value)) < len(value)}
        if not twice or len(lists) - len(twice) < MIN_ROWS:
            continue
        for mark in _SEPARATORS:
            pairs: dict[Pair, bool] = {(row, mark.join(value)): row in twice for row, value in lists.items()}
            board.grade(pairs)
            if base.rule.share(board, [pair for pair, is_twice in pairs.items() if not is_twice]) >= MOST:
                return families_of_pairs(board, base, [(REPEATED, pairs)])
    return []
