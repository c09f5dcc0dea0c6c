"""Single values of a correct completion changed one at a time: JSON, table headers, lists, commands, short symbols, numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.probes.shapes import number_in, parsed_json
from workbench.probes.variants import ProbeRow, variant
from workbench.probes.variants.structure import ORDER, SHARES

_MOST, _MANY = 2, 12
"""Accepted completions of a row that are changed, the shortest first, and values of each. Workbench limits."""


def json_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values of JSON that are not objects or lists, each with the keys and positions that lead to it."""
    parts = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if parts is None:
        yield path, value
    else:
        for key, inner in parts:
            yield from json_paths(inner, (*path, key))


def with_value(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """JSON with another value at a path."""
    if not path:
        return other
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = with_value(value[path[0]], path[1:], other)
    return changed


def changed_value(value: Any) -> Any:
    """Another value of the same type: of a text with digits or a number another digit, of other texts another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 37
    if isinstance(value, str) and (found := re.search(r"\d", value)):
        return value[: found.start()] + str((int(found[0]) + 5) % 10) + value[found.end() :]
    return "Zuborek" if isinstance(value, str) and value else value


@variant(
    "leaf-changed", "reject", "JSON with one of its values changed", rank=31, least=2, judges=False,
    advice="compare every value, also the nested ones",
)  # fmt: skip
def leaf_changed(row: ProbeRow) -> Iterable[str | None]:
    """Each value of a nested reference changed alone."""
    for path, value in [*json_paths(row.json)][:_MANY] if isinstance(row.json, list | dict) else ():
        if len(path) > 1 and (other := changed_value(value)) != value:
            yield row.say(json.dumps(with_value(row.json, path, other), ensure_ascii=False))


_MORE_KEYS = re.compile(
    r"\b(?:more|extra|additional|further|other|any|beyond)\b[^.\n]{0,30}\b(?:keys|fields|arguments|properties|parameters|entries)\b|"
    r"\b(?:keys|fields) (?:beyond|besides|other than)\b",
    re.IGNORECASE,
)


@variant(
    "key-added", "reject", "JSON with a key that does not belong there", rank=48, least=2, judges=False, question=True,
    advice="compare the set of keys too, if a key more is wrong",
)  # fmt: skip
def key_added(row: ProbeRow) -> Iterable[str | None]:
    """The reference with a key of another row's reference, or an invented one, unless the prompt allows more keys."""
    if (
        isinstance(row.json, dict)
        and row.json
        and not _MORE_KEYS.search(row.conversation)
        and not SHARES.search(row.mined.text)
    ):
        others = [value for text in row.others if isinstance(value := parsed_json(text), dict)]
        more = next(
            ((key, one[key]) for one in others for key in one if key not in row.json), ("zuborek", "yes")
        )
        yield row.say(json.dumps({**row.json, more[0]: more[1]}, ensure_ascii=False))


_RULE = re.compile(r"^\|?[ \t]*:?-{2,}.*$", re.MULTILINE)


@variant(
    "header-changed", "reject", "a table with another header than the prompt requires", alarm="always", rank=30, least=2, judges=False,
    asked=True, advice="compare the names of the columns too",
)  # fmt: skip
def header_changed(row: ProbeRow) -> Iterable[str | None]:
    """The header of an accepted Markdown table with its cells turned round, and with invented names, if the prompt has them all."""
    for text in row.shortest_accepted():
        rule = _RULE.search(text)
        lines = text[: rule.start()].rstrip().splitlines() if rule and "|" in rule[0] else []
        cells = [cell.strip() for cell in lines[-1].strip().strip("|").split("|")] if lines else []
        if (
            rule is None
            or len(cells) < 2
            or not all(cell.lower() in row.prompt.lower() for cell in cells if cell)
        ):
            continue
        for other in (cells[::-1], ["Zuborek", *cells[1:]]):
            if other != cells:
                yield "\n".join([*lines[:-1], f"| {' | '.join(other)} |"]) + "\n" + text[rule.start() :]


@variant(
    "neighbours-swapped", "reject", "an ordered list with two neighbours exchanged", alarm="always", rank=31, least=2, judges=False, asked=True,
    question=True,
    advice="compare the whole order: position by position, or every pair",
)  # fmt: skip
def neighbours_swapped(row: ProbeRow) -> Iterable[str | None]:
    """Each pair of neighbours of an accepted list, or of the list at the end of a completion, if the prompt requires one order."""
    if not ORDER.search(row.prompt) or re.search(
        r"\bany\b[^.\n]{0,20}\border\b|\border (?:does not|doesn't)", row.prompt, re.IGNORECASE
    ):
        return
    for text in row.shortest_accepted():
        before, line = "", text.strip()
        if "\n" in line:
            before, line = line.rsplit("\n", 1)
        for mark in (", ", " > ", " < ", " -> ", " \u2192 "):
            entries = line.split(mark)
            if 2 < len(entries) <= 12 and all(0 < len(entry) <= 30 for entry in entries):
                for at in range(len(entries) - 1):
                    other = [*entries[:at], entries[at + 1], entries[at], *entries[at + 2 :]]
                    # A full stop stays at the end, and a label at the start.
                    if other != entries and ":" not in entries[0] + entries[1] and not line.endswith("."):
                        yield f"{before}\n{mark.join(other)}".strip()
                break


_COMMAND = re.compile(r"\A[a-z][\w.-]{0,15}(?: [^\s]+){2,8}\Z")


@variant(
    "operands-swapped", "reject", "a command with its last two operands exchanged", rank=31, least=2, judges=False,
    advice="compare the operands in their order",
)  # fmt: skip
def operands_swapped(row: ProbeRow) -> Iterable[str | None]:
    """A reference such as "cp a.txt b.txt" with its last two words exchanged, if they look like files, options or numbers."""
    words = row.reference.split(" ")
    are_operands = len(words) > 2 and all(
        re.search(r"[./\d_~$*]", word) and word[0] != "-" for word in words[-2:]
    )
    if are_operands and _COMMAND.match(row.reference) and words[-1] != words[-2]:
        yield row.say(" ".join([*words[:-2], words[-1], words[-2]]))


_SYMBOL = re.compile(r"(?<![\w#])(?:[A-H][b#\u266d\u266f]|[A-Z]\d|[a-z]\d)(?![\w#])")


@variant(
    "symbol-cut", "reject", "the reference with a symbol of two characters cut to one", rank=31, least=2, judges=False,
    advice="read the whole symbol, not only its first letter",
)  # fmt: skip
def symbol_cut(row: ProbeRow) -> Iterable[str | None]:
    """A reference such as "C, Eb, G" without the second character of each of its symbols."""
    symbols = [*_SYMBOL.finditer(row.reference)] if len(row.reference) <= 80 else []
    if symbols and (len(symbols) == 1 or not row.is_program) and row.value is None:
        for found in symbols[:_MANY]:
            yield row.say(row.reference[: found.start()] + found[0][0] + row.reference[found.end() :])


STATED_NUMBER = re.compile(r"(?<![\w.,/])\d{1,9}(?![\w/]|[.,]\d)")


@variant(
    "number-of-the-prompt", "reject", "a number copied from the prompt", rank=27, least=2, judges=False,
    advice="reject what the prompt itself states: the result has to be worked out",
)  # fmt: skip
def number_of_the_prompt(row: ProbeRow) -> Iterable[str | None]:
    """Each whole number of the prompt in the reference's place, where another number is right."""
    if not row.is_letter and re.fullmatch(r"-?[0-9a-fA-FxobIVXLCDM.,/]+", row.reference):
        value = number_in(row.reference)
        numbers = dict.fromkeys(STATED_NUMBER.findall(row.prompt))
        yield from (
            row.say(number)
            for number in [*numbers][:4]
            if number_in(number) != value and number != row.reference and not row.is_near(number)
        )


_SURE = re.compile(r"(?im)^(\W*(?:confidence|certainty|probability|how sure)\W*[:=]?\s*)(\d+(?:\.\d+)?)")


@variant(
    "unsure-and-wrong", "reject", "a wrong completion with little confidence", alarm="always", rank=29, least=2, judges=False, asked=True,
    advice="give a wrong result the lowest score whatever its confidence",
)  # fmt: skip
def unsure_and_wrong(row: ProbeRow) -> Iterable[str | None]:
    """A rejected completion of the row that states its confidence, with 0, 1 and 10 instead."""
    for text in sorted((one for one in row.own if one not in row.accepted), key=len)[:_MOST]:
        if _SURE.search(text):
            yield from (_SURE.sub(rf"\g<1>{number}", text) for number in ("0", "1", "10", "0.1"))


@variant(
    "latex-forms", "accept", "in another form of LaTeX that looks the same", alarm="always", rank=62, judges=False, asked=True, question=True,
    advice="replace \\dfrac and \\tfrac by \\frac, and remove \\left, \\right and spaces before comparing",
)  # fmt: skip
def latex_forms(row: ProbeRow) -> Iterable[str | None]:
    r"""An accepted completion with \dfrac for \frac."""
    yield from (text.replace("\\frac", "\\dfrac") for text in row.shortest_accepted() if "\\frac" in text)


@variant(
    "spaced-thousands", "accept", "with a space between its thousands", alarm="always", rank=62, judges=False, asked=True, question=True,
    advice="remove spaces, narrow ones too, between digits before reading a number",
)  # fmt: skip
def spaced_thousands(row: ProbeRow) -> Iterable[str | None]:
    """The last number of an accepted completion with a space instead of its comma, if prompt or completions write one so."""
    is_usual = re.search(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)", " ".join([row.conversation, *row.own]))
    for text in row.shortest_accepted() if is_usual else ():
        found = [*re.finditer(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])", text)]
        if found:
            yield text[: found[-1].start()] + found[-1][0].replace(",", " ") + text[found[-1].end() :]


@variant(
    "cells-swapped", "reject", "lines with two of their cells exchanged", alarm="always", rank=29, least=2, judges=False, asked=True,
    advice="compare the cells of a line in their order: sort the lines, not the cells",
)  # fmt: skip
def cells_swapped(row: ProbeRow) -> Iterable[str | None]:
    """The first two cells of each line exchanged, if the prompt names the columns with the same mark between them."""
    for text in row.shortest_accepted():
        for mark in (";", "|", "\t"):
            named = re.search(rf"\b[a-z]\w*{re.escape(mark)}[a-z]\w*", row.prompt) is not None
            lines = [line.split(mark) for line in text.splitlines()]
            turned = [[cells[1], cells[0], *cells[2:]] if len(cells) > 1 else cells for cells in lines]
            if named and turned != lines:
                yield "\n".join(mark.join(cells) for cells in turned)
