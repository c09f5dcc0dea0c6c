"""The search of a probe: from misgraded texts to shorter ones and to new ones, and one text that passes in rows that exclude each other."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from workbench.probes.board import Board, Pair
from workbench.probes.partial_credit import MORE, UNEARNED
from workbench.probes.paths import PathSearch, line_of, path_board
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import PADDING, apart, mentions, number_in, plainly
from workbench.probes.tried import Family, TriedText, change_variant
from workbench.probes.variants import Variant
from workbench.probes.verdicts import ProbeVerdicts

_MAX_TEXTS, _MAX_ACCEPTED = 48, 3
"""Texts that are graded in every row, and accepted completions that represent a row. Workbench limits."""
_MIN_ROWS = 3
"""Fewest rows, each excluding all the others, that one text has to pass. With two, it may be correct in both."""
_SHORT = 60
"""Maximum characters of a completion that may be a list of entries. Workbench limit."""
_ENTRY = re.compile(r"\[\d+\]|[^\s,;\[\]]+")
_ENTRY_KINDS = (
    re.compile(r"\[\d+\]"),
    re.compile(r"[A-Za-z]"),
    re.compile(r"\d+"),
    re.compile(r"[^\W\d]{2,}"),
)
"""Entries of one kind: sources, letters, numbers and words."""
_FEW_WORDS = 2
"""Maximum number of words in a field: with more it is a sentence. Workbench limit."""
_PARTS = re.compile(r"[,;\n]| and | or ")
_SEPARATORS = (", ", "", "\n", "; ", " ", " or ")

UNIVERSAL = change_variant(
    "one-for-all", "reject", "one text in rows whose correct completions exclude each other",
    "make every wrong or superfluous part cost: a text that combines all of it is accepted everywhere", least=_MIN_ROWS, asked=False,
)  # fmt: skip


def universal(
    board: Board, base: Base, groups: Sequence[Family], *, seed: int = 0, tries: int = 0
) -> list[Family]:
    """The text that most rows accept although their correct completions exclude each other, as a family; none if there is none.

    No label is needed and no opinion on what a change means: what is right in a row is what the grader accepts there, of the
    rows' own completions and of the reference. Two rows exclude each other if each rejects what the other accepts.

    Args:
        board: The grader.
        base: What is correct.
        groups: Any family, for the groups of its texts; none if nothing was tried.
        seed: For random choices.
        tries: As in `attack`; 0 for no search.
    """
    accepted = _accepted(board, base)
    if len(accepted) < _MIN_ROWS or not groups:
        return []
    own = list(dict.fromkeys(text for texts in accepted.values() for text in texts[:_MAX_ACCEPTED]))
    shortest = [texts[0] for texts in accepted.values()]
    made = [*_unions(own), *_by_field(shortest), *_completions(board)]
    if not base.distinct:  # with references the search composes texts: see `_combined`
        random = Random(seed)  # noqa: S311 (no secret)
        made = [*reversed(_path_texts(board, base, list(accepted)[:_PATH_ROWS], random, tries)), *made]
    tried = list(dict.fromkeys([*made, *own]))[:_MAX_TEXTS]
    board.grade((row, text) for row in accepted for text in dict.fromkeys([*own[:_MAX_TEXTS], *tried]))
    best: list[int] = []
    passed, chosen = 0, ""
    for text in tried:
        rows = [
            row
            for row in accepted
            if base.rule.takes(board, row, text) and not base.rows[row].extras_are_free
        ]
        others = {row: [one for one in accepted[row] if one != text] for row in rows}
        clique = _exclusive(board, base, [row for row in rows if others[row]], others)
        if (len(clique), len(rows)) > (len(best), passed):
            best, passed, chosen = clique, len(rows), text
    if len(best) < _MIN_ROWS:
        return []
    texts = tuple(
        TriedText(row, chosen, board.outcomes[row, chosen], row in best)
        for row in accepted
        if (row, chosen) in board.outcomes
    )
    says = _says(chosen, [accepted[row][0] for row in best])
    # A text that is not a superset may be correct in all of them, such as one of several correct completions.
    variant = replace(UNIVERSAL, says=says, question=says == UNIVERSAL.says)
    return [Family(variant, texts, groups[0].groups, float("nan"))]


def _accepted(board: Board, base: Base) -> Mapping[int, list[str]]:
    """The accepted completions of each row's prompt, and its reference, the shortest first; rows without one are left out."""
    groups = board.samples.group_codes.tolist()
    found: dict[int, list[str]] = {}
    for row in range(len(groups)):
        for text in (*board.own_texts(row), base.right.get(row, "")):
            if text and base.rule.takes(board, row, text):
                found.setdefault(groups[row], []).append(text)
    first = {group: row for row, group in reversed(list(enumerate(groups)))}
    return {first[group]: sorted(dict.fromkeys(texts), key=len) for group, texts in found.items()}


def _completions(board: Board) -> list[str]:
    """The rows' own completions, the longest of the short ones first: they are the most likely to combine everything."""
    texts = {text for row in range(len(board.samples)) for text in board.own_texts(row)}
    return sorted((text for text in texts if 0 < len(text) <= _SHORT), key=len, reverse=True)


def _unions(texts: Sequence[str]) -> Iterator[str]:
    """All entries of the accepted texts in one text, with the separators that they use."""
    short = [text for text in texts if len(text) <= _SHORT]
    lists = [text for text in short if all(len(part.split()) <= 2 for part in _PARTS.split(text))]
    for kind in _ENTRY_KINDS:
        # A sentence with all words may be correct wherever one of them is required; a list with all entries is not.
        some = lists if kind is _ENTRY_KINDS[-1] else short
        found = {entry for text in some for entry in _entries(text)}
        entries = sorted(entry for entry in found if kind.fullmatch(entry))
        if 1 < len(entries) <= _MAX_TEXTS:
            yield from (mark.join(entries) for mark in _SEPARATORS)


def _by_field(texts: Sequence[str]) -> Iterator[str]:
    """The texts' common frame, with every value that one of them has in a field in that field: "<a>red or blue, tea or milk</a>"."""
    before = os.path.commonprefix(texts)  # noqa: RUF071 (of texts, not of paths)
    before = re.sub(r"\w*\Z", "", before)
    rests = [text[len(before) :] for text in texts]
    after = os.path.commonprefix([rest[::-1] for rest in rests])[::-1]  # noqa: RUF071
    after = re.sub(r"\A\w*", "", after)
    rows = [rest[: len(rest) - len(after)].split(",") for rest in rests]
    # In a sentence, all words may be correct wherever one of them is required.
    is_sentence = len(rows[0]) == 1 and re.search(r"\w[ \n]*\Z", before) is not None
    if is_sentence or len(set(map(len, rows))) != 1 or max(map(len, rests)) > _SHORT:
        return
    fields = [list(dict.fromkeys(value.strip() for value in values)) for values in zip(*rows, strict=True)]
    if any(len(value.split()) > _FEW_WORDS for values in fields for value in values):
        return
    if all(fields) and any(len(values) > 1 for values in fields):
        yield from (
            before + ", ".join(glue.join(values) for values in fields) + after for glue in (" or ", " ")
        )


def _entries(text: str) -> set[str]:
    return {entry.strip(".:;!?") for entry in _ENTRY.findall(text)}


def _exclusive(board: Board, base: Base, rows: Sequence[int], accepted: Mapping[int, list[str]]) -> list[int]:
    """Rows that exclude each other, chosen one after the other."""
    chosen: list[int] = []
    for row in rows:
        if all(
            _rejects(board, base, row, accepted[other]) and _rejects(board, base, other, accepted[row])
            for other in chosen
        ):
            chosen.append(row)
    return chosen


def _rejects(board: Board, base: Base, row: int, texts: Sequence[str]) -> bool:
    """Whether a row was shown the texts, at most a few of them, and accepts none."""
    known = [text for text in texts[:_MAX_ACCEPTED] if (row, text) in board.outcomes]
    return bool(known) and not any(base.rule.takes(board, row, text) for text in known)


def _says(text: str, others: Sequence[str]) -> str:
    """What the text is: more than all that is correct in each of these rows, or just one text."""
    parts = _entries(text)
    kinds = [kind for kind in _ENTRY_KINDS if any(map(kind.fullmatch, parts))]
    if all(
        parts > {one for one in _entries(other) if any(kind.fullmatch(one) for kind in kinds)}
        for other in others
        if other != text
    ):
        return "one text with every entry, a superset of each reference, in rows whose correct completions exclude each other"
    return UNIVERSAL.says


_MAX_HOLES, _PIECES = 8, 8
"""Holes whose texts are shortened, and parts that are omitted from a text, one at a time, in a round. Workbench limits."""
_PATHS_A_TRY = 6
"""Texts whose path is followed, for each text that the search may grade. Workbench limit."""
_SEARCH_ROWS, _PATH_ROWS = 12, 2
"""Rows on which a text found by the search is graded, and on which its path through the code is followed."""
_SHELLS = (
    "{}",
    "[]",
    "\\boxed{}",
    "```\n```",
    "<answer></answer>",
    "####",
    "yes",
    "true",
    "1",
    "PASS",
    "\x00",
    "\n\n\n",
)

SEARCH = Variant(
    "found-by-search", "reject", "a text that the search composed", lambda _: (), rank=17, distinct=True, judges=True,
    advice="look for the branch that accepts it: it passes for any prompt",
)  # fmt: skip


@dataclass
class _Hunt:
    board: Board
    base: Base
    tries: int
    seed: int
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.tries

    def grade(self, pairs: Sequence[Pair]) -> dict[Pair, bool]:
        """Whether each pair is accepted, of as many as there are tries left."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.board.outcomes][: self.left]
        self.left -= len(new)
        self.board.grade(new)
        known = [pair for pair in dict.fromkeys(pairs) if pair in self.board.outcomes]
        return {pair: self.base.rule.accepts(pair[0], self.board.outcomes[pair]) for pair in known}

    def is_wrong(self, row: int, text: str) -> bool:
        """Whether a text surely differs from a row's reference."""
        reference = self.base.references[row]
        numbers = re.findall(r"\d[\d,.]*", text)
        if numbers and number_in(reference) is not None and not apart(numbers[-1].rstrip(".,"), reference):
            return False  # near enough for a tolerance
        if self._names_letter(row, text, reference):
            return False
        return bool(reference) and not mentions(text, reference) and plainly(text) not in plainly(reference)

    def _names_letter(self, row: int, text: str, reference: str) -> bool:
        """Whether a text has the letter of the option that the reference is."""
        for value in self.base.rows[row].columns.values():
            if isinstance(value, list) and reference in value[:26]:
                return (
                    re.search(
                        rf"\b{'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[value.index(reference)]}\b", text, re.IGNORECASE
                    )
                    is not None
                )
        return False


def attack(
    board: Board, base: Base, found: Sequence[Family], decided: ProbeVerdicts, *, tries: int, seed: int
) -> list[Family]:
    """Search with a limited number of texts.

    Args:
        board: The grader; it stores every outcome.
        base: What is correct.
        found: The results so far.
        decided: The confirmed findings so far.
        tries: Maximum number of texts to grade.
        seed: For random choices.

    Returns:
        The same families with the new texts added, and one more if a text passes that belongs to none of them.
    """
    hunt = _Hunt(board, base, tries, seed)
    proven = {finding.kind for finding in (*decided.findings, *decided.consequences)}
    shorter = _shorten(hunt, [family for family in found if family.variant.name in proven and _gains(family)])
    families = [_with(hunt, family, shorter.get(family.variant.name, [])) for family in found]
    says_nothing = any(
        family.variant.name in proven and family.variant.rank < SEARCH.rank for family in families
    )
    if says_nothing or not base.distinct or not found:
        return families
    pairs = _combined(hunt)
    return [*families, _family(hunt, pairs, found[0])] if pairs else families


def _gains(family: Family) -> bool:
    """Whether a shorter text is more informative: a fragment of a wrong completion is not."""
    variant = family.variant
    if variant.name in {MORE.name, UNEARNED.name, UNIVERSAL.name}:
        return False  # these texts are wrong only in comparison with others
    return variant.expects == "reject" and (variant.alarm == "always" or variant.distinct or variant.beside)


def _shorten(hunt: _Hunt, holes: Sequence[Family]) -> dict[str, list[Pair]]:
    """Shorter texts that still pass, by hole: parts are omitted as long as that succeeds."""
    now: dict[str, Pair] = {}
    for family in holes[:_MAX_HOLES]:
        texts = [
            text
            for text in family.fooled
            if text.text and len(text.text) > 1 and hunt.is_wrong(text.row, text.text)
        ]
        if texts:
            now[family.variant.name] = (texts[0].row, texts[0].text)
    passed: dict[str, list[Pair]] = {}
    while now and hunt.left:
        candidates = {name: list(_parts(hunt, pair)) for name, pair in now.items()}
        accepted = hunt.grade([pair for pairs in candidates.values() for pair in pairs])
        shorter = {name: [pair for pair in pairs if accepted.get(pair)] for name, pairs in candidates.items()}
        now = {
            name: min(pairs, key=lambda pair: len(pair[1] or "")) for name, pairs in shorter.items() if pairs
        }
        for name, pair in now.items():
            passed.setdefault(name, []).append(pair)
    return passed


def _parts(hunt: _Hunt, pair: Pair) -> Iterator[Pair]:
    """The text without one of its parts: words, or characters of a single word."""
    row, text = pair
    words = (text or "").split()
    pieces, glue = (words, " ") if len(words) > 1 else (list(text or ""), "")
    size = max(1, len(pieces) // _PIECES)
    for start in range(0, len(pieces), size):
        shorter = glue.join([*pieces[:start], *pieces[start + size :]]).strip()
        if shorter and hunt.is_wrong(row, shorter):
            yield row, shorter


def _combined(hunt: _Hunt) -> list[Pair]:
    """New texts composed of strings in the source, wrong completions and shells that pass on rows of several references."""
    random = Random(hunt.seed)  # noqa: S311 (no secret)
    rows = [row for row in range(len(hunt.base.rows)) if hunt.base.references[row]]
    drawn = [*_guided(hunt, rows, random), *_draws(hunt, rows, random, hunt.left // 2)]
    first = [(row, text) for row, text in drawn if hunt.is_wrong(row, text)]
    passed = [text for (_, text), accepted in hunt.grade(first).items() if accepted and text]
    if not passed:
        return []
    shortest = sorted(set(passed), key=len)[:3]
    chosen = random.sample(rows, min(_SEARCH_ROWS, len(rows)))
    spread = [(row, text) for text in shortest for row in chosen if hunt.is_wrong(row, text)]
    return [pair for pair, accepted in hunt.grade([*spread, *first]).items() if accepted]


def _guided(hunt: _Hunt, rows: Sequence[int], random: Random) -> list[tuple[int, str]]:
    """Texts that take new paths through the grader's code, in the rows in which they were tried; none if it has no source."""
    chosen = random.sample(rows, min(_PATH_ROWS, len(rows)))
    texts = _path_texts(hunt.board, hunt.base, chosen, random, hunt.tries)
    return [(row, text) for text in reversed(texts) for row in chosen]


def _path_texts(board: Board, base: Base, rows: Sequence[int], random: Random, tries: int) -> list[str]:
    """Texts that take new paths through the grader's code, at most a few times `tries`; none if it cannot be instrumented."""
    paths = path_board(board) if tries else None
    if paths is None:
        return []
    starts = [text for row in rows for text in (base.right.get(row, ""), base.references[row]) if text]
    frames = [part.strip() for frame in base.rows[0].mined.frames for part in frame]
    others = [base.rows[row].say(other) for row in rows for other in base.rows[row].others[:2]]
    pieces = list(dict.fromkeys(piece for piece in (*_general(base), *frames, *others) if piece))
    return PathSearch(paths, rows, pieces, random, _PATHS_A_TRY * tries).texts(starts)


def _general(base: Base) -> list[str]:
    """Pieces that belong to no row."""
    mined = base.rows[0].mined
    return [*mined.words, *mined.keys, *map(str, mined.numbers), *_SHELLS, PADDING]


def _draws(hunt: _Hunt, rows: Sequence[int], random: Random, count: int) -> Iterator[tuple[int, str]]:
    """Fragments joined at random."""
    general = _general(hunt.base)
    for _ in range(count):
        row = hunt.base.rows[random.choice(rows)]
        pieces = [*general, *(row.say(other) for other in row.others), *row.prompt.split()[:12]]
        glue = random.choice((" ", "\n", ", ", ""))
        yield row.number, glue.join(random.choice(pieces) for _ in range(random.randint(1, 4)))


def _with(hunt: _Hunt, family: Family, pairs: Sequence[Pair]) -> Family:
    more = [TriedText(row, text, hunt.board.outcomes[row, text], wrong=True) for row, text in pairs]
    return replace(family, texts=(*family.texts, *more)) if more else family


def _family(hunt: _Hunt, pairs: Sequence[Pair], like: Family) -> Family:
    """The search's texts, counted if one text passes on rows of at least three references."""
    references: dict[str, set[str]] = {}
    for row, text in pairs:
        references.setdefault(text or "", set()).add(plainly(hunt.base.references[row]))
    needed = min(3, hunt.base.distinct)
    tried: Mapping[Pair, bool] = dict.fromkeys(pairs, True)
    texts = [
        TriedText(row, text, hunt.board.outcomes[row, text], len(references[text or ""]) >= max(2, needed))
        for row, text in tried
    ]
    wrong = [text for text in texts if text.wrong]
    line = line_of(hunt.board, (wrong[0].row, wrong[0].text)) if wrong else 0
    place = f", line {line} of the captured source" if line else ""
    variant = replace(SEARCH, advice=SEARCH.advice.replace("accepts it", f"accepts it{place}", 1))
    return Family(variant, tuple(texts), like.groups, float("nan"))
