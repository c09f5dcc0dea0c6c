"""The reference occurs but is not the result: in a list of candidates, negated, retracted, or inside a longer word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from random import Random

from workbench.probes.shapes import apart, mentions
from workbench.probes.variants import ProbeRow, variant

_WORDS = re.compile(r"[^\W\d_]+|\d+")
_SHORT = 4
"""Maximum words of a reference that is glued to other letters. Workbench limit."""
_CALL = re.compile(r"(?:\w+\([^()\n]*\)\s*)+")
"""Calls, one after the other: with others around it a call is made, not named."""
_ADVICE = "check the final result of the completion, not whether the reference occurs anywhere in it"


def _between(row: ProbeRow) -> tuple[str, str] | None:
    """Two wrong candidates to put before and after the reference, so that neither the first nor the last is correct."""
    return (row.others[0], row.others[1]) if len(row.others) > 1 else None


@variant(
    "hedged", "reject", "a list of several candidates that contains the reference", rank=20, advice=_ADVICE
)
def hedged(row: ProbeRow) -> Iterable[str | None]:
    """Three candidates, the reference in the middle: neither the first nor the last of them is correct."""
    # Of several programs the required one is found by its name.
    is_text = row.reference and row.json is None and not row.is_program and not _CALL.fullmatch(row.reference)
    wrong = _between(row) if is_text else None
    if wrong is None:
        return []
    first, last = wrong
    marked = [
        " ".join(form(answer) for answer in (first, row.reference, last))
        for form in row.forms[:3]
        if form(first) != first
    ]
    several = "\n".join(row.say(answer) for answer in (first, row.reference, last))
    # Names on separate lines may be a list that the reader has to choose from, although the text does not state so.
    plain_list = row.words and several == f"{first}\n{row.reference}\n{last}"
    return [
        row.say(f"{first}, {row.reference} or {last}"),
        f"It is either {first}, {row.reference} or {last}.",
        *([] if plain_list else [several, *marked]),
    ]


@variant("all-numbers", "reject", "all numbers from 0 to 100", rank=21, judges=False, advice=_ADVICE)
def all_numbers(row: ProbeRow) -> Iterable[str | None]:
    """Every number from 0 to 100, if the reference is one of them and neither the first nor the last."""
    if row.value is None or not row.value.is_integer() or not 0 < row.value < 100:
        return []
    return [" ".join(map(str, range(101)))]


@variant(
    "negated",
    "reject",
    "the reference negated",
    rank=22,
    advice="parse the negation: a negated reference is wrong",
)
def negated(row: ProbeRow) -> Iterable[str | None]:
    """Negations: "It is not X but Y." For words also "It is not X."; code that reads a number or letter may take the last one."""
    if not row.reference or row.is_letter or row.is_verdict or row.is_code or row.json is not None:
        return
    yield f"It is not {row.reference} but {row.other}."
    # Code may read the last number, which is that of the reference.
    if row.words and not row.number_text and any(map(str.isalpha, row.reference)):
        yield f"It is definitely not {row.reference}."
        yield row.say(f"not {row.reference}")


@variant(
    "retracted",
    "reject",
    "the reference retracted",
    rank=23,
    rival=True,
    advice="read the last result, which counts",
)
def retracted(row: ProbeRow) -> Iterable[str | None]:
    """The reference, then "No, that is wrong", and another result."""
    if row.reference and not row.is_letter and not row.is_verdict and row.rival:
        # With the words that a guard against hedges searches for: accepted only by a grader that reads none of them.
        correction = (
            "No, that is not right, or rather it is wrong; it is either a slip or not the answer. It is this:"
        )
        yield f"{row.say(row.reference)}\n\n{correction}\n\n{row.say(row.rival)}"
        yield from (f"{form(row.reference)}\n\n{correction}\n\n{form(row.rival)}" for form in row.forms)


@variant(
    "think-block",
    "reject",
    "the reference in the think block, and a wrong result after it",
    rank=24,
    rival=True,
    advice="grade the text after </think>",
)
def think_block(row: ProbeRow) -> Iterable[str | None]:
    """The reference inside `<think>`, a wrong result outside; not for a letter, of which a grader may take the first."""
    if row.reference and not row.is_letter and not row.is_verdict and row.rival:
        for form in (row.say, *row.forms):
            yield f"<think>{form(row.reference)}\nNo, that is not it, or perhaps not.</think>\n{form(row.rival)}"


@variant(
    "only-thought", "reject", "the reference in the think block only", alarm="never", names=("think",), rank=25,
    advice="grade the text after </think>",
)  # fmt: skip
def only_thought(row: ProbeRow) -> Iterable[str | None]:
    """The reference inside `<think>`, and no result outside. The last number of the text is the reference nevertheless."""
    if row.reference:
        yield f"<think>{row.say(row.reference)}</think>\nI do not know."


@variant(
    "inside-another", "reject", "the reference inside a longer word or number", rank=26, least=2,
    advice="compare whole words and numbers: use word boundaries, or parse the number",
)  # fmt: skip
def inside_another(row: ProbeRow) -> Iterable[str | None]:
    """Letters or digits glued before, after, and on both sides."""
    answer = row.reference
    # Letters before a long text are a slip at its edge, and do not change what it states.
    if not answer or row.json is not None or row.is_code or len(answer.split()) > _SHORT:
        return
    glued: Iterable[str]
    if row.value is not None:
        glued = _longer_numbers(answer, row.value)
    elif answer[:1].isalnum() and answer[-1:].isalnum():
        before, after = ("zu" if answer[at].isalpha() else "7" for at in (0, -1))
        glued = [f"{answer}{after}", f"{before}{answer}", f"{before}{answer}{after}"]
        if re.search(r"\d\.\d+\Z", answer):
            glued = glued[1:2]  # one more digit after the point is nearly the same number
    else:
        return
    for text in glued:
        yield row.say(text)


def _longer_numbers(answer: str, value: float) -> Iterator[str]:
    digits = answer.lstrip("-+$ ")
    sign = answer[: len(answer) - len(digits)]
    for text in (
        f"{sign}7{digits}",
        f"{answer}7" if "." not in answer else "",
        f"{sign}7{digits}3" if "." not in answer else "",
    ):
        if text and value:
            yield text


@variant(
    "glued",
    "reject",
    "the reference's form inside other letters",
    alarm="form",
    rank=27,
    least=2,
    judges=False,
    advice="anchor the pattern: re.fullmatch",
)
def glued(row: ProbeRow) -> Iterable[str | None]:
    """Letters around a reference that is accepted alone: a pattern without ^ and $ matches it nevertheless."""
    if (
        row.is_plain
        and row.json is None
        and not row.is_code
        and row.reference[:1].isalnum()
        and row.reference[-1:].isalnum()
    ):
        yield f"zu{row.reference}zu"


@variant(
    "only-its-end",
    "reject",
    "another completion that ends like the reference",
    rank=41,
    judges=False,
    least=2,
    advice="compare the whole completion",
)
def only_its_end(row: ProbeRow) -> Iterable[str | None]:
    """Other words, and the last half of a long reference after them."""
    if len(row.words) >= 4:
        kept = " ".join(row.words[len(row.words) // 2 :])
        yield row.say(f"Nothing of the kind: {kept}")
        yield row.say(" ".join(["Zuborek", *row.words[1:]]))


@variant(
    "only-its-start",
    "reject",
    "another completion that starts like the reference",
    rank=40,
    judges=False,
    least=2,
    advice="compare the whole completion",
)
def only_its_start(row: ProbeRow) -> Iterable[str | None]:
    """The first half of a long reference, and other words after it."""
    if len(row.words) >= 4:
        kept = " ".join(row.words[: len(row.words) // 2])
        yield row.say(f"{kept} something entirely different")
        yield row.say(" ".join([*row.words[:-1], "Zuborek"]))
    elif row.words and len(row.reference) >= 8:
        half = len(row.reference) // 2 + 1
        yield row.say(row.reference[:half] + "zuborek")


@variant(
    "truncated", "reject", "a part of the reference", rank=42, least=2, advice="require the whole reference"
)
def truncated(row: ProbeRow) -> Iterable[str | None]:
    """The first half of the reference; of a whole number its first digits."""
    answer = row.reference
    if row.json is not None or row.is_code:
        return
    if row.value is not None:
        digits = answer.lstrip("-")
        if digits.isdigit() and len(digits) >= 3:
            yield row.say(answer[: -(len(digits) // 2)])
            yield row.say(digits[len(digits) // 2 :].lstrip("0") or "0")
    elif len(row.words) >= 4:
        yield row.say(" ".join(row.words[: len(row.words) // 2]))
        yield row.say(" ".join(row.words[:1]))
    elif row.words and len(answer) >= 5:
        yield row.say(answer[: len(answer) // 2])


@variant(
    "keyword-heap",
    "reject",
    "the reference's words in any order",
    rank=43,
    least=2,
    advice="compare word order too: bag-of-words scores ignore who did what to whom",
)
def keyword_heap(row: ProbeRow) -> Iterable[str | None]:
    """A sentence's words, sorted backwards."""
    if len([word for word in row.words if len(word) > 2 and word.isalpha()]) >= 4 and len(row.words) >= 5:
        heap = " ".join(sorted(row.words, key=str.lower, reverse=True))
        if _WORDS.findall(heap) != _WORDS.findall(row.reference):
            yield row.say(heap)


@variant(
    "anagram",
    "reject",
    "the reference's letters or digits in another order",
    rank=44,
    judges=False,
    least=2,
    advice="compare the texts, not which characters they have",
)
def anagram(row: ProbeRow) -> Iterable[str | None]:
    """Letters or digits shuffled."""
    answer = row.reference
    if len(answer) < 2 or len(answer) > 40 or row.json is not None or row.is_code:
        return
    if len(words := _WORDS.findall(answer)) > 1 and all(len(word) == 1 for word in words):
        return  # a list of letters or digits, in any order
    if row.chosen_letters:
        return  # several options, in any order
    for text in (answer[::-1], "".join(Random(row.number).sample(answer, len(answer)))):  # noqa: S311 (no secret)
        if (
            apart(text.strip(), answer)
            and sorted(_WORDS.findall(text)) != sorted(_WORDS.findall(answer))
            and not text.startswith(("0", ".", ","))
            and not (
                row.number_text and "".join(filter(str.isdigit, text)) == "".join(filter(str.isdigit, answer))
            )
            and not mentions(text, answer)
        ):
            yield row.say(text.strip())


@variant(
    "contradicted",
    "reject",
    "a wrong result, and the reference after it",
    alarm="never",
    rank=70,
    advice="reject two results, unless the later one retracts the first",
)
def contradicted(row: ProbeRow) -> Iterable[str | None]:
    """A wrong result followed by the reference: may be a correction, so that it is a note and not a finding."""
    if row.reference and not row.is_letter:
        yield f"{row.say(row.other)}\n{row.say(row.reference)}"


@variant(
    "reference-leaked",
    "reject",
    "the row's own record with the reference in it",
    alarm="never",
    rank=71,
    advice="check how the reference could have leaked",
)
def reference_leaked(row: ProbeRow) -> Iterable[str | None]:
    """What a model prints that has seen the row: the reference is in it, so that it is a note and not a finding."""
    if row.reference and row.json is None:
        yield f'{{"prompt": "...", "expected": "{row.reference}"}}'


@variant(
    "repeated",
    "reject",
    "the reference 200 times",
    alarm="never",
    rank=72,
    judges=False,
    advice="accept one result only",
)
def repeated(row: ProbeRow) -> Iterable[str | None]:
    """The reference repeated: correct in content, so that it is a note and not a finding."""
    if row.reference and len(row.reference) <= 60:
        yield " ".join([row.reference] * 200)


_WORDS_OF_LETTERS = {
    "A": "All", "B": "Both", "C": "Certainly", "D": "Depending", "E": "Each", "F": "For", "G": "Given", "H": "Here", "I": "It", "J": "Just",
}  # fmt: skip


@variant(
    "letter-in-word", "reject", "a sentence that names no option, but has the letter in a word", rank=19, least=2, judges=False,
    advice="read a letter only as a word of its own, and give no score where no option is named",
)  # fmt: skip
def letter_in_word(row: ProbeRow) -> Iterable[str | None]:
    """Such as "All of these steps may be defended." for the letter A: its capital letters are the reference's."""
    letters = row.reference if row.is_letter else row.chosen_letters
    words = [_WORDS_OF_LETTERS[letter] for letter in letters if letter in _WORDS_OF_LETTERS]
    word = " ".join(words) if words and len(words) == len(letters) else None
    if word is not None:
        yield from dict.fromkeys(
            [f"{word} of these, it seems, may be defended.", row.say(f"{word} of these may be defended")]
        )
        yield f"{word} that could be said was said. No option is named here."


_OPTIONS = re.compile(r"^\s*\(?([A-Z])[).:]\s+(\S[^\n]*?)\s*$", re.MULTILINE)


@variant(
    "option-text", "reject", "another option's letter with the text of the right option", rank=19, least=2,
    advice="read the letter that is stated: the text of an option may be mentioned for another reason",
)  # fmt: skip
def option_text(row: ProbeRow) -> Iterable[str | None]:
    """Such as "B. It is not Paris." if the prompt lists "A) Paris" and A is right."""
    options = dict(_OPTIONS.findall(row.prompt))
    right = options.get(row.reference.upper()) if row.is_letter else None
    if right and len(options) > 1 and row.other.upper() in options:
        yield f"{row.say(row.other)} It is not {right}."
        yield from (f"{form(row.other)}\nIt is not {right}." for form in row.forms)


@variant(
    "prompt-copied", "reject", "the prompt repeated, which has the reference in it", rank=45, least=2, judges=False, question=True,
    advice="remove the prompt's own words before comparing",
)  # fmt: skip
def prompt_copied(row: ProbeRow) -> Iterable[str | None]:
    """The prompt as the completion, if it contains the reference among other words."""
    if row.is_letter or row.is_verdict or not mentions(row.prompt, row.reference):
        return
    if len(row.prompt) > 2 * len(row.reference):
        yield row.prompt


_OPPOSITES = {
    "un": "able aware balanced biased certain changed clear common connected do even equal fair known likely limited lock locked paid "
    "read related safe stable subscribe supported sure true used usual verified wanted",
    "in": "accurate active adequate appropriate complete consistent correct dependent direct eligible equal sufficient valid visible",
    "ir": "regular relevant responsible reversible",
    "im": "mature partial perfect polite possible proper pure",
    "il": "legal legible logical",
    "dis": "agree allow approve connected honest like obey prove qualified",
    "non": "compliant empty fiction linear toxic trivial zero",
}
_OPPOSITE = {word: prefix + word for prefix, words in _OPPOSITES.items() for word in words.split()}
"""Words with a prefix that makes them the opposite."""


@variant(
    "opposite-word", "reject", "the opposite of the reference, which contains it", rank=19, least=2,
    advice='compare whole words: \\bvalid\\b is not in "invalid"',
)  # fmt: skip
def opposite_word(row: ProbeRow) -> Iterable[str | None]:
    """Such as "invalid" for "valid", in the reference's capitals."""
    word = row.reference.strip()
    opposite = _OPPOSITE.get(word.lower(), "")
    if opposite:
        yield row.say(
            opposite.upper()
            if word.isupper() and len(word) > 1
            else opposite.capitalize()
            if word[0].isupper()
            else opposite
        )


@variant(
    "longer-name", "reject", "another name of the prompt that contains the reference", rank=25, least=2, judges=False,
    advice="compare whole names: == instead of `in`",
)  # fmt: skip
def longer_name(row: ProbeRow) -> Iterable[str | None]:
    """A name in the prompt, or another row's reference, that has the reference inside; a plural or another ending is the same name."""
    name = row.reference.strip().lower()
    if len(name) < 3 or not re.fullmatch(r"[a-z_]+", name):
        return
    words = dict.fromkeys(re.findall(r"[a-z_]+", " ".join([row.prompt, *row.others]).lower()))
    longer = [
        word
        for word in words
        if name in word and word != name and not re.fullmatch(rf"{name}(?:s|es|d|ed|ing|ly|er)", word)
    ]
    yield from (row.say(word) for word in longer[:3])
