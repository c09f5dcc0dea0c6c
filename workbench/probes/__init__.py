"""`wb.probe`: adversarial and equivalent variants of the rows, graded, evaluated, and extended by a search."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.core.progress import Bar, OnProgress
from workbench.data.samples import Samples, as_samples
from workbench.graders import CustomGrader, Grader
from workbench.graders.base import is_number
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.serialization import parts
from workbench.judges.budget import Budget, as_budget
from workbench.judges.kinds import Judge
from workbench.probes.board import Board, Pair, as_suite, without_prompts
from workbench.probes.column_values import of_columns
from workbench.probes.controlled import controlled, misnamed
from workbench.probes.drawn_rows import LOOKED_AT, drawn_rows
from workbench.probes.probe_basis import Base, establish
from workbench.probes.probe_case import ProbeCase
from workbench.probes.references import MOST, AcceptanceRule, rule_of
from workbench.probes.regression import Again as Again
from workbench.probes.regression import again as again
from workbench.probes.result import Probe as Probe
from workbench.probes.search import attack, form_paid, monotone, universal
from workbench.probes.shapes import Mined, mine
from workbench.probes.tried import Family, TriedText, families, texts_of
from workbench.probes.variants import VARIANTS as VARIANTS
from workbench.probes.variants import Variant
from workbench.probes.variants import variant as variant
from workbench.probes.verdicts import ProbeVerdicts, verdicts
from workbench.report.digests import fingerprints_of
from workbench.run.suite import Suite


@dataclass(frozen=True, kw_only=True)
class ProbeRunSettings:
    """Settings of `wb.probe` with the meaning they have in `Suite.run`.

    Attributes:
        labels: Known-good rows: their completions are the preferred examples of a correct one.
        pass_threshold: Lowest score that accepts a text; None for the grader's own verdict, else the higher of two
            scores, else a score as high as that of the row's correct completion.
        budget: The maximum that judges may spend in the whole probe.
        store: Where judges' replies are stored.
        seconds: Longest time of the probe, above 0; 60 by default, none for judges, which have a budget.
        progress: Whether to show a bar, or the function to call with the progress.
    """

    labels: Any = None
    pass_threshold: float | None = None
    budget: Budget | float | None = None
    store: Any = None
    seconds: float | None = None
    progress: bool | OnProgress = True

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Self:
        """The settings by name.

        Raises:
            TypeError: An unknown setting; the message lists the known ones.
            ReportError: A pass threshold that is not a finite number.
        """
        names = [field.name for field in fields(cls)]
        if unknown := set(settings) - {*names}:
            near = did_you_mean(min(unknown), names)
            listed = f"its further settings are {', '.join(names)}"
            raise TypeError(f"probe has no setting {min(unknown)!r}; {near or listed}")
        made = cls(**settings)
        mark = made.pass_threshold
        if mark is not None and not (is_number(mark) and math.isfinite(mark)):
            raise ReportError(
                "pass_threshold must be a finite number", found=repr(mark), expected="such as 0.5"
            )
        if made.seconds is not None and not (is_number(made.seconds) and 0 < made.seconds < math.inf):
            raise ReportError("seconds must be a finite number above 0", found=repr(made.seconds))
        return made


_SECONDS = 60.0
"""Longest time of a probe of code: a usual one takes 1 to 3 s. Workbench default."""
_CODE_ROWS, _JUDGE_ROWS = 40, 6
"""Rows drawn: with 40 the bound without a hit is 9 %; a judge gets about 40 requests per row. Workbench default."""
_CODE_TRIES, _JUDGE_TRIES = 400, 12
"""Maximum number of texts of the search."""
_REGRADED = 48
"""Texts that are graded twice, to see whether chance or state affects the scores. Workbench default."""


def probe(
    grader: Any,
    samples: Any,
    *,
    rows: int | None = None,
    tries: int | None = None,
    seed: int = 0,
    against: Any = None,
    **settings: Any,
) -> Probe:
    """Find texts that a grader misgrades, without labels: variants of your rows that are surely wrong, or surely correct.

    The references are first graded as completions, to learn in which form the grader accepts them. Then every registered
    transformation makes texts of every row: adversarial ones that must be rejected (an empty text, the prompt echoed, the
    reference negated, another row's reference, ...) and equivalent ones that must be accepted (a line end, a full stop,
    another order of keys, ...). A search starts from the misgraded texts and from strings in the grader's source. A
    finding is only what no sound grader does; what sound graders may do is listed in `notes`.

    Args:
        grader: A grader, an `Entry`, or a suite that gives one score per row.
        samples: As in `Suite.run`. With references, correct and wrong completions are known; without, only texts without
            content are graded.
        rows: Rows drawn, 40 by default, 6 for judges, which get about 40 requests per row.
        tries: Maximum number of texts of the search, 400 by default, 12 for judges; 0 for none.
        seed: For the rows drawn and the texts made: the same seed gives the same texts.
        against: A stricter grader: a known-bad text that it accepts too is not a finding, nor is a known-good one that it
            rejects.
        settings: `labels`, `budget`, `store` and `progress`, as in `Suite.run`; `seconds`, the longest time of the probe (60
            by default, none for judges); and `pass_threshold`: the lowest score
            that accepts a text. Without it the grader's own verdict decides, else the higher of two scores, else whether
            a wrong text scores as high as the correct completion of its row.

    Raises:
        SamplesError: The samples cannot be read.
        TypeError: `grader` is not a grader, a setting does not exist, or the seed is not a whole number.
        ValueError: A suite without one score per row, or fewer than one row or no tries.
        ReportError: A pass threshold that is not a finite number.

    Example:
        >>> import workbench as wb
        >>> rows = [{"prompt": f"{n} plus {n}?", "completion": f"{2 * n}", "expected": f"{2 * n}"} for n in range(20, 30)]
        >>> print(wb.probe(wb.Contains(), rows, progress=False).findings[0].kind)
        mention
    """
    start = time.perf_counter()
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be a whole number, not {seed!r}")
    suite, run = as_suite(grader), ProbeRunSettings.of(settings)
    if against is not None:
        as_suite(against)  # rejected now rather than after thousands of texts
    judge = any(isinstance(part, Judge) for entry in suite.entries for part in parts(entry.grader))
    whole = as_samples(samples)
    mined = _mined(suite, _names(whole))
    drawn = drawn_rows(whole, _count(rows, _JUDGE_ROWS if judge else _CODE_ROWS, 1), seed, mined, run.labels)
    run = replace(run, labels=drawn.labels)
    count = _count(tries, _JUDGE_TRIES if judge else _CODE_TRIES, 0)
    board = Board(
        suite, drawn.samples, as_budget(run.budget), run.store, run.progress if callable(run.progress) else None,
        own=() if judge else drawn.own, deadline=_deadline(run.seconds, judge=judge),
    )  # fmt: skip
    result = _probed(_ProbePlan(board, mined, run, judge, count, seed, against))
    return replace(result, seconds=time.perf_counter() - start)


def _deadline(seconds: float | None, *, judge: bool) -> float | None:
    """When a probe ends, in the time of `time.monotonic()`."""
    if seconds is None:
        return None if judge else time.monotonic() + _SECONDS
    return time.monotonic() + seconds


@dataclass(frozen=True)
class _ProbePlan:
    """The settings of one probe."""

    board: Board
    mined: Mined
    run: ProbeRunSettings
    judge: bool
    tries: int
    seed: int
    against: Any


def _probed(plan: _ProbePlan) -> Probe:
    board, fingerprints = plan.board, fingerprints_of(plan.board.suite)
    mined = plan.mined
    threshold = plan.run.pass_threshold
    base = establish(
        board, mined, labels=plan.run.labels, pass_threshold=threshold, seed=plan.seed, judge=plan.judge
    )
    made = list(texts_of(base, judge=plan.judge))
    pairs = dict.fromkeys((row, text) for _, row, text in made)
    with Bar(len({*board.outcomes, *pairs}) + plan.tries, show=plan.run.progress is True) as bar:
        board.listen = board.listen or bar
        board.grade(pairs)
        base = replace(base, rule=rule_of(board.outcomes.values(), base.rule.best, pass_threshold=threshold))
        found = _families(plan, base, made)
        decide = _decision(plan, base, mined)
        if plan.tries:
            found = attack(board, base, found, decide(found), tries=plan.tries, seed=plan.seed)
    decided = decide(found)
    return Probe(
        board.name, board.samples, decided.findings, decided.notes, decided.consequences, decided.allowed, tuple(board.notes),
        tries=sum(outcome.tried for outcome in board.outcomes.values()), _families=tuple(found), _base=base,
        _held=decided.held, _suite=board.suite, fingerprints=fingerprints,
    )  # fmt: skip


def _families(plan: _ProbePlan, base: Base, made: Sequence[tuple[Variant, int, str | None]]) -> list[Family]:
    """The results of every transformation, except what a stricter grader accepts too."""
    found = families(plan.board, base, made)
    if found and not plan.judge:
        more = [*monotone(plan.board, base, found[0]), *form_paid(base, found)]
        found += [*more, *universal(plan.board, base, found), *of_columns(plan.board, base)]
        found += [*controlled(plan.board, base), *misnamed(plan.board, base)]
    return found if plan.against is None else _without_allowed(found, plan.against, plan.board)


def _decision(plan: _ProbePlan, base: Base, mined: Mined) -> Callable[[Sequence[Family]], ProbeVerdicts]:
    """A function from results to verdicts; its findings have the numbers of their texts among all graded ones."""
    board = plan.board
    some = [] if plan.judge else _to_regrade(board, base)
    changed, column = board.changed(some), board.samples.columns.get("reference", "")
    # A judge costs money, and may return anything; a text that names the reference reads it.
    alone = not (plan.judge or mined.reads([column])) and same_everywhere(board, base)
    form = alone and is_form_check(board)
    prompt = not plan.judge and reads_prompt(board, base)
    leaves = [part for entry in board.suite.entries for part in parts(entry.grader)]

    def decide(found: Sequence[Family]) -> ProbeVerdicts:
        texts = [text for family in found for text in family.texts]
        numbers = {id(text): number for number, text in enumerate(texts)}

        def numbers_of(chosen: Sequence[TriedText]) -> list[int]:
            return [numbers[id(text)] for text in chosen]

        return verdicts(
            ProbeCase(
                board.name,
                found,
                base,
                mined,
                plan.judge,
                numbers_of,
                column,
                changed,
                len(some),
                alone,
                form,
                prompt,
                not any(isinstance(part, CustomGrader) for part in leaves),
                frozenset(kind for entry in board.suite.entries for kind in entry.allows),
            )
        )

    return decide


def _to_regrade(board: Board, base: Base) -> list[Pair]:
    """Correct completions and other texts: those that pass reveal randomness sooner than those that never do."""
    every = [*board.outcomes]
    passed = [pair for pair in every if base.rule.accepts(pair[0], board.outcomes[pair])]
    spread = [pairs[:: max(1, len(pairs) // _REGRADED)][:_REGRADED] for pairs in (passed, every)]
    return list(dict.fromkeys([*spread[0], *spread[1]]))


def _names(samples: Samples) -> list[str]:
    """Names that a grader may look up in a row: columns, roles, and keys of objects in the first rows."""
    names = [str(name) for name in samples.frame.columns]
    cells = [cell for row in samples.frame.head(LOOKED_AT).itertuples(index=False) for cell in row]
    return list(
        dict.fromkeys(
            [
                *names,
                *samples.columns,
                *(str(key) for cell in cells if isinstance(cell, dict) for key in cell),
            ]
        )
    )


def _mined(suite: Suite, columns: Sequence[str]) -> Mined:
    mined = [mine(entry.grader, columns) for entry in suite.entries]
    if len(mined) == 1:
        return mined[0]
    joined = {
        name: tuple(dict.fromkeys(item for one in mined for item in getattr(one, name)))
        for name in ("words", "heaps", "numbers", "keys", "frames", "signs", "missing", "parameters")
    }
    text = "\n".join(one.text for one in mined)
    return Mined(
        text,
        rubric="\n".join(one.rubric for one in mined),
        readable=all(one.readable for one in mined),
        **joined,
    )


def _without_allowed(found: Sequence[Family], against: Any, board: Board) -> list[Family]:
    """The families without texts that a stricter grader grades like the probed one."""
    strict = Board(as_suite(against), board.samples, board.budget, board.store)
    doubtful = [(text.row, text.text) for family in found for text in family.fooled]
    strict.grade(doubtful)
    rule = rule_of([*strict.outcomes.values()], {})
    rule = rule if rule.mark is not None else replace(rule, mark=0.5)
    return [
        replace(family, texts=tuple(_allowed(text, strict, rule, family) for text in family.texts))
        for family in found
    ]


def _allowed(text: TriedText, strict: Board, rule: AcceptanceRule, family: Family) -> TriedText:
    outcome = strict.outcomes.get((text.row, text.text))
    if not text.wrong or outcome is None:
        return text
    accepts = rule.accepts(text.row, outcome)
    agrees = accepts if family.variant.expects == "reject" else not accepts
    return replace(text, wrong=not agrees, against=accepts)


def _count(value: int | None, default: int, least: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"rows and tries must be whole numbers of at least {least}, not {value!r}")
    return value


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
