"""A number against the expected one: ranges, units, percent and tolerances. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from workbench.graders.rules.numbers import (
    NumberError,
    Quantity,
    as_float,
    first_number,
    numbers_in,
    plain_numbers,
    result_number,
    shown,
)
from workbench.graders.rules.text import Verdict
from workbench.graders.rules.units import unit_of

_INTERVAL = re.compile(
    r"\s*([\[(\]])?\s*([^\[\](),;]+?)\s*(,|;|\bto\b|\.\.+|\u2013|(?<=\d)-(?=\d))\s*([^\[\](),;]+?)\s*([\])\[])?\s*\Z"
)


def expected_range(
    text: str, locale: str, extra: Mapping[str, Any] | None
) -> tuple[Quantity, Quantity, bool, bool]:
    """A reference: its lowest and highest value, and whether these belong to it. A solution counts from its last `####`.

    Raises:
        NumberError: It is not a number.
    """
    text = plain_numbers(text.rpartition("####")[2].strip())
    bounds = _INTERVAL.fullmatch(text)
    brackets = bounds is not None and bounds[1] and bounds[5]
    if bounds and (brackets or (not bounds[1] and not bounds[5] and bounds[3] not in {",", ";"})):
        low, high = (numbers_in(bounds[at], locale, extra) for at in (2, 4))
        if len(low) == 1 and len(high) == 1 and None not in {low[0].value, high[0].value}:
            unit = low[0].unit or high[0].unit
            ends = (low[0]._replace(unit=unit), high[0]._replace(unit=high[0].unit or unit))
            return (*ends, bounds[1] != "(" and bounds[1] != "]", bounds[5] != ")" and bounds[5] != "[")
    amounts = numbers_in(text, locale, extra)
    if len(amounts) == 2 and "±" in text[amounts[0].end : amounts[1].start]:
        middle, margin = (amount.value for amount in amounts)
        if isinstance(middle, Fraction) and isinstance(margin, Fraction):
            unit = amounts[0].unit or amounts[1].unit
            return (amounts[0]._replace(value=middle - margin, unit=unit), amounts[0]._replace(value=middle + margin, unit=unit), True, True)  # fmt: skip
    try:
        amount = first_number(text, locale, extra) if amounts else None
    except NumberError:
        amount = None
    if amount is None:
        raise NumberError("unreadable", f"the reference {text[:60]!r} is not a number")
    if not amount.unit and text[amount.end :].strip(" .").lower() == amount.word:
        amount = amount._replace(unit=amount.word)
    return amount, amount, True, True


_NO_UNIT = (
    " in of is are was were for as per and or but so because since that which who the a an at on by with from to total altogether "
    "overall exactly approximately only more less than when if after before each every left remaining now then different "
)
"""Words after a number that are not its unit."""


def number(  # noqa: PLR0913 (the grader's settings)
    text: str,
    expected: str,
    *,
    which: str = "final",
    label: str = "",
    tolerance: float = 0.0,
    relative: float = 0.0,
    unit: str = "convert",
    percent: str = "share",
    locale: str = "en",
    reference_locale: str = "en",
    units: Mapping[str, Any] | None = None,
) -> Verdict:
    """Whether the number that a text states as its result is the expected one, or in the expected range.

    Raises:
        ValueError: The reference is not a number.
    """
    low, high, has_low, has_high = expected_range(expected, reference_locale, units)
    extra = _with_own_unit(units, low.unit)
    try:
        found, place = result_number(text, which, label, locale, extra)
    except NumberError as error:
        return 0.0, f"No result: {error}", {"failure": error.kind}
    details: dict[str, Any] = {"value": as_float(found.value or 0), "read": place, **({"unit": found.unit} if found.unit else {})}  # fmt: skip
    values = [None] if unit != "ignored" and _differs(found, low, unit, extra) else list(_readings(found, low, unit, percent, extra))  # fmt: skip
    if None in values:
        named = found.unit or found.word or "none"
        return 0.0, f"Wrong unit: {named}, expected {low.unit}", {**details, "failure": "unit"}
    bottom, top = (_in_unit(amount, low, extra) for amount in (low, high))
    passed = any(_is_within(value, bottom, top, (has_low, has_high), (tolerance, relative)) for value in values if value is not None)  # fmt: skip
    wanted = shown(low) if low == high else f"{shown(low)} to {shown(high)}"
    return (1.0 if passed else 0.0), f"{shown(found)} ({place}), expected {wanted}", details


def _with_own_unit(units: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    """The declared units, with a reference's unit that is in no table, such as apples."""
    if not name or unit_of(name, units) is not None:
        return units
    stem = name.removesuffix("s")
    return {**(units or {}), **dict.fromkeys((stem, f"{stem}s", name), (stem, 1))}


def _differs(found: Quantity, expected: Quantity, unit: str, extra: Mapping[str, Any] | None) -> bool:
    """Whether the unit found is not the expected one, and cannot be converted into it."""
    stated, wanted = unit_of(found.unit, extra), unit_of(expected.unit, extra)
    if not wanted:
        return False
    if not stated:
        return unit == "required" or bool(found.word and f" {found.word} " not in _NO_UNIT)
    return stated != wanted if unit == "required" else stated[0] != wanted[0]


def _readings(
    found: Quantity, expected: Quantity, unit: str, percent: str, extra: Mapping[str, Any] | None
) -> Iterator[Fraction | float | None]:
    """The values that a number may have, in the expected unit."""
    stated, wanted = unit_of(found.unit, extra), unit_of(expected.unit, extra)
    if found.value is None:
        return
    if stated and stated[0] == "share" and not wanted and unit != "ignored":
        if percent in {"number", "either"}:
            yield found.value
        if percent in {"share", "either"}:
            yield found.value * stated[1]
    elif wanted and wanted[0] == "share" and not stated:
        yield found.value
        if percent in {"share", "either"} and unit != "required":
            yield found.value / wanted[1]
    else:
        yield found.value if unit == "ignored" else _in_unit(found, expected, extra)


def _in_unit(amount: Quantity, other: Quantity, extra: Mapping[str, Any] | None) -> Fraction | float:
    """A number in the unit of another one; unchanged if one of them has none."""
    stated, wanted, value = unit_of(amount.unit, extra), unit_of(other.unit, extra), amount.value
    assert value is not None
    if not stated or not wanted or stated[0] != wanted[0] or isinstance(value, float):
        return value
    return (value * stated[1] + stated[2] - wanted[2]) / wanted[1]


def _is_within(
    value: Fraction | float,
    low: Fraction | float,
    high: Fraction | float,
    closed: tuple[bool, bool],
    tolerances: tuple[float, float],
) -> bool:
    if isinstance(value, float) or (low == high and isinstance(low, float)):
        return value == low == high  # infinite
    absolute, relative = map(Fraction, tolerances)
    below, above = (
        max(absolute, relative * abs(end)) if isinstance(end, Fraction) else Fraction(0)
        for end in (low, high)
    )
    if below == above == 0 and low != high:
        return (low <= value if closed[0] else low < value) and (value <= high if closed[1] else value < high)
    return bool(low - below <= value <= high + above)
