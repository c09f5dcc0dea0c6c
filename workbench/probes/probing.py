"""`wb.probe`: known-bad and known-good variants of the rows, graded, judged, and searched on from."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from workbench.diagnostics.registry import group_codes
from workbench.judges.asking.budget import Budget, as_budget
from workbench.judges.base import Judge
from workbench.probes.accepting import rule_of
from workbench.probes.base import Base, establish
from workbench.probes.board import Board, as_suite
from workbench.probes.mining import Mined, mine
from workbench.probes.monotone import monotone
from workbench.probes.result import Probe
from workbench.probes.search import attack
from workbench.probes.tried import Family, Text, families, texts_of
from workbench.probes.verdicts import Verdicts, verdicts
from workbench.progress import Bar, OnProgress
from workbench.samples import Samples, as_samples
from workbench.serialization import parts
from workbench.suite import Suite

__all__ = ["probe"]

_CODE_ROWS, _JUDGE_ROWS = 40, 6
"""Rows drawn: 40 put the bound of no hit at 9 %; a judge is asked about 60 questions a row. Ours."""
_CODE_TRIES, _JUDGE_TRIES = 400, 12
"""Texts of the search."""


def probe(
    grader: Any,
    samples: Any,
    *,
    rows: int | None = None,
    tries: int | None = None,
    seed: int = 0,
    labels: Any = None,
    pass_threshold: float | None = None,
    against: Any = None,
    budget: Budget | float | None = None,
    store: Any = None,
    progress: bool | OnProgress = True,
) -> Probe:
    """Find out without labels what fools a grader: variants of your own rows that are surely wrong, or surely right.

    The references are first tried as answers, to learn in which form the grader takes them. Then every registered
    transformation makes texts of every row: known-bad ones that have to be rejected (nothing at all, the question
    echoed, the right answer denied, another row's answer, ...) and known-good ones (a line end, a full stop, another
    order of keys, ...). From what fooled the grader, and from what stands in its own text, a search goes on. Only what no
    sound grader does is a finding; what sound graders may do is told in `notes`.

    Args:
        grader: A grader, an `Entry`, or a suite that makes one score a row.
        samples: As in `Suite.run`. With references, right and wrong answers are known; without, only texts are tried
            that answer nothing.
        rows: Rows drawn, 40 by default, 6 for judges, which are asked about 60 questions a row.
        tries: Texts of the search, 400 by default, 12 for judges; 0 for none.
        seed: For the rows drawn and the texts made: the same seed tries the same texts.
        labels: Known-good rows, as in `Suite.run`: their answers are the first choice for how a right one looks.
        pass_threshold: Lowest score that accepts a text. By default the grader's own verdict decides, else the higher of
            two scores, else whether a wrong text scores as high as the right answer of its row.
        against: A stricter grader: a known-bad text that it accepts too is no finding, nor is a known-good one that it
            rejects.
        budget: The most that judges may spend, over all of it; see `Suite.run`.
        store: Where judges' answers are kept; see `Suite.run`.
        progress: As in `Suite.run`.

    Raises:
        SamplesError: The samples cannot be read.
        TypeError: `grader` is no grader.
        ValueError: A suite without one score a row, or fewer than one row or no tries.

    Example:
        >>> import workbench as wb
        >>> rows = [{"prompt": f"{n} plus {n}?", "completion": f"{2 * n}", "expected": f"{2 * n}"} for n in range(20, 30)]
        >>> print(wb.probe(wb.Contains(), rows, progress=False).findings[0].kind)
        hedged
    """
    start = time.perf_counter()
    suite = as_suite(grader)
    judge = any(isinstance(part, Judge) for entry in suite.entries for part in parts(entry.grader))
    data = _drawn(as_samples(samples), _count(rows, _JUDGE_ROWS if judge else _CODE_ROWS, 1), seed)
    columns = [str(name) for name in data.frame.columns]
    mined = _mined(suite, columns)
    board = Board(suite, data, as_budget(budget), store)
    with _bar(progress, len(data), judge=judge) as bar:
        board.listen = progress if callable(progress) else bar
        base = establish(board, mined, labels=labels, pass_threshold=pass_threshold, seed=seed, judge=judge)
        made = list(texts_of(base, judge=judge))
        board.grade((row, text) for _, row, text in made)
        base = replace(base, rule=rule_of(board.outcomes.values(), base.rule.best, pass_threshold=pass_threshold))
        groups = group_codes(data.groups, len(data))
        found = families(board, base, base.rule, made, groups)
        if against is not None:
            found = _without_allowed(found, against, data, board)
        settings = {"judge": judge, "columns": [data.columns.get("reference", "")]}
        decide = partial(verdicts, board.name, base=base, mined=mined, **settings)  # type: ignore[arg-type]
        found = [*found, *monotone(board, base, found[0])] if found and not judge else found
        count = _count(tries, _JUDGE_TRIES if judge else _CODE_TRIES, 0)
        if count:
            proven = [finding.kind for finding in _decided(decide, found).findings]
            found = attack(board, base, found, proven, tries=count, seed=seed)
        decided = _decided(decide, found)
    return Probe(
        board.name, data, decided.findings, decided.notes, decided.consequences, tuple(board.notes), time.perf_counter() - start,
        len(board.outcomes), tuple(found), base, base.rule,
    )  # fmt: skip


def _decided(decide: Any, found: Sequence[Family]) -> Verdicts:
    """Verdicts whose findings have the numbers of their texts among all that were tried."""
    numbers = {id(text): number for number, text in enumerate(text for family in found for text in family.texts)}
    decided: Verdicts = decide(found=found, row_numbers=lambda texts: [numbers[id(text)] for text in texts if id(text) in numbers])
    return decided


def _drawn(samples: Samples, count: int, seed: int) -> Samples:
    """Rows that can be read, one a prompt as far as there are prompts enough."""
    samples.require_completion()
    readable = [row for row in range(len(samples)) if row not in samples.problems]
    order = np.random.default_rng(seed).permutation(readable)
    first: dict[Any, int] = {}
    groups = samples.groups
    for row in order.tolist():
        first.setdefault(groups[row], row)
    chosen = [*first.values(), *(row for row in order.tolist() if row not in set(first.values()))][:count]
    return samples.take(sorted(chosen))


def _mined(suite: Suite, columns: Sequence[str]) -> Mined:
    mined = [mine(entry.grader, columns) for entry in suite.entries]
    if len(mined) == 1:
        return mined[0]
    joined = {
        name: tuple(dict.fromkeys(item for one in mined for item in getattr(one, name)))
        for name in ("words", "heaps", "numbers", "keys", "frames")
    }
    text = "\n".join(one.text for one in mined)
    return Mined(text, rubric="\n".join(one.rubric for one in mined), readable=all(one.readable for one in mined), **joined)


def _without_allowed(found: Sequence[Family], against: Any, data: Samples, board: Board) -> list[Family]:
    """The families without texts about which a stricter grader says the same as the probed one."""
    strict = Board(as_suite(against), data, board.budget, board.store)
    doubtful = [(text.row, text.text) for family in found for text in family.fooled]
    strict.grade(doubtful)
    rule = rule_of([*strict.outcomes.values()], {})
    rule = rule if rule.mark is not None else replace(rule, mark=0.5)
    return [replace(family, texts=tuple(_allowed(text, strict, rule, family) for text in family.texts)) for family in found]


def _allowed(text: Text, strict: Board, rule: Any, family: Family) -> Text:
    outcome = strict.outcomes.get((text.row, text.text))
    if not text.wrong or outcome is None:
        return text
    accepts = rule.accepts(text.row, outcome)
    agrees = accepts if family.variant.expects == "reject" else not accepts
    return replace(text, wrong=not agrees, against=accepts)


def _bar(progress: bool | OnProgress, rows: int, *, judge: bool) -> Bar:
    return Bar(rows * (60 if judge else 130), show=progress is True)


def _count(value: int | None, default: int, least: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"rows and tries are whole numbers, {least} or more here, not {value!r}")
    return value
