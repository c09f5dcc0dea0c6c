"""Texts of columns that decide about a completion, found by replacing each; and texts that hide, shorten or omit them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.probes.acceptance import HALF, MIN_ROWS
from workbench.probes.board import Board, Pair, without_prompts
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import PADDING, Mined, mentions
from workbench.probes.tried import Family, FlaggedPairs, change_variant, families_of_pairs

_SHORTEST, _LONGEST = 2, 60
"""Characters of a text that may be required or forbidden. Workbench limits."""
_MAX_VALUES, _MAX_DEPTH = 16, 4
"""Texts of a row that are replaced, and levels of a column that are searched. Workbench limits."""
_COUNTED = re.compile(
    r"weight|points|at_least|min_|threshold|\bsum\(|\bmean\(|/\s*len\(|/\s*max\(|\bratio\b", re.IGNORECASE
)
"""Terms of a source that adds parts up: then one part may be left out on purpose."""
_EACH = re.compile(r"\b(?:each|every|all|one \w+ per|per)\b", re.IGNORECASE)
"""Terms of a prompt that requires every entry."""

OMITTED = change_variant(
    "required-left-out", "reject", "a completion without a text that the row requires, while others of its texts are needed",
    "look for each required text in the completion alone, and keep the result of each", rank=28,
)  # fmt: skip
EMBEDDED = change_variant(
    "inside-longer-word", "reject", "a completion whose required words occur only inside longer words",
    "compare whole words: use word boundaries (\\b), or split the text",
)  # fmt: skip
FORBIDDEN = change_variant(
    "forbidden-text", "reject", "a text that has what the row forbids: a short one, a long one, or one with other capitals",
    "look for the forbidden text in every completion, in small letters on both sides", rank=16,
)  # fmt: skip
OTHERWISE = change_variant(
    "forbidden-with-separators", "reject", "a number that the row forbids, with other separators",
    "compare digits with digits: re.sub(r'\\D', '', text) on both sides", question=True, least=2,
)  # fmt: skip
FROM_PROMPT = change_variant(
    "prompt-read", "reject", "a completion without a text that the row requires, since the prompt has it",
    "read the completion alone: thread.completion(), or the turns of the assistant", rank=26,
)  # fmt: skip
CUT = change_variant(
    "list-cut", "reject", "a list without its last entries",
    "compare the number of entries too: zip() stops at the shorter list",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Value:
    """A text of a column in a completion.

    Attributes:
        row: The row's number.
        path: Its column, with the keys that lead to it but no positions: "instructions[].kwargs.word".
        text: The text.
        completion: A completion that has it as a whole word.
        is_replaced: Whether a later entry of its list has the same name, in a key such as "id".
    """

    row: int
    path: str
    text: str
    completion: str
    is_replaced: bool = False

    def replaced(self, other: str) -> str:
        """The completion with another text at each place of this one."""
        return _pattern(self.text).sub(lambda _: other, self.completion)

    @property
    def without(self) -> str:
        """The completion with a number or a term of another meaning."""
        return self.replaced(str(int(self.text) + 37) if self.text.isdecimal() else "zuborek")


def of_columns(board: Board, base: Base) -> list[Family]:
    """What the texts in the rows' columns show: required ones that may be left out or hidden, forbidden ones that pass, cut lists.

    Nothing is assumed about the columns: a text is required if the grader rejects an accepted completion without it, and
    forbidden if it accepts a rejected completion without it.

    Args:
        board: The grader; the texts are graded there.
        base: What is accepted.
    """
    required = [
        value for row in base.rows for value in _values(row.columns, row.number, row.mined, row.accepted)
    ]
    rejected = [
        value
        for row in base.rows
        for value in _values(
            row.columns, row.number, row.mined, [one for one in row.own if one not in row.accepted]
        )
    ]
    board.grade([(value.row, value.without) for value in (*required, *rejected)])
    forbidden = [one for one in rejected if base.rule.takes(board, one.row, one.without)]
    made = [
        _omitted(board, base, required),
        _embedded(board, base, [one for one in required if _is_needed(board, base, one)]),
        _forbidden(forbidden),
        _forbidden_otherwise(forbidden),
        _from_prompt(board, base, required),
        _cut(base),
    ]
    return families_of_pairs(board, base, made)


def _values(
    columns: Mapping[str, Any], row: int, mined: Mined, completions: Sequence[str]
) -> Iterator[_Value]:
    """The texts of the columns that the source names, each with the shortest completion that has it."""
    some: dict[tuple[str, str], _Value] = {}
    for name, column in columns.items():
        if not mined.names(name):
            continue
        repeated = {*_repeated_names(column)}
        for path, text in _leaves(str(name), column):
            pattern = _pattern(text)
            found = next((one for one in sorted(completions, key=len) if pattern.search(one)), None)
            if found is not None:
                some.setdefault((path, text.lower()), _Value(row, path, text, found, text in repeated))
    yield from [*some.values()][:_MAX_VALUES]


def _leaves(path: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, str | int) and not isinstance(value, bool):
        text = str(value).strip()
        is_word = any(map(str.isalnum, text)) and "\n" not in text
        if is_word and _SHORTEST <= len(text) <= _LONGEST:
            yield path, text
    elif depth < _MAX_DEPTH and isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, list | tuple):
        for inner in value[:_MAX_VALUES]:
            yield from _leaves(f"{path}[]", inner, depth + 1)


def _repeated_names(column: Any) -> Iterator[str]:
    """The texts of the entries of a list that share a short text, such as a name, with a later entry."""
    if not isinstance(column, list) or not all(isinstance(one, Mapping) for one in column):
        return
    for at, entry in enumerate(column):
        for key, name in entry.items():
            if isinstance(name, str) and any(later.get(key) == name for later in column[at + 1 :]):
                yield from (text for _, text in _leaves("", entry))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)


def _is_needed(board: Board, base: Base, value: _Value) -> bool:
    return base.rule.turns_down(board, value.row, value.without)


def _omitted(board: Board, base: Base, values: Sequence[_Value]) -> FlaggedPairs:
    """Completions without one text, of columns whose other texts in the same completion are needed.

    A rule that wants some of several texts either needs all of those that a completion has, or none.
    """
    pairs: dict[Pair, bool] = {}
    per: dict[tuple[int, str, str], list[_Value]] = {}
    for value in values:
        per.setdefault((value.row, value.path, value.completion), []).append(value)
    for (row, path, completion), some in per.items():
        apart = [
            one
            for one in some
            if not any(one is not other and _pattern(one.text).search(other.text) for other in some)
        ]
        needed = [_is_needed(board, base, one) for one in apart]
        if "[]" in path and len(apart) > 1:
            pairs |= {(row, one.without): any(needed) for one in apart if one.without != completion}
    unneeded = [
        one
        for one in values
        if (one.row, one.without) in pairs and base.rule.takes(board, one.row, one.without)
    ]
    says = f"{OMITTED.says}{_why_omitted(base, unneeded, [one for one in values if one not in unneeded])}"
    return replace(OMITTED, says=says, question=_COUNTED.search(base.rows[0].mined.text) is not None), pairs


def _from_prompt(board: Board, base: Base, values: Sequence[_Value]) -> FlaggedPairs:
    """Completions without a text that the prompt has too: with another prompt they are rejected, and the unchanged ones accepted."""
    some = [
        one
        for one in values
        if mentions(base.rows[one.row].conversation, one.text)
        and base.rule.takes(board, one.row, one.without)
    ]
    pairs = [pair for one in some for pair in ((one.row, one.completion), (one.row, one.without))]
    if not pairs:
        return FROM_PROMPT, {}
    other = Board(board.suite, without_prompts(board.samples), deadline=board.deadline)
    other.grade(pairs)
    return FROM_PROMPT, {
        (one.row, one.without): base.rule.takes(other, one.row, one.completion)
        and base.rule.turns_down(other, one.row, one.without)
        for one in some
    }


def _why_omitted(base: Base, unneeded: Sequence[_Value], needed: Sequence[_Value]) -> str:
    """What the texts that are not needed have in common, to end a sentence; "" if unknown."""
    if not unneeded:
        return ""
    stated = [mentions(base.rows[one.row].conversation, one.text) for one in needed]
    if all(mentions(base.rows[one.row].conversation, one.text) for one in unneeded) and not all(stated):
        return " (those are in the prompt: the whole conversation seems to be read)"
    if all(one.is_replaced for one in unneeded) and not all(one.is_replaced for one in needed):
        return " (a later entry of the same name replaces the result of an earlier one)"
    return ""


def _embedded(board: Board, base: Base, values: Sequence[_Value]) -> FlaggedPairs:
    """Completions with each needed word inside a longer one: a row counts if letters before, after and on both sides pass."""
    pairs: dict[Pair, bool] = {}
    for value in values:
        if (
            len(value.text) <= _SHORTEST
            or not value.text.isalpha()
            or value.text == base.references[value.row]
        ):
            continue
        zu = "ZU" if value.text.isupper() else "zu"  # a pattern of capitals finds them inside small letters
        glued = [f"{before}{value.text}{after}" for before, after in ((zu, ""), ("", zu), (zu, zu))]
        texts = [(value.row, value.replaced(one)) for one in glued]
        board.grade(texts)
        pairs |= dict.fromkeys(texts, base.rule.share(board, texts) == 1)
    # Where the rows themselves have a longer word around a required one it will be met; else it is the author's choice.
    return replace(EMBEDDED, question=not _is_met(base, [value.text for value in values])), pairs


def _is_met(base: Base, texts: Sequence[str]) -> bool:
    """Whether prompts or completions have one of the texts inside a longer word."""
    words = {
        word
        for row in base.rows
        for text in (row.conversation, *row.own)
        for word in re.findall(r"[a-z]{4,}", text.lower())
    }
    short = {text.lower() for text in texts if text.isalpha() and len(text) > _SHORTEST}
    # A plural or another ending is the same word.
    return any(
        one in word and not word.startswith(one) for word in words for one in short if len(word) > len(one)
    )


def _forbidden(values: Sequence[_Value]) -> FlaggedPairs:
    """What a row forbids, alone, at the end of a long text, and in other capitals."""
    pairs: dict[Pair, bool] = {}
    paths = [value.path for value in values]
    for value in values:
        if paths.count(value.path) >= MIN_ROWS:
            texts = [f"Sure: {value.text}", value.text, f"{PADDING * 4}\n{value.text}"]
            if value.text.isalpha() and value.text.islower():
                texts += [value.replaced(change(value.text)) for change in (str.capitalize, str.upper)]
            pairs |= {(value.row, text): True for text in texts if text != value.completion}
    return FORBIDDEN, pairs


def _forbidden_otherwise(values: Sequence[_Value]) -> FlaggedPairs:
    """A number that the row forbids, such as one of a telephone, with other separators."""
    pairs: dict[Pair, bool] = {}
    for value in values:
        groups = re.split(r"[-. /]", value.text)
        if len(groups) > 1 and all(map(str.isdigit, groups)):
            pairs |= {(value.row, value.replaced(mark.join(groups))): True for mark in (" ", "", ".")}
    return OTHERWISE, pairs


_SEPARATOR = re.compile(r"[\s,;|/>-]{1,4}")


def _cut(base: Base) -> FlaggedPairs:
    """Accepted completions that list the entries of a column in its order, without the last ones."""
    pairs: dict[Pair, bool] = {}
    stated = 0
    for row in base.rows:
        for value in row.named_values:
            entries = (
                [str(one) for one in value if isinstance(one, str | int)] if isinstance(value, list) else []
            )
            if len(entries) < 3 or len(entries) != len(value) or row.part_is_enough:
                continue
            for text in sorted(row.accepted, key=len)[:2]:
                if ends := _listed(text, entries):
                    stated += _EACH.search(row.prompt) is not None
                    pairs |= {(row.number, text[: ends[at]] + text[ends[-1] :]): True for at in (-2, 0)}
                    break
    rows = {row for row, _ in pairs}
    return replace(CUT, question=stated < HALF * max(1, len(rows))), pairs if len(rows) >= MIN_ROWS else {}


def _listed(text: str, entries: Sequence[str]) -> list[int]:
    """Where the entries stand in a text one after the other, with the same separator: the end of each; [] if they do not."""
    first = [found.start() for found in re.finditer(re.escape(entries[0]), text)]
    for start in reversed(first):
        at, ends, separators = start, [], []
        for number, entry in enumerate(entries):
            if number:
                gap = _SEPARATOR.match(text, at)
                if gap is None:
                    break
                separators.append(gap[0].strip())
                at = gap.end()
            if not text.startswith(entry, at):
                break
            at += len(entry)
            ends.append(at)
        if len(ends) == len(entries) and len(set(separators)) == 1:
            return ends
    return []
