"""Well-formed completions that are wrong: another row's, a near miss, another entity."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.probes.filler import PADDING
from workbench.probes.row import ProbeRow
from workbench.probes.variant import variant


@variant(
    "other-answer", "reject", "another row's reference", alarm="reference", rank=14, least=2,
    advice="compare the completion with this row's reference",
)  # fmt: skip
def other_answer(row: ProbeRow) -> Iterable[str | None]:
    """References of other rows, in the form that is accepted here."""
    for answer in row.others[:2]:
        yield row.say(answer)
        if row.say(answer) != answer:
            yield answer


@variant(
    "padded-wrong",
    "reject",
    "a wrong completion made long",
    alarm="reference",
    rank=15,
    least=2,
    beside=True,
    advice="do not reward length",
)
def padded_wrong(row: ProbeRow) -> Iterable[str | None]:
    """Another row's reference after a text without content, three times as long."""
    if row.reference:
        yield f"{PADDING * 3}\n\n{row.say(row.other)}"


@variant(
    "wrong-repeated",
    "reject",
    "a wrong result many times over",
    alarm="reference",
    rank=16,
    least=2,
    judges=False,
    beside=True,
    advice="count a result once",
)
def wrong_repeated(row: ProbeRow) -> Iterable[str | None]:
    """Another row's reference 50 times."""
    if row.reference and len(row.other) <= 200:
        yield "\n".join([row.say(row.other)] * 50)


@variant(
    "code-sign",
    "reject",
    "code with one sign changed",
    rank=38,
    least=2,
    advice="compare code with its signs, or run it",
)
def code_sign(row: ProbeRow) -> Iterable[str | None]:
    """One operator or bracket of the reference replaced, if it looks like code."""
    if row.is_code:
        found = re.search(r"==|[-+*/<>=\[\](){}:]", row.reference)
        if found:
            swapped = {"==": "!=", "+": "-", "-": "+", "*": "/", "/": "*", "<": ">", ">": "<", "=": "=="}
            sign = swapped.get(found[0], ";")
            yield row.say(row.reference[: found.start()] + sign + row.reference[found.end() :])


@variant(
    "one-letter",
    "reject",
    "a short word with one letter changed",
    alarm="reference",
    rank=40,
    least=2,
    judges=False,
    advice="do not accept similar short words: one letter makes another word",
)
def one_letter(row: ProbeRow) -> Iterable[str | None]:
    """A middle letter of a short word (four to seven letters) replaced."""
    if len(row.words) == 1 and 4 <= len(row.reference) <= 7 and row.reference.isalpha():
        half = len(row.reference) // 2
        yield row.say(
            row.reference[:half]
            + ("z" if row.reference[half].lower() != "z" else "q")
            + row.reference[half + 1 :]
        )


@variant(
    "other-entity",
    "reject",
    "the reference's number with another name",
    alarm="reference",
    rank=36,
    least=2,
    advice="compare the words as well as the number",
)
def other_entity(row: ProbeRow) -> Iterable[str | None]:
    """Every word with at least three letters replaced, digits unchanged, if the reference has both."""
    if row.json is None and not row.is_code and row.value is None and re.search(r"\d", row.reference):
        words = re.findall(r"[^\W\d_]{3,}", row.reference)
        if len("".join(words)) >= 4:
            yield row.say(re.sub(r"[^\W\d_]{3,}", "Zuborek", row.reference))


@variant(
    "other-number",
    "reject",
    "the reference's name with another number",
    alarm="reference",
    rank=37,
    least=2,
    advice="compare the number as well as the words",
)
def other_number(row: ProbeRow) -> Iterable[str | None]:
    """Digits changed, words unchanged, if the reference has both."""
    if row.json is None and not row.is_code and row.value is None and re.search(r"\d", row.reference):
        yield row.say(re.sub(r"\d", lambda found: str((int(found[0]) + 4) % 9 + 1), row.reference))


@variant(
    "one-word",
    "reject",
    "the reference's sentence with one word changed",
    alarm="reference",
    rank=38,
    least=2,
    advice="compare more than word overlap, which misses the decisive word",
)
def one_word(row: ProbeRow) -> Iterable[str | None]:
    """A sentence's longest word replaced by one without meaning."""
    if len(row.words) >= 4:
        longest = max(row.words, key=len)
        if len(longest) >= 4:
            yield row.say(" ".join("Zuborek" if word == longest else word for word in row.words))


@variant(
    "case-that-matters",
    "reject",
    "other capital letters where they matter",
    alarm="reference",
    rank=45,
    least=1,
    judges=False,
    advice="compare case if the prompt requires it",
)
def case_that_matters(row: ProbeRow) -> Iterable[str | None]:
    """Case swapped, if the prompt mentions capital letters or code, or rows differ by case alone."""
    asks = re.search(
        r"upper ?-?case|lower ?-?case|capital(?:i[sz]e|s\b| letter)|all caps|case[- ]sensitiv|camelcase|identifier|variable|"
        r"chemical (?:symbol|formula)|acronym",
        row.prompt,
        re.IGNORECASE,
    )
    if (
        asks
        and len(row.reference.split()) <= 3
        and row.reference.swapcase() != row.reference
        and row.json is None
        and not row.is_letter
    ):
        yield row.say(row.reference.swapcase())
