"""The language of a text, by its script and its function words. Standard library only."""
# ruff: noqa: RUF001 (other scripts)

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from workbench.graders.rules.numbers import after_thinking
from workbench.graders.rules.text import Verdict

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
