"""Measured properties of a text and its row: language, citations, repetition, latency, cost and tokens. Standard library only."""

from __future__ import annotations

import math
import re

# ruff: noqa: RUF001 (other scripts)
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.graders.rules.numbers import after_thinking
from workbench.graders.rules.text import Verdict, normalized

_SCRIPTS = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "CYRILLIC": "cyrillic", "GREEK": "el", "ARABIC": "arabic", "HEBREW": "he",
    "DEVANAGARI": "hi", "THAI": "th", "LATIN": "latin", "BENGALI": "bn", "TAMIL": "ta",
}  # fmt: skip
"""Script, by the first part of a character's Unicode name, to a language or a group of languages."""
_WORDS = {
    "en": "the of and to in is that it for was on are with as be at this have from or by not but what all were we when your can there an which their if will you they i",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie ich wir",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec mais je nous vous cette être elle comme on ou c'est d'un",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin sobre este ya está son muy también fue hay yo",
    "it": "di e il la che in un a per è una del non con i da le si dei al sono come più nel alla gli della ma o anche lo questo su delle ha se io mi perché",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou ser são você também eu isso está",
    "nl": "de van een het en in is dat op te zijn met voor niet aan er om ook als dan maar bij nog uit door over ze hij naar wel ik je we deze wordt worden geen of",
    "sv": "och i att det som en på är av för med den till inte om har de ett var jag men sig så från vi kan när nu efter där eller hade skulle detta också",
    "da": "og i at det er en til på som med de for af ikke den der et har var jeg han men fra om vi kan så efter eller også skal blev være ved hvor dette",
    "pl": "i w na z do się nie że to jest o jak a od za po ale co przez dla oraz są tym tak był jego już tylko być może które który ich ze czy",
    "cs": "a v se na je že s z do o i to k ve pro za by ale si po jako jsou od která který tak jeho byl nebo také už jsem není při podle však",
    "tr": "ve bir bu için da de ile çok ne daha olarak olan gibi en var kadar ben o mi ama sonra değil ya her şey olduğu bunu biz sen ki",
    "ro": "de și în la a cu pe este nu că din o un pentru mai care se sunt ce au fi prin dar ca după sau fost lui despre am te",
    "hu": "a az és hogy nem is egy ez meg van de azt csak el még már volt vagy mint kell ha ki lehet én ezt után minden nagyon",
    "fi": "ja on ei se että oli hän ovat kun mutta niin myös joka mitä tämä sen jos ole vain kuin tai minä me nyt sitten olla voi ne",
    "id": "yang dan di dari untuk dengan ini pada tidak dalam itu adalah akan ke juga oleh saya atau ada karena bisa sebagai kita telah dapat lebih",
    "vi": "và của là có không được trong cho một các với này những người để đã khi từ cũng đến như tôi về nhiều ra vào bạn thì",
    "ru": "и в не на я что он с как это по но они мы из у за то все так его для вы же от о было бы только или есть она при если",
    "uk": "і в не на що я з як це до та у за він але по ми від так для ви або є про його вони було бути цього через також якщо її",
    "bg": "и на да в се не от за с по е са че като това но при има или до ще си след която който бе тя много само беше може аз",
    "ar": "في من على إلى أن ما هذا عن لا مع هو التي كان هذه كل ذلك أو بين قد هي لم بعد الذي إن كما",
    "fa": "و در به از که این را با است برای آن یک می تا بر خود هم شود کرد شده ما اما یا باید هر من",
}  # fmt: skip
"""Frequent words by language, for languages that share a script."""
_GROUPS = {"cyrillic": ("ru", "uk", "bg"), "arabic": ("ar", "fa")}
LANGUAGES = tuple(sorted({*_WORDS, *(name for name in _SCRIPTS.values() if len(name) == 2)}))
"""Codes of the known languages."""
_NO_PROSE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\$\$?[^$]*\$\$?|https?://\S+|<[^<>\n]{1,80}>|\\[A-Za-z]+|\\boxed\{[^{}]*\}",
    re.DOTALL,
)
_MIN_LETTERS = 4
_MIN_WORDS = 4
"""Words from which function words are counted: fewer are a name or a phrase of no language."""


def detected(text: str) -> tuple[str, float]:
    """The language of a text's prose and its share of it, from 0 to 1; "" if it is unclear. Code, formulas and addresses do not count."""
    prose = _NO_PROSE.sub(" ", text)
    letters = Counter(script for sign in prose if sign.isalpha() and (script := _script(sign)))
    total = sum(letters.values())
    if total < _MIN_LETTERS:
        return "", 0.0
    if letters["ja"]:
        letters["ja"] += letters.pop("zh", 0)  # Japanese is written with Chinese characters, too
    name, count = letters.most_common(1)[0]
    share = count / total
    if len(name) == 2:
        return (name, share) if share > 0.5 else ("", share)
    among = _GROUPS.get(
        name, tuple(code for code in _WORDS if not any(code in group for group in _GROUPS.values()))
    )
    words = re.findall(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?", prose.casefold())
    if len(words) < _MIN_WORDS:
        return "", share
    counts = Counter({code: sum(word in _SETS[code] for word in words) for code in among})
    (best, most), (_, second) = counts.most_common(2)
    # A text that mixes languages, or has few function words, is unclear.
    if most < 2 or most / len(words) < 0.1 or most < 1.3 * second:
        return "", share
    return best, share


_SETS = {code: frozenset(words.split()) for code, words in _WORDS.items()}


def _script(sign: str) -> str:
    return _SCRIPTS.get(unicodedata.name(sign, "").partition(" ")[0], "other")


def language(
    text: str, *, languages: tuple[str, ...], on_unclear: str = "zero", share: float = 0.8
) -> Verdict:
    """Whether a text is in one of the languages.

    Raises:
        ValueError: The language is unclear, and `on_unclear` is "fail".
    """
    found, part = detected(after_thinking(text))
    details = {"language": found or None, "share": part}
    if not found:
        if on_unclear == "fail":
            raise ValueError("the language is unclear: too short, or of several languages")
        return float(on_unclear == "pass"), "The language is unclear", details
    passed = found in languages and part >= share
    reason = f"{found}, {part:.0%} of the letters" + (
        "" if passed else f", expected {' or '.join(languages)}"
    )
    return float(passed), reason, details


_MARKER = re.compile(r"\[(\d{1,4}(?:\s*(?:,|-|\u2013)\s*\d{1,4})*)\](?!\()")
_QUOTE = re.compile(
    r"\u201c([^\u201c\u201d]{1,2000})\u201d|\u00ab([^\u00ab\u00bb]{1,2000})\u00bb|\u201e([^\u201c\u201d\u201e]{1,2000})[\u201c\u201d]|\"([^\"\n]{1,2000})\""
)
_GAP = re.compile(r"\s*(?:\[\s*(?:\.{3}|\u2026)\s*\]|\(\s*(?:\.{3}|\u2026)\s*\)|\.{3}|\u2026)\s*")
_MAX_RANGE = 50
"""Documents that one range such as [1-3] may cite."""


def documents_of(value: Any) -> list[str]:
    """The texts of documents: a list of texts or of objects with their text, one text, or texts by name."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str):
        return [value] if value.strip() else []
    if not isinstance(value, list | tuple):
        return []
    return [_text_of(one) for one in value]


def _text_of(document: Any) -> str:
    if isinstance(document, Mapping):
        names = ("text", "content", "page_content", "contents", "passage", "body", "snippet")
        document = next((document[name] for name in names if name in document), "")
    return "\n".join(map(_text_of, document)) if isinstance(document, list | tuple) else str(document)


def _numbers(marker: str) -> list[int]:
    found: list[int] = []
    for part in marker.split(","):
        first, *rest = (int(number) for number in re.findall(r"\d+", part))
        found += range(first, min(rest[-1], first + _MAX_RANGE) + 1) if rest else [first]
    return found


def _plain(text: str) -> str:
    return normalized(text, ("nfkc", "spaces", "quotes", "dashes")).casefold().strip()


def _is_in(quote: str, document: str) -> bool:
    """Whether a quote occurs, with gaps where it has dots; a full stop or comma at its end does not count."""
    at = 0
    for part in _GAP.split(quote):
        piece = _plain(part).strip(" .,;:!?")
        place = document.find(piece, at)
        if place < 0:
            return False
        at = place + len(piece)
    return True


def citations(
    text: str, documents: Any, *, minimum: int = 1, min_words: int = 3, first: int = 1, measure: str = "all"
) -> Verdict:
    """Whether a text's citations exist: numbers of documents, and quoted spans inside documents.

    Args:
        text: The completion.
        documents: See `documents_of`.
        minimum: Number of citations that are required.
        min_words: Minimum number of words per quote.
        first: Number of the first document.
        measure: "all" or "share".

    Raises:
        ValueError: There are no documents.
    """
    texts = documents_of(documents)
    if not texts:
        raise ValueError("this row has no documents")
    text = after_thinking(text)
    plain = [_plain(one) for one in texts]
    wrong: list[str] = []
    marks = [(found.start(), number) for found in _MARKER.finditer(text) for number in _numbers(found[1])]
    wrong += [f"[{number}]" for _, number in marks if not first <= number < first + len(texts)]
    quotes = [(found.end(), next(filter(None, found.groups()))) for found in _QUOTE.finditer(text)]
    quotes = [(end, quote) for end, quote in quotes if len(quote.split()) >= min_words]
    for end, quote in quotes:
        # A number directly after a quote names its document.
        named = re.match(r"[\s.,;]*\[(\d{1,4})\]", text[end : end + 12])
        numbers = [int(named[1]) - first] if named else range(len(plain))
        if not any(0 <= at < len(plain) and _is_in(quote, plain[at]) for at in numbers):
            wrong.append(quote[:80])
    total = len(marks) + len(quotes)
    details: dict[str, Any] = {"citations": total, **({"wrong": wrong[:20]} if wrong else {})}
    if total < max(minimum, 1) and minimum:
        return 0.0, f"{total} citations, expected at least {minimum}", {**details, "failure": "missing"}
    reason = f"Not in the documents: {'; '.join(wrong)}"[:300] if wrong else f"All {total} citations exist"
    if measure == "share":
        return ((total - len(wrong)) / total if total else 1.0), reason, details
    return float(not wrong), reason, details


def column_of(thread: Any, names: Sequence[str]) -> Any:
    """The first of these columns that a thread's metadata has, None without one."""
    columns = thread.metadata if isinstance(thread.metadata, dict) else {}
    return next((columns[name] for name in names if name in columns), None)


# A character of a script without spaces is a token, and a long run of letters is cut, so that "aaaa..." repeats itself.
_TOKEN = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|\w{1,20}")


def repeated_share(text: str, n: int) -> tuple[float, int, str]:
    """Share of n-grams that occurred before in the text, their number, and the most frequent one."""
    tokens = _TOKEN.findall(text.casefold())
    counts = Counter(zip(*(tokens[at:] for at in range(n)), strict=False))
    total = sum(counts.values())
    if not total:
        return 0.0, 0, ""
    most, count = max(counts.items(), key=lambda one: one[1])
    return 1 - len(counts) / total, total, " ".join(most) if count > 1 else ""


def repetition(text: str, *, n: int = 4, limit: float = 0.2, measure: str = "limit") -> Verdict:
    """Whether at most a share of a text's n-grams repeat earlier ones, or one minus that share."""
    share, total, most = repeated_share(text, n)
    details = {"repeated": share, "n_grams": total, **({"most_frequent": most} if most else {})}
    reason = f"{share:.1%} of {total} {n}-grams repeat earlier ones" + (f", such as {most!r}" if most else "")
    return (1 - share if measure == "share" else float(share <= limit)), reason, details


_NAMES: dict[str, tuple[tuple[str, float], ...]] = {
    "latency": (("latency", 1.0), ("latency_s", 1.0), ("seconds", 1.0), ("duration", 1.0), ("latency_ms", 0.001), ("duration_ms", 0.001)),
    "cost": (("cost", 1.0), ("cost_usd", 1.0), ("total_cost", 1.0), ("price", 1.0)),
    "tokens": (("tokens", 1.0), ("total_tokens", 1.0), ("completion_tokens", 1.0), ("output_tokens", 1.0)),
}  # fmt: skip
"""Columns of each measure, and the factor to seconds, dollars and tokens."""


def measured_value(columns: Any, measure: str, column: str) -> float:
    """A row's latency in seconds, its cost or its tokens.

    Raises:
        ValueError: The row has no such column, or it is not a number from 0 on.
    """
    columns = columns if isinstance(columns, Mapping) else {}
    usage = columns.get("usage")
    places = [columns, usage] if isinstance(usage, Mapping) else [columns]
    names = ((column, 0.001 if column.endswith("_ms") else 1.0),) if column else _NAMES[measure]
    for name, factor in names:
        for place in places:
            if place.get(name) is None:
                continue
            value = place[name]
            try:
                number = math.nan if isinstance(value, bool) else float(value)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number) or number < 0:
                raise ValueError(f"the column {name!r} is not a number from 0 on: {value!r}"[:200])
            return number * factor
    raise ValueError(f"this row has no {measure}: no column {' or '.join(repr(name) for name, _ in names)}")


def usage_within(columns: Any, *, limits: Mapping[str, float], names: Mapping[str, str]) -> Verdict:
    """Whether each measure of a row is at most its limit.

    Raises:
        ValueError: The row lacks a measure.
    """
    values = {measure: measured_value(columns, measure, names.get(measure, "")) for measure in limits}
    above = [
        f"{measure} {value:g}, limit {limits[measure]:g}"
        for measure, value in values.items()
        if value > limits[measure]
    ]
    within = ", ".join(f"{measure} {value:g}" for measure, value in values.items())
    return float(not above), "; ".join(above) or within, dict(values)
