"""The reference in other forms: equivalent texts that a sound grader may be expected to accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workbench.probes.completion_forms import FREE
from workbench.probes.shapes import PADDING, number_in
from workbench.probes.variants import ProbeRow, variant

_STRIP = "strip the completion before comparing"
_YEARS = range(1_000, 2_200)


@variant(
    "as-it-is",
    "accept",
    "as the reference writes it",
    rank=19,
    least=1,
    advice="read these rows: the grader rejects its own reference",
)
def as_it_is(row: ProbeRow) -> Iterable[str | None]:
    """The reference itself, in the form in which most rows' references are accepted."""
    return [row.reference if row.mended else row.say(row.reference)] if row.reference else []


@variant("outer-space", "accept", "with a line end after it or a space before it", rank=55, advice=_STRIP)
def outer_space(row: ProbeRow) -> Iterable[str | None]:
    """A line end after the reference, and spaces around it."""
    if row.reference:
        text = row.say(row.reference)
        yield f"{text}\n"
        # A program may not begin with a space.
        if row.is_plain and not row.is_code:
            yield f" {text}"


@variant(
    "full-stop",
    "accept",
    "with a full stop after it",
    alarm="text",
    rank=56,
    advice='remove the full stop: .rstrip(".")',
)
def full_stop(row: ProbeRow) -> Iterable[str | None]:
    """A full stop after the reference."""
    if row.wants_bare:
        return
    if row.reference and row.reference[-1].isalnum() and row.json is None and not row.is_code:
        text = row.say(row.reference)
        if text[-1].isalnum():
            yield f"{text}."


_NAMED = re.compile(r"[%{<$@]\w+[%}>]?")
"""A name of something else, such as {user}, in which capitals matter."""


@variant(
    "capitals", "accept", "in capital letters or in small ones", alarm="never", rank=57,
    names=("lower(", "casefold(", "upper(", "IGNORECASE", "re.I", "(?i)", "toLowerCase", "ignore_case"),
    advice="compare .casefold() of both sides, unless case matters",
)  # fmt: skip
def capitals(row: ProbeRow) -> Iterable[str | None]:
    """All capital and all small letters, for words without a capital inside; a finding if the source folds case."""
    plain = bool(row.words) and all(
        word[1:].islower() or len(word) == 1 for word in row.reference.split() if word.isalpha()
    )
    if plain and any(character.isalpha() for character in row.reference) and not _NAMED.search(row.reference):
        for text in (row.reference.upper(), row.reference.lower()):
            if text != row.reference:
                yield row.say(text)


@variant(
    "bold",
    "accept",
    "in Markdown's bold type",
    alarm="free",
    seen=r"\*\*\w",
    rank=58,
    advice="remove Markdown markup before comparing",
)
def bold(row: ProbeRow) -> Iterable[str | None]:
    """Two asterisks on both sides."""
    if row.reference and row.json is None and not row.is_code:
        yield f"**{row.reference}**"
        yield f"The answer is **{row.reference}**."


@variant(
    "fenced",
    "accept",
    "in a code block",
    alarm="free",
    seen="```",
    rank=59,
    advice="remove the fence: ``` and the text after it",
)
def fenced(row: ProbeRow) -> Iterable[str | None]:
    """Three backticks around the reference, with a language for JSON."""
    if row.reference and not row.is_code:
        yield f"```{'json' if row.json is not None else ''}\n{row.say(row.reference)}\n```"


@variant(
    "quoted",
    "accept",
    "in quotation marks",
    alarm="free",
    seen=r"[\"\u201c]\w[^\"]*[\"\u201d]",
    rank=59,
    advice="remove quotation marks before comparing",
)
def quoted(row: ProbeRow) -> Iterable[str | None]:
    """Straight quotation marks around words."""
    if row.words:
        yield f'"{row.reference}"'


@variant(
    "inner-space",
    "accept",
    "with a line break or two spaces inside",
    alarm="free",
    rank=59,
    advice='normalise white space: " ".join(text.split())',
)
def inner_space(row: ProbeRow) -> Iterable[str | None]:
    """Two spaces, and a line break, between two of its words."""
    if len(row.words) > 1:
        yield row.say(row.reference.replace(" ", "  ", 1))
        yield row.say(row.reference.replace(" ", "\n", 1))


@variant(
    "letter-forms",
    "accept",
    "with a bracket or a full stop after the letter",
    alarm="free",
    rank=58,
    advice="look for the letter alone, not for the text around it",
)
def letter_forms(row: ProbeRow) -> Iterable[str | None]:
    """Such as "(B)", "B)" and "B."."""
    if row.is_letter:
        yield from (f"({row.reference})", f"{row.reference})", f"{row.reference}.")


@variant(
    "small-letter",
    "accept",
    "in lower case, as a small letter",
    alarm="text",
    seen=r"(?<![\w'])[b-h](?![\w'])",
    rank=60,
    together=True,
    judges=False,
    advice="compare letters without their case",
)
def small_letter(row: ProbeRow) -> Iterable[str | None]:
    """The letter of an option in lower case, alone, in brackets and in a sentence."""
    if row.is_letter and row.reference.isupper():
        small = row.reference.lower()
        yield from (form(small) for form in (row.say, *row.forms))
        yield from (f"({small})", f"The answer is {small}.")


@variant(
    "after-an-article",
    "accept",
    "after a sentence with the article a",
    alarm="text",
    rank=61,
    judges=False,
    advice='read the letter that is stated as the result, not the first one: "a" may be an article',
)
def after_an_article(row: ProbeRow) -> Iterable[str | None]:
    """A remark that contains "a", before the letter of an option other than A."""
    if row.is_letter and row.reference.upper() != "A":
        yield from (f"This is a clear case.\n{form(row.reference)}" for form in (row.say, *row.forms))


@variant(
    "polite",
    "accept",
    "among polite words",
    alarm="free",
    seen=r"[!?]\s+\w.*[.!]\s*\Z",
    rank=62,
    advice="search for the reference inside the completion, not for a bare one",
)
def polite(row: ProbeRow) -> Iterable[str | None]:
    """A greeting before the reference and a wish after it."""
    if row.reference and row.json is None and not row.is_code:
        yield f"Sure, happy to help! The answer is {row.reference}. Have a nice day!"


@variant(
    "free-text",
    "accept",
    "in a sentence",
    alarm="never",
    rank=80,
    advice="correct if the prompt requires the bare result",
)
def free_text(row: ProbeRow) -> Iterable[str | None]:
    """Four kinds of sentences."""
    if row.reference and row.json is None and not row.is_code:
        yield from (shape(row.reference) for shape in FREE)


@variant(
    "boxed", "accept", "in \\boxed{}", alarm="never", rank=81, advice="correct if the prompt requires no box"
)
def boxed(row: ProbeRow) -> Iterable[str | None]:
    """LaTeX's box."""
    if row.reference and row.json is None and not row.is_code:
        yield f"$\\boxed{{{row.reference}}}$"


@variant(
    "thousands",
    "accept",
    "with thousands separators, or without them",
    alarm="number",
    rank=63,
    judges=False,
    advice='remove commas before the number is parsed: .replace(",", "")',
)
def thousands(row: ProbeRow) -> Iterable[str | None]:
    """Such as "12,000" for 12000 and vice versa, except for numbers that may be years."""
    value = number_in(row.number_text)
    if value is None or not value.is_integer() or abs(value) < 1_000 or int(value) in _YEARS:
        return
    grouped = f"{int(value):,}"
    if row.number_text.lstrip("+") in {grouped, str(int(value))}:
        yield row.with_number(grouped if "," not in row.number_text else grouped.replace(",", ""))


@variant(
    "decimal-zeros",
    "accept",
    "with zeros after the decimal point",
    alarm="never",
    rank=82,
    judges=False,
    advice="compare numbers as numbers",
)
def decimal_zeros(row: ProbeRow) -> Iterable[str | None]:
    """Such as "42.0" for 42."""
    if row.value is not None and row.value.is_integer() and "." not in row.reference:
        yield row.say(f"{row.reference}.0")


@variant(
    "exponent",
    "accept",
    "in scientific notation",
    alarm="number",
    seen=r"\d[eE][-+]?\d",
    rank=83,
    judges=False,
    advice="compare numbers as numbers: float() parses 1e3",
)
def exponent(row: ProbeRow) -> Iterable[str | None]:
    """Such as "4.2e1" for 42."""
    value = number_in(row.number_text)
    if value and value.is_integer():
        yield row.with_number(f"{value:e}")


@variant(
    "unicode-minus",
    "accept",
    "with a typographic minus",
    alarm="number",
    seen="\u2212",
    rank=84,
    judges=False,
    advice="replace \u2212 by - before the number is parsed",
)
def unicode_minus(row: ProbeRow) -> Iterable[str | None]:
    """U+2212 before a negative number."""
    if row.number_text.startswith("-"):
        yield row.with_number(f"\u2212{row.number_text[1:]}")


@variant(
    "later-number",
    "accept",
    "with a remark after it that has another number",
    alarm="never",
    rank=85,
    judges=False,
    advice="read the number that is stated as the result, or have it in a box: the last number may be one of a closing remark",
)
def later_number(row: ProbeRow) -> Iterable[str | None]:
    """A remark with a number after the reference: code that reads the last number takes that one."""
    if row.number_text and not row.wants_bare:
        yield f"{row.say(row.reference)}\n(I checked it 2 times.)"


@variant(
    "padded",
    "accept",
    "after a text three times as long",
    alarm="never",
    rank=86,
    advice="check whether length is rewarded: the mean difference gives the amount",
)
def padded(row: ProbeRow) -> Iterable[str | None]:
    """Assurances of care before the reference."""
    if row.reference:
        yield f"{PADDING * 3}\n\n{row.say(row.reference)}"


@variant(
    "remark-after", "accept", "with a remark after it", alarm="never", rank=87, judges=False,
    advice="correct if the prompt requires the bare result",
)  # fmt: skip
def remark_after(row: ProbeRow) -> Iterable[str | None]:
    """A sentence without content after the reference."""
    if row.reference:
        yield f"{row.say(row.reference)}\nThat is all there is to it."


@variant(
    "braces-after", "accept", "with a remark after it that has braces", alarm="reference", rank=64, judges=False,
    needs="remark-after", advice="read one JSON object from its first brace: raw_decode; a greedy pattern reads up to the last brace",
)  # fmt: skip
def braces_after(row: ProbeRow) -> Iterable[str | None]:
    """An object of JSON, and a sentence with an empty object after it."""
    if isinstance(row.json, dict):
        yield f"{row.say(row.reference)}\nAn empty object would be {{}}."


_OPTIONS_MAY_BE_NAMED = re.compile(
    r"\b(?:other|wrong|each|every) (?:options?|choices?|answers?)\b", re.IGNORECASE
)


@variant(
    "letter-after", "accept", "with a remark on another option after it", alarm="reference", rank=64, judges=False,
    needs="remark-after", advice="read the letter that is stated as the result, not the last one",
)  # fmt: skip
def letter_after(row: ProbeRow) -> Iterable[str | None]:
    """The letter, and a sentence after it on an option that is wrong, if the prompt lets a completion name other options."""
    if row.is_letter and _OPTIONS_MAY_BE_NAMED.search(row.prompt):
        remark = f"Option {row.other} is a common mistake."
        yield from (f"{form(row.reference)}\n{remark}" for form in (row.say, *row.forms))
        yield f"The answer is {row.reference}. {remark}"


_THOUGHT = re.compile(
    r"(?P<open><(?P<tag>think|thinking|thoughts?|reasoning|scratchpad|analysis)>\s*).*?(?P<close>\s*</(?P=tag)>)",
    re.DOTALL,
)


def _with_thought(row: ProbeRow, thought: str) -> Iterator[str]:
    """The accepted forms that have a think block, or the accepted completions, with another thought."""
    texts = [form(row.reference) for form in (row.say, *row.forms)] if row.reference else []
    if not any(map(_THOUGHT.search, texts)):
        texts = row.shortest_accepted()
    for text in texts:
        if found := _THOUGHT.search(text):
            yield f"{text[: found.end('open')]}{thought}{text[found.start('close') :]}"


@variant(
    "thought", "accept", "after another thought in its think block", alarm="never", rank=88, judges=False, asked=True,
    advice="correct if the prompt requires no think block",
)  # fmt: skip
def thought(row: ProbeRow) -> Iterable[str | None]:
    """Two sentences on one line in the think block, for a grader that reads one."""
    return _with_thought(row, "One thing leads to another. So that is it.")


@variant(
    "thought-of-lines", "accept", "after a thought of several lines in its think block", alarm="always", rank=64, judges=False, asked=True,
    needs="thought", advice="let the dot match line ends: re.DOTALL",
)  # fmt: skip
def thought_of_lines(row: ProbeRow) -> Iterable[str | None]:
    """The same two sentences on two lines."""
    return _with_thought(row, "One thing leads to another.\nSo that is it.")


@variant(
    "long-remark-after", "accept", "with a long remark after it", alarm="reference", rank=65, judges=False, needs="remark-after",
    advice="search the whole completion, not only its last characters",
)  # fmt: skip
def long_remark_after(row: ProbeRow) -> Iterable[str | None]:
    """Three hundred characters without content after the reference, if a short remark is accepted there."""
    if row.reference:
        yield f"{row.say(row.reference)}\n{PADDING * 2}"
