"""Forms that a prompt itself offers: another notation of a number, citations in groups, another separator of a list.

Nothing is assumed about taste: a form counts only if the prompt shows it, such as "2.5e3 or 2.5 x 10^3", "[2] or [1, 3]" or
"separated by commas or spaces". An accepted completion is written in it, and has to be accepted as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from workbench.probes.board import Board
from workbench.probes.controlled import accepted_rows, pairs_of
from workbench.probes.probe_basis import Base
from workbench.probes.tried import Family, change_variant, families_of_pairs
from workbench.probes.variants import ProbeRow

NOTATION = change_variant(
    "offered-notation", "accept", "with its number in another notation, which the prompt shows",
    "read every notation that the prompt offers: decimals, exponents with e, x or \N{MULTIPLICATION SIGN}, fractions, percent", least=1,
)  # fmt: skip
GROUPED = change_variant(
    "citations-grouped", "accept", "with its citations in one pair of brackets, as the prompt shows",
    "read each number in the brackets: [1, 3] cites two sources", least=1,
)  # fmt: skip
SEPARATED = change_variant(
    "offered-separator", "accept", "with another separator of its entries, which the prompt offers",
    "split at every separator that the prompt offers: re.split(r'[,;\\s]+', text.strip())", least=1,
)  # fmt: skip


def offered_forms(board: Board, base: Base) -> list[Family]:
    """Families of accepted completions in another form that the prompt offers.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    rows = accepted_rows(base)
    made = [
        (NOTATION, pairs_of(rows, _other_notations)),
        (GROUPED, pairs_of(rows, _grouped)),
        (SEPARATED, pairs_of(rows, _separated)),
    ]
    return families_of_pairs(board, base, made)


@dataclass(frozen=True)
class _Number:
    """A number in a text.

    Attributes:
        notation: Its notation: "power", "exponent", "fraction", "percent", "thousands" or "plain".
        value: Its value.
        start: Where it starts.
        end: Where it ends.
        glue: Of a power of ten the text between its mantissa and its exponent, such as " x 10^".
    """

    notation: str
    value: Fraction
    start: int
    end: int
    glue: str = ""


_SIGN = r"(?<![\w.])[-+]?"
_NOTATIONS = {
    "power": re.compile(
        rf"({_SIGN}\d+(?:\.\d+)?)(\s*[\u00d7x*\u00b7]\s*10\s*(?:\^|\*\*))\{{?([-+]?\d{{1,2}})\}}?"
    ),
    "exponent": re.compile(rf"({_SIGN}\d+(?:\.\d+)?)[eE]([-+]?\d{{1,2}})(?!\w)"),
    "percent": re.compile(rf"({_SIGN}\d+(?:\.\d+)?) ?%"),
    "fraction": re.compile(rf"({_SIGN}\d{{1,4}})/(\d{{1,4}})(?![\d/])"),
    "thousands": re.compile(rf"{_SIGN}\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\w)"),
    "plain": re.compile(rf"{_SIGN}\d+(?:\.\d+)?(?![\w/^])"),
}
_BETWEEN = re.compile(r"[\s\"'`()]*(?:,|/|or|, or)[\s\"'`()]*")
"""What may be between two notations of one number that a prompt offers; "0.5 is 50%" is an example of a conversion."""
_MAX_DIGITS, _MAX_DENOMINATOR = 12, 1_000


def _numbers(text: str) -> list[_Number]:
    """The numbers of a text in order, each in its longest notation."""
    found: list[_Number] = []
    for notation, pattern in _NOTATIONS.items():
        for match in pattern.finditer(text):
            if any(one.start < match.end() and match.start() < one.end for one in found):
                continue
            if (value := _value(notation, match)) is not None:
                glue = match[2] if notation == "power" else ""
                found.append(_Number(notation, value, match.start(), match.end(), glue))
    return sorted(found, key=lambda one: one.start)


def _value(notation: str, match: re.Match[str]) -> Fraction | None:
    if notation in {"power", "exponent"}:
        return Fraction(match[1]) * Fraction(10) ** int(match[3 if notation == "power" else 2])
    if notation == "percent":
        return Fraction(match[1]) / 100
    if notation == "fraction":
        return Fraction(int(match[1]), int(match[2])) if int(match[2]) else None
    return Fraction(match[0].replace(",", ""))


def _offered(prompt: str) -> list[_Number]:
    """The notations of which the prompt shows two for one number, one right after the other."""
    numbers = _numbers(prompt)
    pairs = [
        (one, other)
        for one, other in pairwise(numbers)
        if one.value == other.value
        and one.notation != other.notation
        and _BETWEEN.fullmatch(prompt[one.end : other.start])
    ]
    return list({each.notation: each for pair in pairs for each in pair}.values())


def _other_notations(row: ProbeRow, text: str) -> Iterator[str]:
    """The last number of a completion in each of the other notations."""
    offered = _offered(row.conversation)
    numbers = _numbers(text) if offered else []
    # The completion's own notation has to be offered as well: else the prompt may be about a conversion.
    if not numbers or numbers[-1].notation not in {one.notation for one in offered}:
        return
    last = numbers[-1]
    for one in offered:
        other = _written(last.value, one) if one.notation != last.notation else ""
        if other:
            yield text[: last.start] + other + text[last.end :]


def _written(value: Fraction, like: _Number) -> str:
    """A value in the notation of another number; "" if it has no short and exact one."""
    if like.notation == "fraction":
        is_short = 1 < value.denominator <= _MAX_DENOMINATOR
        return f"{value.numerator}/{value.denominator}" if is_short else ""
    if like.notation == "percent":
        digits = _decimal(value * 100)
        return f"{digits}%" if digits else ""
    if like.notation == "thousands":
        whole, point, rest = _decimal(value).partition(".")
        return f"{int(whole):,}{point}{rest}" if whole and abs(value) >= 1_000 else ""
    return _decimal(value) if like.notation == "plain" else _with_power(value, like)


def _with_power(value: Fraction, like: _Number) -> str:
    """A value as a mantissa from 1 to 10 and a power of ten; "" for 0, and for a mantissa of too many digits."""
    power = len(str(abs(value.numerator) // value.denominator)) - 1 if abs(value) >= 1 else _below_one(value)
    mantissa = _decimal(value / Fraction(10) ** power) if value else ""
    glue = "e" if like.notation == "exponent" else like.glue
    return f"{mantissa}{glue}{power}" if mantissa else ""


def _below_one(value: Fraction) -> int:
    """The power of ten of a number between 0 and 1."""
    power = 0
    while abs(value) < 1 and power > -_MAX_DIGITS:
        value *= 10
        power -= 1
    return power


def _decimal(value: Fraction) -> str:
    """A value as a decimal number without an exponent; "" if it has more digits than are usual."""
    for places in range(_MAX_DIGITS):
        scaled = value * 10**places
        if scaled.denominator == 1:
            sign, digits = "-" if value < 0 else "", str(abs(scaled.numerator)).rjust(places + 1, "0")
            whole, rest = (digits[:-places], digits[-places:]) if places else (digits, "")
            return f"{sign}{whole}{'.' if rest else ''}{rest}" if len(digits) <= _MAX_DIGITS else ""
    return ""


_SINGLE = re.compile(r"\s\[(\d{1,3})\]")
_GROUP = re.compile(r"\[\d{1,3}(, ?)\d{1,3}\]")


_FOR_EACH = re.compile(
    r"\b(?:each|every)\b[^.\n]{0,30}\b(?:sentence|claim|statement|fact|point)|\bafter (?:each|every)",
    re.IGNORECASE,
)
"""Terms of a prompt that requires a source where it belongs: a group at the end is another completion."""


_ABOUT_SOURCES = re.compile(
    r"\b(?:cit(?:e|es|ed|ing|ation|ations)|sources?|references?|footnotes?)\b", re.IGNORECASE
)


def _grouped(row: ProbeRow, text: str) -> Iterator[str]:
    """All single citations of a completion in one pair of brackets, at the last one."""
    shown = _GROUP.search(row.prompt) if _ABOUT_SOURCES.search(row.prompt) else None
    cited = [*_SINGLE.finditer(text)]
    if shown is None or len({found[1] for found in cited}) < 2 or _FOR_EACH.search(row.prompt):
        return
    last = cited[-1]
    numbers = shown[1].join(sorted({found[1] for found in cited}, key=int))
    yield _SINGLE.sub("", text[: last.start()]) + f" [{numbers}]" + text[last.end() :]


_SEPARATORS = {
    "comma": ", ", "space": " ", "blank": " ", "semicolon": "; ", "line": "\n", "newline": "\n", "slash": "/", "hyphen": "-",
    "dash": "-", "point": ".", "dot": ".",
}  # fmt: skip
_NAME = rf"(?:new )?({'|'.join(_SEPARATORS)})(?:s|es)?"
_EITHER = re.compile(
    rf"\b{_NAME},? (?:(?P<either>or|and/or)|instead of) (?:by |at |with )?{_NAME}\b(?P<rest>[^.\n]{{0,40}})",
    re.IGNORECASE,
)
_SEPARATING = re.compile(r"\b(?:separat|split|delimit|join|divid)\w*\b[^.\n]{0,40}\Z", re.IGNORECASE)
"""Terms before the names of two separators: elsewhere they may be what is counted, or a decimal point."""
_NEGATED = re.compile(
    r"\b(?:no|not|never|without|avoid|remove|ignore|strip|n't)\b[^.\n]{0,30}\Z", re.IGNORECASE
)
_ALLOWED = re.compile(r"\b(?:fine|ok|okay|allowed|may|can|accepted|also)\b", re.IGNORECASE)
_ENTRY = r"[^\s,;/\n]{1,20}"


def _separated(row: ProbeRow, text: str) -> Iterator[str]:
    """The entries at the end of a completion with another separator."""
    offered = _EITHER.search(row.conversation)
    before = "" if offered is None else row.conversation[: offered.start()]
    if offered is None or _NEGATED.search(before):
        return
    if not (_SEPARATING.search(before) if offered["either"] else _ALLOWED.search(offered["rest"])):
        return  # one is required instead of the other, or they do not separate
    marks = [_SEPARATORS[name.lower()] for name in offered.group(1, 3)]
    lines, newline, listed = text.rpartition("\n") if "\n" not in marks else ("", "", text)
    found = _list_at_end(listed, marks)
    if found is None:
        return
    start, entries, separator = found
    for mark in marks:
        if mark.strip() != separator.strip() or mark.isspace() != separator.isspace():
            yield lines + newline + listed[:start] + mark.join(entries)


def _list_at_end(text: str, marks: Sequence[str]) -> tuple[int, list[str], str] | None:
    """Where a list with one of the separators starts at the end of a text, its entries, and the separator; None without one."""
    for mark in marks:
        between = r"[ \t]+" if mark == " " else rf"[ \t]*{re.escape(mark.strip()) or chr(10)}[ \t]*"
        if mark == " " and any(one.strip() and one.strip() in text for one in marks):
            continue  # the other separator may be followed by a space
        match = re.search(rf"(?:\A|(?<=: )|(?<=:)){_ENTRY}(?:{between}{_ENTRY})+\s*\Z", text)
        if match is not None and re.fullmatch(r"[-+]?\d+[.,]\d+", match[0].strip()) is None:
            return match.start(), re.split(between, match[0].strip()), mark
    return None
