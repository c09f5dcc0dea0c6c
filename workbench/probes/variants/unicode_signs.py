"""Characters that look alike, or that normalisation turns into others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from workbench.probes.right import apart
from workbench.probes.row import ProbeRow
from workbench.probes.variant import variant

_ALIKE = str.maketrans(
    "aceopxyABCEHKMOPTX",
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0410\u0412\u0421\u0415\u041d\u041a\u041c\u041e\u0420\u0422\u0425",
)
"""Latin letters and Cyrillic ones that look the same."""
_RAISED = dict(zip("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", strict=True))
_ADVICE = "normalise with NFC, which keeps what differs in meaning; NFKC makes 42 of 4\u00b2"


@variant(
    "look-alike",
    "reject",
    "letters of another alphabet that look the same",
    rank=47,
    least=2,
    judges=False,
    advice="compare characters unchanged, or reject mixed alphabets",
)
def look_alike(row: ProbeRow) -> Iterable[str | None]:
    """Latin letters of the reference as Cyrillic ones."""
    changed = row.reference.translate(_ALIKE)
    if row.words and len(row.reference) >= 3 and row.reference.isascii() and changed != row.reference:
        yield row.say(changed)


@variant(
    "raised-digits",
    "reject",
    "raised digits, which are powers, as if they were plain ones",
    rank=48,
    least=1,
    judges=False,
    advice=_ADVICE,
)
def raised_digits(row: ProbeRow) -> Iterable[str | None]:
    """Such as "4\u00b2" for the reference 42: compatibility normalisation (NFKC) makes them equal."""
    if len(row.reference) < 2 or row.reference[-1] not in _RAISED:
        return
    # Code that reads plain digits sees only the others: these must be another number, beyond any tolerance.
    if (
        row.value is not None and apart(row.reference[:-1], "0") and row.reference.lstrip("-").isdigit()
    ) or row.words:
        yield row.say(row.reference[:-1] + _RAISED[row.reference[-1]])


@variant(
    "hidden-characters",
    "accept",
    "with an invisible space in it",
    alarm="never",
    rank=90,
    judges=False,
    advice="remove zero-width characters before comparing",
)
def hidden_characters(row: ProbeRow) -> Iterable[str | None]:
    """A zero-width space after the reference, as copied text has it."""
    if row.reference and not row.is_code and row.json is None:
        yield row.say(row.reference) + "\u200b"


@variant(
    "decomposed",
    "accept",
    "with its accents decomposed (NFD)",
    alarm="free",
    rank=91,
    judges=False,
    advice='normalise both sides: unicodedata.normalize("NFC", text)',
)
def decomposed(row: ProbeRow) -> Iterable[str | None]:
    """Letters and accents as two characters each, as macOS and some models write them."""
    changed = unicodedata.normalize("NFD", row.reference)
    if changed != row.reference:
        yield row.say(changed)


@variant(
    "wide-digits",
    "reject",
    "digits of full width",
    alarm="never",
    rank=92,
    judges=False,
    advice="usually harmless: float() parses them too",
)
def wide_digits(row: ProbeRow) -> Iterable[str | None]:
    r"""Digits as Japanese typesetting has them; Python's \d and float() accept them as digits."""
    changed = "".join(
        chr(ord(character) + 0xFEE0) if character in _RAISED else character for character in row.reference
    )
    if row.value is not None and changed != row.reference:
        yield row.say(changed)
