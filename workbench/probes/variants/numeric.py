"""Numbers that are near the reference: another digit, sign, unit or decimal point."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from workbench.probes.shapes import as_text, number_in
from workbench.probes.variants import ProbeRow, other_digits, variant

_KINDS = (
    ("km", "m", "cm", "mm"), ("kilometers", "meters", "centimeters"), ("kilometres", "metres", "centimetres"), ("miles", "feet", "inches"),
    ("kg", "g", "mg"), ("kilograms", "grams", "milligrams"), ("h", "min", "s"), ("days", "hours", "minutes", "seconds"), ("years", "months", "days"),
    ("euros", "cents", "dollars"), ("dollars", "cents", "euros"), ("EUR", "USD", "JPY"), ("$", "\u20ac"), ("l", "ml"), ("liters", "milliliters"),
    ("km/h", "m/s"), ("\u00b0C", "K", "\u00b0F"), ("C", "K", "F"), ("degrees", "radians"), ("TB", "GB", "MB", "kB"), ("MW", "kW", "W"), ("kJ", "J"),
    ("V", "mV"), ("kHz", "Hz"), ("%", "euros"), ("percent", "euros"), ("ft", "in"), ("USD", "EUR", "JPY"),
)  # fmt: skip
"""Units of one kind, from the largest to the smallest."""


def _wrong_units(unit: str) -> list[str]:
    """The two nearest units of the same kind, and one of another kind; none for an unknown unit."""
    kind = next((kind for kind in _KINDS if unit in kind), ())
    if not kind:
        return []
    near = sorted(
        (other for other in kind if other != unit),
        key=lambda other: abs(kind.index(other) - kind.index(unit)),
    )
    return [*near[:2], "kg" if "kg" not in kind else "km"]


_TINY = 1e-3
"""Difference up to which an absolute tolerance may make numbers equal. Workbench limit."""
_WITH_UNIT = re.compile(r"([$\u20ac]?)\s*([-+]?\d[\d,]*\.?\d*)(\s*)([^\d\s]\S*)?")
_INTEGER = re.compile(r"-?\d+")


@variant(
    "one-digit",
    "reject",
    "the reference with one digit changed",
    alarm="reference",
    rank=30,
    least=2,
    advice="compare numbers as numbers, all of them",
)
def one_digit(row: ProbeRow) -> Iterable[str | None]:
    """The first digit of a number in the reference changed, for up to three numbers: at least a tenth off."""
    if row.json is not None:
        return
    yield from map(row.say, islice(other_digits(row.reference), 3))


@variant(
    "off-by-one",
    "reject",
    "a whole number that is off by one",
    alarm="never",
    names=("round(",),
    rank=31,
    least=2,
    judges=False,
    advice="do not round whole numbers",
)
def off_by_one(row: ProbeRow) -> Iterable[str | None]:
    """The next whole number: within many tolerances if numbers are large; a finding if the source rounds."""
    if row.value and _INTEGER.fullmatch(row.reference):
        yield row.say(str(int(row.reference) + 1))


@variant(
    "off-a-little",
    "reject",
    "a number that is off by 2 % or more",
    alarm="reference",
    rank=31,
    least=2,
    advice="make the tolerance smaller",
)
def off_a_little(row: ProbeRow) -> Iterable[str | None]:
    """Off by one (if that is at least 2 %), and by 2, 5, 10 and 50 %."""
    if not row.value:
        return
    whole = _INTEGER.fullmatch(row.reference) is not None
    # A difference below the last digit that the reference has is its rounding.
    digits = len(row.reference.strip().rpartition(".")[2]) if "." in row.reference else 0
    least = 10.0**-digits if digits else _TINY
    near = [row.value + step for step in (1, -1) if whole and abs(row.value) <= 50]
    for value in [*near, *(row.value * (1 + share) for share in (0.02, 0.05, 0.1, 0.5))]:
        number = round(value) if whole else round(value, 4)
        if abs(number - row.value) >= max(0.0199 * abs(row.value), 0.99 * least):
            yield row.say(as_text(float(number)))


@variant(
    "digits-after-point",
    "reject",
    "a number that differs after the decimal point",
    alarm="reference",
    rank=32,
    least=2,
    judges=False,
    advice="compare floats, not int() of them",
)
def digits_after_point(row: ProbeRow) -> Iterable[str | None]:
    """A whole reference with .9 added, a fractional one with other digits after the point; at least 2 % off."""
    if not row.value:
        return
    whole = int(row.value)
    for number in (whole + (0.9 if row.value > 0 else -0.9), float(whole)):
        if abs(number - row.value) >= 0.02 * abs(row.value) and int(number) == whole:
            yield row.say(as_text(round(number, 4)))


@variant(
    "magnitude",
    "reject",
    "the reference's digits with the decimal point moved",
    alarm="reference",
    rank=32,
    least=2,
    advice="compare numbers, not their digits",
)
def magnitude(row: ProbeRow) -> Iterable[str | None]:
    """Ten and a thousand times the reference, and a tenth of it."""
    if not row.value or abs(row.value) >= 1e12:
        return
    whole = _INTEGER.fullmatch(row.reference) is not None
    yield row.say(as_text(row.value * 10) if whole else as_text(round(row.value * 10, 6)))
    yield row.say(as_text(round(row.value * 1_000, 6)))
    if whole and abs(row.value) >= 10 and int(row.value) % 10:
        yield row.say(as_text(round(row.value / 10, 1)))


@variant(
    "hundredfold", "reject", "a hundred times the reference, or a hundredth of it", rank=33, least=2, judges=False, question=True,
    advice="decide whether 0.25 and 25 may both stand for 25 %: only one of them can be right for one reference",
)  # fmt: skip
def hundredfold(row: ProbeRow) -> Iterable[str | None]:
    """The number with its decimal point moved by two digits in both directions."""
    if row.value and abs(row.value) < 1e12:
        yield from (row.say(as_text(round(number, 9))) for number in (row.value * 100, row.value / 100))


@variant(
    "pattern-of-reference",
    "reject",
    "a completion with another character instead of a full stop",
    alarm="reference",
    rank=41,
    judges=False,
    advice="do not use a reference as a pattern: use re.escape",
)
def pattern_of_reference(row: ProbeRow) -> Iterable[str | None]:
    """Such as "3x14" for the reference 3.14: an unescaped full stop matches any character."""
    if row.json is None and re.search(r"\w\.\w", row.reference) and not row.is_code:
        yield row.say(re.sub(r"(?<=\w)\.(?=\w)", "x", row.reference))


@variant(
    "sign",
    "reject",
    "the reference with the wrong sign",
    alarm="reference",
    rank=33,
    least=2,
    advice="parse the sign: -? before the digits, and no abs()",
)
def sign(row: ProbeRow) -> Iterable[str | None]:
    """The other sign."""
    if row.value and abs(row.value) >= _TINY and not row.reference.startswith("+"):
        yield row.say(row.reference[1:] if row.reference.startswith("-") else f"-{row.reference}")


@variant(
    "typographic-minus",
    "reject",
    "the reference with a typographic minus before it",
    alarm="strict",
    names=("\u2212", "\\u2212"),
    rank=34,
    least=2,
    judges=False,
    advice="replace \u2212 by - before the number is parsed",
)
def typographic_minus(row: ProbeRow) -> Iterable[str | None]:
    """Such as "\u22125" for the reference 5. Many sound patterns ignore this sign: a note, and a finding if the source names it."""
    if row.value and row.value > 0:
        yield row.say(f"\u2212{row.reference}")


@variant(
    "unit",
    "reject",
    "the reference with a wrong unit",
    alarm="reference",
    rank=35,
    least=2,
    advice="compare the unit, or convert it",
)
def unit(row: ProbeRow) -> Iterable[str | None]:
    """Two other units of the same kind and one of another kind, if the reference has a unit."""
    found = _WITH_UNIT.fullmatch(row.reference.strip())
    if found is None:
        return
    before, number, space, after = found.groups()
    after = (after or "").rstrip(".")
    if before and not after:
        yield row.say(f"{'$' if before != '$' else chr(0x20AC)}{number}")
        yield row.say(f"{number}%")
    for other in _wrong_units(after):
        yield row.say(f"{number}{space or ' ' * (len(other) > 2)}{other}")
    if after == "%":
        yield row.say(f"${number}")


@variant(
    "expression",
    "reject",
    "a sum instead of the result",
    alarm="accepted",
    rank=39,
    question=True,
    least=2,
    judges=False,
    advice="parse a number, do not evaluate an expression: eval() runs anything",
)
def expression(row: ProbeRow) -> Iterable[str | None]:
    """Such as "40+2" for the reference 42: nothing was worked out."""
    if row.value is not None and _INTEGER.fullmatch(row.reference) and abs(row.value) < 1e9:
        whole = int(row.value)
        for text in (f"{whole - 7}+7", f"{whole - 7} + 7", f"({whole + 13}-13)"):
            if number_in(text.split("+")[-1]) != row.value:
                yield row.say(text)


_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?!\d)")


@variant(
    "half-day", "reject", "the time twelve hours later", rank=33, least=2, judges=False,
    advice="compare hours of the day, not hours of a clock face",
)  # fmt: skip
def half_day(row: ProbeRow) -> Iterable[str | None]:
    """A time of 24 hours moved by twelve, if the prompt and the reference name no half of the day."""
    found = _TIME.search(row.reference)
    if found and not re.search(r"\b[ap]\.?m\b|12-hour", f"{row.prompt} {row.reference}", re.IGNORECASE):
        hour = (int(found[1]) + 12) % 24
        yield row.say(f"{row.reference[: found.start()]}{hour:02d}:{found[2]}{row.reference[found.end() :]}")


_DATE = re.compile(r"(?<!\d)(?:(\d{4})([-/.])(\d\d)\2(\d\d)|(\d\d)([-/.])(\d\d)\6(\d{4}))(?!\d)")


@variant(
    "day-month", "reject", "the date with day and month exchanged", rank=33, least=2, judges=False,
    advice="read a date in one form: which of two numbers is the day must not depend on which form fits",
)  # fmt: skip
def day_month(row: ProbeRow) -> Iterable[str | None]:
    """The reference's date in its own form with day and month exchanged, if both are at most 12 and differ."""
    found = _DATE.search(row.reference)
    if found is None:
        return
    first, second = (found[3], found[4]) if found[1] else (found[5], found[7])
    if first == second or int(first) > 12 or int(second) > 12:
        return
    mark = found[2] or found[6]
    parts = (found[1], second, first) if found[1] else (second, first, found[8])
    yield row.say(row.reference[: found.start()] + mark.join(parts) + row.reference[found.end() :])


@variant(
    "digits-apart", "reject", "the reference's digits with a space or a word between them", rank=44, least=2, judges=False, question=True,
    advice="read one number: do not remove spaces and words before it is parsed",
)  # fmt: skip
def digits_apart(row: ProbeRow) -> Iterable[str | None]:
    """Such as "4 2" for 42, and with a term of the source in between."""
    if row.value is not None and re.fullmatch(r"\d{2,}", row.reference):
        first, rest = row.reference[0], row.reference[1:]
        words = [word for word in row.mined.words if word.isalpha() and len(word) <= 12]
        yield from (
            row.say(f"{first}{between}{rest}") for between in (" ", *(f" {word} " for word in words[:4]))
        )


@variant(
    "zero-for-tiny", "reject", "0 for a number near it", rank=31, judges=False, question=True,
    advice="make the tolerance relative, or smaller than the references",
)  # fmt: skip
def zero_for_tiny(row: ProbeRow) -> Iterable[str | None]:
    """Zero for a reference below 0.01: an absolute tolerance makes them equal."""
    if row.value and abs(row.value) < 0.01:
        yield row.say("0")


@variant(
    "comma-inside", "reject", "a comma between digits where no thousands end", alarm="never", rank=74, judges=False,
    advice="remove commas only before three digits: 7,2 is 7.2 in many countries",
)  # fmt: skip
def comma_inside(row: ProbeRow) -> Iterable[str | None]:
    """Such as "4,2" for 42."""
    if row.value is not None and re.fullmatch(r"\d{2,3}", row.reference):
        yield row.say(f"{row.reference[0]},{row.reference[1:]}")


_ASKS_FOR_YEAR = re.compile(
    r"\b(?:which|what) year\b|\bthe year (?:of|in which|when)\b|\bwhen (?:was|were|did|is)\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?:1\d|20)\d\d")


@variant(
    "other-year", "reject", "a year some years off", rank=27, least=2, judges=False,
    advice="compare years exactly: a tolerance in percent is decades of a year",
)  # fmt: skip
def other_year(row: ProbeRow) -> Iterable[str | None]:
    """Seven years earlier and eleven later, if the prompt wants a year."""
    if _YEAR.fullmatch(row.reference.strip()) and _ASKS_FOR_YEAR.search(row.prompt):
        yield from (row.say(str(int(row.reference) + step)) for step in (-7, 11))


@variant(
    "mixed-number-glued", "reject", "a mixed number with its parts glued", rank=27, least=2, judges=False,
    advice="add whole and fraction: without the space 1 1/2 becomes 11/2",
)  # fmt: skip
def mixed_number_glued(row: ProbeRow) -> Iterable[str | None]:
    """Such as "11/2" for "1 1/2"."""
    if re.fullmatch(r"\d+ \d+/\d+", row.reference.strip()):
        yield row.say(row.reference.strip().replace(" ", ""))
