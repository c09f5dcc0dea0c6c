"""Markup and marks that models write around a result: bold labels, full stops, fences, bullets, lines of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.probes.variants import ProbeRow, variant

_LABELLED = re.compile(
    r"^((?:final )?(?:answer|result)\b[ \t]*:)[ \t]*(\S[^\n]{0,60})\Z", re.IGNORECASE | re.MULTILINE
)
_MARKDOWN_IS_FINE = re.compile(
    r"(?<!no )\bmark(?:down|up)\b[^.\n]{0,30}(?<!not )(?<!n't )\b(?:fine|allowed|ok(?:ay)?|free|welcome|accepted)\b|\bin bold if\b",
    re.IGNORECASE,
)


@variant(
    "bold-label", "accept", "with its label or its result in bold, which the prompt allows", alarm="always", rank=30, judges=False,
    asked=True, advice="remove ** before matching",
)  # fmt: skip
def bold_label(row: ProbeRow) -> Iterable[str | None]:
    """The label of an accepted completion's last line, its result, and both, in bold."""
    if _MARKDOWN_IS_FINE.search(row.conversation):
        for text in row.shortest_accepted():
            for bold in (r"**\1** \2", r"\1 **\2**", r"**\1 \2**"):
                if (other := _LABELLED.sub(bold, text.strip())) != text.strip():
                    yield other


@variant(
    "stop-after-result", "accept", "with a full stop after its result", alarm="always", rank=62, judges=False, asked=True, question=True,
    advice='remove a final full stop before comparing: rstrip(".")',
)  # fmt: skip
def stop_after_result(row: ProbeRow) -> Iterable[str | None]:
    """A full stop at the end of an accepted completion whose last line is labelled as the result."""
    for text in row.shortest_accepted():
        if _LABELLED.search(text.strip()) and text.strip()[-1].isalnum():
            yield f"{text.strip()}."


_FENCE = re.compile(r"^```[A-Za-z]\w*[ \t]*$", re.MULTILINE)
_FENCE_IS_FINE = re.compile(r"\bcode (?:fences?|blocks?)\b|\bfenced\b", re.IGNORECASE)
_FENCE_OF = re.compile(r"```\w|\b(?:json|python|sql)\s+(?:code )?(?:fences?|blocks?)\b", re.IGNORECASE)


@variant(
    "bare-fence", "accept", "in a code fence without a language, although it accepts one with a language", alarm="always", rank=30,
    judges=False, asked=True, advice="make the language optional: ```(?:json)?",
)  # fmt: skip
def bare_fence(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion in a fence, without the language, if the prompt speaks of fences and of no language of one."""
    if _FENCE_IS_FINE.search(row.conversation) and not _FENCE_OF.search(row.conversation):
        yield from (_FENCE.sub("```", text) for text in row.accepted if _FENCE.search(text))


_BULLET = re.compile(r"^([ \t]*)([-*+])(?=[ \t]+\S)", re.MULTILINE)
_BULLETS_ARE_FREE = re.compile(r"\bbullet|\bmarkdown list\b", re.IGNORECASE)
_BULLET_IS_NAMED = re.compile(
    r"['\"`(][-*+]\s?['\"`)]|^[ \t]*[-*+][ \t]|\b(?:hyphen|dash|asterisk|star)(?:e?s)?\b",
    re.IGNORECASE | re.MULTILINE,
)


@variant(
    "other-bullets", "accept", "with another mark for its bullets, although the prompt names none", alarm="always", rank=30,
    judges=False, asked=True, advice="accept every mark of Markdown: ^\\s*[-*+]\\s",
)  # fmt: skip
def other_bullets(row: ProbeRow) -> Iterable[str | None]:
    """An accepted list of bullets with hyphens for stars, or the reverse."""
    if not _BULLETS_ARE_FREE.search(row.conversation) or _BULLET_IS_NAMED.search(row.conversation):
        return
    for text in row.shortest_accepted():
        marks = {found[2] for found in _BULLET.finditer(text)}
        if len(marks) == 1:
            yield _BULLET.sub(rf"\g<1>{'*' if marks == {'-'} else '-'}", text)


_RULE = re.compile(r"^[ \t]*\|(?:[ \t]*-+[ \t]*\|)+[ \t]*$", re.MULTILINE)


@variant(
    "table-alignment", "accept", "with colons of alignment below the header of its table", alarm="always", rank=62, judges=False,
    asked=True, question=True, advice="read :?-+:? as the line below the header",
)  # fmt: skip
def table_alignment(row: ProbeRow) -> Iterable[str | None]:
    """An accepted Markdown table whose columns are aligned to the left."""
    for text in row.shortest_accepted():
        other = _RULE.sub(lambda found: re.sub(r"-+", ":---", found[0]), text)
        if other != text:
            yield other
