"""How alike two texts are: fuzzy match, ROUGE, BLEU, Google BLEU, METEOR. Standard library only.

Every measure is between 0 and 1 and takes (text, reference). Longest common subsequences may be counted
by a faster function given as `lcs`; the numbers are the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from workbench.graders.rules.stem import stem

__all__ = ["bleu", "fuzzy_match", "gleu", "lcs_length", "meteor", "rouge_l", "rouge_n", "similarity"]

_WORDS = re.compile(r"[a-z0-9]+")
_TOKENS = re.compile(r"\w+|[^\w\s]+")
_ORDER = 4


def lcs_length(one: Sequence[Any], two: Sequence[Any]) -> int:
    """Length of the longest common subsequence, by bits of one large integer (Hyyrö 2004)."""
    if len(one) > len(two):
        one, two = two, one
    places: dict[Any, int] = {}
    for at, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << at
    full = (1 << len(one)) - 1
    row = full
    for item in two:
        kept = row & places.get(item, 0)
        row = (row + kept | row - kept) & full
    return len(one) - row.bit_count()


def similarity(
    text: str, reference: str, *, metric: str, lcs: Callable[[Any, Any], int] = lcs_length
) -> float:
    """One measure by its name in OpenAI's files; `meteor_without_synonyms` says what it is."""
    if metric == "fuzzy_match":
        return fuzzy_match(text, reference, lcs)
    if metric == "rouge_l":
        return rouge_l(text, reference, lcs)
    if metric.startswith("rouge_"):
        return rouge_n(text, reference, int(metric[-1]))
    return {"bleu": bleu, "gleu": gleu, "meteor_without_synonyms": meteor}[metric](text, reference)


def fuzzy_match(text: str, reference: str, lcs: Callable[[Any, Any], int] = lcs_length) -> float:
    """The `fuzz.ratio` of rapidfuzz as a share: twice the common subsequence over both lengths; two empty texts are alike."""
    total = len(text) + len(reference)
    return 2 * lcs(text, reference) / total if total else 1.0


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _grams(tokens: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _f1(common: int, found: int, wanted: int) -> float:
    if not common:
        return 0.0
    precision, recall = common / found, common / wanted
    return 2 * precision * recall / (precision + recall)


def rouge_n(text: str, reference: str, size: int) -> float:
    """F1 of common runs of `size` words; words are runs of a-z and 0-9, lower-cased, not stemmed."""
    found, wanted = _grams(_words(text), size), _grams(_words(reference), size)
    return _f1((found & wanted).total(), found.total(), wanted.total())


def rouge_l(text: str, reference: str, lcs: Callable[[Any, Any], int] = lcs_length) -> float:
    """F1 of the longest common subsequence of words, over the whole text."""
    found, wanted = _words(text), _words(reference)
    return _f1(lcs(found, wanted) if found and wanted else 0, len(found), len(wanted))


def bleu(text: str, reference: str) -> float:
    """Sentence BLEU, as sacrebleu counts it: orders 1 to 4 or as many as the text has, "exp" smoothing.

    Tokens are runs of word characters and runs of other signs; case counts.
    """
    found, wanted = _TOKENS.findall(text), _TOKENS.findall(reference)
    orders = range(1, min(_ORDER, len(found)) + 1)
    common = [(_grams(found, size) & _grams(wanted, size)).total() for size in orders]
    if not any(common):
        return 0.0
    smooth, logs = 1.0, 0.0
    for size, count in zip(orders, common, strict=True):
        smooth = smooth if count else smooth * 2
        logs += math.log((count or 1 / smooth) / (len(found) - size + 1))
    brevity = min(0.0, 1 - len(wanted) / len(found))
    return math.exp(brevity + logs / len(orders))


def gleu(text: str, reference: str) -> float:
    """Google's BLEU: common runs of 1 to 4 tokens over those of the side that has more. Tokens as for `bleu`."""
    found, wanted = _TOKENS.findall(text), _TOKENS.findall(reference)
    pairs = [(_grams(found, size), _grams(wanted, size)) for size in range(1, _ORDER + 1)]
    most = max(sum(one.total() for one, _ in pairs), sum(two.total() for _, two in pairs))
    return sum((one & two).total() for one, two in pairs) / most if most else 0.0


def meteor(text: str, reference: str) -> float:
    """METEOR with exact and stemmed matches and no synonyms (alpha 0.9, beta 3, gamma 0.5), lower-cased.

    Tokens as for `bleu`. Synonyms would need WordNet, so values are at most those of the full measure.
    """
    found, wanted = _TOKENS.findall(text.lower()), _TOKENS.findall(reference.lower())
    pairs = _aligned(found, wanted)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(found), len(pairs) / len(wanted)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    breaks = sum((b[0] - a[0], b[1] - a[1]) != (1, 1) for a, b in pairwise(pairs))
    return (1 - 0.5 * ((breaks + 1) / len(pairs)) ** 3) * mean


def _aligned(found: list[str], wanted: list[str]) -> list[tuple[int, int]]:
    """Which token stands for which: the same ones first, then those of one stem, from the end on."""
    left, right = dict(enumerate(found)), dict(enumerate(wanted))
    pairs = _paired(left, right)
    pairs += _paired(
        {at: stem(one) for at, one in left.items()}, {at: stem(one) for at, one in right.items()}
    )
    return sorted(pairs)


def _paired(left: dict[int, str], right: dict[int, str]) -> list[tuple[int, int]]:
    """Pair equal tokens, last with last; what was paired is taken out of both."""
    places: dict[str, list[int]] = {}
    for at in sorted(right):
        places.setdefault(right[at], []).append(at)
    pairs = [(at, places[left[at]].pop()) for at in sorted(left, reverse=True) if places.get(left[at])]
    for one, two in pairs:
        del left[one], right[two]
    return pairs
