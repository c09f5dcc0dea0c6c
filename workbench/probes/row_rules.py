"""What decides a row: rules that the row lists, and the simplest property that sets some rows apart from the others.

A rule is such as `[{"type": "ends", "value": "!"}]`; kinds of rules that decide nothing are found by leaving them out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.display_text import one_line
from workbench.probes.acceptance import MIN_ROWS
from workbench.probes.board import Board, with_texts
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import number_in
from workbench.probes.tried import Family, TriedText, change_variant
from workbench.probes.variants import ProbeRow

_MAX_ROWS, _MAX_KINDS = 40, 12
"""Rows whose rules are left out, and kinds of rules that a column may have. Workbench limits."""

WITHOUT_EFFECT = change_variant(
    "rule-without-effect", "reject", "what breaks a rule of the row, whose kind decides nothing",
    "check that each kind of rule can fail: test it with a text that breaks it", rank=46, question=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rule:
    """One rule of a row.

    Attributes:
        row: The row.
        column: The name of its column.
        kind: What kind of rule it is, such as "ends".
        values: The texts in it, such as what has to be at the end.
        rest: The column without it.
    """

    row: ProbeRow
    column: str
    kind: str
    values: tuple[str, ...]
    rest: Any


def rules_without_effect(board: Board, base: Base) -> list[Family]:
    """The kind of rule that changes no verdict when it is left out, where others of its column do; none if there is none.

    Args:
        board: The grader; the texts are graded there, and on another board with rows that lack a rule.
        base: What is accepted.
    """
    for column in _columns(base.rows):
        rules = [rule for row in base.rows[:_MAX_ROWS] if row.accepted for rule in _rules(row, column)]
        kinds = Counter(rule.kind for rule in rules)
        if not 0 < len(kinds) <= _MAX_KINDS:
            continue
        # Pairs of texts, such as the ends of an edge, are not rules: the source names most kinds of rules.
        known = sum(base.rows[0].mined.names(kind) for kind in kinds)
        if _PENALTY not in kinds and known < len(kinds) / 2:
            continue
        tried = [(rule, text) for rule in rules for text in _texts(rule)]
        pairs = [(rule.row.number, text) for rule, text in tried]
        board.grade(pairs)
        without = Board(
            board.suite,
            with_texts(
                board.samples,
                [row for row, _ in pairs],
                [text for _, text in pairs],
                **{column: [rule.rest for rule, _ in tried]},
            ),
            deadline=board.deadline,
        )
        without.grade([(at, text) for at, (_, text) in enumerate(pairs)])
        decided = {
            rule.kind
            for at, (rule, text) in enumerate(tried)
            if base.rule.turns_down(board, rule.row.number, text) and base.rule.takes(without, at, text)
        }
        idle = [kind for kind, count in kinds.items() if kind not in decided and count >= MIN_ROWS]
        # Others show that rules of this column are read; points that are taken away need no other rule to show it.
        if idle and (decided or idle == [_PENALTY]):
            return [
                _family(
                    board,
                    base,
                    column,
                    idle[0],
                    [(rule, text) for rule, text in tried if rule.kind == idle[0]],
                )
            ]
    return []


def _family(board: Board, base: Base, column: str, kind: str, tried: Sequence[tuple[_Rule, str]]) -> Family:
    """The texts made of the values of one kind of rule, which are accepted with it as without it."""
    says = f"texts made to break the rule {kind!r} of the column {column!r}, as it does without the rule: it decides nothing"
    variant = replace(WITHOUT_EFFECT, says=says)
    texts = tuple(
        TriedText(rule.row.number, text, outcome, base.rule.accepts(rule.row.number, outcome))
        for rule, text in tried
        if (outcome := board.outcomes.get((rule.row.number, text))) is not None and outcome.tried
    )
    return Family(variant, texts, board.samples.group_codes, float("nan"))


def _columns(rows: Sequence[ProbeRow]) -> Iterator[str]:
    """Names of columns that the source reads and that have a list of objects, or one object, in each row."""
    for name, value in rows[0].columns.items() if rows else ():
        if isinstance(value, list | Mapping) and rows[0].mined.names(name):
            yield str(name)


def _rules(row: ProbeRow, column: str) -> Iterator[_Rule]:
    """The rules of a row's column of which there is only one of a kind."""
    value = row.columns.get(column)
    if isinstance(value, Mapping):
        for key, one in value.items() if all(map(row.mined.names, value)) else ():
            yield _Rule(
                row,
                column,
                str(key),
                tuple(_values(one)),
                {name: part for name, part in value.items() if name != key},
            )
    elif isinstance(value, list) and all(isinstance(one, Mapping | list | tuple) for one in value):
        kinds = [_kind(one) for one in value]
        for at, (kind, one) in enumerate(zip(kinds, value, strict=True)):
            if kind and kinds.count(kind) == 1:
                parts = list(one.values()) if isinstance(one, Mapping) else list(one)
                values = tuple(text for text in _values(parts) if text != kind)
                yield _Rule(row, column, kind, values, [*value[:at], *value[at + 1 :]])


_KIND_KEYS = (
    "type",
    "kind",
    "rule",
    "check",
    "metric",
    "name",
    "id",
    "instruction_id",
    "assert",
    "op",
    "constraint",
)


_POINTS = ("points", "weight", "score")
_PENALTY = "points below 0"


def _kind(entry: Mapping[str, Any] | Sequence[Any]) -> str:
    """What kind of rule an entry is: its name, else the first text of a list, else whether it takes points away."""
    if not isinstance(entry, Mapping):
        return str(entry[0]) if len(entry) > 1 and isinstance(entry[0], str) else ""
    named = next((value for key in _KIND_KEYS if isinstance(value := entry.get(key), str)), "")
    points = next((value for key in _POINTS if isinstance(value := entry.get(key), int | float)), 0)
    return named or (_PENALTY if points < 0 else "")


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _values(one)


_SIGNS = re.compile(r"\\.|[\^$()\[\]*+]")
"""Signs of a pattern that are not a part of what it finds."""


def _texts(rule: _Rule) -> Iterator[str]:
    """Texts that break a rule of a usual kind: with its values at the start, at the end, left out and repeated; short, long, in capitals."""
    text = rule.row.shortest_accepted(1)[0]
    words = text.split()
    plain = [_SIGNS.sub("", part).strip() for value in rule.values[:3] for part in value.split("|")]
    for value in [part for part in dict.fromkeys(plain) if part][:4]:
        yield from (f"{text}{value}", f"{text} {value}", f"{value} {text}", f"{value.capitalize()} {text}")
        yield text.rstrip(" .!?") + value
        if value.lower() in text.lower():
            at = text.lower().index(value.lower())
            yield (text[:at] + text[at + len(value) :]).strip()
            yield f"{text[:at]}zuborek{text[at + len(value) :]}"
    yield from (
        " ".join(words[3:]),
        " ".join(words[:2]),
        " ".join(words * 8),
        text.upper(),
        text.lower(),
        f"{text},",
        f"{text}\n\n{text}",
    )
    yield from [one for one in rule.row.own if one not in rule.row.accepted][:3]


_LEAST = 2
"""Fewest rows on either side: what a single row differs in is chance. Workbench limit."""
_VALUES = 2
"""Maximum number of different references that are named. Workbench limit."""

_LETTERS = 3
"""Maximum number of first characters that are named: more of them describe the rows, not the cause. Workbench limit."""

_Property = tuple[str, Callable[[str], bool]]

_OF_TEXT: tuple[_Property, ...] = (
    ("is empty", lambda text: not text.strip()),
    ("is negative", lambda text: (number_in(text) or 0) < 0),
    ("is positive", lambda text: (number_in(text) or 0) > 0),
    (
        "has a decimal point",
        lambda text: number_in(text) is not None and "." in text,
    ),
    ("has a thousands separator", lambda text: number_in(text) is not None and "," in text),
    ("is not a number", lambda text: number_in(text) is None),
    ("is a number", lambda text: number_in(text) is not None),
    ("has no letter or digit", lambda text: not any(map(str.isalnum, text))),
    ("has characters that are not ASCII", lambda text: not text.isascii()),
    ("has several lines", lambda text: "\n" in text.strip()),
    ("has several words", lambda text: len(text.split()) > 1),
    ("has a comma", lambda text: "," in text),
    ("has a hyphen", lambda text: "-" in text.strip("-")),
    ("has an apostrophe", lambda text: "'" in text or "\u2019" in text),
    ("has a bracket", lambda text: any(mark in text for mark in "()[]{}")),
    ("has a capital letter", lambda text: text.lower() != text),
    ("has no capital letter", lambda text: text.lower() == text),
)


def sets_apart(base: Base, rows: Sequence[int]) -> str:
    """The property that all of some rows have and no other row has, as the end of "all rows ..."; "" if there is none."""
    inside, outside = {*rows}, [row for row in range(len(base.rows)) if row not in {*rows}]
    if len(inside) < _LEAST or len(outside) < _LEAST:
        return ""
    for says, values, test in _properties(base, sorted(inside)):
        if all(test(values[row]) for row in inside) and not any(test(values[row]) for row in outside):
            return says
    return ""


def _properties(
    base: Base, rows: Sequence[int]
) -> Iterator[tuple[str, Mapping[int, Any], Callable[[Any], bool]]]:
    references = dict(enumerate(base.references))
    if any(references.values()):
        some = {references[row] for row in rows}
        if len(some) <= _VALUES:
            listed = " or ".join(one_line(repr(text), 40) for text in sorted(some))
            yield f"whose reference is {listed}", references, lambda text: text in some
        for says, test in _OF_TEXT:
            yield f"whose reference {says}", references, test
        size = min(len(text) for text in some)
        yield f"whose reference has at least {size} characters", references, lambda text: len(text) >= size
        yield from _starts(references, some)
    yield from _of_columns(base, rows)


def _starts(
    references: Mapping[int, str], some: set[str]
) -> Iterator[tuple[str, Mapping[int, str], Callable[[str], bool]]]:
    letters = {text[:1] for text in some}
    if 0 < len(letters) <= _LETTERS:
        listed = ", ".join(sorted(map(repr, letters)))
        yield f"whose reference begins with {listed}", references, lambda text: text[:1] in letters


def _of_columns(
    base: Base, rows: Sequence[int]
) -> Iterator[tuple[str, Mapping[int, Any], Callable[[Any], bool]]]:
    names = [name for name, value in base.rows[rows[0]].columns.items() if not isinstance(value, float)]
    for name in names:
        values = {row.number: row.columns.get(name) for row in base.rows}
        yield f"whose column {name!r} is empty", values, lambda value: not value and value not in (0, False)
        first = values[rows[0]]
        if isinstance(first, str | bool | int):
            yield f"whose column {name!r} is {one_line(repr(first), 40)}", values, _equals(first)
        sizes = [len(value) for row in rows if isinstance(value := values[row], list)]
        if len(sizes) == len(rows):
            yield f"whose column {name!r} has at least {min(sizes)} entries", values, _has(min(sizes))


def _equals(first: Any) -> Callable[[Any], bool]:
    return lambda value: bool(value == first)


def _has(size: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and len(value) >= size
