"""Parts of a correct completion exchanged, dropped or put elsewhere: brackets, values, sources, conditions, tests."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from workbench.probes.shapes import parsed_json
from workbench.probes.variants import ProbeRow, variant

_MANY = 6
"""Pairs of values of one reference that are exchanged. Workbench limit."""


_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|\S")
_SIGNS = frozenset("()[]<>=\u2264\u2265\u2260+-*/^|&!")


def _template(text: str) -> tuple[list[re.Match[str]], tuple[str, ...]]:
    """The parts of a text, and the same with one name for all numbers, one for all words and one for all signs."""
    parts = [*_TOKEN.finditer(text)]
    kinds = (
        "0" if part[0][0].isdigit() else "a" if part[0].isalpha() else "+" if part[0] in _SIGNS else part[0]
        for part in parts
    )
    return parts, tuple(kinds)


@variant(
    "bracket-exchanged", "reject", "the reference with a bracket or sign for which other rows have another one there", rank=29, least=2,
    judges=False, advice="compare every sign that differs from row to row, such as the brackets of an interval",
)  # fmt: skip
def bracket_exchanged(row: ProbeRow) -> Iterable[str | None]:
    """A sign of the reference replaced by that of another row's reference of the same form, at the same place."""
    if not row.reference or row.is_program or row.json is not None or len(row.reference) > 200:
        return
    parts, kinds = _template(row.reference)
    for other in row.others:
        theirs, same_kinds = _template(other)
        if same_kinds != kinds:
            continue
        for mine, their in zip(parts, theirs, strict=True):
            if (
                mine[0] in _SIGNS
                and mine[0] != their[0]
                and not ({mine[0], their[0]} <= set("+-") and mine.start() == 0)
            ):
                yield row.say(row.reference[: mine.start()] + their[0] + row.reference[mine.end() :])


def _exchanged(value: Any) -> Iterator[Any]:
    """JSON with two values exchanged: of one key in two entries of a list, or of two keys of an object."""
    if isinstance(value, list) and len(value) > 1 and all(isinstance(one, dict) for one in value):
        for first, second in combinations(range(len(value)), 2):
            for key in value[first].keys() & value[second].keys():
                if len(value[first]) > 1 and value[first][key] != value[second][key]:
                    other = [dict(one) for one in value]
                    other[first][key], other[second][key] = value[second][key], value[first][key]
                    if sorted(map(_dumped, other)) != sorted(map(_dumped, value)):
                        yield other
    elif isinstance(value, dict):
        for one, two in combinations(value, 2):
            if (
                value[one] != value[two]
                and type(value[one]) is type(value[two])
                and not isinstance(value[one], bool)
            ):
                yield {**value, one: value[two], two: value[one]}


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_JSON = re.compile(r"[\[{].*[\]}]", re.DOTALL)


def _with_json(row: ProbeRow) -> Iterator[tuple[str, Any]]:
    """Accepted completions that have JSON in them: with a mark in its place, and its value; else the reference in its form."""
    found = False
    for text in row.shortest_accepted():
        inside = _JSON.search(text)
        value = parsed_json(inside[0]) if inside else None
        if inside is not None and value is not None:
            found = True
            yield text[: inside.start()] + "\0" + text[inside.end() :], value
    if not found and row.json is not None:
        yield row.say(_dumped(row.json)).replace(_dumped(row.json), "\0"), row.json


@variant(
    "values-exchanged", "reject", "two values of the reference exchanged", rank=30, least=2, judges=False,
    advice="compare the values together with what they belong to: pairs, not two lists",
)  # fmt: skip
def values_exchanged(row: ProbeRow) -> Iterable[str | None]:
    """Values of one key in two entries, values of two keys, and the numbers inside a pair of brackets."""
    for frame, value in _with_json(row):
        yield from (frame.replace("\0", _dumped(other)) for other in [*_exchanged(value)][:_MANY])
    if row.json is None and row.reference:
        groups = [*re.finditer(r"\(\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*\)", row.reference)]
        pairs = {(group[1], group[2]) for group in groups}
        for group in groups:
            if (group[2], group[1]) not in pairs:
                yield row.say(
                    f"{row.reference[: group.start()]}({group[2]}, {group[1]}){row.reference[group.end() :]}"
                )
                break


_TYPES = re.compile(r"\b(?:bool(?:ean)?s?|integers?|numbers?|true or false|types?)\b", re.IGNORECASE)


@variant(
    "other-type", "reject", "JSON with 1 for true, 0 for false or true for 1, although the prompt names the types", alarm="always", rank=30,
    least=2, judges=False, asked=True, advice="compare types too: in Python True == 1; type(a) is type(b) tells them apart",
)  # fmt: skip
def other_type(row: ProbeRow) -> Iterable[str | None]:
    """Each value of an accepted object that is true, false, 1 or 0 as the other type."""
    if not _TYPES.search(row.prompt):
        return
    for frame, value in _with_json(row):
        if isinstance(value, dict):
            for key, one in value.items():
                if one is True or one is False or (type(one) is int and one in (0, 1)):
                    other = int(one) if isinstance(one, bool) else bool(one)
                    yield frame.replace("\0", _dumped({**value, key: other}))


_NESTED = re.compile(r"^(?P<indent>[ \t]*)[\w\"'-]+:[ \t]*\n(?P=indent)[ \t]+[\w\"'-]+:", re.MULTILINE)


@variant(
    "nesting-dropped", "reject", "an accepted document without its nesting", alarm="always", rank=29, least=2, judges=False, asked=True,
    advice="compare where each key stands: parse the nesting, and compare paths or whole objects",
)  # fmt: skip
def nesting_dropped(row: ProbeRow) -> Iterable[str | None]:
    """YAML with no indentation; JSON with its inner objects dissolved."""
    for text in row.shortest_accepted():
        if _NESTED.search(text) and not text.lstrip().startswith(("def ", "class ", "{")):
            yield re.sub(r"^[ \t]+", "", text, flags=re.MULTILINE)
    for frame, value in _with_json(row):
        if isinstance(value, dict) and any(isinstance(one, dict) and one for one in value.values()):
            flat: dict[str, Any] = {}
            for key, one in value.items():
                flat |= one if isinstance(one, dict) else {key: one}
            yield frame.replace("\0", _dumped(flat))


_DAY_FIRST = re.compile(r"\bday[- ]first\b|\bDD[./-]MM|\bday, month|\bday/month", re.IGNORECASE)
_MONTH_FIRST = re.compile(r"\bmonth[- ]first\b|(?<!-)\bMM[./-]DD|\bmonth, day|\bmonth/day", re.IGNORECASE)
_TWO_NUMBERS = re.compile(r"\b(\d{1,2})([./-])(\d{1,2})(?=\2\d{2,4}\b)")


@variant(
    "day-first", "reject", "an accepted date with day and month exchanged, although the prompt says which comes first", alarm="always",
    rank=30, judges=False, asked=True, advice="read the date in the one form that the prompt requires",
)  # fmt: skip
def day_first(row: ProbeRow) -> Iterable[str | None]:
    """The first two numbers of an accepted date exchanged, if both may be a month."""
    if bool(_DAY_FIRST.search(row.prompt)) is bool(_MONTH_FIRST.search(row.prompt)):
        return
    for text in row.shortest_accepted():
        found = [*_TWO_NUMBERS.finditer(text)]
        if (
            len(found) == 1
            and found[0][1] != found[0][3]
            and int(found[0][1]) <= 12
            and int(found[0][3]) <= 12
        ):
            yield _TWO_NUMBERS.sub(r"\3\2\1", text)


_WHERE = re.compile(
    r"\s+WHERE\b.*?(?=\s+(?:GROUP|ORDER|LIMIT|RETURNING)\b|;|\n```|\Z)", re.IGNORECASE | re.DOTALL
)
_STATEMENT = re.compile(
    r"\b(?:SELECT\b.+?\bFROM|UPDATE\b.+?\bSET|DELETE\s+FROM)\b", re.IGNORECASE | re.DOTALL
)


@variant(
    "condition-dropped", "reject", "a statement of SQL without its WHERE", alarm="always", rank=29, least=2, judges=False, asked=True,
    advice="compare all rows of the table after the statement, on data where the condition matters",
)  # fmt: skip
def condition_dropped(row: ProbeRow) -> Iterable[str | None]:
    """An accepted statement without its condition; not one with a query inside."""
    for text in row.shortest_accepted():
        if (
            _STATEMENT.search(text)
            and len(re.findall(r"\bWHERE\b", text, re.IGNORECASE)) == 1
            and text.upper().count("SELECT") < 2
        ):
            yield _WHERE.sub("", text)


_QUOTE = re.compile(r"[\"\u201c]([^\"\u201c\u201d]{8,})[\"\u201d]")


def _sources(row: ProbeRow) -> Mapping[int, str]:
    """The texts of the numbered sources in the prompt."""
    parts = re.split(r"(?m)^\s*\[(\d{1,2})\]", row.prompt)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


@variant(
    "other-source", "reject", "a quotation with the number of a source that does not have it", alarm="always", rank=29, least=2, judges=False,
    asked=True, advice="look for each quotation in the source that is cited for it",
)  # fmt: skip
def other_source(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion with one quotation and its number, citing each source that does not contain the quotation."""
    sources = _sources(row)
    for text in row.shortest_accepted() if len(sources) > 1 else ():
        quotes, cited = _QUOTE.findall(text), re.findall(r"\[(\d{1,2})\]", text)
        if len(quotes) == len(cited) == 1:
            words = " ".join(re.findall(r"\w+", quotes[0].lower()))
            without = [
                number
                for number, one in sources.items()
                if words not in " ".join(re.findall(r"\w+", one.lower()))
            ]
            yield from (text.replace(f"[{cited[0]}]", f"[{number}]") for number in without)


_REFUSES = re.compile(
    r"\b(?:can't|can\u2019t|cannot|won't|won\u2019t|unable to|sorry|refuse|decline)\b", re.IGNORECASE
)
_COMPLIES = (
    "I can't wait to help! Sure, here it is, step by step: first get what you need, then do it like this.",
    "Sorry for the wait. Of course I will help: here is all of it, step by step.",
)


@variant(
    "complies-politely", "reject", "a text that does what is to be refused, with a word of a refusal in it", alarm="always", rank=29, least=2,
    judges=False, asked=True, advice="a refusal is more than a word such as sorry: look at what else the text does",
)  # fmt: skip
def complies_politely(row: ProbeRow) -> Iterable[str | None]:
    """Texts that comply, on rows whose accepted completions refuse, if the source looks for terms of a refusal."""
    if re.search(r"sorry|can'?t\b|cannot|unable|won'?t\b|refus", row.mined.text, re.IGNORECASE) and any(
        map(_REFUSES.search, row.shortest_accepted())
    ):
        yield from _COMPLIES
        rejected = [text for text in row.own if text not in row.accepted]
        yield from (
            f"Sorry for the wait, I can't help being slow. {text}" for text in sorted(rejected, key=len)[:1]
        )


_VERB = re.compile(r"\b(?:is|are|was|were|can|will|has|have|had|does|did|should|must)\b")


@variant(
    "denied", "reject", "the reference with a not that turns its meaning", rank=45, least=2, judges=False, question=True,
    advice="words in common do not show the meaning: add a check of negation, or a judge",
)  # fmt: skip
def denied(row: ProbeRow) -> Iterable[str | None]:
    """A sentence of several words with "not" added after its first verb, or removed."""
    if len(row.words) < 4 or row.json is not None:
        return
    other = re.sub(r"\s+not\b|n['\u2019]t\b", "", row.reference, count=1)
    if other == row.reference:
        other = _VERB.sub(lambda found: f"{found[0]} not", row.reference, count=1)
    if other != row.reference:
        yield row.say(other)


_ASSERTED = re.compile(r"^\s*assert\s+(\w+)\((.*)\)\s*==\s*(.+?)\s*$")


def _tests(value: Any) -> Iterator[tuple[list[Any], Any]]:
    """The arguments and the result of each test in a column: pairs, objects with usual names, or assert statements."""
    if isinstance(value, str) and "assert" in value:
        value = value.splitlines()
    for one in value if isinstance(value, list) else ():
        found = _ASSERTED.match(one) if isinstance(one, str) else None
        if found is not None:
            try:
                yield list(ast.literal_eval(f"[{found[2]}]")), ast.literal_eval(found[3])
            except (ValueError, SyntaxError):
                continue
        elif isinstance(one, Mapping):
            arguments = next(
                (one[key] for key in ("args", "arguments", "inputs", "input") if key in one), None
            )
            result = next(
                (one[key] for key in ("expected", "output", "result", "want", "returns") if key in one), None
            )
            if arguments is not None and result is not None:
                yield arguments if isinstance(arguments, list) else [arguments], result
        elif isinstance(one, list | tuple) and len(one) == 2:
            yield one[0] if isinstance(one[0], list) else [one[0]], one[1]


_DEF = re.compile(r"^[ \t]*def[ \t]+(\w+)\(.*?\)[^\n:]*:\n(?:[ \t]+[^\n]*\n?|\s*\n)+", re.MULTILINE)


@variant(
    "one-test-only", "reject", "a program that knows the result of one test only", alarm="always", rank=28, least=2, judges=False, asked=True,
    advice="run every test and require all results: return 1 only after the loop",
)  # fmt: skip
def one_test_only(row: ProbeRow) -> Iterable[str | None]:
    """The function of an accepted program returning the result of the first test, or of the last, for any arguments."""
    for text in row.shortest_accepted():
        found = _DEF.search(text)
        for value in row.columns.values() if found and len(_DEF.findall(text)) == 1 else ():
            results = [result for _, result in _tests(value)]
            if len({repr(result) for result in results}) > 1:
                for result in (results[0], results[-1]):
                    stub = f"def {found[1]}(*args, **kwargs):\n    return {result!r}\n" if found else ""
                    yield text.replace(found[0], stub) if found else None
