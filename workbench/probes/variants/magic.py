"""Strings from the grader's own source: what it searches for, alone or next to a wrong completion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.probes.right import mentions, plainly
from workbench.probes.row import ProbeRow
from workbench.probes.variant import variant


def _foreign(row: ProbeRow, texts: Iterable[str]) -> Iterator[str]:
    """The strings that neither contain the reference nor are a part of it."""
    right = plainly(row.reference)
    return (
        text
        for text in texts
        if text.strip()
        if not right or not (mentions(text, row.reference) or (plainly(text) and plainly(text) in right))
    )


@variant(
    "magic-text", "reject", "a text from the grader's own source", rank=12, judges=False, distinct=True,
    advice="one text cannot be correct for every prompt: look for the branch that accepts it",
)  # fmt: skip
def magic_text(row: ProbeRow) -> Iterable[str | None]:
    """Each string in the source, and all of a list together, as the whole completion."""
    yield from _foreign(row, [*row.mined.words, *row.mined.heaps])
    yield from _foreign(row, (str(number) for number in row.mined.numbers))


@variant(
    "magic-beside-wrong", "reject", "a wrong completion next to a text from the grader's own source", rank=13, judges=False, distinct=True, beside=True,
    advice="look for the branch that this text takes: it accepts wrong completions",
)  # fmt: skip
def magic_beside_wrong(row: ProbeRow) -> Iterable[str | None]:
    """The same strings before and after a wrong completion."""
    if not row.reference:
        return
    for text in _foreign(row, [*row.mined.words[:12], *row.mined.heaps[:1]]):
        yield f"{row.say(row.other)}\n{text}"
        yield f"{text} {row.other}"
