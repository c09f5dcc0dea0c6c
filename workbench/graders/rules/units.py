"""Units of measurement: their names, what they measure, and factors to a base unit. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_TABLE = (
    "length: m meter metre meters metres=1; km kilometer kilometre kilometers kilometres=1000; dm=0.1; "
    "cm centimeter centimetre centimeters centimetres=0.01; mm millimeter millimetre millimeters millimetres=0.001; "
    "µm um micrometer micrometre micrometers micrometres=0.000001; nm nanometer nanometre nanometers nanometres=0.000000001; "
    "mi mile miles=1609.344; yd yard yards=0.9144; ft foot feet=0.3048; in inch inches=0.0254|"
    "mass: kg kilogram kilograms kilo kilos=1; g gram grams=0.001; mg milligram milligrams=0.000001; "
    "µg ug microgram micrograms=0.000000001; t tonne tonnes=1000; lb lbs pound_mass=0.45359237; oz ounce ounces=0.028349523125|"
    "time: s sec secs second seconds=1; ms millisecond milliseconds=0.001; µs us microsecond microseconds=0.000001; "
    "ns nanosecond nanoseconds=0.000000001; min mins minute minutes=60; h hr hrs hour hours=3600; d day days=86400; week weeks=604800|"
    "years: year years yr yrs=1; month months=1/12; decade decades=10; century centuries=100|"
    "area: m² m2 m^2=1; km² km2 km^2=1000000; cm² cm2 cm^2=0.0001; mm² mm2 mm^2=0.000001; ha hectare hectares=10000|"
    "volume: l liter litre liters litres=1; ml milliliter millilitre milliliters millilitres=0.001; cl=0.01; dl=0.1; "
    "m³ m3 m^3=1000; cm³ cm3 cm^3 cc=0.001; gal gallon gallons=3.785411784|"
    "speed: m/s=1; km/h kmh kph=5/18; mph=0.44704|"
    "data: B byte bytes=1; kB KB=1000; MB=1000000; GB=1000000000; TB=1000000000000; KiB=1024; MiB=1048576; GiB=1073741824; "
    "bit bits=1/8|"
    "energy: J joule joules=1; kJ=1000; MJ=1000000; cal=4.184; kcal=4184; Wh=3600; kWh=3600000; eV=0.0000000000000000001602176634|"
    "power: W watt watts=1; mW=0.001; kW=1000; MW=1000000; GW=1000000000; hp=745.69987158227022|"
    "force: N newton newtons=1; kN=1000|pressure: Pa pascal pascals=1; hPa=100; kPa=1000; MPa=1000000; bar=100000; atm=101325|"
    "frequency: Hz hertz=1; kHz=1000; MHz=1000000; GHz=1000000000|voltage: V volt volts=1; mV=0.001; kV=1000|"
    "current: A amp amps ampere amperes=1; mA=0.001|resistance: Ω ohm ohms=1; kΩ=1000|"
    "angle: ° deg degree degrees=1; rad radian radians=180/3.14159265358979323846|amount: mol mole moles=1; mmol=0.001|"
    "share: % percent pct=1/100; ‰ permille=1/1000|"
    "dollars: $ usd dollar dollars=1|euros: € eur euro euros=1|pounds: £ gbp pound pounds=1|yen: ¥ jpy yen=1|"
    "cents: ¢ cent cents=1|temperature: K kelvin kelvins=1; °C celsius=1; °F fahrenheit=5/9"
)
"""What is measured: names of a unit=its factor; ... Currencies are not converted into each other."""
_SHIFTS = {"°C": Fraction(27315, 100), "celsius": Fraction(27315, 100)} | {
    name: Fraction(45967, 100) * Fraction(5, 9) for name in ("°F", "fahrenheit")
}
"""Kelvin at zero of a scale, and of Fahrenheit's."""

Unit = tuple[str, Fraction, Fraction]
"""What is measured, the factor to the base unit, and the base unit's value at zero."""


def _factor(text: str) -> Fraction:
    above, _, below = text.partition("/")
    return Fraction(above) / Fraction(below or "1")


def _read_table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for kind in _TABLE.split("|"):
        measured, _, rows = kind.partition(": ")
        for row in rows.split("; "):
            names, _, factor = row.rpartition("=")
            for name in names.split():
                units[name] = (measured, _factor(factor), _SHIFTS.get(name, Fraction(0)))
    return units


UNITS = _read_table()
"""Every known unit by its names."""


def unit_of(name: str, extra: Mapping[str, Any] | None = None) -> Unit | None:
    """The unit of a name, None for an unknown one. Case counts for names of up to two letters (MW, mW).

    Args:
        name: As written after a number.
        extra: More units: name to a known unit's name and how many of these it is.
    """
    name = name.replace("μ", "µ").replace("\u2103", "°C").replace("\u2109", "°F")
    if extra and name in extra:
        base, factor = extra[name]
        found = UNITS.get(base)
        if found is None:
            return (base, Fraction(str(factor)), Fraction(0))
        return (found[0], found[1] * Fraction(str(factor)), found[2])
    if name in UNITS:
        return UNITS[name]
    return UNITS.get(name.lower()) if len(name) > 2 else None


UNIT_NAME = re.compile(
    r"(?:per cent\b|[%‰°$€£¥¢Ω\u2103\u2109](?:[CF]\b)?|[A-Za-zµμ]+(?:/[A-Za-z]+|\^?[23²³])?(?![\w²³]))"
)
"""The text after a number that may be a unit."""
