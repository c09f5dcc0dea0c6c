"""`wb.probe`: adversarial and equivalent variants of the rows, graded, evaluated, and extended by a search."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from workbench.core.discovery import higher_level
from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.core.progress import Bar, OnProgress
from workbench.data.samples import Samples, as_samples
from workbench.graders import CustomGrader
from workbench.graders.base import is_number
from workbench.graders.serialization import parts
from workbench.judges.budget import Budget, as_budget
from workbench.judges.kinds import Judge
from workbench.probes.acceptance import AcceptanceRule, rule_of
from workbench.probes.board import Board, Pair, as_suite
from workbench.probes.column_values import of_columns
from workbench.probes.controlled import controlled, misnamed
from workbench.probes.entry_changes import entry_changes
from workbench.probes.near_values import near_values
from workbench.probes.neutral_changes import neutral_changes
from workbench.probes.offered_forms import offered_forms
from workbench.probes.partial_credit import (
    form_paid,
    is_form_check,
    monotone,
    paid_for_nothing,
    reads_prompt,
    rises_again,
    same_everywhere,
)
from workbench.probes.probe_basis import Base, establish
from workbench.probes.probe_case import ProbeCase
from workbench.probes.probe_rows import LOOKED_AT, drawn_rows, rows_for
from workbench.probes.regression import Again as Again
from workbench.probes.regression import again as again
from workbench.probes.result import Probe as Probe
from workbench.probes.row_rules import rules_without_effect
from workbench.probes.search import attack, universal
from workbench.probes.shapes import Mined, mine
from workbench.probes.small_changes import small_changes
from workbench.probes.stated_values import stated_values
from workbench.probes.tried import Family, TriedText, families, texts_of
from workbench.probes.value_changes import value_changes
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
    samples: Any = None,
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
        grader: A grader, an `Entry`, a suite that gives one score per row, a live function, or, as in `wb.read_graders`, a path
            ("reward.py", or "reward.py:near" for one of several rewards) or the import path of a function.
        samples: As in `Suite.run`. With references, correct and wrong completions are known; without, only texts without
            content are graded. By default the rows of the graders' file if it has any, else arithmetic tasks with the result
            in each column that the grader names; the first of `run_notes` reports it.
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
        FormatError: A path that cannot be read.
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
    suite, run = _suite_of(grader), ProbeRunSettings.of(settings)
    if against is not None:
        as_suite(against)  # rejected now rather than after thousands of texts
    origin: list[str] = []
    if samples is None:
        samples, *origin = rows_for(suite, grader if isinstance(grader, str | os.PathLike) else "")
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
    return replace(result, seconds=time.perf_counter() - start, run_notes=(*origin, *result.run_notes))


def _suite_of(grader: Any) -> Suite:
    """The suite to probe, of one score per row.

    Raises:
        ValueError: A file with several graders, and no rule that combines them.
    """
    if not isinstance(grader, str | os.PathLike):
        return as_suite(grader)
    suite: Suite = higher_level("read_graders")(grader)
    if len(suite.entries) > 1 and suite.combine is None:
        names = ", ".join(entry.name for entry in suite.entries)
        raise ValueError(
            f"{os.fspath(grader)} has {len(suite.entries)} graders ({names}); name one, such as wb.probe({f'{os.fspath(grader)}:{suite.entries[0].name}'!r})"
        )
    return as_suite(suite)


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


_CHANGES = (
    of_columns, controlled, stated_values, small_changes, value_changes, neutral_changes, entry_changes, offered_forms,
    near_values, rules_without_effect,
    misnamed,
)  # fmt: skip
"""What makes families of changed completions, in the order in which the texts are graded."""


def _families(plan: _ProbePlan, base: Base, made: Sequence[tuple[Variant, int, str | None]]) -> list[Family]:
    """The results of every transformation, except what a stricter grader accepts too."""
    found = families(plan.board, base, made)
    if found and not plan.judge:
        more = [*monotone(plan.board, base, found[0]), *form_paid(base, found)]
        more += rises_again(plan.board, base, found[0])
        more += paid_for_nothing(plan.board, base, found)
        changed = [family for make in _CHANGES for family in make(plan.board, base)]
        # Last, since it may take a part of the time that is left; its place among the findings is before the changes.
        found += [*more, *universal(plan.board, base, found, seed=plan.seed, tries=plan.tries), *changed]
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
        for name in (
            "words",
            "heaps",
            "numbers",
            "keys",
            "frames",
            "signs",
            "missing",
            "parameters",
            "removed",
        )
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
