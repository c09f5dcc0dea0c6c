"""Texts without an answer: known bad whatever was asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workbench.probes.filler import PADDING, gibberish
from workbench.probes.right import mentions
from workbench.probes.row import Row
from workbench.probes.variant import variant

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


def _without(row: Row, texts: Iterable[str]) -> Iterator[str]:
    """The texts that do not hold the right answer by chance."""
    return (text for text in texts if not (row.reference and mentions(text, row.reference)))


@variant(
    "empty",
    "reject",
    "the empty answer",
    alarm="always",
    rank=1,
    advice="refuse an empty answer before all else",
    crash=True,
)
def empty(row: Row) -> Iterable[str | None]:  # noqa: ARG001
    """The empty text."""
    return [""]


@variant(
    "missing", "reject", "a row without an answer", alarm="always", rank=3, judges=False, crash=True,
    advice='write (thread.completion() or ""): a row may have no answer',
)  # fmt: skip
def missing(row: Row) -> Iterable[str | None]:
    """A conversation that ends with the question: `completion()` is None."""
    return [None] if row.prompt else []


@variant(
    "whitespace",
    "reject",
    "an answer of spaces and line ends",
    alarm="always",
    rank=2,
    crash=True,
    advice="strip the answer before it is looked at",
)
def whitespace(row: Row) -> Iterable[str | None]:  # noqa: ARG001
    """Spaces and line ends alone."""
    return [" ", " \n\t\n "]


@variant(
    "one-character",
    "reject",
    "a single character",
    alarm="always",
    rank=4,
    crash=True,
    advice="ask for what a right answer must have, not for what a wrong one lacks",
)
def one_character(row: Row) -> Iterable[str | None]:
    """Punctuation, and a character of the right answer itself: all that `answer in reference` asks for."""
    pieces = (
        [character for character in row.reference if character.isalnum()] if len(row.reference) >= 4 else []
    )
    if row.is_code or row.value is not None:
        pieces = []
    return [".", ":", "*", *pieces[:1]]


@variant(
    "opener",
    "reject",
    "an opening without an answer",
    alarm="reference",
    rank=6,
    crash=True,
    advice="the answer has to be there, not its announcement",
)
def opener(row: Row) -> Iterable[str | None]:
    """Words with which answers begin, in four languages."""
    return _without(row, _OPENERS)


@variant(
    "gibberish",
    "reject",
    "words without meaning",
    alarm="always",
    rank=5,
    crash=True,
    advice="look at what is said, not only at how long it is or how it is written",
)
def gibberish_of_that_length(row: Row) -> Iterable[str | None]:
    """Made-up words, as long as the row's answer, and as long as the numbers in the grader's text ask for."""
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
    "a long text that says nothing",
    alarm="reference",
    rank=7,
    advice="length is no answer",
)
def padding(row: Row) -> Iterable[str | None]:
    """Assurances of care, three times as long as an answer."""
    return _without(row, [PADDING * max(1, 3 * len(row.completion) // len(PADDING))])


@variant(
    "no-number",
    "reject",
    "what float() reads and is no number",
    alarm="always",
    rank=5,
    judges=False,
    crash=True,
    advice="ask math.isfinite: every comparison with nan is False, and inf is larger than all",
)
def no_number(row: Row) -> Iterable[str | None]:
    """The words nan and inf, where the answer is a number."""
    return ["nan", "inf", "-inf"] if row.value is not None else []


@variant(
    "refusal",
    "reject",
    "a refusal to answer",
    alarm="reference",
    rank=8,
    crash=True,
    advice="a refusal is no answer",
)
def refusal(row: Row) -> Iterable[str | None]:
    """A sorry or a lack of knowledge; left out where the grader, or the reference, speaks of refusals."""
    if _ABOUT_REFUSALS.search(f"{row.mined.text} {row.reference} {row.good or ''}"):
        return []
    return _without(row, [_REFUSAL, "I don't know."])


@variant(
    "prompt-echo",
    "reject",
    "the question repeated",
    alarm="reference",
    names=("messages()", "get_turns", "last_content", "prompt"),
    rank=9,
    advice="take the question's own words out of what is compared",
)
def prompt_echo(row: Row) -> Iterable[str | None]:
    """The prompt as the answer, where it does not hold the right one."""
    return _without(row, [row.prompt]) if len(row.prompt) >= 8 else []


@variant(
    "rubric-echo",
    "reject",
    "the grader's own description repeated",
    alarm="reference",
    rank=11,
    advice="what is asked for has to be done, not quoted",
)
def rubric_echo(row: Row) -> Iterable[str | None]:
    """What the grader's text says of itself, as the answer."""
    return _without(row, [row.mined.rubric]) if len(row.mined.rubric) >= 8 else []


@variant(
    "format-shell",
    "reject",
    "the form of an answer without content",
    alarm="always",
    rank=10,
    crash=True,
    advice="look inside the form: it may be empty",
)
def format_shell(row: Row) -> Iterable[str | None]:
    """Empty boxes, blocks and tags, and the row's own form around nothing; none where nothing is right."""
    if row.wants_nothing:
        return
    yield from _without(row, (text for text in (*_SHELLS, row.say("").strip(), row.say("N/A")) if text))


@variant(
    "json-shell",
    "reject",
    "JSON without content",
    alarm="always",
    rank=10,
    crash=True,
    advice="compare the values, not only that the answer is JSON",
)
def json_shell(row: Row) -> Iterable[str | None]:
    """Valid JSON that says nothing. Only where the answer is JSON, or the grader reads JSON."""
    if row.wants_nothing or (row.json is None and "json" not in row.mined.text.lower()):
        return []
    texts = ["{}", "[]", "null", '""', '{"a": 1}', "[0]"]
    return (text for text in _without(row, texts) if text != row.reference)
