"""The reference in other forms: equivalent texts that a sound grader may be expected to accept."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.probes.shapes import FREE, PADDING
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
        if row.is_plain:
            yield f" {text}"


@variant(
    "full-stop",
    "accept",
    "with a full stop after it",
    alarm="free",
    rank=56,
    advice='remove the full stop: .rstrip(".")',
)
def full_stop(row: ProbeRow) -> Iterable[str | None]:
    """A full stop after the reference."""
    if row.reference and row.reference[-1].isalnum() and row.json is None and not row.is_code:
        yield f"{row.say(row.reference)}."
        yield f"The answer is {row.reference}."


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
    if plain and any(character.isalpha() for character in row.reference):
        for text in (row.reference.upper(), row.reference.lower()):
            if text != row.reference:
                yield row.say(text)


@variant(
    "bold",
    "accept",
    "in Markdown's bold type",
    alarm="free",
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
    "polite",
    "accept",
    "among polite words",
    alarm="free",
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
    if row.value is None or not row.value.is_integer() or abs(row.value) < 1_000 or int(row.value) in _YEARS:
        return
    grouped = f"{int(row.value):,}"
    if row.reference.lstrip("+") in {grouped, str(int(row.value))}:
        yield row.say(grouped if "," not in row.reference else grouped.replace(",", ""))


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
    alarm="never",
    rank=83,
    judges=False,
    advice="compare numbers as numbers: float() parses 1e3",
)
def exponent(row: ProbeRow) -> Iterable[str | None]:
    """Such as "4.2e1" for 42."""
    if row.value and row.value.is_integer():
        yield row.say(f"{row.value:e}")


@variant(
    "unicode-minus",
    "accept",
    "with a typographic minus",
    alarm="never",
    rank=84,
    judges=False,
    advice="replace \u2212 by - before the number is parsed",
)
def unicode_minus(row: ProbeRow) -> Iterable[str | None]:
    """U+2212 before a negative number."""
    if row.value is not None and row.reference.startswith("-"):
        yield row.say(f"\u2212{row.reference[1:]}")


@variant(
    "later-number",
    "accept",
    "with another number after it",
    alarm="never",
    rank=85,
    judges=False,
    advice="instruct the model to put the result last, or in a box",
)
def later_number(row: ProbeRow) -> Iterable[str | None]:
    """A remark with a number after the reference: code that reads the last number takes that one."""
    if row.value is not None:
        yield f"{row.say(row.reference)} (I checked it 2 times.)"


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
