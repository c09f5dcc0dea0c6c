"""`wb.probe`: adversarial and equivalent variants of the rows, graded, evaluated, and extended by a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.analysis.diagnostics.labels import read_labels
from workbench.core.progress import Bar
from workbench.data.samples import Samples, as_samples
from workbench.graders.serialization import parts
from workbench.judges.asking.budget import as_budget
from workbench.judges.base import Judge
from workbench.probes.accepting import AcceptanceRule, rule_of
from workbench.probes.base import Base, establish
from workbench.probes.board import Board, Pair, as_suite
from workbench.probes.case import ProbeCase
from workbench.probes.form import is_form_check, same_everywhere
from workbench.probes.mining import Mined, mine
from workbench.probes.monotone import monotone
from workbench.probes.result import Probe
from workbench.probes.search import attack
from workbench.probes.settings import ProbeRunSettings
from workbench.probes.tried import Family, TriedText, families, texts_of
from workbench.probes.variant import Variant
from workbench.probes.verdicts import ProbeVerdicts, verdicts
from workbench.report.certificates import fingerprints_of
from workbench.report.settings import label_column
from workbench.run.suite import Suite

__all__ = ["probe"]

_CODE_ROWS, _JUDGE_ROWS = 40, 6
"""Rows drawn: with 40 the bound without a hit is 9 %; a judge gets about 40 requests per row. Workbench default."""
_CODE_TRIES, _JUDGE_TRIES = 400, 12
"""Maximum number of texts of the search."""
_REGRADED = 48
"""Texts that are graded twice, to see whether chance or state affects the scores. Workbench default."""
_LOOKED_AT = 25
"""Rows of the data that are read for each row drawn, so that prompts do not repeat. Workbench default."""


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
        settings: `labels`, `budget`, `store` and `progress`, as in `Suite.run`, and `pass_threshold`: the lowest score
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
    data = _drawn(whole, _count(rows, _JUDGE_ROWS if judge else _CODE_ROWS, 1), seed)
    run = replace(run, labels=_labels_of(data, whole, run.labels))
    count = _count(tries, _JUDGE_TRIES if judge else _CODE_TRIES, 0)
    board = Board(
        suite, data, as_budget(run.budget), run.store, run.progress if callable(run.progress) else None
    )
    result = _probed(_Plan(board, run, judge, count, seed, against))
    return replace(result, seconds=time.perf_counter() - start)


@dataclass(frozen=True)
class _Plan:
    """The settings of one probe."""

    board: Board
    run: ProbeRunSettings
    judge: bool
    tries: int
    seed: int
    against: Any


def _probed(plan: _Plan) -> Probe:
    board, fingerprints = plan.board, fingerprints_of(plan.board.suite)
    mined = _mined(board.suite, [str(name) for name in board.samples.frame.columns])
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
        board.name, board.samples, decided.findings, decided.notes, decided.consequences, tuple(board.notes),
        tries=sum(outcome.tried for outcome in board.outcomes.values()), _families=tuple(found), _base=base,
        _held=decided.held, fingerprints=fingerprints,
    )  # fmt: skip


def _families(plan: _Plan, base: Base, made: Sequence[tuple[Variant, int, str | None]]) -> list[Family]:
    """The results of every transformation, except what a stricter grader accepts too."""
    found = families(plan.board, base, made)
    if found and not plan.judge:
        found += monotone(plan.board, base, found[0])
    return found if plan.against is None else _without_allowed(found, plan.against, plan.board)


def _decision(plan: _Plan, base: Base, mined: Mined) -> Callable[[Sequence[Family]], ProbeVerdicts]:
    """A function from results to verdicts; its findings have the numbers of their texts among all graded ones."""
    board = plan.board
    some = [] if plan.judge else _to_regrade(board, base)
    changed, column = board.changed(some), board.samples.columns.get("reference", "")
    # A judge costs money, and may return anything; a text that names the reference reads it.
    alone = not (plan.judge or mined.reads([column])) and same_everywhere(board, base)
    form = alone and is_form_check(board)

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
            )
        )

    return decide


def _to_regrade(board: Board, base: Base) -> list[Pair]:
    """Correct completions and other texts: those that pass reveal randomness sooner than those that never do."""
    every = [*board.outcomes]
    passed = [pair for pair in every if base.rule.accepts(pair[0], board.outcomes[pair])]
    spread = [pairs[:: max(1, len(pairs) // _REGRADED)][:_REGRADED] for pairs in (passed, every)]
    return list(dict.fromkeys([*spread[0], *spread[1]]))


def _drawn(samples: Samples, count: int, seed: int) -> Samples:
    """Rows that can be read, one per prompt if there are enough prompts."""
    samples.require_answers()
    # Of a large dataset only some rows are read.
    some = samples.needing("completion").draw(_LOOKED_AT * count, seed=seed)
    problems, groups = some.problems, some.groups
    readable = [row for row in range(len(some)) if row not in problems]
    order = np.random.default_rng(seed).permutation(readable).tolist()
    first: dict[Any, int] = {}
    for row in order:
        first.setdefault(groups[row], row)
    chosen = dict.fromkeys([*first.values(), *order])
    return some.take(sorted([*chosen][:count]))


def _labels_of(data: Samples, whole: Samples, labels: Any) -> Any:
    """The labels of the rows drawn, from those of all rows."""
    if labels is None:
        return None
    codes = read_labels(label_column(whole, labels), len(whole))
    meaning = dict(zip(whole.row_numbers.tolist(), codes.tolist(), strict=True))
    return [{1: True, 0: False}.get(meaning[row]) for row in data.row_numbers.tolist()]


def _mined(suite: Suite, columns: Sequence[str]) -> Mined:
    mined = [mine(entry.grader, columns) for entry in suite.entries]
    if len(mined) == 1:
        return mined[0]
    joined = {
        name: tuple(dict.fromkeys(item for one in mined for item in getattr(one, name)))
        for name in ("words", "heaps", "numbers", "keys", "frames")
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
