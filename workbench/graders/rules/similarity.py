"""Similarity of two texts: fuzzy match, ROUGE, BLEU, Google BLEU, METEOR with Porter's stems. Standard library only.

Every measure is between 0 and 1 and takes (text, reference). Longest common subsequences may be counted
by a faster function given as `lcs`; the numbers are the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

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


_WORDS = re.compile(r"[a-z0-9]+")
_TOKENS = re.compile(r"\w+|[^\w\s]+")
_ORDER = 4


def lcs_length(shorter: Sequence[Any], longer: Sequence[Any]) -> int:
    """Length of the longest common subsequence, by bits of one large integer (Hyyrö 2004)."""
    if len(shorter) > len(longer):
        shorter, longer = longer, shorter
    places: dict[Any, int] = {}
    for at, item in enumerate(shorter):
        places[item] = places.get(item, 0) | 1 << at
    full = (1 << len(shorter)) - 1
    row = full
    for item in longer:
        matches = row & places.get(item, 0)
        row = (row + matches | row - matches) & full
    return len(shorter) - row.bit_count()


def similarity(
    text: str, reference: str, *, metric: str, lcs: Callable[[Any, Any], int] = lcs_length
) -> float:
    """One measure by its name in OpenAI's files; `meteor_without_synonyms` is described below."""
    if metric == "fuzzy_match":
        return fuzzy_match(text, reference, lcs)
    if metric == "rouge_l":
        return rouge_l(text, reference, lcs)
    if metric.startswith("rouge_"):
        return rouge_n(text, reference, int(metric[-1]))
    return {"bleu": bleu, "gleu": gleu, "meteor_without_synonyms": meteor}[metric](text, reference)


def fuzzy_match(text: str, reference: str, lcs: Callable[[Any, Any], int] = lcs_length) -> float:
    """The `fuzz.ratio` of rapidfuzz as a share: twice the common subsequence over both lengths; 1.0 for two empty texts."""
    total = len(text) + len(reference)
    return 2 * lcs(text, reference) / total if total else 1.0


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _grams(tokens: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _f1(common: int, n_text: int, n_reference: int) -> float:
    if not common:
        return 0.0
    precision, recall = common / n_text, common / n_reference
    return 2 * precision * recall / (precision + recall)


def rouge_n(text: str, reference: str, size: int) -> float:
    """F1 of common runs of `size` words; words are runs of a-z and 0-9, lower-cased, not stemmed."""
    text_grams, reference_grams = _grams(_words(text), size), _grams(_words(reference), size)
    return _f1((text_grams & reference_grams).total(), text_grams.total(), reference_grams.total())


def rouge_l(text: str, reference: str, lcs: Callable[[Any, Any], int] = lcs_length) -> float:
    """F1 of the longest common subsequence of words, over the whole text."""
    words, reference_words = _words(text), _words(reference)
    return _f1(
        lcs(words, reference_words) if words and reference_words else 0, len(words), len(reference_words)
    )


def bleu(text: str, reference: str) -> float:
    """Sentence BLEU as in sacrebleu: orders 1 to 4 or as many as the text has, "exp" smoothing.

    Tokens are runs of word characters and runs of other characters; case counts.
    """
    tokens, reference_tokens = _TOKENS.findall(text), _TOKENS.findall(reference)
    orders = range(1, min(_ORDER, len(tokens)) + 1)
    common = [(_grams(tokens, size) & _grams(reference_tokens, size)).total() for size in orders]
    if not any(common):
        return 0.0
    smooth, logs = 1.0, 0.0
    for size, count in zip(orders, common, strict=True):
        smooth = smooth if count else smooth * 2
        logs += math.log((count or 1 / smooth) / (len(tokens) - size + 1))
    brevity = min(0.0, 1 - len(reference_tokens) / len(tokens))
    return math.exp(brevity + logs / len(orders))


def gleu(text: str, reference: str) -> float:
    """Google's BLEU: common runs of 1 to 4 tokens over those of the side that has more. Tokens as for `bleu`."""
    tokens, reference_tokens = _TOKENS.findall(text), _TOKENS.findall(reference)
    pairs = [(_grams(tokens, size), _grams(reference_tokens, size)) for size in range(1, _ORDER + 1)]
    most = max(
        sum(grams.total() for grams, _ in pairs), sum(reference_grams.total() for _, reference_grams in pairs)
    )
    return sum((grams & reference_grams).total() for grams, reference_grams in pairs) / most if most else 0.0


def meteor(text: str, reference: str) -> float:
    """METEOR with exact and stemmed matches and no synonyms (alpha 0.9, beta 3, gamma 0.5), lower-cased.

    Tokens as for `bleu`. Synonyms would need WordNet, so values are at most those of the full measure.
    """
    tokens, reference_tokens = _TOKENS.findall(text.lower()), _TOKENS.findall(reference.lower())
    pairs = _aligned(tokens, reference_tokens)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(tokens), len(pairs) / len(reference_tokens)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    breaks = sum((b[0] - a[0], b[1] - a[1]) != (1, 1) for a, b in pairwise(pairs))
    return (1 - 0.5 * ((breaks + 1) / len(pairs)) ** 3) * mean


def _aligned(tokens: list[str], reference_tokens: list[str]) -> list[tuple[int, int]]:
    """Alignment of tokens: equal ones first, then those with the same stem, from the end."""
    unpaired, reference_unpaired = dict(enumerate(tokens)), dict(enumerate(reference_tokens))
    pairs = _paired(unpaired, reference_unpaired)
    pairs += _paired(
        {at: stem(token) for at, token in unpaired.items()},
        {at: stem(token) for at, token in reference_unpaired.items()},
    )
    return sorted(pairs)


def _paired(tokens: dict[int, str], reference_tokens: dict[int, str]) -> list[tuple[int, int]]:
    """Pair equal tokens, last with last; paired tokens are removed from both."""
    places: dict[str, list[int]] = {}
    for at in sorted(reference_tokens):
        places.setdefault(reference_tokens[at], []).append(at)
    pairs = [(at, places[tokens[at]].pop()) for at in sorted(tokens, reverse=True) if places.get(tokens[at])]
    for place, reference_place in pairs:
        del tokens[place], reference_tokens[reference_place]
    return pairs
