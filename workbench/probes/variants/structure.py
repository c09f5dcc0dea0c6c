"""JSON, lists and code blocks: keys without values, values changed, entries twice, the last character cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.probes.shapes import number_in, parsed_json
from workbench.probes.variants import ProbeRow, variant

ORDER = re.compile(
    r"\border(?:ed|ing)?\b|\bsort|ascending|descending|\brank|sequence|steps?\b|chronolog|alphabetic|"
    r"first to last|(?:smallest|largest|oldest|newest|youngest|lowest|highest) (?:first|to)\b|in turn|reverse",
    re.IGNORECASE,
)
SHARES = re.compile(r"/\s*(?:len|max)\(|\bmean\(")
"""Terms of a source that pays a share for each part: then those that are not asked for cost nothing on purpose."""
_ANY_ORDER = re.compile(
    r"any order|order does not|order (?:is )?free|unordered|regardless of (?:the )?order|\bset of\b",
    re.IGNORECASE,
)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 2 + 7
    if isinstance(value, str):
        return "Zuborek" if value != "Zuborek" else "Ledum"
    return (
        [_changed(item) for item in value]
        if isinstance(value, list)
        else {k: _changed(v) for k, v in (value or {}).items()}
    )


@variant(
    "empty-values",
    "reject",
    "the reference's keys with nothing in them",
    alarm="always",
    rank=16,
    least=1,
    advice="compare the values, not only the keys",
)
def empty_values(row: ProbeRow) -> Iterable[str | None]:
    """Every value null, or an empty text."""
    if isinstance(row.json, dict) and any(row.json.values()):
        yield row.say(_dumped(dict.fromkeys(row.json)))
        yield row.say(_dumped(dict.fromkeys(row.json, "")))


@variant(
    "other-values",
    "reject",
    "the reference's keys with other values",
    alarm="reference",
    rank=17,
    least=1,
    advice="compare the values, not only the keys and types",
)
def other_values(row: ProbeRow) -> Iterable[str | None]:
    """All values changed, and one alone: the first and the last."""
    if isinstance(row.json, dict) and row.json:
        yield row.say(_dumped(_changed(row.json)))
        for key in dict.fromkeys([next(iter(row.json)), list(row.json)[-1]]):
            if _changed(row.json[key]) != row.json[key]:
                yield row.say(_dumped({**row.json, key: _changed(row.json[key])}))


@variant(
    "key-missing",
    "reject",
    "an object with a key missing",
    alarm="reference",
    rank=18,
    least=1,
    advice="require every key of the reference",
)
def key_missing(row: ProbeRow) -> Iterable[str | None]:
    """The first, or the last, key omitted."""
    if isinstance(row.json, dict) and len(row.json) > 1:
        for key in (next(iter(row.json)), list(row.json)[-1]):
            yield row.say(_dumped({name: value for name, value in row.json.items() if name != key}))


@variant(
    "json-cut",
    "reject",
    "JSON whose last character is missing",
    alarm="always",
    rank=50,
    least=1,
    crash=True,
    advice="reject truncated JSON with json.loads",
)
def json_cut(row: ProbeRow) -> Iterable[str | None]:
    """The closing bracket cut off."""
    if row.json and "json" in row.mined.text.lower():
        yield row.say(row.reference.rstrip()[:-1])


def _entries(row: ProbeRow) -> tuple[list[Any], str] | None:
    """A list's entries and the separator between them ("" for JSON); None if the reference is not a list."""
    if isinstance(row.json, list):
        return (row.json, "") if len(row.json) > 1 else None
    if row.json is not None or row.is_code or row.value is not None:
        return None
    for mark in (", ", "; ", "\n", " -> ", ","):
        entries = row.reference.split(mark)
        if len(entries) > 2 and all(0 < len(entry.strip()) <= 40 for entry in entries):
            return list(entries), mark
    return None


REPEATS_ARE_FREE = re.compile(
    r"(?<!no )(?<!without )\b(?:twice|repeat\w*|repetitions?|duplicates?|more than once)\b[^.\n]{0,40}(?:no harm|not (?:matter|count)|(?<!not )(?:fine|allowed|ignored)|costs? nothing)",
    re.IGNORECASE,
)


def _written(entries: list[Any], mark: str) -> str:
    return mark.join(map(str, entries)) if mark else _dumped(entries)


@variant(
    "entry-twice",
    "reject",
    "a list with an entry twice",
    alarm="reference",
    rank=51,
    least=1,
    question=True,
    advice="do not compare lists as sets: compare their length, or count",
)
def entry_twice(row: ProbeRow) -> Iterable[str | None]:
    """The first entry repeated at the end, unless the prompt lets entries be repeated."""
    listed = _entries(row)
    if listed and not REPEATS_ARE_FREE.search(row.prompt):
        entries, mark = listed
        yield row.say(_written([*entries, entries[0]], mark))


@variant(
    "entry-for-all",
    "reject",
    "a list with one entry repeated in the place of all others",
    alarm="reference",
    rank=50,
    least=2,
    advice="count an entry once: compare lists, or sets and their sizes",
)
def entry_for_all(row: ProbeRow) -> Iterable[str | None]:
    """The first, or the last, entry as often as there are entries."""
    listed = _entries(row)
    if listed and len(set(map(str, listed[0]))) > 1:
        for entry in (listed[0][0], listed[0][-1]):
            yield row.say(_written([entry] * len(listed[0]), listed[1]))


@variant(
    "entry-missing",
    "reject",
    "a list with an entry missing",
    alarm="reference",
    rank=52,
    least=1,
    advice="compare the whole list",
)
def entry_missing(row: ProbeRow) -> Iterable[str | None]:
    """Without the last entry, if it is there once; and the first one alone, if there are several others."""
    listed = _entries(row)
    if listed and listed[0].count(listed[0][-1]) == 1:
        entries, mark = listed
        yield row.say(_written(entries[:-1], mark))
        if len(entries) > 2:
            yield row.say(_written(entries[:1], mark))


@variant(
    "entry-added",
    "reject",
    "a list with an additional wrong entry",
    alarm="reference",
    rank=53,
    least=1,
    advice="compare the whole list",
)
def entry_added(row: ProbeRow) -> Iterable[str | None]:
    """One additional entry that belongs to none, unless each entry is paid a share."""
    listed = _entries(row)
    if listed and not SHARES.search(row.mined.text):
        entries, mark = listed
        numbers = all(
            isinstance(entry, int | float) or all(number_in(part) is not None for part in str(entry).split())
            for entry in entries
        )
        more = 987_654 if numbers else "Zuborek"
        yield row.say(_written([*entries, more], mark))


@variant(
    "entry-changed",
    "reject",
    "a list with one entry changed",
    rank=52,
    advice="compare the whole list, entry by entry",
)
def entry_changed(row: ProbeRow) -> Iterable[str | None]:
    """The entry in the middle, and the last one, replaced by one that belongs to none."""
    listed = _entries(row)
    if listed:
        entries, mark = listed
        for at in dict.fromkeys((len(entries) // 2, len(entries) - 1)):
            yield row.say(_written([*entries[:at], _changed(entries[at]), *entries[at + 1 :]], mark))


def _turned(row: ProbeRow) -> Iterator[str]:
    listed = _entries(row)
    if listed and listed[0][::-1] != listed[0]:
        yield row.say(_written(listed[0][::-1], listed[1]))


@variant(
    "order",
    "reject",
    "a list in the wrong order although the prompt requires an order",
    alarm="reference",
    rank=54,
    least=1,
    advice="compare lists, not sets or sorted copies",
)
def order(row: ProbeRow) -> Iterable[str | None]:
    """Backwards, if the prompt mentions order, rank, steps or size."""
    return _turned(row) if ORDER.search(row.prompt) and not _ANY_ORDER.search(row.prompt) else ()


@variant(
    "order-ignored",
    "reject",
    "a list in another order",
    alarm="never",
    rank=73,
    advice="correct if the order does not matter",
)
def order_ignored(row: ProbeRow) -> Iterable[str | None]:
    """Backwards, if the prompt does not state whether the order matters."""
    return () if ORDER.search(row.prompt) or _ANY_ORDER.search(row.prompt) else _turned(row)


@variant(
    "key-order",
    "accept",
    "with its keys in another order",
    rank=60,
    advice="compare json.loads of both sides, not their texts",
)
def key_order(row: ProbeRow) -> Iterable[str | None]:
    """The same object with its keys backwards."""
    if isinstance(row.json, dict) and len(row.json) > 1:
        yield row.say(_dumped(dict(reversed(row.json.items()))))


@variant(
    "json-spacing",
    "accept",
    "with other spaces and line ends between its parts",
    rank=61,
    advice="compare json.loads of both sides, not their texts",
)
def json_spacing(row: ProbeRow) -> Iterable[str | None]:
    """The same JSON indented, and without any space; not if accepted completions are written otherwise, such as in sentences."""
    if row.json and (not row.own or any(parsed_json(text) is not None for text in row.own)):
        for text in (
            json.dumps(row.json, indent=2, ensure_ascii=False),
            json.dumps(row.json, separators=(",", ":"), ensure_ascii=False),
        ):
            if parsed_json(text) == row.json and text != row.reference:
                yield row.say(text)


@variant(
    "cast-value", "reject", "JSON with a value that only a cast makes equal", rank=19, least=2, judges=False,
    advice='compare values and types: bool("false") is True, int(5.9) is 5',
)  # fmt: skip
def cast_value(row: ProbeRow) -> Iterable[str | None]:
    """The text "false" for true, and a whole number with .9 after it."""
    if isinstance(row.json, dict):
        for key, value in row.json.items():
            if value is True:
                yield row.say(_dumped({**row.json, key: "false"}))
            elif type(value) is int and value > 0:
                yield row.say(_dumped({**row.json, key: value + 0.9}))
