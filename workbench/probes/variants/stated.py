"""What the prompt itself allows or requires: accepted completions changed as it allows, and changed against it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from workbench.probes.acceptance import CASE_IS_FREE, NO_MATTER
from workbench.probes.shapes import PADDING, parsed_json
from workbench.probes.variants import ProbeRow, variant


def _wide(text: str) -> str:
    """A text with its ASCII characters in full width."""
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(one for one in parts if not unicodedata.combining(one)))


def _with_dashes(text: str) -> str:
    """Every second space between two words as a dash, where there are no figures."""
    spaces = [found.start() for found in re.finditer(r"(?<=[^\W\d]) (?=[^\W\d])", text)][1::2]
    return "".join("\u2014" if at in spaces else one for at, one in enumerate(text))


_ALLOWED: tuple[tuple[re.Pattern[str], tuple[Callable[[str], str], ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), changes)
    for pattern, changes in (
        (
            CASE_IS_FREE.pattern,
            (str.upper, str.lower),
        ),
        (
            rf"\bwidth\b{NO_MATTER}|\bfull[- ]width (?:forms|characters|letters|digits)? ?(?:are|is) (?:fine|allowed|accepted)",
            (_wide,),
        ),
        (rf"\baccents?\b{NO_MATTER}|\bdiacritics?\b{NO_MATTER}", (_without_accents,)),
        (rf"\b(?:spaces|spacing|whitespace)\b{NO_MATTER}", (lambda text: text.replace(" ", "  "),)),
        (rf"\bpunctuation\b{NO_MATTER}", (_with_dashes,)),
    )
)
"""Words of a prompt, and the changes of a completion that they allow."""


@variant(
    "allowed-form", "accept", "in a form that the prompt allows", alarm="always", rank=30, judges=False, asked=True,
    advice="normalise both sides as the prompt says before comparing",
)  # fmt: skip
def allowed_form(row: ProbeRow) -> Iterable[str | None]:
    """An accepted short completion in capitals, in full width, without accents or with more space, if the prompt states it."""
    for said, changes in _ALLOWED:
        if said.search(row.conversation):
            for text in row.shortest_accepted()[:1]:
                if len(text) <= 200 and not re.search(r"[<{`\\:]", text):  # here every character may matter
                    yield from (other for change in changes if (other := change(text)) != text)


_ANY_ORDER = re.compile(
    r"[^.;\n]*(?:\bin any order\b|\border\b[^.;\n]{0,30}(?:(?:does not|doesn't) (?:matter|count)|\bfree\b))",
    re.IGNORECASE,
)
_OF_KEYS = re.compile(r"\b(?:keys?|fields?|attributes?|properties|parameters?|arguments?)\b", re.IGNORECASE)


@variant(
    "allowed-order", "accept", "in another order, which the prompt allows", alarm="always", rank=30, judges=False, asked=True,
    advice="compare sorted lists, or count the entries",
)  # fmt: skip
def allowed_order(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion that is a list, or has one in JSON, backwards; not where the order of keys is meant."""
    said = _ANY_ORDER.search(row.conversation)
    if said is None or _OF_KEYS.search(said[0]):
        return
    for text in row.shortest_accepted()[:1]:
        listed = [part.strip() for part in text.strip().rstrip(".").split(",")]
        if (
            1 < len(listed) <= 12
            and all(0 < len(part) <= 40 for part in listed)
            and not re.search(r"[(\[{:\n]|\bSELECT\b", text)
        ):
            yield ", ".join(reversed(listed))
        found = re.search(r"\[.*\]", text, re.DOTALL)
        value = parsed_json(found[0]) if found else None
        if found is not None and isinstance(value, list) and len(value) > 1:
            yield text[: found.start()] + json.dumps(value[::-1], ensure_ascii=False) + text[found.end() :]


_REMARKS = re.compile(
    r"\b(?:may|can|could|are free to)\b[^.\n]{0,40}\b(?:remarks?|comments?|explanations?|explain|notes?|text|words)\b[^.\n]{0,30}\bafter\b|"
    r"\bwith an? (?:reason|explanation|remark|comment) if you (?:like|want|wish)\b",
    re.IGNORECASE,
)


@variant(
    "allowed-remark", "accept", "with a long remark after it, which the prompt allows", alarm="always", rank=30, judges=False, asked=True,
    advice="search the whole completion, not only its last characters or its last line",
)  # fmt: skip
def allowed_remark(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion and some hundred characters after it."""
    if _REMARKS.search(row.conversation):
        for text in row.shortest_accepted()[:1]:
            yield f"{text}\n\n{PADDING * 3}"
            yield f"{text.rstrip(' .')}, because I think that it is the one that I know."


@variant(
    "other-typography", "accept", "with typographic apostrophes", alarm="always", rank=62, judges=False, asked=True,
    question=True, advice="replace typographic marks by plain ones on both sides before comparing",
)  # fmt: skip
def other_typography(row: ProbeRow) -> Iterable[str | None]:
    """An accepted sentence with typographic apostrophes."""
    for text in row.shortest_accepted():
        if re.search(r"[a-z]'[a-z]", text) and not re.search(r"[{}<>=\\`]", text):
            yield re.sub(r"(?<=[a-z])'(?=[a-z])", "\u2019", text)


@variant(
    "more-blank-lines", "accept", "with two empty lines for each empty line", alarm="always", rank=62, judges=False, asked=True, question=True,
    advice="split at one or more empty lines: re.split(r'\\n\\s*\\n')",
)  # fmt: skip
def more_blank_lines(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion of several paragraphs."""
    yield from (
        text.replace("\n\n", "\n\n\n\n")
        for text in row.shortest_accepted()
        if "\n\n" in text.strip() and "```" not in text
    )


_RESULT_LINE = re.compile(r"^((?:final )?(?:answer|result)\b[^\n]{0,60})\Z", re.IGNORECASE | re.MULTILINE)


@variant(
    "result-in-bold", "accept", "with its last line in bold, as models often write it", alarm="always", rank=62, judges=False, asked=True,
    question=True, advice="allow ** around the line, or remove it before matching",
)  # fmt: skip
def result_in_bold(row: ProbeRow) -> Iterable[str | None]:
    """The last line of an accepted completion in bold, if it is labelled as the result and the prompt does not forbid markup."""
    for text in row.shortest_accepted():
        if (
            "\n" in text.strip()
            and _RESULT_LINE.search(text.strip())
            and not re.search(
                r"\bplain text\b|\bno (?:markdown|markup|formatting)\b", row.conversation, re.IGNORECASE
            )
        ):
            yield _RESULT_LINE.sub(r"**\1**", text.strip())


_LAST = re.compile(
    r"\blast\b[^.\n]{0,40}\b(?:counts|is (?:read|graded|used|taken|scored|your|the one)|wins|will be (?:read|graded|used|scored))\b",
    re.IGNORECASE,
)
_BETWEEN = "\n\nNo, that is not right. Once more:\n\n"


@variant(
    "last-one-counts", "accept", "after a first try that is rejected, although the prompt says that the last one counts",
    alarm="always", rank=30, judges=False, asked=True, advice="take the last result: [-1] instead of [0], findall instead of search",
)  # fmt: skip
def last_one_counts(row: ProbeRow) -> Iterable[str | None]:
    """A rejected completion of the row, and an accepted one after it."""
    if _LAST.search(row.conversation):
        rejected = sorted((text for text in row.own if text not in row.accepted), key=len)
        for good in row.shortest_accepted()[:1]:
            yield from (f"{bad}{_BETWEEN}{good}" for bad in rejected[:3])


_ONE_OF_EACH = re.compile(
    r"\bexactly one\b|\bonly one\b|\ba single\b|\bnothing else\b|\bno more than one\b|\bone <", re.IGNORECASE
)
_BLOCK = re.compile(r"<([A-Za-z_]+)>(.*?)</\1>", re.DOTALL)


@variant(
    "blocks-repeated", "reject", "an accepted completion with each tagged block more than once, although the prompt has exactly one of each",
    alarm="always", rank=29, least=2, judges=False, asked=True, advice="count the tags: each opens and closes exactly once",
)  # fmt: skip
def blocks_repeated(row: ProbeRow) -> Iterable[str | None]:
    """All blocks twice, one after the other and one inside the other."""
    if not _ONE_OF_EACH.search(row.conversation):
        return
    for text in row.shortest_accepted():
        blocks = [*_BLOCK.finditer(text)]
        if blocks and all(f"<{found[1]}>" in row.conversation for found in blocks):
            yield _BLOCK.sub(lambda found: f"{found[0]}{found[0]}", text)
            yield _BLOCK.sub(lambda found: f"<{found[1]}>{found[0]}</{found[1]}>", text)


_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>(.*?)</\1>\s*", re.DOTALL)


@variant(
    "thought-unclosed", "reject", "a completion that is all inside a thought that never closes", alarm="always", rank=29, least=2,
    judges=False, asked=True, question=True, advice="treat everything after an opening tag without a closing one as a thought",
)  # fmt: skip
def thought_unclosed(row: ProbeRow) -> Iterable[str | None]:
    """The result of an accepted completion inside a thought without an end, where completions of the row think in tags."""
    tag = next((found[1] for text in row.own if (found := _THOUGHT.match(text))), "")
    if not tag or "no closing" in row.conversation:
        return
    for text in row.shortest_accepted():
        rest = _THOUGHT.sub("", text)
        if rest.strip() and f"<{tag}>" not in rest:
            yield f"<{tag}>Perhaps it is this. {rest.strip()} But let me check whether"
            yield f"<{tag}>Perhaps it is this.\n{rest.strip()}"


_UNITS: tuple[tuple[str, str], ...] = (
    ("words?", "more "), ("points?|items?|bullets?|bullet points?|entries|steps?|reasons?|tips?|ideas?|names?", ""), ("words?", "more\n"), ("sentences?", "One more. "), ("sentences?", "One more! "), ("characters?", "more"), ("lines?", "\none more line"), ("paragraphs?", "\n\nOne more paragraph."),
    ("bullets?|bullet points?|items?", "\n- one more"),
)  # fmt: skip
_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}
_AT_MOST = r"\b(?:at most|no more than|not more than|up to|a maximum of|maximum|max\.?|fewer than|less than|under|exactly|limit of)\s+(\d+|{})\s+(?:{})\b"
_LARGEST = 400
"""Largest limit that a text is made longer than. Workbench limit."""


@variant(
    "over-the-limit", "reject", "a completion longer than the limit that the prompt states and the row holds", alarm="always", rank=29, least=2,
    judges=False, asked=True, advice="count as the prompt does, on the whole completion",
)  # fmt: skip
def over_the_limit(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion with that many more words, sentences, characters or lines, if a column or the source has the same limit."""
    for units, more in _UNITS:
        found = re.search(_AT_MOST.format("|".join(_NUMBERS), units), row.conversation, re.IGNORECASE)
        limit = (int(found[1]) if found[1].isdigit() else _NUMBERS[found[1].lower()]) if found else 0
        if 0 < limit <= _LARGEST and limit in {*_whole_numbers(row.columns), *row.mined.numbers}:
            for text in row.shortest_accepted()[:1]:
                if more:
                    yield from (f"{text.rstrip()}{mark}{more * (limit + 1)}" for mark in (" ", "\n\n"))
                elif len(lines := text.rstrip().splitlines()) > 1:
                    yield "\n".join([*lines, *lines[-1:] * (limit + 1)])
                    yield "\n".join([*lines, *lines[-2:]])


def _whole_numbers(value: object) -> Iterator[int]:
    """The whole numbers in a row's columns, at any depth."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _whole_numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _whole_numbers(inner)


_LAST_LINE = re.compile(r"\b(?:last|final) line\b", re.IGNORECASE)
_MAY_EXPLAIN = re.compile(
    r"\b(?:explain|explanation|working|reason(?:s|ing)?|think|steps?|work it out)\b[^.\n]{0,40}\b(?:if you (?:like|want|wish)|first|before|allowed|optional)|"
    r"\b(?:may|can|free to)\b[^.\n]{0,20}\b(?:explain|reason|show|write)",
    re.IGNORECASE,
)


@variant(
    "task-restated", "accept", "after a line that restates the task, although the prompt has the last line count", alarm="always", rank=30,
    judges=False, asked=True, advice="check the last line alone: what stands before it is explanation",
)  # fmt: skip
def task_restated(row: ProbeRow) -> Iterable[str | None]:
    """The last line of the prompt and an accepted completion below it, if the prompt allows an explanation and reads the last line."""
    if _LAST_LINE.search(row.prompt) and _MAY_EXPLAIN.search(row.prompt):
        task = [line.strip() for line in row.prompt.splitlines() if line.strip()][-1]
        if len(task) <= 120 and not _LAST_LINE.search(task):
            yield from (f"{task}:\n{text}" for text in row.shortest_accepted() if "\n" not in text.strip())


_OPENED = re.compile(r"<(\w+)>\s*\Z")


@variant(
    "tag-of-the-prompt", "accept", "without the opening tag with which the prompt ends", alarm="always", rank=30, judges=False, asked=True,
    advice="put the prompt's last tag before the completion, or make the opening tag optional",
)  # fmt: skip
def tag_of_the_prompt(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion without the tag, where it continues the prompt."""
    opened = _OPENED.search(row.conversation)
    tag = f"<{opened[1]}>" if opened else ""
    yield from (
        text.lstrip().removeprefix(tag)
        for text in row.shortest_accepted()
        if tag and text.lstrip().startswith(tag)
    )


_COUNTS_SENTENCES = re.compile(rf"\b(?:\d+|{'|'.join(_NUMBERS)}) sentences?\b", re.IGNORECASE)
_COUNTS_WORDS = re.compile(
    rf"\bword limit\b|\b(?:\d+|{'|'.join(_NUMBERS)}) words? or\b|\b(?:at least|at most|exactly|no more than|fewer than|up to|under) (?:\d+|{'|'.join(_NUMBERS)}) (?:words?|characters?|letters?)\b",
    re.IGNORECASE,
)


@variant(
    "decimal-in-sentence", "accept", "with a decimal number in a sentence, where the prompt counts sentences", alarm="always", rank=30,
    judges=False, asked=True, advice="end a sentence at a full stop with a space or the end after it: [.!?]+(?=\\s|$)",
)  # fmt: skip
def decimal_in_sentence(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion with 4.5 in its first sentence, if the prompt counts sentences and no words."""
    if _COUNTS_SENTENCES.search(row.conversation) and not _COUNTS_WORDS.search(row.conversation):
        for text in row.shortest_accepted():
            found = re.search(r"(?<=[a-z])(?=[.!?](?:\s|\Z))", text)
            if found is not None:
                yield f"{text[: found.start()]} (about 4.5 in all){text[found.start() :]}"
