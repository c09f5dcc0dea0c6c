"""Numbers in a text: locales, fractions, powers of ten, units, and which of several is the result. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from workbench.graders.rules.units import UNIT_NAME, unit_of

LOCALES = {
    "en": (".", ","), "de": (",", "."), "fr": (",", " "), "ch": (".", "'\u2019"), "si": (".", " "), "in": (".", ","),
}  # fmt: skip
"""Decimal mark and thousands marks: English, German, French, Swiss, SI (1 234.5), Indian (12,34,567.8)."""
_NARROW = "\u00a0\u2009\u202f"
"""Spaces that do not separate words: a thousands mark in every locale."""
_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5", "⅙": "1/6",
    "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
}  # fmt: skip
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_MAX_EXPONENT = 400
"""Largest power of ten that is read: a float has up to 308."""
_MAX_BETWEEN = 60
"""Characters between two numbers that may join them."""
_MAX_TEXT = 50_000
"""Characters read from the end of a text without a box and a label."""


class Quantity(NamedTuple):
    """A number in a text: its place, its value (None if it cannot be read), its unit's name, whether it is negated, the word after it."""

    start: int
    end: int
    value: Fraction | float | None
    unit: str
    negated: bool
    word: str


class NumberError(ValueError):
    """There is not one number: `kind` is "missing", "ambiguous" or "unreadable"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


_MARKUP = (
    (r"(?<![\w$])\$\$?(?=\S)([^$\n]{1,80}?\S|[^$\n\s])\$\$?(?!\d)", r" \1 "),
    (r"\\boxed|\\fbox|\\[,;:!> ]|\\(?:left|right|displaystyle)\b|\\[()\[\]]|~", " "),
    (r"(?<=\d)\{,\}(?=\d{3})", ","),
    (r"\\(?:text|mathrm|mbox|textbf|mathbf|bf)\s*\{([^{}]*)\}", r" \1 "),
    (r"\^\s*\{?\s*\\circ\s*\}?", "°"),
    (r"(?<=\d)\s*\\[dt]?frac(?![A-Za-z])", r" \\frac"),
    (r"\\[dt]?frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}", r"\1/\2"),
    (r"\\[dt]?frac\s*(\d)\s*(\d)", r"\1/\2"),
    (r"\\times\b|\\cdot\b", "\u00d7"),
    (r"\\pm\b", "±"),
    (r"\\infty\b", "∞"),
    (r"\\approx\b", "≈"),
    (r"\\neq?\b", "≠"),
    (r"\\([%$#&_])", r"\1"),
    (r"\*\*|__|`|(?<![\d\s])\*(?=[-\d.])|(?<=\d)\*(?![\d\s])", " "),
)
_MARKUP_PATTERNS = tuple((re.compile(pattern), new) for pattern, new in _MARKUP)


def plain_numbers(text: str) -> str:
    """The text without LaTeX and Markdown around its numbers."""
    for pattern, new in _MARKUP_PATTERNS:
        text = pattern.sub(new, text)
    return text


def _pattern(locale: str) -> re.Pattern[str]:
    decimal, marks = LOCALES[locale]
    mark = f"[{re.escape(marks)}{_NARROW}]"
    groups = rf"\d{{1,3}}(?P<mark>{mark})\d{{3}}(?:(?P=mark)\d{{3}})*(?!\d)"
    if locale == "in":
        groups = rf"\d{{1,2}}(?:,\d{{2}})*,\d{{3}}(?!\d)|{groups}"
    number = rf"(?:{groups}|\d+)(?:{re.escape(decimal)}\d+)?|{re.escape(decimal)}\d+"
    # What follows a number without a space belongs to it: "1.234,5" is not 1.234, "4,2" is not 4.
    rest = r"(?P<rest>(?:[.,'\u2019_]\d+)*)"
    fraction = r"(?P<over>\s?[/\u2044\u2215]\s?\d+(?![\d/]))"
    mixed = rf"(?P<mixed>(?:\s+|-)\d+\s?[/\u2044]\s?\d+(?![\d/])|\s?[{''.join(_VULGAR)}])"
    power = r"(?P<power>[eE][-+\u2212]?\d+|\s?[\u00d7x·*]\s?10\s?(?:\^\s?\{?\s?[-+\u2212]?\d+\s?\}?|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+))?"
    infinite = r"(?P<inf>∞|\binf(?:inity)?\b)"
    body = rf"(?P<whole>{number}){rest}{power}(?:{mixed}|{fraction})?"
    vulgar = rf"(?P<vulgar>[{''.join(_VULGAR)}])"
    sign = r"(?P<sign>(?:\b(?:minus|negative)\s+|[-+\u2212\u2013]\s?))?"
    return re.compile(
        rf"{sign}(?P<money>[$€£¥]\s?)?(?P<after>[-+\u2212]\s?)?(?:{body}|{vulgar}|{infinite})", re.IGNORECASE
    )


_PATTERNS = {locale: _pattern(locale) for locale in LOCALES}
_NOT = re.compile(
    r"(?:\bnot|n't|n\u2019t|\bnever|\bnor|\brather than|\binstead of|\bno longer|\bunlike|\bexcept|≠|!=)"
    r"(?:\s+(?:equal|be|to|the|it|exactly|quite|really|equals|correct|that))*\s*[:(\"'\u201c]*\s*\Z",
    re.IGNORECASE,
)
_WORD_AFTER = re.compile(r"\s?([A-Za-z][A-Za-z-]*)")
_SCALE = re.compile(r"[\s-]?(thousand|million|billion|trillion|mln|bln|mn|bn)\b", re.IGNORECASE)
_SCALES = {
    "th": 10**3,
    "mi": 10**6,
    "ml": 10**6,
    "mn": 10**6,
    "bi": 10**9,
    "bl": 10**9,
    "bn": 10**9,
    "tr": 10**12,
}
"""Factors of number names, by their first two letters."""
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)


def numbers_in(text: str, locale: str = "en", extra: Mapping[str, Any] | None = None) -> list[Quantity]:
    """Every number in a text that `plain_numbers` returned, in order. Parts of words (B12, 42nd) are not numbers."""
    return [
        amount
        for found in _PATTERNS[locale].finditer(text)
        if (amount := _amount(text, found, locale, extra))
    ]


def _amount(text: str, found: re.Match[str], locale: str, extra: Mapping[str, Any] | None) -> Quantity | None:
    start, sign = found.start(), found["sign"] or ""
    body = found.start("money") if found["money"] else found.start() + len(sign)
    before = text[start - 1 : start]
    if sign and not sign.strip().isalpha() and not _is_sign(text, start, sign):
        start, sign, before = body, "", text[body - 1 : body]
    if not sign and (before.isalnum() or before == "_"):
        return None
    value: Fraction | float | None
    if found["inf"]:
        value, end = float("inf"), found.end()
    else:
        value, end = _value(found, locale), found.end()
    negative = (sign + (found["after"] or "")).strip()[:1] in {"-", "\u2212", "\u2013", "m", "M", "n", "N"}
    if value is not None and negative:
        value = -value
    if scale := _SCALE.match(text, end):
        value, end = None if value is None else value * _SCALES[scale[1].lower()[:2]], scale.end()
    if _ORDINAL.match(text, end):
        return None
    unit = (found["money"] or "").strip()
    named = UNIT_NAME.match(text, end) or UNIT_NAME.match(
        text, end + 1 if text[end : end + 1].isspace() else end
    )
    if named and _is_unit(text, named, extra):
        unit, end = unit or named[0], named.end()
    elif text[end : end + 1].isalnum() or text[end : end + 1] == "_":
        value = None  # letters that belong to the number, and are not a unit: 42k
    negated = _NOT.search(text, max(0, start - 40), start) is not None
    after = None if unit else _WORD_AFTER.match(text, end)
    return Quantity(start, end, value, unit, negated, after[1].lower() if after else "")


def _is_sign(text: str, start: int, sign: str) -> bool:
    """Whether a dash is a sign: not between two numbers or words, not the mark of a list."""
    before = text[:start].rstrip(" ")[-1:]
    if text[start - 1 : start].isalnum() or text[start - 1 : start] in {")", "]", "}", "%"}:
        return False
    if sign != sign.strip():  # a space after it
        return before in {"=", "(", "[", "{", ":", "≈", "<", ">"}
    return not (before.isdigit() and sign.strip() in {"-", "\u2212", "\u2013"} and text[start - 1] != " ")


def _is_unit(text: str, named: re.Match[str], extra: Mapping[str, Any] | None) -> bool:
    if unit_of(named[0].replace("per cent", "percent"), extra) is None:
        return False
    # "in" is an inch, "a" an ampere, only where no other word follows.
    is_word = named[0] in {"in", "A", "t", "mi", "d", "s"}
    return not (is_word and text[named.start() - 1] == " " and re.match(r"\s+\w", text[named.end() :]))


def _value(found: re.Match[str], locale: str) -> Fraction | None:
    """The value without its sign; None if it cannot be read."""
    if found["vulgar"]:
        return Fraction(_VULGAR[found["vulgar"]])
    if found["rest"] or len(found[0]) > _MAX_EXPONENT:
        return None
    decimal = LOCALES[locale][0]
    digits = (sign for sign in found["whole"] if sign.isdigit() or sign == decimal)
    value = Fraction("".join("." if sign == decimal else sign for sign in digits))
    exponent = _exponent(found["power"] or "")
    if abs(exponent) > _MAX_EXPONENT:
        return None
    return _with_part(value * Fraction(10) ** exponent, found)


def _exponent(power: str) -> int:
    if not power:
        return 0
    raised = re.sub(r"^\s?[\u00d7x\u00b7*]\s?10", "", power).translate(_RAISED).replace("\u2212", "-")
    return int(re.sub(r"[\s{}^eE]", "", raised))


def _with_part(value: Fraction, found: re.Match[str]) -> Fraction | None:
    """The value of a mixed number or a fraction."""
    if part := found["mixed"]:
        above, _, below = _VULGAR.get(part.strip(), part).replace("\u2044", "/").partition("/")
        is_mixed = int(below) != 0 and value.denominator == 1
        return value + Fraction(int(above.strip().lstrip("-")), int(below)) if is_mixed else None
    if part := found["over"]:
        below_value = int(re.sub(r"\D", "", part))
        return value / below_value if below_value else None
    return value


_JOINED = re.compile(
    r"[\s,;()/|\"'\[\]]*(?:(?:or|and|to|vs|versus|through|maybe|perhaps|possibly|probably|rather|even|also|either|"
    r"alternatively|then|but|about|around|approximately|roughly|equally|[-\u2212\u2013\u2014+*\u00d7·^÷±&~…]|\.{2,3}(?!\.))[\s,;()/|\"'\[\]]*)*"
    r"[$€£¥]?",
    re.IGNORECASE,
)
_BRACE = re.compile(r"\\(?:boxed|fbox)\s*([{\w])|\\[{}]|[{}]")
_LABEL = r"(?:####|(?:the\s+)?(?:final\s+|correct\s+)?(?:answer|result)(?:\s*\([^)\n]{0,20}\))?(?:\s+is|\s+equals)?\s*[:=]|(?:final\s+|correct\s+)?answer\s+(?:is|equals|would be))"
_LABELS = re.compile(_LABEL, re.IGNORECASE)


def after_thinking(text: str) -> str:
    """The text after the last `</think>`; before `<think>` if that is never closed."""
    text = text.rpartition("</think>")[2]
    return text.partition("<think>")[0]


def boxed(text: str) -> list[str]:
    r"""The contents of every closed `\boxed{...}`, in the order of their ends."""
    contents, starts = [], []
    for mark in _BRACE.finditer(text):
        if mark[0].startswith("\\"):
            if mark[1] is None:
                continue  # an escaped brace
            if mark[1] != "{":
                contents.append(mark[1])
                continue
            starts.append(mark.end())
        elif mark[0] == "{":
            starts.append(-1)
        elif starts and (start := starts.pop()) >= 0:
            contents.append(text[start : mark.start()])
    return contents


def result_number(
    text: str, which: str, label: str, locale: str, extra: Mapping[str, Any] | None
) -> tuple[Quantity, str]:
    """The number that a text states as its result, and where it was: "boxed", "labelled", "last" or "only".

    Raises:
        NumberError: None, several that differ, or one that cannot be read.
    """
    text = after_thinking(text)
    if which in {"final", "boxed"} and (boxes := boxed(text)):
        return _same([first_number(plain_numbers(box), locale, extra) for box in boxes]), "boxed"
    labels = re.compile(re.escape(label), re.IGNORECASE) if label else _LABELS
    if which in {"final", "labelled"}:
        parts = [text[found.end() :] for found in labels.finditer(text)]
        part = plain_numbers(parts[-1].lstrip().partition("\n")[0]) if parts else ""
        if part and numbers_in(part, locale, extra):
            return first_number(part, locale, extra), "labelled"
    if which in {"boxed", "labelled"}:
        raise NumberError("missing", f"there is no {which} number")
    plain = plain_numbers(text[-_MAX_TEXT:])
    amounts = [amount for amount in numbers_in(plain, locale, extra) if not amount.negated]
    if not amounts:
        raise NumberError("missing", "there is no number")
    if which == "only":
        return _same(amounts), "only"
    at = len(amounts) - 1
    while at and _are_joined(plain, amounts[at - 1], amounts[at]):
        at -= 1
    return _one_of(amounts[at:], plain, extra), "last"


def _are_joined(text: str, one: Quantity, other: Quantity) -> bool:
    """Whether two numbers are alternatives, a list, a range or an expression: 42 or 43; not "2) 42"."""
    between = text[one.end : other.start]
    if len(between) > _MAX_BETWEEN or "\n" in between or between.strip() in {")", "]"}:
        return False
    return between == ":" or _JOINED.fullmatch(between) is not None


def first_number(text: str, locale: str, extra: Mapping[str, Any] | None) -> Quantity:
    """The number at the start of a statement, after its last equals sign."""
    amounts = [amount for amount in numbers_in(text, locale, extra) if not amount.negated]
    if not amounts:
        raise NumberError("missing", "there is no number")
    group = [amounts[0]]
    for amount in amounts[1:]:
        between = text[group[-1].end : amount.start]
        if re.fullmatch(r"[^\w\n]*[=≈][^\w\n]*", between):
            group = [amount]
        elif _are_joined(text, group[-1], amount):
            group.append(amount)
        else:
            break
    return _one_of(group, text, extra)


def _one_of(group: Sequence[Quantity], text: str, extra: Mapping[str, Any] | None) -> Quantity:
    """The one value of joined numbers: 2 h 30 min, 42 ± 1; other numbers must be equal."""
    if len(group) == 2:
        between = text[group[0].end : group[1].start].strip()
        if between == "±":
            return group[0]
        units = [unit_of(amount.unit, extra) for amount in group]
        first, second = units
        if (
            first
            and second
            and between in {"", "and", ","}
            and first[0] == second[0]
            and first[1] > second[1]
            and isinstance(group[0].value, Fraction)
            and isinstance(group[1].value, Fraction)
        ):
            return group[0]._replace(value=group[0].value + group[1].value * second[1] / first[1])
    return _same(group)


def _same(group: Sequence[Quantity]) -> Quantity:
    values = {(amount.value, amount.unit) for amount in group}
    if len({value for value, _ in values}) > 1 or len({unit for _, unit in values if unit}) > 1:
        listed = ", ".join(dict.fromkeys(shown(amount) for amount in group))
        raise NumberError("ambiguous", f"different results: {listed}"[:200])
    chosen = max(group, key=lambda amount: bool(amount.unit))
    if chosen.value is None:
        raise NumberError("unreadable", "the number cannot be read")
    return chosen


def shown(amount: Quantity) -> str:
    """A number as text for reasons."""
    value = amount.value
    if value is None:
        return "?"
    is_short = isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 10**18
    return f"{int(value) if is_short else as_float(value)!r}{' ' if amount.unit else ''}{amount.unit}"


def as_float(value: Fraction | float) -> float:
    """The value as a float; infinite beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
