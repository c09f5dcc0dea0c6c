"""Porter's stemmer (1980) with the later rules that common packages add. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

__all__ = ["stem"]

_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

_Rules = Iterable[tuple[str, str]]

# Of two matching suffixes, the first listed counts.
_PLURALS = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
_DERIVED = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_ENDINGS = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_REMAINS = tuple(
    (suffix, "")
    for suffix in (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
        *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    )
)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _derived, _ending, _remains, _final_e):
        word = step(word)
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _flags(word: str) -> str:
    """A letter v or c for each: vowel, or consonant; y is a vowel after a consonant."""
    out = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and out[-1:] == "c")
        out += "v" if vowel else "c"
    return out


def _measure(word: str) -> int:
    """How many times a consonant follows a vowel."""
    return _flags(word).count("vc")


def _short(word: str) -> bool:
    """Ends consonant, vowel, consonant (the last not w, x or y), or is a vowel and a consonant."""
    flags = _flags(word)
    return flags == "vc" or (flags.endswith("cvc") and word[-1] not in "wxy")


def _suffixed(word: str, rules: _Rules) -> tuple[str, str] | None:
    """The part before the first matching suffix, and its replacement."""
    return next(((word[: len(word) - len(end)], new) for end, new in rules if word.endswith(end)), None)


def _plural(word: str) -> str:
    if len(word) == 4 and word.endswith("ies"):
        return word[:-1]
    stem_and_suffix = _suffixed(word, _PLURALS)
    return word if stem_and_suffix is None else "".join(stem_and_suffix)


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    stem_and_suffix = _suffixed(word, (("ed", ""), ("ing", "")))
    return (
        word
        if stem_and_suffix is None or "v" not in _flags(stem_and_suffix[0])
        else _mended(stem_and_suffix[0])
    )


def _mended(word: str) -> str:
    """A stem that lost -ed or -ing: -e restored, or a double consonant made single."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and _flags(word)[-1] == "c":
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _short(word) else word


def _final_y(word: str) -> str:
    turned = word.endswith("y") and len(word) > 2 and _flags(word)[-2] == "c"
    return word[:-1] + "i" if turned else word


def _derived(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):
        return _derived(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replaced(word, _DERIVED)


def _ending(word: str) -> str:
    return _replaced(word, _ENDINGS)


def _replaced(word: str, rules: _Rules) -> str:
    stem_and_suffix = _suffixed(word, rules)
    return word if stem_and_suffix is None or not _measure(stem_and_suffix[0]) else "".join(stem_and_suffix)


def _remains(word: str) -> str:
    stem_and_suffix = _suffixed(word, _REMAINS)
    if stem_and_suffix is None or _measure(stem_and_suffix[0]) < 2:
        return word
    return word if word.endswith("ion") and stem_and_suffix[0][-1] not in "st" else stem_and_suffix[0]


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    measure = _measure(word[:-1])
    return word[:-1] if measure > 1 or (measure == 1 and not _short(word[:-1])) else word
