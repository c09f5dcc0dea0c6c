"""Small changes of accepted completions that leave what they mean unchanged, where a control or the prompt shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from workbench.probes.acceptance import MIN_ROWS
from workbench.probes.board import Board, Pair
from workbench.probes.controlled import Changed, accepted_rows, pairs_of, unless_stated, with_controls
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import mentions as is_mentioned
from workbench.probes.shapes import number_in, plainly
from workbench.probes.small_changes import BOTH_CLOCKS, only_time
from workbench.probes.tried import Family, FlaggedPairs, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow, program_of
from workbench.probes.variants.own import MORE_KEYS
from workbench.probes.variants.programs import code_in

SYMPATHY = change_variant(
    "sympathy", "accept", "after a sentence that has 'sorry' or 'cannot' and refuses nothing",
    "search for what a refusal does, such as 'I cannot help with', not for 'sorry' or 'cannot' alone", question=True,
)  # fmt: skip
NESTED = change_variant(
    "nested-key", "accept", "with a further key that has an object, although it accepts one with a number",
    "parse the JSON from its first brace, json.JSONDecoder().raw_decode, instead of cutting it at the first closing brace",
)  # fmt: skip
ARTICLE = change_variant(
    "before-an-article", "accept", "before a sentence with the article a, although it accepts other sentences there",
    'read the letter that is stated as the result, not the last one: "a" may be an article',
)  # fmt: skip
ARGUMENTS = change_variant(
    "empty-arguments", "accept", "with an empty object of arguments for none, or none for an empty one",
    "compare (call.get('arguments') or {}) on both sides", least=1, question=True,
)  # fmt: skip
CLOCK = change_variant(
    "other-clock", "accept", "with its time on the other clock, of 12 or 24 hours, which the prompt allows",
    "read both forms: hour % 12, and 12 more for pm; 12 am is 0:00 and 12 pm is 12:00", least=1,
)  # fmt: skip
SHOWN = change_variant(
    "calculation-shown", "accept", "with its last step before the result, which the prompt allows",
    "take the number after the last equals sign",
)  # fmt: skip
THOUGHT = change_variant(
    "forbidden-in-thought", "accept", "after a thought that has what the row forbids, although thoughts are not judged",
    "remove the think block before searching for what is forbidden",
)  # fmt: skip
ALIAS = change_variant(
    "other-alias", "accept", "with another of the names that the row's column lists",
    "strip each name after splitting the list",
)  # fmt: skip
OFFSET = change_variant(
    "other-offset", "accept", "with the same instant in another time zone",
    "compare datetimes with an offset as such: == compares instants, isoformat() compares texts",
)  # fmt: skip
ORDINAL = change_variant(
    "ordinal-day", "accept", "with the day of its date as an ordinal, such as 5th",
    "remove st, nd, rd and th after the day before reading the date",
)  # fmt: skip
AS_STRING = change_variant(
    "arguments-as-text", "accept", "with its arguments as a text of JSON, as chat APIs return them",
    "decode the arguments if they are a text: json.loads(arguments)",
)  # fmt: skip
BLANKS = change_variant(
    "blanks-at-line-ends", "accept", "with blanks at the ends of its printed lines, which the prompt allows",
    "compare lines with rstrip()",
)  # fmt: skip
ZERO = change_variant(
    "zero-after-decimals", "accept", "with a zero after the last decimal of its number",
    "compare numbers, not their texts: 2.50 is 2.5", question=True,
)  # fmt: skip
SECOND_BLOCK = change_variant(
    "example-in-a-block", "accept", "with an example in a second code block, which the prompt allows",
    "read the first block only: (.*?) instead of (.*)",
)  # fmt: skip
IN_TEXT = change_variant(
    "text-in-box", "accept", "with \\text{} around the result in its box, as models write it",
    "remove \\text{...}, \\mathrm{...} and \\textbf{...} inside the box", question=True,
)  # fmt: skip


def neutral_changes(board: Board, base: Base) -> list[Family]:
    """Families of accepted completions with a small change that has to be accepted too.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    made = [
        _sympathy(board, base, rows),
        _nested(board, base, rows),
        _article(board, base, rows),
        (ARGUMENTS, pairs_of(rows, _other_arguments)),
        (CLOCK, _clock(board, base, rows)),
        (SHOWN, pairs_of(rows, _shown)),
        _thought(board, base, rows),
        _aliases(rows),
        _offsets([row for row in rows if any(map(_INSTANT.search, row.shortest_accepted()))]),
        (ORDINAL, pairs_of(_where_stated(rows, r"\bany (?:usual|common|English)\b|\bany form\b"), _ordinal)),
        (AS_STRING, pairs_of(_where_stated(rows, _MAY_BE_TEXT), _arguments_as_text)),
        (BLANKS, pairs_of(rows, _blanks)),
        (ZERO, pairs_of(rows, _zero)),
        (SECOND_BLOCK, pairs_of(_where_stated(rows, _FURTHER_BLOCKS), _second_block)),
        (IN_TEXT, pairs_of(rows, _in_text)),
    ]
    return families_of_pairs(board, base, made)


_OF_REFUSALS = re.compile(r"sorry|apolog|can(?:no|')?t\b|cannot|unable", re.IGNORECASE)
_ABOUT_REFUSALS = re.compile(r"\b(?:refus|declin|harmless|sympath|apolog|be kind)", re.IGNORECASE)
"""Terms of a prompt that is about refusals: elsewhere a completion with "sorry" may be rejected on purpose."""
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
        if _ABOUT_REFUSALS.search(row.conversation) and any(map(_OF_REFUSALS.search, row.mined.words))
        for text in row.shortest_accepted()[:1]
        for sentence in _NO_REFUSALS
    ]
    return with_controls(board, base, SYMPATHY, changed)


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
    return with_controls(board, base, NESTED, changed, MORE_KEYS)


_MAY_EXPLAIN = re.compile(
    r"\b(?:may|can|are free to)\b[^.\n]{0,30}\b(?:(?:te(?:ll|lls)|sa(?:y|ys)) why|explain|reasons?|remarks?|comments?|add)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[B-H]")


def _article(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A sentence with the article a after the letter of another option; one without it has to be accepted there."""
    changed: list[Changed] = []
    for row in rows:
        if any(
            isinstance(value, str) and _LETTER.fullmatch(value.strip().upper()) for value in row.named_values
        ):
            changed += [
                (row, f"{text}\nThis is clear.", f"{text}\nThis is a clear case.")
                for text in row.shortest_accepted()
            ]
    return with_controls(board, base, ARTICLE, changed, _MAY_EXPLAIN)


_NO_ARGUMENTS = re.compile(r'("name"\s*:\s*"[^"]*")(\s*\})')
_EMPTY_ARGUMENTS = re.compile(r',\s*"(?:arguments|parameters)"\s*:\s*\{\s*\}')


def _other_arguments(row: ProbeRow, text: str) -> Iterator[str]:
    """A call in JSON without arguments in the other of the two usual forms."""
    if _EMPTY_ARGUMENTS.search(text):
        yield _EMPTY_ARGUMENTS.sub("", text, count=1)
    elif "arguments" in row.conversation:
        yield _NO_ARGUMENTS.sub(r'\1, "arguments": {}\2', text, count=1)


def _other_clock(row: ProbeRow, text: str) -> Iterator[str]:
    """The only time of a completion in the other form, if the prompt allows both."""
    found = only_time(text)
    if found is None or not BOTH_CLOCKS.search(row.conversation):
        return
    hour = int(found[1])
    if found[3]:
        other = f"{hour % 12 + 12 * (found[3].lower() == 'p')}:{found[2]}"
    else:
        other = f"{hour % 12 or 12}:{found[2]} {'am' if hour < 12 else 'pm'}"
    if hour <= 23:
        yield text[: found.start()] + other + text[found.end() :]


def _clock(board: Board, base: Base, rows: Sequence[ProbeRow]) -> dict[Pair, bool]:
    """The texts with the other clock; only those of noon and midnight, if all others are accepted."""
    pairs = pairs_of(rows, _other_clock)
    board.grade(pairs)
    special = {pair for pair in pairs if re.search(r"\b0?0:|\b12:", pair[1] or "")}
    others = [pair for pair in pairs if pair not in special]
    is_read = len(others) >= MIN_ROWS and base.rule.share(board, others) == 1
    return dict.fromkeys(special, True) if is_read else pairs


_MAY_SHOW = re.compile(
    r"\b(?:may|can|are free to)\b[^.\n]{0,40}\b(?:show|write|include|give)\b[^.\n]{0,40}\b(?:steps?|sums?|calculation|working|equation)\b",
    re.IGNORECASE,
)
_AFTER_EQUALS = re.compile(r"\bequals?[- ]sign|\bthe (?:last |final )?['\"`]?=", re.IGNORECASE)
_LAST_WHOLE = re.compile(r"(?<![\w.,/])\d{2,}(?=\W*\Z)")


def _shown(row: ProbeRow, text: str) -> Iterator[str]:
    """The last number of a completion as the result of a sum, if the prompt allows to show one and names its equals sign."""
    found = _LAST_WHOLE.search(text)
    if found is not None and _MAY_SHOW.search(row.conversation) and _AFTER_EQUALS.search(row.conversation):
        yield f"{text[: found.start()]}{int(found[0]) - 3} + 3 = {text[found.start() :]}"


_UNJUDGED = re.compile(
    r"\bthink\w*\b[^.\n]{0,80}\b(?:not (?:judged|graded|counted|scored|checked)|ignored|free)\b",
    re.IGNORECASE,
)


def _thought(board: Board, base: Base, rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """A thought with a listed term that the completion lacks; with another thought it has to be accepted."""
    changed: list[Changed] = []
    for row in rows:
        if "<think>" not in row.conversation and not _UNJUDGED.search(row.conversation):
            continue
        for text in row.shortest_accepted():
            words = [
                one
                for value in row.named_values
                if isinstance(value, list)
                for one in value
                if isinstance(one, str) and one and plainly(one) not in plainly(text)
            ]
            own = text.rpartition("</think>")[2].lstrip()
            changed += [
                (row, f"<think>Now to the task.</think>{own}", f"<think>Not {word}.</think>{own}")
                for word in words[:3]
            ]
    return with_controls(board, base, THOUGHT, changed, _UNJUDGED)


_ANY_NAME = re.compile(r"\bany\b[^.\n]{0,40}\b(?:names?|forms?|spelling|alias\w*|will do)\b", re.IGNORECASE)


def _names_in(value: Any) -> list[str]:
    """The entries of a list of texts, or of one text with commas."""
    if isinstance(value, str):
        return [one.strip() for one in value.split(",")]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _aliases(rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """Every other name of a text that lists several, one of which is the completion."""
    pairs: dict[Pair, bool] = {}
    some: list[ProbeRow] = []
    for row in rows:
        own = {plainly(text) for text in row.accepted}
        for value in row.named_values:
            names = _names_in(value)
            if (
                1 < len(names) <= 8
                and any(plainly(one) in own for one in names)
                and plainly(str(value)) not in own
                # What the prompt lists are options, of which one is right.
                and not all(is_mentioned(row.conversation, one) for one in names)
            ):
                some.append(row)
                pairs |= {(row.number, one): True for one in names if plainly(one) not in own}
    return unless_stated(ALIAS, _ANY_NAME, some), pairs


_INSTANT = re.compile(r"(?<!\d)\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)")
_ANY_OFFSET = re.compile(r"\bany (?:offset|(?:time )?zone)\b", re.IGNORECASE)


def _offsets(rows: Sequence[ProbeRow]) -> FlaggedPairs:
    """The instants of completions in other time zones."""
    return unless_stated(OFFSET, _ANY_OFFSET, rows), pairs_of(rows, _other_offsets)


def _other_offsets(_: ProbeRow, text: str) -> Iterator[str]:
    """The instant of a completion, two hours east, and in UTC."""
    if (found := _INSTANT.search(text)) is not None:
        instant = datetime.fromisoformat(found[0])
        for hours in (2, 0):
            other = instant.astimezone(timezone(timedelta(hours=hours))).isoformat()
            if other != instant.isoformat():
                yield text.replace(found[0], other)


def _in_text(_: ProbeRow, text: str) -> Iterator[str]:
    """Letters in a box, in an upright font there."""
    yield re.sub(r"\\boxed\{\s*([A-Za-z]+)\s*\}", r"\\boxed{\\text{\1}}", text)


def _where_stated(rows: Sequence[ProbeRow], words: str) -> list[ProbeRow]:
    """The rows whose prompt has words that allow a change: without them a grader may require the usual form."""
    return [row for row in rows if re.search(words, row.conversation, re.IGNORECASE)]


_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}}) ({_MONTHS})\b")
_MONTH_DAY = re.compile(rf"\b({_MONTHS}) (\d{{1,2}})(?=,? \d{{4}})")


def _ordinal(_: ProbeRow, text: str) -> Iterator[str]:
    """The day of a written date with its ending."""
    yield _DAY_MONTH.sub(lambda found: f"{_with_ending(found[1])} {found[2]}", text)
    yield _MONTH_DAY.sub(lambda found: f"{found[1]} {_with_ending(found[2])}", text)


def _with_ending(day: str) -> str:
    ending = "th" if day in {"11", "12", "13"} else {"1": "st", "2": "nd", "3": "rd"}.get(day[-1], "th")
    return day + ending


_MAY_BE_TEXT = r"\barguments\b[^.:(\n]{0,60}\b(?:a string|as text)\b"
"""Terms of a prompt that allows arguments as text; the type of a single one is not meant."""
_ARGUMENTS = re.compile(r'"arguments"\s*:\s*(\{[^{}]*\})')


def _arguments_as_text(_: ProbeRow, text: str) -> Iterator[str]:
    """The arguments of a call as a text that contains their JSON."""
    yield _ARGUMENTS.sub(lambda found: f'"arguments": {json.dumps(found[1])}', text)


_BLANKS_ARE_FREE = re.compile(
    r"\b(?:blanks?|spaces?|white ?space)\b[^.\n]{0,40}\bends?\b[^.\n]{0,40}\b(?:not matter|ignored|free|not count)",
    re.IGNORECASE,
)
_PRINTS_BLANKS = 'import builtins\n\n\ndef print(*args, end="\\n", **settings):\n    builtins.print(*args, end=" " + end, **settings)\n\n\n'


def _blanks(row: ProbeRow, text: str) -> Iterator[str]:
    """A program that prints a blank before each line end, if the prompt lets it."""
    if _BLANKS_ARE_FREE.search(row.conversation):
        code = code_in(text)
        if "print(" in code and "end=" not in code and program_of(code) is not None:
            yield text.replace(code, _PRINTS_BLANKS + code, 1)


_OF_DIGITS = re.compile(
    r"\bdecimal places?\b|\bdecimals\b|\bround(?:ed|ing)?\b|\bsignificant\b|\bdigits?\b", re.IGNORECASE
)
_LAST_DECIMAL = re.compile(r"(?<![\w.,/:])-?\d+\.\d+(?=[\s.*)]*\Z)")


def _zero(row: ProbeRow, text: str) -> Iterator[str]:
    """The last decimal number with a zero after it, if the source reads a column of that value and the prompt does not mention digits."""
    found = _LAST_DECIMAL.search(text)
    if found is None or _OF_DIGITS.search(row.conversation):
        return
    if any(
        number_in(str(value)) == float(found[0]) and row.mined.names(name)
        for name, value in row.columns.items()
    ):
        yield f"{text[: found.end()]}0{text[found.end() :]}"


_FURTHER_BLOCKS = r"\b(?:second|another|further|other) (?:code )?blocks?\b"


def _second_block(_: ProbeRow, text: str) -> Iterator[str]:
    """A completion with one code block, and an example in another one."""
    if text.count("```") == 2:
        yield f"{text}\nFor example:\n```python\nprint(1)\n```"
