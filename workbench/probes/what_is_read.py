"""What a grader reads at all: the form alone, the text alone, or the prompt."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from workbench.graders import Grader
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.serialization import parts
from workbench.probes.acceptance import MOST
from workbench.probes.board import Board, Pair, without_prompts
from workbench.probes.probe_basis import Base
from workbench.probes.shapes import mine

_MOVED = 24
"""Texts that are graded in another row too. Workbench default: with 24 equal grades, a grader that distinguishes a tenth of
the rows is missed in one of 12 cases."""
_FORM = re.compile(
    r"(?<![a-z])(?:length|long|longer|short|shorter|brief|concise|lines?|oneliner|words?|characters?|chars?|sentences?|"
    r"paragraphs?|tokens?|forms?|format(?:s|ted|ting)?|layout|style|ascii|printable|unicode|json|xml|yaml|html|markdown|"
    r"parses?|parseable|parsable|syntax|uppercase|lowercase|capitals?|punctuation|whitespace|nonempty|empty|blank)(?![a-z])"
)
"""Terms by which a grader's name or docstrings show that it checks the form."""
_FORM_METHODS = re.compile(r"\.is(?:ascii|printable)\(")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CLASSES = re.compile(r"\[[^\]]*\]|\{[\d,]+\}")
"""Character classes and counts in a pattern."""
_WORD = re.compile(r"\w")
_LEVELS = 2
"""Maximum number of scores of a check: with more it rewards degrees of the form; with one it checks nothing."""


def is_form_check(board: Board) -> bool:
    """Whether the graders are checks of the form by design, and their scores are those of a check.

    A rule of the workbench is one: its settings define in full what it accepts. Any other grader is one if its name or
    docstrings describe the form and its text requires no specific word and no reference: a search for "because" may be all that
    its author has to separate correct from wrong.

    Args:
        board: The graders, and their grades so far.
    """
    leaves = [leaf for entry in board.suite.entries for leaf in _leaves(entry.grader)]
    if all(isinstance(leaf, RuleGrader) for leaf in leaves):
        return True
    scores = {round(one.score, 9) for one in board.outcomes.values() if not math.isnan(one.score)}
    column = board.samples.columns.get("reference", "")
    return len(scores) == _LEVELS and all(_is_form(leaf, column) for leaf in leaves)


def _leaves(grader: Grader) -> Iterator[Grader]:
    """The graders that read rows themselves, rather than others' scores."""
    return (part for part in parts(grader) if len(list(parts(part))) == 1)


def _is_form(grader: Grader, column: str) -> bool:
    if isinstance(grader, RuleGrader):
        return True
    mined = mine(grader)
    if any(_WORD.search(_CLASSES.sub("", word)) for word in mined.words) or mined.reads([column, "metadata"]):
        return False
    told = _CAMEL.sub("_", f"{grader.name} {mined.rubric}").lower()
    return bool(_FORM.search(told) or _FORM_METHODS.search(mined.text))


def same_everywhere(board: Board, base: Base) -> bool:
    """Whether the same text gets the same grade in rows with another prompt or reference: only the text is read.

    Texts that are correct in one row, or that the row has, are graded in another row too. If all references are equal
    there is no such row, and nothing is known.
    """
    pairs = _moved(base)
    board.grade(pair for both in pairs for pair in both)
    known = [both for both in pairs if all(pair in board.outcomes for pair in both)]
    return bool(known) and all(_said(board, one) == _said(board, other) for one, other in known)


def reads_prompt(board: Board, base: Base) -> bool:
    """Whether texts without content are accepted, and rejected if the prompt has another text: it is graded too."""
    texts = ("", *(row.other for row in base.rows[:1] if row.others))
    accepted = [
        (row, text) for row in range(len(base.rows)) for text in texts if base.rule.takes(board, row, text)
    ][:_MOVED]
    if len(accepted) < _LEVELS:
        return False
    other = Board(board.suite, without_prompts(board.samples), deadline=board.deadline)
    other.grade(accepted)
    return base.rule.share(other, accepted) <= 1 - MOST


def _moved(base: Base) -> list[tuple[Pair, Pair]]:
    """Texts in their own row, and in the next row with another reference, or another prompt without references."""
    asked = base.references if base.distinct else [row.prompt for row in base.rows]
    found: list[tuple[Pair, Pair]] = []
    for row in base.rows[:_MOVED]:
        later = [*range(row.number + 1, len(base.rows)), *range(row.number)]
        other = next((number for number in later if asked[number] != asked[row.number]), None)
        texts = dict.fromkeys((base.right.get(row.number), row.good, row.completion, row.reference))
        found += [((row.number, text), (other, text)) for text in texts if text and other is not None]
    return found


def _said(board: Board, pair: Pair) -> tuple[str, bool | None, bool]:
    outcome = board.outcomes[pair]
    return repr(outcome.score), outcome.passed, bool(outcome.error)
