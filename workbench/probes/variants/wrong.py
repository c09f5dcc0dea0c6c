"""Completions that are surely wrong: without content, another row's, a near miss, another entity or number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from workbench.probes.acceptance import CASE_IS_FREE
from workbench.probes.shapes import PADDING, gibberish, mentions
from workbench.probes.variants import ProbeRow, other_signs, variant

_REFUSAL = "I'm sorry, but I cannot help with that."
_ABOUT_REFUSALS = re.compile(r"sorry|cannot|can't|unable|refus|apolog|unanswerable", re.IGNORECASE)
_OPENERS = (
    "Thought process:",
    "Solution",
    "Let's solve this step by step.",
    "\u89e3",
    "\u304b\u3044\u305b\u3064",
    "Respuesta",
)
"""Zhao 2025, "One Token to Fool LLM-as-a-Judge" (2507.08794)."""
_SHELLS = (
    "\\boxed{}",
    "```\n\n```",
    "<answer></answer>",
    "<think></think>",
    "Final answer:",
    "Answer:",
    "####",
    "# Answer\n\n- \n- ",
)


def _without(row: ProbeRow, texts: Iterable[str]) -> Iterator[str]:
    """The texts that do not contain the reference by chance."""
    return (text for text in texts if not (row.reference and mentions(text, row.reference)))


@variant(
    "empty",
    "reject",
    "the empty completion",
    alarm="always",
    rank=1,
    advice="reject an empty completion first",
    crash=True,
)
def empty(row: ProbeRow) -> Iterable[str | None]:  # noqa: ARG001
    """The empty text."""
    return [""]


@variant(
    "missing", "reject", "a row without a completion", alarm="always", rank=3, judges=False, crash=True,
    advice='write (thread.completion() or ""): a row may have no completion',
)  # fmt: skip
def missing(row: ProbeRow) -> Iterable[str | None]:
    """A conversation that ends with the prompt: `completion()` is None."""
    return [None] if row.prompt else []


@variant(
    "whitespace",
    "reject",
    "a completion of spaces and line ends",
    alarm="always",
    rank=2,
    crash=True,
    advice="strip the completion before checking it",
)
def whitespace(row: ProbeRow) -> Iterable[str | None]:  # noqa: ARG001
    """Spaces and line ends alone."""
    return [" ", " \n\t\n "]


@variant(
    "one-character",
    "reject",
    "a single character",
    alarm="always",
    rank=4,
    crash=True,
    advice="check what a correct completion must have, not what a wrong one lacks",
)
def one_character(row: ProbeRow) -> Iterable[str | None]:
    """Punctuation, and a character of the reference itself: enough for `answer in reference`."""
    pieces = (
        [character for character in row.reference if character.isalnum()] if len(row.reference) >= 4 else []
    )
    if (
        row.is_code
        or row.number_text
        or (isinstance(row.json, list) and any(len(str(one)) == 1 for one in row.json))
    ):
        pieces = []
    return [".", ":", "*", *pieces[:1]]


@variant(
    "opener",
    "reject",
    "an opening without a result",
    alarm="reference",
    rank=6,
    crash=True,
    advice="require the result, not its announcement",
)
def opener(row: ProbeRow) -> Iterable[str | None]:
    """Words with which completions begin, in four languages."""
    return _without(row, _OPENERS)


@variant(
    "gibberish",
    "reject",
    "words without meaning",
    alarm="always",
    rank=5,
    crash=True,
    advice="check the content, not only its length or layout",
)
def gibberish_of_that_length(row: ProbeRow) -> Iterable[str | None]:
    """Made-up words, as long as the row's completion, and as long as the numbers in the grader's text require."""
    lengths = {max(12, len(row.good or row.completion)), 400}
    yield from _without(row, (gibberish(length, row.random) for length in sorted(lengths)))
    if row.number < 8:
        lines = (f"{gibberish(60, row.random).capitalize()}." for _ in range(12))
        yield from _without(row, ["\n\n".join(lines)])
        yield from _without(row, (gibberish(number + 1, row.random) for number in row.mined.numbers))
        yield from _without(
            row, (gibberish(8 * number + 8, row.random) for number in row.mined.numbers if number <= 400)
        )


@variant(
    "padding",
    "reject",
    "a long text without content",
    alarm="reference",
    rank=7,
    advice="do not reward length alone",
)
def padding(row: ProbeRow) -> Iterable[str | None]:
    """Assurances of care, three times as long as a completion."""
    return _without(row, [PADDING * max(1, 3 * len(row.completion) // len(PADDING))])


@variant(
    "no-number",
    "reject",
    "text that float() parses but is not a number",
    alarm="always",
    rank=5,
    judges=False,
    crash=True,
    advice="check math.isfinite: every comparison with nan is False, and inf is larger than all",
)
def no_number(row: ProbeRow) -> Iterable[str | None]:
    """The words nan and inf, if the reference is a number or has one, such as a complex number."""
    has_number = row.value is not None or (
        re.search(r"\d", row.reference) and not row.is_program and row.json is None
    )
    return ["nan", "inf", "-inf"] if has_number else []


@variant("refusal", "reject", "a refusal", alarm="reference", rank=8, crash=True, advice="reject a refusal")
def refusal(row: ProbeRow) -> Iterable[str | None]:
    """An apology or a lack of knowledge; omitted if the grader, or the reference, is about refusals."""
    if _ABOUT_REFUSALS.search(f"{row.mined.text} {row.reference} {row.good or ''}"):
        return []
    return _without(row, [_REFUSAL, "I don't know."])


@variant(
    "prompt-echo",
    "reject",
    "the prompt repeated",
    alarm="reference",
    names=("messages()", "get_turns", "last_content", "prompt"),
    rank=9,
    advice="remove the prompt's own words before comparing",
)
def prompt_echo(row: ProbeRow) -> Iterable[str | None]:
    """The prompt as the completion, if it does not contain the reference."""
    return _without(row, [row.prompt]) if len(row.prompt) >= 8 else []


@variant(
    "echo-then-wrong",
    "reject",
    "the prompt repeated, and a wrong result after it",
    rank=28,
    least=2,
    judges=False,
    advice="grade the text after the prompt's own words",
)
def echo_then_wrong(row: ProbeRow) -> Iterable[str | None]:
    """The prompt, if it contains the reference, and another row's reference after it."""
    if row.reference and mentions(row.prompt, row.reference):
        yield from (f"{row.prompt}\n\n{form(row.other)}" for form in (row.say, *row.forms))


@variant(
    "rubric-echo",
    "reject",
    "the grader's own description repeated",
    alarm="reference",
    rank=11,
    advice="check that the task is done, not quoted",
)
def rubric_echo(row: ProbeRow) -> Iterable[str | None]:
    """The grader's description of itself, as the completion."""
    return _without(row, [row.mined.rubric]) if len(row.mined.rubric) >= 8 else []


@variant(
    "format-shell",
    "reject",
    "the form of a completion without content",
    alarm="always",
    rank=10,
    crash=True,
    advice="check the content of the form: it may be empty",
)
def format_shell(row: ProbeRow) -> Iterable[str | None]:
    """Empty boxes, blocks and tags, and the row's own form around nothing; none if an empty completion is correct."""
    if row.wants_nothing:
        return
    labels = [found[1] for text in row.shortest_accepted(1) if (found := _LABEL.search(text))]
    yield from _without(
        row, (text for text in (*_SHELLS, *labels, row.say("").strip(), row.say("N/A")) if text)
    )


_LABEL = re.compile(r"(?m)^([A-Z][\w ]{1,20}:)[^\n]*\Z")
"""The label of a completion's last line, such as "Topics:"."""


@variant(
    "json-shell",
    "reject",
    "JSON without content",
    alarm="always",
    rank=10,
    crash=True,
    advice="compare the values, not only that the completion is JSON",
)
def json_shell(row: ProbeRow) -> Iterable[str | None]:
    """Valid JSON without content. Only if the reference is JSON, or the grader parses JSON."""
    if row.wants_nothing or (row.json is None and "json" not in row.mined.text.lower()):
        return []
    texts = ["{}", "[]", "null", '""', '{"a": 1}', "[0]"]
    return (text for text in _without(row, texts) if text != row.reference)


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
    """One operator or bracket of the reference replaced, if it is a program: of a formula or a pair a bracket may not matter."""
    if row.is_program:
        yield from map(row.say, islice(other_signs(row.reference), 1))


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
        r"upper ?-?case|lower ?-?case|capital(?:i[sz]e|s\b| letter| and small)|all caps|case[- ]sensitiv|camelcase|identifier|variable|"
        r"chemical (?:symbol|formula)|acronym",
        row.prompt,
        re.IGNORECASE,
    )
    # A prompt that requires capitals gives the layout; where small and large letters are mixed they are a part of the word.
    if (
        asks
        and not CASE_IS_FREE.search(row.prompt)
        and not row.reference.isupper()
        and len(row.reference.split()) <= 3
        and row.reference.swapcase() != row.reference
        and row.json is None
        and not row.is_letter
    ):
        yield row.say(row.reference.swapcase())
