"""Token overlap, and lists in a text as sets and sequences. Standard library only."""

from __future__ import annotations

import ast
import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from workbench.graders.rules.numbers import after_thinking, boxed
from workbench.graders.rules.text import Verdict

_MAX_ITEMS = 2_000
"""Items of a list that are compared in order; longer lists score 0.0."""


def squad_tokens(text: str) -> list[str]:
    """Tokens as SQuAD's script: lower case, ASCII punctuation removed, then a, an and the; a text of articles alone keeps them."""
    lowered = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", lowered).split() or lowered.split()


def word_tokens(text: str) -> list[str]:
    """Tokens in any language: NFKC, case folded, punctuation and symbols around words removed, numbers by their value."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("\u2212", "-").replace("\u2019", "'")
    stripped = (_without_edges(token) for token in text.split())
    return [_number_text(token) for token in stripped if token]


def _without_edges(token: str) -> str:
    start, end = 0, len(token)
    while (
        start < end
        and unicodedata.category(token[start])[0] in "PSZC"
        and not re.match(r"[-+.]?\.?\d", token[start:end])
    ):
        start += 1
    while end > start and unicodedata.category(token[end - 1])[0] in "PSZC" and token[end - 1] != "%":
        end -= 1
    return token[start:end]


def _number_text(token: str) -> str:
    """A number without thousands marks and trailing zeros; other tokens unchanged."""
    plain = token.replace(",", "") if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", token) else token
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)", plain) or len(plain) > 300:
        return token
    sign = "-" if plain.startswith("-") else ""
    whole, _, rest = plain.lstrip("+-").partition(".")
    whole, rest = whole.lstrip("0") or "0", rest.rstrip("0")
    value = f"{whole}.{rest}" if rest else whole
    return value if value == "0" else sign + value


def aliases(expected: str) -> list[str]:
    """The accepted texts of a reference: the entries of a JSON list of texts, or the text itself."""
    if expected.lstrip().startswith("["):
        try:
            value = json.loads(expected)
        except (ValueError, RecursionError):
            return [expected]
        if isinstance(value, list) and value and all(isinstance(one, str | int | float) for one in value):
            return [one if isinstance(one, str) else json.dumps(one) for one in value]
    return [expected]


def token_f1(text: str, expected: str, *, measure: str = "f1", normalization: str = "squad") -> Verdict:
    """Overlap of the texts' tokens, with repetitions counted: the best over a list of accepted texts."""
    split = {"squad": squad_tokens, "words": word_tokens}.get(normalization)
    tokens: Callable[[str], list[str]] = split or (lambda one: one.split())
    found = tokens(after_thinking(text))
    scored = [(_overlap(found, tokens(one)), one) for one in aliases(expected)]
    (precision, recall, f1), best = max(
        scored, key=lambda one: one[0][("precision", "recall", "f1").index(measure)]
    )
    score = {"precision": precision, "recall": recall, "f1": f1}[measure]
    reason = f"precision {precision:.3g}, recall {recall:.3g}, F1 {f1:.3g} with {best[:80]!r}"
    return score, reason, {"precision": precision, "recall": recall, "f1": f1}


def _overlap(found: Sequence[str], wanted: Sequence[str]) -> tuple[float, float, float]:
    if not found or not wanted:
        same = float(not found and not wanted)
        return same, same, same
    common = sum((Counter(found) & Counter(wanted)).values())
    return common / len(found), common / len(wanted), 2 * common / (len(found) + len(wanted))


_BULLET = re.compile(
    r"^[ \t]*(?:[-*+\u2022\u2013]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(\S.*?)[ \t]*$", re.MULTILINE
)
_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_LEAD = re.compile(r"\b(?:answers?|result|list|items?|are|is)\b", re.IGNORECASE)
_MAX_LEAD = 200
"""Characters before a colon that may announce a list."""
_NONE = frozenset({"none", "nothing", "no items", "empty", "n/a", "-", "\u2205", "{}", "[]", "()"})


def items_in(text: str, separator: str = "") -> list[str] | None:
    r"""The items of a list that a text states; None if it states none.

    Read in this order: the last `\boxed{}`; a JSON or Python list, in a code block or bare; lines with bullets or
    numbers; lines; a line with semicolons, commas and "and". "none" and `[]` are lists without items.

    Args:
        text: The completion.
        separator: What separates the items, if it is not one of these.
    """
    text = after_thinking(text).strip()
    if boxes := boxed(text):
        text = (
            re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", boxes[-1]).replace("\\{", "").replace("\\}", "").strip()
        )
    fences = _FENCE.findall(text)
    text = fences[-1].strip() if fences else text
    if separator:
        return [one for one in map(_item, text.split(separator)) if one] or None
    for part in dict.fromkeys((text, *_bracketed(text))):
        if (values := _literal(part)) is not None:
            return values
    if text.strip(" .").lower() in _NONE:
        return []
    if bullets := _BULLET.findall(text):
        return [one for one in map(_item, bullets) if one]
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return [one for one in map(_item, lines) if one] or None
    return _of_line(text) or None


def _bracketed(text: str) -> list[str]:
    """The last list in brackets of a text, if there is one."""
    end = text.rfind("]")
    start, depth = end, 0
    while start >= 0 and end >= 0:
        depth += {"]": 1, "[": -1}.get(text[start], 0)
        if depth == 0:
            return [text[start : end + 1]]
        start -= 1
    return []


def _literal(text: str) -> list[str] | None:
    if not text.startswith(("[", "(", "{")) or len(text) > 100_000:
        return None
    value: Any = None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
            break
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    if isinstance(value, set | frozenset):
        return sorted(map(_as_item, value))
    return [_as_item(one) for one in value] if isinstance(value, list | tuple) else None


def _as_item(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        return repr(value)


def _item(text: str) -> str:
    return text.strip().strip("*_`\"'\u201c\u201d").rstrip(".,;").strip("*_`\"'\u201c\u201d ")


def _of_line(line: str) -> list[str]:
    lead, colon, rest = line.partition(":")
    if colon and len(lead) <= _MAX_LEAD and not re.search("[,;]", lead) and _LEAD.search(lead):
        line = rest
    line = line.strip().strip("[](){}")
    if ";" in line:
        parts = line.split(";")
    elif re.search(r",\s", line):
        parts = re.split(r",\s+(?:and\s+|&\s+)?|\s+and\s+", line)
    else:
        parts = re.split(r",|\s+and\s+", line)
    return [one for one in map(_item, parts) if one]


def _keys(items: Sequence[str], ignore_case: bool) -> list[str]:
    """Items in the form in which they are compared: white space, case and the form of numbers do not count."""
    spaced = (re.sub(r"\s+", " ", unicodedata.normalize("NFKC", item)).strip() for item in items)
    return [_number_text(item.casefold() if ignore_case else item) for item in spaced]


def set_match(
    text: str,
    expected: str,
    *,
    measure: str = "equal",
    duplicates: str = "ignore",
    ignore_case: bool = True,
    separator: str = "",
) -> Verdict:
    """How far the items of a text are those of the reference, in any order.

    Raises:
        ValueError: The reference is not a list.
    """
    items, wanted = _both(text, expected, separator)
    if items is None:
        return 0.0, "There is no list", {"failure": "missing"}
    found, right = Counter(_keys(items, ignore_case)), Counter(_keys(wanted, ignore_case))
    twice = sorted(key for key, count in found.items() if count > right.get(key, 1))
    if duplicates == "ignore":
        found, right = Counter(set(found)), Counter(set(right))
    missing, extra = sorted((right - found).elements()), sorted((found - right).elements())
    details = {"missing": missing[:50], "extra": extra[:50], **({"duplicates": twice[:50]} if twice else {})}
    if duplicates == "reject" and twice:
        return 0.0, f"Items occur twice: {', '.join(twice)}"[:200], {**details, "failure": "duplicates"}
    score = _measured(sum((found & right).values()), sum(found.values()), sum(right.values()), measure)
    return score, _difference(missing, extra), details


def _both(text: str, expected: str, separator: str) -> tuple[list[str] | None, list[str]]:
    wanted = items_in(expected, separator)
    if wanted is None:
        raise ValueError(f"the reference {expected[:60]!r} is not a list")
    return items_in(text, separator), wanted


def _measured(common: int, found: int, wanted: int, measure: str) -> float:
    if not found or not wanted:
        return float(found == wanted)
    if measure == "equal":
        return float(common == found == wanted)
    if measure == "jaccard":
        return common / (found + wanted - common)
    return {"precision": common / found, "recall": common / wanted, "f1": 2 * common / (found + wanted)}[
        measure
    ]


def _difference(missing: Sequence[str], extra: Sequence[str]) -> str:
    parts = [
        f"{name}: {', '.join(items)}" for name, items in (("missing", missing), ("extra", extra)) if items
    ]
    return ("; ".join(parts) or "The same items")[:300]


def list_match(
    text: str, expected: str, *, measure: str = "equal", ignore_case: bool = True, separator: str = ""
) -> Verdict:
    """How far the items of a text are those of the reference, in order; repetitions count.

    Raises:
        ValueError: The reference is not a list.
    """
    items, wanted = _both(text, expected, separator)
    if items is None:
        return 0.0, "There is no list", {"failure": "missing"}
    found, right = _keys(items, ignore_case), _keys(wanted, ignore_case)
    if max(len(found), len(right)) > _MAX_ITEMS:
        return 0.0, f"More than {_MAX_ITEMS} items", {"failure": "length"}
    same = [one == other for one, other in zip(found, right, strict=False)]
    first = same.index(False) if False in same else len(same)
    common = sum(same) if measure == "positions" else _common(found, right)
    if measure == "positions":
        score = common / max(len(found), len(right)) if found or right else 1.0
    else:
        score = (
            float(found == right)
            if measure == "equal"
            else _measured(common, len(found), len(right), measure)
        )
    details = {"length": len(found), "expected_length": len(right), "in_order": common}
    if found == right:
        return score, "The same list", details
    reason = f"Differs at item {first + 1}: {', '.join(items[first : first + 1]) or 'none'}"
    return score, reason[:300], {**details, "first_difference": first}


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for item in one:
        before = 0
        for at, against in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if item == against else max(row[at], row[at - 1])
    return row[-1]
